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

#include "base/cleanup.h"
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

int bench_net_grant(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err)
{
	struct bm_dest_key key = grant_dest_key(bench, g);
	struct bm_dest dest = { .grant = g->number, .expiry_ns = g->expiry_ns };
	bool linked = bench->linked;
	struct bm_nft nft, link;
	int r;

	if (!bench_nft(bench, &nft))
		return bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
	r = make_way(bench, &g->destination, nft.netns, err);
	if (r == 0 && bench_link_nft(bench, &link))
		r = bm_nft_add(&link, &g->destination, err);
	if (r == 0)
		r = bm_nft_add(&nft, &g->destination, err);
	if (r == 0)
		r = bm_dest_put(d->kernel, &key, &dest, err);
	if (r < 0) {
		if (bench_link_nft(bench, &link))
			bm_nft_remove(&link, &g->destination, NULL);
		bm_nft_remove(&nft, &g->destination, NULL);
		if (bench->linked && !linked && bm_link_destroy(bench->id, NULL) == 0)
			bench->linked = false;
	}
	return r;
}

void bench_net_warn(const struct bench *bench, const struct grant *g, struct json_object *warnings)
{
	int family = bm_destination_is_v4(&g->destination) ? AF_INET : AF_INET6;
	struct bm_obstacle list[BM_OBSTACLES_MAX];
	struct bm_error err = {};
	struct bm_nft link;
	size_t count = 0;

	if (!bench_link_nft(bench, &link) || !bm_link_beyond(&g->destination))
		return;
	if (bm_obstacles_find(family, link.link, list, &count, &err) < 0)
		daemon_log_error("look for what drops its packets", &err);
	for (size_t i = 0; i < count; i++) {
		struct json_object *json = json_object_new_object();

		bm_json_add_string(json, "message", list[i].what);
		bm_json_add_string(json, "remedy", list[i].remedy);
		json_object_array_add(warnings, json);
		daemon_log(LOG_LEVEL_WARNING, "Bench %s: %s", bench->name, list[i].what);
	}
}

struct closing {
	struct bench *bench;
	const struct grant *g;
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
	else
		r = bm_sockets_destroy(&of, &c->g->destination, &c->sockets, &err);
	if (r < 0)
		daemon_log_error("end its connections", &err);
}

/* The resets leave by what nft still lets through; then it lets nothing through. */
static int end_traffic(void *arg, struct bm_error *err)
{
	struct closing *c = arg;
	struct bm_nft link;
	int r = 0;

	end_sockets(c);
	if (bench_link_nft(c->bench, &link))
		r = bm_nft_remove(&link, &c->g->destination, err);
	return r < 0 ? r : bm_nft_remove(&c->nft, &c->g->destination, err);
}

static int close_destination(struct daemon *d, struct closing *c, struct json_object *found,
			     struct bm_error *err)
{
	struct bm_dest_key key = grant_dest_key(c->bench, c->g);
	int r = bm_dest_close(d->kernel, &key);

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
	r = bm_dest_drop(d->kernel, &key);
	return r < 0 ? bm_fail_errno(err, -r, "destinations") : 0;
}

int bench_net_revoke(struct daemon *d, struct bench *bench, const struct grant *g,
		     struct json_object *found, size_t *ret_sockets, struct bm_error *err)
{
	struct closing closing = { .bench = bench, .g = g };
	size_t others = 0;
	int r = close_destination(d, &closing, found, err);

	*ret_sockets = closing.sockets;
	if (r < 0)
		return r;
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
