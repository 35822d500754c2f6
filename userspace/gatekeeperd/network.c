// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/network.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/recall.h"
#include "network/link.h"
#include "network/obstacle.h"
#include "network/sockdiag.h"

bool bench_shares_net(const struct bench *bench)
{
	return bench->shared & 1u << BM_NS_NET;
}

bool bench_nft(const struct bench *bench, struct bm_nft *ret)
{
	*ret = (struct bm_nft){ .netns = bench->target.ns[BM_NS_NET] };
	if (bench_shares_net(bench)) {
		ret->netns = bench->net;
		ret->cgroup = bench->cgroup.id;
		ret->level = bench->cgroup.level;
		snprintf(ret->table, sizeof(ret->table), "benchmon-%s", bench->name);
	}
	return ret->netns >= 0;
}

bool bench_link_nft(const struct bench *bench, struct bm_nft *ret)
{
	*ret = bm_link_nft(bench->id);
	return bench->linked && bm_link_there(bench->id);
}

int bench_nft_setup(struct bench *bench, struct bm_error *err)
{
	struct bm_nft nft;
	int r;

	if (bench_shares_net(bench) && bench->net < 0) {
		bench->net = fcntl(bench->target.ns[BM_NS_NET], F_DUPFD_CLOEXEC, 0);
		if (bench->net < 0)
			return bm_fail_errno(err, errno, "network of Bench %s", bench->name);
	}
	r = bench_nft(bench, &nft) ? bm_nft_setup(&nft, err)
				   : bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
	bench->walled = r == 0;
	return r;
}

int bench_nft_end(struct bench *bench, struct bm_error *err)
{
	struct bm_nft nft;
	int r = bench->walled && bench_nft(bench, &nft) ? bm_nft_destroy(&nft, err) : 0;

	if (r == 0)
		bench->walled = false;
	return r;
}

/* Opens the network namespace of a process if it has that number; -1. */
static int open_if(const char *pid, uint64_t inode)
{
	char path[64];
	struct stat st;
	autoclose fd = -1;

	snprintf(path, sizeof(path), "/proc/%.16s/ns/net", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == inode ? TAKE_FD(fd) : -1;
}

void bench_net_find(struct bench *bench)
{
	uint64_t inode = bench->namespaces[BM_NS_NET];
	autoclosedir DIR *proc = NULL;
	struct dirent *entry;

	if (!bench_shares_net(bench) || bench->net >= 0)
		return;
	bench->net = open_if("self", inode);
	if (bench->net < 0)
		proc = opendir("/proc");
	while (bench->net < 0 && proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			bench->net = open_if(entry->d_name, inode);
	bench->walled = bench->net >= 0;
}

/* In a namespace of others its packets go by their routes; elsewhere it gets a link of its own. */
static int make_way(struct bench *bench, const struct bm_destination *destination, int netns,
		    struct bm_error *err)
{
	bool foreign;
	int r;

	if (bench_shares_net(bench))
		return bm_link_reachable(netns, destination, err);
	r = bm_link_foreign(netns, bench->id, &foreign, err);
	if (r < 0 || foreign)
		return r;
	r = bm_link_setup(netns, bench->id, destination, err);
	bench->linked |= r == 0;
	return r;
}

/* --- opening -----------------------------------------------------------------------------------
 */

/* An address of a family that the host has no way for is no reason to refuse the others. */
static int make_ways(struct bench *bench, const struct grant_dest *list, size_t count, int netns,
		     struct bm_error *err)
{
	struct bm_error none = {};
	size_t ways = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct bm_error one = {};

		r = make_way(bench, &list[i].to, netns, &one);
		ways += r == 0;
		if (r < 0)
			none = one;
		if (count > 1 && (r == -ENETUNREACH || r == -EHOSTUNREACH))
			r = 0;
	}
	if (r == 0 && (ways || !count))
		return 0;
	if (err)
		*err = none;
	return -none.code;
}

/* The sooner of two ends, 0 being none; until is in seconds of CLOCK_REALTIME. */
static uint64_t sooner(uint64_t end, int64_t until)
{
	int64_t left = until - (int64_t)(bm_now_ns(CLOCK_REALTIME) / 1000000000);
	uint64_t then = bm_now_ns(CLOCK_BOOTTIME) + (left > 0 ? (uint64_t)left * 1000000000 : 1);

	return !until || (end && end < then) ? end : then;
}

/* When it ends in the kernel: with its grant, with the seal, or when it isn't kept any longer. */
static uint64_t expiry_of(const struct grant *g, const struct grant_dest *dest)
{
	return sooner(sooner(g->expiry_ns, g->seal_expiry), dest->until);
}

/* What another grant has open for at least as long stays that grant's. */
static bool is_open_longer(const struct bench *bench, const struct reach *reach,
			   const struct grant_dest *dest)
{
	uint64_t ours = expiry_of(reach->grant, dest), theirs;
	const struct grant_dest *there;
	const struct grant *other = reached_else(bench, reach, &dest->to, &there);

	if (!other)
		return false;
	theirs = expiry_of(other, there);
	return !theirs || (ours && theirs >= ours);
}

static int put_all(struct daemon *d, struct bench *bench, const struct reach *reach,
		   const struct grant_dest *list, size_t count, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct bm_dest_key key = bench_dest_key(bench, &list[i].to);
		struct bm_dest dest = { .grant = reach->grant->number,
					.expiry_ns = expiry_of(reach->grant, &list[i]) };

		if (!is_open_longer(bench, reach, &list[i]))
			r = bm_dest_put(d->kernel, &key, &dest, err);
	}
	return r;
}

static int change_nft(const struct bm_nft *nft, const struct grant_dest *list, size_t count,
		      int (*change)(const struct bm_nft *nft, const struct bm_destination *d,
				    struct bm_error *err),
		      struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = change(nft, &list[i].to, err);
	return r;
}

/* At the host's end of its link first, and then in its own network. */
static int change_both(const struct bench *bench, const struct bm_nft *nft,
		       const struct grant_dest *list, size_t count,
		       int (*change)(const struct bm_nft *nft, const struct bm_destination *d,
				     struct bm_error *err),
		       struct bm_error *err)
{
	struct bm_nft link;
	int r = bench_link_nft(bench, &link) ? change_nft(&link, list, count, change, err) : 0;

	return r < 0 ? r : change_nft(nft, list, count, change, err);
}

int net_open_nft(const struct grant *g, const struct bm_nft *nft, struct bm_error *err)
{
	autofree struct grant_dest *list = NULL;
	size_t count;
	int r = reach_list(&(struct reach){ g, NULL }, &list, &count);

	return r < 0 ? r : change_nft(nft, list, count, bm_nft_add, err);
}

/* What was opened for it and for nothing else. */
static void close_again(struct daemon *d, struct bench *bench, const struct reach *reach,
			const struct bm_nft *nft, const struct grant_dest *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct bm_dest_key key = bench_dest_key(bench, &list[i].to);
		const struct grant_dest *there;

		if (reached_else(bench, reach, &list[i].to, &there))
			continue;
		bm_dest_drop(d->kernel, &key);
		change_both(bench, nft, &list[i], 1, bm_nft_remove, NULL);
	}
}

/* The way, both ends of nft, and last the kernel's table. */
static int open_all(struct daemon *d, struct bench *bench, const struct grant *g,
		    const struct bm_nft *nft, const struct grant_dest *list, size_t count,
		    struct bm_error *err)
{
	int r = make_ways(bench, list, count, nft->netns, err);

	if (r == 0)
		r = change_both(bench, nft, list, count, bm_nft_add, err);
	return r < 0 ? r : put_all(d, bench, &(struct reach){ g, NULL }, list, count, err);
}

int net_open_next(struct daemon *d, struct bench *bench, const struct grant *g,
		  struct bm_error *err)
{
	struct grant view = { .hosts = g->next_hosts };
	autofree struct grant_dest *list = NULL;
	struct bm_nft nft;
	size_t count;
	int r = reach_list(&(struct reach){ &view, NULL }, &list, &count);

	if (r < 0)
		return r;
	return bench_nft(bench, &nft)
		       ? open_all(d, bench, g, &nft, list, count, err)
		       : bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
}

int bench_net_grant(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err)
{
	struct reach reach = { .grant = g };
	autofree struct grant_dest *list = NULL;
	bool linked = bench->linked;
	struct bm_nft nft;
	size_t count;
	int r = reach_list(&reach, &list, &count);

	if (r < 0)
		return r;
	if (!bench_nft(bench, &nft))
		return bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
	r = open_all(d, bench, g, &nft, list, count, err);
	if (r < 0) {
		close_again(d, bench, &reach, &nft, list, count);
		if (bench->linked && !linked && bm_link_destroy(bench->id, NULL) == 0)
			bench->linked = false;
	}
	return r;
}

/* By the first family that some of it needs a way out for. */
void bench_net_warn(const struct bench *bench, const struct grant *g, struct json_object *warnings)
{
	struct bm_obstacle list[BM_OBSTACLES_MAX];
	autofree struct grant_dest *all = NULL;
	struct bm_error err = {};
	size_t count = 0, dests = 0, beyond = 0;
	struct bm_nft link;

	if (!bench_link_nft(bench, &link) ||
	    reach_list(&(struct reach){ g, NULL }, &all, &dests) < 0)
		return;
	while (beyond < dests && !bm_link_beyond(&all[beyond].to))
		beyond++;
	if (beyond == dests)
		return;
	if (bm_obstacles_find(bm_destination_is_v4(&all[beyond].to) ? AF_INET : AF_INET6, link.link,
			      list, &count, &err) < 0)
		daemon_log_error("look for what drops its packets", &err);
	for (size_t i = 0; i < count; i++) {
		struct json_object *json = json_object_new_object();

		bm_json_add_string(json, "message", list[i].what);
		bm_json_add_string(json, "remedy", list[i].remedy);
		json_object_array_add(warnings, json);
		daemon_log(LOG_LEVEL_WARNING, "Bench %s: %s", bench->name, list[i].what);
	}
}

/* --- closing -----------------------------------------------------------------------------------
 */

struct closing {
	struct bench *bench;
	const struct grant_dest *list;
	size_t count;
	struct bm_nft nft;
	size_t sockets;
};

/* Whom it could not be told still hears nothing any more. */
static void end_sockets(struct closing *c)
{
	struct bm_sockets of = { .netns = c->nft.netns };
	autofree uint64_t *cgroups = NULL;
	struct bm_error err = {};
	int r = 0;

	if (bench_shares_net(c->bench)) {
		r = bm_cgroup_ids(&c->bench->cgroup, &cgroups, &of.cgroup_count);
		of.cgroups = cgroups;
	}
	if (r < 0)
		bm_fail_errno(&err, -r, "cgroups of Bench %s", c->bench->name);
	for (size_t i = 0; r == 0 && i < c->count; i++) {
		size_t ended = 0;

		r = bm_sockets_destroy(&of, &c->list[i].to, &ended, &err);
		c->sockets += ended;
	}
	if (r < 0)
		daemon_log_error("end its connections", &err);
}

/* The resets leave by what nft still lets through; then it lets nothing through. */
static int end_traffic(void *arg, struct bm_error *err)
{
	struct closing *c = arg;

	end_sockets(c);
	return change_both(c->bench, &c->nft, c->list, c->count, bm_nft_remove, err);
}

static int each_dest(struct daemon *d, const struct closing *c,
		     int (*fn)(struct bm_kernel *kernel, const struct bm_dest_key *key))
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->count; i++) {
		struct bm_dest_key key = bench_dest_key(c->bench, &c->list[i].to);

		r = fn(d->kernel, &key);
	}
	return r;
}

static int close_destinations(struct daemon *d, struct closing *c, struct json_object *found,
			      struct bm_error *err)
{
	int r = each_dest(d, c, bm_dest_close);

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
	r = each_dest(d, c, bm_dest_drop);
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
		dest.expiry_ns = expiry_of(other, there);
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
	struct closing closing = { .bench = bench, .list = list };
	int r = hand_over(d, bench, reach, list, &count, err);

	closing.count = count;
	if (r == 0 && count)
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
		others += other != reach->grant && grant_has_destinations(other);
	if (!others && bench->linked) {
		r = bm_link_destroy(bench->id, err);
		if (r < 0)
			return r;
		bench->linked = false;
	}
	return 0;
}
