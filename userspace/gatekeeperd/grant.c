// SPDX-License-Identifier: GPL-2.0-only
/*
 * grant and confirm: shown first, made only as it was shown. Order of a grant: ledger, then what
 * has no authority of its own (mount, link, nft), then the kernel's table.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/step.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/ask.h"
#include "gatekeeperd/grant_file.h"
#include "gatekeeperd/grant_net.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/listen.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/sealing.h"
#include "gatekeeperd/room.h"
#include "gatekeeperd/secrets.h"
#include "gatekeeperd/secrets_search.h"

int bench_usable(const struct bench *bench, struct bm_error *err)
{
	if (bench->ends)
		return bm_fail(err, EBUSY, NULL, "wait for it", "Bench %s is being ended",
			       bench->name);
	if (bench->frozen)
		return bm_fail(err, EBUSY, "frozen", "`benchmon thaw` it", "Bench %s is frozen",
			       bench->name);
	if (bench->state == BENCH_READY && bench_alive(bench))
		return 0;
	return bm_fail(err, ESRCH, NULL,
		       bench->origin == ORIGIN_CREATED ? "`benchmon destroy` it"
						       : "`benchmon detach` it",
		       "Bench %s %s", bench->name,
		       bench->state == BENCH_BROKEN ? "is broken and was frozen" : "has ended");
}

#define FOR_MAX (365 * 86400)

static int prepare_end(struct bm_message *message, struct pending *p, struct bm_error *err)
{
	const char *on_revoke = bm_json_string(message->json, "on_revoke");

	p->seconds = 0;
	if (json_object_object_get_ex(message->json, "for", NULL) &&
	    (bm_json_int(message->json, "for", &p->seconds) < 0 || p->seconds <= 0 ||
	     p->seconds > FOR_MAX))
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "grant: \"for\" is a number of seconds up to a year");
	if (on_revoke && strcmp(on_revoke, "kill") && strcmp(on_revoke, "report"))
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "grant: \"on_revoke\" is kill or report");
	p->report = on_revoke && !strcmp(on_revoke, "report");
	if (p->report && p->seconds)
		return bm_fail(err, EINVAL, "expiry", "leave one of both away",
			       "a grant that ends by itself leaves nothing mapped");
	return 0;
}

static struct json_object *describe(const struct daemon *d, const struct pending *p)
{
	const struct ask *ask = p->ask ? asks_find(&d->model, p->ask_bench, p->ask) : NULL;
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "token", p->token);
	bm_json_add_string(json, "bench", p->bench);
	bm_json_add_string(json, "kind", grant_kind_name(p->kind));
	if (p->seconds)
		bm_json_add_int(json, "for", p->seconds);
	if (ask)
		bm_json_add(json, "request", ask_describe(ask));
	bm_json_add_bool(json, "egress", grant_kind_is_egress(p->kind));
	if (p->kind == GRANT_NET)
		grant_net_describe(json, p);
	else if (p->kind == GRANT_LISTEN)
		listen_to_json(json, &p->hosts);
	else if (p->kind == GRANT_BROKER)
		broker_describe(json, p);
	else
		grant_file_describe(json, p);
	return json;
}

struct json_object *pending_offer(struct daemon *d, struct connection *c, const struct bench *bench)
{
	struct json_object *reply = json_object_new_object(), *shown;
	struct pending *p = &c->pending;

	snprintf(p->token, sizeof(p->token), "%" PRIu64, ++d->next_token);
	p->bench_id = bench->id;
	snprintf(p->bench, sizeof(p->bench), "%s", bench->name);
	shown = describe(d, p);
	rule_four_describe(shown, bench, kind_ways(p->kind, p->secret));
	bm_json_add(reply, "confirm", shown);
	return reply;
}

static int prepare(struct daemon *d, struct connection *c, struct bench *bench,
		   struct bm_message *message, struct pending *p, struct bm_error *err)
{
	switch (p->kind) {
	case GRANT_FILE:
		return grant_file_prepare(d, c, bench, message, p, err);
	case GRANT_NET:
		return grant_net_prepare(d, c, bench, message, err);
	case GRANT_BROKER:
		return broker_prepare(d, c, bench, message, err);
	default:
		return listen_prepare(bench, message, p, err);
	}
}

int request_grant(struct daemon *d, struct connection *c, struct bm_message *message,
		  struct json_object **ret_reply, struct bm_error *err)
{
	struct pending *p = &c->pending;
	struct bench *bench;
	struct ask *ask;
	int r;

	pending_drop(c);
	r = ask_fill(d, c, message->json, false, &ask, err);
	if (r == 0)
		r = bench_of_request(d, c, message->json, &bench, err);
	if (r == 0)
		r = bench_usable(bench, err);
	/* And again when it is confirmed: another one may have been quicker. */
	if (r == 0)
		r = room_for_grant(d, bench, err);
	if (r == 0)
		ask_take_up(p, ask);
	if (r == 0 && grant_kind_parse(bm_json_string(message->json, "kind"), &p->kind) < 0)
		r = bm_fail(err, EINVAL, "protocol", "give file, net, listen or broker",
			    "grant: unknown kind");
	if (r == 0)
		r = prepare_end(message, p, err);
	secrets_options(message->json, p);
	if (r == 0)
		r = rule_four_check(d, bench, kind_ways(p->kind, p->secret), p->with_secret, err);
	if (r == 0)
		r = prepare(d, c, bench, message, p, err);
	if (r < 0)
		pending_drop(c);
	else if (!sealing_busy(c->sealing) && !secrets_busy(c))
		*ret_reply = pending_offer(d, c, bench);
	return r;
}

static struct grant *grant_of_pending(const struct bench *bench, struct connection *c,
				      const char *how)
{
	struct pending *p = &c->pending;
	BM_CLEANUP(grant_freep) struct grant *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->number = bench->last_grant + 1;
	g->kind = p->kind;
	g->ask = p->ask;
	g->confirmed_uid = c->uid;
	snprintf(g->confirmed_how, sizeof(g->confirmed_how), "%s", how);
	now_text(g->created);
	if (p->seconds) {
		uint64_t ns = (uint64_t)p->seconds * 1000000000;

		g->expiry_ns = bm_now_ns(CLOCK_BOOTTIME) + ns;
		g->expires_ns = bm_now_ns(CLOCK_REALTIME) + ns;
	}
	g->report = p->report;
	if (p->kind == GRANT_FILE) {
		g->source = strdup(p->source.path);
		g->dest = strdup(p->dest);
		if (!g->source || !g->dest)
			return NULL;
	}
	if (grant_net_take(g, p) < 0)
		return NULL;
	g->writable = p->writable;
	g->directory = p->source.directory;
	g->idmap = p->idmap;
	g->adopted = p->adopted;
	g->learn = p->adopted && bench->learns;
	g->secret = p->secret;
	g->unscanned = p->unscanned;
	g->with_secret = p->with_secret;
	g->device = p->source.device;
	g->inode = p->source.inode;
	g->excepts = TAKE_PTR(p->excepts);
	g->except_count = p->except_count;
	return TAKE_PTR(g);
}

/* The number is used up, and the ledger has the grant: it gets its end too. */
static void record_failed(struct daemon *d, struct bench *bench, const struct grant *g)
{
	struct json_object *fields = json_object_new_object();
	char now[40];

	now_text(now);
	receipt_grant(bench, g, now, "failed");
	bm_json_add_int(fields, "grant", g->number);
	bm_json_add_string(fields, "reason", "failed");
	/* What was closed before stays so. */
	if (g->kind == GRANT_FILE && bench_closed_object(bench, g->object))
		bm_json_add_bool(fields, "closed", true);
	bench_record(d, bench, "revoke", fields, NULL);
}

static struct json_object *granted_to_json(const struct bench *bench, const struct grant *g)
{
	struct json_object *json = grant_to_json(bench, g);
	struct json_object *warnings = json_object_new_array();

	if (g->kind == GRANT_NET)
		bench_net_warn(bench, g, warnings);
	listen_add_at(json, bench, g);
	if (json_object_array_length(warnings))
		bm_json_add(json, "warnings", json_object_get(warnings));
	json_object_put(warnings);
	return json;
}

int request_confirm(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	const char *how = bm_json_string(message->json, "how");
	const char *token = bm_json_string(message->json, "token");
	BM_CLEANUP(grant_freep) struct grant *g = NULL;
	struct bench *bench;
	struct ask *ask;
	uint64_t said;
	bool seals = token && sealing_awaits(c, token);
	int r;

	if (!seals && (!token || !*token || c->pending.seals || strcmp(token, c->pending.token)))
		return bm_fail(err, ENOENT, "confirmation", "grant it again",
			       "nothing on this connection awaits that confirmation");
	if (!how || (strcmp(how, "tty") && strcmp(how, "yes")))
		return bm_fail(err, EINVAL, "protocol", NULL, "confirm: \"how\" is tty or yes");
	if (seals && !c->sealing->grant)
		return sealing_confirm(d, c, how, ret_reply, err);
	r = ask_still(d, &c->pending, &ask, err);
	if (r < 0)
		return r;
	if (c->pending.making.on)
		return making_confirm(d, c, ask, how, ret_reply, err);
	bench = model_find_id(&d->model, c->pending.bench_id);
	if (!bench)
		return bm_fail(err, ENOENT, "confirmation", NULL, "Bench %s has ended meanwhile",
			       c->pending.bench);
	r = bench_usable(bench, err);
	if (r == 0)
		r = room_for_grant(d, bench, err);
	if (r < 0)
		return r;
	g = grant_of_pending(bench, c, how);
	r = !g ? -ENOMEM : seals ? sealing_seal(d, c, how, err) : 0;
	if (r < 0) {
		pending_drop(c);
		return r;
	}
	said = bm_ledger_head(d->ledger)->n;
	bench->last_grant = g->number;
	/* Before the ledger has a word of it; another connection may have been quicker. */
	r = rule_four_check(d, bench, grant_ways(g), g->with_secret, err);
	if (r == 0)
		r = g->kind == GRANT_FILE     ? grant_file(d, c, bench, g, err)
		    : g->kind == GRANT_NET    ? grant_net(d, bench, g, err)
		    : g->kind == GRANT_LISTEN ? listen_grant(d, bench, g, err)
					      : broker_grant(d, bench, g, err);
	pending_drop(c);
	if (r < 0) {
		/* Of a refusal the ledger need not say anything: on a full disk it has no room. */
		if (bm_ledger_head(d->ledger)->n != said)
			record_failed(d, bench, g);
		ask_answered(d, c, ask, r, said, how, bench, g);
		bench_forget_maps(bench);
		if (seals)
			sealing_undo(d, c->sealing);
		recall_review(d);
		return r;
	}
	daemon_log(LOG_LEVEL_INFO, "granted %s/%u", bench->name, g->number);
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "grant", granted_to_json(bench, g));
	ask_answered(d, c, ask, 0, said, how, bench, g);
	bench_add_grant(bench, TAKE_PTR(g));
	STEP(GRANT_KNOWN);
	if (seals)
		sealing_settle(d, c->sealing, *ret_reply);
	recall_regranted(d, bench);
	STEP(GRANT_REGRANTED);
	recall_review(d);
	return 0;
}
