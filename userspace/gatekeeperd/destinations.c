// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/destinations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"

/* Of a reply or a ledger line. */
#define SHOWN_HOSTS 64

void hosts_done(struct grant_hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		free(hosts->list[i].list);
	free(hosts->list);
	free(hosts->places);
	*hosts = (struct grant_hosts){};
}

struct grant_host *hosts_add(struct grant_hosts *hosts, const char *name)
{
	struct grant_host *grown = reallocarray(hosts->list, hosts->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	hosts->list = grown;
	grown[hosts->count] = (struct grant_host){};
	snprintf(grown[hosts->count].name, sizeof(grown->name), "%s", name);
	return &grown[hosts->count++];
}

int host_add(struct grant_host *host, const struct bm_destination *d, int64_t until)
{
	struct grant_dest *grown = reallocarray(host->list, host->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	host->list = grown;
	grown[host->count++] = (struct grant_dest){ .to = *d, .until = until };
	return 0;
}

static size_t all_of(const struct grant_hosts *hosts)
{
	size_t count = 0;

	for (size_t i = 0; i < hosts->count; i++)
		count += hosts->list[i].count;
	return count;
}

static const struct grant_dest *dest_at(const struct grant_hosts *hosts,
					const struct grant_place *place)
{
	return &hosts->list[place->host].list[place->dest];
}

static int compare_places(const void *a, const void *b, void *arg)
{
	const struct grant_place *one = a, *other = b;
	int r = bm_destination_compare(&dest_at(arg, one)->to, &dest_at(arg, other)->to);

	r = r ?: (one->host > other->host) - (one->host < other->host);
	return r ?: (one->dest > other->dest) - (one->dest < other->dest);
}

int hosts_sort(struct grant_hosts *hosts)
{
	struct grant_place *places = calloc(all_of(hosts) + 1, sizeof(*places));
	size_t count = 0;

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < hosts->count; i++)
		for (size_t k = 0; k < hosts->list[i].count; k++)
			places[count++] =
				(struct grant_place){ .host = (uint32_t)i, .dest = (uint32_t)k };
	qsort_r(places, count, sizeof(*places), compare_places, hosts);
	free(hosts->places);
	hosts->places = places;
	hosts->place_count = count;
	return 0;
}

/* The first place of d, or of what comes after it. */
static size_t place_of(const struct grant_hosts *hosts, const struct bm_destination *d)
{
	size_t low = 0, high = hosts->place_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bm_destination_compare(&dest_at(hosts, &hosts->places[middle])->to, d) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct grant_hosts *hosts, size_t place, const struct bm_destination *d)
{
	return place < hosts->place_count &&
	       bm_destination_equal(&dest_at(hosts, &hosts->places[place])->to, d);
}

int hosts_of_address(const struct bm_destination *d, struct grant_hosts *ret)
{
	autohosts hosts = {};
	struct grant_host *host = hosts_add(&hosts, "");

	if (!host || host_add(host, d, 0) < 0 || hosts_sort(&hosts) < 0)
		return -ENOMEM;
	*ret = hosts;
	hosts = (struct grant_hosts){};
	return 0;
}

int hosts_of_sealed(const struct bm_sealed *sealed, struct grant_hosts *ret)
{
	autohosts hosts = {};

	for (size_t i = 0; i < sealed->host_count; i++) {
		const struct bm_sealed_host *from = &sealed->hosts[i];
		struct grant_host *host = hosts_find(&hosts, from->host);

		/* The same name with another port is the same host. */
		if (!host)
			host = hosts_add(&hosts, from->host);
		if (!host)
			return -ENOMEM;
		for (size_t k = 0; k < from->address_count; k++)
			if (host_add(host, &from->addresses[k].destination,
				     from->addresses[k].until) < 0)
				return -ENOMEM;
	}
	if (hosts_sort(&hosts) < 0)
		return -ENOMEM;
	*ret = hosts;
	hosts = (struct grant_hosts){};
	return 0;
}

struct grant_host *hosts_find(const struct grant_hosts *hosts, const char *name)
{
	for (size_t i = 0; i < hosts->count; i++)
		if (!strcmp(hosts->list[i].name, name))
			return &hosts->list[i];
	return NULL;
}

size_t hosts_left(const struct grant_hosts *hosts)
{
	size_t left = 0;

	for (size_t i = 0; i < hosts->count; i++)
		left += !hosts->list[i].revoked;
	return left;
}

void hosts_inherit(struct grant_hosts *next, const struct grant_hosts *old)
{
	for (size_t i = 0; i < next->count; i++) {
		const struct grant_host *was = hosts_find(old, next->list[i].name);

		next->list[i].revoked = was && was->revoked;
	}
}

static bool lasts_longer(int64_t until, int64_t than)
{
	return than && (!until || until > than);
}

/* The longest that any of them has it. */
static const struct grant_dest *hosts_have(const struct grant_hosts *hosts,
					   const struct grant_host *but,
					   const struct bm_destination *d)
{
	const struct grant_dest *best = NULL;

	for (size_t i = place_of(hosts, d); is_at(hosts, i, d); i++) {
		const struct grant_host *host = &hosts->list[hosts->places[i].host];
		const struct grant_dest *dest = dest_at(hosts, &hosts->places[i]);

		if (!host->revoked && host != but &&
		    (!best || lasts_longer(dest->until, best->until)))
			best = dest;
	}
	return best;
}

static const struct grant_dest *reached_by(const struct grant *g, const struct bm_destination *d)
{
	if (!grant_has_destinations(g))
		return NULL;
	return hosts_have(&g->hosts, NULL, d) ?: hosts_have(&g->next_hosts, NULL, d);
}

bool grant_reaches(const struct grant *g, const struct bm_destination *d)
{
	return reached_by(g, d);
}

bool bench_reaches(const struct bench *bench, const struct bm_destination *d)
{
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (grant_reaches(g, d))
			return true;
	return false;
}

/* The sooner of two ends, 0 being none; until is in seconds of CLOCK_REALTIME. */
static uint64_t sooner(uint64_t end, int64_t until)
{
	int64_t left = until - (int64_t)(bm_now_ns(CLOCK_REALTIME) / 1000000000);
	uint64_t then = bm_now_ns(CLOCK_BOOTTIME) + (left > 0 ? (uint64_t)left * 1000000000 : 1);

	return !until || (end && end < then) ? end : then;
}

uint64_t dest_expiry(const struct grant *g, const struct grant_dest *dest)
{
	return sooner(sooner(g->expiry_ns, g->seal_expiry), dest->until);
}

const struct grant *reached_else(const struct bench *bench, const struct reach *but,
				 const struct bm_destination *d, const struct grant_dest **ret_dest)
{
	const struct grant_dest *own =
		but->host ? hosts_have(&but->grant->hosts, but->host, d) : NULL;
	const struct grant *best = own ? but->grant : NULL;
	uint64_t end = own ? dest_expiry(best, own) : 0;

	*ret_dest = own;
	for (const struct grant *g = bench->grants; g; g = g->next) {
		const struct grant_dest *dest = g == but->grant ? NULL : reached_by(g, d);
		uint64_t theirs = dest ? dest_expiry(g, dest) : 0;

		if (!dest || (best && (!end || (theirs && theirs <= end))))
			continue;
		best = g;
		end = theirs;
		*ret_dest = dest;
	}
	return best;
}

const struct grant *sealed_for(const struct bench *bench, const struct bm_destination *d,
			       const struct grant_host **ret_host)
{
	for (const struct grant *g = bench->grants; g; g = g->next) {
		size_t place = g->profile ? place_of(&g->hosts, d) : g->hosts.place_count;

		if (!is_at(&g->hosts, place, d))
			continue;
		*ret_host = &g->hosts.list[g->hosts.places[place].host];
		return g;
	}
	return NULL;
}

static size_t add_part(const struct grant_hosts *hosts, const struct grant_host *only,
		       struct grant_dest *list, size_t count)
{
	for (size_t i = 0; i < hosts->count; i++) {
		const struct grant_host *host = &hosts->list[i];

		if (host->revoked || (only && strcmp(only->name, host->name)))
			continue;
		for (size_t k = 0; k < host->count; k++)
			list[count++] = host->list[k];
	}
	return count;
}

/* Of the same destination, what lasts longest comes first. */
static int compare_dests(const void *a, const void *b)
{
	const struct grant_dest *one = a, *other = b;
	int r = bm_destination_compare(&one->to, &other->to);

	return r ?: lasts_longer(other->until, one->until) - lasts_longer(one->until, other->until);
}

int reach_list(const struct reach *reach, struct grant_dest **ret, size_t *ret_count)
{
	const struct grant *g = reach->grant;
	struct grant_dest *list =
		calloc(all_of(&g->hosts) + all_of(&g->next_hosts) + 1, sizeof(*list));
	size_t all, count = 0;

	if (!list)
		return -ENOMEM;
	/* A refresh that was not carried through has perhaps opened some of the next. */
	all = add_part(&g->hosts, reach->host, list, 0);
	all = add_part(&g->next_hosts, reach->host, list, all);
	qsort(list, all, sizeof(*list), compare_dests);
	for (size_t i = 0; i < all; i++)
		if (!count || !bm_destination_equal(&list[count - 1].to, &list[i].to))
			list[count++] = list[i];
	*ret_count = count;
	*ret = list;
	return 0;
}

struct bm_destination *destinations_of(const struct grant_dest *list, size_t count)
{
	struct bm_destination *to = calloc(count + 1, sizeof(*to));

	for (size_t i = 0; to && i < count; i++)
		to[i] = list[i].to;
	return to;
}

void grant_revoke_host(struct grant *g, const char *name)
{
	struct grant_host *host = hosts_find(&g->hosts, name),
			  *next = hosts_find(&g->next_hosts, name);

	if (host)
		host->revoked = true;
	if (next)
		next->revoked = true;
}

struct json_object *hosts_to_json(const struct grant_hosts *hosts)
{
	struct json_object *list = json_object_new_array(), *item;

	for (size_t i = 0; i < hosts->count && i < SHOWN_HOSTS; i++) {
		item = json_object_new_object();
		bm_json_add_string(item, "host", hosts->list[i].name);
		bm_json_add_int(item, "addresses", (int64_t)hosts->list[i].count);
		if (hosts->list[i].revoked)
			bm_json_add_bool(item, "revoked", true);
		json_object_array_add(list, item);
	}
	if (hosts->count > SHOWN_HOSTS) {
		item = json_object_new_object();
		bm_json_add_int(item, "left_out", (int64_t)(hosts->count - SHOWN_HOSTS));
		json_object_array_add(list, item);
	}
	return list;
}
