// SPDX-License-Identifier: GPL-2.0-only
/* How profiles, and what is going to be sealed, look to people. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/profile.h"
#include "cli/text.h"

#define PRIVATE "yes: an address of a private network"

static void row(FILE *out, const char *what, const char *text)
{
	fprintf(out, "  %-9s ", what);
	cli_wrap(out, 12, text);
}

static void print_address(FILE *out, struct json_object *address)
{
	char text[CLI_SHORT], ttl[CLI_SHORT], until[CLI_SHORT], line[4 * CLI_SHORT];
	int64_t number;
	size_t used;

	used = (size_t)snprintf(line, sizeof(line), "%s",
				cli_show_key(address, "address", text, sizeof(text)));
	if (bm_json_int(address, "ttl", &number) == 0 && number)
		used += (size_t)snprintf(line + used, sizeof(line) - used, ", ttl %s s",
					 cli_show_key(address, "ttl", ttl, sizeof(ttl)));
	if (bm_json_int(address, "until", &number) == 0) {
		time_t when = (time_t)number;
		struct tm tm;

		gmtime_r(&when, &tm);
		strftime(until, sizeof(until), "%Y-%m-%dT%H:%M:%SZ", &tm);
		snprintf(line + used, sizeof(line) - used, ", not answered, kept until %s", until);
	}
	fprintf(out, "    ");
	cli_wrap(out, 6, line);
}

/* "a.test:443/tcp, from apt: /etc/apt/sources.list" */
static void print_host(FILE *out, struct json_object *host)
{
	struct json_object *addresses = bm_json_get(host, "addresses", json_type_array);
	char name[CLI_SHOWN], port[CLI_SHORT], protocol[CLI_SHORT], from[CLI_SHOWN];
	const char *text = bm_json_string(host, "host");

	fprintf(out, "  %s port %s/%s",
		text && *text ? cli_show(text, name, sizeof(name)) : "given addresses,",
		cli_show_key(host, "port", port, sizeof(port)),
		cli_show_key(host, "protocol", protocol, sizeof(protocol)));
	cli_show_key(host, "from", from, sizeof(from));
	if (strcmp(from, "profile"))
		fprintf(out, ", found by %s", from);
	fputc('\n', out);
	if (bm_json_bool(host, "uploads"))
		fprintf(out, "    takes uploads: data can leave by it\n");
	for (size_t i = 0; addresses && i < json_object_array_length(addresses); i++)
		print_address(out, json_object_array_get_idx(addresses, i));
}

static void print_change(FILE *out, struct json_object *change)
{
	char host[CLI_SHOWN], to[CLI_SHORT], until[CLI_SHORT], line[2 * CLI_SHOWN];
	const char *what = bm_json_string(change, "what") ?: "";
	bool kept = bm_json_string(change, "until");
	const char *name = bm_json_string(change, "host");

	snprintf(line, sizeof(line), "%s%s%s%s%.19s%s",
		 cli_show_key(change, "destination", to, sizeof(to)), name && *name ? " of " : "",
		 name && *name ? cli_show(name, host, sizeof(host)) : "",
		 kept ? ", not answered, kept until " : "",
		 kept ? cli_show_key(change, "until", until, sizeof(until)) : "", kept ? "Z" : "");
	fprintf(out, "  %c ", !strcmp(what, "added") ? '+' : !strcmp(what, "kept") ? '=' : '-');
	cli_wrap(out, 4, line);
}

static void print_refused(FILE *out, struct json_object *refused)
{
	char host[CLI_SHOWN], line[2 * CLI_SHOWN], why[CLI_SHOWN];

	snprintf(line, sizeof(line), "%s: %s", cli_show_key(refused, "host", host, sizeof(host)),
		 cli_show_key(refused, "why", why, sizeof(why)));
	row(out, "refused", line);
}

/* Each kind of item together, in their order. */
static size_t print_items(FILE *out, struct json_object *items, const char *key,
			  void (*print)(FILE *out, struct json_object *item))
{
	size_t count = 0;

	for (size_t i = 0; items && i < json_object_array_length(items); i++) {
		struct json_object *item =
			bm_json_get(json_object_array_get_idx(items, i), key, json_type_object);

		if (!item)
			continue;
		print(out, item);
		count++;
	}
	return count;
}

static void print_notes(FILE *out, struct json_object *items, const char *key, const char *title)
{
	for (size_t i = 0; items && i < json_object_array_length(items); i++) {
		const char *text = bm_json_string(json_object_array_get_idx(items, i), key);
		char shown[CLI_SHOWN];

		if (text)
			row(out, title, cli_show(text, shown, sizeof(shown)));
	}
}

/* Whose grants change at once when it is confirmed. */
static void print_users(FILE *out, struct json_object *confirm)
{
	struct json_object *users = bm_json_get(confirm, "users", json_type_array);
	char line[CLI_SHOWN] = "", shown[CLI_SHORT];
	size_t used = 0;

	for (size_t i = 0; users && i < json_object_array_length(users); i++) {
		const char *id = json_object_get_string(json_object_array_get_idx(users, i));

		if (used < sizeof(line))
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s",
						 i ? ", " : "",
						 cli_show(id ?: "", shown, sizeof(shown)));
	}
	if (used)
		row(out, "also in", line);
}

static void print_changes(FILE *out, struct json_object *confirm)
{
	if (!bm_json_bool(confirm, "replaces"))
		return;
	fprintf(out, "against what is sealed now:\n");
	if (!print_items(out, bm_json_get(confirm, "items", json_type_array), "change",
			 print_change))
		fprintf(out, "  no address has changed\n");
}

void cli_profile_confirm_print(FILE *out, struct json_object *confirm)
{
	struct json_object *items = bm_json_get(confirm, "items", json_type_array);
	bool refresh = bm_json_bool(confirm, "refresh");
	char a[CLI_SHOWN], b[CLI_SHORT];
	char line[2 * CLI_SHOWN];

	fprintf(out, "profile %s:\n", cli_show_key(confirm, "profile", a, sizeof(a)));
	row(out, "what", cli_show_key(confirm, "description", a, sizeof(a)));
	if (bm_json_string(confirm, "image"))
		row(out, "of", cli_show_key(confirm, "image", a, sizeof(a)));
	snprintf(line, sizeof(line), "%s, with %s addresses",
		 cli_show_key(confirm, "host_count", a, sizeof(a)),
		 cli_show_key(confirm, "address_count", b, sizeof(b)));
	row(out, "hosts", line);
	snprintf(line, sizeof(line), "%.19sZ", cli_show_key(confirm, "expires", b, sizeof(b)));
	row(out, "expires", line);
	if (bm_json_bool(confirm, "uploads"))
		row(out, "uploads", "yes: by some of its hosts data can leave as well as come");
	if (bm_json_bool(confirm, "private"))
		row(out, "private", PRIVATE);
	print_users(out, confirm);
	print_notes(out, items, "replaced", "before");
	print_notes(out, items, "left", "left out");
	print_items(out, items, "refused", print_refused);
	if (!refresh)
		print_items(out, items, "host", print_host);
	print_changes(out, confirm);
}

void cli_host_confirm_print(FILE *out, struct json_object *confirm)
{
	struct json_object *items = bm_json_get(confirm, "items", json_type_array);
	char shown[CLI_SHOWN], line[CLI_SHOWN];

	row(out, "host", cli_show_key(confirm, "profile", shown, sizeof(shown)));
	snprintf(line, sizeof(line), "%.19sZ",
		 cli_show_key(confirm, "expires", shown, sizeof(shown)));
	row(out, "sealed to", line);
	if (bm_json_bool(confirm, "private"))
		row(out, "private", PRIVATE);
	row(out, "rights", "its addresses below and this port alone; no DNS, nothing incoming");
	print_users(out, confirm);
	print_notes(out, items, "replaced", "before");
	print_items(out, items, "refused", print_refused);
	print_items(out, items, "host", print_host);
	print_changes(out, confirm);
}

void cli_profile_refreshed_print(FILE *out, struct json_object *reply)
{
	struct json_object *list = bm_json_get(reply, "refreshed", json_type_array);
	char id[CLI_SHORT], line[1024], shown[CLI_SHOWN];

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		struct json_object *error = bm_json_get(item, "error", json_type_object);
		int64_t added = 0, kept = 0, dropped = 0, left_out;
		struct bm_error err = {};

		if (bm_json_int(item, "left_out", &left_out) == 0) {
			fprintf(out, "  and in %lld more\n", (long long)left_out);
			continue;
		}
		cli_show_key(item, "grant", id, sizeof(id));
		if (error && bm_error_from_json(error, &err) == 0) {
			fprintf(out, "  %s is not up to date: ", id);
			cli_wrap(out, 4,
				 cli_show(bm_error_line(&err, line, sizeof(line)), shown,
					  sizeof(shown)));
			continue;
		}
		bm_json_int(item, "added", &added);
		bm_json_int(item, "kept", &kept);
		bm_json_int(item, "dropped", &dropped);
		fprintf(out, "  %s: addresses added: %lld, kept for a while: %lld, dropped: %lld\n",
			id, (long long)added, (long long)kept, (long long)dropped);
	}
}

int cli_profile_table(struct json_object *profiles, struct bm_error *err)
{
	static const char *const titles[] = { "NAME", "STATE", "HOSTS", "ADDRESSES", "EXPIRES" };
	struct cli_table table = { titles, 5, 1u << 2 | 1u << 3, NULL, 0, NULL };
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_object_array_length(profiles); i++) {
		struct json_object *p = json_object_array_get_idx(profiles, i);
		char state[CLI_SHORT], hosts[CLI_SHORT], addresses[CLI_SHORT], expires[CLI_SHORT];
		char name[CLI_SHOWN];
		const char *cells[5];

		cells[0] = cli_show_key(p, "name", name, sizeof(name));
		cells[1] = cli_show_key(p, "state", state, sizeof(state));
		cells[2] = cli_show_key(p, "host_count", hosts, sizeof(hosts));
		cells[3] = cli_show_key(p, "address_count", addresses, sizeof(addresses));
		cells[4] = cli_show_key(p, "expires", expires, sizeof(expires));
		/* To the second is enough. */
		if (strlen(expires) > 19)
			memcpy(expires + 19, "Z", 2);
		r = cli_table_row(&table, cells);
	}
	if (r == 0)
		cli_table_print(&table, stdout);
	cli_table_done(&table);
	return r < 0 ? bm_fail_errno(err, -r, "profile ls") : 0;
}

static void print_key(FILE *out, struct json_object *json, const char *key)
{
	char shown[CLI_SHOWN];

	if (!json_object_object_get_ex(json, key, NULL))
		return;
	fprintf(out, "%-11s  ", key);
	cli_wrap(out, 13, cli_show_key(json, key, shown, sizeof(shown)));
}

static void print_entry(FILE *out, struct json_object *entry)
{
	char what[CLI_SHOWN], port[CLI_SHORT], protocol[CLI_SHORT], why[CLI_SHOWN];

	if (bm_json_string(entry, "discover"))
		fprintf(out, "  what %s has configured in the image",
			cli_show_key(entry, "discover", what, sizeof(what)));
	else if (bm_json_string(entry, "host"))
		fprintf(out, "  %s port %s/%s", cli_show_key(entry, "host", what, sizeof(what)),
			cli_show_key(entry, "port", port, sizeof(port)),
			cli_show_key(entry, "protocol", protocol, sizeof(protocol)));
	else
		fprintf(out, "  %s", cli_show_key(entry, "destination", what, sizeof(what)));
	fprintf(out, "%s\n    ", bm_json_bool(entry, "uploads") ? ", takes uploads" : "");
	cli_wrap(out, 4, cli_show_key(entry, "why", why, sizeof(why)));
}

void cli_profile_print(FILE *out, struct json_object *profile)
{
	static const char *const keys[] = { "name",   "description", "file", "state",
					    "sealed", "expires",     NULL };
	struct json_object *entries = bm_json_get(profile, "entries", json_type_array);
	struct json_object *hosts = bm_json_get(profile, "hosts", json_type_array), *why;
	char line[1024], shown[CLI_SHOWN];
	struct bm_error err = {};

	for (int i = 0; keys[i]; i++)
		print_key(out, profile, keys[i]);
	why = bm_json_get(profile, "why", json_type_object);
	if (why && bm_error_from_json(why, &err) == 0) {
		fprintf(out, "%-11s  ", "why");
		cli_wrap(out, 13,
			 cli_show(bm_error_line(&err, line, sizeof(line)), shown, sizeof(shown)));
	}
	fprintf(out, "entries\n");
	for (size_t i = 0; entries && i < json_object_array_length(entries); i++)
		print_entry(out, json_object_array_get_idx(entries, i));
	if (!hosts || !json_object_array_length(hosts))
		return;
	fprintf(out, "sealed hosts\n");
	for (size_t i = 0; i < json_object_array_length(hosts); i++)
		print_host(out, json_object_array_get_idx(hosts, i));
}
