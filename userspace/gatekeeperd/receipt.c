// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/receipt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "gatekeeperd/lifecycle.h"

#define ROOM_OF_FILES (24 << 10) /* of a reply */
#define FILES_OF_REPLY 20
#define ROOM_OF_LINE 32768 /* of the ledger, beside its last item */
#define ESCAPED (4 * PATH_MAX)

static size_t length(struct json_object *json)
{
	return strlen(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
}

/* --- while it lives ------------------------------------------------------------------------------
 */

static void remember(struct bench *bench, struct json_object *json)
{
	if (!bench->history)
		bench->history = json_object_new_array();
	json_object_array_add(bench->history, json);
	bench->history_bytes += length(json);
	while (json_object_array_length(bench->history) > RECEIPT_GRANTS ||
	       bench->history_bytes > RECEIPT_GRANTS_BYTES) {
		bench->history_bytes -= length(json_object_array_get_idx(bench->history, 0));
		json_object_array_del_idx(bench->history, 0, 1);
		bench->history_left++;
	}
}

void receipt_grant(struct bench *bench, const struct grant *g, const char *when, const char *reason)
{
	struct json_object *json = grant_to_json(bench, g);

	bm_json_add_string(json, "revoked", when);
	bm_json_add_string(json, "reason", reason);
	remember(bench, json);
}

int receipt_restate(struct daemon *d, const struct bench *bench, struct bm_error *err)
{
	size_t count = bench->history ? json_object_array_length(bench->history) : 0, i = 0;
	int r = 0;

	if (!count && !bench->executions)
		return 0;
	do {
		struct json_object *fields = json_object_new_object(),
				   *items = json_object_new_array();
		size_t used = 0;

		for (; i < count && used < ROOM_OF_LINE; i++) {
			struct json_object *item = json_object_array_get_idx(bench->history, i);

			used += length(item);
			json_object_array_add(items, json_object_get(item));
		}
		bm_json_add(fields, "items", items);
		bm_json_add_int(fields, "left_out", (int64_t)bench->history_left);
		bm_json_add_int(fields, "executions", (int64_t)bench->executions);
		r = bench_record(d, bench, "history", fields, err);
	} while (r == 0 && i < count);
	return r;
}

int receipt_replay(struct bench *bench, struct json_object *json)
{
	struct json_object *items = bm_json_get(json, "items", json_type_array);
	int64_t left_out, executions;

	if (!items || bm_json_int(json, "left_out", &left_out) < 0 ||
	    bm_json_int(json, "executions", &executions) < 0 || left_out < 0 || executions < 0)
		return -EBADMSG;
	for (size_t i = 0; i < json_object_array_length(items); i++)
		remember(bench, json_object_get(json_object_array_get_idx(items, i)));
	bench->history_left = (uint64_t)left_out;
	bench->executions = (uint64_t)executions;
	return 0;
}

uint64_t receipt_grants_ended(const struct bench *bench)
{
	return bench->history_left +
	       (bench->history ? json_object_array_length(bench->history) : 0);
}

static const char *why_not_hashed(const struct bm_output *file)
{
	switch (file->state) {
	case BM_OUTPUT_CHANGED:
		return "it changed while it was read";
	case BM_OUTPUT_UNREADABLE:
		return strerror((int)file->error);
	default:
		return "too large for the bytes and the time that were left";
	}
}

static struct json_object *file_to_json(const struct bm_output *file)
{
	struct json_object *json = json_object_new_object();
	char path[ESCAPED], time[BM_TIME_LEN], hex[65];

	bm_json_add_string(json, "path",
			   *file->path ? bm_escape(file->path, path, sizeof(path)) : ".");
	bm_json_add_int(json, "size", (int64_t)file->size);
	bm_json_add_string(json, "mtime",
			   bm_time_format(file->mtime_ns > 0 ? (uint64_t)file->mtime_ns : 0, time));
	if (file->state != BM_OUTPUT_HASHED) {
		bm_json_add_string(json, "why", why_not_hashed(file));
		return json;
	}
	for (size_t i = 0; i < sizeof(file->sha256); i++)
		snprintf(hex + 2 * i, 3, "%02x", file->sha256[i]);
	bm_json_add_string(json, "sha256", hex);
	return json;
}

static void add_outputs(struct json_object *json, const struct bm_outputs *outputs)
{
	const struct bm_outputs_counts *counts = &outputs->counts;
	struct json_object *files = json_object_new_array(), *stopped;
	const struct {
		const char *key;
		uint64_t count;
	} rest[] = { { "links", counts->links },
		     { "special", counts->special },
		     { "unreadable", counts->unreadable },
		     { "apart", counts->apart } };

	for (size_t i = 0; i < outputs->count; i++)
		json_object_array_add(files, file_to_json(&outputs->list[i]));
	bm_json_add(json, "files", files);
	bm_json_add_int(json, "looked_at", (int64_t)counts->entries);
	bm_json_add_int(json, "hashed", (int64_t)counts->bytes);
	for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
		if (rest[i].count)
			bm_json_add_int(json, rest[i].key, (int64_t)rest[i].count);
	if (!counts->bounds)
		return;
	stopped = json_object_new_array();
	for (int bound = 0; bound < BM_BOUND_MAX; bound++)
		if (counts->bounds & 1u << bound)
			json_object_array_add(stopped,
					      json_object_new_string(bm_outputs_bounds[bound]));
	bm_json_add(json, "stopped", stopped);
}

void receipt_output(struct bench *bench, const struct grant *g, const struct bm_outputs *outputs,
		    const char *why)
{
	struct json_object *json = json_object_new_object();
	char id[BM_GRANT_ID_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
	bm_json_add_string(json, "grant", id);
	bm_json_add_string(json, "source", g->source);
	if (outputs)
		add_outputs(json, outputs);
	else
		bm_json_add_string(json, "why", why);
	if (!bench->outputs)
		bench->outputs = json_object_new_object();
	bm_json_add(bench->outputs, id, json);
}

/* The first that are still in memory. */
static struct json_object *first_denials(struct daemon *d, const struct bench *bench)
{
	struct json_object *list = json_object_new_array();
	struct bm_reader reader;
	const char *line;
	uint64_t missed;

	bm_reader_attach(&reader, d->store, bench->name, 0);
	bm_reader_only(&reader, bench->owner);
	bm_reader_of(&reader, bench->id);
	while (json_object_array_length(list) < RECEIPT_DENIALS &&
	       bm_reader_next(&reader, &line, &missed) == BM_READER_LINE) {
		const char *verdict;
		struct json_object *event;

		if (bm_json_parse(line, strlen(line), "event", &event, NULL) < 0)
			continue;
		verdict = bm_json_string(event, "verdict");
		if (verdict && !strcmp(verdict, bm_verdict_name(BM_DENY)))
			json_object_array_add(list, event);
		else
			json_object_put(event);
	}
	bm_reader_detach(&reader);
	return list;
}

void receipt_denials(struct daemon *d, struct bench *bench)
{
	struct json_object *json, *hooks;
	struct bm_stats stats = {};
	uint64_t total = 0;

	/* A second try to end it finds the counters gone, and has what the first has read. */
	if (bm_stats_get(d->kernel, bench->id, &stats) < 0)
		return;
	json = json_object_new_object();
	hooks = json_object_new_object();
	for (uint32_t hook = 0; hook < BM_HOOK_MAX; hook++) {
		uint64_t count = stats.count[hook][BM_DENY];

		total += count;
		if (count)
			bm_json_add_int(hooks, bm_hook_name(hook), (int64_t)count);
	}
	bm_json_add_int(json, "total", (int64_t)total);
	bm_json_add(json, "hooks", hooks);
	bm_json_add_int(json, "lost", (int64_t)stats.lost);
	bm_json_add(json, "first", first_denials(d, bench));
	json_object_put(bench->denials);
	bench->denials = json;
}

/* --- when it ends --------------------------------------------------------------------------------
 */

static struct json_object *describe_bench(const struct bench *bench, const char *event,
					  struct json_object *fields, uint64_t realtime_ns)
{
	struct json_object *json = json_object_new_object();
	char ended[BM_TIME_LEN];
	int64_t uid;

	bm_json_add_string(json, "name", bench->name);
	bm_json_add_int(json, "id", bench->id);
	/* Here, and nowhere else: bm_receipt_owner(). */
	if (bench->owner)
		bm_json_add_int(json, "owner", bench->owner);
	bm_json_add_string(json, "origin", bench_origin_name(bench->origin));
	if (bench->container[0])
		bm_json_add_string(json, "container", bench->container);
	bm_json_add_string(json, "exec", bench_exec_name(bench->exec));
	bm_json_add_bool(json, "userns", bench->userns);
	if (bench->learns)
		bm_json_add_bool(json, "learned", true);
	bm_json_add_string(json, "created", bench->created);
	bm_json_add_string(json, "ended", bm_time_format(realtime_ns, ended));
	bm_json_add_string(json, "end", event);
	bm_json_add_string(json, "reason", bm_json_string(fields, "reason") ?: "asked");
	if (bm_json_int(fields, "uid", &uid) == 0)
		bm_json_add_int(json, "by", uid);
	return json;
}

/* Of what was writable: what it was found to be, or why nobody looked. */
static void add_output(struct json_object *list, const struct bench *bench,
		       struct json_object *grant)
{
	const char *rights = bm_json_string(grant, "rights"), *id = bm_json_string(grant, "id");
	const char *reason = bm_json_string(grant, "reason");
	struct json_object *json, *found;

	if (!rights || strcmp(rights, "rw") || !strcmp(reason, "failed"))
		return;
	if (bench->outputs && json_object_object_get_ex(bench->outputs, id, &found)) {
		json_object_array_add(list, json_object_get(found));
		return;
	}
	json = json_object_new_object();
	bm_json_add_string(json, "grant", id);
	bm_json_add_string(json, "source", bm_json_string(grant, "source"));
	bm_json_add_string(json, "why",
			   strcmp(reason, "ended") ? "not looked at: it was revoked before the end"
						   : "not looked at: nobody was there to do it");
	json_object_array_add(list, json);
}

static void add_unknown(struct json_object *list, const char *what)
{
	json_object_array_add(list, json_object_new_string(what));
}

struct json_object *receipt_build(const struct bench *bench, const char *event,
				  struct json_object *fields, uint64_t realtime_ns,
				  const struct bm_chain *head)
{
	struct json_object *json = json_object_new_object(), *outputs = json_object_new_array(),
			   *unknown = json_object_new_array(), *ledger = json_object_new_object();
	struct json_object *history =
		bench->history ? json_object_get(bench->history) : json_object_new_array();

	bm_json_add_string(json, "schema", BM_RECEIPT_SCHEMA);
	bm_json_add(json, "bench", describe_bench(bench, event, fields, realtime_ns));
	for (size_t i = 0; i < json_object_array_length(history); i++)
		add_output(outputs, bench, json_object_array_get_idx(history, i));
	bm_json_add(json, "grants", history);
	if (bench->history_left)
		bm_json_add_int(json, "grants_left_out", (int64_t)bench->history_left);
	bm_json_add_int(json, "executions", (int64_t)bench->executions);
	if (bench->denials)
		bm_json_add(json, "denials", json_object_get(bench->denials));
	else
		add_unknown(unknown, "denials: the kernel's counters were gone");
	bm_json_add(json, "outputs", outputs);
	bm_json_add(json, "unknown", unknown);
	bm_json_add_int(ledger, "n", (int64_t)head->n);
	bm_json_add_string(ledger, "hash", head->hash);
	bm_json_add(json, "ledger", ledger);
	return json;
}

/* One of this very Bench, that was written before and holds. */
static int find_written(struct daemon *d, const struct bench *bench, const char *name,
			const struct bm_receipt_key *key, char **ret_text, size_t *ret_len,
			struct json_object **ret)
{
	autofree char *text = NULL;
	autojson *json = NULL;
	struct json_object *of;
	int64_t id;
	int r = bm_receipt_read(d->state_dir, name, &text, ret_len, NULL);

	if (r == 0)
		r = bm_receipt_check(text, *ret_len, key, &json, NULL);
	if (r < 0)
		return r;
	of = bm_json_get(json, "bench", json_type_object);
	if (!of || bm_json_int(of, "id", &id) < 0 || id != bench->id)
		return -ENOENT;
	*ret_text = TAKE_PTR(text);
	*ret = TAKE_PTR(json);
	return 0;
}

static int make(struct daemon *d, const struct bench *bench, const char *event,
		struct json_object *fields, const char *name, struct json_object **ret,
		char ret_digest[BM_HASH_LEN], struct bm_error *err)
{
	autokey seal = {};
	const struct bm_receipt_key key = { seal.secret, seal.public };
	autofree char *text = NULL;
	autojson *json = NULL;
	size_t len = 0;
	int r = bm_ledger_key(d->state_dir, false, &seal, NULL, err);

	if (r < 0)
		return r;
	if (find_written(d, bench, name, &key, &text, &len, &json) < 0) {
		json = receipt_build(bench, event, fields, bm_now_ns(CLOCK_REALTIME),
				     bm_ledger_head(d->ledger));
		r = bm_receipt_sign(json, &key, &text, &len, err);
		if (r == 0)
			r = bm_receipt_put(d->state_dir, name, text, len,
					   (size_t)d->config.max_receipts_per_user, err);
	}
	if (r < 0)
		return r;
	bm_receipt_digest(text, len, ret_digest);
	*ret = TAKE_PTR(json);
	return 0;
}

/* What a reply has room for. */
static struct json_object *summary_of(struct json_object *output, size_t *room)
{
	static const char *const kept[] = { "grant", "source", "why", "stopped" };
	struct json_object *json = json_object_new_object(), *list, *value;
	struct json_object *files = bm_json_get(output, "files", json_type_array);
	size_t count = files ? json_object_array_length(files) : 0;

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (json_object_object_get_ex(output, kept[i], &value))
			bm_json_add(json, kept[i], json_object_get(value));
	*room -= *room < length(json) ? *room : length(json);
	if (!files)
		return json;
	list = json_object_new_array();
	bm_json_add_int(json, "file_count", (int64_t)count);
	for (size_t i = 0; i < count && i < FILES_OF_REPLY; i++) {
		value = json_object_array_get_idx(files, i);
		if (length(value) > *room)
			break;
		*room -= length(value);
		json_object_array_add(list, json_object_get(value));
	}
	bm_json_add(json, "files", list);
	return json;
}

static void add_summary(struct json_object *reply, struct json_object *receipt, const char *name,
			const char *digest)
{
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();
	struct json_object *outputs = bm_json_get(receipt, "outputs", json_type_array);
	char path[sizeof(BM_LEDGER_DIR) + sizeof(BM_RECEIPT_DIR) + BM_RECEIPT_NAME_LEN];
	size_t room = ROOM_OF_FILES;

	snprintf(path, sizeof(path), BM_LEDGER_DIR "/" BM_RECEIPT_DIR "/%s", name);
	bm_json_add_string(json, "file", path);
	bm_json_add_string(json, "digest", digest);
	for (size_t i = 0; room && i < json_object_array_length(outputs); i++)
		json_object_array_add(list,
				      summary_of(json_object_array_get_idx(outputs, i), &room));
	bm_json_add(json, "outputs", list);
	bm_json_add(reply, "receipt", json);
}

static void add_warning(struct json_object *reply, const struct bm_error *err)
{
	struct json_object *list = json_object_new_array(), *json = json_object_new_object();
	char text[640];

	snprintf(text, sizeof(text), "there is no receipt of it: %s", err->message);
	bm_json_add_string(json, "message", text);
	bm_json_add_string(json, "remedy",
			   err->remedy[0] ? err->remedy : "the ledger has what was decided");
	json_object_array_add(list, json);
	bm_json_add(reply, "warnings", list);
}

void receipt_write(struct daemon *d, const struct bench *bench, const char *event,
		   struct json_object *fields, struct json_object *reply)
{
	char name[BM_RECEIPT_NAME_LEN], digest[BM_HASH_LEN];
	autojson *json = NULL;
	struct bm_error err = {};
	int64_t denied;
	int r;

	if (reply && bench->denials && bm_json_int(bench->denials, "total", &denied) == 0)
		bm_json_add_int(reply, "denied", denied);
	bm_receipt_name(bench->name, bench->id, name);
	r = make(d, bench, event, fields, name, &json, digest, &err);
	if (r < 0) {
		bm_fail_errno(&err, -r, "receipt");
		daemon_log_error("write a receipt", &err);
		bm_json_add_string(fields, "receipt_failed", err.message);
		if (reply)
			add_warning(reply, &err);
		return;
	}
	bm_json_add_string(fields, "receipt", name);
	bm_json_add_string(fields, "receipt_digest", digest);
	if (reply)
		add_summary(reply, json, name, digest);
}
