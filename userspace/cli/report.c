// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdarg.h>

#include "cli/cli.h"
#include "cli/text.h"

int cli_usage(struct cli *cli, struct bm_error *err, const char *fmt, ...)
{
	char message[sizeof(err->message)], remedy[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	snprintf(remedy, sizeof(remedy), "see `benchmon help %s`", cli->command->name);
	cli->failure = EXIT_USAGE;
	return bm_fail(err, EINVAL, NULL, remedy, "%s", message);
}

void cli_report(enum cli_format format, const struct bm_error *err)
{
	char line[1024], shown[CLI_SHOWN];

	if (format == FORMAT_JSON) {
		autojson *json = json_object_new_object();

		bm_json_add(json, "error", bm_error_to_json(err));
		cli_print_json(stderr, json);
		return;
	}
	fprintf(stderr, "benchmon: %s\n",
		cli_show(bm_error_line(err, line, sizeof(line)), shown, sizeof(shown)));
}
