// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>

#include "cli/stream.h"
#include "cli/suggest_cli.h"
#include "cli/text.h"

static const char plain[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-@,=%:";

static bool is_plain(const char *text)
{
	return strspn(text, plain) == strlen(text);
}

static const char *file_command(struct json_object *grant, const char *bench, char *buf,
				size_t size)
{
	const char *source = bm_json_string(grant, "source"), *dest = bm_json_string(grant, "dest");
	const char *rights = bm_json_string(grant, "rights");
	const char *quote = is_plain(source) && is_plain(dest) ? "" : "'";

	buf[0] = '\0';
	if (strpbrk(source, "'\\") || strpbrk(dest, "'\\"))
		return buf;
	if (strchr(source, ':') || strchr(dest, ':'))
		snprintf(buf, size,
			 "benchmon grant %s file --source %s%s%s --dest %s%s%s --rights %s", bench,
			 quote, source, quote, quote, dest, quote, rights);
	else
		snprintf(buf, size, "benchmon grant %s file %s%s:%s:%s%s", bench, quote, source,
			 dest, rights, quote);
	return buf;
}

const char *suggest_command(struct json_object *grant, const char *bench, char *buf, size_t size)
{
	const char *to = bm_json_string(grant, "profile") ?: bm_json_string(grant, "destination");
	char text[CLI_SHOWN];
	size_t len;

	if (!to)
		return file_command(grant, bench, buf, size);
	len = (size_t)snprintf(text, sizeof(text), "%s", to);
	if (!bm_json_string(grant, "profile") && len > 4 && !strcmp(text + len - 4, "/tcp"))
		text[len - 4] = '\0';
	snprintf(buf, size, "benchmon grant %s net %s%s%s%s", bench, *text == '[' ? "'" : "", text,
		 *text == '[' ? "'" : "", bm_json_bool(grant, "private") ? " --private" : "");
	return buf;
}

/* "first by cc1 (pid 71): file_open r /vol/src/a.c" */
static void print_evidence(struct json_object *item)
{
	struct json_object *event = bm_json_get(item, "evidence", json_type_object);
	struct json_object *process =
		event ? bm_json_get(event, "process", json_type_object) : NULL;
	char count[CLI_SHORT], hook[CLI_SHORT], comm[CLI_SHORT], pid[CLI_SHORT], what[CLI_SHOWN];

	printf("      %s times", cli_show_key(item, "count", count, sizeof(count)));
	if (event)
		printf(", first %s of %s", cli_show_key(event, "hook", hook, sizeof(hook)),
		       cli_event_object(event, what, sizeof(what)));
	if (process)
		printf("\n      by %s (pid %s)", cli_show_key(process, "comm", comm, sizeof(comm)),
		       cli_show_key(process, "pid", pid, sizeof(pid)));
	putchar('\n');
}

static void print_apart(struct json_object *item)
{
	char what[CLI_SHORT], path[CLI_SHOWN], why[CLI_SHOWN];

	printf("  %s %s\n      ", cli_show_key(item, "what", what, sizeof(what)),
	       cli_show_key(item, bm_json_string(item, "path") ? "path" : "destination", path,
			    sizeof(path)));
	cli_wrap(stdout, 6, cli_show_key(item, "why", why, sizeof(why)));
	if (!strcmp(what, "secret"))
		printf("      `benchmon grant ... --secret` in a Bench that never gets egress, or "
		       "a\n      broker that holds it outside\n");
}

void suggest_print(struct json_object *result)
{
	struct json_object *grants = bm_json_get(result, "grants", json_type_array),
			   *apart = bm_json_get(result, "apart", json_type_array);
	char bench[CLI_SHORT], shown[CLI_SHOWN];
	int64_t count = 0;

	if (bm_json_bool(result, "learns"))
		printf("%sLEARNING: not enforced%s\n", cli_colour(stdout, COLOUR_RED),
		       cli_colour_end(stdout));
	cli_show_key(result, "bench", bench, sizeof(bench));
	bm_json_int(result, "events", &count);
	printf("%s: %zu grants for %lld events\n", bench, json_object_array_length(grants),
	       (long long)count);
	for (size_t i = 0; i < json_object_array_length(grants); i++) {
		struct json_object *grant = json_object_array_get_idx(grants, i);
		const char *command = bm_json_string(grant, "command");

		printf("  %s\n", command ? cli_show(command, shown, sizeof(shown))
					 : "(of a name that no command line can hold)");
		print_evidence(grant);
	}
	if (json_object_array_length(apart))
		printf("not by a grant:\n");
	for (size_t i = 0; i < json_object_array_length(apart); i++)
		print_apart(json_object_array_get_idx(apart, i));
	if (bm_json_int(result, "suppressed", &count) == 0 && count)
		printf("%lld events were suppressed: what they told is missing; run it again, and "
		       "what\nhas been told is not told again\n",
		       (long long)count);
	if (bm_json_int(result, "left_out", &count) == 0 && count)
		printf("%lld more have not been looked at: too many different ones\n",
		       (long long)count);
}

struct json_object *suggest_template(struct json_object *grants)
{
	static const char *const keys[] = { "kind",    "source",      "dest",    "rights",
					    "profile", "destination", "private", NULL };
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < json_object_array_length(grants); i++) {
		struct json_object *grant = json_object_array_get_idx(grants, i), *value;
		struct json_object *item = json_object_new_object();

		for (size_t k = 0; keys[k]; k++)
			if (json_object_object_get_ex(grant, keys[k], &value))
				bm_json_add(item, keys[k], json_object_get(value));
		json_object_array_add(list, item);
	}
	bm_json_add_string(json, "schema", "benchmon-template/1");
	bm_json_add(json, "users", json_object_new_array());
	bm_json_add(json, "grants", list);
	return json;
}
