// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/receipt.h"
#include "cli/broker.h"
#include "cli/text.h"

#define HASH_SHOWN 16

static size_t length_of(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

/* One line: how large, the beginning of its hash or why it has none, the path. */
static void print_file(FILE *out, struct json_object *file)
{
	char path[CLI_SHOWN], hash[CLI_SHOWN], size[CLI_SIZE_LEN];
	const char *sha256 = bm_json_string(file, "sha256");
	int64_t bytes = 0;

	bm_json_int(file, "size", &bytes);
	cli_show_key(file, sha256 ? "sha256" : "why", hash, sizeof(hash));
	if (sha256)
		fprintf(out, "  %11s  %.*s  %s\n", cli_size(bytes, size), HASH_SHOWN, hash,
			cli_show_key(file, "path", path, sizeof(path)));
	else
		fprintf(out, "  %11s  %s\n               not hashed: %s\n", cli_size(bytes, size),
			cli_show_key(file, "path", path, sizeof(path)), hash);
}

static void print_words(FILE *out, struct json_object *list)
{
	char shown[CLI_SHORT];

	for (size_t i = 0; i < length_of(list); i++) {
		const char *word = json_object_get_string(json_object_array_get_idx(list, i));

		fprintf(out, "%s%s", i ? ", " : "", cli_show(word ?: "", shown, sizeof(shown)));
	}
}

static void print_output(FILE *out, struct json_object *output)
{
	struct json_object *files = bm_json_get(output, "files", json_type_array);
	struct json_object *stopped = bm_json_get(output, "stopped", json_type_array);
	char source[CLI_SHOWN], why[CLI_SHOWN];
	int64_t count = (int64_t)length_of(files);

	cli_show_key(output, "source", source, sizeof(source));
	if (!files) {
		fprintf(out, "written to %s:\n  %s\n", source,
			cli_show_key(output, "why", why, sizeof(why)));
		return;
	}
	bm_json_int(output, "file_count", &count);
	fprintf(out, "written to %s: ", source);
	if (count)
		fprintf(out, "%lld file%s\n", (long long)count, count == 1 ? "" : "s");
	else
		fprintf(out, "nothing\n");
	for (size_t i = 0; i < length_of(files); i++)
		print_file(out, json_object_array_get_idx(files, i));
	if (count > (int64_t)length_of(files))
		fprintf(out, "  and %lld more: `benchmon receipt` has them\n",
			(long long)(count - (int64_t)length_of(files)));
	if (length_of(stopped)) {
		fprintf(out, "  there may be more: looking stopped at the bounds of ");
		print_words(out, stopped);
		fputc('\n', out);
	}
}

static void print_outputs(FILE *out, struct json_object *list)
{
	for (size_t i = 0; i < length_of(list); i++)
		print_output(out, json_object_array_get_idx(list, i));
}

void cli_receipt_told(struct json_object *reply)
{
	struct json_object *receipt = bm_json_get(reply, "receipt", json_type_object);
	struct json_object *warnings = bm_json_get(reply, "warnings", json_type_array);
	char message[CLI_SHOWN], remedy[CLI_SHOWN];

	for (size_t i = 0; i < length_of(warnings); i++) {
		struct json_object *w = json_object_array_get_idx(warnings, i);

		fprintf(stderr, "benchmon: warning: %s; %s\n",
			cli_show_key(w, "message", message, sizeof(message)),
			cli_show_key(w, "remedy", remedy, sizeof(remedy)));
	}
	if (!receipt)
		return;
	print_outputs(stdout, bm_json_get(receipt, "outputs", json_type_array));
	printf("receipt: %s\n", cli_show_key(receipt, "file", message, sizeof(message)));
}

void cli_receipt_already(struct json_object *reply, const char *done)
{
	struct json_object *receipt = bm_json_get(reply, "receipt", json_type_object);
	char name[CLI_SHORT], ended[CLI_SHORT], why[CLI_SHORT], file[CLI_SHOWN];

	printf("%s was %s at %.19sZ: %s\n", cli_show_key(reply, "bench", name, sizeof(name)), done,
	       cli_show_key(reply, "ended", ended, sizeof(ended)),
	       cli_show_key(reply, "reason", why, sizeof(why)));
	if (receipt)
		printf("receipt: %s\n", cli_show_key(receipt, "file", file, sizeof(file)));
}

/* --- all of it -----------------------------------------------------------------------------------
 */

static void print_bench(FILE *out, struct json_object *receipt, struct json_object *bench)
{
	char name[CLI_SHORT], text[CLI_SHOWN], reason[CLI_SHOWN];
	int64_t id = 0, owner, by;

	bm_json_int(bench, "id", &id);
	fprintf(out, "%-9s  %s, number %lld, %s\n", "bench",
		cli_show_key(bench, "name", name, sizeof(name)), (long long)id,
		cli_show_key(bench, "origin", text, sizeof(text)));
	if (bm_json_string(bench, "container"))
		fprintf(out, "%-9s  %s\n", "container",
			cli_show_key(bench, "container", text, sizeof(text)));
	if (bm_json_int(bench, "owner", &owner) == 0)
		fprintf(out, "%-9s  %s\n", "owner",
			cli_show_user(bench, "owner", text, sizeof(text)));
	fprintf(out, "%-9s  %.19sZ\n", "created",
		cli_show_key(bench, "created", text, sizeof(text)));
	fprintf(out, "%-9s  %.19sZ, %s", "ended", cli_show_key(bench, "ended", text, sizeof(text)),
		cli_show_key(bench, "reason", reason, sizeof(reason)));
	if (bm_json_int(bench, "by", &by) == 0)
		fprintf(out, " by uid %lld", (long long)by);
	fprintf(out, "\n%-9s  %s\n", "executed",
		cli_show_key(receipt, "executions", text, sizeof(text)));
}

static void print_denials(FILE *out, struct json_object *denials)
{
	struct json_object *hooks =
		denials ? bm_json_get(denials, "hooks", json_type_object) : NULL;
	char words[CLI_SHOWN], shown[CLI_SHORT];
	int64_t lost = 0;
	size_t used;

	if (!hooks)
		return;
	used = (size_t)snprintf(words, sizeof(words), "%s",
				cli_show_key(denials, "total", shown, sizeof(shown)));
	json_object_object_foreach(hooks, hook, count) {
		cli_show(hook, shown, sizeof(shown));
		if (used < sizeof(words))
			used += (size_t)snprintf(words + used, sizeof(words) - used, ", %s %lld",
						 shown, (long long)json_object_get_int64(count));
	}
	bm_json_int(denials, "lost", &lost);
	if (lost && used < sizeof(words))
		snprintf(words + used, sizeof(words) - used, " (events lost: %lld)",
			 (long long)lost);
	fprintf(out, "%-9s  ", "denied");
	cli_wrap(out, 11, words);
}

static void print_grant(FILE *out, struct json_object *grant)
{
	char id[CLI_SHORT], kind[CLI_SHORT], rights[CLI_SHORT], text[CLI_SHOWN], from[CLI_SHORT],
		reason[CLI_SHORT];
	const char *what = bm_json_string(grant, "source")    ? "source"
			   : bm_json_string(grant, "profile") ? "profile"
			   : bm_json_string(grant, "broker")  ? "broker"
							      : "destination";
	struct json_object *by = bm_json_get(grant, "confirmed", json_type_object);
	int64_t uid = 0;

	fprintf(out, "  %-6s  %-4s  %-2s  %s\n", cli_show_key(grant, "id", id, sizeof(id)),
		cli_show_key(grant, "kind", kind, sizeof(kind)),
		bm_json_string(grant, "rights")
			? cli_show_key(grant, "rights", rights, sizeof(rights))
			: "",
		cli_show_key(grant, what, text, sizeof(text)));
	if (bm_json_string(grant, "dest"))
		fprintf(out, "                  -> %s\n",
			cli_show_key(grant, "dest", text, sizeof(text)));
	cli_broker_grant_print(out, grant, "                  ");
	fprintf(out, "                  %.19sZ to %.19sZ, %s\n",
		cli_show_key(grant, "created", from, sizeof(from)),
		cli_show_key(grant, "revoked", text, sizeof(text)),
		cli_show_key(grant, "reason", reason, sizeof(reason)));
	if (by)
		bm_json_int(by, "uid", &uid);
	if (by)
		fprintf(out, "                  confirmed by uid %lld (%s)\n", (long long)uid,
			cli_show_key(by, "how", text, sizeof(text)));
}

static void print_check(FILE *out, const char *title, struct json_object *check, const char *good)
{
	struct json_object *why = check ? bm_json_get(check, "why", json_type_object) : NULL;
	char text[CLI_SHOWN];

	if (!check)
		return;
	fprintf(out, "%-9s  ", title);
	cli_wrap(out, 11, why ? cli_show_key(why, "message", text, sizeof(text)) : good);
	if (why && bm_json_bool(check, "unknown"))
		fprintf(out, "           %s\n", cli_show_key(why, "remedy", text, sizeof(text)));
}

void cli_receipt_print(FILE *out, struct json_object *receipt, struct json_object *checks)
{
	struct json_object *bench = bm_json_get(receipt, "bench", json_type_object);
	struct json_object *ledger = bm_json_get(receipt, "ledger", json_type_object);
	struct json_object *grants = bm_json_get(receipt, "grants", json_type_array);
	struct json_object *unknown = bm_json_get(receipt, "unknown", json_type_array);
	char n[CLI_SHORT], hash[CLI_SHOWN];

	if (bench)
		print_bench(out, receipt, bench);
	print_denials(out, bm_json_get(receipt, "denials", json_type_object));
	for (size_t i = 0; i < length_of(unknown); i++) {
		const char *what = json_object_get_string(json_object_array_get_idx(unknown, i));

		fprintf(out, "%-9s  ", "unknown");
		cli_wrap(out, 11, cli_show(what ?: "", hash, sizeof(hash)));
	}
	if (ledger)
		fprintf(out, "%-9s  line %s, %.*s...\n", "ledger",
			cli_show_key(ledger, "n", n, sizeof(n)), HASH_SHOWN,
			cli_show_key(ledger, "hash", hash, sizeof(hash)));
	print_check(out, "signature", bm_json_get(checks, "signature", json_type_object), "good");
	print_check(out, "record", bm_json_get(checks, "ledger", json_type_object),
		    "the ledger has that line, and names this receipt");
	fprintf(out, "%-9s  %s\n", "grants", length_of(grants) ? "" : "none");
	if (json_object_object_get_ex(receipt, "grants_left_out", NULL))
		fprintf(out, "  %s before these: the ledger has them\n",
			cli_show_key(receipt, "grants_left_out", n, sizeof(n)));
	for (size_t i = 0; i < length_of(grants); i++)
		print_grant(out, json_object_array_get_idx(grants, i));
	print_outputs(out, bm_json_get(receipt, "outputs", json_type_array));
}
