// SPDX-License-Identifier: GPL-2.0-only
/* The definition of a broker; the schema and the parser say the same of each document. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/broker.h"
#define SCHEMA_PATH "profiles/brokers/broker.schema.json"
#include "tests/unit/schema.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define START "{\"name\":\"b\",\"description\":\"d\","
#define UP "\"upstream\":{\"host\":\"a.test\"},"
#define CREDENTIAL "\"credential\":{\"header\":\"X-Key\"},"
#define ALLOW "\"allow\":[{\"method\":\"GET\",\"path\":\"/a\"}],"
#define VERIFY "\"verify\":{\"method\":\"GET\",\"path\":\"/a\"}"
#define WITH(text) START UP CREDENTIAL ALLOW text "," VERIFY "}"
#define ROUTE(text) START UP CREDENTIAL "\"allow\":[" text "]," VERIFY "}"
#define KEY(text) START UP "\"credential\":" text "," ALLOW VERIFY "}"
#define TO(text) START "\"upstream\":" text "," CREDENTIAL ALLOW VERIFY "}"
#define PROBE(text) START UP CREDENTIAL ALLOW "\"verify\":" text "}"
#define PATH(text) ROUTE("{\"method\":\"GET\",\"path\":\"" text "\"}")
#define QUERY(text) ROUTE("{\"method\":\"GET\",\"path\":\"/a\",\"query\":[" text "]}")

static void good(void **state)
{
	static const char *const documents[] = {
		START UP CREDENTIAL ALLOW VERIFY "}",
		TO("\"setting\""),
		TO("{\"host\":\"A.Test\",\"port\":8443}"),
		KEY("{\"header\":\"authorization\",\"before\":\"Bearer \"}"),
		KEY("{\"header\":\"Authorization\",\"user\":\"x-access-token\"}"),
		WITH("\"ca\":\"/etc/ca.pem\""),
		WITH("\"headers\":[]"),
		WITH("\"headers\":[\"x-a\",\"x-stainless-*\"]"),
		WITH("\"environment\":{\"A_URL\":\"{url}/v1\",\"_b\":\" \"}"),
		WITH("\"limits\":{}"),
		WITH("\"limits\":{\"requests\":1,\"bytes\":1,\"rate\":60000,\"concurrent\":64,"
		     "\"seconds\":86400}"),
		PATH("/"),
		PATH("/a/*/b"),
		PATH("/@*%2f*"),
		PATH("/v1/models/*:generate"),
		QUERY("\"a\",\"b=c\",\"$d\",\"e[]\""),
		PROBE("{\"method\":\"HEAD\",\"path\":\"/\",\"query\":[\"a=b\"],\"status\":404}"),
	};

	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		autobroker broker = {};
		struct bm_error err = {};

		if (bm_broker_parse(documents[i], strlen(documents[i]), "test", NULL, &broker,
				    &err) < 0)
			fail_msg("%s: %s", documents[i], err.message);
		if (!schema_takes(documents[i]))
			fail_msg("%s: not after the schema", documents[i]);
	}
}

static void bad(void **state)
{
	static const struct {
		const char *text, *message;
		bool schema_blind; /* it can't say so */
	} documents[] = {
		{ "{}", "test: name: missing", false },
		{ WITH("\"more\":1"), "test: unknown key \"more\"", false },
		{ START CREDENTIAL ALLOW VERIFY "}", "test: upstream: missing", false },
		{ TO("\"other\""), "test: upstream: a string other than \"setting\"", false },
		{ TO("{}"), "test: upstream: host: missing", false },
		{ TO("{\"host\":\"a.test\",\"port\":0}"), "test: upstream: port: not in 1 to 65535",
		  false },
		{ TO("{\"host\":\"a.test\",\"path\":\"/\"}"),
		  "test: upstream: it: unknown key \"path\"", false },
		{ KEY("{}"), "test: credential: header: missing", false },
		{ KEY("{\"header\":\"a b\"}"),
		  "test: credential: header: byte 0x20 at 2 does not belong there", false },
		{ KEY("{\"header\":\"Host\"}"),
		  "test: credential: header: host is the connection's", true },
		{ KEY("{\"header\":\"a\",\"before\":\"\\r\\n\"}"),
		  "test: credential: before: byte 0x0d at 1 does not belong there", false },
		{ KEY("{\"header\":\"authorization\",\"user\":\"a:b\"}"),
		  "test: credential: user: a user with a ':'", false },
		{ KEY("{\"header\":\"x\",\"user\":\"a\"}"),
		  "test: credential: user: HTTP Basic goes elsewhere or with something before it",
		  true },
		{ WITH("\"ca\":\"ca.pem\""), "test: ca: no absolute path", false },
		{ WITH("\"ca\":\"/etc/../ca.pem\""), "test: ca: no absolute path", true },
		{ ROUTE(""), "test: allow: empty", false },
		{ ROUTE("1"), "test: allow 1: not an object", false },
		{ ROUTE("{\"method\":\"CONNECT\",\"path\":\"/a\"}"),
		  "test: allow 1: method: no method that is passed on", false },
		{ ROUTE("{\"method\":\"GET\",\"path\":\"/a\"},{\"method\":\"GET\"}"),
		  "test: allow 2: path: missing", false },
		{ PATH("a"), "test: allow 1: path: it does not begin with '/'", false },
		{ PATH("/../a"), "test: allow 1: path: a segment of dots alone", true },
		{ PATH("/a//b"), "test: allow 1: path: an empty segment", true },
		{ PATH("/%2e"), "test: allow 1: path: an escape other than %2f", true },
		{ PATH("/**"), "test: allow 1: path: two '*' beside each other", true },
		{ PATH("/a?b"), "test: allow 1: path: a byte that no path has", false },
		{ QUERY("\"a=b=c\""), "test: allow 1: query: \"a=b=c\" is no parameter", false },
		{ QUERY("\"a=\""), "test: allow 1: query: \"a=\" is no parameter", false },
		{ QUERY("\"a%20\""), "test: allow 1: query: \"a%20\" is no parameter", false },
		{ WITH("\"headers\":[\"Authorization\"]"),
		  "test: headers 1: Authorization is never passed on", true },
		{ WITH("\"headers\":[\"x-key\"]"), "test: headers 1: x-key is never passed on",
		  true },
		{ WITH("\"headers\":[\"x-forwarded-for\"]"),
		  "test: headers 1: x-forwarded-for is never passed on", true },
		{ WITH("\"headers\":[\"a\",\"*\"]"), "test: headers 2: a '*' that is not the end",
		  true },
		{ WITH("\"headers\":[\"x-*-a\"]"), "test: headers 1: a '*' that is not the end",
		  true },
		{ WITH("\"environment\":{\"A-B\":\"\"}"),
		  "test: environment: no name of a variable", true },
		{ WITH("\"environment\":{\"LD_PRELOAD\":\"/a\"}"),
		  "test: environment: LD_PRELOAD is not a broker's to set", true },
		{ WITH("\"limits\":{\"rate\":0}"), "test: limits: rate: not in 1 to 60000", false },
		{ WITH("\"limits\":{\"concurrent\":65}"),
		  "test: limits: concurrent: not in 1 to 64", false },
		{ PROBE("{\"method\":\"POST\",\"path\":\"/a\"}"),
		  "test: verify: method: a call that may change something", false },
		{ PROBE("{\"method\":\"GET\",\"path\":\"/*\"}"),
		  "test: verify: path: a byte that no path has", false },
		{ PROBE("{\"method\":\"GET\",\"path\":\"/\",\"status\":500}"),
		  "test: verify: status: not in 200 to 499", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(documents); i++) {
		autobroker broker = { .port = 7 };
		struct bm_error err = {};

		if (bm_broker_parse(documents[i].text, strlen(documents[i].text), "test", NULL,
				    &broker, &err) == 0)
			fail_msg("%s: taken", documents[i].text);
		assert_string_equal(err.message, documents[i].message);
		assert_int_equal(broker.port, 7);
		if (schema_takes(documents[i].text) != documents[i].schema_blind)
			fail_msg("%s: the schema says otherwise", documents[i].text);
	}
}

static void kept(void **state)
{
	autobroker broker = {};
	autojson *json = NULL;
	struct bm_error err = {};
	const char *document =
		START "\"upstream\":\"setting\","
		      "\"credential\":{\"header\":\"Authorization\",\"before\":\"Bearer \"},"
		      "\"allow\":[{\"method\":\"GET\",\"path\":\"/a/*\",\"query\":[\"q\"]}],"
		      "\"headers\":[\"x-*\"],\"environment\":{\"U\":\"{url}\"},"
		      "\"limits\":{\"rate\":5}," VERIFY "}";
	struct bm_broker_limits narrow = { .rate = 9, .requests = 3, .seconds = 1 };

	(void)state;
	assert_int_equal(bm_broker_parse(document, strlen(document), "test", "b", &broker, &err),
			 0);
	assert_string_equal(broker.header, "authorization");
	assert_string_equal(broker.before, "Bearer ");
	assert_string_equal(broker.host, "");
	assert_int_equal(bm_broker_set_upstream(&broker, "forge.test:x", &err), -EINVAL);
	err = (struct bm_error){};
	assert_int_equal(bm_broker_set_upstream(&broker, "forge.test:8443", &err), 0);
	assert_string_equal(broker.host, "forge.test");
	assert_int_equal(broker.port, 8443);
	assert_int_equal(bm_broker_set_upstream(&broker, "forge.test", &err), 0);
	assert_int_equal(broker.port, 443);
	bm_broker_limits_narrow(&broker.limits, &narrow);
	assert_int_equal(broker.limits.rate, 5);
	assert_int_equal(broker.limits.requests, 3);
	assert_int_equal(broker.limits.seconds, 1);
	assert_int_equal(broker.limits.concurrent, 8);
	json = bm_broker_limits_to_json(&broker.limits);
	assert_string_equal(json_object_to_json_string_ext(json, 0),
			    "{\"requests\":3,\"rate\":5,\"concurrent\":8,\"seconds\":1}");
	narrow = (struct bm_broker_limits){};
	assert_int_equal(bm_broker_limits_parse(json, "test", &narrow, NULL), 0);
	assert_memory_equal(&narrow, &broker.limits, sizeof(narrow));
	bm_broker_done(&broker);
	assert_int_equal(bm_broker_parse(document, strlen(document), "test", "c", &broker, &err),
			 -EINVAL);
	assert_string_equal(err.message, "test: name: \"b\" in a file called c");
}

static void matches(void **state)
{
	static const struct {
		const char *pattern, *path;
		bool does;
	} pairs[] = {
		{ "/a", "/a", true },
		{ "/a", "/a/", false },
		{ "/a", "/A", false },
		{ "/*", "/", false },
		{ "/*", "/a", true },
		{ "/*", "/a/b", false },
		{ "/*", "/a%2fb", false },
		{ "/@*%2f*", "/@a%2Fb", true },
		{ "/@*%2f*", "/@a/b", false },
		{ "/@*%2f*", "/@%2fb", false },
		{ "/*/*/info", "/a/b/info", true },
		{ "/*/*/info", "/a/info", false },
		{ "/*/*/info", "/a/b/c/info", false },
		{ "/m/*:go", "/m/a:b:go", true },
		{ "/m/*:go", "/m/:go", false },
		{ "/m/*:go", "/m/a:go:", false },
		{ "/*a*b", "/xaxaxb", true },
		{ "/*a*b", "/xab", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(pairs); i++)
		if (bm_broker_path_matches(pairs[i].pattern, pairs[i].path,
					   strlen(pairs[i].path)) != pairs[i].does)
			fail_msg("%s and %s", pairs[i].pattern, pairs[i].path);
	/* As far as it is long and no further. */
	assert_true(bm_broker_path_matches("/a", "/ab", 2));
}

/* Every definition that is installed, from its file. */
static void installed(void **state)
{
	autoclosedir DIR *dir = opendir("profiles/brokers");
	const struct dirent *entry;
	struct stat st;
	size_t count = 0;

	(void)state;
	assert_non_null(dir);
	assert_int_equal(fstat(dirfd(dir), &st), 0);
	while ((entry = readdir(dir))) {
		autofree char *text = NULL;
		autobroker broker = {};
		struct bm_error err = {};
		char name[64];
		size_t len = strlen(entry->d_name);

		if (entry->d_name[0] == '.' || strstr(entry->d_name, "schema"))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len - 5, entry->d_name);
		if (bm_broker_load(dirfd(dir), name, st.st_uid, &broker, &err) < 0)
			fail_msg("%s", err.message);
		assert_int_equal(
			bm_read_file(dirfd(dir), entry->d_name, BM_BROKER_MAX, &text, NULL), 0);
		if (!schema_takes(text))
			fail_msg("%s: not after the schema", name);
		assert_string_equal(broker.name, name);
		count++;
	}
	assert_int_equal(count, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good),    cmocka_unit_test(bad),       cmocka_unit_test(kept),
		cmocka_unit_test(matches), cmocka_unit_test(installed),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
