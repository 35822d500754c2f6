// SPDX-License-Identifier: GPL-2.0-only
/* The requests that only look. */
#include "gatekeeperd/broker.h"
#include "gatekeeperd/daemon.h"
#include "gatekeeperd/door.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/listen.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/rule_four.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/escape.h"

/* Room left for what stands around a list in a reply. */
#define REPLY_ROOM (BM_MESSAGE_MAX - 4096)

int only_root(const struct connection *c, const char *why, struct bm_error *err)
{
	return c->uid ? bm_fail(err, EPERM, "root-only", "ask root to do it", "%s", why) : 0;
}

/* An agent has what was made for it; who came by a Bench's own way is no user, whatever its number.
 */
static bool is_of(const struct bench *bench, const struct connection *c)
{
	return c->role == PEER_AGENT ? bench->agent == c->uid
				     : c->role != PEER_BENCH && bench_is_of(bench, c->uid);
}

int bench_of_request(struct daemon *d, const struct connection *c, struct json_object *request,
		     struct bench **ret, struct bm_error *err)
{
	const char *name = bm_json_string(request, "bench");
	char shown[64];

	if (!name)
		return bm_fail(err, EINVAL, "protocol", NULL, "the request names no Bench");
	*ret = model_find(&d->model, name);
	if (!*ret || !is_of(*ret, c))
		return bm_fail(err, ENOENT, NULL, "see `benchmon ls`", "there is no Bench \"%s\"",
			       bm_escape(name, shown, sizeof(shown)));
	return 0;
}

/* As the kernel's table has them: what decides. */
static struct json_object *capabilities_of(struct daemon *d, const struct bench *b)
{
	struct json_object *list = json_object_new_array();
	struct bm_bench entry;

	if (b->cgroup.fd < 0 || bm_bench_get(d->kernel, b->cgroup.id, &entry) < 0)
		return list;
	for (uint32_t cap = 0; cap < 64; cap++)
		if (entry.capabilities & 1ull << cap)
			json_object_array_add(list,
					      json_object_new_string(bm_capability_name(cap)));
	return list;
}

/* What each layer has kept from the network. The first refuses calls, before there is a packet. */
static struct json_object *refused_of(const struct bench *b, const struct bm_stats *stats)
{
	static const enum bm_hook hooks[] = { BM_HOOK_CONNECT4, BM_HOOK_CONNECT6, BM_HOOK_SENDMSG4,
					      BM_HOOK_SENDMSG6, BM_HOOK_EGRESS,   BM_HOOK_INGRESS };
	struct json_object *json = json_object_new_object();
	uint64_t bpf = 0, packets;
	struct bm_nft nft;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		bpf += stats->count[hooks[i]][BM_DENY];
	bm_json_add_int(json, "bpf", (int64_t)bpf);
	if (bench_nft(b, &nft) && bm_nft_refused(&nft, &packets, NULL) == 0)
		bm_json_add_int(json, "nft", (int64_t)packets);
	if (bench_link_nft(b, &nft) && bm_nft_refused(&nft, &packets, NULL) == 0)
		bm_json_add_int(json, "link", (int64_t)packets);
	return json;
}

static const char *state_of(const struct bench *b)
{
	if (!bench_alive(b))
		return "ended";
	return b->frozen ? "frozen" : bench_state_name(b->state);
}

struct json_object *bench_to_json(struct daemon *d, const struct bench *b, size_t offset,
				  bool with_grants, size_t *ret_next)
{
	struct json_object *json = json_object_new_object();
	struct bm_stats stats = {};
	uint64_t denied = 0, would = 0, sent = 0;

	bm_stats_get(d->kernel, b->id, &stats);
	for (int hook = 0; hook < BM_HOOK_MAX; hook++) {
		denied += stats.count[hook][BM_DENY];
		would += stats.count[hook][BM_WOULD_DENY];
	}
	bm_json_add_string(json, "name", b->name);
	bm_json_add_int(json, "id", b->id);
	bm_json_add_string(json, "state", state_of(b));
	bm_json_add_int(json, "owner", b->owner);
	if (b->agent != BENCH_NO_AGENT)
		bm_json_add_int(json, "agent", b->agent);
	bm_json_add_string(json, "origin", bench_origin_name(b->origin));
	if (b->container[0])
		bm_json_add_string(json, "container", b->container);
	bm_json_add_string(json, "exec", bench_exec_name(b->exec));
	bm_json_add(json, "capabilities", capabilities_of(d, b));
	bm_json_add(json, "shared", bench_shared_to_json(b));
	bm_json_add_bool(json, "userns", b->userns);
	bm_json_add_bool(json, "first_uses", b->first_uses);
	bm_json_add_int(json, "pid", b->pid);
	bm_json_add_string(json, "cgroup", b->cgroup.path);
	bm_json_add_string(json, "created", b->created);
	lifetime_add(json, b);
	bm_json_add_int(json, "grant_count", (int64_t)b->grant_count);
	bm_json_add_int(json, "denied", (int64_t)denied);
	if (b->learns) {
		bm_json_add_bool(json, "learns", true);
		bm_json_add_int(json, "would_deny", (int64_t)would);
	}
	bm_json_add_int(json, "lost", (int64_t)stats.lost);
	bm_sent_get(d->kernel, b->cgroup.id, &sent);
	bm_json_add_int(json, "egress_bytes", (int64_t)sent);
	*ret_next = 0;
	if (with_grants) {
		struct json_object *list = json_object_new_array();
		size_t used = 0, i = 0;

		if (!offset)
			bm_json_add(json, "refused", refused_of(b, &stats));
		if (!offset)
			door_add(d, b, json);
		if (!offset)
			bm_json_add(json, "had", rule_four_to_json(d, b));
		if (b->detached && !offset) {
			used = strlen(json_object_to_json_string_ext(b->detached, 0));
			bm_json_add(json, "detached", json_object_get(b->detached));
		}
		for (const struct grant *g = b->grants; g; g = g->next, i++) {
			struct json_object *item;

			if (i < offset)
				continue;
			item = grant_to_json(b, g);
			listen_add_at(item, b, g);
			if (g->kind == GRANT_BROKER)
				bm_json_add_bool(item, "runs", broker_runs(d, b, g));
			used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
			if (used > REPLY_ROOM) {
				json_object_put(item);
				*ret_next = i;
				break;
			}
			json_object_array_add(list, item);
		}
		bm_json_add(json, "grants", list);
	}
	return json;
}

int offset_of_request(struct json_object *request, size_t *ret, struct bm_error *err)
{
	int64_t offset = 0;

	if (json_object_object_get_ex(request, "offset", NULL) &&
	    (bm_json_int(request, "offset", &offset) < 0 || offset < 0))
		return bm_fail(err, EINVAL, "protocol", NULL, "\"offset\" is no number from 0 up");
	*ret = (size_t)offset;
	return 0;
}

int request_version(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply = json_object_new_object();
	struct utsname name;

	(void)d, (void)c, (void)message, (void)err;
	uname(&name);
	bm_json_add_string(reply, "version", BENCHMON_VERSION);
	bm_json_add_int(reply, "protocol", BM_PROTOCOL_VERSION);
	bm_json_add_int(reply, "abi", BM_ABI_VERSION);
	bm_json_add_string(reply, "kernel", name.release);
	*ret_reply = reply;
	return 0;
}

int request_ls(struct daemon *d, struct connection *c, struct bm_message *message,
	       struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply, *list;
	size_t offset, used = 0, i = 0, unused;
	int r = offset_of_request(message->json, &offset, err);

	if (r < 0)
		return r;
	reply = json_object_new_object();
	list = json_object_new_array();
	bm_json_add(reply, "benches", list);
	for (const struct bench *b = d->model.benches; b; b = b->next, i++) {
		struct json_object *item;

		if (i < offset || !is_of(b, c))
			continue;
		item = bench_to_json(d, b, 0, false, &unused);
		used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
		if (used > REPLY_ROOM) {
			json_object_put(item);
			bm_json_add_int(reply, "next", (int64_t)i);
			break;
		}
		json_object_array_add(list, item);
	}
	*ret_reply = reply;
	return 0;
}

int request_show(struct daemon *d, struct connection *c, struct bm_message *message,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply;
	struct bench *bench;
	size_t offset, next;
	int r = bench_of_request(d, c, message->json, &bench, err);

	if (r == 0)
		r = offset_of_request(message->json, &offset, err);
	if (r < 0)
		return r;
	reply = json_object_new_object();
	bm_json_add(reply, "bench", bench_to_json(d, bench, offset, true, &next));
	if (next)
		bm_json_add_int(reply, "next", (int64_t)next);
	*ret_reply = reply;
	return 0;
}
