// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "base/escape.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/text.h"

static int request_of(struct cli *cli, struct json_object *request, struct bm_error *err)
{
	const char *what = cli->args.operands[0];
	char bench[BM_BENCH_NAME_LEN], shown[CLI_SHORT];
	uint32_t number;

	if (cli_has(&cli->args, OPT_ALL)) {
		if (cli->args.operand_count > 1)
			return cli_usage(cli, err, "revoke: --all takes a Bench alone");
		bm_json_add_string(request, "bench", what);
		bm_json_add_bool(request, "all", true);
		return cli_bench_name(cli, what, err);
	}
	if (bm_bench_name_valid(what))
		return cli_usage(cli, err, "revoke: %s is a Bench: name a grant, as %s/1, or --all",
				 what, what);
	if (bm_grant_id_parse(what, bench, &number) < 0)
		return cli_usage(cli, err, "revoke: '%s' is no grant's id, which is like b1/3",
				 bm_escape(what, shown, sizeof(shown)));
	bm_json_add_string(request, "grant", what);
	if (cli->args.operand_count > 1)
		bm_json_add_string(request, "host", cli->args.operands[1]);
	return 0;
}

/* A line for each process, and for each thing that was done: what it held. */
static void print_found(struct json_object *found)
{
	char comm[CLI_SHORT], what[CLI_SHORT], done[CLI_SHORT];
	const char *said = NULL;
	int64_t pid = 0;

	for (size_t i = 0; found && i < json_object_array_length(found); i++) {
		struct json_object *item = json_object_array_get_idx(found, i);
		const char *now = bm_json_string(item, "done");
		int64_t who = 0, fd;

		bm_json_int(item, "pid", &who);
		cli_show_key(item, "what", what, sizeof(what));
		if (!said || !now || who != pid || strcmp(said, now)) {
			if (said)
				printf("\n");
			if (who)
				printf("  pid %lld (%s) %s: ", (long long)who,
				       cli_show_key(item, "comm", comm, sizeof(comm)),
				       cli_show_key(item, "done", done, sizeof(done)));
			else
				printf("  %s: ", cli_show_key(item, "done", done, sizeof(done)));
		} else {
			printf(", ");
		}
		printf("%s", what);
		if (bm_json_int(item, "fd", &fd) == 0)
			printf(" %lld", (long long)fd);
		said = now ?: "";
		pid = who;
	}
	if (said)
		printf("\n");
}

int cmd_revoke(struct cli *cli, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *revoked;
	autoclose socket = -1;
	char shown[CLI_SHORT];
	int64_t sockets;
	int r = request_of(cli, request, err);

	if (r == 0)
		r = cli_connect(&socket, err);
	if (r < 0)
		return r;
	cli_progress("revoking %s ...", cli->args.operands[0]);
	r = cli_call(socket, "revoke", request, NULL, 0, &reply, err);
	cli_progress_done();
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		cli_print_json(stdout, reply);
		return 0;
	}
	revoked = bm_json_get(reply, "revoked", json_type_array);
	for (size_t i = 0; revoked && i < json_object_array_length(revoked); i++) {
		const char *id = json_object_get_string(json_object_array_get_idx(revoked, i));

		printf("%s revoked\n", cli_show(id ?: "", shown, sizeof(shown)));
	}
	print_found(bm_json_get(reply, "found", json_type_array));
	if (bm_json_int(reply, "sockets", &sockets) == 0 && sockets)
		printf("  connections ended: %lld\n", (long long)sockets);
	if (cli->args.operand_count > 1)
		printf("%s: %s revoked\n", cli->args.operands[0],
		       cli_show(cli->args.operands[1], shown, sizeof(shown)));
	else if (!revoked || !json_object_array_length(revoked))
		printf("nothing was granted\n");
	return 0;
}
