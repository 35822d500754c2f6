// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/record.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "audit/head.h"
#include "base/cleanup.h"

/* Looked for again after so long: of room on a disk no event tells. */
#define OWED_MS 5000
/* A file that could not be ended gets so much longer before the next try. */
#define ROTATE_AGAIN (1 << 20)

static bool among(const char *const *list, const char *event)
{
	for (; *list; list++)
		if (!strcmp(*list, event))
			return true;
	return false;
}

/* They tell of what is done already, or gives nobody anything: no full disk holds them up. */
static bool is_end(const char *event)
{
	static const char *const list[] = {
		"revoke",         "revoke-host", "refreshed", "destroy", "detach",
		"ended",          "names",       "freeze",    "thaw",    "profile-unseal",
		"profile-failed", "confirmed",   "rejected",  "expired", "void",
		"broker",         NULL
	};

	return among(list, event);
}

int daemon_record(struct daemon *d, const char *event, struct json_object *fields,
		  struct bm_error *err)
{
	int r;

	if (d->restating) {
		bm_json_add_string(fields, "was", event);
		r = bm_ledger_append(d->ledger, "state", fields, err);
	} else if (is_end(event)) {
		r = bm_ledger_owe(d->ledger, event, fields, err);
		if (r > 0)
			daemon_log(LOG_LEVEL_WARNING,
				   "the disk of the ledger is full: \"%s\" will be written when "
				   "there is room",
				   event);
	} else {
		r = bm_ledger_append(d->ledger, event, fields, err);
	}
	json_object_put(fields);
	return r < 0 ? r : 0;
}

void standing_keep(struct bench *bench, const char *event, struct json_object *json)
{
	static const char *const not [] = { "grant",        "revoke",    "revoke-host", "refresh",
					    "refreshed",    "names",     "exec",        "ended",
					    "destinations", "destroy",   "detach",      "history",
					    "requested",    "confirmed", "rejected",    "expired",
					    "void",         "requests",  "broker",      NULL };
	static const char *const line[] = { "n",    "time", "event",   "prev",
					    "hash", "was",  "objects", NULL };
	struct json_object *copy, *kept, *list;

	if (!bench || among(not, event))
		return;
	copy = json_object_new_object();
	kept = json_object_new_array();
	list = bench->standing;
	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);

		if (strcmp(bm_json_string(item, "was"), event))
			json_object_array_add(kept, json_object_get(item));
	}
	bm_json_add_string(copy, "was", event);
	json_object_object_foreach(json, key, value)
		if (!among(line, key))
			bm_json_add(copy, key, json_object_get(value));
	json_object_array_add(kept, copy);
	json_object_put(bench->standing);
	bench->standing = kept;
}

void ledger_end_of(const struct bm_chain *head, struct bm_ledger_end *ret)
{
	size_t len;

	*ret = (struct bm_ledger_end){ .n = head->n };
	sodium_hex2bin(ret->hash, sizeof(ret->hash), head->hash, strlen(head->hash), NULL, &len,
		       NULL);
}

void ledger_chain_of(const struct bm_ledger_end *end, struct bm_chain *ret)
{
	ret->n = end->n;
	sodium_bin2hex(ret->hash, sizeof(ret->hash), end->hash, sizeof(end->hash));
}

int ledger_open(struct daemon *d, struct bm_error *err)
{
	struct bm_ledger_end end = {};
	struct bm_chain pinned;

	d->rotate_at = BM_LEDGER_FILE_MAX;
	/* Pins of another version, or none, keep nothing. */
	if (bm_pinned_end_get(&end) < 0)
		end.n = 0;
	ledger_chain_of(&end, &pinned);
	return bm_ledger_open(d->state_dir, &pinned, &d->ledger, err);
}

static void moved(void *ctx, const struct bm_chain *head)
{
	struct daemon *d = ctx;
	struct bm_ledger_end end;
	char text[BM_HEAD_TEXT_LEN];

	ledger_end_of(head, &end);
	if (bm_ledger_end_put(d->kernel, &end) < 0)
		daemon_log(LOG_LEVEL_ERROR, "the kernel does not keep where the ledger ends: %s",
			   strerror(errno));
	daemon_log(LOG_LEVEL_INFO, "ledger head %s", bm_head_text(head, text));
}

void ledger_watch(struct daemon *d)
{
	bm_ledger_watch(d->ledger, moved, d);
}

static int restate_all(void *ctx, struct bm_error *err)
{
	struct daemon *d = ctx;
	int r;

	d->restating = true;
	r = restate(d, err);
	d->restating = false;
	return r;
}

int ledger_rotate(struct daemon *d, char ret_old[64], struct bm_error *err)
{
	autojson *fields = json_object_new_object();
	int r;

	bm_json_add_int(fields, "last_bench", d->model.last_bench);
	bm_json_add_int(fields, "last_request", d->model.last_ask);
	bm_json_add_int(fields, "last_carrier", d->model.last_carrier);
	r = bm_ledger_rotate(d->ledger, fields, restate_all, d, ret_old, err);
	/* What is said again may be as long: then the next one must not begin at once. */
	d->rotate_at = 2 * bm_ledger_size(d->ledger) > BM_LEDGER_FILE_MAX
			       ? 2 * bm_ledger_size(d->ledger)
			       : BM_LEDGER_FILE_MAX;
	if (r == 0)
		daemon_log(LOG_LEVEL_INFO, "a new file of the ledger begins, the one before is %s",
			   ret_old);
	return r;
}

void ledger_turn(struct daemon *d)
{
	struct bm_error err = {};
	char old[64];

	if (bm_ledger_owed(d->ledger) && !bm_ledger_settle(d->ledger))
		daemon_log(LOG_LEVEL_INFO, "the ledger has all that was owed to it");
	if (bm_ledger_size(d->ledger) < d->rotate_at)
		return;
	if (ledger_rotate(d, old, &err) < 0) {
		daemon_log_error("begin a new file of the ledger", &err);
		d->rotate_at = bm_ledger_size(d->ledger) + ROTATE_AGAIN;
	}
}

int ledger_patience(const struct daemon *d)
{
	return bm_ledger_owed(d->ledger) ? OWED_MS : -1;
}
