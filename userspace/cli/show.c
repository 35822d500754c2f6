// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/broker.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/denials.h"
#include "cli/limits.h"
#include "cli/mermaid.h"
#include "cli/text.h"

static struct json_object *grants_of(struct json_object *reply)
{
	struct json_object *bench = bm_json_get(reply, "bench", json_type_object);

	return bench ? bm_json_get(bench, "grants", json_type_array) : NULL;
}

static void print_coloured(enum cli_colour colour, const char *text)
{
	printf("%s%s%s", cli_colour(stdout, colour), text, cli_colour_end(stdout));
}

static void print_key(struct json_object *json, const char *key)
{
	enum cli_colour colour = COLOUR_NONE;
	char shown[CLI_SHOWN];

	if (!json_object_object_get_ex(json, key, NULL))
		return;
	cli_show_key(json, key, shown, sizeof(shown));
	if (!strcmp(key, "name"))
		colour = COLOUR_BOLD;
	else if (!strcmp(key, "state"))
		colour = cli_state_colour(shown);
	printf("%-9s  ", key);
	print_coloured(colour, shown);
	putchar('\n');
}

/* Words from a list, in as many lines as they take. skip: what each begins with. */
static void print_words(struct json_object *bench, const char *key, const char *title,
			const char *skip)
{
	struct json_object *list = bm_json_get(bench, key, json_type_array);
	char words[CLI_SHOWN] = "", shown[CLI_SHORT];
	size_t used = 0, len = strlen(skip);

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(list, i));

		cli_show(word ?: "", shown, sizeof(shown));
		if (used < sizeof(words))
			used += (size_t)snprintf(words + used, sizeof(words) - used, "%s%s",
						 i ? " " : "",
						 shown + (strncmp(shown, skip, len) ? 0 : len));
	}
	printf("%-9s  ", title);
	cli_wrap(stdout, 11, used ? words : "none");
}

/* What is missing is a table that is not there. */
static void print_refused(struct json_object *bench)
{
	static const struct {
		const char *key, *where;
	} layers[] = { { "bpf", "by BPF" }, { "nft", "by nft" }, { "link", "at the host's end" } };
	struct json_object *refused = bm_json_get(bench, "refused", json_type_object);
	const char *before = "packets    refused ";
	int64_t count;

	for (size_t i = 0; refused && i < sizeof(layers) / sizeof(layers[0]); i++) {
		if (bm_json_int(refused, layers[i].key, &count) < 0)
			continue;
		printf("%s%lld %s", before, (long long)count, layers[i].where);
		before = ", ";
	}
	if (refused)
		putchar('\n');
}

/* As a matter of course it has one, and asks nothing that is refused at once. */
static void print_door(struct json_object *bench)
{
	struct json_object *door = bm_json_get(bench, "door", json_type_object);
	char refused[CLI_SHORT];
	int64_t count = 0;

	if (!door)
		printf("%-9s  none: nothing can be asked for from inside\n", "door");
	else if (bm_json_int(door, "refused", &count) == 0 && count)
		printf("%-9s  messages refused: %s\n", "door",
		       cli_show_key(door, "refused", refused, sizeof(refused)));
}

static void print_bench(struct json_object *bench)
{
	static const char *const keys[] = { "name", "state", "origin", "container",
					    "exec", "pid",   "cgroup", NULL };
	const char *created = bm_json_string(bench, "created");
	char age[CLI_AGE_LEN], denied[CLI_SHORT], shown[CLI_SHORT];
	char size[CLI_SIZE_LEN];
	int64_t lost = 0, sent;

	for (int i = 0; keys[i]; i++)
		print_key(bench, keys[i]);
	if (bm_json_bool(bench, "learns"))
		printf("%sLEARNING   not enforced; would be denied: %s%s\n",
		       cli_colour(stdout, COLOUR_RED),
		       cli_show_key(bench, "would_deny", denied, sizeof(denied)),
		       cli_colour_end(stdout));
	if (json_object_object_get_ex(bench, "owner", NULL))
		printf("%-9s  %s\n", "owner", cli_show_user(bench, "owner", shown, sizeof(shown)));
	print_words(bench, "capabilities", "caps", "CAP_");
	print_words(bench, "shared", "shared", "");
	print_words(bench, "had", "ever had", "");
	printf("%-9s  %s\n", "userns", bm_json_bool(bench, "userns") ? "allowed" : "refused");
	if (bm_json_bool(bench, "first_uses"))
		printf("%-9s  the first use of each grant\n", "events");
	if (created)
		printf("%-9s  %.19sZ, %s\n", "created", cli_show(created, shown, sizeof(shown)),
		       cli_age(created, (uint64_t)time(NULL), age));
	cli_limits_print(stdout, bench);
	cli_show_key(bench, "denied", denied, sizeof(denied));
	printf("%-9s  ", "denied");
	print_coloured(strcmp(denied, "0") ? COLOUR_RED : COLOUR_NONE, denied);
	if (bm_json_int(bench, "lost", &lost) == 0 && lost)
		printf(" (events lost: %lld)", (long long)lost);
	putchar('\n');
	if (bm_json_int(bench, "egress_bytes", &sent) == 0 && sent)
		printf("%-9s  %s\n", "egress", cli_size(sent, size));
	print_refused(bench);
	print_door(bench);
}

static void print_detached(struct json_object *list)
{
	char shown[CLI_SHOWN];

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		char *where;

		cli_show_detached(json_object_array_get_idx(list, i), shown, sizeof(shown));
		where = strstr(shown, ", on the host ");
		printf("%-9s  ", i ? "" : "detached");
		if (where && 11 + strlen(shown) > CLI_WIDTH)
			printf("%.*s,\n%-9s  %s\n", (int)(where - shown), shown, "", where + 2);
		else
			printf("%s\n", shown);
	}
}

static void print_grant(struct json_object *grant)
{
	char id[CLI_SHORT], kind[CLI_SHORT], rights[CLI_SHORT], from[CLI_SHOWN], to[CLI_SHOWN];
	const char *dest = bm_json_string(grant, "dest");
	bool peers = bm_json_get(grant, "from", json_type_array);
	const char *what = bm_json_string(grant, "source")    ? "source"
			   : bm_json_string(grant, "profile") ? "profile"
			   : bm_json_string(grant, "broker")  ? "broker"
							      : "destination";
	int at;

	if (peers)
		cli_show_port(grant, from, sizeof(from));
	else
		cli_show_key(grant, what, from, sizeof(from));
	/* "listen" and "broker" take the place of the rights that they have not. */
	printf("  %s%-6s%s", cli_colour(stdout, COLOUR_BOLD),
	       cli_show_key(grant, "id", id, sizeof(id)), cli_colour_end(stdout));
	at = 2 + (int)(strlen(id) > 6 ? strlen(id) : 6);
	at += printf("  %-4s  %-*s  %s", cli_show_key(grant, "kind", kind, sizeof(kind)),
		     peers || bm_json_string(grant, "broker") ? 0 : 2,
		     bm_json_string(grant, "rights")
			     ? cli_show_key(grant, "rights", rights, sizeof(rights))
			     : "",
		     from);
	if (dest)
		printf("%s -> %s", at + 4 + strlen(dest) > CLI_WIDTH ? "\n                  " : "",
		       cli_show(dest, to, sizeof(to)));
	putchar('\n');
	if (bm_json_bool(grant, "learn"))
		printf("                  LEARNING: not enforced\n");
	cli_print_peers(stdout, grant, "                  from ");
	if (bm_json_string(grant, "at"))
		printf("                  reached at %s\n",
		       cli_show_key(grant, "at", to, sizeof(to)));
	cli_broker_grant_print(stdout, grant, "                  ");
	if (bm_json_string(grant, "expires"))
		printf("                  until %.19sZ\n",
		       cli_show_key(grant, "expires", to, sizeof(to)));
	cli_print_excepts(stdout, grant, "                  except ");
	if (bm_json_string(grant, "seal_expires"))
		printf("                  sealed until %.19sZ\n",
		       cli_show_key(grant, "seal_expires", to, sizeof(to)));
	cli_print_hosts(stdout, grant, "                  ");
}

/* An agent sees its Benches, and no events. */
static int draw(struct json_object *bench, const char *name, struct bm_error *err)
{
	struct cli_denials denials = {};
	struct bm_error events_err = {};
	autoclose socket = -1;
	int r = cli_connect(&socket, err);

	if (r < 0)
		return r;
	r = cli_denials_read(socket, name, &denials, &events_err);
	if (r < 0 && events_err.code != EPERM && events_err.code != EACCES) {
		*err = events_err;
	} else {
		cli_mermaid(stdout, bench, r < 0 ? NULL : &denials);
		r = 0;
	}
	cli_denials_done(&denials);
	return r;
}

int cmd_show(struct cli *cli, struct bm_error *err)
{
	const char *name = cli->args.operands[0];
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *bench, *grants;
	autoclose socket = -1;
	int r = cli_bench_name(cli, name, err);

	bm_json_add_string(request, "bench", name);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call_paged(socket, "show", request, grants_of, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		cli_print_json(stdout, bench);
		return 0;
	}
	if (cli->format == FORMAT_MERMAID)
		return draw(bench, name, err);
	print_bench(bench);
	print_detached(bm_json_get(bench, "detached", json_type_array));
	grants = bm_json_get(bench, "grants", json_type_array);
	printf("%-9s  %s\n", "grants", grants && json_object_array_length(grants) ? "" : "none");
	for (size_t i = 0; grants && i < json_object_array_length(grants); i++)
		print_grant(json_object_array_get_idx(grants, i));
	return 0;
}
