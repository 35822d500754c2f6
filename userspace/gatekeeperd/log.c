// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "gatekeeperd/daemon.h"

void daemon_log(enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (isatty(2))
		fprintf(stderr, "gatekeeperd: %s\n", text);
	else
		fprintf(stderr, "<%d>%s\n", (int)level, text);
}

void daemon_log_error(const char *what, const struct bm_error *err)
{
	char line[1024];

	daemon_log(LOG_LEVEL_ERROR, "%s: %s", what, bm_error_line(err, line, sizeof(line)));
}
