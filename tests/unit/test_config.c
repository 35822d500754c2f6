// SPDX-License-Identifier: GPL-2.0-only
/* gatekeeperd.json: what is taken, what is refused and how, and that the schema says the same. */
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
#include <unistd.h>

#include <cmocka.h>

#include "gatekeeperd/config.h"

#define SCHEMA_PATH "userspace/gatekeeperd/gatekeeperd.schema.json"
#include "tests/unit/schema.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static int parse(const char *text, struct config *ret, struct bm_error *err)
{
	return config_parse(text, strlen(text), "file", ret, err);
}

static void all_of_it(void **state)
{
	static const char text[] =
		"{\"log_level\":\"debug\",\"operators\":\"bench-ops\",\"agents\":\"bots\","
		"\"max_connections\":32,\"max_connections_per_user\":4096,"
		"\"max_benches_per_user\":4096,\"max_grants_per_user\":262144,\"idle_seconds\":5,"
		"\"confirm_seconds\":86400,"
		"\"request_seconds\":86400,\"max_requests\":1024,\"max_requests_per_user\":1024,"
		"\"max_requests_each\":64,\"max_receipts_per_user\":2048,"
		"\"events_max_bytes\":1073741824,\"events_total_bytes\":65536,"
		"\"events_max_days\":1}";
	struct config config = {};
	autojson *json = NULL;

	(void)state;
	assert_int_equal(parse(text, &config, NULL), 0);
	assert_int_equal(config.log_level, LOG_LEVEL_DEBUG);
	assert_string_equal(config.operators, "bench-ops");
	assert_string_equal(config.agents, "bots");
	assert_int_equal(config.max_connections, 32);
	assert_int_equal(config.max_connections_per_user, 4096);
	assert_int_equal(config.idle_seconds, 5);
	assert_int_equal(config.confirm_seconds, 86400);
	assert_int_equal(config.events_max_bytes, 1 << 30);
	assert_int_equal(config.events_total_bytes, 65536);
	assert_int_equal(config.events_max_days, 1);
	json = config_to_json(&config);
	assert_string_equal(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN), text);
	assert_true(schema_takes(text));
}

static void nothing_is_the_defaults(void **state)
{
	struct config config = {};
	autojson *json = NULL;

	(void)state;
	assert_int_equal(parse("{}", &config, NULL), 0);
	assert_memory_equal(&config, &config_default, sizeof(config));
	json = config_to_json(&config);
	assert_true(schema_fits(loaded_schema, json, loaded_schema));
	/* One key changes that one alone. */
	assert_int_equal(parse("{\"idle_seconds\":7}", &config, NULL), 0);
	config.idle_seconds = config_default.idle_seconds;
	assert_memory_equal(&config, &config_default, sizeof(config));
}

/* Each names the file, and the key where there is one. The schema is of the same mind. */
static void refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "{\"log_levle\":\"info\"}", "unknown key \"log_levle\"" },
		{ "{\"\\u001b[2J\":1}", "unknown key \"\\x1b[2J\"" },
		{ "{\"log_level\":\"INFO\"}", "\"log_level\" is none of error, warning, info" },
		{ "{\"log_level\":6}", "\"log_level\" is none of" },
		{ "{\"log_level\":null}", "\"log_level\" is none of" },
		{ "{\"log_level\":\"\"}", "\"log_level\" is none of" },
		{ "{\"operators\":\"\"}", "\"operators\" is no name of a group" },
		{ "{\"operators\":\"-x\"}", "\"operators\" is no name of a group" },
		{ "{\"operators\":\"a b\"}", "\"operators\" is no name of a group" },
		{ "{\"operators\":\"a:b\"}", "\"operators\" is no name of a group" },
		{ "{\"operators\":[\"a\"]}", "\"operators\" is no name of a group" },
		{ "{\"agents\":\"a/b\"}", "\"agents\" is no name of a group" },
		{ "{\"agents\":0}", "\"agents\" is no name of a group" },
		{ "{\"operators\":1000}", "\"operators\" is no name of a group" },
		{ "{\"operators\":\"abcdefghijklmnopqrstuvwxyz0123456\"}", "\"operators\" is no" },
		{ "{\"max_connections\":31}",
		  "\"max_connections\" is no whole number from 32 to 4096" },
		{ "{\"max_connections\":4097}", "\"max_connections\" is no whole number" },
		{ "{\"max_connections\":\"64\"}", "\"max_connections\" is no whole number" },
		{ "{\"max_connections\":64.0}", "\"max_connections\" is no whole number" },
		{ "{\"max_connections\":true}", "\"max_connections\" is no whole number" },
		{ "{\"max_connections\":1e99}", "\"max_connections\" is no whole number" },
		{ "{\"max_connections_per_user\":0}", "from 1 to 4096" },
		{ "{\"idle_seconds\":4}", "from 5 to 86400" },
		{ "{\"idle_seconds\":-1}", "from 5 to 86400" },
		{ "{\"confirm_seconds\":9}", "from 10 to 86400" },
		{ "{\"confirm_seconds\":18446744073709551626}", "from 10 to 86400" },
		{ "{\"request_seconds\":4}", "from 5 to 86400" },
		{ "{\"max_requests\":0}", "from 1 to 1024" },
		{ "{\"max_requests_each\":65}", "from 1 to 64" },
		{ "{\"max_requests_per_user\":0}", "from 1 to 1024" },
		{ "{\"max_benches_per_user\":0}", "from 1 to 4096" },
		{ "{\"max_grants_per_user\":262145}", "from 1 to 262144" },
		{ "{\"max_receipts_per_user\":15}", "from 16 to 2048" },
		{ "{\"events_max_bytes\":65535}", "from 65536 to 1073741824" },
		{ "{\"events_max_bytes\":{}}", "from 65536 to 1073741824" },
		{ "{\"events_total_bytes\":65535}", "from 65536 to 1099511627776" },
		{ "{\"events_max_days\":0}", "from 1 to 36500" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config config = { .idle_seconds = 7 };
		struct bm_error err = {};

		assert_int_equal(parse(cases[i].text, &config, &err), -EINVAL);
		if (!strstr(err.message, cases[i].words) || strncmp(err.message, "file: ", 6))
			fail_msg("%s: %s", cases[i].text, err.message);
		assert_int_equal(config.idle_seconds, 7);
		if (schema_takes(cases[i].text))
			fail_msg("the schema takes %s", cases[i].text);
	}
}

static void malformed(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "JSON ends too early" },
		{ "{", "JSON ends too early" },
		{ "[]", "not a JSON object" },
		{ "{}{}", "JSON" },
		{ "{\"idle_seconds\":60,}", "JSON" },
		{ "{\"idle_seconds\":60 /* s */}", "JSON" },
		{ "{\"idle_seconds\":60,\"idle_seconds\":61}", "a key is given twice" },
		{ "{\"operators\":\"a\\u0000b\"}", "not strict JSON" },
		{ "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":"
		  "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":1}}}}}}}}}}}}}}}}}",
		  "JSON" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config config;
		struct bm_error err = {};

		assert_true(parse(cases[i].text, &config, &err) < 0);
		if (!strstr(err.message, cases[i].words) || strncmp(err.message, "file: ", 6))
			fail_msg("%s: %s", cases[i].text, err.message);
	}
}

static void whose_file(void **state)
{
	static const struct {
		mode_t mode;
		uid_t uid;
		off_t size;
		const char *rule;
	} cases[] = {
		{ S_IFREG | 0644, 0, 100, "" },
		{ S_IFREG | 0600, 0, CONFIG_MAX, "" },
		{ S_IFREG | 0444, 0, 0, "" },
		{ S_IFREG | 0644, 1000, 100, "config-owner" },
		{ S_IFREG | 0664, 0, 100, "config-mode" },
		{ S_IFREG | 0646, 0, 100, "config-mode" },
		{ S_IFREG | 0644, 0, CONFIG_MAX + 1, "config" },
		{ S_IFDIR | 0755, 0, 100, "config" },
		{ S_IFIFO | 0600, 0, 0, "config" },
		{ S_IFCHR | 0600, 0, 0, "config" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct stat st = { .st_mode = cases[i].mode,
				   .st_uid = cases[i].uid,
				   .st_size = cases[i].size };
		struct bm_error err = {};
		int r = config_check_file(&st, "file", &err);

		assert_int_equal(r, -err.code);
		assert_string_equal(err.rule, cases[i].rule);
		assert_int_equal(!err.code, !*cases[i].rule);
		if (err.code)
			assert_true(err.remedy[0]);
	}
}

static void read_from_disk(void **state)
{
	char dir[] = "/tmp/test_config.XXXXXX", path[64], link[64];
	struct config config = {};
	struct bm_error err = {};

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(config_read(path, false, &config, NULL), 0);
	assert_memory_equal(&config, &config_default, sizeof(config));
	assert_int_equal(config_read(path, true, &config, NULL), -ENOENT);
	assert_int_equal(
		bm_write_file(AT_FDCWD, path, O_CREAT | O_EXCL, 0644, "{\"idle_seconds\":9}\n"), 0);
	assert_int_equal(chmod(path, 0644), 0);
	/* Its owner is whoever runs this. */
	assert_int_equal(config_read(path, true, &config, &err), geteuid() ? -EPERM : 0);
	if (!geteuid())
		assert_int_equal(config.idle_seconds, 9);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(config_read(link, false, &config, NULL), -ELOOP);
	unlink(link);
	/* Nobody writes there, and nobody waits for that. */
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(config_read(link, false, &config, NULL), -EINVAL);
	unlink(link);
	unlink(path);
	assert_int_equal(config_read(dir, false, &config, NULL), -EINVAL);
	assert_int_equal(rmdir(dir), 0);
}

static void the_groups(void **state)
{
	struct config config = config_default;
	struct bm_error err = {};

	(void)state;
	assert_int_equal(config_resolve(&config, "file", NULL), 0);
	snprintf(config.operators, sizeof(config.operators), "root");
	config.operators_gid = 77;
	assert_int_equal(config_resolve(&config, "file", NULL), 0);
	assert_int_equal(config.operators_gid, 0);
	snprintf(config.operators, sizeof(config.operators), "no-such-group-here");
	assert_int_equal(config_resolve(&config, "file", &err), -ENOENT);
	assert_string_equal(
		err.message,
		"file: \"operators\" is no-such-group-here, and there is no such group");
	assert_string_equal(err.remedy, "make it: groupadd --system no-such-group-here");
	config.operators[0] = '\0';
	snprintf(config.agents, sizeof(config.agents), "root");
	config.agents_gid = 77;
	assert_int_equal(config_resolve(&config, "file", NULL), 0);
	assert_int_equal(config.agents_gid, 0);
}

static void the_schema_is_understood(void **state)
{
	struct json_object *known = bm_json_get(loaded_schema, "properties", json_type_object);

	(void)state;
	schema_keywords(loaded_schema);
	json_object_object_foreach(known, key, rules) {
		(void)key;
		schema_keywords(rules);
	}
	assert_int_equal(json_object_object_length(known), 18);
}

static void levels(void **state)
{
	enum log_level level = LOG_LEVEL_INFO;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		const char *name = log_level_name((enum log_level)i);

		if (!name)
			continue;
		assert_true(log_level_parse(name, &level));
		assert_int_equal(level, i);
	}
	assert_int_equal(level, LOG_LEVEL_DEBUG);
	assert_false(log_level_parse("notice", &level));
	assert_false(log_level_parse("", &level));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it),  cmocka_unit_test(nothing_is_the_defaults),
		cmocka_unit_test(refused),    cmocka_unit_test(malformed),
		cmocka_unit_test(whose_file), cmocka_unit_test(read_from_disk),
		cmocka_unit_test(the_groups), cmocka_unit_test(the_schema_is_understood),
		cmocka_unit_test(levels),
	};

	return cmocka_run_group_tests(tests, load_schema, drop_schema);
}
