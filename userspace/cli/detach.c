// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/receipt.h"
#include "cli/text.h"

int cmd_detach(struct cli *cli, struct bm_error *err)
{
	const char *name = cli->args.operands[0];
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *revoked;
	autoclose socket = -1;
	int r = cli_bench_name(cli, name, err);

	bm_json_add_string(request, "bench", name);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r < 0)
		return r;
	cli_progress("detaching %s ...", name);
	r = cli_call(socket, "detach", request, NULL, 0, &reply, err);
	cli_progress_done();
	if (r < 0)
		return r;
	revoked = bm_json_get(reply, "revoked", json_type_array);
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		cli_print_json(stdout, reply);
	} else if (bm_json_string(reply, "ended")) {
		cli_receipt_already(reply, "detached");
	} else {
		printf("%s detached, grants revoked: %zu; nothing is enforced on it any more\n",
		       name, revoked ? json_object_array_length(revoked) : 0);
		cli_receipt_told(reply);
	}
	return 0;
}
