// SPDX-License-Identifier: GPL-2.0-only
/* What a net grant has opened is closed: the kernel's table, connections, both ends of nft. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/recall.h"
#include "network/link.h"
#include "network/sockdiag.h"

struct closing {
	struct daemon *d;
	struct bench *bench;
	const struct bm_destination *list;
	size_t count;
	struct bm_nft nft;
	size_t sockets;
};

/*
 * Those of a cgroup below its own that was removed are told of by the sockets alone, and so are its
 * own once that has gone.
 */
static int own_cgroups(const struct closing *c, struct bm_sockets *of, uint64_t **list,
		       struct bm_error *err)
{
	int r = bm_cgroup_ids(&c->bench->cgroup, list, &of->cgroup_count);

	if (r < 0)
		return bm_fail_errno(err, -r, "cgroups of Bench %s", c->bench->name);
	r = bm_socket_cgroups(c->d->kernel, c->bench->id, list, &of->cgroup_count, err);
	of->cgroups = *list;
	return r;
}

/* Whom it could not be told still hears nothing any more. */
static void end_sockets(struct closing *c)
{
	struct bm_sockets of = { .netns = c->nft.netns };
	bool shared = bench_shares_net(c->bench);
	autofree uint64_t *cgroups = NULL;
	struct bm_error err = {};
	size_t ended = 0;
	int r = shared ? own_cgroups(c, &of, &cgroups, &err) : 0;

	/* No cgroup would mean all that there are: others' too. */
	if (r == 0 && (!shared || of.cgroups))
		r = bm_sockets_destroy(&of, c->list, c->count, &ended, &err);
	c->sockets += ended;
	if (r < 0)
		daemon_log_error("end its connections", &err);
}

/* The resets leave by what nft still lets through; then it lets nothing through. */
static int end_traffic(void *arg, struct bm_error *err)
{
	struct closing *c = arg;

	end_sockets(c);
	STEP(CLOSE_SOCKETS);
	return net_change_nft(c->bench, &c->nft, c->list, c->count, bm_nft_remove, err);
}

static int each_dest(struct daemon *d, const struct closing *c,
		     int (*fn)(struct bm_kernel *kernel, const struct bm_dest_key *key))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->count; i++) {
		struct bm_dest_key key = bench_dest_key(c->bench, &c->list[i]);

		r = fn(d->kernel, &key);
	}
	return r;
}

static int close_destinations(struct daemon *d, struct closing *c, struct json_object *found,
			      struct bm_error *err)
{
	int r = each_dest(d, c, bm_dest_close);

	STEP(CLOSE_BEGUN);
	if (r == 0)
		r = bm_kernel_settle();
	if (r < 0)
		return bm_fail_errno(err, -r, "destinations");
	if ((bench_alive(c->bench) || bench_shares_net(c->bench)) && bench_nft(c->bench, &c->nft))
		r = recall_net(d, c->bench, end_traffic, c, found, err);
	else
		r = bench_alive(c->bench) ? 0 : recall_end_outlived(c->bench, found, err);
	if (r < 0)
		return r;
	STEP(CLOSE_ENDED);
	r = each_dest(d, c, bm_dest_drop);
	STEP(CLOSE_DROPPED);
	return r < 0 ? bm_fail_errno(err, -r, "destinations") : 0;
}

/* What others reach too becomes theirs; *list is left with the rest. */
static int hand_over(struct daemon *d, struct bench *bench, const struct reach *reach,
		     struct grant_dest *list, size_t *count, struct bm_error *err)
{
	size_t left = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < *count; i++) {
		const struct grant_dest *there;
		const struct grant *other = reached_else(bench, reach, &list[i].to, &there);
		struct bm_dest_key key = bench_dest_key(bench, &list[i].to);
		struct bm_dest dest = {};

		if (!other) {
			list[left++] = list[i];
			continue;
		}
		dest.grant = other->number;
		dest.expiry_ns = dest_expiry(other, there);
		if (bm_dest_there(d->kernel, &key))
			r = bm_dest_put(d->kernel, &key, &dest, err);
	}
	*count = left;
	return r;
}

int net_close(struct daemon *d, struct bench *bench, const struct reach *reach,
	      struct grant_dest *list, size_t count, struct json_object *found, size_t *ret_sockets,
	      struct bm_error *err)
{
	struct closing closing = { .d = d, .bench = bench };
	autofree struct bm_destination *to = NULL;
	int r = hand_over(d, bench, reach, list, &count, err);

	if (r < 0)
		return r;
	to = destinations_of(list, count);
	if (!to)
		return bm_fail_errno(err, ENOMEM, "destinations");
	closing.list = to;
	closing.count = count;
	if (count)
		r = close_destinations(d, &closing, found, err);
	*ret_sockets = closing.sockets;
	return r;
}

int bench_net_revoke(struct daemon *d, struct bench *bench, const struct reach *reach,
		     struct json_object *found, size_t *ret_sockets, struct bm_error *err)
{
	autofree struct grant_dest *list = NULL;
	size_t others = 0, count = 0;
	int r = reach_list(reach, &list, &count);

	*ret_sockets = 0;
	if (r == 0)
		r = net_close(d, bench, reach, list, count, found, ret_sockets, err);
	if (r < 0 || reach->host)
		return r;
	for (const struct grant *other = bench->grants; other; other = other->next)
		others += other != reach->grant && grant_has_way(other);
	if (!others && bench->linked) {
		r = bm_link_destroy(bench->id, err);
		STEP(CLOSE_LINK_GONE);
		if (r < 0)
			return r;
		bench->linked = false;
	}
	return 0;
}
