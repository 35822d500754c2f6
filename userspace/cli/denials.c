// SPDX-License-Identifier: GPL-2.0-only
#include "cli/denials.h"

#include <stdlib.h>
#include <string.h>

#include "cli/hint.h"
#include "cli/stream.h"
#include "cli/text.h"

/* More kinds than anybody reads; what is above is still counted. */
#define KINDS_MAX 256
#define KINDS_SHOWN 20

static bool same(struct json_object *a, struct json_object *b, const char *key)
{
	const char *x = bm_json_string(a, key), *y = bm_json_string(b, key);

	return x && y ? !strcmp(x, y) : x == y;
}

/* The same thing wanted in the same way, whoever wanted it. */
static bool alike(struct json_object *a, struct json_object *b)
{
	struct json_object *x = bm_json_get(a, "object", json_type_object);
	struct json_object *y = bm_json_get(b, "object", json_type_object);
	char one[CLI_SHOWN], other[CLI_SHOWN];

	return same(a, b, "hook") && same(a, b, "rule") && !x == !y &&
	       (!x || same(x, y, "wanted")) &&
	       !strcmp(cli_event_object(a, one, sizeof(one)),
		       cli_event_object(b, other, sizeof(other)));
}

void cli_denials_add(struct cli_denials *denials, struct json_object *event)
{
	const char *type = bm_json_string(event, "type"),
		   *verdict = bm_json_string(event, "verdict");
	struct cli_denial *grown;
	int64_t lost = 0;

	if (type && (!strcmp(type, "lost") || !strcmp(type, "suppressed"))) {
		if (bm_json_int(event, "count", &lost) == 0 && lost > 0)
			denials->lost += (uint64_t)lost;
		return;
	}
	if (!verdict || strcmp(verdict, "deny"))
		return;
	denials->total++;
	for (size_t i = 0; i < denials->kinds; i++) {
		if (alike(denials->list[i].event, event)) {
			denials->list[i].count++;
			return;
		}
	}
	if (denials->kinds == KINDS_MAX)
		return;
	grown = reallocarray(denials->list, denials->kinds + 1, sizeof(*grown));
	if (!grown)
		return;
	denials->list = grown;
	grown[denials->kinds++] = (struct cli_denial){ json_object_get(event), 1 };
}

int cli_denials_read(int socket, const char *bench, struct cli_denials *ret, struct bm_error *err)
{
	/* From its first one: the newest of all may be others'. */
	int r = cli_events_ask(socket, bench, 0, false, err);

	*ret = (struct cli_denials){};
	while (r == 0 || r == 1) {
		autojson *event = NULL;

		r = cli_events_next(socket, &event, err);
		if (r != 1)
			break;
		cli_denials_add(ret, event);
	}
	return r;
}

static void print_kind(FILE *out, const struct cli_denial *denial, const char *bench, bool kept)
{
	struct json_object *object = bm_json_get(denial->event, "object", json_type_object);
	const char *wanted = object ? bm_json_string(object, "wanted") : NULL;
	char hook[CLI_SHORT], rule[CLI_SHORT], what[CLI_SHOWN], hint[CLI_SHOWN], rights[CLI_SHORT];

	fprintf(out, "%6llux %s%s%s %s (%s)\n", (unsigned long long)denial->count,
		cli_show_key(denial->event, "hook", hook, sizeof(hook)), wanted ? " " : "",
		wanted ? cli_show(wanted, rights, sizeof(rights)) : "",
		cli_event_object(denial->event, what, sizeof(what)),
		cli_show_key(denial->event, "rule", rule, sizeof(rule)));
	if (!bm_json_string(denial->event, "hint"))
		return;
	cli_show_key(denial->event, "hint", hint, sizeof(hint));
	fprintf(out, "%8sallow with: %s\n", "",
		kept ? hint : cli_hint_for_run(hint, bench, what, sizeof(what)));
}

void cli_denials_print(const struct cli_denials *denials, const char *bench, bool kept, FILE *out)
{
	size_t shown = denials->kinds < KINDS_SHOWN ? denials->kinds : KINDS_SHOWN;
	uint64_t left = denials->total;

	if (!denials->total && !denials->lost)
		return;
	fprintf(out, "%sbenchmon: denied in %s: %llu%s\n", cli_colour(out, COLOUR_RED), bench,
		(unsigned long long)denials->total, cli_colour_end(out));
	for (size_t i = 0; i < shown; i++) {
		print_kind(out, &denials->list[i], bench, kept);
		left -= denials->list[i].count;
	}
	if (left)
		fprintf(out, "%6llux of other kinds\n", (unsigned long long)left);
	if (denials->lost)
		fprintf(out, "%6llux more that were counted but not delivered\n",
			(unsigned long long)denials->lost);
}

struct json_object *cli_denials_json(const struct cli_denials *denials)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < denials->kinds; i++) {
		struct json_object *kind = json_object_new_object();

		bm_json_add_int(kind, "count", (int64_t)denials->list[i].count);
		bm_json_add(kind, "event", json_object_get(denials->list[i].event));
		json_object_array_add(list, kind);
	}
	return list;
}

void cli_denials_done(struct cli_denials *denials)
{
	for (size_t i = 0; i < denials->kinds; i++)
		json_object_put(denials->list[i].event);
	free(denials->list);
	*denials = (struct cli_denials){};
}
