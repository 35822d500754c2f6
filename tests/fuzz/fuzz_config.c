// SPDX-License-Identifier: GPL-2.0-only
/* No file, however it is written, sets what is out of bounds, or part of what it says. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "gatekeeperd/config.h"
#include "tests/fuzz/must.h"

static void group_name(const char *name, size_t size)
{
	MUST(strlen(name) < size);
	for (; *name; name++)
		MUST(*name > ' ' && *name < 0x7f && !strchr(":/\\\"'", *name));
}

static void within_bounds(const struct config *c)
{
	MUST(c->log_level == LOG_LEVEL_ERROR || c->log_level == LOG_LEVEL_WARNING ||
	     c->log_level == LOG_LEVEL_INFO || c->log_level == LOG_LEVEL_DEBUG);
	group_name(c->operators, sizeof(c->operators));
	group_name(c->agents, sizeof(c->agents));
	MUST(c->max_connections >= 2 * CONFIG_RESERVED && c->max_connections <= 4096);
	MUST(c->max_connections_per_user >= 1 && c->max_connections_per_user <= 4096);
	MUST(c->max_benches_per_user >= 1 && c->max_benches_per_user <= 4096);
	MUST(c->max_grants_per_user >= 1 && c->max_grants_per_user <= 262144);
	MUST(c->max_requests_per_user >= 1 && c->max_requests_per_user <= 1024);
	MUST(c->max_receipts_per_user >= 16 && c->max_receipts_per_user <= 2048);
	MUST(c->idle_seconds >= 5 && c->idle_seconds <= 86400);
	MUST(c->confirm_seconds >= 10 && c->confirm_seconds <= 86400);
	MUST(c->request_seconds >= 5 && c->request_seconds <= 86400);
	MUST(c->max_requests >= 1 && c->max_requests <= 1024);
	MUST(c->max_requests_each >= 1 && c->max_requests_each <= 64);
	MUST(c->events_max_bytes >= 65536 && c->events_max_bytes <= 1 << 30);
	MUST(c->events_total_bytes >= 65536 && c->events_total_bytes <= 1ll << 40);
	MUST(c->events_max_days >= 1 && c->events_max_days <= 36500);
}

/* What is in force, written as a file, means the same. */
static void round_trip(const struct config *config)
{
	autojson *json = config_to_json(config);
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	struct config again = {};

	MUST(config_parse(text, strlen(text), "written", &again, NULL) == 0);
	MUST(!memcmp(&again, config, sizeof(again)));
}

static void try(const char *text, size_t size)
{
	struct config config = { .idle_seconds = 7 };
	struct bm_error err = {};
	int r = config_parse(text, size, "fuzz", &config, &err);

	MUST(r == -err.code && (r == 0) == !err.message[0]);
	for (const char *c = err.message; *c; c++)
		MUST((unsigned char)*c >= 0x20 && *c != 0x7f);
	if (r < 0) {
		MUST(config.idle_seconds == 7);
		return;
	}
	within_bounds(&config);
	round_trip(&config);
}

/* What the parser of JSON takes, so that more comes through to what is behind it. */
static void compose(const uint8_t *data, size_t size, char *text, size_t room)
{
	static const char *const keys[] = {
		"log_level",
		"operators",
		"max_connections",
		"max_connections_per_user",
		"idle_seconds",
		"confirm_seconds",
		"events_max_bytes",
		"agents",
		"other",
		"events_total_bytes",
		"events_max_days",
		"metrics",
	};
	size_t used = (size_t)snprintf(text, room, "{"), taken;

	for (size_t i = 0; i < size && i < 64; i += 1 + taken) {
		bool string = data[i] & 8;

		taken = 1 + data[i] / 32;
		if (taken > size - i - 1)
			taken = size - i - 1;
		used += (size_t)snprintf(text + used, room - used, "%s\"%s\":%s", i ? "," : "",
					 keys[data[i] % 9], string ? "\"" : "");
		for (size_t k = 0; k < taken; k++) {
			uint8_t byte = data[i + 1 + k];

			text[used++] = (char)(string ? (byte >= ' ' && byte < 0x7f &&
									byte != '\\' && byte != '"'
								? byte
								: 'x')
						     : '1' + byte % 9);
		}
		used += (size_t)snprintf(text + used, room - used, "%s", string ? "\"" : "0");
	}
	snprintf(text + used, room - used, "}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[4096];

	try((const char *)data, size);
	compose(data, size, text, sizeof(text));
	try(text, strlen(text));
	return 0;
}
