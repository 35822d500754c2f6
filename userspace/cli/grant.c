// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/escape.h"
#include "base/names.h"
#include "cli/broker.h"
#include "cli/cli.h"
#include "cli/confirm.h"
#include "cli/kinds.h"
#include "cli/parse.h"
#include "cli/profile.h"
#include "cli/progress.h"
#include "cli/source.h"
#include "cli/text.h"

/* The two steps: what would it be, and do it. */
int cli_grant_ask(struct cli *cli, int socket, const char *op, struct json_object *request,
		  const int *fd, FILE *out, struct json_object **ret_reply, struct bm_error *err)
{
	autojson *seen = NULL, *answer = json_object_new_object();
	struct json_object *confirm, *token;
	const char *how = NULL;
	int r;

	r = cli_call(socket, op, request, fd, fd ? 1 : 0, &seen, err);
	cli_progress_done();
	if (r == 0)
		r = cli_reply_object(seen, "confirm", &confirm, err);
	if (r < 0)
		return r;
	if (!json_object_object_get_ex(confirm, "token", &token))
		return bm_fail(err, EPROTO, "protocol", NULL, "the reply has no \"token\"");
	if (bm_json_bool(confirm, "seals"))
		r = cli_profile_items(socket, confirm, err);
	if (r < 0)
		return r;
	r = cli_confirm(confirm, cli_has(&cli->args, OPT_YES), out, &how, err);
	if (r < 0)
		return r;
	/* Whatever it is: only its maker reads it. */
	bm_json_add(answer, "token", json_object_get(token));
	bm_json_add_string(answer, "how", how);
	cli_progress("granting ...");
	r = cli_call(socket, "confirm", answer, NULL, 0, ret_reply, err);
	cli_progress_done();
	return r;
}

int cli_add_duration(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	int64_t seconds;
	int r;

	if (!cli_has(&cli->args, OPT_FOR))
		return 0;
	cli->failure = EXIT_USAGE;
	r = cli_parse_duration(cli->args.value[OPT_FOR], &seconds, err);
	if (r < 0)
		return r;
	cli->failure = 0;
	bm_json_add_int(request, "for", seconds);
	return 0;
}

int cli_grant_file(struct cli *cli, int socket, const char *bench,
		   const struct cli_file_grant *grant, FILE *out, struct json_object **ret_reply,
		   struct bm_error *err)
{
	autojson *request = json_object_new_object();
	char shown[2 * PATH_MAX];
	autoclose fd = -1;
	int r;

	r = cli_add_options(cli, "file", request, err);
	if (r == 0)
		r = cli_source_open(grant->source, !strcmp(grant->rights, "rw"), &fd, err);
	if (r < 0)
		return r;
	bm_json_add_string(request, "bench", bench);
	bm_json_add_string(request, "kind", "file");
	/* A name for the record; the fd is what is granted. */
	bm_json_add_string(request, "source",
			   cli_is_utf8(grant->source)
				   ? grant->source
				   : bm_escape(grant->source, shown, sizeof(shown)));
	if (grant->dest)
		bm_json_add_string(request, "dest", grant->dest);
	bm_json_add_string(request, "rights", grant->rights);
	bm_json_add_bool(request, "idmap", grant->idmap);
	if (grant->on_revoke)
		bm_json_add_string(request, "on_revoke", grant->on_revoke);
	r = cli_add_duration(cli, request, err);
	if (r < 0)
		return r;
	cli_progress("searching %.40s for secrets ...", grant->source);
	return cli_grant_ask(cli, socket, "grant", request, &fd, out, ret_reply, err);
}

int cli_grant_net(struct cli *cli, int socket, const char *bench, const char *destination,
		  FILE *out, struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	int r = cli_add_duration(cli, request, err);

	if (r < 0)
		return r;
	bm_json_add_string(request, "bench", bench);
	bm_json_add_string(request, "kind", "net");
	/* Profiles are named as Benches are, and no destination looks like that. */
	if (bm_bench_name_valid(destination)) {
		bm_json_add_string(request, "profile", destination);
	} else {
		bm_json_add_string(request, "destination", destination);
		bm_json_add_bool(request, "private", cli_has(&cli->args, OPT_PRIVATE));
	}
	/* A name is resolved, and not every resolver is quick. */
	cli_progress("resolving ...");
	r = cli_grant_ask(cli, socket, "grant", request, NULL, out, ret_reply, err);
	cli_progress_done();
	return r;
}

/* From SRC:DEST:RIGHTS or the long form; grant points into spec and the arguments. */
static int file_of(struct cli *cli, struct cli_spec *spec, struct cli_file_grant *grant,
		   struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	const char *typed = args->operand_count > 2 ? args->operands[2] : NULL;
	bool long_form = args->seen & (OPT(SOURCE) | OPT(DEST) | OPT(RIGHTS));

	if (!!typed == long_form || (long_form && !cli_has(args, OPT_SOURCE)))
		return cli_usage(cli, err,
				 "grant: give either SRC[:DEST][:ro|rw] or --source PATH");
	cli->failure = EXIT_USAGE;
	if (typed && cli_parse_spec(typed, spec, err) < 0)
		return -err->code;
	if (args->value[OPT_RIGHTS] &&
	    cli_parse_rights(args->value[OPT_RIGHTS], spec->rights, err) < 0)
		return -err->code;
	cli->failure = 0;
	*grant = (struct cli_file_grant){
		.source = typed ? spec->source : args->value[OPT_SOURCE],
		.dest = typed ? (*spec->dest ? spec->dest : NULL) : args->value[OPT_DEST],
		.rights = spec->rights,
		.idmap = !cli_has(args, OPT_NO_IDMAP),
		.on_revoke = args->value[OPT_ON_REVOKE],
	};
	if (grant->on_revoke && strcmp(grant->on_revoke, "kill") &&
	    strcmp(grant->on_revoke, "report"))
		return cli_usage(cli, err, "grant: --on-revoke is kill or report");
	return 0;
}

static void print_warnings(struct json_object *list)
{
	char message[CLI_SHOWN], remedy[CLI_SHOWN];

	fflush(stdout);
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		fprintf(stderr, "benchmon: warning: %s; %s\n",
			cli_show_key(item, "message", message, sizeof(message)),
			cli_show_key(item, "remedy", remedy, sizeof(remedy)));
	}
}

void cli_grant_print(struct json_object *grant)
{
	char id[CLI_SHORT], rights[CLI_SHORT], from[CLI_SHOWN], to[CLI_SHOWN];
	bool file = bm_json_string(grant, "dest");

	printf("%s granted: ", cli_show_key(grant, "id", id, sizeof(id)));
	if (file) {
		printf("%s as %s, %s%s\n", cli_show_key(grant, "source", from, sizeof(from)),
		       cli_show_key(grant, "dest", to, sizeof(to)),
		       cli_show_key(grant, "rights", rights, sizeof(rights)),
		       bm_json_bool(grant, "learn") ? " (LEARNING: not enforced)" : "");
		cli_print_excepts(stdout, grant, "  except  ");
	} else if (bm_json_get(grant, "from", json_type_array)) {
		printf("listen %s", cli_show_port(grant, to, sizeof(to)));
		if (bm_json_string(grant, "at"))
			printf(", reached at %s", cli_show_key(grant, "at", to, sizeof(to)));
		putchar('\n');
		cli_print_peers(stdout, grant, "  from    ");
	} else if (bm_json_string(grant, "broker")) {
		printf("broker %s\n", cli_show_key(grant, "broker", to, sizeof(to)));
		cli_broker_grant_print(stdout, grant, "  ");
	} else if (bm_json_string(grant, "profile")) {
		printf("profile %s, until %.19sZ\n", cli_show_key(grant, "profile", to, sizeof(to)),
		       cli_show_key(grant, "seal_expires", from, sizeof(from)));
	} else {
		printf("%s\n", cli_show_key(grant, "destination", to, sizeof(to)));
	}
	print_warnings(bm_json_get(grant, "warnings", json_type_array));
}

static int grant_by_kind(struct cli *cli, struct json_object **ret_reply, struct bm_error *err)
{
	const struct cli_args *args = &cli->args;
	const char *bench = args->operands[0], *kind = args->operands[1];
	FILE *out = cli->format == FORMAT_JSON ? NULL : stdout;
	struct cli_spec spec = { .rights = "ro" };
	struct cli_file_grant file = {};
	autoclose socket = -1;
	int r = cli_check_kind(cli, kind, err);

	if (r == 0 && !strcmp(kind, "file"))
		r = file_of(cli, &spec, &file, err);
	else if (r == 0 && args->operand_count < 3)
		r = cli_kind_usage(cli, kind, err);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r < 0)
		return r;
	if (!strcmp(kind, "net"))
		return cli_grant_net(cli, socket, bench, args->operands[2], out, ret_reply, err);
	if (!strcmp(kind, "broker"))
		return cli_grant_broker(cli, socket, bench, args->operands[2], out, ret_reply, err);
	if (!strcmp(kind, "listen"))
		return cli_grant_listen(cli, socket, bench, args->operands[2], out, ret_reply, err);
	return cli_grant_file(cli, socket, bench, &file, out, ret_reply, err);
}

int cmd_grant(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *grant;
	int r = cli_bench_name(cli, cli->args.operands[0], err);

	if (r == 0)
		r = grant_by_kind(cli, &reply, err);
	if (r == -ECANCELED)
		cli->failure = EXIT_REFUSED;
	if (r == 0)
		r = cli_reply_object(reply, "grant", &grant, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON && bm_json_get(reply, "refreshed", json_type_array))
		bm_json_add(grant, "refreshed",
			    json_object_get(bm_json_get(reply, "refreshed", json_type_array)));
	if (cli->format == FORMAT_JSON) {
		cli_print_json(stdout, grant);
	} else {
		cli_grant_print(grant);
		cli_profile_refreshed_print(stdout, reply);
	}
	return 0;
}
