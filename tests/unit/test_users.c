// SPDX-License-Identifier: GPL-2.0-only
/* Whose a Bench is, and who has asked: all of it that needs no kernel that enforces. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "audit/page.h"
#include "audit/receipt.h"
#include "audit/store.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/record.h"
#include "ledger_model.h"
#include "policy/access.h"

#define ALICE 1501
#define BOB 1502

/* In the ledger, and said again in a new file of it; without one it is root's. */
static void owners(void **state)
{
	char old[64];

	(void)state;
	say("create", "{'bench':'old','bench_id':1,'origin':'created','slot':1,'created':'t'}");
	say("create", "{'bench':'b2','bench_id':2,'owner':1501,'origin':'created','slot':2,"
		      "'created':'t'}");
	say("attach", "{'bench':'b3','bench_id':3,'owner':1502,'origin':'attached','created':'t',"
		      "'container':'c','pid':4,'pid_start':5,'cgroup':'/x'}");
	for (int i = 0; i < 3; i++) {
		replayed();
		assert_int_equal(model_find(&d.model, "old")->owner, 0);
		assert_int_equal(model_find(&d.model, "b2")->owner, ALICE);
		assert_int_equal(model_find(&d.model, "b3")->owner, BOB);
		assert_int_equal(ledger_rotate(&d, old, NULL), 0);
	}
	/* What the daemon writes of it then. */
	assert_int_equal(bench_record(&d, model_find(&d.model, "b2"), "thaw", NULL, NULL), 0);
	assert_int_equal(bench_record(&d, model_find(&d.model, "old"), "thaw", NULL, NULL), 0);
}

static size_t lines_for(uint32_t owner, const char *bench)
{
	struct bm_page page = { .owner = owner, .bench = bench, .room = 60000, .newest = 4 };
	autojson *list = NULL;
	size_t count = 0;

	do {
		int64_t next;

		json_object_put(list);
		list = NULL;
		assert_int_equal(bm_ledger_page(dir, &page, &list, &next, NULL), 0);
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			int64_t of = 0;

			bm_json_int(json_object_array_get_idx(list, i), "owner", &of);
			assert_true(!owner || of == owner);
			count++;
		}
		page.from = next;
	} while (page.from);
	return count;
}

/* Each has the lines about their own Benches, of whatever file. */
static void pages(void **state)
{
	(void)state;
	assert_int_equal(lines_for(ALICE, NULL), 1 + 3 + 1);
	assert_int_equal(lines_for(ALICE, "b2"), 1 + 3 + 1);
	assert_int_equal(lines_for(ALICE, "b3"), 0);
	assert_int_equal(lines_for(ALICE, "old"), 0);
	assert_int_equal(lines_for(BOB, NULL), 1 + 3);
	assert_int_equal(lines_for(1503, NULL), 0);
	assert_true(lines_for(0, NULL) > 9);
}

static void makes_no_sense(void **state)
{
	static const char *const lines[] = {
		"{'bench':'x','bench_id':9,'owner':-1,'origin':'created','created':'t'}",
		"{'bench':'x','bench_id':9,'owner':0,'origin':'created','created':'t'}",
		"{'bench':'x','bench_id':9,'owner':4294967295,'origin':'created','created':'t'}",
		"{'bench':'x','bench_id':9,'owner':'1501','origin':'created','created':'t'}",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct bm_error err = {};

		teardown(state);
		assert_int_equal(setup(state), 0);
		say("create", lines[i]);
		assert_int_equal(replay_ledger(&d, &err), -EBADMSG);
	}
}

/* The same answer for another's and for none. */
static void lookups(void **state)
{
	struct connection c = { .role = PEER_OPERATOR };
	autojson *request = json_object_new_object();
	struct bench *b, *found = NULL;
	struct bm_error theirs = {}, none = {};

	(void)state;
	forget();
	b = model_add(&d.model, "mine", 1);
	b->owner = ALICE;
	bm_json_add_string(request, "bench", "mine");
	for (uid_t uid = 0; uid <= ALICE; uid += ALICE) {
		c.uid = uid;
		assert_int_equal(bench_of_request(&d, &c, request, &found, NULL), 0);
		assert_ptr_equal(found, b);
	}
	/* A number that is no user's: of who came by a Bench's own way. */
	c = (struct connection){ .role = PEER_BENCH, .uid = 0 };
	assert_int_equal(bench_of_request(&d, &c, request, &found, NULL), -ENOENT);
	c = (struct connection){ .role = PEER_OPERATOR, .uid = BOB };
	assert_int_equal(bench_of_request(&d, &c, request, &found, &theirs), -ENOENT);
	forget();
	assert_int_equal(bench_of_request(&d, &c, request, &found, &none), -ENOENT);
	assert_memory_equal(&theirs, &none, sizeof(none));
}

static void add(struct bm_store *store, const char *bench, int64_t seq, int64_t owner)
{
	autojson *json = json_object_new_object();

	bm_json_add_string(json, "bench", bench);
	bm_json_add_int(json, "seq", seq);
	if (owner)
		bm_json_add_int(json, "owner", owner);
	assert_int_equal(bm_store_add(store, json), 0);
}

static size_t heard(struct bm_reader *reader, uint64_t *ret_missed)
{
	size_t count = 0;
	const char *line;
	uint64_t missed;

	*ret_missed = 0;
	while (bm_reader_next(reader, &line, &missed)) {
		if (reader->owner)
			assert_non_null(strstr(line, "\"owner\":1501"));
		*ret_missed += missed;
		count++;
	}
	return count;
}

/* What one did not see in time is counted, and what was never theirs is not. */
static void events(void **state)
{
	struct bm_reader all, own, none;
	autostore *store = NULL;
	uint64_t missed;

	(void)state;
	assert_int_equal(bm_store_open(dir, &store, NULL), 0);
	bm_reader_attach(&all, store, NULL, 0);
	bm_reader_attach(&own, store, NULL, 0);
	bm_reader_only(&own, ALICE);
	bm_reader_attach(&none, store, "theirs", 0);
	bm_reader_only(&none, ALICE);
	for (int64_t i = 1; i <= 3; i++) {
		add(store, "mine", i, ALICE);
		add(store, "theirs", i, BOB);
		add(store, "roots", i, 0);
	}
	assert_int_equal(heard(&all, &missed), 9);
	assert_int_equal(heard(&own, &missed), 3);
	assert_int_equal(heard(&none, &missed), 0);
	for (int64_t i = 4; i <= BM_STORE_EVENTS + 13; i++)
		add(store, i <= 13 && i % 2 ? "mine" : "theirs", i, i <= 13 && i % 2 ? ALICE : BOB);
	add(store, "mine", 9999, ALICE);
	assert_int_equal(heard(&own, &missed), 1);
	assert_int_equal(missed, 5);
	assert_int_equal(heard(&none, &missed), 0);
	bm_reader_detach(&all);
	bm_reader_detach(&own);
	bm_reader_detach(&none);
}

static void receipts(void **state)
{
	static const struct {
		const char *text;
		uint32_t owner;
	} files[] = {
		{ "\"owner\":1501,\"origin\":\"created\"}", ALICE },
		{ "\"origin\":\"created\"}", 0 },
		{ "\"origin\":\"created\",\"owner\":1501}", 0 },
		{ "\"owner\":15016666666666666666666,\"x\":1}", 0 },
		{ "\"owner\":4294967295,\"x\":1}", 0 },
		{ "\"owner\":-1,\"x\":1}", 0 },
		{ "\"owner\":1501", 0 },
		{ "\"owner\":\"1501\",\"x\":1}", 0 },
	};
	struct bm_receipt_entry entry = { .bench = "b1", .id = 7 };
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(text, sizeof(text),
			 "{\"schema\":\"" BM_RECEIPT_SCHEMA
			 "\",\"bench\":{\"name\":\"b1\",\"id\":7,%s",
			 files[i].text);
		assert_int_equal(bm_receipt_put(dir, "b1-7.json", text, strlen(text), 512, NULL),
				 0);
		assert_int_equal(bm_receipt_owner(dir, &entry), files[i].owner);
		/* Of another one of that name, or of another name. */
		assert_int_equal(bm_receipt_put(dir, "b1-8.json", text, strlen(text), 512, NULL),
				 0);
		entry.id = 8;
		assert_int_equal(bm_receipt_owner(dir, &entry), 0);
		entry.id = 7;
	}
	entry.id = 99;
	assert_int_equal(bm_receipt_owner(dir, &entry), 0);
	unlinkat(dir, BM_RECEIPT_DIR "/b1-7.json", 0);
	unlinkat(dir, BM_RECEIPT_DIR "/b1-8.json", 0);
	unlinkat(dir, BM_RECEIPT_DIR, AT_REMOVEDIR);
}

/* As the kernel says it, who has written; and of one who has not connected. */
static void writers(void **state)
{
	static const char text[] = "{\"v\":1,\"op\":\"ls\"}";
	struct connection c = { .role = PEER_OPERATOR };
	struct ucred self = { .pid = getpid(), .uid = getuid(), .gid = getgid() };
	autoclose ours = -1, theirs = -1;
	int pair[2], status;
	struct bm_error err = {};

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ours = pair[0];
	theirs = pair[1];
	assert_int_equal(setsockopt(ours, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)), 0);
	peer_take(&c, &self, -1);
	assert_int_equal(c.started, pid_start_time(getpid()));
	for (int child = 0; child < 2; child++) {
		automessage message = {};
		pid_t pid = child ? fork() : 0;

		if (!pid && send(theirs, text, sizeof(text) - 1, 0) < 0)
			_exit(1);
		if (!pid && child)
			_exit(0);
		if (child)
			assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(bm_receive(ours, &message, NULL), 0);
		assert_int_equal(message.pid, child ? pid : getpid());
		assert_int_equal(message.uid, getuid());
		assert_int_equal(peer_check(&d, &c, &message, &err), -EPERM);
		/* There is no descriptor of it: nobody knows who that is. */
		assert_string_equal(err.rule, child ? "own-connection" : "not-from-inside");
		message.uid++;
		err = (struct bm_error){};
		assert_int_equal(peer_check(&d, &c, &message, &err), -EPERM);
		assert_string_equal(err.rule, "own-connection");
		err = (struct bm_error){};
	}
}

static int ask(int fd, uid_t uid, gid_t gid, gid_t other, bool writable)
{
	struct bm_caller caller = { uid, gid, &other, 1 };
	struct bm_error err = {};
	int r = bm_access_check(fd, &caller, writable, &err);

	if (r < 0) {
		assert_int_equal(r, -EACCES);
		assert_string_equal(err.rule, "own-access");
	}
	return r;
}

/* Whatever the descriptor itself may do. Another user's access only root can ask for. */
static void access_of_others(void **state)
{
	autoclose file = openat(dir, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	autoclose sub = -1;

	(void)state;
	assert_true(file >= 0);
	assert_int_equal(ask(file, 0, 0, 0, true), 0);
	if (getuid() != 0) {
		assert_int_equal(ask(file, getuid(), getgid(), getgid(), true), 0);
		unlinkat(dir, "file", 0);
		return;
	}
	assert_int_equal(mkdirat(dir, "sub", 0700), 0);
	sub = openat(dir, "sub", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(ask(file, ALICE, ALICE, ALICE, false), -EACCES);
	assert_int_equal(ask(sub, ALICE, ALICE, ALICE, false), -EACCES);
	assert_int_equal(fchown(file, ALICE, 0), 0);
	assert_int_equal(ask(file, ALICE, ALICE, ALICE, true), 0);
	assert_int_equal(ask(file, BOB, BOB, BOB, false), -EACCES);
	/* By a group, its own or another; and not root's, whom nobody asked for. */
	assert_int_equal(fchown(file, 0, 777), 0);
	assert_int_equal(fchmod(file, 0640), 0);
	assert_int_equal(ask(file, ALICE, 777, ALICE, false), 0);
	assert_int_equal(ask(file, ALICE, ALICE, 777, false), 0);
	assert_int_equal(ask(file, ALICE, ALICE, 777, true), -EACCES);
	assert_int_equal(ask(file, ALICE, ALICE, ALICE, false), -EACCES);
	/* To be listed is not to be searched. */
	assert_int_equal(fchmod(sub, 0704), 0);
	assert_int_equal(ask(sub, ALICE, ALICE, ALICE, false), -EACCES);
	assert_int_equal(fchmod(sub, 0705), 0);
	assert_int_equal(ask(sub, ALICE, ALICE, ALICE, false), 0);
	assert_int_equal(ask(sub, ALICE, ALICE, ALICE, true), -EACCES);
	unlinkat(dir, "file", 0);
	unlinkat(dir, "sub", AT_REMOVEDIR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners),           cmocka_unit_test(pages),
		cmocka_unit_test(lookups),          cmocka_unit_test(events),
		cmocka_unit_test(receipts),         cmocka_unit_test(writers),
		cmocka_unit_test(access_of_others), cmocka_unit_test(makes_no_sense),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
