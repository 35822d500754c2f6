// SPDX-License-Identifier: GPL-2.0-only
/* The requests that look at receipts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/receipt.h"

#define RULE "receipt"
#define FOUND (-ECANCELED)

/* Of another's there is none. */
static bool is_of(struct daemon *d, const struct bm_receipt_entry *entry, uid_t uid)
{
	return uid == 0 || bm_receipt_owner(d->state_dir, entry) == uid;
}

int request_receipts(struct daemon *d, struct connection *c, struct bm_message *message,
		     struct json_object **ret_reply, struct bm_error *err)
{
	autofree struct bm_receipt_entry *list = NULL;
	autojson *items = json_object_new_array();
	size_t offset, count = 0;
	int r = offset_of_request(message->json, &offset, err);

	if (r == 0)
		r = bm_receipts_list(d->state_dir, &list, &count, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		struct json_object *item;

		if (!is_of(d, &list[i], c->uid))
			continue;
		item = json_object_new_object();
		bm_json_add_string(item, "bench", list[i].bench);
		bm_json_add_int(item, "id", list[i].id);
		bm_json_add_int(item, "size", (int64_t)list[i].size);
		profile_add_time(item, "written", list[i].written);
		json_object_array_add(items, item);
	}
	*ret_reply = json_object_new_object();
	profile_add_page(*ret_reply, items, offset);
	return 0;
}

/* The last Bench of that name; a name may look like another one's name and number. */
static int find_name(struct daemon *d, uid_t uid, const char *given, char ret[BM_RECEIPT_NAME_LEN],
		     struct bm_error *err)
{
	autofree struct bm_receipt_entry *list = NULL;
	char bench[BM_BENCH_NAME_LEN] = "", shown[64];
	size_t count = 0;
	uint32_t best = 0, id = 0;
	bool exact = false;
	int r = bm_receipts_list(d->state_dir, &list, &count, err);

	if (r < 0)
		return r;
	if (bm_receipt_name_parse(given, bench, &id) < 0)
		id = 0;
	for (size_t i = 0; i < count; i++) {
		bool newer = !strcmp(list[i].bench, given) && list[i].id > best;
		bool same = id && list[i].id == id && !strcmp(list[i].bench, bench);

		if ((!newer && !same) || !is_of(d, &list[i], uid))
			continue;
		if (newer)
			best = list[i].id;
		exact |= same;
	}
	if (best)
		bm_receipt_name(given, best, ret);
	else if (exact)
		bm_receipt_name(bench, id, ret);
	else
		return bm_fail(err, ENOENT, NULL, "see `benchmon receipt`",
			       "there is no receipt of a Bench \"%s\"",
			       bm_escape(given, shown, sizeof(shown)));
	return 0;
}

static int open_key(struct daemon *d, struct bm_key *ret, struct bm_error *err)
{
	return bm_ledger_key(d->state_dir, false, ret, NULL, err);
}

struct search {
	int64_t n;
	const char *hash, *digest;
	uint64_t first; /* line of the file */
	bool head, named, differs;
};

static int look_at_line(void *ctx, uint64_t n, const char *event, struct json_object *json,
			struct bm_error *err)
{
	const char *hash = bm_json_string(json, "hash"), *digest;
	struct search *s = ctx;

	(void)err;
	if (!s->first)
		s->first = n;
	if ((int64_t)n == s->n) {
		s->head = hash && !strcmp(hash, s->hash);
		s->differs = !s->head;
	}
	digest = strcmp(event, "destroy") && strcmp(event, "detach")
			 ? NULL
			 : bm_json_string(json, "receipt_digest");
	s->named |= digest && !strcmp(digest, s->digest);
	return (s->head && s->named) || s->differs ? FOUND : 0;
}

/* The daemon has read the newest file alone. */
static int earlier(const struct search *s, struct bm_error *err)
{
	char remedy[160];

	snprintf(remedy, sizeof(remedy), "`benchmon ledger verify --head %" PRId64 ":%.64s`", s->n,
		 s->hash);
	return bm_fail(err, ENODATA, RULE, remedy,
		       "line %" PRId64 " is in an earlier file of the ledger", s->n);
}

/* The ledger has the line that the receipt names, and a later one names the receipt. */
static int check_ledger(struct daemon *d, struct json_object *receipt, const char *digest,
			struct bm_error *err)
{
	struct json_object *ledger = bm_json_get(receipt, "ledger", json_type_object);
	struct search s = { .hash = ledger ? bm_json_string(ledger, "hash") : NULL,
			    .digest = digest };
	int r;

	if (!s.hash || bm_json_int(ledger, "n", &s.n) < 0)
		return bm_fail(err, EBADMSG, RULE, NULL, "the receipt names no line of the ledger");
	s.head = s.n == 0;
	r = bm_ledger_replay(d->ledger, look_at_line, &s, err);
	if (r < 0 && r != FOUND)
		return r;
	if (s.head && s.named)
		return 0;
	if (!s.head && !s.differs && s.n < (int64_t)s.first)
		return earlier(&s, err);
	if (!s.head)
		return bm_fail(err, EBADMSG, RULE, "find out who changed the ledger",
			       "line %" PRId64 " of the ledger is not the one it was then", s.n);
	return bm_fail(err, EBADMSG, RULE, "find out who changed it, or the ledger",
		       "no line of the ledger names this receipt");
}

static struct json_object *check_to_json(int r, const struct bm_error *err)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_bool(json, "ok", r == 0);
	if (r == -ENODATA)
		bm_json_add_bool(json, "unknown", true);
	if (r < 0)
		bm_json_add(json, "why", bm_error_to_json(err));
	return json;
}

/* Its text is handed over as it is, so that whoever asked can check it again. */
int request_receipt(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	const char *given = bm_json_string(message->json, "name");
	struct json_object *reply, *checks;
	struct bm_error bad_key = {}, bad_signature = {}, bad_ledger = {};
	char name[BM_RECEIPT_NAME_LEN], digest[BM_HASH_LEN];
	autofree char *text = NULL;
	autojson *json = NULL;
	autokey seal = {};
	const struct bm_receipt_key key = { NULL, seal.public };
	autoclose fd = -1;
	size_t len;
	int r, checked;

	if (!given)
		return bm_fail(err, EINVAL, "protocol", NULL, "receipt: \"name\" is missing");
	r = find_name(d, c->uid, given, name, err);
	if (r == 0)
		r = bm_receipt_read(d->state_dir, name, &text, &len, err);
	if (r == 0)
		r = bm_receipt_open(d->state_dir, name, &fd, err);
	if (r < 0)
		return r;
	bm_receipt_digest(text, len, digest);
	checked = open_key(d, &seal, &bad_key);
	bad_signature = bad_key;
	if (checked == 0)
		checked = bm_receipt_check(text, len, &key, &json, &bad_signature);
	checks = json_object_new_object();
	bm_json_add(checks, "signature", check_to_json(checked, &bad_signature));
	if (checked == 0)
		bm_json_add(checks, "ledger",
			    check_to_json(check_ledger(d, json, digest, &bad_ledger), &bad_ledger));
	reply = json_object_new_object();
	bm_json_add_string(reply, "file", name);
	bm_json_add_string(reply, "digest", digest);
	bm_json_add(reply, "checks", checks);
	bm_json_add_bool(reply, "ok", true);
	connection_reply_fd(d, c, reply, fd);
	*ret_reply = NULL;
	return 0;
}

int receipt_ended(struct daemon *d, uid_t uid, struct json_object *request, const char *event,
		  struct json_object **ret_reply)
{
	const char *given = bm_json_string(request, "bench"), *end, *ended;
	char path[sizeof(BM_LEDGER_DIR) + sizeof(BM_RECEIPT_DIR) + BM_RECEIPT_NAME_LEN];
	char name[BM_RECEIPT_NAME_LEN], bench[BM_BENCH_NAME_LEN];
	struct json_object *of, *reply;
	autofree char *text = NULL;
	autojson *json = NULL;
	autokey seal = {};
	const struct bm_receipt_key key = { NULL, seal.public };
	uint32_t id;
	size_t len;
	int r = given && bm_bench_name_valid(given) ? find_name(d, uid, given, name, NULL)
						    : -ENOENT;

	/* b1-7 is the name of a Bench here, and not the seventh one, b1. */
	if (r == 0 && (bm_receipt_name_parse(name, bench, &id) < 0 || strcmp(bench, given)))
		r = -ENOENT;
	if (r == 0)
		r = open_key(d, &seal, NULL);
	if (r == 0)
		r = bm_receipt_read(d->state_dir, name, &text, &len, NULL);
	if (r == 0)
		r = bm_receipt_check(text, len, &key, &json, NULL);
	if (r < 0)
		return -ENOENT;
	of = bm_json_get(json, "bench", json_type_object);
	end = of ? bm_json_string(of, "end") : NULL;
	ended = of ? bm_json_string(of, "ended") : NULL;
	if (!end || !ended || strcmp(end, event))
		return -ENOENT;
	reply = json_object_new_object();
	bm_json_add_string(reply, "bench", given);
	bm_json_add_string(reply, "ended", ended);
	if (bm_json_string(of, "reason"))
		bm_json_add_string(reply, "reason", bm_json_string(of, "reason"));
	snprintf(path, sizeof(path), BM_LEDGER_DIR "/" BM_RECEIPT_DIR "/%s", name);
	of = json_object_new_object();
	bm_json_add_string(of, "file", path);
	bm_json_add(reply, "receipt", of);
	*ret_reply = reply;
	return 0;
}
