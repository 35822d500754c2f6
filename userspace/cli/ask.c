// SPDX-License-Identifier: GPL-2.0-only
/* benchmon request: what an operator decides about. */
#include "cli/ask.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "cli/parse.h"
#include "cli/text.h"

/* Who opens it is somewhere else. */
static int add_path(struct json_object *request, const char *key, const char *path,
		    struct bm_error *err)
{
	char here[PATH_MAX], whole[2 * PATH_MAX];

	if (*path == '/') {
		bm_json_add_string(request, key, path);
		return 0;
	}
	if (!getcwd(here, sizeof(here)))
		return bm_fail_errno(err, errno, "the working directory");
	snprintf(whole, sizeof(whole), "%s/%s", strcmp(here, "/") ? here : "", path);
	bm_json_add_string(request, key, whole);
	return 0;
}

static int fill_file(struct cli *cli, const char *typed, struct json_object *request,
		     struct bm_error *err)
{
	struct cli_spec spec = { .rights = "ro" };

	cli->failure = EXIT_USAGE;
	if (cli_parse_spec(typed, &spec, err) < 0)
		return -err->code;
	cli->failure = 0;
	bm_json_add_string(request, "rights", spec.rights);
	if (spec.dest[0])
		bm_json_add_string(request, "dest", spec.dest);
	return add_path(request, "target", spec.source, err);
}

static int fill_grant(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	const char *kind;
	int r;

	if (args->operand_count != 3 || args->seen & (OPT(IMAGE) | OPT(ROOTFS) | OPT(NAME)))
		return cli_usage(
			cli, err,
			"request: give BENCH file SRC, BENCH net DESTINATION, BENCH listen "
			"PORT, BENCH broker NAME, or bench with --image or --rootfs");
	kind = args->operands[1];
	r = cli_bench_name(cli, args->operands[0], err);
	if (r == 0)
		r = cli_add_duration(cli, request, err);
	if (r < 0)
		return r;
	bm_json_add_string(request, "bench", args->operands[0]);
	bm_json_add_string(request, "kind", kind);
	r = cli_check_kind(cli, kind, err);
	if (r < 0)
		return r;
	if (!strcmp(kind, "file"))
		return fill_file(cli, args->operands[2], request, err);
	bm_json_add_string(request, "target", args->operands[2]);
	return 0;
}

static int fill_bench(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	const char *image = args->value[OPT_IMAGE], *root = args->value[OPT_ROOTFS];
	const char *name = args->value[OPT_NAME];
	int r = name ? cli_bench_name(cli, name, err) : 0;

	if (r < 0)
		return r;
	if (!image == !root || cli_has(args, OPT_FOR))
		return cli_usage(cli, err,
				 "request: bench takes one of --image and --rootfs, and --name");
	bm_json_add_string(request, "kind", "bench");
	if (name)
		bm_json_add_string(request, "name", name);
	if (root)
		return add_path(request, "rootfs", root, err);
	bm_json_add_string(request, "image", image);
	return 0;
}

static bool what_is(struct json_object *outcome, const char *wanted)
{
	const char *what = bm_json_string(outcome, "what");

	return what && !strcmp(what, wanted);
}

static void print_outcome(struct json_object *outcome)
{
	const char *why = bm_json_string(outcome, "why");
	char id[CLI_SHORT], what[CLI_SHORT], got[CLI_SHORT];

	printf("%s %s", cli_show_key(outcome, "request", id, sizeof(id)),
	       cli_show_key(outcome, "what", what, sizeof(what)));
	if (bm_json_string(outcome, "grant"))
		printf(": %s", cli_show_key(outcome, "grant", got, sizeof(got)));
	if (bm_json_string(outcome, "made"))
		printf(": %s", cli_show_key(outcome, "made", got, sizeof(got)));
	putchar('\n');
	if (why)
		cli_ask_words(stdout, what_is(outcome, "rejected") ? "  they say" : "  because",
			      why);
}

/* The exit code: 0 once it is confirmed. */
static int await(struct cli *cli, int socket, struct bm_error *err)
{
	automessage message = {};
	struct json_object *outcome;
	int r;

	do {
		r = bm_receive(socket, &message, err);
	} while (r == -EINTR);
	if (r < 0)
		return bm_fail_errno(err, -r, "gatekeeperd has gone; see `benchmon pending`");
	r = cli_reply_object(message.json, "outcome", &outcome, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, outcome);
	else
		print_outcome(outcome);
	return what_is(outcome, "confirmed") ? 0 : EXIT_REFUSED;
}

int cmd_request(struct cli *cli, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	bool bench = args->operand_count == 1 && !strcmp(args->operands[0], "bench");
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *item;
	autoclose socket = -1;
	char id[CLI_SHORT];
	int r = bench ? fill_bench(cli, request, err) : fill_grant(cli, request, err);

	if (args->value[OPT_WHY])
		bm_json_add_string(request, "why", args->value[OPT_WHY]);
	if (cli_has(args, OPT_WAIT))
		bm_json_add_bool(request, "wait", true);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_call(socket, "request", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "request", &item, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, item);
	else
		printf("%s awaits an operator, until %.19sZ\n",
		       cli_show_key(item, "request", id, sizeof(id)),
		       bm_json_string(item, "expires") ?: "-");
	fflush(stdout);
	return cli_has(args, OPT_WAIT) ? await(cli, socket, err) : 0;
}
