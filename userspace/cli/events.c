// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>

#include "cli/cli.h"
#include "cli/ocsf.h"
#include "cli/parse.h"
#include "cli/signals.h"
#include "cli/stream.h"
#include "cli/text.h"

/* Waits for the next message; 0: nobody wants it any more. */
static int await(int socket, struct bm_error *err)
{
	struct pollfd polled[] = {
		{ socket, POLLIN, 0 },
		{ cli_signals_fd(), POLLIN, 0 },
		{ STDOUT_FILENO, 0, 0 }, /* POLLERR: the reader of our pipe has gone */
	};

	for (;;) {
		int r = poll(polled, 3, -1);

		if (r < 0 && errno != EINTR)
			return bm_fail_errno(err, errno, "poll");
		if (cli_interrupted() || (r > 0 && polled[2].revents & (POLLERR | POLLNVAL)))
			return 0;
		if (r > 0 && polled[0].revents)
			return 1;
		cli_signals_resized();
	}
}

static void print(const struct cli *cli, struct json_object *event)
{
	autojson *ocsf = NULL;

	switch (cli->format) {
	case FORMAT_JSON:
		cli_print_json(stdout, event);
		break;
	case FORMAT_OCSF:
		ocsf = cli_ocsf(event);
		cli_print_json(stdout, ocsf);
		break;
	default:
		cli_event_print(stdout, event);
	}
}

static int copy(struct cli *cli, int socket, bool follow, struct bm_error *err)
{
	for (;;) {
		autojson *event = NULL;
		int r = await(socket, err);

		if (r > 0)
			r = cli_events_next(socket, &event, err);
		if (r <= 0)
			return r;
		print(cli, event);
		if (follow && fflush(stdout) < 0)
			return errno == EPIPE ? 0 : bm_fail_errno(err, errno, "standard output");
	}
}

int cmd_events(struct cli *cli, struct bm_error *err)
{
	const char *bench = cli->args.value[OPT_BENCH], *since = cli->args.value[OPT_SINCE];
	bool follow = cli_has(&cli->args, OPT_FOLLOW);
	autoclose socket = -1;
	int64_t seq = -1;
	int r;

	if (since && !bench)
		return cli_usage(cli, err, "events: --since counts in one Bench: add --bench");
	cli->failure = EXIT_USAGE;
	r = bench ? cli_bench_name(cli, bench, err) : 0;
	if (r == 0 && since)
		r = cli_parse_number("--since", since, 0, INT64_MAX, &seq, err);
	if (r < 0)
		return r;
	cli->failure = 0;
	r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_signals_catch(err);
	if (r == 0)
		r = cli_events_ask(socket, bench, seq, follow, err);
	if (r == 0)
		r = copy(cli, socket, follow, err);
	return r;
}
