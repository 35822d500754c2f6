// SPDX-License-Identifier: GPL-2.0-only
#include "cli/ask.h"

#include <string.h>
#include <time.h>

#include "cli/text.h"

/* No byte is wider than a column. */
#define PIECE 60

const char *cli_ask_by(struct json_object *request, char *buf, size_t size)
{
	char shown[CLI_SHORT];

	if (bm_json_bool(request, "inside"))
		snprintf(buf, size, "Bench %s itself",
			 cli_show_key(request, "bench", shown, sizeof(shown)));
	else
		snprintf(buf, size, "uid %s", cli_show_key(request, "uid", shown, sizeof(shown)));
	return buf;
}

void cli_ask_words(FILE *out, const char *before, const char *text)
{
	char shown[CLI_SHOWN];
	const char *rest = cli_show(text, shown, sizeof(shown));

	do {
		size_t len = strnlen(rest, PIECE);

		/* Not within a character. */
		while (rest[len] && ((unsigned char)rest[len] & 0xc0) == 0x80)
			len--;
		fprintf(out, "%-12s\"%.*s\"\n", before, (int)len, rest);
		rest += len;
		before = "";
	} while (*rest);
}

void cli_ask_print(FILE *out, struct json_object *request)
{
	const char *target = bm_json_string(request, "target"),
		   *why = bm_json_string(request, "why");
	char id[CLI_SHORT], by[CLI_SHORT];

	fprintf(out, "  asked     %s, by %s; what follows in \"\" is theirs to say:\n",
		cli_show_key(request, "request", id, sizeof(id)),
		cli_ask_by(request, by, sizeof(by)));
	cli_ask_words(out, "  asked for", target ?: "");
	if (why)
		cli_ask_words(out, "  they say", why);
}

void cli_ask_print_item(FILE *out, struct json_object *request)
{
	const char *target = bm_json_string(request, "target"),
		   *why = bm_json_string(request, "why");
	const char *dest = bm_json_string(request, "dest"), *name = bm_json_string(request, "name");
	char id[CLI_SHORT], kind[CLI_SHORT], by[CLI_SHORT], age[CLI_AGE_LEN], rights[CLI_SHORT];
	uint64_t now = (uint64_t)time(NULL);
	int64_t seconds;

	fprintf(out, "%-10s  %s", cli_show_key(request, "request", id, sizeof(id)),
		cli_show_key(request, "kind", kind, sizeof(kind)));
	if (bm_json_string(request, "rights"))
		fprintf(out, " %s", cli_show_key(request, "rights", rights, sizeof(rights)));
	if (bm_json_int(request, "for", &seconds) == 0)
		fprintf(out, " for %lld s", (long long)seconds);
	fprintf(out, ", asked by %s, %s\n", cli_ask_by(request, by, sizeof(by)),
		cli_age(bm_json_string(request, "asked"), now, age));
	cli_ask_words(out, "  asked for", target ?: "");
	if (dest)
		cli_ask_words(out, "  as", dest);
	if (name)
		cli_ask_words(out, "  called", name);
	if (why)
		cli_ask_words(out, "  they say", why);
}
