// SPDX-License-Identifier: GPL-2.0-only
#include "cli/kinds.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "cli/parse.h"
#include "cli/text.h"

#define SECRETS (OPT(SECRET) | OPT(WITH_SECRET) | OPT(EXCEPT_SECRETS) | OPT(UNSCANNED))
/* What is said of the Bench, or of the request, and not of the grant. */
#define OTHERS (OPT_COMMON | OPT(FOR) | OPT(YES) | OPT(WHY) | OPT(WAIT))

static const struct kind {
	const char *name;
	uint64_t options;
	const char *takes;
} kinds[] = {
	{ "file",
	  OPT(SOURCE) | OPT(DEST) | OPT(RIGHTS) | OPT(EXCEPT) | SECRETS | OPT(NO_IDMAP) |
		  OPT(ON_REVOKE),
	  "SRC[:DEST][:ro|rw] or --source PATH, --except, --secret, --no-idmap, --on-revoke and "
	  "--for" },
	{ "net", OPT(PRIVATE), "PROFILE, HOST:PORT or ADDR:PORT[/udp], --private and --for" },
	{ "listen", OPT(FROM), "PORT[/udp], --from and --for" },
	{ "broker", OPT(UPSTREAM) | OPT(LIMIT) | OPT(PRIVATE) | OPT(WITH_SECRET),
	  "NAME, --upstream, --limit, --private, --with-secret and --for" },
	/* Of a request alone. */
	{ "bench",
	  OPT(MEMORY) | OPT(PIDS) | OPT(CPUS) | OPT(DISK) | OPT(TIMEOUT) | OPT(EXEC) |
		  OPT(ALLOW_USERNS) | OPT(FIRST_USES),
	  "limits, --exec, --allow-userns and --first-uses" },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct kind *find(const char *name)
{
	for (size_t i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

int cli_kind_usage(struct cli *cli, const char *kind, struct bm_error *err)
{
	return cli_usage(cli, err, "%s: %s takes %s", cli->command->name, kind, find(kind)->takes);
}

int cli_check_kind(struct cli *cli, const char *kind, struct bm_error *err)
{
	const struct kind *k = find(kind);
	char shown[CLI_SHORT];
	uint64_t wrong;

	if (!k || (!strcmp(kind, "bench") && strcmp(cli->command->name, "confirm")))
		return cli_usage(cli, err,
				 "%s: no kind '%s', the kinds are file, net, listen and broker",
				 cli->command->name, bm_escape(kind, shown, sizeof(shown)));
	wrong = cli->args.seen & ~(k->options | OTHERS);
	if (!wrong)
		return 0;
	return cli_usage(cli, err, "%s: --%s is not for %s, which takes %s", cli->command->name,
			 cli_options[__builtin_ctzll(wrong)].name, kind, k->takes);
}

/* --- into a request ------------------------------------------------------------------------------
 */

static int add_excepts(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	struct json_object *list, *item;
	struct cli_except except;

	if (!cli_has(args, OPT_EXCEPT))
		return 0;
	list = json_object_new_array();
	bm_json_add(request, "except", list);
	for (size_t i = 0; i < args->given_count; i++) {
		if (args->given[i].opt != OPT_EXCEPT)
			continue;
		if (cli_parse_except(args->given[i].value, &except, err) < 0)
			return -err->code;
		item = json_object_new_object();
		bm_json_add_string(item, "name", except.name);
		bm_json_add_string(item, "rights", except.readable ? "ro" : "none");
		json_object_array_add(list, item);
	}
	return 0;
}

static int add_limit(struct json_object *limits, const char *text, struct bm_error *err)
{
	static const char *const keys[] = { "requests",   "bytes",   "rate",
					    "concurrent", "seconds", NULL };
	const char *is = strchr(text, '='), *key = NULL;
	char shown[CLI_SHORT];
	int64_t value;
	int r;

	for (size_t i = 0; is && keys[i]; i++)
		if (strlen(keys[i]) == (size_t)(is - text) &&
		    !strncmp(keys[i], text, (size_t)(is - text)))
			key = keys[i];
	if (!key)
		return bm_fail(err, EINVAL, "usage", NULL,
			       "--limit: '%s' is not WHAT=N, of which WHAT is requests, bytes, "
			       "rate, concurrent or seconds",
			       bm_escape(text, shown, sizeof(shown)));
	r = strcmp(key, "bytes") ? cli_parse_number("--limit", is + 1, 1, INT64_MAX, &value, err)
				 : cli_parse_size(is + 1, &value, err);
	if (r == 0 && json_object_object_get_ex(limits, key, NULL))
		return bm_fail(err, EINVAL, "usage", NULL, "--limit: %s is given twice", key);
	if (r == 0)
		bm_json_add_int(limits, key, value);
	return r;
}

static int add_limits(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	struct json_object *limits;
	int r = 0;

	if (!cli_has(&cli->args, OPT_LIMIT))
		return 0;
	limits = json_object_new_object();
	bm_json_add(request, "limits", limits);
	for (size_t i = 0; r == 0 && i < cli->args.given_count; i++)
		if (cli->args.given[i].opt == OPT_LIMIT)
			r = add_limit(limits, cli->args.given[i].value, err);
	return r;
}

static void add_flags(const struct cli_args *args, struct json_object *request)
{
	static const struct {
		enum cli_opt opt;
		const char *key;
	} flags[] = {
		{ OPT_SECRET, "secret" },
		{ OPT_WITH_SECRET, "with_secret" },
		{ OPT_EXCEPT_SECRETS, "except_secrets" },
		{ OPT_UNSCANNED, "unscanned" },
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (cli_has(args, flags[i].opt))
			bm_json_add_bool(request, flags[i].key, true);
}

int cli_add_options(struct cli *cli, const char *kind, struct json_object *request,
		    struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	bool file = !strcmp(kind, "file"), broker = !strcmp(kind, "broker");
	int r = 0;

	cli->failure = EXIT_USAGE;
	if (file)
		r = add_excepts(cli, request, err);
	if (broker)
		r = add_limits(cli, request, err);
	if (r < 0)
		return r;
	cli->failure = 0;
	if (broker && cli_has(args, OPT_UPSTREAM))
		bm_json_add_string(request, "upstream", args->value[OPT_UPSTREAM]);
	if (file || broker)
		add_flags(args, request);
	return 0;
}
