// SPDX-License-Identifier: GPL-2.0-only
/* What a broker decides about a call, without a socket: the head, the answer's head, the limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "broker/answer.h"
#include "broker/quota.h"
#include "broker/request.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define LINE "GET /a HTTP/1.1\r\n"
#define HOST "Host: h\r\n"

static struct bm_broker broker;
static const char *const hosts[] = { "h", "h:81", NULL };

static int load(void **state)
{
	static const char text[] =
		"{\"name\":\"b\",\"description\":\"d\",\"upstream\":{\"host\":\"a.test\"},"
		"\"credential\":{\"header\":\"X-Key\"},\"headers\":[\"x-good-*\",\"if-match\"],"
		"\"allow\":[{\"method\":\"GET\",\"path\":\"/a\",\"query\":[\"q\",\"p=1\"]},"
		"{\"method\":\"POST\",\"path\":\"/a\"},{\"method\":\"POST\",\"path\":\"/b/*\","
		"\"query\":[\"r\"]}],\"verify\":{\"method\":\"GET\",\"path\":\"/a\"}}";

	(void)state;
	return bm_broker_parse(text, strlen(text), "test", "b", &broker, NULL);
}

static int unload(void **state)
{
	(void)state;
	bm_broker_done(&broker);
	return 0;
}

/* The rule that refuses it, or "" for one that passes, or "more" for one that is not all there. */
static const char *judge(const char *head, struct request *request, struct refusal *refusal)
{
	size_t seen = 0;
	int len;

	*refusal = (struct refusal){};
	len = head_end(head, strlen(head), &seen, refusal);
	if (len == 0)
		return "more";
	if (len > 0 && head_parse(head, (size_t)len, request, refusal) == 0 &&
	    head_check(request, &broker, hosts, refusal) == 0)
		return "";
	assert_true(refusal->status >= 400 && refusal->status < 600);
	assert_true(refusal->error.message[0] && refusal->error.remedy[0]);
	return refusal->error.rule;
}

static void heads(void **state)
{
	static const struct {
		const char *head, *rule;
	} cases[] = {
		{ LINE HOST "\r\n", "" },
		{ LINE HOST "\r\nbehind", "" },
		{ LINE HOST, "more" },
		{ LINE HOST "\r", "more" },
		{ "", "more" },
		{ LINE "host:\th \r\n\r\n", "" },
		{ LINE "Host: h:81\r\n\r\n", "" },
		{ LINE "Host: h:82\r\n\r\n", "broker-host" },
		{ LINE "Host:\r\n\r\n", "broker-host" },
		{ LINE HOST HOST "\r\n", "broker-host" },
		{ LINE "\r\n", "broker-host" },
		{ "GET /a?q=1&p=1 HTTP/1.1\r\n" HOST "\r\n", "" },
		{ "GET /a?p=2 HTTP/1.1\r\n" HOST "\r\n", "broker-query" },
		{ "GET /a?x HTTP/1.1\r\n" HOST "\r\n", "broker-query" },
		{ "GET /a?q=%0a HTTP/1.1\r\n" HOST "\r\n", "broker-query" },
		{ "POST /a?q HTTP/1.1\r\n" HOST "\r\n", "broker-query" },
		{ "POST /b/c?r HTTP/1.1\r\n" HOST "\r\n", "" },
		{ "POST /b/ HTTP/1.1\r\n" HOST "\r\n", "broker-route" },
		{ "GET /b/c HTTP/1.1\r\n" HOST "\r\n", "broker-route" },
		{ "GET /a/%2e HTTP/1.1\r\n" HOST "\r\n", "broker-path" },
		{ "GET  /a HTTP/1.1\r\n" HOST "\r\n", "broker-request" },
		{ "GET /a HTTP/1.1 \r\n" HOST "\r\n", "broker-request" },
		{ "G@T /a HTTP/1.1\r\n" HOST "\r\n", "broker-request" },
		{ " GET /a HTTP/1.1\r\n" HOST "\r\n", "broker-request" },
		{ "GET /a\r\n\r\n", "broker-request" },
		{ "\r\n" LINE HOST "\r\n", "broker-request" },
		{ "\n", "broker-request" },
		{ LINE HOST "A: b\r\n c\r\n\r\n", "broker-request" },
		{ LINE HOST "A: b\n\r\n", "broker-request" },
		{ LINE HOST "A: \r\r\n\r\n", "broker-request" },
		{ LINE HOST "A : b\r\n\r\n", "broker-request" },
		{ LINE HOST "A: \x7f\r\n\r\n", "broker-request" },
		{ LINE HOST "Content-Length: 0\r\n\r\n", "" },
		{ LINE HOST "Content-Length: 1\r\n\r\n", "broker-framing" },
		{ LINE HOST "Transfer-Encoding: chunked\r\n\r\n", "broker-framing" },
		{ "POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n", "" },
		{ "POST /a HTTP/1.1\r\n" HOST "Content-Length: 12\r\n\r\n", "" },
		{ "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1 2\r\n\r\n", "broker-framing" },
		{ "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-length: 2\r\n\r\n",
		  "broker-framing" },
		{ "POST /a HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n",
		  "broker-framing" },
		{ "POST /a HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n", "" },
		{ "POST /a HTTP/1.1\r\n" HOST "Expect: x\r\n\r\n", "broker-framing" },
		{ LINE HOST "Connection: Close , keep-alive\r\n\r\n", "" },
		{ LINE HOST "Connection: x-good-a\r\n\r\n", "broker-framing" },
		{ LINE HOST "Upgrade: x\r\n\r\n", "broker-framing" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct request request;
		struct refusal refusal;
		const char *rule = judge(cases[i].head, &request, &refusal);

		if (strcmp(rule, cases[i].rule))
			fail_msg("%s: \"%s\": %s", cases[i].head, rule, refusal.error.message);
	}
}

/* However it is cut, it is the same head. */
static void in_pieces(void **state)
{
	static const char head[] = LINE HOST "A: b\r\n\r\nbehind";
	static const size_t whole = sizeof(LINE HOST "A: b\r\n\r\n") - 1;

	(void)state;
	for (size_t cut = 0; cut <= strlen(head); cut++) {
		size_t seen = 0;
		int first = head_end(head, cut, &seen, NULL);

		assert_int_equal(first, cut < whole ? 0 : (int)whole);
		seen = first ? 0 : seen;
		assert_int_equal(head_end(head, strlen(head), &seen, NULL), whole);
	}
}

static void framing(void **state)
{
	struct request request;
	struct refusal refusal;

	(void)state;
	assert_string_equal(judge("POST /a HTTP/1.1\r\n" HOST "content-length: 0012\r\n\r\n",
				  &request, &refusal),
			    "");
	assert_int_equal(request.length, 12);
	assert_false(request.chunked);
	assert_string_equal(judge("POST /b/c?r=1 HTTP/1.1\r\n" HOST
				  "transfer-encoding: chunked\r\n\r\n",
				  &request, &refusal),
			    "");
	assert_true(request.chunked && request.has_query);
	assert_memory_equal(request.path.text, "/b/c?r=1", 8);
	assert_int_equal(request.path.len, 4);
	assert_string_equal(request.route->path, "/b/*");
}

static void passes(void **state)
{
	static const struct {
		const char *name;
		bool does;
	} names[] = {
		{ "Accept", true },
		{ "content-type", true },
		{ "X-Good-", true },
		{ "X-GOOD-a", true },
		{ "x-goo", false },
		{ "If-Match", true },
		{ "If-Match-", false },
		{ "X-Key", false },
		{ "Authorization", false },
		{ "Cookie", false },
		{ "Host", false },
		{ "Transfer-Encoding", false },
		{ "Proxy-Thing", false },
		{ "Accept-Encoding", false },
		{ "X-Forwarded-For", false },
		{ "X-HTTP-Method-Override", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct request_header h = { .name = { names[i].name, strlen(names[i].name) } };

		if (head_passes(&broker, &h) != names[i].does)
			fail_msg("%s", names[i].name);
	}
}

static void locations(void **state)
{
	static const struct {
		const char *location, *path;
	} cases[] = {
		{ "/b", "/b" },
		{ "https://a.test/b?c", "/b?c" },
		{ "HTTPS://A.TEST:443/b", "/b" },
		{ "//a.test/b", "/b" },
		{ "https:/b", "/b" },
		{ "http://a.test/b", NULL },
		{ "https://a.test:444/b", NULL },
		{ "https://a.test", NULL },
		{ "https://a.test.other.test/b", NULL },
		{ "https://a.test@other.test/b", NULL },
		{ "https://other.test/a.test/", NULL },
		{ "//other.test/b", NULL },
		{ "/\\other.test", NULL },
		{ "b", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *path = answer_own_path(cases[i].location, &broker);

		if (!path != !cases[i].path || (path && strcmp(path, cases[i].path)))
			fail_msg("%s: %s", cases[i].location, path ?: "none");
	}
}

static void answers(void **state)
{
	static const char *const lines[] = {
		"HTTP/1.1 103 Early\r\n",
		"Link: x\r\n",
		"\r\n",
		"HTTP/1.1 200 OK\r\n",
		"Content-Length: 12\r\n",
		"Set-Cookie: a\r\n",
		"X-A:  secret-1234 \r\n",
		"X-secret-1234: b\r\n",
		"X-B: \x01\r\n",
		" folded\r\n",
		"\r\n",
		"X-Trailer: a\r\n",
	};
	struct answer answer = {};
	struct echo *echo = NULL;

	(void)state;
	assert_int_equal(echo_new("secret-1234", 11, &echo), 0);
	for (size_t i = 0; i < COUNT(lines); i++)
		assert_int_equal(answer_line(&answer, lines[i], strlen(lines[i]), &broker, echo),
				 0);
	assert_true(answer.ended && answer.has_length);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.length, 12);
	assert_int_equal(answer.refusal.status, 0);
	assert_int_equal(answer.header_count, 2);
	assert_string_equal(answer.headers[0].value, "***********");
	assert_string_equal(answer.headers[1].name, "X-***********");
	answer_done(&answer);
	echo_free(echo);
}

static void quotas(void **state)
{
	const struct bm_broker_limits limits = {
		.requests = 5, .bytes = 10, .rate = 2, .concurrent = 2
	};
	struct refusal refusal = {};
	struct quota quota;
	unsigned int wait;

	(void)state;
	quota_init(&quota, &limits, 1000);
	assert_int_equal(quota_begin(&quota, 1000, &wait, &refusal), 0);
	assert_int_equal(quota_begin(&quota, 1000, &wait, &refusal), 0);
	assert_int_equal(quota_begin(&quota, 1000, &wait, &refusal), -EBUSY);
	assert_string_equal(refusal.error.message, "2 calls are being made already");
	quota_end(&quota);
	refusal = (struct refusal){};
	assert_int_equal(quota_begin(&quota, 1000, &wait, &refusal), -EBUSY);
	assert_string_equal(refusal.error.message, "more than 2 calls a minute");
	assert_int_equal(wait, 31);
	assert_int_equal(quota_begin(&quota, 30999, &wait, NULL), -EBUSY);
	assert_int_equal(quota_begin(&quota, 31000, &wait, NULL), 0);
	/* What is refused runs into debt, and time pays. */
	assert_int_equal(quota_overdrawn(&quota, 31000), 0);
	for (int i = 0; i < 4; i++)
		quota_refused(&quota, 31000);
	assert_int_equal(quota_overdrawn(&quota, 31000), 60001);
	assert_int_equal(quota_overdrawn(&quota, 91001), 0);
	quota_end(&quota);
	quota_end(&quota);
	for (uint64_t now = 1000000; now < 1100000; now += 50000) {
		assert_int_equal(quota_begin(&quota, now, &wait, NULL), 0);
		quota_end(&quota);
	}
	refusal = (struct refusal){};
	assert_int_equal(quota_begin(&quota, 9000000, &wait, &refusal), -EDQUOT);
	assert_string_equal(refusal.error.message, "the grant's 5 calls have been made");
	assert_true(quota_bytes(&quota, 10));
	assert_false(quota_bytes(&quota, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads),  cmocka_unit_test(in_pieces), cmocka_unit_test(framing),
		cmocka_unit_test(passes), cmocka_unit_test(locations), cmocka_unit_test(answers),
		cmocka_unit_test(quotas),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
