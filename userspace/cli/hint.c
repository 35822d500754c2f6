// SPDX-License-Identifier: GPL-2.0-only
#include "cli/hint.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "cli/parse.h"

const char *cli_hint_for_run(const char *hint, const char *bench, char *buf, size_t size)
{
	char prefix[BM_BENCH_NAME_LEN + 32], base[NAME_MAX + 1];
	size_t len = (size_t)snprintf(prefix, sizeof(prefix), "benchmon grant %s ", bench);
	struct cli_spec spec;
	const char *what = hint + len;
	bool writable;

	snprintf(buf, size, "%s", hint);
	if (strncmp(hint, prefix, len))
		return buf;
	if (!strncmp(what, "net ", 4)) {
		snprintf(buf, size, "benchmon run --net %s", what + 4);
		return buf;
	}
	/* Quoted or in the long form: not to be taken apart without a shell. */
	if (strncmp(what, "file ", 5) || strpbrk(what + 5, " '\"\\$") ||
	    cli_parse_spec(what + 5, &spec, NULL) < 0 || spec.source[0] != '/' ||
	    cli_parse_base(spec.source, base, NULL) < 0)
		return buf;
	writable = !strcmp(spec.rights, "rw");
	snprintf(buf, size, "benchmon run --%s %s (then /%s/%s)", writable ? "out" : "in",
		 spec.source, writable ? "out" : "in", base);
	return buf;
}
