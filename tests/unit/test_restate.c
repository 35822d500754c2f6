// SPDX-License-Identifier: GPL-2.0-only
/* What a new file of the ledger says again makes the same model as the file before. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/replay.h"
#include "gatekeeperd/rule_four.h"
#include "ledger_model.h"

static void rotated(void)
{
	struct bm_error err = {};
	char old[64];

	if (ledger_rotate(&d, old, &err) != 0)
		fail_msg("%s", err.message);
}

static void dump_hosts(FILE *out, const struct grant_hosts *hosts)
{
	for (size_t i = 0; i < hosts->count; i++) {
		fprintf(out, "   %s %d:", hosts->list[i].name, hosts->list[i].revoked);
		for (size_t k = 0; k < hosts->list[i].count; k++) {
			char text[BM_DESTINATION_LEN];

			bm_destination_format(&hosts->list[i].list[k].to, text);
			fprintf(out, " %s,%d", text, (int)hosts->list[i].list[k].until);
		}
		fputc('\n', out);
	}
}

static void dump_grants(FILE *out, const struct bench *b, const struct grant *list)
{
	for (const struct grant *g = list; g; g = g->next) {
		autojson *json = grant_to_json(b, g);

		fprintf(out, "  %s closed %d mounts", json_object_to_json_string(json), g->closed);
		for (int i = 0; i < GRANT_MOUNTS; i++)
			fprintf(out, " %d", (int)g->mounts[i]);
		fputc('\n', out);
		dump_hosts(out, &g->hosts);
		fprintf(out, "   next\n");
		dump_hosts(out, &g->next_hosts);
	}
}

/* All of the model that comes from the ledger. */
static char *dump(void)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	fprintf(out, "last %u\n", d.model.last_bench);
	for (const struct carrier *c = d.model.carriers; c; c = c->next)
		fprintf(out, "carrier %u %d %d %d %s %s\n", c->number, (int)c->device,
			(int)c->inode, (int)c->born_ns, c->of, c->source);
	for (const struct bench *b = d.model.benches; b; b = b->next) {
		autojson *shared = bench_shared_to_json(b);

		fprintf(out, "%s %u slot %u %s %s %s userns %d '%s' %s pid %d %d cgroup '%s' %s\n",
			b->name, b->id, b->slot, bench_origin_name(b->origin),
			bench_state_name(b->state), bench_exec_name(b->exec), b->userns,
			b->container, b->created, b->pid, (int)b->pid_start, b->cgroup.path,
			json_object_to_json_string(shared));
		for (int i = 0; i < BM_NS_MAX; i++)
			fprintf(out, " %d", (int)b->namespaces[i]);
		fprintf(out, " %s last %u\n",
			b->detached ? json_object_to_json_string(b->detached) : "", b->last_grant);
		fprintf(out, " ever %u\n", b->ever);
		fprintf(out, " executed %d ended %d\n", (int)b->executions,
			(int)receipt_grants_ended(b));
		dump_grants(out, b, b->grants);
		fprintf(out, " revoked\n");
		dump_grants(out, b, b->revoked);
		fprintf(out, " closed\n");
		dump_grants(out, b, b->closed);
	}
	fclose(out);
	return text;
}

static size_t lines_now(void)
{
	autofree char *data = NULL;
	size_t len, lines = 0;

	assert_int_equal(bm_read_file(dir, BM_LEDGER_NAME, 1 << 20, &data, &len), 0);
	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	return lines;
}

/* Also over several files, which do not grow by that. */
static void same_after_rotation(size_t lines)
{
	autofree char *before = NULL, *after = NULL;

	replayed();
	before = dump();
	for (int i = 0; i < 3; i++) {
		rotated();
		assert_int_equal(lines_now(), lines);
		free(after);
		replayed();
		after = dump();
		assert_string_equal(before, after);
	}
}

#define B(n) "'bench':'b" #n "','bench_id':" #n
#define FILE_GRANT(n, id, object)                                                                  \
	"{" B(n) ",'id':'" id "','rights':'rw','object':" #object ",'created':'t2',"               \
		 "'confirmed':{'uid':7,'how':'tty'},'source':'/s','dest':'/d','directory':true,"   \
		 "'idmap':true,'on_revoke':'report','device':5,'inode':6,'kind':'file'}"

static void nothing(void **state)
{
	(void)state;
	same_after_rotation(1);
	/* What is over is not said again; which ids were used up is. */
	say("create", "{" B(1) ",'origin':'created','slot':4,'created':'t1'}");
	say("destroy", "{" B(1) "}");
	same_after_rotation(1);
	assert_int_equal(d.model.last_bench, 1);
}

static void benches(void **state)
{
	(void)state;
	say("create", "{" B(2) ",'origin':'created','slot':4,'created':'t1','exec':'image',"
			       "'userns':true,'later':{'a':[1]}}");
	say("own-objects", "{" B(2) ",'objects':[{'what':'rootfs'}],'detached':[{'path':'/v'}]}");
	say("ready", "{" B(2) ",'pid':99,'pid_start':12345,'cgroup':'/benchmon/b2',"
			      "'namespaces':{'mnt':7,'net':8},'shared':['net']}");
	say("exec", "{" B(2) ",'argv':['true']}");
	say("attach", "{" B(3) ",'origin':'attached','container':'c','created':'t','pid':4,"
			       "'pid_start':5,'cgroup':'/x'}");
	/* Of the executions how many. */
	same_after_rotation(6);
	/* What this version does not know of is said again, too: it may be decided by. */
	say("unheard-of", "{" B(2) ",'how':'now'}");
	say("unheard-of", "{" B(2) ",'how':'again'}");
	same_after_rotation(7);
	autofree char *data = NULL;

	assert_int_equal(bm_read_file(dir, BM_LEDGER_NAME, 1 << 20, &data, NULL), 0);
	assert_non_null(strstr(data, "\"was\":\"unheard-of\",\"bench\":\"b2\",\"bench_id\":2,"
				     "\"how\":\"again\"")
				?: strstr(data, "\"how\":\"again\""));
	assert_null(strstr(data, "\"how\":\"now\""));
	assert_non_null(strstr(data, "\"later\":{\"a\":[1]}"));
}

static void grants(void **state)
{
	(void)state;
	say("grant", FILE_GRANT(2, "b2/1", 70));
	say("grant", FILE_GRANT(2, "b2/2", 71));
	say("grant", FILE_GRANT(2, "b2/3", 72));
	say("grant", FILE_GRANT(2, "b2/4", 73));
	say("grant",
	    "{" B(2) ",'id':'b2/"
		     "6','kind':'net','created':'t3','expires':'2026-01-02T03:04:05.000000004Z',"
		     "'expiry_ns':777,'confirmed':{'uid':0,'how':'yes'},"
		     "'destination':'198.51.100.10:80/tcp'}");
	same_after_rotation(7 + 5);
	say("revoke", "{" B(2) ",'grant':2,'mounts':[31,32]}");
	say("revoke", "{" B(2) ",'grant':3,'mounts':[33],'closed':true}");
	say("revoke", "{" B(2) ",'grant':9,'reason':'failed'}");
	/* Two with their ends, and the number that was used up. */
	same_after_rotation(7 + 5 + 3);
	assert_int_equal(model_find(&d.model, "b2")->last_grant, 9);
	/* Each once, as it ended, and not as if that were now. */
	assert_int_equal(json_object_array_length(model_find(&d.model, "b2")->history), 2);
	assert_int_equal(model_find(&d.model, "b2")->history_left, 0);
	assert_non_null(bench_closed_object(model_find(&d.model, "b2"), 72));
}

static void profiles(void **state)
{
	(void)state;
	say("destinations",
	    "{" B(3) ",'grant':1,'first':true,'hosts':[{'host':'a.test','to':["
		     "{'destination':'192.0.2.1:443/tcp'},"
		     "{'destination':'192.0.2.2:443/tcp','until':99}]},"
		     "{'host':'b.test','to':[{'destination':'192.0.2.3:443/tcp'}]}]}");
	say("grant", "{" B(3) ",'id':'b3/1','kind':'net','created':'t3','profile':'apt',"
			      "'seal':'00ff','seal_expiry':4000000000,"
			      "'confirmed':{'uid':0,'how':'yes'}}");
	same_after_rotation(7 + 5 + 3 + 2);
	say("revoke-host", "{" B(3) ",'grant':1,'host':'a.test'}");
	same_after_rotation(7 + 5 + 3 + 3);
	/* In the midst of a refresh. */
	say("destinations", "{" B(3) ",'grant':1,'first':true,'hosts':[{'host':'a.test','to':["
				     "{'destination':'192.0.2.9:443/tcp'}]}]}");
	say("refresh", "{" B(3) ",'grant':1,'seal':'11','seal_expiry':4000000001}");
	same_after_rotation(7 + 5 + 3 + 5);
	assert_int_equal(bench_grant(model_find(&d.model, "b3"), 1)->next_hosts.count, 1);
}

/* What a Bench ever had outlives its grants, and what may carry a secret outlives the Bench. */
static void secrets(void **state)
{
	struct bench *b2, *b3;

	(void)state;
	b2 = model_find(&d.model, "b2");
	b3 = model_find(&d.model, "b3");
	assert_int_equal(b2->ever, 0);
	assert_int_equal(b3->ever, 0);
	say("ever", "{" B(2) ",'had':['secret']}");
	say("ever", "{" B(2) ",'had':['secret','broker']}");
	say("ever", "{" B(3) ",'had':['egress']}");
	say("carrier", "{'carrier':1,'of':'b2/1','source':'/s','device':5,'inode':6,'born_ns':7}");
	say("carrier", "{'carrier':2,'of':'b9/1','source':'/t','device':5,'inode':8,'born_ns':0}");
	same_after_rotation(7 + 5 + 3 + 5 + 2 + 2);
	assert_int_equal(model_find(&d.model, "b2")->ever, WAY_SECRET | WAY_BROKER);
	assert_int_equal(model_find(&d.model, "b3")->ever, WAY_EGRESS);
	say("carrier-clear", "{'carrier':1,'source':'/s','uid':0}");
	same_after_rotation(7 + 5 + 3 + 5 + 2 + 1);
	assert_int_equal(d.model.carrier_count, 1);
	assert_string_equal(d.model.carriers->source, "/t");
}

/* Egress that was revoked was had; a grant that failed was not. */
static void had_without_a_word(void **state)
{
	(void)state;
	say("grant",
	    "{" B(3) ",'id':'b3/2','kind':'net','created':'t3',"
		     "'confirmed':{'uid':0,'how':'yes'},'destination':'192.0.2.7:80/tcp'}");
	say("revoke", "{" B(3) ",'grant':2,'reason':'failed'}");
	say("create", "{" B(4) ",'origin':'created','slot':5,'created':'t1'}");
	say("grant",
	    "{" B(4) ",'id':'b4/1','kind':'net','created':'t3',"
		     "'confirmed':{'uid':0,'how':'yes'},'destination':'192.0.2.7:80/tcp'}");
	say("revoke", "{" B(4) ",'grant':1,'reason':'failed'}");
	replayed();
	assert_int_equal(model_find(&d.model, "b4")->ever, 0);
	say("grant",
	    "{" B(4) ",'id':'b4/2','kind':'net','created':'t3',"
		     "'confirmed':{'uid':0,'how':'yes'},'destination':'192.0.2.7:80/tcp'}");
	say("revoke", "{" B(4) ",'grant':2}");
	replayed();
	assert_int_equal(model_find(&d.model, "b4")->ever, WAY_EGRESS);
}

static void carrier_makes_no_sense(void **state)
{
	static const char *const lines[] = {
		"{}",
		"{'carrier':0,'of':'b2/1','source':'/s','device':5,'inode':6,'born_ns':7}",
		"{'carrier':2,'of':'b2/1','source':'/s','device':5,'inode':6,'born_ns':7}",
		"{'carrier':3,'of':'b2/1','device':5,'inode':6,'born_ns':7}",
		"{'carrier':3,'source':'/s','device':5,'inode':6,'born_ns':7}",
		"{'carrier':3,'of':'b2/1','source':'/s','device':5,'inode':6}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = strdup(lines[i]);
		autojson *json = NULL;

		for (char *p = text; *p; p++)
			*p = *p == '\'' ? '"' : *p;
		assert_int_equal(bm_json_parse(text, strlen(text), "line", &json, NULL), 0);
		assert_int_equal(carrier_replay(&d.model, "carrier", json), -EBADMSG);
		free(text);
	}
	assert_int_equal(d.model.carrier_count, 1);
}

/* A line that is said again of a Bench that is there, or of one that there can't have been. */
static void makes_no_sense(void **state)
{
	struct bm_error err = {};

	(void)state;
	say("state", "{" B(2) ",'was':'create','origin':'created','slot':4,'created':'t1'}");
	forget();
	assert_int_equal(replay_ledger(&d, &err), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing),
		cmocka_unit_test(benches),
		cmocka_unit_test(grants),
		cmocka_unit_test(profiles),
		cmocka_unit_test(secrets),
		cmocka_unit_test(had_without_a_word),
		cmocka_unit_test(carrier_makes_no_sense),
		cmocka_unit_test(makes_no_sense),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
