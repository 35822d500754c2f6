// SPDX-License-Identifier: GPL-2.0-only
/* broker ls, verify; the broker grants of the others. */
#include "cli/broker.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "cli/cli.h"
#include "cli/kinds.h"
#include "cli/text.h"

int cli_grant_broker(struct cli *cli, int socket, const char *bench, const char *name, FILE *out,
		     struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	int r = cli_add_duration(cli, request, err);

	if (r == 0)
		r = cli_add_options(cli, "broker", request, err);
	if (r < 0)
		return r;
	bm_json_add_string(request, "bench", bench);
	bm_json_add_string(request, "kind", "broker");
	bm_json_add_string(request, "broker", name);
	bm_json_add_bool(request, "private", cli_has(&cli->args, OPT_PRIVATE));
	return cli_grant_ask(cli, socket, "grant", request, NULL, out, ret_reply, err);
}

static void print_list(FILE *out, struct json_object *c, const char *key, const char *title)
{
	struct json_object *list = bm_json_get(c, key, json_type_array);
	char shown[CLI_SHOWN];

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));

		fprintf(out, "  %-8s  %s\n", i ? "" : title,
			cli_show(text ?: "", shown, sizeof(shown)));
	}
}

static void print_limits(FILE *out, struct json_object *limits)
{
	static const struct {
		const char *key, *what;
	} rows[] = { { "requests", "calls in all" },
		     { "bytes", "bytes in all" },
		     { "rate", "calls a minute" },
		     { "concurrent", "at once" },
		     { "seconds", "s a call" } };
	const char *before = "  limits    ";
	int64_t number;

	for (size_t i = 0; limits && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (bm_json_int(limits, rows[i].key, &number) < 0)
			continue;
		fprintf(out, "%s%lld %s", before, (long long)number, rows[i].what);
		before = ", ";
	}
	if (limits)
		fputc('\n', out);
}

static void print_env(FILE *out, struct json_object *env)
{
	char name[CLI_SHOWN], value[CLI_SHOWN];
	const char *title = "env";

	if (!env)
		return;
	json_object_object_foreach(env, key, text) {
		(void)text;
		fprintf(out, "  %-8s  %s=%s\n", title, cli_show(key, name, sizeof(name)),
			cli_show_key(env, key, value, sizeof(value)));
		title = "";
	}
}

static void row(FILE *out, const char *title, const char *text)
{
	fprintf(out, "  %-8s  %s\n", title, text);
}

void cli_broker_confirm_print(FILE *out, struct json_object *c)
{
	char shown[CLI_SHOWN], host[CLI_SHORT], line[2 * CLI_SHOWN];

	snprintf(line, sizeof(line), "%s: %s", cli_show_key(c, "broker", host, sizeof(host)),
		 cli_show_key(c, "description", shown, sizeof(shown)));
	row(out, "broker", line);
	row(out, "upstream", cli_show_key(c, "upstream", shown, sizeof(shown)));
	print_list(out, c, "addresses", "pinned");
	if (bm_json_bool(c, "private"))
		row(out, "private", "yes: an address of a private network");
	print_list(out, c, "routes", "calls");
	print_limits(out, bm_json_get(c, "limits", json_type_object));
	row(out, "with", cli_show_key(c, "credential", shown, sizeof(shown)));
	snprintf(line, sizeof(line), "http://%s, %s in the Bench",
		 cli_show_key(c, "host", host, sizeof(host)),
		 cli_show_key(c, "endpoint", shown, sizeof(shown)));
	row(out, "at", line);
	print_env(out, bm_json_get(c, "env", json_type_object));
	row(out, "egress", "yes: what these calls carry leaves to the upstream");
}

static void print_calls(FILE *out, struct json_object *calls, const char *before)
{
	char count[CLI_SHORT], refused[CLI_SHORT], in[CLI_SHORT], back[CLI_SHORT];

	if (!calls)
		return;
	fprintf(out, "%scalls %s, refused %s, bytes %s out and %s back%s\n", before,
		cli_show_key(calls, "count", count, sizeof(count)),
		cli_show_key(calls, "refused", refused, sizeof(refused)),
		cli_show_key(calls, "bytes_in", in, sizeof(in)),
		cli_show_key(calls, "bytes_out", back, sizeof(back)),
		bm_json_bool(calls, "uncounted") ? ", and some that nobody counted" : "");
}

void cli_broker_grant_print(FILE *out, struct json_object *grant, const char *before)
{
	char endpoint[CLI_SHORT], host[CLI_SHORT], upstream[CLI_SHOWN];

	if (!bm_json_string(grant, "broker"))
		return;
	fprintf(out, "%sto %s\n", before,
		cli_show_key(grant, "upstream", upstream, sizeof(upstream)));
	fprintf(out, "%sat http://%s, %s\n", before,
		cli_show_key(grant, "host", host, sizeof(host)),
		cli_show_key(grant, "endpoint", endpoint, sizeof(endpoint)));
	if (json_object_object_get_ex(grant, "runs", NULL) && !bm_json_bool(grant, "runs"))
		fprintf(out, "%sclosed: its process has ended, and is started again\n", before);
	print_calls(out, bm_json_get(grant, "calls", json_type_object), before);
}

/* --- ls, verify ----------------------------------------------------------------------------------
 */

static struct json_object *items_of(struct json_object *reply)
{
	return bm_json_get(reply, "items", json_type_array);
}

static void print_broker(struct json_object *b)
{
	struct json_object *why = bm_json_get(b, "why", json_type_object);
	char name[CLI_SHORT], upstream[CLI_SHOWN], text[CLI_SHOWN], line[1024];
	struct bm_error err = {};

	printf("%-12s  %-32s  %s\n", cli_show_key(b, "name", name, sizeof(name)),
	       cli_show_key(b, "upstream", upstream, sizeof(upstream)),
	       cli_show_key(b, "description", text, sizeof(text)));
	if (bm_json_string(b, "credential"))
		printf("%-12s  with %s\n", "", cli_show_key(b, "credential", text, sizeof(text)));
	else if (why && bm_error_from_json(why, &err) == 0)
		printf("%-12s  %s\n", "",
		       cli_show(bm_error_line(&err, line, sizeof(line)), text, sizeof(text)));
}

static int list(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *reply = NULL;
	struct json_object *brokers;
	char shown[CLI_SHORT];
	int r = cli_call_list(cli, "broker-ls", items_of, &reply, &brokers, err);

	(void)name;
	if (r < 0 || !brokers)
		return r;
	if (cli->format == FORMAT_JSON) {
		cli_print_json(stdout, brokers);
		return 0;
	}
	for (size_t i = 0; i < json_object_array_length(brokers); i++) {
		struct json_object *b = json_object_array_get_idx(brokers, i);

		if (cli->format == FORMAT_NAMES)
			puts(cli_show_key(b, "name", shown, sizeof(shown)));
		else
			print_broker(b);
	}
	return 0;
}

static int verify(struct cli *cli, const char *name, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;
	struct json_object *verified;
	char shown[CLI_SHORT], status[CLI_SHORT], address[CLI_SHORT], ms[CLI_SHORT];
	autoclose socket = -1;
	int r = cli_connect(&socket, err);

	bm_json_add_string(request, "name", name);
	if (cli_has(&cli->args, OPT_UPSTREAM))
		bm_json_add_string(request, "upstream", cli->args.value[OPT_UPSTREAM]);
	bm_json_add_bool(request, "private", cli_has(&cli->args, OPT_PRIVATE));
	if (r == 0)
		r = cli_call(socket, "broker-verify", request, NULL, 0, &reply, err);
	if (r == 0)
		r = cli_reply_object(reply, "verified", &verified, err);
	if (r < 0)
		return r;
	if (cli->format == FORMAT_JSON)
		cli_print_json(stdout, verified);
	else
		printf("%s: answered %s from %s in %s ms\n", cli_show(name, shown, sizeof(shown)),
		       cli_show_key(verified, "status", status, sizeof(status)),
		       cli_show_key(verified, "address", address, sizeof(address)),
		       cli_show_key(verified, "ms", ms, sizeof(ms)));
	return 0;
}

int cmd_broker(struct cli *cli, struct bm_error *err)
{
	const char *verb = cli->args.operands[0];
	const char *name = cli->args.operand_count > 1 ? cli->args.operands[1] : NULL;
	bool lists = !strcmp(verb, "ls");
	char shown[CLI_SHORT];

	if (!lists && strcmp(verb, "verify"))
		return cli_usage(cli, err, "broker: no '%s', there are ls and verify",
				 bm_escape(verb, shown, sizeof(shown)));
	if (lists && (name || cli->args.seen & (OPT(UPSTREAM) | OPT(PRIVATE))))
		return cli_usage(cli, err, "broker ls takes no name, --upstream and --private");
	if (!lists && !name)
		return cli_usage(cli, err, "broker verify: which one?");
	if (!lists && cli->format == FORMAT_NAMES)
		return cli_usage(cli, err, "broker verify: the format names is for ls");
	return lists ? list(cli, name, err) : verify(cli, name, err);
}
