// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "cli/cli.h"
#include "cli/text.h"

int cmd_version(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL;
	autoclose socket = -1;
	char version[CLI_SHORT], abi[CLI_SHORT], kernel[128];
	int r = cli_connect_running(&socket);

	/* Asking for the version starts nothing, and tells of no daemon that may not be asked. */
	if (r == 0) {
		r = cli_call(socket, "version", NULL, NULL, 0, &reply, err);
		if (r < 0)
			return r;
	}
	if (cli->format == FORMAT_JSON) {
		autojson *json = json_object_new_object();

		bm_json_add_string(json, "version", BENCHMON_VERSION);
		if (reply) {
			json_object_object_del(reply, "ok");
			bm_json_add(json, "gatekeeperd", TAKE_PTR(reply));
		}
		cli_print_json(stdout, json);
		return 0;
	}
	printf("benchmon     %s\n", BENCHMON_VERSION);
	if (reply)
		printf("gatekeeperd  %s (ABI %s, kernel %s)\n",
		       cli_show_key(reply, "version", version, sizeof(version)),
		       cli_show_key(reply, "abi", abi, sizeof(abi)),
		       cli_show_key(reply, "kernel", kernel, sizeof(kernel)));
	else
		printf("gatekeeperd  %s\n",
		       r == -EACCES || r == -EPERM ? "not for you to ask" : "not running");
	return 0;
}
