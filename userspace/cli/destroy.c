// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/receipt.h"
#include "cli/text.h"

int cli_destroy(int socket, const char *bench, struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	int r;

	bm_json_add_string(request, "bench", bench);
	cli_progress("destroying %s ...", bench);
	r = cli_call(socket, "destroy", request, NULL, 0, ret_reply, err);
	cli_progress_done();
	return r;
}

int cmd_destroy(struct cli *cli, struct bm_error *err)
{
	const char *name = cli->args.operands[0];
	autojson *reply = NULL;
	struct json_object *outputs;
	autoclose socket = -1;
	char shown[CLI_SHOWN];
	int r = cli_bench_name(cli, name, err);

	if (r == 0)
		r = cli_connect(&socket, err);
	if (r == 0)
		r = cli_destroy(socket, name, &reply, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		cli_print_json(stdout, reply);
		return 0;
	}
	if (bm_json_string(reply, "ended")) {
		cli_receipt_already(reply, "destroyed");
		return 0;
	}
	printf("%s destroyed, denied in it: %s\n", name,
	       cli_show_key(reply, "denied", shown, sizeof(shown)));
	outputs = bm_json_get(reply, "outputs", json_type_array);
	for (size_t i = 0; outputs && i < json_object_array_length(outputs); i++) {
		const char *path = json_object_get_string(json_object_array_get_idx(outputs, i));

		printf("kept: %s\n", cli_show(path ?: "", shown, sizeof(shown)));
	}
	cli_receipt_told(reply);
	return 0;
}
