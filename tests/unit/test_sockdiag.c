// SPDX-License-Identifier: GPL-2.0-only
/* Ending connections by their other end, on the running kernel (root). */
#include <netinet/tcp.h>
#include <sys/stat.h>

#include "bench/cgroup.h"
#include "network/sockdiag.h"
#include "network_lab.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static size_t destroy(const struct bm_sockets *of, const char *text)
{
	struct bm_destination d = dest(text);
	struct bm_error err = {};
	size_t count = 0;

	ok(bm_sockets_destroy(of, &d, 1, &count, &err), &err);
	return count;
}

static size_t destroy_all(int ns, const char *text)
{
	return destroy(&(struct bm_sockets){ .netns = ns }, text);
}

static int error_of(int fd)
{
	int error = -1;
	socklen_t size = sizeof(error);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size), 0);
	return error;
}

/* The other end of the next connection. */
static int accepted(int server)
{
	int fd;

	assert_true(ready(server, POLLIN, PASS_MS));
	fd = accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void assert_reset(int fd)
{
	char byte;

	assert_true(ready(fd, POLLIN, PASS_MS));
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static void assert_alive(int fd, int peer)
{
	char byte = 0;

	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), 1);
	assert_true(ready(peer, POLLIN, PASS_MS));
	assert_int_equal(recv(peer, &byte, 1, 0), 1);
	assert_int_equal(byte, 'x');
}

/* An IPv6 socket that leads to an IPv4 address. */
static int dial_mapped(int ns, const char *address, uint16_t port)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	int fd = open_socket(ns, AF_INET6, SOCK_STREAM, 0);
	char text[64];

	snprintf(text, sizeof(text), "::ffff:%s", address);
	assert_int_equal(inet_pton(AF_INET6, text, &to.sin6_addr), 1);
	assert_true(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS);
	assert_true(ready(fd, POLLOUT, PASS_MS));
	assert_int_equal(error_of(fd), 0);
	return fd;
}

static void test_both_ends_learn(void **state)
{
	autoclose server = serve(world_ns, WORLD4 ":80"), other = serve(world_ns, WORLD4 ":81");
	autoclose server6 = serve(world_ns, WORLD6 ":80");
	int fds[8], peers[8];

	(void)state;
	for (int i = 0; i < 3; i++) {
		fds[i] = dial(host_ns, WORLD4 ":80", PASS_MS);
		assert_true(fds[i] >= 0);
		peers[i] = accepted(server);
	}
	fds[3] = dial_mapped(host_ns, WORLD4, 80);
	peers[3] = accepted(server);
	fds[4] = dial(host_ns, WORLD4 ":81", PASS_MS);
	peers[4] = accepted(other);
	fds[5] = dial(host_ns, WORLD6 ":80", PASS_MS);
	peers[5] = accepted(server6);

	assert_int_equal(destroy_all(host_ns, WORLD4 ":80"), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(error_of(fds[i]), ECONNABORTED);
		assert_reset(peers[i]);
	}
	assert_alive(fds[4], peers[4]);
	assert_alive(fds[5], peers[5]);
	assert_int_equal(destroy_all(host_ns, WORLD4 ":80"), 0);
	assert_int_equal(destroy_all(host_ns, WORLD6 ":80"), 1);
	assert_int_equal(error_of(fds[5]), ECONNABORTED);
	assert_reset(peers[5]);
	assert_alive(fds[4], peers[4]);
	for (int i = 0; i < 6; i++) {
		close(fds[i]);
		close(peers[i]);
	}
	assert_int_equal(destroy_all(host_ns, WORLD4 ":81/udp"), 0);
}

/* A connect(2) that still waits: nobody answers at that address. */
static void test_connecting(void **state)
{
	struct bm_destination d = dest("198.51.100.99:80");
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	autoclose fd = open_socket(host_ns, AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(destroy_all(host_ns, "198.51.100.99:80"), 1);
	assert_true(ready(fd, POLLOUT, PASS_MS));
	assert_int_equal(error_of(fd), ECONNABORTED);
}

static bool in_time_wait(int ns, const char *text)
{
	autofree char *out = output(ns, "ss -Htan state time-wait");

	return strstr(out, text);
}

static void test_time_wait(void **state)
{
	autoclose server = serve(world_ns, WORLD4 ":82");
	int fd = dial(host_ns, WORLD4 ":82", PASS_MS), peer = accepted(server);
	char byte;

	(void)state;
	close(fd);
	assert_true(ready(peer, POLLIN, PASS_MS));
	assert_int_equal(recv(peer, &byte, 1, 0), 0);
	close(peer);
	for (int i = 0; i < 100 && !in_time_wait(host_ns, WORLD4 ":82"); i++)
		;
	assert_true(in_time_wait(host_ns, WORLD4 ":82"));
	assert_int_equal(destroy_all(host_ns, WORLD4 ":82"), 0);
	assert_false(in_time_wait(host_ns, WORLD4 ":82"));
}

static int connected_udp(const char *text, uint16_t from)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(from) };
	struct bm_destination d = dest(text);
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	int fd = open_socket(host_ns, address.ss_family, SOCK_DGRAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (from)
		assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, len), 0);
	return fd;
}

static void test_udp(void **state)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fds[6];

	(void)state;
	fds[0] = connected_udp(WORLD4 ":53/udp", 0);
	fds[1] = connected_udp(WORLD6 ":53/udp", 0);
	fds[2] = connected_udp(WORLD4 ":54/udp", 0);
	/* The same four numbers three times: a look-up by them finds one alone. */
	for (int i = 3; i < 6; i++)
		fds[i] = connected_udp(WORLD4 ":55/udp", 5555);
	assert_int_equal(destroy_all(host_ns, WORLD4 ":53/udp"), 1);
	assert_int_equal(error_of(fds[0]), ECONNABORTED);
	assert_int_equal(getpeername(fds[0], (struct sockaddr *)&peer, &len), -1);
	assert_int_equal(error_of(fds[1]), 0);
	assert_int_equal(destroy_all(host_ns, WORLD6 ":53/udp"), 1);
	assert_int_equal(error_of(fds[1]), ECONNABORTED);
	assert_int_equal(error_of(fds[2]), 0);
	assert_int_equal(destroy_all(host_ns, WORLD4 ":55/udp"), 3);
	for (int i = 3; i < 6; i++)
		assert_int_equal(error_of(fds[i]), ECONNABORTED);
	assert_int_equal(destroy_all(host_ns, WORLD4 ":54"), 0);
	assert_int_equal(error_of(fds[2]), 0);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
}

/* Of thousands at once, whatever their protocols, and no other. */
static void test_many(void **state)
{
	enum { MANY = 10000 };
	autoclose server = serve(world_ns, WORLD4 ":80"), other = serve(world_ns, WORLD4 ":81");
	autoclose server6 = serve(world_ns, WORLD6 ":82");
	autofree struct bm_destination *list = calloc(MANY, sizeof(*list));
	struct bm_error err = {};
	int fds[5], peers[4];
	size_t count = 0;

	(void)state;
	assert_non_null(list);
	for (size_t i = 0; i < MANY; i++) {
		list[i] = dest(i % 2 ? "192.0.2.1:1000" : "[2001:db8:9::1]:1000");
		list[i].port = (uint16_t)(1000 + i);
	}
	list[17] = dest(WORLD4 ":80");
	list[18] = dest(WORLD4 ":80");
	list[5000] = dest(WORLD6 ":82");
	list[MANY - 1] = dest(WORLD4 ":53/udp");
	fds[0] = dial(host_ns, WORLD4 ":80", PASS_MS);
	peers[0] = accepted(server);
	fds[1] = dial_mapped(host_ns, WORLD4, 80);
	peers[1] = accepted(server);
	fds[2] = dial(host_ns, WORLD6 ":82", PASS_MS);
	peers[2] = accepted(server6);
	fds[3] = dial(host_ns, WORLD4 ":81", PASS_MS);
	peers[3] = accepted(other);
	fds[4] = connected_udp(WORLD4 ":53/udp", 0);
	ok(bm_sockets_destroy(&(struct bm_sockets){ .netns = host_ns }, list, MANY, &count, &err),
	   &err);
	assert_int_equal(count, 4);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(error_of(fds[i]), ECONNABORTED);
		assert_reset(peers[i]);
	}
	assert_int_equal(error_of(fds[4]), ECONNABORTED);
	assert_alive(fds[3], peers[3]);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	for (int i = 0; i < 4; i++)
		close(peers[i]);
	ok(bm_sockets_destroy(&(struct bm_sockets){ .netns = host_ns }, NULL, 0, &count, &err),
	   &err);
	assert_int_equal(count, 0);
}

static void test_mptcp(void **state)
{
	struct bm_destination d = dest(WORLD4 ":83");
	struct sockaddr_storage address;
	socklen_t len = sockaddr_of(&d, &address);
	autoclose server = serve(world_ns, WORLD4 ":83"), fd = -1, peer = -1;

	(void)state;
	fd = open_socket(host_ns, AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	connect(fd, (struct sockaddr *)&address, len);
	assert_true(ready(fd, POLLOUT, PASS_MS));
	peer = accepted(server);
	assert_int_equal(destroy_all(host_ns, WORLD4 ":83"), 1);
	/* That server has fallen back to TCP: it is told at once. */
	assert_reset(peer);
}

static void move_to(const char *cgroup)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s/cgroup.procs", bm_cgroup_root(), cgroup);
	assert_int_equal(bm_write_file(AT_FDCWD, path, 0, 0, "0"), 0);
}

/* In a namespace of others: theirs to the same place live on. */
static void test_shared(void **state)
{
	static const char *const dirs[] = { "diag-test", "diag-test/in", "diag-other" };
	static const char *const places[] = { "/diag-test", "/diag-test/in", "/diag-other", "" };
	autoclose server = serve(world_ns, WORLD4 ":84");
	struct bm_sockets of = { .netns = host_ns };
	autocgroup cgroup = BM_CGROUP_NONE;
	autofree uint64_t *ids = NULL;
	struct bm_error err = {};
	int fds[4], peers[4];
	char path[256];

	(void)state;
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", bm_cgroup_root(), dirs[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	for (int i = 0; i < 4; i++) {
		move_to(places[i]);
		fds[i] = dial(host_ns, WORLD4 ":84", PASS_MS);
		assert_true(fds[i] >= 0);
		peers[i] = accepted(server);
	}
	ok(bm_cgroup_open("/diag-test", &cgroup, &err), &err);
	assert_int_equal(bm_cgroup_ids(&cgroup, &ids, &of.cgroup_count), 0);
	assert_int_equal(of.cgroup_count, 2);
	assert_int_equal(ids[0], cgroup.id);
	of.cgroups = ids;
	assert_int_equal(destroy(&of, WORLD4 ":84"), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(error_of(fds[i]), ECONNABORTED);
		assert_reset(peers[i]);
	}
	assert_alive(fds[2], peers[2]);
	assert_alive(fds[3], peers[3]);
	for (int i = 0; i < 4; i++) {
		close(fds[i]);
		close(peers[i]);
	}
	ok(bm_cgroup_remove("/diag-test", &err), &err);
	ok(bm_cgroup_remove("/diag-other", &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends_learn),
		cmocka_unit_test(test_connecting),
		cmocka_unit_test(test_time_wait),
		cmocka_unit_test(test_udp),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_mptcp),
		cmocka_unit_test(test_shared),
	};

	return cmocka_run_group_tests_name("sockdiag", tests, make_world, NULL);
}
