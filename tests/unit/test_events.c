// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "audit/events.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "bpf/abi.h"
#define SCHEMA_PATH "userspace/audit/event.schema.json"
#include "tests/unit/schema.h"

#define FIXED_SIZE offsetof(struct bm_event, file)

static bool fits_schema(struct json_object *json, const char *kind)
{
	return schema_fits(loaded_schema, json,
			   bm_json_get(bm_json_get(loaded_schema, "$defs", json_type_object), kind,
				       json_type_object));
}

/* --- records --------------------------------------------------------------------------------- */

static struct bm_event base(enum bm_hook hook, enum bm_rule rule)
{
	return (struct bm_event){
		.time_ns = 5000000007,
		.seq = 42,
		.bench = 1,
		.hook = hook,
		.verdict = BM_DENY,
		.rule = rule,
		.pid = 100,
		.tid = 101,
		.uid = 1000,
		.error = EACCES,
		.comm = "cat",
		.inside = 7,
		.parent = 99,
		.parent_comm = "sh",
		.exe_count = 3,
		.exe = { "cat", "bin", "/" },
	};
}

/* names: last component first. */
static struct bm_event file_event(const char *const *names)
{
	struct bm_event event = base(BM_HOOK_FILE_OPEN, BM_RULE_NO_GRANT);

	event.file.inode = 1234;
	event.file.device = 8 << 20 | 17;
	event.file.wanted = BM_R;
	while (names[event.file.name_count]) {
		char *to = event.file.names[event.file.name_count];

		snprintf(to, BM_NAME_LEN, "%s", names[event.file.name_count++]);
	}
	return event;
}

static struct bm_event net_event(int family, const char *address, uint16_t port, uint8_t protocol)
{
	struct bm_event event = base(BM_HOOK_CONNECT4, BM_RULE_NOT_SEALED);

	if (family == AF_INET) {
		event.net.address[10] = event.net.address[11] = 0xff;
		inet_pton(family, address, event.net.address + 12);
	} else {
		inet_pton(family, address, event.net.address);
	}
	event.net.port = htons(port);
	event.net.protocol = protocol;
	event.error = EPERM;
	return event;
}

static struct json_object *decode(const struct bm_event *event)
{
	struct json_object *json = NULL;
	const char *type;

	assert_int_equal(bm_event_to_json(event, sizeof(*event), 1000000000, "b1", &json), 0);
	type = bm_json_string(json, "type");
	assert_true(fits_schema(json, type ?: "event"));
	return json;
}

static void assert_decodes(const struct bm_event *event, const char *expected)
{
	autojson *json = decode(event);

	assert_string_equal(json_object_to_json_string_ext(
				    json, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    expected);
}

static void assert_hint(const struct bm_event *event, const char *expected)
{
	autojson *json = decode(event);
	const char *hint = bm_json_string(json, "hint");

	if (expected)
		assert_string_equal(hint, expected);
	else
		assert_null(hint);
}

static void assert_path(const struct bm_event *event, const char *expected)
{
	autojson *json = decode(event);

	assert_string_equal(bm_json_string(bm_json_get(json, "object", json_type_object), "path"),
			    expected);
}

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define HEAD                                                                                       \
	"{\"schema\":\"benchmon/1\",\"time\":\"1970-01-01T00:00:06.000000007Z\","                  \
	"\"bench\":\"b1\",\"id\":1,\"seq\":42,\"verdict\":"
#define USE                                                                                        \
	"{\"schema\":\"benchmon/1\",\"type\":\"first-use\",\"grant\":\"b1/3\","                    \
	"\"time\":\"1970-01-01T00:00:06.000000007Z\",\"bench\":\"b1\",\"id\":1,\"seq\":42,"        \
	"\"verdict\":\"allow\","
#define PROCESS                                                                                    \
	"\"process\":{\"pid\":100,\"tid\":101,\"uid\":1000,\"comm\":\"cat\",\"inside\":7,"         \
	"\"exe\":\"/bin/cat\",\"parent\":{\"pid\":99,\"comm\":\"sh\"}},"

static void each_kind_decodes(void **state)
{
	struct bm_event event = file_event(NAMES("shadow", "etc", "/"));

	(void)state;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"file_open\",\"rule\":\"no-grant\","
				    "\"errno\":\"EACCES\"," PROCESS
				    "\"object\":{\"path\":\"/etc/shadow\",\"device\":\"8:17\","
				    "\"inode\":1234,\"wanted\":\"r\"},"
				    "\"hint\":\"benchmon grant b1 file /etc/shadow:ro\"}");
	event.rule = BM_RULE_RIGHTS;
	event.file.wanted = BM_R | BM_W | BM_X;
	event.file.grant = 3;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"file_open\",\"rule\":\"rights\","
				    "\"errno\":\"EACCES\"," PROCESS
				    "\"object\":{\"path\":\"/etc/shadow\",\"device\":\"8:17\","
				    "\"inode\":1234,\"wanted\":\"rwx\",\"grant\":\"b1/3\"}}");

	event = base(BM_HOOK_EXEC, BM_RULE_EXEC_REFUSED);
	event.file.wanted = BM_X;
	snprintf((char *)event.file.names, sizeof(event.file.names), "%s",
		 "/in/a directory whose name is longer than one of them/prog");
	assert_decodes(&event,
		       HEAD "\"deny\",\"hook\":\"exec\",\"rule\":\"exec-refused\","
			    "\"errno\":\"EACCES\"," PROCESS
			    "\"object\":{\"path\":\"/in/a directory whose name is longer than "
			    "one of them/prog\",\"wanted\":\"x\"}}");

	event = base(BM_HOOK_MPROTECT, BM_RULE_EXEC_IMAGE);
	event.file.wanted = BM_X;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"mprotect\",\"rule\":\"exec-image\","
				    "\"errno\":\"EACCES\"," PROCESS
				    "\"object\":{\"path\":\"[anonymous]\",\"wanted\":\"x\"}}");
	event.hook = BM_HOOK_PERSONALITY;
	event.error = 0;
	assert_decodes(&event,
		       HEAD "\"deny\",\"hook\":\"personality\",\"rule\":\"exec-image\"," PROCESS
			    "\"object\":{\"path\":\"[anonymous]\",\"wanted\":\"x\"}}");

	event = net_event(AF_INET, "198.51.100.10", 80, IPPROTO_TCP);
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"connect4\",\"rule\":\"not-sealed\","
				    "\"errno\":\"EPERM\"," PROCESS
				    "\"destination\":\"198.51.100.10:80/tcp\","
				    "\"hint\":\"benchmon grant b1 net 198.51.100.10:80\"}");
	event.hook = BM_HOOK_EGRESS;
	event.rule = BM_RULE_PACKET;
	event.error = 0;
	event.net.protocol = IPPROTO_ICMP;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"egress\",\"rule\":\"packet\","
				    "\"destination\":\"198.51.100.10/icmp\"}");

	event = base(BM_HOOK_ARRIVAL, BM_RULE_INHERITED_FD);
	event.arrival.fd = 7;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"arrival\",\"rule\":\"inherited-fd\","
				    "\"errno\":\"EACCES\"," PROCESS "\"arrival\":{\"fd\":7}}");
	event.verdict = BM_ALLOW;
	event.rule = BM_RULE_NONE;
	event.error = 0;
	event.arrival.mode[0] = S_IFCHR | 0620;
	event.arrival.mode[1] = S_IFIFO | 0600;
	assert_decodes(&event, HEAD "\"allow\",\"hook\":\"arrival\",\"rule\":\"none\"," PROCESS
				    "\"arrival\":{\"stdio\":[\"character-device\",\"pipe\","
				    "\"closed\"]}}");

	event = file_event(NAMES("src", "/"));
	event.verdict = BM_ALLOW;
	event.rule = BM_RULE_NONE;
	event.error = 0;
	event.file.grant = 3;
	assert_decodes(&event,
		       USE "\"hook\":\"file_open\",\"rule\":\"none\"," PROCESS
			   "\"object\":{\"path\":\"/src\",\"device\":\"8:17\",\"inode\":1234,"
			   "\"wanted\":\"r\",\"grant\":\"b1/3\"}}");
	event = net_event(AF_INET, "198.51.100.10", 443, IPPROTO_TCP);
	event.verdict = BM_ALLOW;
	event.rule = BM_RULE_NONE;
	event.error = 0;
	event.net.grant = 3;
	assert_decodes(&event, USE "\"hook\":\"connect4\",\"rule\":\"none\"," PROCESS
				   "\"destination\":\"198.51.100.10:443/tcp\"}");

	event = base(BM_HOOK_SIGNAL, BM_RULE_ARRIVAL);
	event.task.target = 4711;
	assert_decodes(&event, HEAD "\"deny\",\"hook\":\"signal\",\"rule\":\"arrival\","
				    "\"errno\":\"EACCES\"," PROCESS "\"target\":{\"pid\":4711}}");
}

static void paths(void **state)
{
	char cut[BM_NAME_LEN], shown[BM_NAME_LEN + 8];
	struct bm_event event = file_event(NAMES("/"));

	(void)state;
	assert_path(&event, "/");
	event = file_event(NAMES("pipe:[4711]"));
	assert_path(&event, "pipe:[4711]");
	event = file_event(NAMES("c", "b", "a"));
	event.file.truncated = 1;
	assert_path(&event, ".../a/b/c");
	assert_hint(&event, NULL);
	event = file_event(NAMES("a\x1b[2Jb\n", "\xe2\x80\xae", "/"));
	assert_path(&event, "/\\u202e/a\\x1b[2Jb\\x0a");
	assert_hint(&event, NULL);
	event.file.name_count = 0;
	assert_path(&event, "");

	memset(cut, 'x', sizeof(cut) - 1);
	cut[sizeof(cut) - 1] = '\0';
	event = file_event(NAMES(cut, "/"));
	snprintf(shown, sizeof(shown), "/%s...", cut);
	assert_path(&event, shown);
	assert_hint(&event, NULL);

	for (unsigned int i = 0; i < BM_NAMES; i++)
		memset(event.file.names[i], 0xff, BM_NAME_LEN - 1);
	event.file.name_count = BM_NAMES;
	event.file.truncated = 1;
	autojson *json = decode(&event);

	assert_int_equal(
		strlen(bm_json_string(bm_json_get(json, "object", json_type_object), "path")),
		3 + BM_NAMES * (1 + 4 * (BM_NAME_LEN - 1) + 3));
}

/* A hint is pasted into a root shell, and the Bench chose the name. */
static void hints_are_safe_to_paste(void **state)
{
	struct bm_event event = file_event(NAMES("$(reboot) `x`; y", "srv", "/"));

	(void)state;
	assert_hint(&event, "benchmon grant b1 file '/srv/$(reboot) `x`; y:ro'");
	event.file.wanted = BM_W;
	assert_hint(&event, "benchmon grant b1 file '/srv/$(reboot) `x`; y:rw'");
	event.file.wanted = BM_R | BM_X;
	assert_hint(&event, NULL);
	event = file_event(NAMES("a'; reboot #", "srv", "/"));
	assert_hint(&event, NULL);
	event = file_event(NAMES("a:rw", "srv", "/"));
	assert_hint(&event, NULL);
	event = file_event(NAMES("back\\slash", "/"));
	assert_hint(&event, NULL);
	event = file_event(NAMES("/"));
	assert_hint(&event, NULL);
	event = file_event(NAMES("a", "/"));
	assert_hint(&event, "benchmon grant b1 file /a:ro");
	event.rule = BM_RULE_REVOKED;
	event.hook = BM_HOOK_FILE_PERMISSION;
	assert_hint(&event, "benchmon grant b1 file /a:ro");
	event.rule = BM_RULE_PRIVILEGE;
	assert_hint(&event, NULL);
	event.rule = BM_RULE_NO_GRANT;
	event.hook = BM_HOOK_EXEC;
	assert_hint(&event, NULL);
}

static void net_hints(void **state)
{
	static const struct {
		int family;
		const char *address;
		uint16_t port;
		uint8_t protocol;
		const char *hint;
	} cases[] = {
		{ AF_INET, "198.51.100.10", 53, IPPROTO_UDP, "198.51.100.10:53/udp" },
		{ AF_INET6, "2001:db8::1", 443, IPPROTO_TCP, "'[2001:db8::1]:443'" },
		{ AF_INET6, "2001:db8::1", 53, IPPROTO_UDP, "'[2001:db8::1]:53/udp'" },
		{ AF_INET, "10.1.2.3", 80, IPPROTO_TCP, "10.1.2.3:80 --private" },
		{ AF_INET, "172.31.0.1", 80, IPPROTO_TCP, "172.31.0.1:80 --private" },
		{ AF_INET, "172.32.0.1", 80, IPPROTO_TCP, "172.32.0.1:80" },
		{ AF_INET6, "fd00::1", 80, IPPROTO_TCP, "'[fd00::1]:80' --private" },
		{ AF_INET, "198.51.100.10", 0, IPPROTO_TCP, NULL },
		{ AF_INET, "198.51.100.10", 80, IPPROTO_SCTP, NULL },
		{ AF_INET, "127.0.0.1", 80, IPPROTO_TCP, NULL },
		{ AF_INET, "169.254.169.254", 80, IPPROTO_TCP, NULL },
		{ AF_INET, "224.0.0.1", 80, IPPROTO_UDP, NULL },
		{ AF_INET6, "::1", 80, IPPROTO_TCP, NULL },
		{ AF_INET6, "fe80::1", 80, IPPROTO_TCP, NULL },
		{ AF_INET6, "ff02::1", 80, IPPROTO_UDP, NULL },
	};
	struct bm_event event;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char hint[128];

		event = net_event(cases[i].family, cases[i].address, cases[i].port,
				  cases[i].protocol);
		snprintf(hint, sizeof(hint), "benchmon grant b1 net %s", cases[i].hint ?: "");
		assert_hint(&event, cases[i].hint ? hint : NULL);
	}
	event = net_event(AF_INET, "198.51.100.10", 80, IPPROTO_TCP);
	event.rule = BM_RULE_EXPIRED;
	assert_hint(&event, "benchmon grant b1 net 198.51.100.10:80");
	event.rule = BM_RULE_PACKET;
	assert_hint(&event, NULL);
	event.rule = BM_RULE_NOT_SEALED;
	event.hook = BM_HOOK_INGRESS;
	assert_hint(&event, NULL);
}

static void assert_malformed(const struct bm_event *event, size_t size)
{
	struct json_object *json = loaded_schema;

	assert_int_equal(bm_event_to_json(event, size, 0, "b1", &json), -EBADMSG);
	assert_ptr_equal(json, loaded_schema);
}

static void records_end_where_they_may(void **state)
{
	struct bm_event file = file_event(NAMES("shadow", "etc", "/"));
	struct bm_event net = net_event(AF_INET, "198.51.100.10", 80, IPPROTO_TCP);
	const size_t names = FIXED_SIZE + offsetof(struct bm_event_file, names) + 3 * BM_NAME_LEN;
	/* One byte more than the largest, so that reading it is not itself the error. */
	char larger[sizeof(struct bm_event) + 1] = {};

	(void)state;
	for (size_t size = 0; size <= sizeof(larger); size++) {
		autojson *a = NULL, *b = NULL;
		int wanted = size >= names && size <= sizeof(file) ? 0 : -EBADMSG;
		/* A block of exactly that size: a sanitizer sees each byte read behind it. */
		autofree char *record = malloc(size ?: 1);

		memcpy(larger, &file, sizeof(file));
		memcpy(record, larger, size);
		assert_int_equal(bm_event_to_json(record, size, 0, "b1", &a), wanted);
		memcpy(larger, &net, sizeof(net));
		memcpy(record, larger, size);
		wanted = size >= FIXED_SIZE + sizeof(net.net) && size <= sizeof(net) ? 0 : -EBADMSG;
		assert_int_equal(bm_event_to_json(record, size, 0, "b1", &b), wanted);
	}
}

static void members_out_of_range(void **state)
{
	const struct bm_event good = file_event(NAMES("shadow", "etc", "/"));
	struct bm_event bad[12];

	(void)state;
	for (size_t i = 0; i < 12; i++)
		bad[i] = good;
	bad[0].hook = BM_HOOK_MAX;
	bad[1].verdict = BM_VERDICT_MAX;
	bad[2].rule = BM_RULE_MAX;
	bad[3].error = -EACCES;
	bad[4].error = 4096;
	memset(bad[5].comm, 'x', BM_COMM_LEN);
	bad[6].file.name_count = BM_NAMES + 1;
	bad[7].file.wanted = 8;
	memset(bad[8].file.names[2], 'x', BM_NAME_LEN);
	memset(bad[9].parent_comm, 'x', BM_COMM_LEN);
	bad[10].exe_count = BM_EXE_NAMES + 1;
	bad[11].exe_count = 1;
	memset(bad[11].exe[0], 'x', BM_NAME_LEN);
	for (size_t i = 0; i < 12; i++)
		assert_malformed(&bad[i], sizeof(bad[i]));
	bad[0] = good;
	bad[0].rule = BM_RULE_EXEC_REFUSED;
	memset(bad[0].file.names, 'x', sizeof(bad[0].file.names));
	assert_malformed(&bad[0], sizeof(bad[0]));
	bad[0] = good;
	bad[0].seq = bad[0].file.inode = bad[0].time_ns = UINT64_MAX;
	bad[0].error = 4095;
	autojson *json = decode(&bad[0]);

	assert_non_null(strstr(json_object_to_json_string(json), "18446744073709551615"));
}

static void whatever_decodes_fits_the_schema(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct bm_event event = base((unsigned int)round % BM_HOOK_MAX, BM_RULE_NO_GRANT);
		unsigned char *bytes = (unsigned char *)&event.comm;
		autojson *json = NULL;

		event.rule = (unsigned int)round % BM_RULE_MAX;
		for (size_t i = 0; i < sizeof(event) - offsetof(struct bm_event, comm); i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = (random >> 24) & 1 ? 0 : random >> 16;
		}
		event.comm[BM_COMM_LEN - 1] = event.parent_comm[BM_COMM_LEN - 1] = '\0';
		event.exe_count %= BM_EXE_NAMES + 1;
		for (int i = 0; i < BM_EXE_NAMES; i++)
			event.exe[i][BM_NAME_LEN - 1] = '\0';
		event.file.wanted &= 7;
		event.file.name_count %= BM_NAMES + 1;
		/* That rule has one string in their place, which ends in the last of them. */
		if (round % 3)
			for (int i = 0; i < BM_NAMES; i++)
				event.file.names[i][BM_NAME_LEN - 1] = '\0';
		if (bm_event_to_json(&event, sizeof(event), -3, "b1", &json) == 0)
			assert_true(fits_schema(json, "event"));
		else
			assert_int_equal(round % 3, 0);
	}
}

static void schema_can_refuse(void **state)
{
	struct bm_event event = file_event(NAMES("shadow", "etc", "/"));
	autojson *lost = NULL, *json = decode(&event), *suppressed = NULL;

	(void)state;
	assert_int_equal(bm_event_suppressed("b1", 7, 5, 3, 9, &suppressed), 0);
	assert_true(fits_schema(suppressed, "suppressed"));
	assert_string_equal(
		json_object_to_json_string_ext(suppressed, JSON_C_TO_STRING_PLAIN |
								   JSON_C_TO_STRING_NOSLASHESCAPE),
		"{\"schema\":\"benchmon/1\",\"type\":\"suppressed\","
		"\"time\":\"1970-01-01T00:00:00.000000005Z\",\"bench\":\"b1\","
		"\"id\":7,\"first\":3,\"last\":9,\"count\":7}");
	assert_int_equal(bm_event_lost("b1", 12, &lost), 0);
	assert_true(fits_schema(lost, "lost"));
	assert_false(fits_schema(lost, "event"));
	bm_json_add_string(json, "hook", "no-such-hook");
	assert_false(fits_schema(json, "event"));
	bm_json_add_string(json, "hook", "mmap");
	assert_true(fits_schema(json, "event"));
	bm_json_add_string(json, "new", "key");
	assert_false(fits_schema(json, "event"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_decodes),
		cmocka_unit_test(paths),
		cmocka_unit_test(hints_are_safe_to_paste),
		cmocka_unit_test(net_hints),
		cmocka_unit_test(records_end_where_they_may),
		cmocka_unit_test(members_out_of_range),
		cmocka_unit_test(whatever_decodes_fits_the_schema),
		cmocka_unit_test(schema_can_refuse),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
