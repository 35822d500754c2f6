// SPDX-License-Identifier: GPL-2.0-only
/* DNS answers, written byte by byte; the way to them is in tests/e2e/cases/profiles.sh. */
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "network/resolve.h"

struct packet {
	uint8_t bytes[8192];
	size_t len;
};

static void put16(struct packet *p, unsigned value)
{
	p->bytes[p->len++] = (uint8_t)(value >> 8);
	p->bytes[p->len++] = (uint8_t)value;
}

static void put32(struct packet *p, uint32_t value)
{
	put16(p, value >> 16);
	put16(p, value & 0xffff);
}

static size_t name_bytes(const char *name, uint8_t *to)
{
	size_t len = 0;

	while (*name) {
		size_t label = strcspn(name, ".");

		to[len++] = (uint8_t)label;
		memcpy(to + len, name, label);
		len += label;
		name += label + (name[label] == '.');
	}
	to[len++] = 0;
	return len;
}

static void put_name(struct packet *p, const char *name)
{
	p->len += name_bytes(name, p->bytes + p->len);
}

/* A question for name, and so many answers to come. */
static struct packet start(const char *name, int type, unsigned answers)
{
	struct packet p = {};

	put16(&p, 0x1234);
	put16(&p, 0x8180); /* an answer, no error */
	put16(&p, 1);
	put16(&p, answers);
	put32(&p, 0);
	put_name(&p, name);
	put16(&p, (unsigned)type);
	put16(&p, ns_c_in);
	return p;
}

static void put_record(struct packet *p, const char *owner, int type, uint32_t ttl,
		       const void *data, size_t len)
{
	put_name(p, owner);
	put16(p, (unsigned)type);
	put16(p, ns_c_in);
	put32(p, ttl);
	put16(p, (unsigned)len);
	memcpy(p->bytes + p->len, data, len);
	p->len += len;
}

static void put_a(struct packet *p, const char *owner, uint32_t ttl, const char *address)
{
	uint8_t bytes[4];

	assert_int_equal(inet_pton(AF_INET, address, bytes), 1);
	put_record(p, owner, ns_t_a, ttl, bytes, sizeof(bytes));
}

static void put_aaaa(struct packet *p, const char *owner, uint32_t ttl, const char *address)
{
	uint8_t bytes[16];

	assert_int_equal(inet_pton(AF_INET6, address, bytes), 1);
	put_record(p, owner, ns_t_aaaa, ttl, bytes, sizeof(bytes));
}

static void put_cname(struct packet *p, const char *owner, uint32_t ttl, const char *target)
{
	uint8_t bytes[256];
	size_t len = name_bytes(target, bytes);

	put_record(p, owner, ns_t_cname, ttl, bytes, len);
}

static int parse(const struct packet *p, int type, struct bm_resolved *ret)
{
	return bm_resolve_parse(p->bytes, p->len, type, ret);
}

static void expect(const struct bm_resolved *r, size_t i, const char *address, uint32_t ttl)
{
	char text[INET6_ADDRSTRLEN];

	assert_true(i < r->count);
	inet_ntop(AF_INET6, r->addresses[i].address, text, sizeof(text));
	assert_string_equal(text, address);
	assert_int_equal(r->addresses[i].ttl, ttl);
}

static void plain(void **state)
{
	struct bm_resolved r = { .host = "a.test" };
	struct packet p = start("a.test", ns_t_a, 3);

	(void)state;
	put_a(&p, "A.Test", 300, "192.0.2.1");
	put_a(&p, "a.test", 60, "192.0.2.2");
	put_a(&p, "a.test", 60, "192.0.2.1");
	assert_int_equal(parse(&p, ns_t_a, &r), 0);
	assert_int_equal(r.count, 2);
	expect(&r, 0, "::ffff:192.0.2.1", 60);
	expect(&r, 1, "::ffff:192.0.2.2", 60);

	p = start("a.test", ns_t_aaaa, 1);
	put_aaaa(&p, "a.test", 30, "2001:db8::1");
	assert_int_equal(parse(&p, ns_t_aaaa, &r), 0);
	expect(&r, 2, "2001:db8::1", 30);
	/* The same again, with less time left. */
	p = start("a.test", ns_t_a, 1);
	put_a(&p, "a.test", 7, "192.0.2.2");
	assert_int_equal(parse(&p, ns_t_a, &r), 0);
	assert_int_equal(r.count, 3);
	expect(&r, 1, "::ffff:192.0.2.2", 7);
}

static void aliases(void **state)
{
	struct bm_resolved r = { .host = "a.test" };
	struct packet p = start("a.test", ns_t_a, 4);

	(void)state;
	put_a(&p, "C.test", 300, "192.0.2.3");
	put_cname(&p, "b.test", 9, "c.test");
	put_cname(&p, "a.test", 50, "B.test");
	put_a(&p, "other.test", 1, "192.0.2.4");
	assert_int_equal(parse(&p, ns_t_a, &r), 0);
	assert_int_equal(r.count, 1);
	expect(&r, 0, "::ffff:192.0.2.3", 9);
}

/* Of another name, class or kind: not ours, whatever it says. */
static void strangers(void **state)
{
	struct bm_resolved r = { .host = "a.test" };
	struct packet p = start("a.test", ns_t_a, 3);
	size_t at;

	(void)state;
	put_a(&p, "b.test", 300, "192.0.2.1");
	put_aaaa(&p, "a.test", 300, "2001:db8::1");
	at = p.len;
	put_a(&p, "a.test", 300, "192.0.2.2");
	p.bytes[at + 8 + 3] = ns_c_chaos;
	assert_int_equal(parse(&p, ns_t_a, &r), 0);
	assert_int_equal(r.count, 0);
}

static void circles(void **state)
{
	struct bm_resolved r = { .host = "a.test" };
	struct packet p = start("a.test", ns_t_a, 3);

	(void)state;
	put_cname(&p, "a.test", 1, "b.test");
	put_cname(&p, "b.test", 1, "a.test");
	put_a(&p, "a.test", 1, "192.0.2.1");
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	p = start("a.test", ns_t_a, 1);
	put_cname(&p, "a.test", 1, "a.test");
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	assert_int_equal(r.count, 0);
}

static void broken(void **state)
{
	struct packet p = start("a.test", ns_t_a, 1), good;
	struct bm_resolved r = { .host = "a.test" };

	(void)state;
	put_a(&p, "a.test", 1, "192.0.2.1");
	good = p;
	p.bytes[2] &= 0x7f; /* a question */
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	p = good;
	p.bytes[2] |= 0x02; /* cut off */
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	p = good;
	p.bytes[3] |= ns_r_servfail;
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	p = good;
	put16(&p, 0); /* bytes that nothing announces */
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	for (size_t len = 0; len < good.len; len++)
		assert_int_equal(bm_resolve_parse(good.bytes, len, ns_t_a, &r), -EBADMSG);
	p = start("a.test", ns_t_a, 1);
	put_record(&p, "a.test", ns_t_a, 1, "\300\0\2", 3);
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	p = start("a.test", ns_t_aaaa, 1);
	put_record(&p, "a.test", ns_t_aaaa, 1, "\300\0\2\1", 4);
	assert_int_equal(parse(&p, ns_t_aaaa, &r), -EBADMSG);
	p = start("a.test", ns_t_a, 1);
	put_record(&p, "a.test", ns_t_cname, 1, "\300\377", 2); /* beyond the message */
	assert_int_equal(parse(&p, ns_t_a, &r), -EBADMSG);
	assert_int_equal(r.count, 0);
}

static void many(void **state)
{
	struct packet p = start("a.test", ns_t_a, BM_RESOLVE_ADDRESSES + 1);
	struct bm_resolved r = { .host = "a.test" };
	char address[32];

	(void)state;
	for (int i = 0; i <= BM_RESOLVE_ADDRESSES; i++) {
		snprintf(address, sizeof(address), "192.0.2.%d", i);
		put_a(&p, "a.test", 1, address);
	}
	assert_int_equal(parse(&p, ns_t_a, &r), -E2BIG);
	assert_int_equal(r.count, BM_RESOLVE_ADDRESSES);
	p.bytes[7]--;
	p.len -= 8 + 10 + 4;
	r.count = 0;
	assert_int_equal(parse(&p, ns_t_a, &r), 0);
	assert_int_equal(r.count, BM_RESOLVE_ADDRESSES);
}

static void counts(void **state)
{
	static const char *const hosts[BM_RESOLVE_HOSTS + 1];
	struct bm_resolving resolving = { .socket = -1 };
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_resolve_start(hosts, 0, &resolving, NULL), -E2BIG);
	assert_int_equal(bm_resolve_start(hosts, BM_RESOLVE_HOSTS + 1, &resolving, &err), -E2BIG);
	assert_string_equal(err.message, "513 hosts, not 1 to 512");
	assert_int_equal(resolving.socket, -1);
}

/* --- the helper that is not waited for -----------------------------------------------------------
 */

static int count_fds(void *arg, int *ret_fd, struct bm_error *err)
{
	int open = 0;

	(void)ret_fd;
	(void)err;
	for (int fd = 3; fd < 64; fd++)
		open += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
	return lseek(*(int *)arg, 0, SEEK_CUR) >= 0 || errno != EBADF ? open : -EBADF;
}

static int hang(void *arg, int *ret_fd, struct bm_error *err)
{
	(void)arg;
	(void)ret_fd;
	(void)err;
	return pause();
}

static void kept_fds(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		autoclose a = dup(2), b = dup(2), c = dup(2), d = dup(2), socket = -1;
		int list[] = { a, b, c, d }, keep = i < 4 ? list[i] : -1;
		pid_t pid;

		assert_int_equal(bm_helper_start(count_fds, &keep, keep, &socket, &pid, NULL), 0);
		/* Its own socket is one. */
		assert_int_equal(bm_helper_await(socket, pid, 10000, NULL, NULL),
				 keep < 0 ? -EBADF : 2);
	}
}

static void given_up(void **state)
{
	int socket = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(bm_helper_start(hang, NULL, -1, &socket, &pid, NULL), 0);
	bm_helper_end(&socket, pid);
	assert_int_equal(socket, -1);
	assert_int_equal(kill(pid, 0), -1);
	bm_helper_end(&socket, pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),   cmocka_unit_test(aliases),  cmocka_unit_test(strangers),
		cmocka_unit_test(circles), cmocka_unit_test(broken),   cmocka_unit_test(many),
		cmocka_unit_test(counts),  cmocka_unit_test(kept_fds), cmocka_unit_test(given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
