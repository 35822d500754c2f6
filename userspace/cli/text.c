// SPDX-License-Identifier: GPL-2.0-only
#include "cli/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"

/* Length of the escape that bm_escape() would have written at s, 0 when it is none. */
static size_t escape_len(const char *s)
{
	size_t want = s[0] != '\\' ? 0 : s[1] == 'x' ? 2 : s[1] == 'u' ? 4 : s[1] == 'U' ? 8 : 0;

	for (size_t i = 0; i < want; i++)
		if (!isxdigit((unsigned char)s[2 + i]))
			return 0;
	return want ? want + 2 : 0;
}

const char *cli_show(const char *text, char *buf, size_t size)
{
	autofree char *part = strdup(text);
	size_t used = 0;

	buf[0] = '\0';
	if (!part)
		return buf;
	/* bm_escape() leaves less than that where it cuts. */
	while (*text && used + 16 < size) {
		size_t escape = escape_len(text);
		/* At least one, for a backslash that is no escape. */
		size_t len = escape ?: 1 + strcspn(text + 1, "\\");

		memcpy(part, text, len);
		part[len] = '\0';
		if (escape)
			memcpy(buf + used, part, len + 1);
		else
			bm_escape(part, buf + used, size - used);
		used += strlen(buf + used);
		text += len;
	}
	return buf;
}

const char *cli_show_key(struct json_object *json, const char *key, char *buf, size_t size)
{
	const char *text = bm_json_string(json, key);
	int64_t number;

	if (text && *text)
		return cli_show(text, buf, size);
	if (!text && bm_json_int(json, key, &number) == 0)
		snprintf(buf, size, "%lld", (long long)number);
	else
		snprintf(buf, size, "-");
	return buf;
}

const char *cli_show_user(struct json_object *json, const char *key, char *buf, size_t size)
{
	const struct passwd *user;
	int64_t uid;

	if (bm_json_int(json, key, &uid) < 0 || uid < 0 || uid >= UINT32_MAX)
		return cli_show_key(json, key, buf, size);
	user = getpwuid((uid_t)uid);
	return user ? cli_show(user->pw_name, buf, size) : cli_show_key(json, key, buf, size);
}

const char *cli_show_detached(struct json_object *detached, char *buf, size_t size)
{
	char path[CLI_SHOWN], type[CLI_SHORT], source[CLI_SHOWN];
	int64_t left_out;

	if (bm_json_int(detached, "left_out", &left_out) == 0) {
		snprintf(buf, size, "and %lld more", (long long)left_out);
		return buf;
	}
	cli_show_key(detached, "path", path, sizeof(path));
	cli_show_key(detached, "what", type, sizeof(type));
	if (bm_json_string(detached, "source"))
		snprintf(buf, size, "%s (%s), on the host %s", path, type,
			 cli_show_key(detached, "source", source, sizeof(source)));
	else
		snprintf(buf, size, "%s (%s)", path, type);
	return buf;
}

static bool coloured(FILE *out)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (!no || !*no) && (!term || strcmp(term, "dumb")) && isatty(fileno(out));
}

const char *cli_colour(FILE *out, enum cli_colour colour)
{
	static const char *const codes[] = {
		[COLOUR_NONE] = "",          [COLOUR_BOLD] = "\033[1m",
		[COLOUR_DIM] = "\033[2m",    [COLOUR_RED] = "\033[31m",
		[COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
	};

	return coloured(out) ? codes[colour] : "";
}

const char *cli_colour_end(FILE *out)
{
	return coloured(out) ? "\033[0m" : "";
}

enum cli_colour cli_state_colour(const char *state)
{
	return !strcmp(state, "ready")    ? COLOUR_GREEN
	       : !strcmp(state, "broken") ? COLOUR_RED
	       : !strcmp(state, "frozen") ? COLOUR_YELLOW
					  : COLOUR_DIM;
}

void cli_wrap(FILE *out, unsigned column, const char *text)
{
	unsigned at = column;

	while (*(text += strspn(text, " "))) {
		unsigned len = (unsigned)strcspn(text, " ");

		if (at > column && at + 1 + len > CLI_WIDTH) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
		}
		at += (unsigned)fprintf(out, "%s%.*s", at > column ? " " : "", (int)len, text);
		text += len;
	}
	fputc('\n', out);
}

const char *cli_size(int64_t bytes, char buf[CLI_SIZE_LEN])
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, CLI_SIZE_LEN, "%lld bytes", (long long)bytes);
	else
		snprintf(buf, CLI_SIZE_LEN, "%.1f %ciB", value, units[unit]);
	return buf;
}

const char *cli_age(const char *time, uint64_t now_s, char buf[CLI_AGE_LEN])
{
	struct tm tm = {};
	uint64_t then, age;

	if (!time || !strptime(time, "%Y-%m-%dT%H:%M:%S", &tm)) {
		snprintf(buf, CLI_AGE_LEN, "-");
		return buf;
	}
	then = (uint64_t)timegm(&tm);
	age = now_s > then ? now_s - then : 0;
	if (age < 60)
		snprintf(buf, CLI_AGE_LEN, "%u s ago", (unsigned)age);
	else if (age < 3600)
		snprintf(buf, CLI_AGE_LEN, "%u min ago", (unsigned)(age / 60));
	else if (age < 48 * 3600)
		snprintf(buf, CLI_AGE_LEN, "%u h ago", (unsigned)(age / 3600));
	else
		snprintf(buf, CLI_AGE_LEN, "%u d ago", (unsigned)(age / 86400));
	return buf;
}

void cli_print_excepts(FILE *out, struct json_object *grant, const char *prefix)
{
	struct json_object *list = bm_json_get(grant, "except", json_type_array);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *rights = bm_json_string(item, "rights");
		char shown[CLI_SHOWN];

		fprintf(out, "%s%s: %s\n", prefix, cli_show_key(item, "name", shown, sizeof(shown)),
			rights && !strcmp(rights, "ro") ? "ro" : "left out");
	}
}

void cli_print_json(FILE *out, struct json_object *json)
{
	const char *text = json_object_to_json_string_ext(
		json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);

	fprintf(out, "%s\n", text ?: "{}");
}
