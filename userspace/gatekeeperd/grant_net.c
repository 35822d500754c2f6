// SPDX-License-Identifier: GPL-2.0-only
/* A net grant: one address, what is sealed of a profile, or a host that is sealed with it. */
#include "gatekeeperd/grant_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/profiles.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/sealing.h"
#include "policy/one.h"

/* That a profile reaches the same is no reason: it has hosts that come and go. */
static int check_address(const struct bench *bench, const struct bm_destination *d,
			 struct bm_error *err)
{
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_NET && !g->profile && grant_reaches(g, d))
			return bm_fail(err, EEXIST, "one-grant", NULL,
				       "%s/%u grants this destination already", bench->name,
				       g->number);
	return 0;
}

static int check_profile(const struct bench *bench, const char *profile, struct bm_error *err)
{
	char remedy[BM_PROFILE_NAME_LEN + 64];

	snprintf(remedy, sizeof(remedy), "`benchmon profile refresh %s` brings it up to date",
		 profile);
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (grant_is_of_profile(g, profile))
			return bm_fail(err, EEXIST, "one-grant", remedy,
				       "%s/%u grants profile %s already", bench->name, g->number,
				       profile);
	return 0;
}

static int prepare_address(const struct bench *bench, const char *text, bool private,
			   struct pending *p, struct bm_error *err)
{
	struct bm_destination d;
	int r = bm_destination_parse(text, &d, err);

	if (r == 0)
		r = bm_destination_check(&d, private, err);
	if (r == 0)
		r = check_address(bench, &d, err);
	return r < 0 ? r : hosts_of_address(&d, &p->hosts);
}

int grant_net_take_sealed(struct pending *p, const struct bm_sealed *sealed)
{
	int r = hosts_of_sealed(sealed, &p->hosts);

	if (r == 0)
		r = bm_seal_digest(sealed, p->seal);
	if (r < 0)
		return r;
	memcpy(p->profile, sealed->name, sizeof(p->profile));
	p->seal_expiry = sealed->expires;
	for (size_t i = 0; i < sealed->host_count; i++)
		p->uploads |= sealed->hosts[i].uploads;
	return 0;
}

static int prepare_profile(struct daemon *d, const struct bench *bench, const char *name,
			   struct pending *p, struct bm_error *err)
{
	autosealed sealed = {};
	int r = profile_sealed(d, name, &sealed, err);

	if (r == 0)
		r = check_profile(bench, sealed.name, err);
	return r < 0 ? r : grant_net_take_sealed(p, &sealed);
}

/* A seal that there is of it is not enough: names move, and this is the moment to look. */
static int prepare_host(struct daemon *d, struct connection *c, const struct bench *bench,
			const char *text, bool private, struct bm_error *err)
{
	struct pending *p = &c->pending;
	autoprofile one = {};
	int r = bm_one_parse(text, strlen(text), &one, err);

	if (r == 0)
		r = check_profile(bench, one.name, err);
	if (r < 0)
		return r;
	one.private_too = private;
	p->bench_id = bench->id;
	snprintf(p->bench, sizeof(p->bench), "%s", bench->name);
	return sealing_begin_grant(d, c, &one, err);
}

int grant_net_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		      struct bm_message *message, struct bm_error *err)
{
	const char *to = bm_json_string(message->json, "destination");
	const char *profile = bm_json_string(message->json, "profile");
	bool private = bm_json_bool(message->json, "private");

	if (!to == !profile)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "grant: needs one of \"destination\" and \"profile\"");
	if (profile)
		return prepare_profile(d, bench, profile, &c->pending, err);
	if (bm_destination_is_name(to, strlen(to)))
		return prepare_host(d, c, bench, to, private, err);
	return prepare_address(bench, to, private, &c->pending, err);
}

void grant_net_describe(struct json_object *json, const struct pending *p)
{
	const struct bm_destination *only = &p->hosts.list[0].list[0].to;
	char text[BM_DESTINATION_LEN];

	if (p->profile[0]) {
		bm_json_add_string(json, "profile", p->profile);
		profile_add_time(json, "expires", p->seal_expiry);
		bm_json_add(json, "hosts", hosts_to_json(&p->hosts));
		bm_json_add_bool(json, "uploads", p->uploads);
		return;
	}
	bm_json_add_string(json, "destination", bm_destination_format(only, text));
	bm_json_add_bool(json, "private", bm_destination_check(only, false, NULL) < 0);
}

int grant_net_take(struct grant *g, struct pending *p)
{
	if (p->profile[0]) {
		g->profile = strdup(p->profile);
		g->seal = strdup(p->seal);
		if (!g->profile || !g->seal)
			return -ENOMEM;
	}
	g->seal_expiry = p->seal_expiry;
	g->hosts = p->hosts;
	p->hosts = (struct grant_hosts){};
	g->broker = TAKE_PTR(p->broker);
	return 0;
}

/* Again: another connection may have been quicker since it was shown, or the seal another. */
static int check_net(struct daemon *d, struct bench *bench, const struct grant *g,
		     struct bm_error *err)
{
	char digest[BM_SEAL_DIGEST_LEN];
	autosealed sealed = {};
	int r;

	if (!g->profile)
		return check_address(bench, &g->hosts.list[0].list[0].to, err);
	r = check_profile(bench, g->profile, err);
	if (r == 0)
		r = profile_sealed(d, g->profile, &sealed, err);
	if (r == 0)
		r = bm_seal_digest(&sealed, digest);
	if (r == 0 && strcmp(digest, g->seal))
		r = bm_fail(err, ESTALE, "confirmation", "grant it again",
			    "profile %s has been sealed anew since it was shown", g->profile);
	return r;
}

int grant_net(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	int r = check_net(d, bench, g, err);

	if (r == 0 && g->profile)
		r = hosts_record(d, bench, g->number, &g->hosts, err);
	STEP(GRANT_NET_HOSTS_SAID);
	if (r == 0)
		r = bench_record(d, bench, "grant", grant_to_json(bench, g), err);
	STEP(GRANT_NET_SAID);
	if (r == 0 && g->expiry_ns)
		r = bm_recall_attach(d->kernel, err);
	/* Names lead nowhere by themselves. */
	if (r == 0)
		r = names_update(d, bench, g, err);
	STEP(GRANT_NET_NAMED);
	if (r < 0)
		return r;
	r = rule_four_begin(d, bench, g, err);
	if (r == 0)
		r = bench_net_grant(d, bench, g, err);
	if (r < 0)
		names_update(d, bench, NULL, NULL);
	return r;
}
