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
#include "base/io.h"
#include "base/step.h"
#include "network/endpoint.h"
#include "network/link.h"

bool bench_shares_net(const struct bench *bench)
{
	return bench->shared & 1u << BM_NS_NET;
}

bool bench_nft(const struct bench *bench, struct bm_nft *ret)
{
	*ret = (struct bm_nft){ .netns = bench->target.ns[BM_NS_NET], .learns = bench->learns };
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
static int make_ways(struct bench *bench, const struct bm_destination *list, size_t count,
		     int netns, struct bm_error *err)
{
	bool foreign;
	int r;

	/* A broker's endpoint is within. */
	if (!count || bm_endpoint_is(&list[0]))
		return 0;
	if (bench_shares_net(bench))
		return bm_link_reachable(netns, list, count, err);
	r = bm_link_foreign(netns, bench->id, &foreign, err);
	if (r < 0 || foreign)
		return r;
	r = bm_link_setup(netns, bench->id, list, count, err);
	bench->linked |= r == 0;
	return r;
}

/* --- opening -----------------------------------------------------------------------------------
 */

/* What another grant has open for at least as long stays that grant's. */
static bool is_open_longer(const struct bench *bench, const struct reach *reach,
			   const struct grant_dest *dest)
{
	uint64_t ours = dest_expiry(reach->grant, dest), theirs;
	const struct grant_dest *there;
	const struct grant *other = reached_else(bench, reach, &dest->to, &there);

	if (!other)
		return false;
	theirs = dest_expiry(other, there);
	return !theirs || (ours && theirs >= ours);
}

static int put_all(struct daemon *d, struct bench *bench, const struct reach *reach,
		   const struct grant_dest *list, size_t count, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct bm_dest_key key = bench_dest_key(bench, &list[i].to);
		struct bm_dest dest = { .grant = reach->grant->number,
					.expiry_ns = dest_expiry(reach->grant, &list[i]) };

		if (!is_open_longer(bench, reach, &list[i]))
			r = bm_dest_put(d->kernel, &key, &dest, err);
		STEP(NET_PUT_ONE);
	}
	return r;
}

int net_change_nft(const struct bench *bench, const struct bm_nft *nft,
		   const struct bm_destination *list, size_t count,
		   int (*change)(const struct bm_nft *nft, const struct bm_destination *list,
				 size_t count, struct bm_error *err),
		   struct bm_error *err)
{
	struct bm_nft link;
	bool within = count && bm_endpoint_is(&list[0]);
	int r = !within && bench_link_nft(bench, &link) ? change(&link, list, count, err) : 0;

	STEP(NET_NFT_OF_LINK);
	return r < 0 ? r : change(nft, list, count, err);
}

int net_open_nft(const struct grant *g, const struct bm_nft *nft, struct bm_error *err)
{
	autofree struct bm_destination *to = NULL;
	autofree struct grant_dest *list = NULL;
	size_t count;
	int r = reach_list(&(struct reach){ g, NULL }, &list, &count);

	if (r == 0)
		to = destinations_of(list, count);
	if (r < 0 || !to)
		return bm_fail_errno(err, ENOMEM, "destinations");
	return bm_nft_add(nft, to, count, err);
}

/* What was opened for it and for nothing else; to is written to. */
static void close_again(struct daemon *d, struct bench *bench, const struct reach *reach,
			const struct bm_nft *nft, struct bm_destination *to, size_t count)
{
	const struct grant_dest *there;
	struct bm_nft link;
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!reached_else(bench, reach, &to[i], &there))
			to[left++] = to[i];
	for (size_t i = 0; i < left; i++) {
		struct bm_dest_key key = bench_dest_key(bench, &to[i]);

		bm_dest_drop(d->kernel, &key);
	}
	if (bench_link_nft(bench, &link))
		bm_nft_remove(&link, to, left, NULL);
	bm_nft_remove(nft, to, left, NULL);
}

/* The way, both ends of nft, and last the kernel's table; to is what the list leads to. */
static int open_all(struct daemon *d, struct bench *bench, const struct grant *g,
		    const struct bm_nft *nft, const struct grant_dest *list,
		    const struct bm_destination *to, size_t count, struct bm_error *err)
{
	int r = make_ways(bench, to, count, nft->netns, err);

	STEP(NET_WAY_MADE);
	if (r == 0)
		r = net_change_nft(bench, nft, to, count, bm_nft_add, err);
	STEP(NET_NFT_OPENED);
	return r < 0 ? r : put_all(d, bench, &(struct reach){ g, NULL }, list, count, err);
}

int net_open_next(struct daemon *d, struct bench *bench, const struct grant *g,
		  struct bm_error *err)
{
	struct grant view = { .hosts = g->next_hosts };
	autofree struct bm_destination *to = NULL;
	autofree struct grant_dest *list = NULL;
	struct bm_nft nft;
	size_t count;
	int r = reach_list(&(struct reach){ &view, NULL }, &list, &count);

	if (r == 0)
		to = destinations_of(list, count);
	if (r < 0 || !to)
		return bm_fail_errno(err, ENOMEM, "destinations");
	return bench_nft(bench, &nft)
		       ? open_all(d, bench, g, &nft, list, to, count, err)
		       : bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
}

int bench_net_grant(struct daemon *d, struct bench *bench, const struct grant *g,
		    struct bm_error *err)
{
	struct reach reach = { .grant = g };
	autofree struct bm_destination *to = NULL;
	autofree struct grant_dest *list = NULL;
	bool linked = bench->linked;
	struct bm_nft nft;
	size_t count;
	int r = reach_list(&reach, &list, &count);

	if (r == 0)
		to = destinations_of(list, count);
	if (r < 0 || !to)
		return bm_fail_errno(err, ENOMEM, "destinations");
	if (!bench_nft(bench, &nft))
		return bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
	r = open_all(d, bench, g, &nft, list, to, count, err);
	if (r < 0) {
		close_again(d, bench, &reach, &nft, to, count);
		if (bench->linked && !linked && bm_link_destroy(bench->id, NULL) == 0)
			bench->linked = false;
	}
	return r;
}
