// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/denials.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/text.h"

struct run {
	struct cli *cli;
	int socket;
	char bench[BM_BENCH_NAME_LEN];
	bool started;      /* the payload ran: what is in the outputs is its */
	const char **made; /* --out directories that were not there before */
	size_t made_count;
	struct cli_denials denials;
	struct json_object *destroyed; /* what was answered to that; NULL */
	int status;                    /* where a program is told how it goes; -1 */
	int code;
};

static int interrupted(struct bm_error *err)
{
	if (!cli_interrupted())
		return 0;
	return bm_fail(err, EINTR, NULL, NULL, "interrupted: %s", strsignal(cli_interrupted()));
}

/* Of a program that does not listen any more, only that it does not hear of it. */
static void tell(struct run *run, const char *status, struct json_object *json)
{
	const char *text;

	if (run->status < 0)
		return;
	bm_json_add_string(json, "status", status);
	if (run->bench[0])
		bm_json_add_string(json, "bench", run->bench);
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	if (bm_write_all(run->status, text, strlen(text)) < 0 ||
	    bm_write_all(run->status, "\n", 1) < 0)
		bm_close(TAKE_FD(run->status));
}

static void tell_only(struct run *run, const char *status)
{
	autojson *json = json_object_new_object();

	tell(run, status, json);
}

/* Ours from here on: neither a daemon that we start nor the payload has it. */
static int take_status(struct run *run, struct bm_error *err)
{
	const char *text = run->cli->args.value[OPT_JSON_STATUS_FD];
	int64_t fd;
	int r, flags;

	if (!text)
		return 0;
	run->cli->failure = EXIT_USAGE;
	r = cli_parse_number("--json-status-fd", text, 0, INT_MAX, &fd, err);
	if (r < 0)
		return r;
	flags = fcntl((int)fd, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return bm_fail(err, EBADF, NULL, "open it for writing, as in 3>file",
			       "--json-status-fd: %lld is no descriptor to write to",
			       (long long)fd);
	run->status = fcntl((int)fd, F_DUPFD_CLOEXEC, 3);
	if (run->status < 0)
		return bm_fail_errno(err, errno, "--json-status-fd");
	if (fd > STDERR_FILENO)
		close((int)fd);
	run->cli->failure = 0;
	return 0;
}

static int create(struct run *run, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *bench;
	const char *name;
	int r = cli_create(run->cli, run->socket, NULL, &reply, err);

	if (r == 0)
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	name = bm_json_string(bench, "name");
	if (!name || !bm_bench_name_valid(name))
		return bm_fail(err, EPROTO, "protocol", NULL, "the new Bench has no name");
	snprintf(run->bench, sizeof(run->bench), "%s", name);
	tell_only(run, "created");
	return 0;
}

static int make_out(struct run *run, const char *path, struct bm_error *err)
{
	if (mkdir(path, 0777) == 0)
		run->made[run->made_count++] = path;
	else if (errno != EEXIST)
		return bm_fail_errno(err, errno, "--out %s", path);
	return 0;
}

static int grant_one(struct run *run, const struct cli_given *given, struct bm_error *err)
{
	FILE *out = run->cli->format == FORMAT_JSON ? NULL : stderr;
	bool writable = given->opt == OPT_OUT;
	char base[NAME_MAX + 1], dest[NAME_MAX + 8];
	struct cli_file_grant grant = {
		.source = given->value,
		.dest = dest,
		.rights = writable ? "rw" : "ro",
		.idmap = true,
	};
	autojson *reply = NULL;
	int r;

	if (given->opt == OPT_NET)
		return cli_grant_net(run->cli, run->socket, run->bench, given->value, out, &reply,
				     err);
	if (given->opt == OPT_BROKER)
		return cli_grant_broker(run->cli, run->socket, run->bench, given->value, out,
					&reply, err);
	r = writable ? make_out(run, given->value, err) : 0;
	if (r == 0)
		r = cli_parse_base(given->value, base, err);
	if (r < 0)
		return r;
	snprintf(dest, sizeof(dest), "/%s/%s", writable ? "out" : "in", base);
	return cli_grant_file(run->cli, run->socket, run->bench, &grant, out, &reply, err);
}

static int grant_all(struct run *run, struct bm_error *err)
{
	int r = interrupted(err);

	for (size_t i = 0; r == 0 && i < run->cli->args.given_count; i++) {
		const struct cli_given *given = &run->cli->args.given[i];

		if (given->opt == OPT_IN || given->opt == OPT_OUT || given->opt == OPT_NET ||
		    given->opt == OPT_BROKER)
			r = grant_one(run, given, err);
		if (r == 0)
			r = interrupted(err);
	}
	return r;
}

static void report_text(struct run *run)
{
	bool kept = cli_has(&run->cli->args, OPT_KEEP);

	cli_denials_print(&run->denials, run->bench, kept, stderr);
	if (kept)
		fprintf(stderr, "benchmon: %s is kept: `benchmon destroy %s` ends it\n", run->bench,
			run->bench);
}

static struct json_object *report_of(struct run *run)
{
	static const char *const told[] = { "receipt", "warnings" };
	bool kept = cli_has(&run->cli->args, OPT_KEEP);
	struct json_object *json = json_object_new_object(), *value;

	bm_json_add_string(json, "bench", run->bench);
	bm_json_add_bool(json, "kept", kept);
	bm_json_add_int(json, "exit", run->code);
	bm_json_add_int(json, "denied", (int64_t)run->denials.total);
	bm_json_add_int(json, "lost", (int64_t)run->denials.lost);
	bm_json_add(json, "denials", cli_denials_json(&run->denials));
	for (size_t i = 0; run->destroyed && i < sizeof(told) / sizeof(told[0]); i++)
		if (json_object_object_get_ex(run->destroyed, told[i], &value))
			bm_json_add(json, told[i], json_object_get(value));
	return json;
}

/* On stderr: stdout is the payload's alone. Last of all, since the receipt is. */
static void report_json(struct run *run)
{
	autojson *json = report_of(run);

	cli_print_json(stderr, json);
}

/* The last line, whatever went before: a program waits for it. */
static void tell_end(struct run *run, const struct bm_error *err)
{
	autojson *json = run->started ? report_of(run) : json_object_new_object();

	if (err->code)
		bm_json_add(json, "error", bm_error_to_json(err));
	tell(run, run->started ? "ended" : "failed", json);
	bm_close(run->status);
}

/* Everything that must be undone, whatever went wrong before. A failure here is the second. */
static int finish(struct run *run, struct bm_error *err)
{
	struct bm_error own = {};
	autoclose socket = -1;
	char why[CLI_SHORT];
	int r;

	while (!run->started && run->made_count)
		rmdir(run->made[--run->made_count]);
	if (!run->bench[0] || (cli_has(&run->cli->args, OPT_KEEP) && run->started))
		return 0;
	/* Anew: the first connection may be what failed. */
	r = cli_connect_running(&socket);
	if (r == 0)
		r = cli_destroy(socket, run->bench, &run->destroyed, &own);
	if (r == 0) {
		if (run->cli->format != FORMAT_JSON && bm_json_string(run->destroyed, "ended"))
			fprintf(stderr, "benchmon: %s had been destroyed already: %s\n", run->bench,
				cli_show_key(run->destroyed, "reason", why, sizeof(why)));
		return 0;
	}
	bm_fail_errno(&own, -r, "%s could not be destroyed", run->bench);
	if (err->code)
		cli_report(run->cli->format, &own);
	else
		*err = own;
	return r;
}

static int run_all(struct run *run, struct bm_error *err)
{
	struct bm_error denials_err = {};
	autoclose events = -1;
	int r;

	r = cli_connect(&run->socket, err);
	if (r == 0)
		r = create(run, err);
	if (r == 0)
		r = grant_all(run, err);
	if (r < 0)
		return r;
	run->started = true;
	tell_only(run, "started");
	r = cli_exec(run->cli, run->bench, err);
	run->code = r < 0 ? run->cli->failure ?: EXIT_OWN : r;
	if (cli_connect_running(&events) == 0 &&
	    cli_denials_read(events, run->bench, &run->denials, &denials_err) < 0)
		cli_report(run->cli->format, &denials_err);
	if (run->cli->format != FORMAT_JSON)
		report_text(run);
	return r;
}

int cmd_run(struct cli *cli, struct bm_error *err)
{
	autofree const char **made = calloc(cli->args.given_count + 1, sizeof(*made));
	struct run run = { .cli = cli, .socket = -1, .made = made, .status = -1 };
	int r, failed;

	if (!made)
		return bm_fail_errno(err, ENOMEM, "run");
	r = take_status(&run, err);
	if (r < 0)
		return r;
	r = cli_signals_catch(err);
	if (r == 0)
		r = run_all(&run, err);
	failed = finish(&run, err);
	if (run.started && cli->format == FORMAT_JSON)
		report_json(&run);
	tell_end(&run, err);
	json_object_put(run.destroyed);
	cli_denials_done(&run.denials);
	bm_close(run.socket);
	if (r < 0 && cli_interrupted())
		cli->failure = EXIT_SIGNALLED + cli_interrupted();
	return r >= 0 && failed < 0 ? failed : r;
}
