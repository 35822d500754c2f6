// SPDX-License-Identifier: GPL-2.0-only
/* benchmon: the command line of gatekeeperd. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"

/*
 * Were 0, 1 or 2 closed, the next thing opened would take its place and be read or written as
 * standard input or output. Opened the wrong way round, so that using it is still an error.
 */
static void standard_fds(void)
{
	static const int modes[] = { O_WRONLY, O_RDONLY, O_RDONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_exit(EXIT_OWN);
}

static int find(const char *name, const struct cli_command **ret, struct bm_error *err)
{
	const char *nearest;
	char remedy[64], shown[64];

	*ret = cli_command_find(name);
	if (*ret)
		return 0;
	nearest = cli_command_nearest(name);
	snprintf(remedy, sizeof(remedy), nearest ? "did you mean %s?" : "see `benchmon help`",
		 nearest);
	return bm_fail(err, EINVAL, NULL, remedy, "there is no command '%s'",
		       bm_escape(name, shown, sizeof(shown)));
}

static int run(struct cli *cli, int argc, char **argv, struct bm_error *err)
{
	const char *format;
	int r;

	cli->failure = EXIT_USAGE;
	r = cli_args_parse(cli->command, argc, argv, &cli->args, err);
	if (r < 0)
		return r;
	format = cli->args.value[OPT_FORMAT];
	if (format) {
		r = cli_format_parse(cli->command, format, &cli->format, err);
		if (r < 0)
			return r;
	}
	cli->failure = 0;
	if (cli_has(&cli->args, OPT_HELP))
		return cmd_help(cli, err);
	return cli->command->fn(cli, err);
}

/* A full disk behind stdout must not pass for success. */
static int flush(int code, struct bm_error *err)
{
	int failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return code;
	if (errno == EPIPE)
		return code;
	return bm_fail_errno(err, errno ?: EIO, "standard output");
}

int main(int argc, char **argv)
{
	struct cli cli = {};
	struct bm_error err = {};
	int r = 0;

	standard_fds();
	if (cli_wants_json(argc, argv))
		cli.format = FORMAT_JSON;
	if (argc > 1 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
		argv[1] = (char *)"help";
	if (argc > 1 && !strcmp(argv[1], "--version"))
		argv[1] = (char *)"version";
	if (argc > 1 && argv[1][0] != '-') {
		argv++;
		argc--;
		cli.failure = EXIT_USAGE;
		r = find(argv[0], &cli.command, &err);
	} else {
		cli.command = cli_command_find("ls");
	}
	if (r == 0)
		r = run(&cli, argc, argv, &err);
	if (r >= 0)
		r = flush(r, &err);
	if (r < 0) {
		bm_fail_errno(&err, -r, "%s", cli.command ? cli.command->name : "benchmon");
		fflush(stdout);
		cli_report(cli.format, &err);
		r = cli.failure ?: EXIT_OWN;
	}
	cli_args_done(&cli.args);
	return r;
}
