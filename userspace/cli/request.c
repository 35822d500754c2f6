// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "base/escape.h"
#include "base/names.h"
#include "cli/cli.h"
#include "cli/parse.h"
#include "cli/text.h"

static int utf8_check(struct json_object *json, struct bm_error *err)
{
	const char *text =
		json_object_is_type(json, json_type_string) ? json_object_get_string(json) : NULL;
	char shown[128];
	int r = 0;

	if (text && !cli_is_utf8(text))
		return bm_fail(err, EILSEQ, "utf-8", "use a name in UTF-8",
			       "'%s' is not UTF-8, which is all that a request can carry",
			       bm_escape(text, shown, sizeof(shown)));
	if (json_object_is_type(json, json_type_array))
		for (size_t i = 0; r == 0 && i < json_object_array_length(json); i++)
			r = utf8_check(json_object_array_get_idx(json, i), err);
	if (json_object_is_type(json, json_type_object)) {
		json_object_object_foreach(json, key, value) {
			(void)key;
			if (r == 0)
				r = utf8_check(value, err);
		}
	}
	return r;
}

int cli_call(int socket, const char *op, struct json_object *request, const int *fds,
	     size_t fd_count, struct json_object **ret_reply, struct bm_error *err)
{
	int r = request ? utf8_check(request, err) : 0;

	if (r < 0)
		return r;
	return bm_call(socket, op, request, fds, fd_count, ret_reply, err);
}

int cli_call_fd(int socket, const char *op, struct json_object *request, int *ret_fd,
		struct json_object **ret_reply, struct bm_error *err)
{
	int r = utf8_check(request, err);

	return r < 0 ? r : bm_call_fd(socket, op, request, ret_fd, ret_reply, err);
}

int cli_reply_object(struct json_object *reply, const char *key, struct json_object **ret,
		     struct bm_error *err)
{
	struct json_object *json = bm_json_get(reply, key, json_type_object);

	if (!json)
		return bm_fail(err, EPROTO, "protocol",
			       "benchmon and gatekeeperd must be of one version",
			       "the reply has no \"%s\"", key);
	*ret = json;
	return 0;
}

int cli_bench_name(struct cli *cli, const char *name, struct bm_error *err)
{
	char shown[64];

	if (bm_bench_name_valid(name))
		return 0;
	return cli_usage(cli, err,
			 "'%s' cannot name a Bench: 1 to 32 of a-z, 0-9 and '-', a letter first",
			 bm_escape(name, shown, sizeof(shown)));
}

int cli_call_paged(int socket, const char *op, struct json_object *request,
		   struct json_object *(*list)(struct json_object *reply), struct json_object **ret,
		   struct bm_error *err)
{
	autojson *all = NULL;
	int64_t offset = 0, next = 0;

	for (;;) {
		autojson *page = NULL;
		struct json_object *into, *from;
		int r = cli_call(socket, op, request, NULL, 0, &page, err);

		if (r < 0)
			return r;
		if (bm_json_int(page, "next", &next) < 0)
			next = 0;
		if (!all) {
			all = TAKE_PTR(page);
		} else {
			into = list(all);
			from = list(page);
			for (size_t i = 0; into && from && i < json_object_array_length(from); i++)
				json_object_array_add(
					into, json_object_get(json_object_array_get_idx(from, i)));
		}
		if (!next)
			break;
		/* Pages must lead on, or a broken daemon keeps us for ever. */
		if (next <= offset)
			return bm_fail(err, EPROTO, "protocol", NULL, "%s: pages in a circle", op);
		offset = next;
		bm_json_add_int(request, "offset", offset);
	}
	*ret = TAKE_PTR(all);
	return 0;
}

int cli_call_list(struct cli *cli, const char *op,
		  struct json_object *(*list)(struct json_object *reply), struct json_object **ret,
		  struct json_object **ret_list, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autoclose socket = -1;
	int r;

	*ret_list = NULL;
	if (cli->format == FORMAT_NAMES && cli_connect_running(&socket) < 0)
		return 0;
	r = socket < 0 ? cli_connect(&socket, err) : 0;
	if (r == 0)
		r = cli_call_paged(socket, op, request, list, ret, err);
	if (r < 0)
		return r;
	*ret_list = list(*ret);
	return *ret_list ? 0
			 : bm_fail(err, EPROTO, "protocol", NULL, "%s: the reply has no list", op);
}

bool cli_print_list(const struct cli *cli, struct json_object *items, const char *what,
		    const char *key)
{
	autojson *json = NULL;
	char shown[CLI_SHOWN];

	if (cli->format == FORMAT_JSON) {
		json = json_object_new_object();
		bm_json_add(json, what, json_object_get(items));
		cli_print_json(stdout, json);
	} else if (cli->format == FORMAT_NAMES) {
		for (size_t i = 0; i < json_object_array_length(items); i++)
			printf("%s\n", cli_show_key(json_object_array_get_idx(items, i), key, shown,
						    sizeof(shown)));
	}
	return cli->format == FORMAT_JSON || cli->format == FORMAT_NAMES;
}
