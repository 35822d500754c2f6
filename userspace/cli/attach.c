// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/progress.h"
#include "cli/text.h"

#define STATE_MAX (1u << 20) /* annotations are in it */

/* What a runtime tells its hooks, by stdin: of that, what says which container it is. */
static int state_of(struct json_object *container, struct bm_error *err)
{
	static const char *const keys[] = { "id", "pid", "bundle", "root" };
	struct json_object *hook = json_object_new_object(), *value;
	autojson *state = NULL;
	autofree char *text = NULL;
	size_t len;
	int r = bm_read_fd(STDIN_FILENO, STATE_MAX, &text, &len);

	bm_json_add(container, "hook", hook);
	if (r < 0)
		return bm_fail_errno(err, -r, "the container's state on standard input");
	r = bm_json_parse(text, len, "the container's state on standard input", &state, err);
	for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_object_get_ex(state, keys[i], &value))
			bm_json_add(hook, keys[i], json_object_get(value));
	return r;
}

static int container_of(struct cli *cli, struct json_object *container, struct bm_error *err)
{
	const char *id = cli->args.operand_count > 1 ? cli->args.operands[1] : NULL;
	const char *pid = cli->args.value[OPT_PID], *cgroup = cli->args.value[OPT_CGROUP];
	bool hook = cli_has(&cli->args, OPT_HOOK);
	int64_t number;

	if (!!id + !!pid + !!cgroup + hook != 1)
		return cli_usage(cli, err,
				 "attach: name the container by one of id, --pid, --cgroup and "
				 "--hook");
	if (hook)
		return state_of(container, err);
	if (id)
		bm_json_add_string(container, "id", id);
	if (cgroup)
		bm_json_add_string(container, "cgroup", cgroup);
	if (!pid)
		return 0;
	if (cli_parse_number("--pid", pid, 1, 4194304, &number, err) < 0) {
		cli->failure = EXIT_USAGE;
		return -err->code;
	}
	bm_json_add_int(container, "pid", number);
	return 0;
}

/* To be granted, or to be had again when the container is started anew. */
static void print_detached(struct json_object *bench)
{
	struct json_object *list = bm_json_get(bench, "detached", json_type_array);
	char shown[CLI_SHOWN];

	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		printf("detached: %s\n",
		       cli_show_detached(json_object_array_get_idx(list, i), shown, sizeof(shown)));
}

int cmd_attach(struct cli *cli, struct bm_error *err)
{
	const char *name = cli->args.operands[0];
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *container = json_object_new_object(), *bench, *volumes;
	bool learns = cli_has(&cli->args, OPT_LEARN);
	autoclose socket = -1;
	char shown[CLI_SHORT], state[CLI_SHORT];
	int r;

	bm_json_add_string(request, "bench", name);
	bm_json_add(request, "container", container);
	bm_json_add_bool(request, "adopt", cli_has(&cli->args, OPT_ADOPT));
	bm_json_add_bool(request, "learn", learns);
	if (cli_has(&cli->args, OPT_YES) && !cli_has(&cli->args, OPT_ADOPT) && !learns)
		return cli_usage(cli, err, "attach: --yes confirms what --adopt and --learn ask");
	r = cli_bench_name(cli, name, err);
	if (r == 0)
		r = cli_modes(cli, request, err);
	if (r == 0)
		r = container_of(cli, container, err);
	if (r == 0)
		r = cli_connect(&socket, err);
	if (r < 0)
		return r;
	cli_progress("attaching %s ...", name);
	r = cli_call(socket, "attach", request, NULL, 0, &reply, err);
	cli_progress_done();
	if (r == 0)
		r = cli_reply_object(reply, "bench", &bench, err);
	if (r < 0)
		return r;
	if (cli->format != FORMAT_JSON) {
		printf("%s attached (%s): %s%s%s\n",
		       cli_show_key(bench, "name", shown, sizeof(shown)),
		       cli_show_key(bench, "state", state, sizeof(state)),
		       cli_colour(stdout, learns ? COLOUR_RED : COLOUR_NONE),
		       learns ? "LEARNING: not enforced" : "nothing is granted",
		       cli_colour_end(stdout));
		print_detached(bench);
	}
	volumes = bm_json_get(reply, "volumes", json_type_array);
	if (volumes) {
		r = cli_adopt(cli, socket, name, volumes);
		bm_json_add(bench, "volumes", json_object_get(volumes));
	}
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, bench);
	return r < 0 ? bm_fail_errno(err, -r, "gatekeeperd has gone") : 0;
}
