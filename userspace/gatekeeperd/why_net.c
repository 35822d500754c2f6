// SPDX-License-Identifier: GPL-2.0-only
/* A destination: the programs of the Bench's cgroup, and the tables of nft that stand there. */
#include "gatekeeperd/why.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/describe.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/network.h"
#include "network/endpoint.h"
#include "policy/hostname.h"

#define ADDRESSES_MAX 32
#define LOCALHOST "localhost"

struct addresses {
	struct bm_destination list[ADDRESSES_MAX];
	size_t count;
};

static void add(struct addresses *to, const struct bm_destination *d, uint16_t port,
		uint8_t protocol)
{
	if (d->port == port && d->protocol == protocol && to->count < ADDRESSES_MAX)
		to->list[to->count++] = *d;
}

static void add_all(struct addresses *to, const struct grant_host *host, uint16_t port,
		    uint8_t protocol)
{
	for (size_t i = 0; host && i < host->count; i++)
		add(to, &host->list[i].to, port, protocol);
}

/* As its hosts file has it, which is made of the same: there is no other way to a name in a Bench.
 */
static void look_up(const struct bench *bench, const char *name, uint16_t port, uint8_t protocol,
		    struct addresses *to)
{
	struct bm_destination loopback = { .address = { [10] = 0xff, 0xff, 127, 0, 0, 1 },
					   .port = port,
					   .protocol = protocol };
	char broker[BROKER_HOST_LEN];

	if (!strcmp(name, LOCALHOST))
		add(to, &loopback, port, protocol);
	for (const struct grant *g = bench->grants; g; g = g->next) {
		if (g->kind == GRANT_NET)
			add_all(to, hosts_find(&g->hosts, name), port, protocol);
		else if (g->kind == GRANT_BROKER && g->hosts.count &&
			 !strcmp(name, broker_host(g->broker, broker)))
			add_all(to, &g->hosts.list[0], port, protocol);
	}
}

static int take_name(const char *text, size_t len, char ret[BM_HOSTNAME_LEN], struct bm_error *err)
{
	if (len != strlen(LOCALHOST) || strncasecmp(text, LOCALHOST, len))
		return bm_hostname_parse(text, len, ret, err);
	snprintf(ret, BM_HOSTNAME_LEN, LOCALHOST);
	return 0;
}

/* ret_name is "" where it is an address; else ret has those that the name is sealed for. */
static int parse(const struct bench *bench, const char *text, struct addresses *ret,
		 char ret_name[BM_HOSTNAME_LEN], struct bm_error *err)
{
	size_t len = strlen(text), host;
	uint16_t port;
	uint8_t protocol;
	int r;

	ret_name[0] = '\0';
	*ret = (struct addresses){};
	if (!bm_destination_is_name(text, len)) {
		ret->count = 1;
		return bm_destination_parse(text, &ret->list[0], err);
	}
	r = bm_destination_split(text, len, &host, &port, &protocol, err);
	if (r == 0)
		r = take_name(text, host, ret_name, err);
	if (r == 0)
		look_up(bench, ret_name, port, protocol, ret);
	return r;
}

static int ask(struct daemon *d, const struct bench *bench, const struct bm_destination *to,
	       struct bm_asked *ret, struct bm_error *err)
{
	struct bm_asked question = { .cgroup = bench->cgroup.id, .to = bench_dest_key(bench, to) };
	int link, r = bm_ask_begin(d->kernel, &question, &link, err);

	if (r < 0)
		return r;
	bm_ask(STDIN_FILENO, question.cookie);
	return bm_ask_end(d->kernel, link, ret, err);
}

/* What its set has, or for the Bench's own loopback the table's first rule. */
static void ask_nft(struct json_object *why, const char *layer, const struct bm_nft *nft,
		    const struct bm_destination *to, bool within)
{
	struct bm_destination *list = NULL;
	bool there = within;
	size_t count = 0;

	if (bm_nft_list(nft, &list, &count, NULL) < 0) {
		why_missing(why, layer);
		return;
	}
	for (size_t i = 0; i < count && !there; i++)
		there = bm_destination_equal(&list[i], to);
	free(list);
	why_layer(why, layer, there ? NULL : bm_rule_name(BM_RULE_NOT_SEALED), NULL, NULL);
}

/* The same command as for what was refused. */
static void add_hint(const struct bench *bench, const struct bm_destination *to,
		     const struct bm_asked *answer, const char *name, struct json_object *why)
{
	struct bm_event event = { .verdict = BM_DENY,
				  .hook = BM_HOOK_CONNECT4,
				  .rule = answer->rule };
	const struct grant_host *host;
	const struct grant *g = sealed_for(bench, to, &host);
	char buf[BM_HINT_LEN];

	memcpy(event.net.address, answer->to.address, sizeof(event.net.address));
	event.net.port = answer->to.port;
	event.net.protocol = answer->to.protocol;
	if (g && g->profile)
		bm_json_add_string(why, "profile", g->profile);
	if (answer->rule == BM_RULE_EXPIRED && g && !g->expiry_ns)
		snprintf(buf, sizeof(buf), "benchmon profile refresh %s", g->profile);
	else if (*name || !bm_describe_hint(&event, bench->name, buf))
		return;
	bm_json_add_string(why, "hint", buf);
}

/* Where a call is not asked about any more, its packets are, by the same functions. */
static void tell_bpf(const struct bench *bench, const struct bm_destination *to, const char *rule,
		     struct json_object *why)
{
	const char *hook =
		bm_hook_name(bm_destination_is_v4(to) ? BM_HOOK_CONNECT4 : BM_HOOK_CONNECT6);

	if (bm_bench_pinned(bench->id, hook)) {
		why_layer(why, "bpf", rule, hook, NULL);
		return;
	}
	why_missing(why, "bpf");
	hook = bm_hook_name(BM_HOOK_EGRESS);
	if (bm_bench_pinned(bench->id, hook))
		why_layer(why, "bpf", rule, hook, NULL);
}

static void tell(const struct bench *bench, const struct bm_destination *to,
		 const struct bm_asked *answer, const char *name, struct json_object *why)
{
	bool denied = answer->rule != BM_RULE_NONE;
	char text[BM_DESTINATION_LEN];
	struct bm_nft nft;

	bm_json_add_string(why, "destination", bm_destination_format(to, text));
	tell_bpf(bench, to, denied ? bm_rule_name(answer->rule) : NULL, why);
	if (bench_nft(bench, &nft))
		ask_nft(why, "nft", &nft, to, answer->within);
	else
		why_missing(why, "nft");
	if (!answer->within && !bm_endpoint_is(to) && bench_link_nft(bench, &nft))
		ask_nft(why, "link", &nft, to, false);
	why_grant(why, bench, answer->grant);
	if (denied)
		add_hint(bench, to, answer, name, why);
	why_judge(why, denied ? answer->rule : BM_RULE_NOT_SEALED);
	if (strcmp(bm_json_string(why, "verdict"), "deny"))
		bm_json_add_string(why, "sentence",
				   answer->within ? "it is the Bench's own loopback, where what "
						    "listens in the Bench is reached"
						  : "a grant of the Bench has it");
}

static void no_such_name(const struct bench *bench, const char *name, struct json_object *why)
{
	static const char suffix[] = ".broker";
	size_t len = strlen(name), broker = len - strlen(suffix);
	char hint[BM_HINT_LEN];

	why_layer(why, "name", bm_rule_name(BM_RULE_NOT_SEALED), NULL, NULL);
	if (len > strlen(suffix) && !strcmp(name + broker, suffix))
		snprintf(hint, sizeof(hint), "benchmon grant %s broker %.*s", bench->name,
			 (int)broker, name);
	else
		snprintf(hint, sizeof(hint), "benchmon grant %s net %s", bench->name,
			 bm_json_string(why, "target"));
	bm_json_add_string(why, "hint", hint);
	why_judge(why, BM_RULE_NOT_SEALED);
}

int why_net(struct daemon *d, struct bench *bench, struct json_object *request,
	    struct json_object *why, struct bm_error *err)
{
	const char *text = bm_json_string(request, "target");
	struct bm_asked answer = {}, first = {};
	struct addresses to;
	char name[BM_HOSTNAME_LEN];
	size_t at = 0;
	int r = parse(bench, text, &to, name, err);

	if (r < 0)
		return r;
	if (!to.count) {
		no_such_name(bench, name, why);
		return 0;
	}
	/* A name is reached when one of its addresses is. */
	for (size_t i = 0; i < to.count; i++) {
		r = ask(d, bench, &to.list[i], &answer, err);
		if (r < 0)
			return r;
		if (i == 0 || answer.rule == BM_RULE_NONE) {
			first = answer;
			at = i;
		}
		if (answer.rule == BM_RULE_NONE)
			break;
	}
	tell(bench, &to.list[at], &first, name, why);
	return 0;
}
