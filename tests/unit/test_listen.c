// SPDX-License-Identifier: GPL-2.0-only
/* Who may open connections to a port of a Bench, by nft, on the running kernel (root). */
#include <netinet/ip.h>
#include <netinet/tcp.h>

#include "network/peer.h"
#include "network/sockdiag.h"
#include "network_lab.h"

/* The pair of Bench 7. */
#define OWN_HOST "10.209.0.14"
#define OWN_BENCH "10.209.0.15"
#define OWN_HOST6 "fd62:656e:6368::e"
#define OWN_BENCH6 "[fd62:656e:6368::f]"

enum layers { BOTH, BENCH_ALONE, LINK_ALONE, LAYERS };

static struct bm_destination listens(const char *peer, uint16_t port, uint8_t protocol)
{
	struct bm_destination d = { .port = port, .protocol = protocol };
	struct bm_error err = {};

	ok(bm_peer_parse(peer, &d, &err), &err);
	return d;
}

static void change(const struct bm_destination *d,
		   int (*fn)(const struct bm_nft *, const struct bm_destination *, size_t,
			     struct bm_error *),
		   enum layers layers)
{
	struct bm_nft link = bm_link_nft(7);
	struct bm_error err = {};

	if (layers != BENCH_ALONE)
		ok(fn(&link, d, 1, &err), &err);
	if (layers != LINK_ALONE)
		ok(fn(NFT(bench_ns), d, 1, &err), &err);
}

static void open_port(const char *peer, uint16_t port, uint8_t protocol, enum layers layers)
{
	struct bm_destination d = listens(peer, port, protocol);
	struct bm_error err = {};

	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	change(&d, bm_nft_add, layers);
}

/* Both tables, with a link; then one of them goes. */
static void begin(enum layers layers)
{
	struct bm_destination d = listens(OWN_HOST, 1, IPPROTO_TCP);
	struct bm_destination d6 = listens(OWN_HOST6, 1, IPPROTO_TCP);
	struct bm_nft link = bm_link_nft(7);
	struct bm_error err = {};

	ok(bm_nft_setup(NFT(bench_ns), &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d, 1, &err), &err);
	ok(bm_link_setup(bench_ns, 7, &d6, 1, &err), &err);
	if (layers == BENCH_ALONE)
		ok(bm_nft_destroy(&link, &err), &err);
	if (layers == LINK_ALONE)
		ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

static void end(void)
{
	struct bm_error err = {};

	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(NFT(bench_ns), &err), &err);
}

static void bind_to(int fd, const char *address, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
}

/* From an address and port of its own; a connected socket, or -1. */
static int dial_from(int ns, const char *address, uint16_t port, const char *to, int ms)
{
	struct bm_destination d = dest(to);
	struct sockaddr_storage ss;
	socklen_t len = sockaddr_of(&d, &ss), size = sizeof(int);
	autoclose fd = open_socket(ns, AF_INET, SOCK_STREAM, 0);
	int error = 0;

	bind_to(fd, address, port);
	if (connect(fd, (struct sockaddr *)&ss, len) < 0 && errno != EINPROGRESS)
		return -1;
	if (!ready(fd, POLLOUT, ms) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ||
	    error)
		return -1;
	return TAKE_FD(fd);
}

static bool comes_from(int ns, const char *address, uint16_t port, const char *to, int ms)
{
	autoclose fd = dial_from(ns, address, port, to, ms);

	return fd >= 0;
}

/* A bare header from the Bench's port 8080 to the host's 5555. */
static void raw_tcp(uint8_t flags)
{
	autoclose fd = open_socket(bench_ns, AF_INET, SOCK_RAW, IPPROTO_TCP);
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct tcphdr tcp = { .source = htons(8080), .dest = htons(5555), .doff = 5 };

	((uint8_t *)&tcp)[13] = flags;
	assert_int_equal(inet_pton(AF_INET, OWN_HOST, &to.sin_addr), 1);
	sendto(fd, &tcp, sizeof(tcp), 0, (struct sockaddr *)&to, sizeof(to));
}

static void try_tcp(enum layers layers)
{
	autoclose server = -1, beside = -1, server6 = -1, theirs = -1, sniffer = -1;
	uint8_t syns[] = { TH_SYN, TH_SYN | TH_FIN, TH_SYN | TH_RST, TH_SYN | TH_PUSH };

	begin(layers);
	server = serve(bench_ns, "0.0.0.0:8080");
	beside = serve(bench_ns, "0.0.0.0:8081");
	server6 = serve(bench_ns, "[::]:8080");
	theirs = serve(host_ns, "0.0.0.0:5555");
	assert_true(blocked(host_ns, OWN_BENCH ":8080"));
	open_port(OWN_HOST, 8080, IPPROTO_TCP, layers);
	assert_true(connects(host_ns, OWN_BENCH ":8080"));
	assert_true(blocked(host_ns, OWN_BENCH ":8081"));
	assert_true(blocked(host_ns, OWN_BENCH6 ":8080"));
	/* Another address of the same machine is another peer. */
	assert_false(comes_from(host_ns, HOST4, 0, OWN_BENCH ":8080", BLOCK_MS));
	open_port(HOST4, 8080, IPPROTO_TCP, layers);
	assert_true(comes_from(host_ns, HOST4, 0, OWN_BENCH ":8080", PASS_MS));
	open_port(OWN_HOST6, 8080, IPPROTO_TCP, layers);
	assert_true(connects(host_ns, OWN_BENCH6 ":8080"));
	close(TAKE_FD(server));
	/* Nothing is opened from there, by whatever; and no port is an exception. */
	sniffer = sniff(host_ns, "bm7", ETH_P_IP);
	assert_false(comes_from(bench_ns, OWN_BENCH, 8080, OWN_HOST ":5555", BLOCK_MS));
	assert_false(comes_from(bench_ns, OWN_BENCH, 0, OWN_HOST ":5555", BLOCK_MS));
	for (size_t i = 0; i < sizeof(syns); i++)
		raw_tcp(syns[i]);
	assert_int_equal(sniffed(sniffer, 0), layers == LINK_ALONE ? 6 : 0);
	raw_tcp(TH_ACK);
	assert_int_equal(sniffed(sniffer, 1), 1);
	end();
}

static void test_tcp(void **state)
{
	(void)state;
	for (enum layers layers = BOTH; layers < LAYERS; layers++)
		try_tcp(layers);
}

/* From fd to ADDRESS:PORT; whether it arrived at the other one. */
static bool says(int fd, const char *to, int other, int ms)
{
	struct bm_destination d = dest(to);
	struct sockaddr_storage ss;
	socklen_t len = sockaddr_of(&d, &ss);
	char byte;

	sendto(fd, "x", 1, 0, (struct sockaddr *)&ss, len);
	return ready(other, POLLIN, ms) && recv(other, &byte, 1, 0) == 1;
}

/* Only who has asked is answered, and there alone. */
static void try_udp(enum layers layers)
{
	autoclose server = -1, client = -1, service = -1;

	begin(layers);
	server = serve(bench_ns, OWN_BENCH ":5000/udp");
	client = serve(host_ns, OWN_HOST ":6000/udp");
	service = serve(host_ns, OWN_HOST ":53/udp");
	open_port(OWN_HOST, 5000, IPPROTO_UDP, layers);
	assert_false(says(server, OWN_HOST ":6000/udp", client, BLOCK_MS));
	assert_true(says(client, OWN_BENCH ":5000/udp", server, PASS_MS));
	assert_true(says(server, OWN_HOST ":6000/udp", client, PASS_MS));
	assert_false(says(server, OWN_HOST ":53/udp", service, BLOCK_MS));
	assert_false(says(server, HOST4 ":6000/udp", client, BLOCK_MS));
	{
		struct bm_destination d = listens(OWN_HOST, 5000, IPPROTO_UDP);

		change(&d, bm_nft_remove, layers);
	}
	assert_false(says(server, OWN_HOST ":6000/udp", client, BLOCK_MS));
	assert_false(says(client, OWN_BENCH ":5000/udp", server, BLOCK_MS));
	end();
}

static void test_udp(void **state)
{
	(void)state;
	for (enum layers layers = BOTH; layers < LAYERS; layers++)
		try_udp(layers);
}

/* What is taken back stops at once, and both ends learn; who else is connected goes on. */
static void test_taken_back(void **state)
{
	struct bm_sockets of = { .netns = bench_ns };
	struct bm_destination d = listens(OWN_HOST, 8080, IPPROTO_TCP);
	autoclose server = -1;
	struct bm_error err = {};
	int fds[3], peers[2];
	size_t count;
	char byte;

	(void)state;
	begin(BOTH);
	server = serve(bench_ns, "0.0.0.0:8080");
	open_port(OWN_HOST, 8080, IPPROTO_TCP, BOTH);
	open_port(HOST4, 8080, IPPROTO_TCP, BOTH);
	for (int i = 0; i < 2; i++) {
		fds[i] = dial_from(host_ns, i ? HOST4 : OWN_HOST, 0, OWN_BENCH ":8080", PASS_MS);
		assert_true(fds[i] >= 0);
		assert_true(ready(server, POLLIN, PASS_MS));
		peers[i] = accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		assert_true(peers[i] >= 0);
	}
	/* And one that nobody has accepted. */
	fds[2] = dial_from(host_ns, OWN_HOST, 0, OWN_BENCH ":8080", PASS_MS);
	assert_true(fds[2] >= 0);
	ok(bm_sockets_destroy(&of, &d, 1, &count, &err), &err);
	assert_int_equal(count, 2);
	for (int i = 0; i < 3; i += 2) {
		assert_true(ready(fds[i], POLLIN, PASS_MS));
		assert_int_equal(recv(fds[i], &byte, 1, 0), -1);
		assert_int_equal(errno, ECONNRESET);
	}
	assert_int_equal(send(peers[0], "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(send(peers[1], "x", 1, MSG_NOSIGNAL), 1);
	assert_true(ready(fds[1], POLLIN, PASS_MS));
	change(&d, bm_nft_remove, BOTH);
	assert_true(comes_from(host_ns, HOST4, 0, OWN_BENCH ":8080", PASS_MS));
	assert_false(comes_from(host_ns, OWN_HOST, 0, OWN_BENCH ":8080", BLOCK_MS));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	close(peers[0]);
	close(peers[1]);
	end();
}

/* Who is beyond the host has no way to a link, and none is made for him. */
static void test_peers(void **state)
{
	static const char *const refused[] = { WORLD4, "203.0.113.9", OWN_BENCH, "10.209.0.16",
					       "2001:db8:1::10" };
	struct bm_destination *list = NULL, d;
	struct bm_nft link = bm_link_nft(7);
	struct bm_error err = {};
	size_t count;

	(void)state;
	remember();
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		d = listens(refused[i], 8080, IPPROTO_TCP);
		err = (struct bm_error){};
		assert_int_equal(bm_link_setup(bench_ns, 7, &d, 1, &err), -EPERM);
		assert_non_null(strstr(err.message, " is not this host"));
		assert_int_equal(bm_link_peer(7, &d, &err), -EPERM);
	}
	assert_unchanged();
	begin(BOTH);
	d = listens(OWN_HOST6, 8080, IPPROTO_TCP);
	change(&d, bm_nft_add, BOTH);
	ok(bm_nft_list(&link, &list, &count, &err), &err);
	assert_int_equal(count, 1);
	assert_true(bm_destination_equal(list, &d));
	free(list);
	/* The same address and port in the other direction is another matter. */
	d.listens = false;
	ok(bm_nft_remove(&link, &d, 1, &err), &err);
	ok(bm_nft_list(&link, &list, &count, &err), &err);
	assert_int_equal(count, 1);
	free(list);
	end();
	assert_unchanged();
}

static uint64_t refused_by(const struct bm_nft *nft)
{
	struct bm_error err = {};
	uint64_t packets = 0;

	ok(bm_nft_refused(nft, &packets, &err), &err);
	return packets;
}

/* A Bench that learns: TCP and UDP pass, and are not counted as refused; nobody comes in. */
static void test_learns(void **state)
{
	struct bm_nft learns = { .netns = bench_ns, .learns = true }, link = bm_link_nft(7);
	autoclose server = serve(host_ns, HOST4 ":80/udp"), listener = serve(host_ns, HOST4 ":80");
	autoclose inside = -1;
	struct bm_error err = {};
	uint64_t packets;

	(void)state;
	ok(bm_nft_setup(&learns, &err), &err);
	grant(bench_ns, 7, HOST4 ":9090");
	/* The link's own end holds as ever: a network that a container brings has none. */
	assert_true(blocked(bench_ns, HOST4 ":80"));
	ok(bm_nft_destroy(&link, &err), &err);
	packets = refused_by(&learns);
	assert_true(connects(bench_ns, HOST4 ":80"));
	assert_true(datagram(bench_ns, HOST4 ":80/udp", server, 10, PASS_MS));
	assert_int_equal(refused_by(&learns), packets);
	inside = serve(bench_ns, "10.209.0.15:23");
	assert_true(blocked(host_ns, "10.209.0.15:23"));
	assert_true(refused_by(&learns) > packets);
	ok(bm_link_destroy(7, &err), &err);
	ok(bm_nft_destroy(&learns, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tcp),        cmocka_unit_test(test_udp),
		cmocka_unit_test(test_taken_back), cmocka_unit_test(test_peers),
		cmocka_unit_test(test_learns),
	};

	return cmocka_run_group_tests_name("listen", tests, make_world, NULL);
}
