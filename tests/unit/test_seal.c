// SPDX-License-Identifier: GPL-2.0-only
/* Seals on disk: what is written is read, and nothing else is. */
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
#include "policy/seal.h"

#define NOW 1700000000

/* A state directory, and where in it the seal of p is. */
struct lab {
	char dir[64], file[96], key[96];
	int fd;
};

static int set_up(void **state)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	assert_non_null(lab);
	snprintf(lab->dir, sizeof(lab->dir), "/tmp/benchmon-seal-XXXXXX");
	assert_non_null(mkdtemp(lab->dir));
	snprintf(lab->file, sizeof(lab->file), "%s/profiles/p.json", lab->dir);
	snprintf(lab->key, sizeof(lab->key), "%s/seal.key", lab->dir);
	lab->fd = open(lab->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(lab->fd >= 0);
	*state = lab;
	return 0;
}

static int tear_down(void **state)
{
	struct lab *lab = *state;
	const char *argv[] = { "rm", "-rf", lab->dir, NULL };
	int status = -1;

	close(lab->fd);
	assert_int_equal(bm_run(argv, 10000, &status, NULL, NULL), 0);
	free(lab);
	return status;
}

static void add(struct bm_sealed_host *host, const char *text, int64_t seen, int64_t until)
{
	struct bm_sealed_address *address = bm_sealed_add_address(host);

	assert_non_null(address);
	assert_int_equal(bm_destination_parse(text, &address->destination, NULL), 0);
	address->ttl = 300;
	address->seen = seen;
	address->until = until;
}

static struct bm_sealed_host *add_host(struct bm_sealed *s, const char *name, uint16_t port)
{
	struct bm_sealed_host *host = bm_sealed_add_host(s);

	assert_non_null(host);
	snprintf(host->host, sizeof(host->host), "%s", name);
	snprintf(host->from, sizeof(host->from), "profile");
	host->port = port;
	host->protocol = IPPROTO_TCP;
	return host;
}

static struct bm_sealed sample(const char *name)
{
	struct bm_sealed s = { .sealed = NOW, .expires = NOW + 86400 };
	struct bm_sealed_host *host;

	snprintf(s.name, sizeof(s.name), "%s", name);
	memset(s.definition, 0x5a, sizeof(s.definition));
	host = add_host(&s, "a.test", 443);
	host->uploads = true;
	add(host, "192.0.2.1:443", NOW, 0);
	add(host, "[2001:db8::1]:443", NOW - 50, NOW + 50);
	host = add_host(&s, "", 53);
	host->protocol = IPPROTO_UDP;
	add(host, "192.0.2.2:53/udp", NOW, 0);
	return s;
}

static void seal(struct lab *lab, const char *name, struct bm_key *ret_key)
{
	autosealed s = sample(name);

	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, ret_key, NULL), 0);
	assert_int_equal(bm_seal_write(lab->fd, ret_key, &s, NULL), 0);
}

static int look(struct lab *lab, const struct bm_key *key, int64_t now, struct bm_error *err)
{
	autosealed s = {};

	*err = (struct bm_error){};
	return bm_seal_read(lab->fd, getuid(), key, "p", now, &s, err);
}

static void refused(struct lab *lab, const struct bm_key *key, int code, const char *because)
{
	struct bm_error err;
	int r = look(lab, key, NOW, &err);

	if (r != -code || r != -err.code || !strstr(err.message, because) || !err.remedy[0])
		fail_msg("%d, \"%s\", \"%s\" instead of %s", r, err.message, err.remedy, because);
}

static void good(struct lab *lab, const struct bm_key *key)
{
	struct bm_error err;

	if (look(lab, key, NOW, &err) < 0)
		fail_msg("%s", err.message);
}

static void read_back(void **state)
{
	struct lab *lab = *state;
	char shown[BM_DESTINATION_LEN];
	autosealed s = {};
	autokey key = {};
	struct stat st;

	seal(lab, "p", &key);
	assert_int_equal(bm_seal_read(lab->fd, getuid(), &key, "p", NOW + 1, &s, NULL), 0);
	assert_string_equal(s.name, "p");
	assert_int_equal(s.sealed, NOW);
	assert_int_equal(s.expires, NOW + 86400);
	assert_int_equal(s.definition[31], 0x5a);
	assert_int_equal(s.host_count, 2);
	assert_string_equal(s.hosts[0].host, "a.test");
	assert_true(s.hosts[0].uploads);
	assert_int_equal(s.hosts[0].address_count, 2);
	assert_int_equal(s.hosts[0].addresses[0].ttl, 300);
	assert_string_equal(bm_destination_format(&s.hosts[0].addresses[1].destination, shown),
			    "[2001:db8::1]:443/tcp");
	assert_int_equal(s.hosts[0].addresses[1].seen, NOW - 50);
	assert_int_equal(s.hosts[0].addresses[1].until, NOW + 50);
	assert_string_equal(s.hosts[1].host, "");
	assert_string_equal(bm_destination_format(&s.hosts[1].addresses[0].destination, shown),
			    "192.0.2.2:53/udp");
	assert_int_equal(stat(lab->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Once more over it, and the same key. */
	seal(lab, "p", &key);
	good(lab, &key);
}

static void unsealed(void **state)
{
	struct lab *lab = *state;
	autokey key = {};
	struct bm_error err;

	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), false, &key, NULL), -ENOENT);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &key, NULL), 0);
	refused(lab, &key, ENOENT, "profile p is not sealed");
	seal(lab, "q", &key);
	refused(lab, &key, ENOENT, "profile p is not sealed");
	look(lab, &key, NOW, &err);
	assert_string_equal(err.remedy, "`benchmon profile seal p`");
}

/* Each byte of it, one after the other. */
static void altered(void **state)
{
	struct lab *lab = *state;
	autofree char *text = NULL;
	autokey key = {};
	struct bm_error err;
	size_t len, refusals = 0;

	seal(lab, "p", &key);
	assert_int_equal(bm_read_file(AT_FDCWD, lab->file, 1 << 16, &text, &len), 0);
	for (size_t i = 0; i < len; i++) {
		autoclose fd = open(lab->file, O_WRONLY | O_CLOEXEC);
		char other = (char)(text[i] ^ 1);

		assert_int_equal(pwrite(fd, &other, 1, (off_t)i), 1);
		/* Of white space at the end no byte is signed or read. */
		if (look(lab, &key, NOW, &err) < 0)
			refusals++;
		else if (i != len - 1)
			fail_msg("byte %zu of %zu changed: taken", i, len);
		assert_int_equal(pwrite(fd, &text[i], 1, (off_t)i), 1);
	}
	assert_true(refusals >= len - 1);
	good(lab, &key);
	assert_int_equal(truncate(lab->file, (off_t)len - 2), 0);
	refused(lab, &key, EBADMSG, "has no signature");
	assert_int_equal(truncate(lab->file, 0), 0);
	refused(lab, &key, EBADMSG, "has no signature");
}

static void changed_value(void **state)
{
	struct lab *lab = *state;
	autofree char *text = NULL;
	autokey key = {};
	char *at;

	seal(lab, "p", &key);
	assert_int_equal(bm_read_file(AT_FDCWD, lab->file, 1 << 16, &text, NULL), 0);
	at = strstr(text, "192.0.2.1");
	assert_non_null(at);
	at[8] = '9';
	assert_int_equal(bm_write_file(AT_FDCWD, lab->file, O_TRUNC, 0, text), 0);
	refused(lab, &key, EBADMSG, "it was altered after it had been sealed");
}

/* A seal that is whole, under another's name. */
static void renamed(void **state)
{
	struct lab *lab = *state;
	autokey key = {};
	char other[96];

	seal(lab, "q", &key);
	snprintf(other, sizeof(other), "%s/profiles/q.json", lab->dir);
	assert_int_equal(rename(other, lab->file), 0);
	refused(lab, &key, EBADMSG, "what is sealed there is profile q");
}

static void aged(void **state)
{
	struct lab *lab = *state;
	autokey key = {};
	struct bm_error err;

	seal(lab, "p", &key);
	assert_int_equal(look(lab, &key, NOW + 86399, &err), 0);
	assert_int_equal(look(lab, &key, NOW + 86400, &err), -EKEYEXPIRED);
	assert_string_equal(err.message, "profile p expired at 2023-11-15T22:13:20.000000000Z");
	assert_string_equal(err.remedy, "`benchmon profile refresh p`");
	assert_int_equal(look(lab, &key, NOW - 300, &err), 0);
	assert_int_equal(look(lab, &key, NOW - 301, &err), -EKEYEXPIRED);
	assert_non_null(strstr(err.message, "the clock was set back"));
	assert_int_equal(look(lab, &key, 0, &err), 0);
}

static void others_files(void **state)
{
	struct lab *lab = *state;
	autokey key = {};
	char dir[96], other[96];

	seal(lab, "p", &key);
	snprintf(dir, sizeof(dir), "%s/profiles", lab->dir);
	snprintf(other, sizeof(other), "%s/elsewhere", lab->dir);
	assert_int_equal(chmod(lab->file, 0620), 0);
	refused(lab, &key, EPERM, "p.json can be written by others (mode 0620)");
	assert_int_equal(chmod(lab->file, 0602), 0);
	refused(lab, &key, EPERM, "p.json can be written by others (mode 0602)");
	assert_int_equal(chmod(lab->file, 0600), 0);
	assert_int_equal(chmod(dir, 0707), 0);
	refused(lab, &key, EPERM, "the directory of seals can be written by others");
	assert_int_equal(chmod(dir, 0700), 0);
	good(lab, &key);

	assert_int_equal(rename(lab->file, other), 0);
	assert_int_equal(symlink(other, lab->file), 0);
	refused(lab, &key, EPERM, "a symbolic link");
	assert_int_equal(unlink(lab->file), 0);
	assert_int_equal(mkfifo(lab->file, 0600), 0);
	refused(lab, &key, EPERM, "p.json is no regular file");
	assert_int_equal(unlink(lab->file), 0);
	assert_int_equal(rename(other, lab->file), 0);
	good(lab, &key);
	if (getuid() == 0) {
		assert_int_equal(chown(lab->file, 65533, 0), 0);
		refused(lab, &key, EPERM, "p.json belongs to uid 65533, not to root");
	} else {
		autosealed s = {};

		assert_int_equal(bm_seal_read(lab->fd, getuid() + 1, &key, "p", NOW, &s, NULL),
				 -EPERM);
	}
	assert_int_equal(rename(dir, other), 0);
	assert_int_equal(symlink(other, dir), 0);
	refused(lab, &key, EPERM, "a symbolic link");
}

static void size(void **state)
{
	struct lab *lab = *state;
	autokey key = {};

	seal(lab, "p", &key);
	assert_int_equal(truncate(lab->file, 100 << 20), 0);
	refused(lab, &key, EBADMSG, "larger than any of ours");
}

/* As much as a seal may hold is written and read again, however long each part of it is. */
static void largest(void **state)
{
	struct lab *lab = *state;
	autosealed s = { .name = "p", .sealed = NOW, .expires = NOW + 86400 }, back = {};
	autokey key = {};
	struct bm_error err = {};

	for (int i = 0; i < BM_SEALED_HOSTS; i++) {
		struct bm_sealed_host *host = add_host(&s, "", (uint16_t)(10000 + i));

		memset(host->from, '/', sizeof(host->from) - 1);
		snprintf(host->host, sizeof(host->host), "x%060d.x%058d.x%058d.x%058d", i, 0, 0, 0);
		for (int k = 0; k < BM_SEALED_ADDRESSES; k++) {
			char text[64];

			snprintf(text, sizeof(text), "[2001:db8:1111:2222:3333:4444:%x:%x]:%d",
				 0x1000 + i, 0x1000 + k, 10000 + i);
			add(host, text, NOW, NOW + 50);
			host->addresses[k].ttl = UINT32_MAX;
		}
	}
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &key, NULL), 0);
	if (bm_seal_write(lab->fd, &key, &s, &err) < 0 ||
	    bm_seal_read(lab->fd, getuid(), &key, "p", NOW, &back, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(back.host_count, BM_SEALED_HOSTS);
	assert_int_equal(back.hosts[BM_SEALED_HOSTS - 1].address_count, BM_SEALED_ADDRESSES);
	assert_null(bm_sealed_add_host(&back));
	assert_null(bm_sealed_add_address(&back.hosts[0]));
}

static void keys(void **state)
{
	struct lab *lab = *state;
	struct bm_error err = {};
	autokey key = {}, again = {};
	struct stat st;

	seal(lab, "p", &key);
	assert_int_equal(stat(lab->key, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, 64);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), false, &again, NULL), 0);
	assert_memory_equal(&key, &again, sizeof(key));

	assert_int_equal(chmod(lab->key, 0640), 0);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, &err), -EPERM);
	assert_string_equal(err.message, "seal.key can be read by others (mode 0640)");
	assert_int_equal(chmod(lab->key, 0600), 0);
	assert_int_equal(truncate(lab->key, 63), 0);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, NULL), -EBADMSG);
	assert_int_equal(truncate(lab->key, 64), 0);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, NULL),
			 key.secret[63] ? -EBADMSG : 0);
	assert_int_equal(truncate(lab->key, 65), 0);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, NULL), -EBADMSG);

	assert_int_equal(unlink(lab->key), 0);
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, NULL), 0);
	assert_memory_not_equal(&key, &again, sizeof(key));
	refused(lab, &again, EKEYREJECTED, "sealed with a key that is not this machine's");
	assert_int_equal(unlink(lab->key), 0);
	assert_int_equal(symlink("elsewhere", lab->key), 0);
	err = (struct bm_error){};
	assert_int_equal(bm_seal_key_open(lab->fd, getuid(), true, &again, &err), -EPERM);
	assert_string_equal(err.message, "seal.key is a symbolic link");
}

/* Signed, and yet not what we write. */
static void strange(void **state)
{
	static const char *const documents[] = {
		"{}",
		"{\"schema\":\"benchmon-seal/1\",\"name\":\"p\",\"sealed\":1,\"expires\":2,"
		"\"definition\":\"00\",\"hosts\":[]}",
		"{\"schema\":\"benchmon-seal/1\",\"name\":\"p\",\"sealed\":1,\"expires\":2,"
		"\"definition\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"hosts\":[{}]}",
		"{\"schema\":\"benchmon-seal/1\",\"name\":\"p\",\"sealed\":1,\"expires\":2,"
		"\"definition\":"
		"\"0000000000000000000000000000000000000000000000000000000000000000\","
		"\"hosts\":[],\"more\":1}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		struct bm_sealed s = { .sealed = 7 };
		autojson *json = NULL;

		assert_int_equal(
			bm_json_parse(documents[i], strlen(documents[i]), "t", &json, NULL), 0);
		assert_int_equal(bm_sealed_from_json(json, &s, NULL), -EBADMSG);
		assert_int_equal(s.sealed, 7);
	}
}

static void fits(void **state)
{
	struct bm_profile profile = {};
	struct bm_error err = {};
	autosealed s = sample("p");

	(void)state;
	memset(profile.digest, 0x5a, sizeof(profile.digest));
	assert_int_equal(bm_seal_fits(&s, &profile, NULL), 0);
	profile.digest[0]++;
	assert_int_equal(bm_seal_fits(&s, &profile, &err), -ESTALE);
	assert_string_equal(err.message, "profile p is refused: its definition has changed since "
					 "it was sealed");
}

/* --- from one to the next ----------------------------------------------------------------------
 */

static void describe(const struct bm_sealed *old, const struct bm_sealed *next, char *ret,
		     size_t len)
{
	static const char marks[] = {
		[BM_SEAL_ADDED] = '+', [BM_SEAL_KEPT] = '=', [BM_SEAL_DROPPED] = '-'
	};
	autofree struct bm_seal_difference *list = NULL;
	size_t count, used = 0;

	assert_int_equal(bm_seal_diff(old, next, &list, &count), 0);
	*ret = '\0';
	for (size_t i = 0; i < count; i++) {
		char shown[BM_DESTINATION_LEN];

		bm_destination_format(&list[i].address->destination, shown);
		used += (size_t)snprintf(ret + used, len - used, "%c%s %s\n", marks[list[i].change],
					 list[i].host->host, shown);
	}
}

static void overlap(void **state)
{
	struct bm_profile profile = { .overlap = 1000 };
	autosealed old = { .sealed = NOW }, next = { .sealed = NOW + 5000 };
	struct bm_sealed_host *host;
	char text[1024];

	(void)state;
	host = add_host(&old, "a.test", 443);
	add(host, "192.0.2.1:443", NOW, 0);              /* answered again */
	add(host, "192.0.2.2:443", NOW, 0);              /* not any more */
	add(host, "192.0.2.3:443", NOW - 9, NOW + 5001); /* not for long */
	add(host, "192.0.2.4:443", NOW - 9, NOW + 5000); /* long enough */
	add(host, "192.0.2.5:443", NOW - 9, NOW + 5001); /* back again */
	add(host, "10.1.2.3:443", NOW, 0);               /* was meant then */
	host = add_host(&old, "b.test", 443);
	add(host, "192.0.2.9:443", NOW, 0); /* the host is not wanted any more */
	host = add_host(&old, "", 80);
	add(host, "192.0.2.7:80", NOW, 0); /* given, and not any more */

	host = add_host(&next, "a.test", 443);
	add(host, "192.0.2.1:443", NOW + 5000, 0);
	add(host, "192.0.2.5:443", NOW + 5000, 0);
	add(host, "192.0.2.6:443", NOW + 5000, 0);
	host = add_host(&next, "a.test", 80);
	add(host, "192.0.2.1:80", NOW + 5000, 0);
	host = add_host(&next, "", 80);
	add(host, "192.0.2.8:80", NOW, 0);

	assert_int_equal(bm_seal_overlap(&old, &profile, &next, NULL), 0);
	describe(&old, &next, text, sizeof(text));
	assert_string_equal(text, "+a.test 192.0.2.6:443/tcp\n"
				  "=a.test 192.0.2.2:443/tcp\n"
				  "=a.test 192.0.2.3:443/tcp\n"
				  "+a.test 192.0.2.1:80/tcp\n"
				  "+ 192.0.2.8:80/tcp\n"
				  "-a.test 192.0.2.4:443/tcp\n"
				  "-a.test 10.1.2.3:443/tcp\n"
				  "-b.test 192.0.2.9:443/tcp\n"
				  "- 192.0.2.7:80/tcp\n");
	host = &next.hosts[0];
	assert_int_equal(host->address_count, 5);
	/* The window begins when it was first missing, and does not begin anew. */
	assert_int_equal(host->addresses[3].until, NOW + 6000);
	assert_int_equal(host->addresses[3].seen, NOW);
	assert_int_equal(host->addresses[4].until, NOW + 5001);
}

static void first_seal(void **state)
{
	struct bm_profile profile = { .overlap = 1000 };
	autosealed s = sample("p");
	char text[256];

	(void)state;
	s.hosts[0].addresses[1].until = 0;
	assert_int_equal(bm_seal_overlap(NULL, &profile, &s, NULL), 0);
	describe(NULL, &s, text, sizeof(text));
	assert_string_equal(text, "+a.test 192.0.2.1:443/tcp\n+a.test [2001:db8::1]:443/tcp\n"
				  "+ 192.0.2.2:53/udp\n");
	describe(&s, &s, text, sizeof(text));
	assert_string_equal(text, "");
	describe(&s, &(struct bm_sealed){}, text, sizeof(text));
	assert_string_equal(text, "-a.test 192.0.2.1:443/tcp\n-a.test [2001:db8::1]:443/tcp\n"
				  "- 192.0.2.2:53/udp\n");
}

static void too_many(void **state)
{
	struct bm_profile profile = { .overlap = 1000 };
	autosealed old = { .sealed = NOW }, next = { .sealed = NOW + 1 };
	struct bm_error err = {};
	char text[64];

	(void)state;
	add_host(&old, "a.test", 443);
	add_host(&next, "a.test", 443);
	for (int i = 0; i < BM_SEALED_ADDRESSES; i++) {
		snprintf(text, sizeof(text), "192.0.2.%d:443", i);
		add(&old.hosts[0], text, NOW, 0);
		snprintf(text, sizeof(text), "198.51.100.%d:443", i);
		add(&next.hosts[0], text, NOW, 0);
	}
	assert_int_equal(bm_seal_overlap(&old, &profile, &next, &err), -E2BIG);
	assert_non_null(strstr(err.message, "a.test has more than 64 addresses"));
}

int main(void)
{
#define IN_LAB(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		IN_LAB(read_back),
		IN_LAB(unsealed),
		IN_LAB(altered),
		IN_LAB(changed_value),
		IN_LAB(renamed),
		IN_LAB(aged),
		IN_LAB(others_files),
		IN_LAB(size),
		IN_LAB(largest),
		IN_LAB(keys),
		cmocka_unit_test(strange),
		cmocka_unit_test(fits),
		cmocka_unit_test(overlap),
		cmocka_unit_test(first_seal),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
