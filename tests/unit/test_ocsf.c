// SPDX-License-Identifier: GPL-2.0-only
/* What the stream's events are in OCSF: ids that belong together, and what each class requires. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "audit/events.h"
#include "base/json.h"
#include "base/names.h"
#include "bpf/abi.h"
#include "cli/ocsf.h"

static int64_t number(struct json_object *json, const char *key)
{
	int64_t n = -1;

	assert_int_equal(bm_json_int(json, key, &n), 0);
	return n;
}

static struct json_object *member(struct json_object *json, const char *key)
{
	struct json_object *value = bm_json_get(json, key, json_type_object);

	assert_non_null(value);
	return value;
}

static struct json_object *event_of(uint32_t hook)
{
	struct bm_event event = { .time_ns = 1700000000123000000,
				  .seq = 5,
				  .bench = 1,
				  .hook = hook,
				  .verdict = BM_DENY,
				  .rule = BM_RULE_NO_GRANT,
				  .pid = 100,
				  .tid = 101,
				  .uid = 1000,
				  .error = 13,
				  .comm = "cat",
				  .inside = 7,
				  .parent = 99,
				  .parent_comm = "sh",
				  .exe_count = 3,
				  .exe = { "cat", "bin", "/" } };
	struct json_object *json = NULL;

	assert_int_equal(bm_event_to_json(&event, sizeof(event), 0, "b1", &json), 0);
	return json;
}

static void ids_belong_together(struct json_object *ocsf)
{
	int64_t class = number(ocsf, "class_uid");

	assert_int_equal(number(ocsf, "category_uid"), class / 1000);
	assert_int_equal(number(ocsf, "type_uid"), class * 100 + number(ocsf, "activity_id"));
	assert_string_equal(bm_json_string(member(ocsf, "metadata"), "version"), "1.3.0");
	assert_non_null(bm_json_string(member(member(ocsf, "metadata"), "product"), "vendor_name"));
	number(ocsf, "severity_id");
	assert_int_equal(number(member(ocsf, "device"), "type_id"), 0);
	member(ocsf, "actor");
}

static void each_hook_has_a_class(void **state)
{
	(void)state;
	for (uint32_t hook = 0; hook < BM_HOOK_MAX; hook++) {
		autojson *event = event_of(hook);
		autojson *ocsf = cli_ocsf(event);

		ids_belong_together(ocsf);
		assert_int_equal(number(ocsf, "time"), 1700000000123);
		assert_int_equal(number(ocsf, "action_id"), 2);
		assert_int_equal(number(ocsf, "disposition_id"), 2);
		assert_true(json_object_equal(member(ocsf, "unmapped"), event));
		switch (number(ocsf, "class_uid")) {
		case 1001:
			assert_non_null(bm_json_string(member(ocsf, "file"), "name"));
			number(member(ocsf, "file"), "type_id");
			break;
		case 1003:
			assert_non_null(bm_json_string(member(ocsf, "kernel"), "name"));
			number(member(ocsf, "kernel"), "type_id");
			break;
		case 1007:
			member(ocsf, "process");
			break;
		case 4001:
			assert_true(bm_json_get(ocsf, "dst_endpoint", json_type_object) ||
				    bm_json_get(ocsf, "src_endpoint", json_type_object));
			break;
		default:
			fail_msg("%s has no class", bm_hook_name(hook));
		}
	}
}

static void assert_ocsf(const char *line, const char *const *words)
{
	autojson *event = NULL, *ocsf = NULL;

	assert_int_equal(bm_json_parse(line, strlen(line), "line", &event, NULL), 0);
	ocsf = cli_ocsf(event);
	ids_belong_together(ocsf);
	json_object_object_del(ocsf, "unmapped");
	for (; *words; words++)
		if (!strstr(json_object_to_json_string_ext(
				    ocsf, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			    *words))
			fail_msg("no %s in %s", *words, json_object_to_json_string(ocsf));
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void lines(void **state)
{
	(void)state;
	assert_ocsf("{\"schema\":\"benchmon/1\",\"time\":\"2023-11-14T22:13:20.123000000Z\","
		    "\"bench\":\"b1\",\"seq\":4,\"verdict\":\"deny\",\"hook\":\"connect6\","
		    "\"rule\":\"not-sealed\",\"errno\":\"EPERM\",\"process\":{\"pid\":3,\"tid\":3,"
		    "\"uid\":0,\"comm\":\"curl\",\"inside\":2},\"destination\":"
		    "\"[2001:db8::1]:443/tcp\",\"host\":\"own.test\"}",
		    WORDS("\"class_uid\":4001,\"activity_id\":1,\"type_uid\":400101",
			  "\"dst_endpoint\":{\"hostname\":\"own.test\",\"ip\":\"2001:db8::1\","
			  "\"port\":443}",
			  "\"protocol_name\":\"tcp\"", "\"status_code\":\"EPERM\"",
			  "\"namespace_pid\":2", "\"container\":{\"name\":\"b1\"}"));
	assert_ocsf("{\"bench\":\"b1\",\"verdict\":\"deny\",\"hook\":\"ingress\","
		    "\"destination\":\"198.51.100.10/icmp\"}",
		    WORDS("\"src_endpoint\":{\"ip\":\"198.51.100.10\"}", "\"direction_id\":1"));
	assert_ocsf("{\"bench\":\"b1\",\"verdict\":\"allow\",\"hook\":\"arrival\"}",
		    WORDS("\"class_uid\":1007", "\"action_id\":1", "\"severity_id\":1"));
	assert_ocsf("{\"bench\":\"b1\",\"type\":\"suppressed\",\"first\":3,\"last\":9,\"count\":7}",
		    WORDS("\"class_uid\":0,\"activity_id\":99,\"type_uid\":99", "\"count\":7"));
	assert_ocsf("{\"bench\":\"b1\",\"type\":\"call\",\"method\":\"POST\",\"path\":\"/v1\","
		    "\"status\":200}",
		    WORDS("\"class_uid\":4002", "\"http_method\":\"POST\"", "\"code\":200"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hook_has_a_class),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
