// SPDX-License-Identifier: GPL-2.0-only
/* How a line of the ledger looks to people. */
#include "cli/ledger.h"

#include <string.h>

#include "base/cleanup.h"
#include "cli/text.h"

#define COLUMN 29 /* behind the number and the time */

struct words {
	char text[CLI_SHOWN];
	size_t used;
};

/* One more, made safe; too many are left out. */
static void add(struct words *words, const char *text)
{
	char shown[CLI_SHOWN];
	int n;

	if (words->used >= sizeof(words->text) - 1)
		return;
	n = snprintf(words->text + words->used, sizeof(words->text) - words->used, "%s%s",
		     words->used ? " " : "", cli_show(text, shown, sizeof(shown)));
	words->used += n > 0 ? (size_t)n : 0;
}

static void add_key(struct words *words, struct json_object *json, const char *key)
{
	char shown[CLI_SHOWN];

	if (json_object_object_get_ex(json, key, NULL))
		add(words, cli_show_key(json, key, shown, sizeof(shown)));
}

static void add_grant(struct words *words, struct json_object *line)
{
	add_key(words, line, "id");
	add_key(words, line, "rights");
	add_key(words, line, "source");
	if (bm_json_string(line, "dest"))
		add(words, "at");
	add_key(words, line, "dest");
	add_key(words, line, "destination");
	add_key(words, line, "profile");
	if (bm_json_string(line, "expires"))
		add(words, "until");
	add_key(words, line, "expires");
}

/* Words in a list stand there; of anything else in it there is only how much. */
static void add_list(struct words *words, const char *key, struct json_object *list)
{
	size_t count = json_object_array_length(list), shown = 0;
	char text[32];

	for (size_t i = 0; i < count; i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (!json_object_is_type(item, json_type_string))
			continue;
		add(words, json_object_get_string(item));
		shown++;
	}
	if (!count || shown)
		return;
	snprintf(text, sizeof(text), "%zu", count);
	add(words, text);
	add(words, key);
}

/* Also for what a later version says: key and value, but what every line has. */
static void add_any(struct words *words, struct json_object *line)
{
	static const char *const known[] = { "n",        "time", "event", "bench",
					     "bench_id", "prev", "hash",  "key" };

	json_object_object_foreach(line, key, value) {
		size_t i = 0;

		while (i < sizeof(known) / sizeof(known[0]) && strcmp(known[i], key))
			i++;
		if (i < sizeof(known) / sizeof(known[0]))
			continue;
		if (json_object_is_type(value, json_type_array)) {
			add_list(words, key, value);
		} else if (json_object_is_type(value, json_type_string) ||
			   json_object_is_type(value, json_type_int)) {
			add(words, key);
			add(words, json_object_get_string(value));
		} else if (json_object_is_type(value, json_type_boolean) &&
			   json_object_get_boolean(value)) {
			add(words, key);
		}
	}
}

void cli_ledger_line(FILE *out, struct json_object *line)
{
	const char *event = bm_json_string(line, "event") ?: "-";
	const char *time = bm_json_string(line, "time") ?: "-";
	char number[CLI_SHORT], shown[CLI_SHOWN];
	struct words words = {};

	if (!strcmp(event, "state"))
		return;
	add_key(&words, line, "bench");
	add(&words, event);
	if (!strcmp(event, "grant"))
		add_grant(&words, line);
	else
		add_any(&words, line);
	fprintf(out, "%6s  %-19.19s  ", cli_show_key(line, "n", number, sizeof(number)),
		cli_show(time, shown, sizeof(shown)));
	cli_wrap(out, COLUMN, words.text);
}
