// SPDX-License-Identifier: GPL-2.0-only
/* From a definition and what was answered to what is going to be sealed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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
#include "base/io.h"
#include "gatekeeperd/seal_plan.h"
#include "policy/one.h"

#define NOW 1700000000
#define HEAD "{\"name\":\"p\",\"description\":\"d\","
#define TAIL ",\"protocol\":\"tcp\",\"port\":443,\"why\":\"w\"}"
#define HOST(name) "{\"host\":\"" name "\"" TAIL

static void parse(const char *text, struct bm_profile *ret)
{
	struct bm_error err = {};

	if (bm_profile_parse(text, strlen(text), "test", NULL, ret, &err) < 0)
		fail_msg("%s", err.message);
}

static void answer(struct bm_resolved *r, const char *host, const char *const *addresses)
{
	*r = (struct bm_resolved){};
	snprintf(r->host, sizeof(r->host), "%s", host);
	for (; *addresses; addresses++) {
		uint8_t *to = r->addresses[r->count].address;

		r->addresses[r->count++].ttl = 60;
		if (strchr(*addresses, ':')) {
			assert_int_equal(inet_pton(AF_INET6, *addresses, to), 1);
			continue;
		}
		memset(to + 10, 0xff, 2);
		assert_int_equal(inet_pton(AF_INET, *addresses, to + 12), 1);
	}
}

/* "HOST[!] FROM DESTINATION DESTINATION; ..." */
static const char *describe(const struct bm_sealed *s)
{
	static char text[2048];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < s->host_count; i++) {
		const struct bm_sealed_host *host = &s->hosts[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s(%s)%u",
					 i ? "; " : "", host->host, host->uploads ? "!" : "",
					 host->from, host->port);
		for (size_t k = 0; k < host->address_count; k++) {
			char shown[BM_DESTINATION_LEN];

			used += (size_t)snprintf(
				text + used, sizeof(text) - used, " %s",
				bm_destination_format(&host->addresses[k].destination, shown));
		}
	}
	return text;
}

static void all_kinds(void **state)
{
	static const char text[] = HEAD "\"entries\":[" HOST(
		"a.test") ","
			  "{\"host\":\"a.test\",\"protocol\":\"tcp\",\"port\":80,\"why\":\"w\","
			  "\"uploads\":true},"
			  "{\"address\":\"192.0.2.8\"" TAIL ",{\"address\":\"192.0.2.9\"" TAIL "]}";
	static const char *const addresses[] = { "192.0.2.1", "2001:db8::1", NULL };
	autojson *notes = json_object_new_array();
	autofree struct bm_resolved *resolved = calloc(1, sizeof(*resolved));
	autoprofile profile = {};
	autosealed next = {};

	(void)state;
	parse(text, &profile);
	assert_int_equal(plan_hosts(&profile, -1, &next, notes, NULL), 0);
	answer(resolved, "a.test", addresses);
	assert_int_equal(plan_take(&profile, resolved, 1, NOW, &next, notes, NULL), 0);
	assert_string_equal(describe(&next),
			    "a.test(profile)443 192.0.2.1:443/tcp [2001:db8::1]:443/tcp; "
			    "a.test!(profile)80 192.0.2.1:80/tcp [2001:db8::1]:80/tcp; "
			    "(profile)443 192.0.2.8:443/tcp 192.0.2.9:443/tcp");
	assert_int_equal(next.hosts[0].addresses[0].ttl, 60);
	assert_int_equal(next.hosts[0].addresses[0].seen, NOW);
	assert_int_equal(next.hosts[2].addresses[1].seen, NOW);
	assert_int_equal(json_object_array_length(notes), 0);
}

static void refused(void **state)
{
	static const char *const some[] = { "127.0.0.1", "192.0.2.1", "10.1.2.3", "169.254.169.254",
					    NULL };
	static const char *const none[] = { "10.1.2.3", NULL };
	static const char *const metadata[] = { "169.254.169.254", NULL };
	autojson *notes = json_object_new_array();
	autofree struct bm_resolved *resolved = calloc(1, sizeof(*resolved));
	autoprofile profile = {}, meant = {};
	autosealed next = {}, again = {}, lax = {}, never = {};
	struct bm_error err = {};
	struct json_object *note;

	(void)state;
	parse(HEAD "\"entries\":[" HOST("a.test") "]}", &profile);
	parse(HEAD "\"private\":[\"10.1.2.3\"],\"entries\":[" HOST("a.test") "]}", &meant);
	assert_int_equal(plan_hosts(&profile, -1, &next, notes, NULL), 0);
	answer(resolved, "a.test", some);
	assert_int_equal(plan_take(&profile, resolved, 1, NOW, &next, notes, NULL), 0);
	assert_string_equal(describe(&next), "a.test(profile)443 192.0.2.1:443/tcp");
	assert_int_equal(json_object_array_length(notes), 3);
	note = bm_json_get(json_object_array_get_idx(notes, 1), "refused", json_type_object);
	assert_string_equal(bm_json_string(note, "host"), "a.test");
	assert_string_equal(bm_json_string(note, "destination"), "10.1.2.3:443/tcp");
	assert_non_null(strstr(bm_json_string(note, "why"), "is a private address"));

	answer(resolved, "a.test", none);
	assert_int_equal(plan_hosts(&profile, -1, &again, notes, NULL), 0);
	assert_int_equal(plan_take(&profile, resolved, 1, NOW, &again, notes, &err), -EPERM);
	assert_string_equal(err.message, "a.test has no address that may be sealed: "
					 "10.1.2.3:443/tcp is a private address (10.0.0.0/8)");
	assert_non_null(strstr(err.remedy, "list it in \"private\""));
	/* That very address, and no other for it. */
	assert_int_equal(plan_hosts(&meant, -1, &lax, notes, NULL), 0);
	assert_int_equal(plan_take(&meant, resolved, 1, NOW, &lax, notes, NULL), 0);
	assert_string_equal(describe(&lax), "a.test(profile)443 10.1.2.3:443/tcp");
	answer(resolved, "a.test", metadata);
	assert_int_equal(plan_hosts(&meant, -1, &never, notes, NULL), 0);
	assert_int_equal(plan_take(&meant, resolved, 1, NOW, &never, notes, NULL), -EPERM);
}

/* Without a definition: what is said with it, of what it has now. */
static void by_name(void **state)
{
	static const char *const addresses[] = { "10.1.2.3", "169.254.169.254", NULL };
	autojson *notes = json_object_new_array();
	autofree struct bm_resolved *resolved = calloc(1, sizeof(*resolved));
	autosealed next = {}, meant = {};
	autoprofile one = {};
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_one_parse("a.test:53/udp", 13, &one, NULL), 0);
	assert_int_equal(plan_hosts(&one, -1, &next, notes, NULL), 0);
	answer(resolved, "a.test", addresses);
	resolved->count = 1;
	assert_int_equal(plan_take(&one, resolved, 1, NOW, &next, notes, &err), -EPERM);
	assert_non_null(strstr(err.remedy, "pass --private to `grant`"));
	resolved->count = 2;
	one.private_too = true;
	assert_int_equal(plan_hosts(&one, -1, &meant, notes, NULL), 0);
	assert_int_equal(plan_take(&one, resolved, 1, NOW, &meant, notes, NULL), 0);
	assert_string_equal(describe(&meant), "a.test!(profile)53 10.1.2.3:53/udp");
}

static void discovered(void **state)
{
	char dir[] = "/tmp/benchmon-plan-XXXXXX", path[64];
	const char *argv[] = { "rm", "-rf", dir, NULL };
	autojson *notes = json_object_new_array();
	autoprofile profile = {};
	autosealed next = {}, without = {};
	struct bm_error err = {};
	autoclose root = -1;
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/etc", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/etc/npmrc", dir);
	assert_int_equal(bm_write_file(AT_FDCWD, path, O_CREAT, 0644,
				       "registry=https://a.test/\n@x:registry=http://b.test/\n"
				       "@y:registry=file:/c\n"),
			 0);
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	parse(HEAD "\"entries\":[{\"discover\":\"npm\",\"why\":\"w\",\"uploads\":true},"
		   "{\"host\":\"a.test\"" TAIL "]}",
	      &profile);
	assert_int_equal(plan_hosts(&profile, root, &next, notes, &err), 0);
	assert_string_equal(describe(&next),
			    "b.test!(npm: /etc/npmrc)80; a.test!(npm: /etc/npmrc)443");
	assert_int_equal(json_object_array_length(notes), 1);
	assert_string_equal(bm_json_string(json_object_array_get_idx(notes, 0), "left"),
			    "file: in /etc/npmrc: neither http nor https");
	assert_int_equal(plan_hosts(&profile, -1, &without, notes, &err), -EINVAL);
	assert_string_equal(err.message, "what npm needs is discovered in an image");
	assert_string_equal(err.remedy, "pass --image or --rootfs");
	assert_int_equal(bm_run(argv, 10000, &status, NULL, NULL), 0);
}

/* Hosts as they were sealed, addresses as the profile gives them. */
static void again(void **state)
{
	static const char *const addresses[] = { "192.0.2.1", NULL };
	autojson *notes = json_object_new_array();
	autofree struct bm_resolved *resolved = calloc(1, sizeof(*resolved));
	autoprofile profile = {};
	autosealed old = {}, next = {};
	struct bm_sealed_host *host;

	(void)state;
	parse(HEAD
	      "\"entries\":[{\"discover\":\"apt\",\"why\":\"w\"},{\"address\":\"192.0.2.8\"" TAIL
	      "]}",
	      &profile);
	host = bm_sealed_add_host(&old);
	assert_non_null(host);
	*host = (struct bm_sealed_host){ .host = "a.test",
					 .from = "apt: /x",
					 .port = 80,
					 .protocol = IPPROTO_TCP,
					 .uploads = true };
	host = bm_sealed_add_host(&old);
	assert_non_null(host);
	*host = (struct bm_sealed_host){ .port = 443, .protocol = IPPROTO_TCP };
	assert_int_equal(plan_again(&profile, &old, &next, NULL), 0);
	answer(resolved, "a.test", addresses);
	assert_int_equal(plan_take(&profile, resolved, 1, NOW, &next, notes, NULL), 0);
	assert_string_equal(describe(&next), "a.test!(apt: /x)80 192.0.2.1:80/tcp; "
					     "(profile)443 192.0.2.8:443/tcp");
}

static void nothing_to_ask(void **state)
{
	struct bm_resolving resolving;
	autojson *notes = json_object_new_array();
	autoprofile profile = {};
	autosealed next = {};

	(void)state;
	parse(HEAD "\"entries\":[{\"address\":\"192.0.2.8\"" TAIL "]}", &profile);
	assert_int_equal(plan_hosts(&profile, -1, &next, notes, NULL), 0);
	assert_int_equal(plan_resolve(&next, &resolving, NULL), 0);
	assert_int_equal(resolving.socket, -1);
	assert_int_equal(plan_take(&profile, NULL, 0, NOW, &next, notes, NULL), 0);
	assert_int_equal(next.hosts[0].addresses[0].seen, NOW);
}

/* One address or host too many: which, and nothing is cut off. */
static void too_many(void **state)
{
	autojson *notes = json_object_new_array();
	struct bm_profile_entry entries[BM_SEALED_ADDRESSES + 1] = {};
	struct bm_profile profile = { .entries = entries };
	autosealed given = {}, full = {};
	struct bm_error err = {};

	(void)state;
	for (size_t i = 0; i <= BM_SEALED_ADDRESSES; i++)
		entries[i] = (struct bm_profile_entry){ .kind = BM_ENTRY_ADDRESS,
							.destination = { .address[15] = (uint8_t)i,
									 .protocol = IPPROTO_UDP,
									 .port = 53 } };
	profile.entry_count = BM_SEALED_ADDRESSES;
	assert_int_equal(plan_hosts(&profile, -1, &given, notes, &err), 0);
	bm_sealed_done(&given);
	profile.entry_count++;
	assert_int_equal(plan_hosts(&profile, -1, &given, notes, &err), -E2BIG);
	assert_string_equal(err.message,
			    "given addresses with port 53/udp: more than 64 addresses");

	for (size_t i = 0; i < BM_SEALED_HOSTS; i++)
		snprintf(bm_sealed_add_host(&full)->host, BM_HOSTNAME_LEN, "h%zu.test", i);
	profile.entry_count = 1;
	err = (struct bm_error){};
	assert_int_equal(plan_hosts(&profile, -1, &full, notes, &err), -E2BIG);
	assert_string_equal(err.message, "more than 512 hosts and ports");
	assert_string_equal(err.remedy, "split the profile");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds),      cmocka_unit_test(refused),
		cmocka_unit_test(discovered),     cmocka_unit_test(again),
		cmocka_unit_test(nothing_to_ask), cmocka_unit_test(too_many),
		cmocka_unit_test(by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
