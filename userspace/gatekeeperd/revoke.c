// SPDX-License-Identifier: GPL-2.0-only
/* Taking back: the kernel first, the ledger last. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "bench/relocate.h"
#include "gatekeeperd/lifecycle.h"
#include "network/link.h"
#include "network/nft.h"

static int revoke_file(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	struct bm_grant tombstone = { .rights = 0, .grant = g->number };
	int r = bm_grant_put(d->kernel, bench->id, g->object, &tombstone, err);

	if (r < 0)
		return r;
	r = bm_kernel_settle();
	if (r < 0)
		return bm_fail_errno(err, -r, "wait for running programs");
	if (bench_alive(bench)) {
		r = bm_mount_take(&bench->target, g->adopted ? NULL : g->dest, g->device, g->inode,
				  err);
		if (r < 0)
			return r;
	}
	r = bm_grant_drop(d->kernel, bench->id, g->object);
	return r < 0 ? bm_fail_errno(err, -r, "grants") : 0;
}

static int revoke_net(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	struct bm_dest_key key = grant_dest_key(bench, g);
	size_t others = 0;
	int r;

	r = bm_dest_drop(d->kernel, &key);
	if (r == 0)
		r = bm_kernel_settle();
	if (r < 0)
		return bm_fail_errno(err, -r, "destinations");
	if (bench_alive(bench)) {
		r = bm_nft_remove(bench->target.ns[BM_NS_NET], &g->destination, err);
		if (r < 0)
			return r;
	}
	for (const struct grant *other = bench->grants; other; other = other->next)
		others += other != g && other->kind == GRANT_NET;
	if (!others && bench->linked) {
		r = bm_link_destroy(bench->id, err);
		if (r < 0)
			return r;
		bench->linked = false;
	}
	return 0;
}

int grant_revoke(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	struct json_object *fields;
	int r = g->kind == GRANT_FILE ? revoke_file(d, bench, g, err)
				      : revoke_net(d, bench, g, err);

	if (r < 0)
		return r;
	fields = json_object_new_object();
	bm_json_add_int(fields, "grant", g->number);
	r = bench_record(d, bench, "revoke", fields, err);
	daemon_log(LOG_LEVEL_INFO, "revoked %s/%u", bench->name, g->number);
	/* Taken back it is, whether or not the ledger could say so. */
	bench_remove_grant(bench, g);
	return r;
}

static int find_grant(struct daemon *d, const char *id, struct bench **ret_bench,
		      struct grant **ret_grant, struct bm_error *err)
{
	char name[BM_BENCH_NAME_LEN], shown[64];
	uint32_t number;

	if (bm_grant_id_parse(id, name, &number) < 0)
		return bm_fail(err, EINVAL, "grant-id", "see `benchmon show BENCH`",
			       "\"%s\" is no grant id such as b1/3",
			       bm_escape(id, shown, sizeof(shown)));
	*ret_bench = model_find(&d->model, name);
	if (!*ret_bench)
		return bm_fail(err, ENOENT, NULL, "see `benchmon ls`", "there is no Bench %s",
			       name);
	*ret_grant = bench_grant(*ret_bench, number);
	if (!*ret_grant)
		return bm_fail(err, ENOENT, NULL, "see `benchmon show`", "there is no grant %s/%u",
			       name, number);
	return 0;
}

static void add_id(struct json_object *list, const struct bench *bench, uint32_t number)
{
	char id[BM_GRANT_ID_LEN];

	snprintf(id, sizeof(id), "%s/%u", bench->name, number);
	json_object_array_add(list, json_object_new_string(id));
}

int request_revoke(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	const char *id = bm_json_string(message->json, "grant");
	struct json_object *list = json_object_new_array();
	struct bench *bench;
	struct grant *grant;
	int r;

	(void)c;
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "revoked", list);
	if (id) {
		r = find_grant(d, id, &bench, &grant, err);
		if (r < 0)
			return r;
		add_id(list, bench, grant->number);
		return grant_revoke(d, bench, grant, err);
	}
	if (!bm_json_bool(message->json, "all"))
		return bm_fail(err, EINVAL, "protocol", "name a grant, or a Bench with --all",
			       "revoke: no grant is named");
	r = bench_of_request(d, message->json, &bench, err);
	while (r == 0 && bench->grants) {
		add_id(list, bench, bench->grants->number);
		r = grant_revoke(d, bench, bench->grants, err);
	}
	return r;
}
