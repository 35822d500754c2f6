// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/listen.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/step.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/rule_four.h"
#include "network/link.h"
#include "network/peer.h"

#define PEERS_MAX 64

/* --- as JSON -----------------------------------------------------------------------------------
 */

void listen_to_json(struct json_object *json, const struct grant_hosts *hosts)
{
	struct json_object *from = json_object_new_array();
	const struct grant_host *host = hosts->list;
	char text[INET6_ADDRSTRLEN];

	bm_json_add_int(json, "port", host->list[0].to.port);
	bm_json_add_string(json, "protocol",
			   host->list[0].to.protocol == IPPROTO_UDP ? "udp" : "tcp");
	for (size_t i = 0; i < host->count; i++)
		json_object_array_add(
			from, json_object_new_string(bm_peer_format(&host->list[i].to, text)));
	bm_json_add(json, "from", from);
}

static int port_from_json(struct json_object *json, struct bm_destination *ret,
			  struct bm_error *err)
{
	const char *protocol = bm_json_string(json, "protocol");
	int64_t port;

	if (bm_json_int(json, "port", &port) < 0)
		return bm_fail(err, EINVAL, "protocol", NULL, "listen: \"port\" is missing");
	if (port < 1 || port > 65535)
		return bm_fail(err, EINVAL, "listen", NULL, "port %" PRId64 " is not in 1 to 65535",
			       port);
	if (!protocol || (strcmp(protocol, "tcp") && strcmp(protocol, "udp")))
		return bm_fail(err, EINVAL, "protocol", NULL, "listen: \"protocol\" is tcp or udp");
	*ret = (struct bm_destination){ .port = (uint16_t)port,
					.protocol =
						strcmp(protocol, "udp") ? IPPROTO_TCP : IPPROTO_UDP,
					.listens = true };
	return 0;
}

static bool has_peer(const struct grant_hosts *hosts, const struct bm_destination *d)
{
	for (size_t i = 0; i < hosts->list->count; i++)
		if (bm_destination_equal(&hosts->list->list[i].to, d))
			return true;
	return false;
}

static int add_peer(struct grant_hosts *hosts, struct bm_destination peer, struct json_object *item,
		    struct bm_error *err)
{
	char text[INET6_ADDRSTRLEN];
	int r;

	if (!json_object_is_type(item, json_type_string))
		return bm_fail(err, EINVAL, "protocol", NULL, "listen: \"from\" holds addresses");
	r = bm_peer_parse(json_object_get_string(item), &peer, err);
	if (r < 0)
		return r;
	if (has_peer(hosts, &peer))
		return bm_fail(err, EINVAL, "listen", "name it once", "%s is named twice",
			       bm_peer_format(&peer, text));
	return host_add(hosts->list, &peer, 0);
}

int listen_from_json(struct json_object *json, struct grant_hosts *ret, struct bm_error *err)
{
	struct json_object *from = NULL;
	struct bm_destination peer;
	autohosts hosts = {};
	int r = port_from_json(json, &peer, err);

	if (r == 0 && json_object_object_get_ex(json, "from", &from) &&
	    (!json_object_is_type(from, json_type_array) || !json_object_array_length(from) ||
	     json_object_array_length(from) > PEERS_MAX))
		r = bm_fail(err, EINVAL, "protocol", NULL,
			    "listen: \"from\" is a list of 1 to %d addresses", PEERS_MAX);
	if (r == 0 && from && !hosts_add(&hosts, ""))
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && from && i < json_object_array_length(from); i++)
		r = add_peer(&hosts, peer, json_object_array_get_idx(from, i), err);
	if (r == 0 && hosts.count)
		r = hosts_sort(&hosts);
	if (r < 0)
		return r;
	*ret = hosts;
	hosts = (struct grant_hosts){};
	return 0;
}

/* --- granting ----------------------------------------------------------------------------------
 */

/* Whoever has the port in such a network has it from everybody there. */
static int check_bench(const struct bench *bench, struct bm_nft *ret_nft, bool *ret_foreign,
		       struct bm_error *err)
{
	if (bench_shares_net(bench))
		return bm_fail(err, EPERM, "shared",
			       "give its container a network namespace of its own",
			       "Bench %s shares its network: a port that it had there would be "
			       "taken from the others, and stay so when the grant has ended",
			       bench->name);
	if (!bench_nft(bench, ret_nft))
		return bm_fail_errno(err, ESRCH, "network of Bench %s", bench->name);
	return bm_link_foreign(ret_nft->netns, bench->id, ret_foreign, err);
}

/* By the way that a Bench has: its link, at whose end is the host, or interfaces of its own. */
static int check_peers(const struct bench *bench, const struct grant_hosts *hosts, bool foreign,
		       struct bm_error *err)
{
	const struct grant_host *host = hosts->list;
	char text[INET6_ADDRSTRLEN];
	int r = 0;

	for (size_t i = 0; r == 0 && i < host->count; i++) {
		const struct bm_destination *peer = &host->list[i].to;

		for (const struct grant *g = bench->grants; g; g = g->next)
			if (grant_reaches(g, peer))
				return bm_fail(err, EEXIST, "one-grant", NULL,
					       "%s/%u lets %s connect to port %u already",
					       bench->name, g->number, bm_peer_format(peer, text),
					       peer->port);
		if (!foreign)
			r = bm_link_peer(bench->id, peer, err);
	}
	return r;
}

static int add_host_end(const struct bench *bench, struct json_object *json, bool foreign,
			struct grant_hosts *hosts, struct bm_error *err)
{
	struct bm_destination peer;
	int r;

	if (foreign)
		return bm_fail(err, EINVAL, "listen", "name who may connect: --from ADDRESS",
			       "Bench %s has interfaces of its own, so that it is not known by "
			       "which address the host would come",
			       bench->name);
	r = port_from_json(json, &peer, err);
	if (r < 0)
		return r;
	bm_peer_of_link(bench->id, true, true, &peer);
	return hosts_of_address(&peer, hosts);
}

int listen_prepare(const struct bench *bench, struct bm_message *message, struct pending *p,
		   struct bm_error *err)
{
	bool foreign = false;
	struct bm_nft nft;
	int r = listen_from_json(message->json, &p->hosts, err);

	if (r == 0)
		r = check_bench(bench, &nft, &foreign, err);
	if (r == 0 && !p->hosts.count)
		r = add_host_end(bench, message->json, foreign, &p->hosts, err);
	return r < 0 ? r : check_peers(bench, &p->hosts, foreign, err);
}

int listen_grant(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	bool foreign = false;
	struct bm_nft nft;
	int r = check_bench(bench, &nft, &foreign, err);

	/* Again: another connection may have been quicker since it was shown. */
	if (r == 0)
		r = check_peers(bench, &g->hosts, foreign, err);
	if (r == 0)
		r = bench_record(d, bench, "grant", grant_to_json(bench, g), err);
	STEP(LISTEN_SAID);
	if (r == 0 && g->expiry_ns)
		r = bm_recall_attach(d->kernel, err);
	if (r == 0)
		r = bm_bench_listens(d->kernel, bench->cgroup.id, true, err);
	STEP(LISTEN_FLAGGED);
	if (r == 0)
		r = rule_four_begin(d, bench, g, err);
	if (r == 0)
		r = bench_net_grant(d, bench, g, err);
	if (r < 0)
		listen_revoked(d, bench, g);
	return r;
}

void listen_revoked(struct daemon *d, struct bench *bench, const struct grant *g)
{
	struct bm_error err = {};

	for (const struct grant *other = bench->grants; other; other = other->next)
		if (other != g && other->kind == GRANT_LISTEN)
			return;
	/* Looking costs a little, and finds nothing. */
	if (bench_alive(bench) && bm_bench_listens(d->kernel, bench->cgroup.id, false, &err) < 0)
		daemon_log_error("forget that a Bench listened", &err);
}

void listen_add_at(struct json_object *json, const struct bench *bench, const struct grant *g)
{
	char text[BM_DESTINATION_LEN];
	struct bm_destination at;
	struct bm_nft link;

	if (g->kind != GRANT_LISTEN || !bench_link_nft(bench, &link))
		return;
	at = g->hosts.list[0].list[0].to;
	bm_peer_of_link(bench->id, bm_destination_is_v4(&at), false, &at);
	bm_destination_format(&at, text);
	*strrchr(text, '/') = '\0';
	bm_json_add_string(json, "at", text);
}
