// SPDX-License-Identifier: GPL-2.0-only
/* What `why` says of layers and rules, apart from the kernel. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "audit/describe.h"
#include "audit/explain.h"
#include "base/names.h"
#include "gatekeeperd/why.h"

static void test_each_rule_has_words(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BM_RULE_MAX; i++) {
		const char *sentence = bm_rule_sentence(i), *remedy = bm_rule_remedy(i);

		assert_non_null(sentence);
		assert_in_range(strlen(sentence), 10, 120);
		assert_int_not_equal(sentence[strlen(sentence) - 1], '.');
		if (remedy)
			assert_in_range(strlen(remedy), 10, 120);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(sentence, bm_rule_sentence(k));
	}
	assert_string_equal(bm_rule_sentence(BM_RULE_MAX), "an unknown rule");
	assert_null(bm_rule_remedy(BM_RULE_MAX));
}

/* The first that refuses is what happens; those behind it are told all the same. */
static void test_first_layer_speaks(void **state)
{
	autojson *why = json_object_new_object();

	(void)state;
	why_layer(why, "mount", NULL, NULL, "/in");
	why_layer(why, "mode", "exec-refused", NULL, NULL);
	why_layer(why, "bpf", "noexec", "file_open", NULL);
	why_judge(why, BM_RULE_NOEXEC);
	assert_string_equal(bm_json_string(why, "verdict"), "deny");
	assert_string_equal(bm_json_string(why, "layer"), "mode");
	assert_string_equal(bm_json_string(why, "rule"), "exec-refused");
	assert_null(bm_json_string(why, "hook"));
	assert_string_equal(bm_json_string(why, "sentence"),
			    bm_rule_sentence(BM_RULE_EXEC_REFUSED));
	assert_int_equal(json_object_array_length(bm_json_get(why, "layers", json_type_array)), 3);
}

static void test_read_only_mount(void **state)
{
	autojson *why = json_object_new_object();

	(void)state;
	why_layer(why, "mount", "read-only", NULL, "/in");
	why_layer(why, "bpf", "rights", "file_open", NULL);
	why_judge(why, BM_RULE_RIGHTS);
	assert_string_equal(bm_json_string(why, "layer"), "mount");
	assert_string_equal(bm_json_string(why, "sentence"), "it is mounted read-only");
}

/* A layer that is gone refuses nothing, and does not hide what does. */
static void test_missing_layer(void **state)
{
	autojson *why = json_object_new_object(), *other = json_object_new_object();

	(void)state;
	why_layer(why, "bpf", NULL, NULL, NULL);
	why_missing(why, "nft");
	why_judge(why, BM_RULE_NONE);
	assert_string_equal(bm_json_string(why, "verdict"), "allow");
	why_missing(other, "nft");
	why_layer(other, "link", "not-sealed", NULL, NULL);
	why_judge(other, BM_RULE_NOT_SEALED);
	assert_string_equal(bm_json_string(other, "layer"), "link");
}

/* Words only where there is no command. */
static void test_remedy_or_hint(void **state)
{
	autojson *why = json_object_new_object(), *hinted = json_object_new_object();

	(void)state;
	why_layer(why, "bpf", "excepted", "file_open", NULL);
	why_judge(why, BM_RULE_EXCEPTED);
	assert_string_equal(bm_json_string(why, "remedy"), bm_rule_remedy(BM_RULE_EXCEPTED));
	bm_json_add_string(hinted, "hint", "benchmon grant b1 file /x:ro");
	why_layer(hinted, "bpf", "excepted", "file_open", NULL);
	why_judge(hinted, BM_RULE_EXCEPTED);
	assert_null(bm_json_string(hinted, "remedy"));
}

static void test_again(void **state)
{
	char buf[BM_HINT_LEN];

	(void)state;
	assert_string_equal(bm_describe_again("b1", 3, "/src", "/in/src", true, buf),
			    "benchmon revoke b1/3 && benchmon grant b1 file /src:/in/src:rw");
	assert_null(bm_describe_again("b1", 3, "/s c", "/in", true, buf));
	assert_null(bm_describe_again("b1", 3, "/s", "/in/$(x)", true, buf));
	assert_null(bm_describe_again("b1", 3, "/s;x", "/in", false, buf));
	assert_null(bm_describe_again("b1", 3, "/a:b", "/in", false, buf));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rule_has_words),
		cmocka_unit_test(test_first_layer_speaks),
		cmocka_unit_test(test_read_only_mount),
		cmocka_unit_test(test_missing_layer),
		cmocka_unit_test(test_remedy_or_hint),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
