/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a net grant reaches: hosts, each with the addresses that it had when it was sealed. One
 * address may stand behind several hosts, and several grants may reach it; it is open for as long
 * as one of them does.
 */
#ifndef BENCHMON_DESTINATIONS_H
#define BENCHMON_DESTINATIONS_H

#include "gatekeeperd/model.h"
#include "policy/seal.h"

struct daemon;

/* One address as it was given, and no name. -ENOMEM, as below. */
int hosts_of_address(const struct bm_destination *d, struct grant_hosts *ret);
int hosts_of_sealed(const struct bm_sealed *sealed, struct grant_hosts *ret);
void hosts_done(struct grant_hosts *hosts);
#define autohosts __attribute__((cleanup(hosts_done))) struct grant_hosts

/*
 * By hand: a host, and a destination of it; NULL and -ENOMEM. When all are there hosts_sort() makes
 * them ones that can be found. -ENOMEM.
 */
struct grant_host *hosts_add(struct grant_hosts *hosts, const char *name);
int host_add(struct grant_host *host, const struct bm_destination *d, int64_t until);
int hosts_sort(struct grant_hosts *hosts);

/* NULL: it has no such host. */
struct grant_host *hosts_find(const struct grant_hosts *hosts, const char *name);
/* How many are not revoked. */
size_t hosts_left(const struct grant_hosts *hosts);
/* What has been revoked by name stays so in the hosts that take their place. */
void hosts_inherit(struct grant_hosts *next, const struct grant_hosts *old);

/* Part of what a Bench's grants reach: of one grant, and of that one host or all. */
struct reach {
	const struct grant *grant;
	const struct grant_host *host; /* NULL: all */
};

/*
 * Each destination of the part once, the caller's, also of hosts that are about to take the place
 * of others: sorted, and for as long as any of them has it. -ENOMEM.
 */
int reach_list(const struct reach *reach, struct grant_dest **ret, size_t *ret_count);
/* The same without how long. */
struct bm_destination *destinations_of(const struct grant_dest *list, size_t count);
/* When it ends in the kernel (ns of CLOCK_BOOTTIME, 0: never): with its grant, with the seal, or
 * when it isn't kept any longer. */
uint64_t dest_expiry(const struct grant *g, const struct grant_dest *dest);
/*
 * Another grant that reaches d, or the same by another host, and how: *ret_dest. But for the part.
 * Of several, the one that lasts longest. NULL: none.
 */
const struct grant *reached_else(const struct bench *bench, const struct reach *but,
				 const struct bm_destination *d,
				 const struct grant_dest **ret_dest);
/* That host of it, from now on, and whatever takes its place. */
void grant_revoke_host(struct grant *g, const char *name);
/* Whether any grant of the Bench does. */
bool bench_reaches(const struct bench *bench, const struct bm_destination *d);
/* The same of one grant: what it has now, and what it is about to have or to lose. */
bool grant_reaches(const struct grant *g, const struct bm_destination *d);

/* Of a profile, the host that d was sealed for, revoked or not: *ret_host. NULL: of none. */
const struct grant *sealed_for(const struct bench *bench, const struct bm_destination *d,
			       const struct grant_host **ret_host);

/* For people and replies: names, and how many addresses. */
struct json_object *hosts_to_json(const struct grant_hosts *hosts);

/*
 * The ledger's lines about the hosts of grant number, before the line that grants them: a line has
 * no room for all. Reading them again: each line adds to bench->announced.
 */
int hosts_record(struct daemon *d, struct bench *bench, uint32_t number,
		 const struct grant_hosts *hosts, struct bm_error *err);
int hosts_replay(struct bench *bench, struct json_object *line);
/* What was announced for that grant; -EBADMSG when that is nothing. */
int hosts_take(struct bench *bench, uint32_t number, struct grant_hosts *ret);

#endif
