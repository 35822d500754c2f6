// SPDX-License-Identifier: GPL-2.0-only
/* What net grants reach, together and alone, and how the ledger has it. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/replay.h"
#include "ledger_model.h"

static struct bm_destination to(const char *text)
{
	struct bm_destination ret;

	assert_int_equal(bm_destination_parse(text, &ret, NULL), 0);
	return ret;
}

static void seal(struct bm_sealed *sealed, const char *host, const char *destination, int64_t until)
{
	struct bm_sealed_host *h = NULL;
	struct bm_sealed_address *address;

	for (size_t i = 0; i < sealed->host_count; i++)
		if (!strcmp(sealed->hosts[i].host, host) &&
		    sealed->hosts[i].port == to(destination).port)
			h = &sealed->hosts[i];
	if (!h) {
		h = bm_sealed_add_host(sealed);
		assert_non_null(h);
		snprintf(h->host, sizeof(h->host), "%s", host);
		h->port = to(destination).port;
	}
	address = bm_sealed_add_address(h);
	assert_non_null(address);
	address->destination = to(destination);
	address->until = until;
}

static struct grant *give(struct bench *bench, uint32_t number, const struct bm_sealed *sealed)
{
	struct grant *g = calloc(1, sizeof(*g));

	assert_non_null(g);
	g->kind = GRANT_NET;
	g->number = number;
	assert_int_equal(hosts_of_sealed(sealed, &g->hosts), 0);
	bench_add_grant(bench, g);
	return g;
}

/* a.test with two ports is one host; b.test shares an address with it. */
static void two_hosts(struct bm_sealed *sealed)
{
	seal(sealed, "a.test", "192.0.2.1:443", 0);
	seal(sealed, "a.test", "192.0.2.1:80", 0);
	seal(sealed, "b.test", "192.0.2.1:443", 1000);
	seal(sealed, "b.test", "192.0.2.2:443", 0);
}

static void hosts(void **state)
{
	autosealed sealed = {};
	autohosts list = {};

	(void)state;
	two_hosts(&sealed);
	assert_int_equal(sealed.host_count, 3);
	assert_int_equal(hosts_of_sealed(&sealed, &list), 0);
	assert_int_equal(list.count, 2);
	assert_int_equal(hosts_left(&list), 2);
	assert_string_equal(list.list[0].name, "a.test");
	assert_int_equal(list.list[0].count, 2);
	assert_int_equal(list.list[1].list[0].until, 1000);
	assert_ptr_equal(hosts_find(&list, "b.test"), &list.list[1]);
	assert_null(hosts_find(&list, "c.test"));
}

static void reach(void **state)
{
	autofree struct grant_dest *all = NULL, *of_b = NULL;
	struct bench *bench = model_add(&d.model, "b1", 1);
	const struct grant_dest *dest;
	autosealed sealed = {};
	struct bm_destination one = to("192.0.2.1:443"), two = to("192.0.2.2:443");
	struct grant *g, *other;
	struct reach part = {};
	size_t count = 0;

	(void)state;
	two_hosts(&sealed);
	g = give(bench, 1, &sealed);
	part.grant = g;
	assert_int_equal(reach_list(&part, &all, &count), 0);
	assert_int_equal(count, 3); /* each once */
	assert_null(reached_else(bench, &part, &one, &dest));

	part.host = hosts_find(&g->hosts, "b.test");
	assert_int_equal(reach_list(&part, &of_b, &count), 0);
	assert_int_equal(count, 2);
	/* a.test still leads there, and for longer. */
	assert_ptr_equal(reached_else(bench, &part, &one, &dest), g);
	assert_int_equal(dest->until, 0);
	assert_null(reached_else(bench, &part, &two, &dest));

	hosts_find(&g->hosts, "a.test")->revoked = true;
	assert_null(reached_else(bench, &part, &one, &dest));
	assert_true(grant_reaches(g, &one));
	assert_int_equal(hosts_left(&g->hosts), 1);

	other = give(bench, 2, &sealed);
	assert_ptr_equal(reached_else(bench, &part, &two, &dest), other);
	assert_true(bench_reaches(bench, &two));
	two = to("192.0.2.2:80");
	assert_false(bench_reaches(bench, &two));
	forget();
}

/* Of what is there several times, what lasts longest counts, wherever it stands. */
static void longest(void **state)
{
	struct bench *bench = model_add(&d.model, "l1", d.model.last_bench + 1);
	struct bm_destination one = to("192.0.2.1:443"), two = to("192.0.2.2:443");
	autosealed sealed = {}, brief = {};
	autofree struct grant_dest *all = NULL;
	struct grant *first, *second, *third;
	const struct grant_dest *dest;
	struct reach part = {};
	size_t count = 0;

	(void)state;
	seal(&sealed, "a.test", "192.0.2.2:443", 5000000000);
	seal(&sealed, "a.test", "192.0.2.1:443", 5000000000);
	seal(&sealed, "b.test", "192.0.2.1:443", 0);
	seal(&sealed, "c.test", "192.0.2.1:443", 6000000000);
	seal(&sealed, "c.test", "192.0.2.2:443", 6000000000);
	seal(&brief, "d.test", "192.0.2.2:443", 4900000000);
	first = give(bench, 1, &brief);
	second = give(bench, 2, &sealed);
	third = give(bench, 3, &sealed);
	third->expiry_ns = 1;
	part.grant = first;
	assert_int_equal(reach_list(&(struct reach){ second, NULL }, &all, &count), 0);
	assert_int_equal(count, 2);
	assert_true(bm_destination_equal(&all[0].to, &one));
	assert_int_equal(all[0].until, 0);
	assert_true(bm_destination_equal(&all[1].to, &two));
	assert_int_equal(all[1].until, 6000000000);
	assert_ptr_equal(reached_else(bench, &part, &two, &dest), second);
	assert_int_equal(dest->until, 6000000000);
	assert_ptr_equal(reached_else(bench, &part, &one, &dest), second);
	assert_int_equal(dest->until, 0);
	second->expiry_ns = 1;
	part.grant = third;
	assert_ptr_equal(reached_else(bench, &part, &two, &dest), first);
	forget();
}

static void inherit(void **state)
{
	autosealed sealed = {};
	autohosts old = {}, next = {};

	(void)state;
	two_hosts(&sealed);
	assert_int_equal(hosts_of_sealed(&sealed, &old), 0);
	assert_int_equal(hosts_of_sealed(&sealed, &next), 0);
	old.list[1].revoked = true;
	hosts_inherit(&next, &old);
	assert_false(next.list[0].revoked);
	assert_true(next.list[1].revoked);
}

/* One address stands in the grant itself. */
static void address_as_json(void **state)
{
	static const char *const texts[] = { "198.51.100.10:80/tcp", "198.51.100.10:65535/udp",
					     "[2001:db8::1]:443/tcp" };
	struct bench *bench = model_add(&d.model, "j1", d.model.last_bench + 1);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		BM_CLEANUP(grant_freep) struct grant *g = calloc(1, sizeof(*g)), *back = NULL;
		struct bm_destination one = to(texts[i]);
		autojson *json = NULL;

		assert_non_null(g);
		g->kind = GRANT_NET;
		g->number = 3;
		snprintf(g->created, sizeof(g->created), "now");
		snprintf(g->confirmed_how, sizeof(g->confirmed_how), "yes");
		assert_int_equal(hosts_of_address(&one, &g->hosts), 0);
		json = grant_to_json(bench, g);
		assert_string_equal(bm_json_string(json, "destination"), texts[i]);
		assert_string_equal(bm_json_string(json, "id"), "j1/3");
		assert_null(bm_json_string(json, "source"));
		assert_int_equal(grant_from_json(json, &back), 0);
		assert_int_equal(back->number, 3);
		assert_null(back->profile);
		assert_int_equal(back->hosts.count, 1);
		assert_int_equal(back->hosts.list[0].count, 1);
		assert_true(grant_reaches(back, &one));
	}
	forget();
}

/* --- the ledger --------------------------------------------------------------------------------
 */

static void say_of(struct bench *bench, const char *event, struct json_object *fields)
{
	assert_int_equal(bench_record(&d, bench, event, fields, NULL), 0);
}

static struct json_object *fields_of(uint32_t number, const char *host)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_int(json, "grant", number);
	if (host)
		bm_json_add_string(json, "host", host);
	return json;
}

static struct bench *begin(const char *name)
{
	struct bench *bench = model_add(&d.model, name, d.model.last_bench + 1);
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "origin", "created");
	say_of(bench, "create", json);
	return bench;
}

static struct grant *granted(struct bench *bench, const struct bm_sealed *sealed)
{
	struct grant *g = give(bench, bench->last_grant + 1, sealed);

	g->profile = strdup("p");
	assert_non_null(g->profile);
	g->seal = strdup("00");
	assert_non_null(g->seal);
	snprintf(g->created, sizeof(g->created), "now");
	snprintf(g->confirmed_how, sizeof(g->confirmed_how), "yes");
	g->seal_expiry = 4000000000;
	assert_int_equal(hosts_record(&d, bench, g->number, &g->hosts, NULL), 0);
	say_of(bench, "grant", grant_to_json(bench, g));
	return g;
}

static struct grant *read_back(const char *name, uint32_t number)
{
	struct bm_error err = {};
	struct grant *g;

	forget();
	if (replay_ledger(&d, &err) < 0)
		fail_msg("%s", err.message);
	g = bench_grant(model_find(&d.model, name), number);
	assert_non_null(g);
	return g;
}

static void recorded(void **state)
{
	struct bench *bench = begin("r1");
	autosealed sealed = {};
	struct grant *g;

	(void)state;
	two_hosts(&sealed);
	granted(bench, &sealed);
	g = read_back("r1", 1);
	assert_string_equal(g->profile, "p");
	assert_int_equal(g->seal_expiry, 4000000000);
	assert_int_equal(g->hosts.count, 2);
	assert_int_equal(g->hosts.list[0].count, 2);
	assert_int_equal(g->hosts.list[1].list[0].until, 1000);
	assert_int_equal(g->hosts.list[1].list[1].to.port, 443);

	bench = model_find(&d.model, "r1");
	say_of(bench, "revoke-host", fields_of(1, "b.test"));
	g = read_back("r1", 1);
	assert_true(hosts_find(&g->hosts, "b.test")->revoked);
	assert_false(hosts_find(&g->hosts, "a.test")->revoked);
}

/* More than a line holds, or ten lines. */
static void many(void **state)
{
	struct bm_destination last = to("[2001:db8::2710]:443");
	struct bench *bench = begin("m1");
	autofree struct grant_dest *all = NULL;
	const struct grant_host *of = NULL;
	autosealed sealed = {};
	struct grant *g;
	char text[64];
	size_t n = 0, count = 0;

	(void)state;
	for (int host = 0; host < 200; host++) {
		char name[32];

		snprintf(name, sizeof(name), "h%d.test", host);
		for (int i = 0; i < 50; i++, n++) {
			snprintf(text, sizeof(text), "[2001:db8::%zx]:443", n + 1);
			seal(&sealed, name, text, 0);
		}
	}
	granted(bench, &sealed);
	g = read_back("m1", 1);
	assert_int_equal(g->hosts.count, 200);
	for (size_t i = 0; i < g->hosts.count; i++)
		assert_int_equal(g->hosts.list[i].count, 50);
	assert_true(bm_destination_equal(&g->hosts.list[199].list[49].to, &last));
	assert_int_equal(reach_list(&(struct reach){ g, NULL }, &all, &count), 0);
	assert_int_equal(count, 10000);
	for (size_t i = 0; i < count; i++)
		assert_true(grant_reaches(g, &all[i].to));
	last.port--;
	assert_false(grant_reaches(g, &last));
	last.port++;
	assert_ptr_equal(sealed_for(model_find(&d.model, "m1"), &last, &of), g);
	assert_string_equal(of->name, "h199.test");
}

/* Killed between its halves the ledger has both, afterwards the new ones alone. */
static void refreshed(void **state)
{
	struct bm_destination gone = to("192.0.2.2:443"), new = to("192.0.2.9:443");
	struct bench *bench = begin("f1");
	autofree struct grant_dest *both = NULL;
	autosealed sealed = {}, next = {};
	struct json_object *fields;
	autohosts list = {};
	struct grant *g;
	size_t count;

	(void)state;
	two_hosts(&sealed);
	granted(bench, &sealed);
	say_of(bench, "revoke-host", fields_of(1, "a.test"));
	seal(&next, "a.test", "192.0.2.1:443", 0);
	seal(&next, "b.test", "192.0.2.9:443", 0);
	assert_int_equal(hosts_of_sealed(&next, &list), 0);
	assert_int_equal(hosts_record(&d, bench, 1, &list, NULL), 0);
	/* Announced and not granted is nothing. */
	g = read_back("f1", 1);
	assert_true(grant_reaches(g, &gone));
	assert_false(grant_reaches(g, &new));

	bench = model_find(&d.model, "f1");
	assert_int_equal(hosts_record(&d, bench, 1, &list, NULL), 0);
	fields = fields_of(1, NULL);
	memcpy(g->seal, "11", 2);
	g->seal_expiry = 4000000001;
	grant_seal_to_json(fields, g);
	say_of(bench, "refresh", fields);
	g = read_back("f1", 1);
	assert_true(grant_reaches(g, &gone));
	assert_true(grant_reaches(g, &new));
	assert_int_equal(g->next_hosts.count, 2);
	assert_true(g->next_hosts.list[0].revoked);
	assert_int_equal(g->seal_expiry, 4000000001);

	/* Taken back at that moment, it is both. */
	assert_int_equal(reach_list(&(struct reach){ g, NULL }, &both, &count), 0);
	assert_int_equal(count, 3);

	say_of(model_find(&d.model, "f1"), "refreshed", fields_of(1, NULL));
	g = read_back("f1", 1);
	assert_false(grant_reaches(g, &gone));
	assert_true(grant_reaches(g, &new));
	assert_int_equal(g->next_hosts.count, 0);
	assert_true(hosts_find(&g->hosts, "a.test")->revoked);
}

/* A line about what was never announced, or about no host, is no line of ours. */
static void makes_no_sense(void **state)
{
	static const char *const events[] = { "refresh", "revoke-host", "refreshed" };
	struct bench *bench;

	(void)state;
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		struct bm_error err = {};
		autosealed sealed = {};
		bool host = i == 1;

		bm_ledger_close(d.ledger);
		emptied();
		assert_int_equal(bm_ledger_open(dir, NULL, &d.ledger, NULL), 0);
		forget();
		bench = begin("x1");
		two_hosts(&sealed);
		granted(bench, &sealed);
		say_of(bench, events[i], fields_of(i == 2 ? 7 : 1, host ? "nobody.test" : NULL));
		forget();
		assert_int_equal(replay_ledger(&d, &err), -EBADMSG);
		assert_non_null(strstr(err.message, events[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),
		cmocka_unit_test(reach),
		cmocka_unit_test(longest),
		cmocka_unit_test(inherit),
		cmocka_unit_test(address_as_json),
		cmocka_unit_test(recorded),
		cmocka_unit_test(many),
		cmocka_unit_test(refreshed),
		cmocka_unit_test(makes_no_sense),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
