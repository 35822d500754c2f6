// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/relay.h"

/* What a pty takes for the end of its input. */
#define END_OF_FILE "\004"

static void drop(int *fd)
{
	if (*fd > STDERR_FILENO)
		bm_close(*fd);
	*fd = -1;
}

void cli_pump_open(struct cli_pump *pump, int from, int to)
{
	struct stat st;

	pump->from = from;
	pump->to = to;
	/*
	 * Ours are non-blocking; the operator's cannot be made so, because that would change them
	 * for everybody who shares them. A pipe or terminal then takes PIPE_BUF without blocking.
	 */
	pump->chunk = PIPE_BUF;
	if (to > STDERR_FILENO || (fstat(to, &st) == 0 && S_ISREG(st.st_mode)))
		pump->chunk = CLI_PUMP_SIZE;
}

void cli_pump_close(struct cli_pump *pump)
{
	drop(&pump->from);
	drop(&pump->to);
	pump->len = 0;
}

static void end(struct cli_pump *pump)
{
	drop(&pump->from);
	if (!pump->terminal)
		drop(&pump->to);
	if (pump->to < 0)
		return;
	/* In the middle of a line the first one only hands over what there is of it. */
	pump->start = 0;
	pump->len = pump->line_open ? 2 : 1;
	for (size_t i = 0; i < pump->len; i++)
		pump->buf[i] = END_OF_FILE[0];
}

void cli_pump_read(struct cli_pump *pump)
{
	ssize_t n = read(pump->from, pump->buf, sizeof(pump->buf));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* EIO: a pty whose other side is closed, or a terminal that is not ours any more. */
	if (n <= 0) {
		end(pump);
		return;
	}
	pump->start = 0;
	pump->len = (size_t)n;
	pump->line_open = pump->buf[n - 1] != '\n' && pump->buf[n - 1] != '\r';
}

void cli_pump_write(struct cli_pump *pump)
{
	size_t len = pump->len < pump->chunk ? pump->len : pump->chunk;
	ssize_t n = write(pump->to, pump->buf + pump->start, len);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* Who wrote must meet the end too: with SIGPIPE, as if nobody stood between. */
	if (n < 0) {
		pump->error = errno == EPIPE ? 0 : errno;
		cli_pump_close(pump);
		return;
	}
	pump->start += (size_t)n;
	pump->len -= (size_t)n;
}
