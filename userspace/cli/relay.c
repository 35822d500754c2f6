// SPDX-License-Identifier: GPL-2.0-only
#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/signals.h"
#include "cli/terminal.h"

/* What may be in a stream when its writer has ended: the size of a pipe, or of a pty's buffer. */
static size_t capacity(int fd)
{
	int size = fcntl(fd, F_GETPIPE_SZ);

	return size > 0 ? (size_t)size : CLI_PUMP_SIZE;
}

static int poll_pump(const struct cli_pump *pump, struct pollfd *ret)
{
	bool full = pump->len > 0;

	*ret = (struct pollfd){ full ? pump->to : pump->from, full ? POLLOUT : POLLIN, 0 };
	return ret->fd >= 0;
}

static void step(struct cli_pump *pump, short revents)
{
	if (!revents)
		return;
	if (pump->len)
		cli_pump_write(pump);
	else
		cli_pump_read(pump);
}

/*
 * All that the payload wrote, and no more: a descendant that goes on writing would keep us here
 * for ever.
 */
static void drain(struct cli_pump *pump)
{
	size_t budget = pump->from < 0 ? 0 : capacity(pump->from);

	while ((pump->len || pump->from >= 0) && !cli_interrupted()) {
		struct pollfd polled[2] = { [1] = { cli_signals_fd(), POLLIN, 0 } };
		bool writing = pump->len;

		poll_pump(pump, &polled[0]);
		if (poll(polled, 2, writing ? -1 : 0) < 0 && errno != EINTR)
			return;
		cli_signals_resized();
		if (!polled[0].revents && !writing)
			return;
		step(pump, polled[0].revents);
		if (writing)
			continue;
		if (!budget)
			return;
		budget -= pump->len < budget ? pump->len : budget;
	}
}

static int signal_number(struct json_object *exit)
{
	int64_t number;

	return bm_json_int(exit, "signal", &number) == 0 ? (int)number : 0;
}

/* 1: it has ended, *ret_code says how. */
static int take_message(int socket, int *ret_code, struct bm_error *err)
{
	automessage message = {};
	struct json_object *ended, *error;
	int64_t code;
	int r = bm_receive(socket, &message, err);

	if (r == -ECONNRESET)
		return bm_fail(err, ECONNRESET, NULL, "what it started is killed with it",
			       "gatekeeperd hung up");
	if (r < 0)
		return bm_fail_errno(err, -r, "exec");
	error = bm_json_get(message.json, "error", json_type_object);
	if (error && bm_error_from_json(error, err) == 0)
		return -err->code;
	r = cli_reply_object(message.json, "exit", &ended, err);
	if (r < 0)
		return r;
	if (bm_json_int(ended, "code", &code) == 0)
		*ret_code = (int)(code & 0xff);
	else
		*ret_code = EXIT_SIGNALLED + signal_number(ended);
	return 1;
}

int cli_relay_run(struct cli_relay *relay, struct bm_error *err)
{
	struct cli_pump *pumps[] = { &relay->in, &relay->out, &relay->err };
	int code = 0, r = 0;

	while (r == 0 && !cli_interrupted()) {
		struct pollfd polled[5] = {
			[3] = { relay->socket, POLLIN, 0 }, [4] = { cli_signals_fd(), POLLIN, 0 }
		};

		for (int i = 0; i < 3; i++)
			poll_pump(pumps[i], &polled[i]);
		if (poll(polled, 5, -1) < 0) {
			if (errno != EINTR)
				return bm_fail_errno(err, errno, "poll");
			continue;
		}
		if (polled[4].revents && cli_signals_resized() && relay->master >= 0)
			cli_pty_resize(STDIN_FILENO, relay->master);
		for (int i = 0; i < 3; i++)
			step(pumps[i], polled[i].revents);
		if (polled[3].revents)
			r = take_message(relay->socket, &code, err);
	}
	if (r != 0) {
		drain(&relay->out);
		drain(&relay->err);
	}
	if (cli_interrupted())
		return EXIT_SIGNALLED + cli_interrupted();
	/* Output that is lost must not pass for a success. */
	if (r > 0 && relay->out.error)
		return bm_fail_errno(err, relay->out.error, "standard output");
	return r < 0 ? r : code;
}

void cli_relay_done(struct cli_relay *relay)
{
	cli_pump_close(&relay->in);
	cli_pump_close(&relay->out);
	cli_pump_close(&relay->err);
	bm_close(relay->master);
	relay->master = -1;
}
