// SPDX-License-Identifier: GPL-2.0-only
/*
 * The process behind a broker grant: started, listened to, started again, ended. This program is
 * both sides: executed as benchmon-broker, by a link beside it, it does what the test says.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#include <cmocka.h>

#include "audit/store.h"
#include "base/io.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/destinations.h"
#include "ledger_model.h"

#define WAIT_MS 30000
#define SECRET "sk-0123456789abcdef"

/* --- the broker ----------------------------------------------------------------------------------
 */

/* What is beside it: nothing of its starter's. */
static bool alone(void)
{
	autoclosedir DIR *all = opendir("/proc/self/fd");
	struct dirent *entry;
	int count = 0;

	while (all && (entry = readdir(all)))
		count += entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(all);
	return count == 5 && !environ[0];
}

static _Noreturn void be_broker(void)
{
	static const char
		ready[] = "{\"ready\":true}",
		call[] = "{\"call\":{\"number\":1,\"method\":\"GET\",\"path\":\"/a\\u001b[2J\","
			 "\"status\":200,\"bytes_in\":3,\"bytes_out\":40,\"ms\":5,"
			 "\"else\":\"x\"}}",
		refused[] = "{\"call\":{\"number\":2,\"method\":\"PUT\",\"path\":\"/b\","
			    "\"status\":403,\"bytes_in\":0,\"bytes_out\":9,\"ms\":0,"
			    "\"refused\":\"broker-path\"}}";
	automessage first = {};
	struct pollfd polled[] = { { 4, POLLIN, 0 }, { 3, POLLIN, 0 } };
	char secret[64] = "", word = 0;
	int64_t uid = 0;

	if (!alone() || bm_receive(4, &first, NULL) < 0 || first.fd_count != 1 ||
	    read(first.fds[0], secret, sizeof(secret) - 1) < 0 || strcmp(secret, SECRET) ||
	    bm_json_int(first.json, "uid", &uid) < 0 || uid < 0x6fff0000 ||
	    !bm_json_get(first.json, "definition", json_type_object) ||
	    !bm_json_get(first.json, "limits", json_type_object) ||
	    !bm_json_get(first.json, "used", json_type_object) ||
	    !bm_json_get(first.json, "addresses", json_type_array))
		_exit(9);
	send(4, ready, sizeof(ready) - 1, 0);
	while (poll(polled, 2, -1) > 0 && !polled[0].revents) {
		int fd = accept(3, NULL, NULL);

		if (read(fd, &word, 1) == 1 && word == 'x')
			_exit(7);
		if (word == '?')
			send(4, "{", 1, 0);
		send(4, call, sizeof(call) - 1, 0);
		send(4, refused, sizeof(refused) - 1, 0);
		send(fd, "done", 4, MSG_NOSIGNAL);
		close(fd);
	}
	_exit(0);
}

/* --- the daemon
 * -----------------------------------------------------------------------------------
 */

static char link_path[PATH_MAX];
static struct bench *bench;
static struct grant *grant;
static struct broker_run *run;
static int endpoint = -1;

static void write_definition(const char *rate)
{
	autofclose FILE *f = fopen("/etc/benchmon/brokers/model.json", "we");

	assert_non_null(f);
	fprintf(f,
		"{\"name\":\"model\",\"description\":\"d\",\"upstream\":{\"host\":\"up.test\"},"
		"\"credential\":{\"header\":\"x-key\"},\"allow\":[{\"method\":\"GET\",\"path\":\"/"
		"a\"}],"
		"\"limits\":{\"rate\":%s},\"verify\":{\"method\":\"GET\",\"path\":\"/a\"}}",
		rate);
}

static void make_etc(void)
{
	int fd;

	assert_int_equal(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("etc", "/etc", "tmpfs", 0, NULL), 0);
	assert_int_equal(mkdir("/etc/benchmon", 0755), 0);
	assert_int_equal(mkdir("/etc/benchmon/brokers", 0755), 0);
	assert_int_equal(mkdir("/etc/benchmon/credentials", 0700), 0);
	fd = open("/etc/benchmon/credentials/model", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, SECRET, strlen(SECRET)), strlen(SECRET));
	close(fd);
}

static void make_link(void)
{
	ssize_t n = readlink("/proc/self/exe", link_path, sizeof(link_path) - 32);
	char exe[PATH_MAX];

	assert_true(n > 0);
	link_path[n] = '\0';
	memcpy(exe, link_path, (size_t)n + 1);
	snprintf(strrchr(link_path, '/'), 32, "/benchmon-broker");
	unlink(link_path);
	assert_int_equal(link(exe, link_path), 0);
}

static void make_endpoint(void)
{
	const struct bm_destination at = bm_endpoint(1);
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	struct bm_error err = {};
	autoclose s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	autoclose ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	assert_int_equal(ioctl(s, SIOCSIFFLAGS, &lo), 0);
	if (bm_endpoint_open(ns, &at, &endpoint, &err) < 0)
		fail_msg("%s", err.message);
	if (hosts_of_address(&at, &grant->hosts) < 0)
		fail();
}

static int begin(void **state)
{
	autodefinition def = {};

	if (setup(state) < 0)
		return -1;
	umask(022);
	make_etc();
	make_link();
	write_definition("60");
	d.epoll = epoll_create1(EPOLL_CLOEXEC);
	d.timer.fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	assert_int_equal(bm_store_open(dir, &d.store, NULL), 0);
	bench = model_add(&d.model, "b1", 1);
	bench->begun = true;
	bench->pid = getpid();
	bench->pid_start = pid_start_time(getpid());
	bench->target.root = open("/", O_RDONLY | O_CLOEXEC);
	grant = calloc(1, sizeof(*grant));
	grant->kind = GRANT_BROKER;
	grant->number = 2;
	grant->broker = calloc(1, sizeof(*grant->broker));
	assert_int_equal(broker_find("model", &def, NULL), 0);
	snprintf(grant->broker->name, sizeof(grant->broker->name), "model");
	memcpy(grant->broker->definition, def.digest, sizeof(def.digest));
	grant->broker->address_count = 1;
	make_endpoint();
	bench_add_grant(bench, grant);
	return 0;
}

static int end(void **state)
{
	brokers_finish(&d);
	unlink(link_path);
	bm_store_close(d.store);
	bm_close(d.epoll);
	bm_close(d.timer.fd);
	return teardown(state);
}

/* Its endpoint is there already: that it is marked is the kernel's matter. */
static void start(void)
{
	run = broker_run_new(&d);
	assert_non_null(run);
	run->bench = 1;
	run->grant = 2;
	run->endpoint = fcntl(endpoint, F_DUPFD_CLOEXEC, 0);
	brokers_review(&d);
	assert_true(run->exit.fd >= 0);
}

static void until(bool (*happened)(void))
{
	while (!happened()) {
		struct epoll_event event;
		int count = epoll_wait(d.epoll, &event, 1, WAIT_MS);
		struct watch *w = event.data.ptr;

		if (count != 1)
			fail_msg("nothing happened");
		if (w->fd >= 0)
			w->ready(&d, w, event.events);
	}
}

static bool is_ready(void)
{
	return run->began_ns;
}

static bool has_ended(void)
{
	return run->exit.fd < 0;
}

static bool has_counted(void)
{
	return grant->broker->count.calls == 2;
}

static bool has_counted_more(void)
{
	return grant->broker->count.calls == 4;
}

static int say_to(char word)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, "127.98.109.1", &in.sin_addr), 1);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0) {
		close(fd);
		return -errno;
	}
	assert_int_equal(write(fd, &word, 1), 1);
	return fd;
}

static bool in_ledger(const char *what)
{
	autofree char *text = NULL;

	assert_int_equal(bm_read_file(dir, "ledger.jsonl", 1 << 20, &text, NULL), 0);
	return strstr(text, what);
}

static void test_calls(void **state)
{
	autofree char *text = NULL;
	int fd;

	(void)state;
	start();
	until(is_ready);
	assert_true(broker_runs(&d, bench, grant));
	fd = say_to('a');
	assert_true(fd >= 0);
	until(has_counted);
	close(fd);
	assert_int_equal(grant->broker->count.refused, 1);
	assert_int_equal(grant->broker->count.bytes_in, 3);
	assert_int_equal(grant->broker->count.bytes_out, 49);
	/* Of what it says the record has what a call has, fit for a terminal. */
	assert_int_equal(bm_read_file(dir, "events.jsonl", 1 << 20, &text, NULL), 0);
	assert_non_null(strstr(text, "\"type\":\"call\",\"grant\":\"b1/2\",\"broker\":\"model\","
				     "\"number\":1,\"method\":\"GET\",\"path\":\"/a\\\\x1b[2J\","
				     "\"status\":200"));
	assert_non_null(strstr(text, "\"refused\":\"broker-path\""));
	assert_null(strstr(text, "else"));
	/* In the ledger it is only where that could be forgotten at some cost. */
	assert_false(in_ledger("\"what\":\"counted\""));
	grant->broker->limits.requests = 2;
	fd = say_to('a');
	assert_true(fd >= 0);
	until(has_counted_more);
	close(fd);
	assert_true(in_ledger("\"what\":\"counted\",\"calls\":{\"count\":3,"));
	grant->broker->limits.requests = 0;
	broker_stop(&d, bench, grant);
	assert_false(broker_runs(&d, bench, grant));
	close(endpoint);
	/* Nobody has the socket any more. */
	assert_int_equal(say_to('a'), -ECONNREFUSED);
}

static void test_crashes(void **state)
{
	uint64_t first;
	int fd;

	(void)state;
	start();
	until(is_ready);
	fd = say_to('x');
	until(has_ended);
	close(fd);
	/* Closed at once, and on record. */
	assert_false(broker_runs(&d, bench, grant));
	assert_int_equal(say_to('a'), -ECONNREFUSED);
	assert_true(in_ledger("\"what\":\"ended\",\"why\":\"it ended with status 7\""));
	first = run->backoff.wait_ns;
	assert_true(first && d.due_ns[TIMER_BROKER] == run->backoff.due_ns);
	/* Not before its time. */
	brokers_review(&d);
	assert_true(has_ended());
	run->backoff.due_ns = 1;
	brokers_review(&d);
	until(is_ready);
	assert_true(in_ledger("\"what\":\"started\""));
	/* What is no message ends it too, and it waits longer. */
	fd = say_to('?');
	assert_true(fd >= 0);
	until(has_ended);
	close(fd);
	assert_true(run->backoff.wait_ns == 2 * first);
	/* One that is not what was granted is not started. */
	write_definition("61");
	run->backoff.due_ns = 1;
	brokers_review(&d);
	assert_true(has_ended());
	assert_true(run->backoff.wait_ns == 4 * first);
	assert_int_equal(say_to('a'), -ECONNREFUSED);
	write_definition("60");
	run->backoff.due_ns = 1;
	brokers_review(&d);
	until(is_ready);
	/* With the daemon it ends, and how far it was counted is known. */
	brokers_finish(&d);
	assert_null(d.brokers);
	assert_true(in_ledger("\"what\":\"stopped\""));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_calls, begin, end),
		cmocka_unit_test_setup_teardown(test_crashes, begin, end),
	};

	if (argc == 1 && !strcmp(argv[0], "benchmon-broker"))
		be_broker();
	return cmocka_run_group_tests_name("broker run", tests, NULL, NULL);
}
