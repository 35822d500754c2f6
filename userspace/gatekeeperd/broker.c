// SPDX-License-Identifier: GPL-2.0-only
/* `grant BENCH broker NAME`: looked at, resolved, shown, and made. */
#include "gatekeeperd/broker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/step.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/names.h"
#include "gatekeeperd/network.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/sealing.h"
#include "policy/one.h"

/* --- looking -------------------------------------------------------------------------------------
 */

/* Where loopback is others' too, so would be the credential's use. */
static int check_bench(const struct bench *bench, const char *name, struct bm_error *err)
{
	if (bench_shares_net(bench))
		return bm_fail(err, EPERM, "shared",
			       "give its container a network namespace of its own",
			       "Bench %s shares its network: whoever else is in it would have "
			       "the broker too",
			       bench->name);
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_BROKER && !strcmp(g->broker->name, name))
			return bm_fail(err, EEXIST, "one-grant", "revoke that first",
				       "%s/%u grants broker %s already", bench->name, g->number,
				       name);
	return 0;
}

static int free_endpoint(const struct bench *bench, struct bm_destination *ret,
			 struct bm_error *err)
{
	for (unsigned i = 1; i <= BM_ENDPOINTS; i++) {
		*ret = bm_endpoint(i);
		if (!bench_reaches(bench, ret))
			return 0;
	}
	return bm_fail(err, ENOSPC, "broker-endpoint", "revoke one of them",
		       "Bench %s has %d brokers already", bench->name, BM_ENDPOINTS);
}

int broker_set_upstream(struct broker_definition *def, const char *upstream, struct bm_error *err)
{
	char remedy[96];

	if (upstream && !def->broker.setting)
		return bm_fail(err, EINVAL, "broker", "leave --upstream away",
			       "broker %s has its upstream in its definition: %s", def->broker.name,
			       def->broker.host);
	if (!def->broker.setting)
		return 0;
	if (upstream)
		return bm_broker_set_upstream(&def->broker, upstream, err);
	snprintf(remedy, sizeof(remedy), "name it: --upstream HOST[:PORT]");
	return bm_fail(err, EINVAL, "broker", remedy,
		       "the definition of broker %s leaves its upstream to who grants it",
		       def->broker.name);
}

#define HTTPS 443

/* What the words in braces of a variable stand for. */
struct stand_ins {
	char url[BROKER_HOST_LEN + 8], port[8];
	char upstream[BM_HOSTNAME_LEN + 16];
	const char *host;
};

static void stand_in(const struct bm_broker *broker, const char *host, struct stand_ins *ret)
{
	ret->host = host;
	snprintf(ret->url, sizeof(ret->url), "http://%s", host);
	snprintf(ret->port, sizeof(ret->port), "%d", BM_ENDPOINT_PORT);
	if (broker->port == HTTPS)
		snprintf(ret->upstream, sizeof(ret->upstream), "https://%s", broker->host);
	else
		snprintf(ret->upstream, sizeof(ret->upstream), "https://%s:%u", broker->host,
			 broker->port);
}

/* The length of the word that from begins with, and what it stands for; 0. */
static size_t word_at(const char *from, const struct stand_ins *ins, const char **ret)
{
	const struct {
		const char *word, *text;
	} words[] = { { "{url}", ins->url },
		      { "{host}", ins->host },
		      { "{port}", ins->port },
		      { "{upstream}", ins->upstream } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i].word);

		if (strncmp(from, words[i].word, len))
			continue;
		*ret = words[i].text;
		return len;
	}
	return 0;
}

static void fill_in(const char *from, const struct stand_ins *ins, struct bm_broker_variable *v)
{
	size_t len = 0;

	while (*from && len + 1 < sizeof(v->value)) {
		const char *text;
		size_t word = word_at(from, ins, &text);

		if (word)
			len += (size_t)snprintf(v->value + len, sizeof(v->value) - len, "%s", text);
		else
			v->value[len++] = *from;
		from += word ?: 1;
		if (len >= sizeof(v->value))
			len = sizeof(v->value) - 1;
	}
	v->value[len] = '\0';
}

static int describe_definition(const struct broker_definition *def, const char *credential,
			       struct grant_broker **ret)
{
	BM_CLEANUP(grant_broker_freep) struct grant_broker *b = calloc(1, sizeof(*b));
	size_t count = def->broker.variable_count;
	char host[BROKER_HOST_LEN];
	struct stand_ins ins;

	if (b)
		b->variables = calloc(count + 1, sizeof(*b->variables));
	if (!b || !b->variables)
		return -ENOMEM;
	snprintf(b->name, sizeof(b->name), "%s", def->broker.name);
	snprintf(b->upstream, sizeof(b->upstream), "%s:%u", def->broker.host, def->broker.port);
	memcpy(b->definition, def->digest, sizeof(b->definition));
	snprintf(b->credential, sizeof(b->credential), "%.255s", credential);
	b->setting = def->broker.setting;
	stand_in(&def->broker, broker_host(b, host), &ins);
	for (size_t i = 0; i < count; i++) {
		b->variables[i] = def->broker.variables[i];
		fill_in(def->broker.variables[i].value, &ins, &b->variables[i]);
	}
	b->variable_count = count;
	*ret = TAKE_PTR(b);
	return 0;
}

/* Of the definition's and those that were asked for whichever are narrower. */
static int narrow(struct grant_broker *broker, const struct bm_broker_limits *defined,
		  struct json_object *asked, struct bm_error *err)
{
	struct bm_broker_limits limits = *defined;
	int r = asked ? bm_broker_limits_parse(asked, "the grant", &limits, err) : 0;

	broker->limits = *defined;
	bm_broker_limits_narrow(&broker->limits, &limits);
	return r;
}

/* What is asked for, without asking any name server; p gets it. */
static int look(const struct bench *bench, const char *name, struct json_object *request,
		struct pending *p, struct bm_error *err)
{
	const char *upstream = bm_json_string(request, "upstream");
	autodefinition def = {};
	struct bm_destination endpoint;
	char from[PATH_MAX];
	autoclose credential = -1;
	int fd = -1, r = broker_find(name, &def, err);

	if (r == 0)
		r = check_bench(bench, def.broker.name, err);
	if (r == 0)
		r = broker_set_upstream(&def, upstream, err);
	if (r == 0)
		r = free_endpoint(bench, &endpoint, err);
	if (r == 0)
		r = broker_credential(name, &fd, from, err);
	credential = fd;
	if (r < 0)
		return r;
	r = describe_definition(&def, from, &p->broker);
	if (r == 0)
		r = narrow(p->broker, &def.broker.limits,
			   bm_json_get(request, "limits", json_type_object), err);
	if (r == 0)
		r = hosts_of_address(&endpoint, &p->hosts);
	return r < 0 ? bm_fail_errno(err, -r, "broker %s", name) : 0;
}

int broker_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		   struct bm_message *message, struct bm_error *err)
{
	const char *name = bm_json_string(message->json, "broker");
	struct pending *p = &c->pending;
	autoprofile one = {};
	int r;

	if (!name)
		return bm_fail(err, EINVAL, "protocol", NULL, "grant: \"broker\" is missing");
	r = look(bench, name, message->json, p, err);
	if (r == 0)
		r = bm_one_parse(p->broker->upstream, strlen(p->broker->upstream), &one, err);
	if (r < 0)
		return r;
	one.private_too = bm_json_bool(message->json, "private");
	p->bench_id = bench->id;
	snprintf(p->bench, sizeof(p->bench), "%s", bench->name);
	return sealing_begin_grant(d, c, &one, err);
}

int broker_take_resolved(struct pending *p, const struct bm_sealed *sealed, struct bm_error *err)
{
	struct grant_broker *b = p->broker;

	b->address_count = 0;
	for (size_t i = 0; i < sealed->host_count; i++)
		for (size_t k = 0; k < sealed->hosts[i].address_count; k++)
			if (b->address_count < BROKER_ADDRESSES)
				memcpy(b->addresses[b->address_count++],
				       sealed->hosts[i].addresses[k].destination.address, 16);
	return b->address_count
		       ? 0
		       : bm_fail(err, ENODATA, "broker", NULL, "%s has no address", b->upstream);
}

/* --- showing -------------------------------------------------------------------------------------
 */

static struct json_object *routes_of(const struct bm_broker *broker)
{
	struct json_object *list = json_object_new_array();
	char text[sizeof(broker->routes->method) + BM_BROKER_PATH + 2];

	for (size_t i = 0; i < broker->route_count; i++) {
		snprintf(text, sizeof(text), "%s %s", broker->routes[i].method,
			 broker->routes[i].path);
		json_object_array_add(list, json_object_new_string(text));
	}
	return list;
}

void broker_describe(struct json_object *json, const struct pending *p)
{
	autodefinition def = {};

	broker_to_json(json, p->broker, &p->hosts.list[0].list[0].to);
	json_object_object_del(json, "calls");
	if (broker_find(p->broker->name, &def, NULL) < 0)
		return;
	bm_json_add_string(json, "description", def.broker.description);
	bm_json_add_string(json, "file", def.file);
	bm_json_add(json, "routes", routes_of(&def.broker));
}

/* --- making --------------------------------------------------------------------------------------
 */

/* Again: another connection may have been quicker since it was shown, or somebody else. */
static int check_again(const struct bench *bench, const struct grant *g, struct bm_error *err)
{
	autodefinition def = {};
	int r = check_bench(bench, g->broker->name, err);

	if (r == 0 && bench_reaches(bench, &g->hosts.list[0].list[0].to))
		r = bm_fail(err, ESTALE, "confirmation", "grant it again",
			    "another broker has got that endpoint since it was shown");
	if (r == 0)
		r = broker_find(g->broker->name, &def, err);
	if (r == 0 && strcmp(def.digest, g->broker->definition))
		r = bm_fail(err, ESTALE, "confirmation", "grant it again",
			    "the definition of broker %s has changed since it was shown",
			    g->broker->name);
	return r;
}

int broker_grant(struct daemon *d, struct bench *bench, struct grant *g, struct bm_error *err)
{
	int r = check_again(bench, g, err);

	if (r == 0)
		r = bench_record(d, bench, "grant", grant_to_json(bench, g), err);
	STEP(GRANT_BROKER_SAID);
	if (r == 0 && g->expiry_ns)
		r = bm_recall_attach(d->kernel, err);
	if (r < 0)
		return r;
	r = rule_four_begin(d, bench, g, err);
	if (r == 0)
		r = broker_start(d, bench, g, err);
	STEP(GRANT_BROKER_STARTED);
	if (r == 0)
		r = names_update(d, bench, g, err);
	STEP(GRANT_BROKER_NAMED);
	if (r == 0)
		r = bench_net_grant(d, bench, g, err);
	if (r < 0) {
		broker_stop(d, bench, g);
		names_update(d, bench, NULL, NULL);
	}
	return r;
}
