// SPDX-License-Identifier: GPL-2.0-only
/* suggest: from what a Bench was refused, or would have been, to the grants that give it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/stream.h"
#include "cli/suggest_cli.h"
#include "cli/text.h"

/* Of several Benches that had the name, one after the other, the last. */
static void newest(struct suggest *s, struct json_object *event, int64_t *id)
{
	int64_t of;

	if (bm_json_int(event, "id", &of) < 0 || of <= *id)
		return;
	suggest_end(s);
	suggest_begin(s);
	*id = of;
}

/* All that is stored of it. A connection that streams does nothing else. */
static int read_events(const char *bench, struct suggest *s, struct bm_error *err)
{
	autoclose socket = -1;
	int64_t id = 0;
	int r = cli_connect(&socket, err);

	if (r == 0)
		r = cli_events_ask(socket, bench, 0, false, err);
	while (r == 0 || r == 1) {
		autojson *event = NULL;

		r = cli_events_next(socket, &event, err);
		if (r != 1)
			break;
		newest(s, event, &id);
		r = suggest_event(s, event, suggest_there);
		if (r < 0)
			return bm_fail_errno(err, -r, "suggest");
	}
	return r;
}

/* One that has ended has its events still. */
static bool learns(int socket, const char *bench)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *json;
	struct bm_error unused = {};

	bm_json_add_string(request, "bench", bench);
	return cli_call(socket, "show", request, NULL, 0, &reply, &unused) == 0 &&
	       cli_reply_object(reply, "bench", &json, &unused) == 0 &&
	       bm_json_bool(json, "learns");
}

static int work_out(int socket, struct suggest *s, const char *bench, const char *target,
		    struct json_object *ret, struct bm_error *err)
{
	struct json_object *grants;
	char command[2 * CLI_SHOWN];
	int r = suggest_secrets(socket, s, err);

	if (r == 0)
		r = suggest_profiles(socket, s, err);
	if (r < 0)
		return r;
	grants = suggest_nets(s);
	bm_json_add_string(ret, "bench", bench);
	bm_json_add_bool(ret, "learns", learns(socket, bench));
	bm_json_add(ret, "grants", grants);
	r = suggest_files(s, grants);
	for (size_t i = 0; i < json_object_array_length(grants); i++) {
		struct json_object *grant = json_object_array_get_idx(grants, i);

		if (*suggest_command(grant, target, command, sizeof(command)))
			bm_json_add_string(grant, "command", command);
	}
	bm_json_add(ret, "apart", json_object_get(s->apart));
	bm_json_add_int(ret, "events", (int64_t)s->events);
	bm_json_add_int(ret, "suppressed", (int64_t)s->suppressed);
	bm_json_add_int(ret, "left_out", (int64_t)s->files.left_out);
	return r < 0 ? bm_fail_errno(err, -r, "suggest") : 0;
}

static int write_template(const char *path, struct json_object *grants, struct bm_error *err)
{
	autojson *json = suggest_template(grants);
	const char *text = json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	autoclose fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : bm_write_all(fd, text, strlen(text));

	if (r == 0)
		r = bm_write_all(fd, "\n", 1);
	if (r == -EEXIST)
		return bm_fail(err, EEXIST, NULL, "remove it, or give another name",
			       "%.256s is there already", path);
	return r < 0 ? bm_fail_errno(err, -r, "%.256s", path) : 0;
}

/* As if each had been typed: shown, asked, and made or not. */
static int apply_one(struct cli *cli, int socket, const char *bench, struct json_object *grant,
		     struct bm_error *err)
{
	const char *to = bm_json_string(grant, "profile") ?: bm_json_string(grant, "destination");
	struct cli_file_grant file = { .source = bm_json_string(grant, "source"),
				       .dest = bm_json_string(grant, "dest"),
				       .rights = bm_json_string(grant, "rights"),
				       .idmap = true };
	autojson *reply = NULL;
	struct json_object *made;
	int r;

	cli->args.seen &= ~OPT(PRIVATE);
	if (bm_json_bool(grant, "private"))
		cli->args.seen |= OPT(PRIVATE);
	if (to)
		r = cli_grant_net(cli, socket, bench, to, stdout, &reply, err);
	else
		r = cli_grant_file(cli, socket, bench, &file, stdout, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "grant", &made, err);
	if (r == 0)
		cli_grant_print(made);
	return r;
}

/* A no, and a refusal, leave the others to be asked; the first refusal is the exit's. */
static int apply(struct cli *cli, int socket, const char *bench, struct json_object *grants,
		 struct bm_error *err)
{
	int first = 0;

	for (size_t i = 0; i < json_object_array_length(grants); i++) {
		struct json_object *grant = json_object_array_get_idx(grants, i);
		struct bm_error why = {};
		int r = apply_one(cli, socket, bench, grant, &why);

		if (r == -EPIPE || r == -ECONNRESET) {
			*err = why;
			return r;
		}
		if (r == 0)
			continue;
		cli_report(FORMAT_TEXT, &why);
		if (!first) {
			first = r;
			*err = why;
		}
	}
	return first;
}

int cmd_suggest(struct cli *cli, struct bm_error *err)
{
	const char *bench = cli->args.operands[0], *path = cli->args.value[OPT_TEMPLATE];
	const char *target = cli->args.operand_count > 1 ? cli->args.operands[1] : bench;
	autojson *result = json_object_new_object();
	bool applies = cli_has(&cli->args, OPT_APPLY);
	struct json_object *grants;
	autoclose socket = -1;
	struct suggest s;
	int r = cli_bench_name(cli, bench, err);

	if (r == 0)
		r = cli_bench_name(cli, target, err);
	if (r < 0)
		return r;
	if (applies && cli->format == FORMAT_JSON)
		return cli_usage(cli, err, "suggest: --apply asks people, --format json does not");
	suggest_begin(&s);
	r = read_events(bench, &s, err);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = work_out(socket, &s, bench, target, result, err);
	suggest_end(&s);
	if (r < 0)
		return r;
	grants = bm_json_get(result, "grants", json_type_array);
	if (path)
		r = write_template(path, grants, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, result);
	else
		suggest_print(result);
	return applies ? apply(cli, socket, target, grants, err) : 0;
}
