// SPDX-License-Identifier: GPL-2.0-only
#include "cli/ledger.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/text.h"

static int ask_page(int socket, struct json_object *request, int64_t *next,
		    struct json_object **ret, struct bm_error *err)
{
	int64_t before = *next;
	int r = cli_call(socket, "ledger", request, NULL, 0, ret, err);

	if (r < 0)
		return r;
	if (bm_json_int(*ret, "next", next) < 0)
		*next = 0;
	/* Pages must lead on, or a broken daemon keeps us for ever. */
	if (*next && *next <= before)
		return bm_fail(err, EPROTO, "protocol", NULL, "ledger: pages in a circle");
	if (*next)
		bm_json_add_int(request, "offset", *next);
	return 0;
}

/* Page by page: it may be long. */
static int show(struct cli *cli, struct bm_error *err)
{
	const char *bench = cli->args.value[OPT_BENCH], *since = cli->args.value[OPT_SINCE];
	autojson *request = json_object_new_object();
	autoclose socket = -1;
	int64_t number, next = 0;
	int r = 0;

	cli->failure = EXIT_USAGE;
	if (bench)
		r = cli_bench_name(cli, bench, err);
	if (r == 0 && since)
		r = cli_parse_number("--since", since, 0, INT64_MAX, &number, err);
	if (r < 0)
		return r;
	cli->failure = 0;
	if (bench)
		bm_json_add_string(request, "bench", bench);
	if (since)
		bm_json_add_int(request, "since", number);
	r = cli_connect(&socket, err);
	do {
		autojson *page = NULL;
		struct json_object *items;

		if (r == 0)
			r = ask_page(socket, request, &next, &page, err);
		items = page ? bm_json_get(page, "items", json_type_array) : NULL;
		for (size_t i = 0; r == 0 && items && i < json_object_array_length(items); i++) {
			struct json_object *line = json_object_array_get_idx(items, i);

			if (cli->format == FORMAT_JSON)
				cli_print_json(stdout, line);
			else
				cli_ledger_line(stdout, line);
		}
	} while (r == 0 && next && !ferror(stdout));
	return r;
}

/* By the program that writes it: no running one is needed, and no right but to read. */
static int verify(struct cli *cli, struct bm_error *err)
{
	static const enum cli_opt options[] = { OPT_DIR, OPT_HEAD, OPT_KEY };
	static const char *const names[] = { "--dir", "--head", "--key" };
	const char *argv[10] = { "benchmon", "--verify-ledger" };
	size_t n = 2;
	char path[PATH_MAX];
	int r = cli_daemon_find(path, sizeof(path), err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		if (!cli_has(&cli->args, options[i]))
			continue;
		argv[n++] = names[i];
		argv[n++] = cli->args.value[options[i]];
	}
	if (cli->format == FORMAT_JSON) {
		argv[n++] = "--format";
		argv[n++] = "json";
	}
	argv[n] = NULL;
	execv(path, (char *const *)(uintptr_t)argv);
	return bm_fail_errno(err, errno, "%s", path);
}

static int rotate(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	char old[CLI_SHORT], file[CLI_SHORT];
	autoclose socket = -1;
	int r = cli_connect(&socket, err);

	if (r == 0)
		r = cli_call(socket, "ledger-rotate", NULL, NULL, 0, &reply, err);
	if (r < 0)
		return r;
	json_object_object_del(reply, "ok");
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, reply);
	else
		printf("file %s of the ledger begins; the one before is %s\n",
		       cli_show_key(reply, "file", file, sizeof(file)),
		       cli_show_key(reply, "old", old, sizeof(old)));
	return 0;
}

static const struct {
	const char *verb;
	int (*fn)(struct cli *cli, struct bm_error *err);
	uint64_t options;
} verbs[] = {
	{ "show", show, OPT(BENCH) | OPT(SINCE) },
	{ "verify", verify, OPT(DIR) | OPT(HEAD) | OPT(KEY) },
	{ "rotate", rotate, 0 },
};

int cmd_ledger(struct cli *cli, struct bm_error *err)
{
	const char *verb = cli->args.operands[0];
	char shown[CLI_SHORT];
	size_t i = 0;

	while (i < sizeof(verbs) / sizeof(verbs[0]) && strcmp(verbs[i].verb, verb))
		i++;
	if (i == sizeof(verbs) / sizeof(verbs[0]))
		return cli_usage(cli, err, "ledger: no '%s', there are show, verify and rotate",
				 bm_escape(verb, shown, sizeof(shown)));
	if (cli->args.seen & ~verbs[i].options & cli->command->options)
		return cli_usage(cli, err,
				 "ledger %s takes no such option: see `benchmon help ledger`",
				 verb);
	return verbs[i].fn(cli, err);
}
