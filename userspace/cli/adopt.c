// SPDX-License-Identifier: GPL-2.0-only
/* attach --adopt: the volumes that were detached, one question each. */
#include <errno.h>

#include "cli/cli.h"
#include "cli/text.h"

static void print_path(const char *what, struct json_object *volume)
{
	char shown[CLI_SHOWN];

	printf("%s %s", what, cli_show_key(volume, "path", shown, sizeof(shown)));
}

/* What came of one of them goes into it, for --format json. */
static int adopt(struct cli *cli, int socket, const char *bench, struct json_object *volume,
		 struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *grant;
	int64_t number;
	int r;

	if (bm_json_int(volume, "volume", &number) < 0)
		return bm_fail(err, EPROTO, "protocol", NULL, "a volume without a number");
	bm_json_add_string(request, "bench", bench);
	bm_json_add_int(request, "volume", number);
	r = cli_grant_ask(cli, socket, "adopt", request, NULL,
			  cli->format == FORMAT_JSON ? NULL : stdout, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "grant", &grant, err);
	if (r < 0)
		return r;
	if (cli->format != FORMAT_JSON)
		cli_grant_print(grant);
	bm_json_add(volume, "grant", json_object_get(grant));
	return 0;
}

/* Not so by the daemon's rules, or because the operator said no: both leave it detached. */
static void not_adopted(struct cli *cli, struct json_object *volume, const struct bm_error *err)
{
	char line[1024], shown[CLI_SHOWN];

	if (!json_object_object_get_ex(volume, "refused", NULL))
		bm_json_add(volume, "refused", bm_error_to_json(err));
	if (cli->format == FORMAT_JSON)
		return;
	print_path("not adopted:", volume);
	printf(": %s\n", cli_show(bm_error_line(err, line, sizeof(line)), shown, sizeof(shown)));
}

int cli_adopt(struct cli *cli, int socket, const char *bench, struct json_object *volumes)
{
	size_t count = json_object_array_length(volumes);
	int64_t left_out;

	for (size_t i = 0; i < count; i++) {
		struct json_object *volume = json_object_array_get_idx(volumes, i);
		struct json_object *why = bm_json_get(volume, "refused", json_type_object);
		struct bm_error err = {};
		int r;

		if (bm_json_int(volume, "left_out", &left_out) == 0) {
			if (cli->format != FORMAT_JSON)
				printf("not adopted: %lld more, for which a reply has no room\n",
				       (long long)left_out);
			continue;
		}
		if (why)
			r = bm_error_from_json(why, &err) < 0 ? -EPROTO : -err.code;
		else
			r = adopt(cli, socket, bench, volume, &err);
		if (r == -EPIPE || r == -ECONNRESET)
			return r;
		if (r < 0)
			not_adopted(cli, volume, &err);
	}
	return 0;
}
