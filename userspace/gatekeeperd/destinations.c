// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/destinations.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gatekeeperd/lifecycle.h"

/* Of a ledger line or a reply, beside what stands around it. */
#define LINE_ROOM 32768
#define SHOWN_HOSTS 64

void hosts_done(struct grant_hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++)
		free(hosts->list[i].list);
	free(hosts->list);
	*hosts = (struct grant_hosts){};
}

static struct grant_host *add_host(struct grant_hosts *hosts, const char *name)
{
	struct grant_host *grown = reallocarray(hosts->list, hosts->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	hosts->list = grown;
	grown[hosts->count] = (struct grant_host){};
	snprintf(grown[hosts->count].name, sizeof(grown->name), "%s", name);
	return &grown[hosts->count++];
}

static int add_dest(struct grant_host *host, const struct bm_destination *d, int64_t until)
{
	struct grant_dest *grown = reallocarray(host->list, host->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	host->list = grown;
	grown[host->count++] = (struct grant_dest){ .to = *d, .until = until };
	return 0;
}

int hosts_of_address(const struct bm_destination *d, struct grant_hosts *ret)
{
	autohosts hosts = {};

	if (hosts_add_address(&hosts, d) < 0)
		return -ENOMEM;
	*ret = hosts;
	hosts = (struct grant_hosts){};
	return 0;
}

int hosts_add_address(struct grant_hosts *hosts, const struct bm_destination *d)
{
	struct grant_host *host = hosts->count ? hosts->list : add_host(hosts, "");

	return host ? add_dest(host, d, 0) : -ENOMEM;
}

int hosts_of_sealed(const struct bm_sealed *sealed, struct grant_hosts *ret)
{
	autohosts hosts = {};

	for (size_t i = 0; i < sealed->host_count; i++) {
		const struct bm_sealed_host *from = &sealed->hosts[i];
		struct grant_host *host = hosts_find(&hosts, from->host);

		/* The same name with another port is the same host. */
		if (!host)
			host = add_host(&hosts, from->host);
		if (!host)
			return -ENOMEM;
		for (size_t k = 0; k < from->address_count; k++)
			if (add_dest(host, &from->addresses[k].destination,
				     from->addresses[k].until) < 0)
				return -ENOMEM;
	}
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

static const struct grant_dest *host_has(const struct grant_host *host,
					 const struct bm_destination *d)
{
	for (size_t i = 0; !host->revoked && i < host->count; i++)
		if (bm_destination_equal(&host->list[i].to, d))
			return &host->list[i];
	return NULL;
}

/* The longest that any of them has it. */
static const struct grant_dest *hosts_have(const struct grant_hosts *hosts,
					   const struct grant_host *but,
					   const struct bm_destination *d)
{
	const struct grant_dest *best = NULL;

	for (size_t i = 0; i < hosts->count; i++) {
		const struct grant_dest *dest =
			&hosts->list[i] == but ? NULL : host_has(&hosts->list[i], d);

		if (dest && (!best || !dest->until || (best->until && dest->until > best->until)))
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

const struct grant *reached_else(const struct bench *bench, const struct reach *but,
				 const struct bm_destination *d, const struct grant_dest **ret_dest)
{
	for (const struct grant *g = bench->grants; g; g = g->next) {
		*ret_dest = g == but->grant ? NULL : reached_by(g, d);
		if (*ret_dest)
			return g;
	}
	*ret_dest = but->host ? hosts_have(&but->grant->hosts, but->host, d) : NULL;
	return *ret_dest ? but->grant : NULL;
}

const struct grant *sealed_for(const struct bench *bench, const struct bm_destination *d,
			       const struct grant_host **ret_host)
{
	for (const struct grant *g = bench->grants; g; g = g->next)
		for (size_t i = 0; g->profile[0] && i < g->hosts.count; i++)
			for (size_t k = 0; k < g->hosts.list[i].count; k++)
				if (bm_destination_equal(&g->hosts.list[i].list[k].to, d)) {
					*ret_host = &g->hosts.list[i];
					return g;
				}
	return NULL;
}

static bool listed(const struct grant_dest *list, size_t count, const struct bm_destination *d)
{
	for (size_t i = 0; i < count; i++)
		if (bm_destination_equal(&list[i].to, d))
			return true;
	return false;
}

/* Adds what is not there yet; list has room for all. */
static size_t add_part(const struct grant_hosts *hosts, const struct grant_host *only,
		       struct grant_dest *list, size_t count)
{
	for (size_t i = 0; i < hosts->count; i++) {
		const struct grant_host *host = &hosts->list[i];

		if (host->revoked || (only && strcmp(only->name, host->name)))
			continue;
		for (size_t k = 0; k < host->count; k++)
			if (!listed(list, count, &host->list[k].to))
				list[count++] = host->list[k];
	}
	return count;
}

static size_t all_of(const struct grant_hosts *hosts)
{
	size_t count = 0;

	for (size_t i = 0; i < hosts->count; i++)
		count += hosts->list[i].count;
	return count;
}

int reach_list(const struct reach *reach, struct grant_dest **ret, size_t *ret_count)
{
	const struct grant *g = reach->grant;
	struct grant_dest *list =
		calloc(all_of(&g->hosts) + all_of(&g->next_hosts) + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	/* A refresh that was not carried through has perhaps opened some of the next. */
	*ret_count = add_part(&g->hosts, reach->host, list, 0);
	*ret_count = add_part(&g->next_hosts, reach->host, list, *ret_count);
	*ret = list;
	return 0;
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

/* --- the ledger --------------------------------------------------------------------------------
 */

/* From *at on, as much as a line holds; the next one goes on at *at. */
static struct json_object *line_of(const struct grant_hosts *hosts, size_t *host, size_t *at)
{
	struct json_object *list = json_object_new_array();
	size_t used = 0;

	for (; *host < hosts->count && used < LINE_ROOM; (*host)++, *at = 0) {
		const struct grant_host *h = &hosts->list[*host];
		struct json_object *item = json_object_new_object();
		struct json_object *to = json_object_new_array();

		bm_json_add_string(item, "host", h->name);
		bm_json_add(item, "to", to);
		json_object_array_add(list, item);
		used += strlen(h->name) + 32;
		for (; *at < h->count && used < LINE_ROOM; (*at)++) {
			struct json_object *dest = json_object_new_object();
			char text[BM_DESTINATION_LEN];

			bm_json_add_string(dest, "destination",
					   bm_destination_format(&h->list[*at].to, text));
			if (h->list[*at].until)
				bm_json_add_int(dest, "until", h->list[*at].until);
			json_object_array_add(to, dest);
			used += sizeof(text) + 48;
		}
		if (*at < h->count)
			break;
	}
	return list;
}

int hosts_record(struct daemon *d, struct bench *bench, uint32_t number,
		 const struct grant_hosts *hosts, struct bm_error *err)
{
	size_t host = 0, at = 0;
	bool first = true;
	int r = 0;

	while (r == 0 && (host < hosts->count || first)) {
		struct json_object *fields = json_object_new_object();

		bm_json_add_int(fields, "grant", number);
		bm_json_add_bool(fields, "first", first);
		bm_json_add(fields, "hosts", line_of(hosts, &host, &at));
		r = bench_record(d, bench, "destinations", fields, err);
		first = false;
	}
	return r;
}

static int replay_host(struct grant_hosts *hosts, struct json_object *item)
{
	struct json_object *to = bm_json_get(item, "to", json_type_array);
	const char *name = bm_json_string(item, "host");
	struct grant_host *host;
	int r = 0;

	if (!name || !to || strlen(name) >= sizeof(host->name))
		return -EBADMSG;
	host = hosts_find(hosts, name);
	if (!host)
		host = add_host(hosts, name);
	if (!host)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_object_array_length(to); i++) {
		struct json_object *dest = json_object_array_get_idx(to, i);
		const char *text = bm_json_string(dest, "destination");
		struct bm_destination d;
		int64_t until = 0;

		bm_json_int(dest, "until", &until);
		r = text && bm_destination_parse(text, &d, NULL) == 0 ? add_dest(host, &d, until)
								      : -EBADMSG;
	}
	return r;
}

int hosts_replay(struct bench *bench, struct json_object *line)
{
	struct json_object *list = bm_json_get(line, "hosts", json_type_array);
	int64_t number;
	int r = 0;

	if (!list || bm_json_int(line, "grant", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	/* What was announced and never granted is forgotten. */
	if (bm_json_bool(line, "first")) {
		hosts_done(&bench->announced);
		bench->announced_grant = (uint32_t)number;
	}
	if (number != bench->announced_grant)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++)
		r = replay_host(&bench->announced, json_object_array_get_idx(list, i));
	return r;
}

int hosts_take(struct bench *bench, uint32_t number, struct grant_hosts *ret)
{
	if (number != bench->announced_grant || !bench->announced.count)
		return -EBADMSG;
	*ret = bench->announced;
	bench->announced = (struct grant_hosts){};
	bench->announced_grant = 0;
	return 0;
}
