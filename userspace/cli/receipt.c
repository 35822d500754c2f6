// SPDX-License-Identifier: GPL-2.0-only
#include "cli/receipt.h"

#include <errno.h>
#include <time.h>

#include "base/io.h"
#include "cli/text.h"

#define RECEIPT_MAX (8 << 20)

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

static int print_table(struct json_object *items, struct bm_error *err)
{
	static const char *const titles[] = { "BENCH", "NUMBER", "SIZE", "WRITTEN" };
	struct cli_table table = { titles, 4, 1u << 1 | 1u << 2, NULL, 0, NULL };
	uint64_t now = (uint64_t)time(NULL);
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);
		char bench[CLI_SHORT], id[CLI_SHORT], size[CLI_SIZE_LEN], age[CLI_AGE_LEN];
		int64_t bytes = 0;
		const char *cells[] = {
			cli_show_key(item, "bench", bench, sizeof(bench)),
			cli_show_key(item, "id", id, sizeof(id)),
			size,
			cli_age(bm_json_string(item, "written"), now, age),
		};

		bm_json_int(item, "size", &bytes);
		cli_size(bytes, size);
		r = cli_table_row(&table, cells);
	}
	if (r == 0)
		cli_table_print(&table, stdout);
	cli_table_done(&table);
	return r < 0 ? bm_fail_errno(err, -r, "receipt") : 0;
}

static void print_names(struct json_object *items)
{
	char bench[CLI_SHORT], id[CLI_SHORT];

	for (size_t i = 0; i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		printf("%s-%s\n", cli_show_key(item, "bench", bench, sizeof(bench)),
		       cli_show_key(item, "id", id, sizeof(id)));
	}
}

static int list(struct cli *cli, struct bm_error *err)
{
	autojson *reply = NULL, *json = NULL;
	struct json_object *items;
	int r = cli_call_list(cli, "receipts", items_of, &reply, &items, err);

	if (r < 0 || !items)
		return r;
	if (cli->format == FORMAT_JSON) {
		json = json_object_new_object();
		bm_json_add(json, "receipts", json_object_get(items));
		cli_print_json(stdout, json);
	} else if (cli->format == FORMAT_NAMES) {
		print_names(items);
	} else if (json_object_array_length(items)) {
		return print_table(items, err);
	} else {
		printf("no receipts; each Bench leaves one when it ends\n");
	}
	return 0;
}

static int fetch(const char *name, struct json_object **ret_reply, struct json_object **ret_receipt,
		 struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autoclose socket = -1, file = -1;
	autofree char *text = NULL;
	size_t len;
	int r = cli_connect(&socket, err);

	bm_json_add_string(request, "name", name);
	if (r == 0)
		r = cli_call_fd(socket, "receipt", request, &file, ret_reply, err);
	if (r < 0)
		return r;
	r = bm_read_fd(file, RECEIPT_MAX, &text, &len);
	if (r < 0)
		return bm_fail_errno(err, -r, "the receipt");
	return bm_json_parse(text, len, "the receipt", ret_receipt, err);
}

/* What is not right of it; an error of its own, after it has been shown. */
static int judge(struct json_object *checks, struct bm_error *err)
{
	json_object_object_foreach(checks, name, check) {
		struct json_object *why = bm_json_get(check, "why", json_type_object);
		struct bm_error wrong;

		(void)name;
		if (bm_json_bool(check, "ok") || bm_json_bool(check, "unknown"))
			continue;
		if (!why || bm_error_from_json(why, &wrong) < 0)
			return bm_fail(err, EPROTO, "protocol", NULL, "receipt: malformed reply");
		*err = wrong;
		return -wrong.code;
	}
	return 0;
}

static int show(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *reply = NULL, *receipt = NULL;
	struct json_object *checks;
	int r = fetch(name, &reply, &receipt, err);

	if (r == 0)
		r = cli_reply_object(reply, "checks", &checks, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON) {
		json_object_object_del(reply, "ok");
		bm_json_add(reply, "receipt", json_object_get(receipt));
		cli_print_json(stdout, reply);
	} else {
		cli_receipt_print(stdout, receipt, checks);
	}
	return judge(checks, err);
}

int cmd_receipt(struct cli *cli, struct bm_error *err)
{
	if (!cli->args.operand_count)
		return list(cli, err);
	if (cli->format == FORMAT_NAMES)
		return cli_usage(cli, err, "receipt: the format names is for the list");
	return show(cli, cli->args.operands[0], err);
}
