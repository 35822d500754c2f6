// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static enum log_level threshold = LOG_LEVEL_INFO;

static const char *const names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

void daemon_log_level(enum log_level level)
{
	threshold = level;
}

const char *log_level_name(enum log_level level)
{
	return names[level];
}

bool log_level_parse(const char *name, enum log_level *ret)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!names[i] || strcmp(names[i], name))
			continue;
		*ret = (enum log_level)i;
		return true;
	}
	return false;
}

void daemon_log(enum log_level level, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (level > threshold)
		return;
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
