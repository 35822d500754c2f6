// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/relay.h"
#include "cli/signals.h"
#include "cli/terminal.h"

static int request_of(struct cli *cli, const char *bench, bool tty, struct json_object *request,
		      struct bm_error *err)
{
	struct json_object *argv = json_object_new_array(), *env = json_object_new_object();
	const char *term = getenv("TERM"), *cwd = cli->args.value[OPT_CWD];

	bm_json_add_string(request, "bench", bench);
	bm_json_add(request, "argv", argv);
	bm_json_add(request, "env", env);
	bm_json_add_bool(request, "tty", tty);
	if (cli_has(&cli->args, OPT_NOT_FOUND))
		bm_json_add_bool(request, "seek", true);
	if (cwd)
		bm_json_add_string(request, "cwd", cwd);
	for (char **arg = cli->args.payload; *arg; arg++)
		json_object_array_add(argv, json_object_new_string(*arg));
	if (tty && term)
		bm_json_add_string(env, "TERM", term);
	for (size_t i = 0; i < cli->args.given_count; i++) {
		const struct cli_given *given = &cli->args.given[i];
		const char *value;
		char key[256];

		if (given->opt != OPT_ENV)
			continue;
		if (cli_parse_env(given->value, key, sizeof(key), &value, err) < 0) {
			cli->failure = EXIT_USAGE;
			return -err->code;
		}
		if (value)
			bm_json_add_string(env, key, value);
	}
	return 0;
}

/* The payload's three descriptors into fds, the other ends into the relay. */
static int pipes_open(struct cli_relay *relay, int fds[3], struct bm_error *err)
{
	struct cli_pump *pumps[] = { &relay->in, &relay->out, &relay->err };

	for (int i = 0; i < 3; i++) {
		int ends[2], ours = i ? 0 : 1;

		if (pipe2(ends, O_CLOEXEC) < 0)
			return bm_fail_errno(err, errno, "pipe");
		fds[i] = ends[!ours];
		/* Two descriptions, so that the payload's end stays blocking. */
		if (fcntl(ends[ours], F_SETFL, O_NONBLOCK) < 0)
			return bm_fail_errno(err, errno, "pipe");
		if (i)
			cli_pump_open(pumps[i], ends[0], i);
		else
			cli_pump_open(pumps[i], STDIN_FILENO, ends[1]);
	}
	return 0;
}

static int pty_open(struct cli_relay *relay, int fds[3], struct bm_error *err)
{
	int like = isatty(STDIN_FILENO) ? STDIN_FILENO : -1;
	int r = cli_pty_open(like, &relay->master, &fds[0], err);
	int in;

	if (r < 0)
		return r;
	in = fcntl(relay->master, F_DUPFD_CLOEXEC, 3);
	fds[1] = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
	fds[2] = fcntl(fds[0], F_DUPFD_CLOEXEC, 3);
	cli_pump_open(&relay->in, STDIN_FILENO, in);
	relay->in.terminal = true;
	cli_pump_open(&relay->out, fcntl(relay->master, F_DUPFD_CLOEXEC, 3), STDOUT_FILENO);
	if (in < 0 || fds[1] < 0 || fds[2] < 0 || relay->out.from < 0)
		return bm_fail_errno(err, EMFILE, "a terminal for the Bench");
	return 0;
}

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++)
		bm_close(TAKE_FD(fds[i]));
}

/* The kernel's reasons for not executing, as a shell would put them. */
static void failure_of(struct cli *cli, const struct bm_error *err)
{
	if (strcmp(err->rule, "exec"))
		return;
	cli->failure =
		err->code == ENOENT || err->code == ENOTDIR ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE;
}

static int start(struct cli *cli, const char *bench, bool tty, int socket, const int fds[3],
		 struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	int r = request_of(cli, bench, tty, request, err);

	if (r == 0)
		r = cli_call(socket, "exec", request, fds, 3, &reply, err);
	return r;
}

static int exec_with(struct cli *cli, const char *bench, bool tty, struct cli_relay *relay,
		     struct bm_error *err)
{
	autoclose socket = -1;
	int fds[3] = { -1, -1, -1 };
	int r;

	r = tty ? pty_open(relay, fds, err) : pipes_open(relay, fds, err);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_signals_catch(err);
	if (r == 0)
		r = start(cli, bench, tty, socket, fds, err);
	/* The payload has its own; one kept here would hide the end of its output. */
	close_all(fds);
	if (r == 0 && tty && isatty(STDIN_FILENO))
		r = cli_terminal_raw(STDIN_FILENO, err);
	if (r < 0) {
		failure_of(cli, err);
		return r;
	}
	relay->socket = socket;
	r = cli_relay_run(relay, err);
	cli_terminal_restore();
	if (r < 0)
		failure_of(cli, err);
	return r;
}

static void relay_freep(struct cli_relay **relay)
{
	if (*relay)
		cli_relay_done(*relay);
	free(*relay);
}

int cli_exec(struct cli *cli, const char *bench, struct bm_error *err)
{
	BM_CLEANUP(relay_freep) struct cli_relay *relay = calloc(1, sizeof(*relay));
	bool tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

	if (!relay)
		return bm_fail_errno(err, ENOMEM, "exec");
	relay->socket = relay->master = -1;
	relay->in.from = relay->in.to = -1;
	relay->out.from = relay->out.to = -1;
	relay->err.from = relay->err.to = -1;
	if (cli_has(&cli->args, OPT_TTY) && cli_has(&cli->args, OPT_NO_TTY))
		return cli_usage(cli, err, "--tty and --no-tty at once");
	if (cli_has(&cli->args, OPT_TTY))
		tty = true;
	if (cli_has(&cli->args, OPT_NO_TTY))
		tty = false;
	return exec_with(cli, bench, tty, relay, err);
}

int cmd_exec(struct cli *cli, struct bm_error *err)
{
	const char *bench = cli->args.operands[0];
	int r = cli_bench_name(cli, bench, err);

	return r < 0 ? r : cli_exec(cli, bench, err);
}
