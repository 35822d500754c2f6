// SPDX-License-Identifier: GPL-2.0-only
/* What a net grant that was made may yet find in its way on the host. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "gatekeeperd/network.h"
#include "network/link.h"
#include "network/obstacle.h"

static void warn(const struct bench *bench, struct json_object *warnings, const char *message,
		 const char *remedy)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "message", message);
	bm_json_add_string(json, "remedy", remedy);
	json_object_array_add(warnings, json);
	daemon_log(LOG_LEVEL_WARNING, "Bench %s: %s", bench->name, message);
}

/* Whose every address lies where this host has no way for a Bench; why: of the last of them. */
static bool is_out_of_reach(const struct grant_host *host, struct bm_error *why)
{
	for (size_t i = 0; i < host->count; i++) {
		*why = (struct bm_error){};
		if (bm_link_possible(&host->list[i].to, why) == 0)
			return false;
	}
	return host->count;
}

static void warn_of_hosts(const struct bench *bench, const struct grant *g,
			  struct json_object *warnings)
{
	for (size_t i = 0; i < g->hosts.count; i++) {
		const struct grant_host *host = &g->hosts.list[i];
		struct bm_error why;
		char message[BM_HOSTNAME_LEN + sizeof(why.message) + 2];

		if (host->revoked || !is_out_of_reach(host, &why))
			continue;
		snprintf(message, sizeof(message), "%s%s%s", host->name, *host->name ? ": " : "",
			 why.message);
		warn(bench, warnings, message,
		     *why.remedy ? why.remedy : "give the host a route there, and grant it again");
	}
}

/* By the first family that some of it needs a way out for. */
static void warn_of_obstacles(const struct bench *bench, const struct grant *g, const char *link,
			      struct json_object *warnings)
{
	struct bm_obstacle list[BM_OBSTACLES_MAX];
	autofree struct bm_destination *to = NULL;
	autofree struct grant_dest *all = NULL;
	size_t count = 0, dests = 0;
	struct bm_error err = {};
	int family = AF_UNSPEC;

	if (reach_list(&(struct reach){ g, NULL }, &all, &dests) < 0)
		return;
	to = destinations_of(all, dests);
	if (to)
		family = bm_link_beyond(to, dests);
	if (family == AF_UNSPEC)
		return;
	if (bm_obstacles_find(family, link, list, &count, &err) < 0)
		daemon_log_error("look for what drops its packets", &err);
	for (size_t i = 0; i < count; i++)
		warn(bench, warnings, list[i].what, list[i].remedy);
}

void bench_net_warn(const struct bench *bench, const struct grant *g, struct json_object *warnings)
{
	struct bm_nft link;

	if (!bench_link_nft(bench, &link))
		return;
	warn_of_hosts(bench, g, warnings);
	warn_of_obstacles(bench, g, link.link, warnings);
}
