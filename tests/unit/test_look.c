// SPDX-License-Identifier: GPL-2.0-only
/* What is drawn of Benches: the diagram of show, and the numbers of top. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "cli/mermaid.h"
#include "cli/top.h"

static struct json_object *parse(const char *text)
{
	struct json_object *json = json_tokener_parse(text);

	assert_non_null(json);
	return json;
}

static char *drawn(const char *bench, const struct cli_denials *denials)
{
	autojson *json = parse(bench);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	cli_mermaid(out, json, denials);
	fclose(out);
	return text;
}

static void add(struct cli_denials *denials, const char *text)
{
	autojson *event = parse(text);

	cli_denials_add(denials, event);
}

static void draws_all_that_there_is(void **state)
{
	struct cli_denials denials = {};
	autofree char *text = NULL;

	(void)state;
	for (int i = 0; i < 3; i++)
		add(&denials, "{\"verdict\":\"deny\",\"hook\":\"file_open\",\"rule\":\"no-grant\","
			      "\"object\":{\"path\":\"/etc/shadow\",\"wanted\":\"r\"}}");
	add(&denials, "{\"verdict\":\"deny\",\"hook\":\"connect4\",\"rule\":\"not-sealed\","
		      "\"destination\":\"192.0.2.1:80/tcp\",\"host\":\"example.com\"}");
	add(&denials, "{\"type\":\"suppressed\",\"count\":40}");
	text = drawn(
		"{\"name\":\"b1\",\"state\":\"ready\",\"grants\":["
		"{\"id\":\"b1/1\",\"kind\":\"file\",\"rights\":\"ro\",\"source\":\"/home/u/src\","
		"\"dest\":\"/in/src\"},"
		"{\"id\":\"b1/2\",\"kind\":\"net\",\"profile\":\"apt\",\"hosts\":["
		"{\"host\":\"apt.example\"},{\"host\":\"gone.example\",\"revoked\":true}]},"
		"{\"id\":\"b1/3\",\"kind\":\"broker\",\"broker\":\"model\","
		"\"endpoint\":\"127.98.109.1:80\",\"upstream\":\"api.example.com:443\"},"
		"{\"id\":\"b1/4\",\"kind\":\"listen\",\"port\":8080,\"protocol\":\"tcp\","
		"\"from\":[\"192.0.2.7\"]}]}",
		&denials);
	assert_string_equal(text, "flowchart LR\n"
				  "    bench((\"b1<br>ready\"))\n"
				  "    g1[\"b1/1 file ro<br>/home/u/src\"]\n"
				  "    bench -->|\"/in/src\"| g1\n"
				  "    g2{{\"b1/2 net<br>apt\"}}\n"
				  "    bench --> g2\n"
				  "    g2 --> g2h0([\"apt.example\"])\n"
				  "    g3[[\"b1/3 broker<br>model\"]]\n"
				  "    bench -->|\"127.98.109.1:80\"| g3\n"
				  "    g3 --> g3h0([\"api.example.com:443\"])\n"
				  "    g4[/\"b1/4 listen<br>from 192.0.2.7\"/]\n"
				  "    g4 -->|\"8080/tcp\"| bench\n"
				  "    d1[\"/etc/shadow\"]:::denied\n"
				  "    bench -.->|\"3 x file_open r<br>no-grant\"| d1\n"
				  "    d2[\"192.0.2.1:80/tcp #40;example.com#41;\"]:::denied\n"
				  "    bench -.->|\"1 x connect4<br>not-sealed\"| d2\n"
				  "    dmore[\"40 other denials\"]:::denied\n"
				  "    bench -.-> dmore\n"
				  "    classDef denied stroke:#c00,stroke-dasharray:4 3\n");
	cli_denials_done(&denials);
}

/* Whatever a name is made of stays in its label, and says what it is. */
static void names_break_nothing(void **state)
{
	struct cli_denials denials = {};
	autofree char *text = NULL;

	(void)state;
	add(&denials,
	    "{\"verdict\":\"deny\",\"hook\":\"mkdir\",\"rule\":\"rights\",\"object\":{"
	    "\"path\":\"/\\\"] --> x[\\\"`a`<b>&amp;#quot;;%%{init}%%|()\\n\\u001b\\u202e\","
	    "\"wanted\":\"w\"}}");
	text = drawn("{\"name\":\"b1\",\"state\":\"ready\",\"grants\":[{\"id\":\"b1/1\","
		     "\"kind\":\"file\",\"rights\":\"rw\",\"source\":\"/\\u00fc\\\"]\\nend\","
		     "\"dest\":\"/in/|x|\"}]}",
		     &denials);
	assert_string_equal(
		text,
		"flowchart LR\n"
		"    bench((\"b1<br>ready\"))\n"
		"    g1[\"b1/1 file rw<br>/\xc3\xbc#34;#93;#92;x0aend\"]\n"
		"    bench -->|\"/in/#124;x#124;\"| g1\n"
		"    d1[\"/#34;#93; --#62; x#91;#34;#96;a#96;#60;b#62;#38;amp#59;#35;quot#59;#59;"
		"#37;#37;#123;init#125;#37;#37;#124;#40;#41;#92;x0a#92;x1b#92;u202e\"]:::denied\n"
		"    bench -.->|\"1 x mkdir w<br>rights\"| d1\n"
		"    classDef denied stroke:#c00,stroke-dasharray:4 3\n");
	cli_denials_done(&denials);
}

static void a_bench_with_nothing(void **state)
{
	struct cli_denials denials = {};
	autofree char *text = drawn("{\"name\":\"b1\",\"state\":\"ready\",\"grants\":[]}",
				    &denials),
		      *unasked = drawn("{\"name\":\"b1\",\"state\":\"ready\"}", NULL);

	(void)state;
	assert_string_equal(text, "flowchart LR\n    bench((\"b1<br>ready\"))\n");
	assert_string_equal(unasked, text);
}

#define SECOND 1000000000ull

static void look(struct top *top, const char *benches, uint64_t now)
{
	autojson *json = parse(benches);

	assert_int_equal(top_look(top, json, now), 0);
}

static void rates(void **state)
{
	struct top top = {};
	char bars[64];

	(void)state;
	look(&top,
	     "[{\"name\":\"a\",\"id\":1,\"denied\":100,\"egress_bytes\":5000},"
	     "{\"name\":\"b\",\"id\":2,\"denied\":7}]",
	     SECOND);
	/* What was before the first look is no rate. */
	assert_true(top.list[0].denials == 0 && top.list[1].denials == 0);
	assert_string_equal(top.list[0].name, "a");
	look(&top,
	     "[{\"name\":\"a\",\"id\":1,\"denied\":100,\"egress_bytes\":7000},"
	     "{\"name\":\"b\",\"id\":2,\"denied\":27}]",
	     3 * SECOND);
	assert_string_equal(top.list[0].name, "b");
	assert_true(top.list[0].denials == 10 && top.list[0].bytes == 0);
	assert_true(top.list[1].denials == 0 && top.list[1].bytes == 1000);
	top.order = TOP_BY_EGRESS;
	top_sort(&top);
	assert_string_equal(top.list[0].name, "a");
	/* Another Bench of that name begins anew, and one that has gone is not there. */
	look(&top, "[{\"name\":\"b\",\"id\":3,\"denied\":4}]", 4 * SECOND);
	assert_int_equal(top.count, 1);
	assert_true(top.list[0].denials == 0 && top.list[0].looks == 0);
	look(&top, "[{\"name\":\"b\",\"id\":3,\"denied\":12}]", 5 * SECOND);
	look(&top, "[{\"name\":\"b\",\"id\":3,\"denied\":14}]", 6 * SECOND);
	look(&top, "[{\"name\":\"b\",\"id\":3,\"denied\":14}]", 7 * SECOND);
	assert_string_equal(top_bars(&top.list[0], 5, false, bars, sizeof(bars)), "  @: ");
	assert_string_equal(top_bars(&top.list[0], 3, true, bars, sizeof(bars)), "█▂ ");
	/* It is cut between two. */
	assert_string_equal(top_bars(&top.list[0], 3, true, bars, 5), "█");
	/* A counter that went back. */
	look(&top, "[{\"name\":\"b\",\"id\":3,\"denied\":2}]", 8 * SECOND);
	assert_true(top.list[0].denials == 0);
	top_done(&top);
}

static void numbers(void **state)
{
	char buf[TOP_RATE_LEN];

	(void)state;
	assert_string_equal(top_rate(0, buf), "0");
	assert_string_equal(top_rate(0.4, buf), "0.4");
	assert_string_equal(top_rate(12.3, buf), "12");
	assert_string_equal(top_rate(3100, buf), "3.1k");
	assert_string_equal(top_rate(1e18, buf), "1.0E");
	assert_string_equal(top_bytes(512, buf), "512");
	assert_string_equal(top_bytes(4096, buf), "4.0k");
	assert_string_equal(top_bytes(1.5 * (1 << 30), buf), "1.5G");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_all_that_there_is),
		cmocka_unit_test(names_break_nothing),
		cmocka_unit_test(a_bench_with_nothing),
		cmocka_unit_test(rates),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
