// SPDX-License-Identifier: GPL-2.0-only
/* A broker grant: as the ledger has it, through its life and a new file; its endpoint; whose
 * credential it is. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "gatekeeperd/broker.h"
#include "gatekeeperd/destinations.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/shrink.h"
#include "ledger_model.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BEGIN                                                                                      \
	"{'bench':'b1','bench_id':1,'origin':'created','slot':0,'created':'2026-01-31T12:00:00Z'," \
	"'exec':'own'}"
#define GRANT                                                                                      \
	"'bench':'b1','bench_id':1,'id':'b1/2','kind':'broker','created':'now',"                   \
	"'confirmed':{'uid':0,'how':'yes'},'broker':'model','endpoint':'127.98.109.1:80',"         \
	"'host':'model.broker','upstream':'up.test:443','addresses':['192.0.2.1','2001:db8::1'],"  \
	"'definition':'" DIGEST "','credential':'/etc/x','env':{'URL':'http://model.broker'},"     \
	"'limits':{'requests':32,'rate':60,'concurrent':4,'seconds':9},"                           \
	"'calls':{'count':0,'refused':0,'bytes_in':0,'bytes_out':0}"
#define COUNTED "'calls':{'count':7,'refused':2,'bytes_in':10,'bytes_out':500}"

static void begun(void)
{
	say("create", BEGIN);
	say("ready", "{'bench':'b1','bench_id':1,'pid':1,'pid_start':1}");
}

static struct grant *granted(void)
{
	struct bench *bench = model_find(&d.model, "b1");

	assert_non_null(bench);
	return bench_grant(bench, 2);
}

static void test_lives(void **state)
{
	const struct bm_destination endpoint = bm_endpoint(1);
	struct bm_dest dest = { .grant = 2 };
	struct bm_dest_key key;
	struct bm_keep keep;
	struct grant *g;
	char old[64];

	(void)state;
	begun();
	say("grant", "{" GRANT "}");
	replayed();
	g = granted();
	assert_non_null(g);
	assert_int_equal(g->kind, GRANT_BROKER);
	assert_string_equal(g->broker->name, "model");
	assert_string_equal(g->broker->upstream, "up.test:443");
	assert_int_equal(g->broker->address_count, 2);
	assert_int_equal(g->broker->limits.requests, 32);
	assert_int_equal(g->broker->limits.bytes, 0);
	assert_int_equal(g->broker->limits.concurrent, 4);
	assert_int_equal(g->broker->addresses[0][15], 1);
	assert_int_equal(g->broker->addresses[1][0], 0x20);
	assert_int_equal(g->broker->variable_count, 1);
	assert_string_equal(g->broker->variables[0].value, "http://model.broker");
	assert_true(grant_reaches(g, &endpoint));
	assert_true(grant_has_destinations(g) && !grant_has_way(g));
	assert_true(grant_kind_is_egress(GRANT_BROKER));
	/* In the kernel it may have its endpoint, and nothing beside it. */
	key = bench_dest_key(model_find(&d.model, "b1"), &endpoint);
	assert_int_equal(key.side, BM_SIDE_OUT);
	keep = replay_keep(&d.model);
	assert_true(keep.dest(keep.ctx, &key, &dest));
	key.port = htons(81);
	assert_false(keep.dest(keep.ctx, &key, &dest));
	key.port = htons(80);
	key.address[15] = 2;
	assert_false(keep.dest(keep.ctx, &key, &dest));

	/* How far it was counted; and whether the daemon that did so had time to say it. */
	assert_false(g->broker->stopped);
	say("broker", "{'bench':'b1','bench_id':1,'grant':2,'what':'stopped'," COUNTED "}");
	replayed();
	assert_true(granted()->broker->stopped);
	assert_int_equal(granted()->broker->count.calls, 7);
	assert_int_equal(granted()->broker->count.refused, 2);
	say("broker", "{'bench':'b1','bench_id':1,'grant':2,'what':'adopted'," COUNTED "}");
	replayed();
	assert_false(granted()->broker->stopped);

	/* Nobody counted what was carried when it, or the daemon, was killed. */
	g = granted();
	assert_int_equal(broker_used_calls(g->broker), 5);
	assert_int_equal(broker_used_bytes(g->broker), 510);
	broker_charge(g->broker, false);
	assert_int_equal(broker_used_calls(g->broker), 5 + 4);
	broker_charge(g->broker, true);
	assert_int_equal(broker_used_calls(g->broker), 5 + 4 + 4 + 3);
	assert_int_equal(broker_used_bytes(g->broker), 510);
	g->broker->limits.bytes = 1600;
	broker_charge(g->broker, true);
	assert_int_equal(broker_used_bytes(g->broker), 510 + 101);

	/* In a new file it is what it was. */
	assert_int_equal(ledger_rotate(&d, old, NULL), 0);
	replayed();
	assert_int_equal(broker_used_calls(granted()->broker), 5 + 4 + 4 + 3 + 4 + 3);
	assert_int_equal(broker_used_bytes(granted()->broker), 510 + 101);
	assert_int_equal(granted()->broker->count.bytes_out, 500);

	say("revoke", "{'bench':'b1','bench_id':1,'grant':2,'sockets':1," COUNTED "}");
	replayed();
	assert_null(granted());
	assert_int_equal(json_object_array_length(model_find(&d.model, "b1")->history), 1);
}

static void wrong(const char *fields)
{
	char *text = strdup(fields);
	struct grant *g = NULL;
	autojson *json = NULL;

	assert_non_null(text);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_int_equal(bm_json_parse(text, strlen(text), "fields", &json, NULL), 0);
	assert_int_equal(grant_from_json(json, &g), -EBADMSG);
	assert_null(g);
	free(text);
}

#define BUT_LIMITS(endpoint, addresses, env, limits)                                               \
	"{'id':'b1/2','kind':'broker','created':'now','confirmed':{'uid':0,'how':'yes'},"          \
	"'broker':'model','endpoint':'" endpoint                                                   \
	"','upstream':'up.test:443','addresses':" addresses ",'definition':'" DIGEST               \
	"','credential':'/etc/x','env':" env ",'limits':" limits                                   \
	",'calls':{'count':0,'refused':0,'bytes_in':0,'bytes_out':0}}"

#define BUT(endpoint, addresses, env) BUT_LIMITS(endpoint, addresses, env, "{'rate':1}")

static void test_senseless(void **state)
{
	(void)state;
	wrong(BUT("127.0.0.1:80", "['192.0.2.1']", "{}"));
	wrong(BUT("127.98.109.1:81", "['192.0.2.1']", "{}"));
	wrong(BUT("127.98.109.0:80", "['192.0.2.1']", "{}"));
	wrong(BUT("127.98.109.255:80", "['192.0.2.1']", "{}"));
	wrong(BUT("127.98.109.1:80/udp", "['192.0.2.1']", "{}"));
	wrong(BUT("127.98.109.1:80", "[]", "{}"));
	wrong(BUT("127.98.109.1:80", "['up.test']", "{}"));
	wrong(BUT("127.98.109.1:80", "[7]", "{}"));
	wrong(BUT("127.98.109.1:80", "['192.0.2.1']", "[]"));
	wrong(BUT("127.98.109.1:80", "['192.0.2.1']", "{'A':1}"));
	wrong(BUT_LIMITS("127.98.109.1:80", "['192.0.2.1']", "{}", "{'rate':0}"));
	wrong(BUT_LIMITS("127.98.109.1:80", "['192.0.2.1']", "{}", "7"));
}

static void test_endpoints(void **state)
{
	struct bm_destination d80 = bm_endpoint(7), other = d80;

	(void)state;
	assert_true(bm_endpoint_is(&d80));
	other.port = 81;
	assert_false(bm_endpoint_is(&other));
	assert_true(bm_endpoint_range(&other));
	other = d80;
	other.protocol = IPPROTO_UDP;
	assert_false(bm_endpoint_is(&other));
	other = d80;
	other.address[14]++;
	assert_false(bm_endpoint_range(&other));
	/* The programs and nft know the same ones. */
	assert_int_equal(d80.address[12], BM_ENDPOINT_0);
	assert_int_equal(d80.address[13], BM_ENDPOINT_1);
	assert_int_equal(d80.address[14], BM_ENDPOINT_2);
	/* No profile holds one, and nobody is granted one by its address. */
	assert_int_equal(bm_destination_check(&d80, true, NULL), -EPERM);
}

static int bound(const char *address, bool listens)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(80) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || (listens && listen(fd, 1) < 0)) {
		close(fd);
		return -errno;
	}
	return fd;
}

/* Where it listens: taken, given back for a while and had again, all the while nobody else's. */
static void test_open(void **state)
{
	const struct bm_destination endpoint = bm_endpoint(3);
	struct bm_error err = {};
	int fd = -1, again = -1, other, ns;

	(void)state;
	if (geteuid() != 0 || unshare(CLONE_NEWNET) < 0)
		fail_msg("needs root");
	ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	assert_true(ns >= 0);
	assert_int_equal(bm_endpoint_open(ns, &endpoint, &fd, &err), 0);
	assert_int_equal(bm_endpoint_open(ns, &endpoint, &again, &err), -EADDRINUSE);
	assert_string_equal(err.rule, "broker-endpoint");
	assert_non_null(strstr(err.message, "127.98.109.3:80/tcp"));
	assert_int_equal(bound("127.98.109.3", true), -EADDRINUSE);
	assert_int_equal(bound("0.0.0.0", true), -EADDRINUSE);
	/* Another address is free. */
	other = bound("127.0.0.1", true);
	assert_true(other >= 0);
	close(other);
	assert_int_equal(bm_endpoint_shut(fd, NULL), 0);
	assert_int_equal(bm_endpoint_shut(fd, NULL), 0);
	assert_int_equal(bm_endpoint_reopen(fd, &endpoint, NULL), 0);
	assert_int_equal(bound("127.98.109.3", true), -EADDRINUSE);
	close(fd);
	other = bound("0.0.0.0", true);
	assert_true(other >= 0);
	err = (struct bm_error){};
	assert_int_equal(bm_endpoint_open(ns, &endpoint, &fd, &err), -EADDRINUSE);
	close(other);
	close(ns);
}

static void credential(mode_t mode, const char *text, int wanted, const char *message)
{
	char path[128];
	struct bm_error err = {};
	int fd;

	snprintf(path, sizeof(path), "%s/credential", dir_path);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(broker_check_credential(fd, "it", geteuid(), &err), wanted);
	if (message && !strstr(err.message, message))
		fail_msg("%s", err.message);
	close(fd);
	unlink(path);
}

static void test_credential(void **state)
{
	struct bm_error err = {};
	int fd;

	(void)state;
	credential(0600, "0123456789", 0, NULL);
	credential(0400, "0123456789", 0, NULL);
	credential(0640, "0123456789", -EPERM, "it has mode 0640, not 0600");
	credential(0604, "0123456789", -EPERM, "it has mode 0604");
	credential(04600, "0123456789", -EPERM, "it has mode 4600");
	credential(0600, "", -ENODATA, "it is empty");
	fd = open(dir_path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(broker_check_credential(fd, "it", geteuid(), &err), -EPERM);
	assert_non_null(strstr(err.message, "no regular file"));
	close(fd);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	err = (struct bm_error){};
	assert_int_equal(broker_check_credential(fd, "it", 4242, &err), -EPERM);
	assert_non_null(strstr(err.message, "belongs to uid"));
	close(fd);
}

/* As the daemon is by then: looking for a key is no forbidden call. */
static void test_confined(void **state)
{
	struct bm_error err = {};
	char from[PATH_MAX];
	int status = 0, fd = -1;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(daemon_filter(&err) < 0                                      ? 1
		      : broker_credential("none-such", &fd, from, &err) != -ENOENT ? 2
										   : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lives, setup, teardown),
		cmocka_unit_test(test_senseless),
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_confined),
		cmocka_unit_test_setup_teardown(test_credential, setup, teardown),
	};

	return cmocka_run_group_tests_name("broker grant", tests, NULL, NULL);
}
