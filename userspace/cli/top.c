// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top.h"

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/signals.h"

#define LOOK_MS 1000

static struct json_object *benches_of(struct json_object *reply)
{
	return bm_json_get(reply, "benches", json_type_array);
}

static int ask(int socket, struct top *top, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *benches;
	int r = cli_call_paged(socket, "ls", request, benches_of, &reply, err);

	if (r < 0)
		return r;
	benches = benches_of(reply);
	if (!benches)
		return bm_fail(err, EPROTO, "protocol", NULL, "ls: the reply has no list");
	r = top_look(top, benches, bm_now_ns(CLOCK_MONOTONIC));
	return r < 0 ? bm_fail_errno(err, -r, "top") : 0;
}

/* Anew each time: a daemon that was started anew is as good. The counters are the kernel's. */
static void look(struct top *top)
{
	struct bm_error err = {};
	autoclose socket = -1;
	char line[1024];
	int r = cli_connect_running(&socket);

	if (r < 0)
		bm_fail(&err, -r, NULL, NULL, "gatekeeperd is not running; nothing else changes");
	else
		r = ask(socket, top, &err);
	top->problem[0] = '\0';
	if (r < 0)
		cli_show(bm_error_line(&err, line, sizeof(line)), top->problem,
			 sizeof(top->problem));
}

/* A rate takes two looks. False: interrupted. */
static bool wait_between(void)
{
	struct pollfd polled = { cli_signals_fd(), POLLIN, 0 };
	uint64_t end = bm_now_ns(CLOCK_MONOTONIC) / 1000000 + LOOK_MS, now;

	while (!cli_interrupted() && (now = bm_now_ns(CLOCK_MONOTONIC) / 1000000) < end) {
		poll(&polled, 1, (int)(end - now));
		cli_signals_resized();
	}
	return !cli_interrupted();
}

static void print_json(const struct top *top)
{
	autojson *json = json_object_new_object();
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < top->count; i++) {
		const struct top_bench *b = &top->list[i];
		struct json_object *item = json_object_new_object();

		bm_json_add_string(item, "name", b->name);
		bm_json_add_int(item, "id", b->id);
		bm_json_add_string(item, "state", b->state);
		bm_json_add_int(item, "grant_count", b->grants);
		bm_json_add_int(item, "denied", b->denied);
		bm_json_add(item, "denied_per_second", json_object_new_double(b->denials));
		bm_json_add_int(item, "egress_bytes", b->sent);
		bm_json_add(item, "egress_bytes_per_second", json_object_new_double(b->bytes));
		json_object_array_add(list, item);
	}
	bm_json_add(json, "benches", list);
	cli_print_json(stdout, json);
}

#define STATE 1
#define DENIED 4

static enum cli_colour colour_of(size_t column, const char *cell)
{
	if (column == STATE)
		return cli_state_colour(cell);
	return column == DENIED && *cell != '0' ? COLOUR_RED : COLOUR_NONE;
}

static int print_table(const struct top *top)
{
	static const char *const titles[] = { "BENCH", "STATE", "GRANTS", "DENIED",
					      "/S",    "SENT",  "B/S" };
	struct cli_table table = { titles, 7, 0x7c, NULL, 0, colour_of };
	int r = 0;

	for (size_t i = 0; r == 0 && i < top->count; i++) {
		const struct top_bench *b = &top->list[i];
		char grants[24], denied[24], rate[TOP_RATE_LEN], sent[TOP_RATE_LEN],
			bytes[TOP_RATE_LEN];
		const char *cells[] = { b->name,
					b->state,
					grants,
					denied,
					top_rate(b->denials, rate),
					top_bytes((double)b->sent, sent),
					top_bytes(b->bytes, bytes) };

		snprintf(grants, sizeof(grants), "%lld", (long long)b->grants);
		snprintf(denied, sizeof(denied), "%lld", (long long)b->denied);
		r = cli_table_row(&table, cells);
	}
	if (r == 0 && top->count)
		cli_table_print(&table, stdout);
	else if (r == 0)
		printf("no Benches; `benchmon help` says how to make one\n");
	cli_table_done(&table);
	return r;
}

static int once(struct cli *cli, struct top *top, struct bm_error *err)
{
	autoclose socket = -1;
	int r;

	if (!wait_between())
		return bm_fail(err, EINTR, NULL, NULL, "interrupted");
	r = cli_connect(&socket, err);
	if (r == 0)
		r = ask(socket, top, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		print_json(top);
	else
		r = print_table(top);
	return r < 0 ? bm_fail_errno(err, -r, "top") : 0;
}

static int screen(struct top *top, struct bm_error *err)
{
#ifdef BM_TOP
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) ? top_screen(top, look, err) : -ENOTTY;
#else
	(void)top, (void)err, (void)look;
	return -ENOTTY;
#endif
}

int cmd_top(struct cli *cli, struct bm_error *err)
{
	bool plain = cli_has(&cli->args, OPT_ONCE) || cli->format == FORMAT_JSON;
	struct top top = {};
	autoclose socket = -1;
	int r = cli_connect(&socket, err);

	setlocale(LC_CTYPE, "");
	if (r == 0)
		r = cli_signals_catch(err);
	if (r == 0)
		r = ask(socket, &top, err);
	bm_close(TAKE_FD(socket));
	if (r == 0)
		r = plain ? -ENOTTY : screen(&top, err);
	if (r == -ENOTTY)
		r = once(cli, &top, err);
	top_done(&top);
	return r;
}
