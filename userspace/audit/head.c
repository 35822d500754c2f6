// SPDX-License-Identifier: GPL-2.0-only
#include "audit/head.h"

#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define DOMAIN "benchmon ledger head 1\n"
#define SIG_KEY ",\"sig\":\""
#define SIG_HEX (2 * crypto_sign_BYTES)
/* ,"sig":"HEX"} */
#define SEAL_LEN (sizeof(SIG_KEY) - 1 + SIG_HEX + 2)

/* What is signed: never mistaken for anything else that a key of ours signs. */
static size_t signed_bytes(const char *text, size_t len, char ret[BM_HEAD_LEN + sizeof(DOMAIN)])
{
	memcpy(ret, DOMAIN, sizeof(DOMAIN) - 1);
	memcpy(ret + sizeof(DOMAIN) - 1, text, len);
	return sizeof(DOMAIN) - 1 + len;
}

const char *bm_head_sign(const struct bm_key *key, const struct bm_chain *at, uint32_t file,
			 uint64_t realtime_ns, char buf[BM_HEAD_LEN])
{
	unsigned char bytes[BM_HEAD_LEN + sizeof(DOMAIN)], sig[crypto_sign_BYTES];
	char time[BM_TIME_LEN], hex[SIG_HEX + 1];
	size_t len =
		(size_t)snprintf(buf, BM_HEAD_LEN,
				 "{\"n\":%" PRIu64 ",\"hash\":\"%s\",\"file\":%" PRIu32
				 ",\"time\":\"%s\",\"key\":\"%s\"",
				 at->n, at->hash, file, bm_time_format(realtime_ns, time), key->id);

	crypto_sign_detached(sig, NULL, bytes, signed_bytes(buf, len, (char *)bytes), key->secret);
	sodium_bin2hex(hex, sizeof(hex), sig, sizeof(sig));
	snprintf(buf + len, BM_HEAD_LEN - len, SIG_KEY "%s\"}", hex);
	return buf;
}

static bool from_hex(const char *hex, size_t hex_len, unsigned char *ret, size_t size)
{
	size_t got = 0;

	return hex_len == 2 * size &&
	       sodium_hex2bin(ret, size, hex, hex_len, NULL, &got, NULL) == 0 && got == size;
}

static bool signature_holds(const char *text, size_t len, const char *key_hex)
{
	unsigned char bytes[BM_HEAD_LEN + sizeof(DOMAIN)], sig[crypto_sign_BYTES],
		key[crypto_sign_PUBLICKEYBYTES];
	const char *end = text + len - SEAL_LEN;

	return !memcmp(end, SIG_KEY, sizeof(SIG_KEY) - 1) &&
	       from_hex(end + sizeof(SIG_KEY) - 1, SIG_HEX, sig, sizeof(sig)) &&
	       from_hex(key_hex, strlen(key_hex), key, sizeof(key)) &&
	       crypto_sign_verify_detached(
		       sig, bytes, signed_bytes(text, len - SEAL_LEN, (char *)bytes), key) == 0;
}

static bool take(struct json_object *json, const char *key, char *to, size_t size)
{
	const char *text = bm_json_string(json, key);

	return text && (size_t)snprintf(to, size, "%s", text) < size;
}

int bm_head_parse(const char *text, size_t len, struct bm_head *ret, struct bm_error *err)
{
	struct bm_head head = {};
	autojson *json = NULL;
	int64_t n, file;
	int r;

	while (len && (text[len - 1] == ' ' || text[len - 1] == '\n'))
		len--;
	if (len <= SEAL_LEN || len >= BM_HEAD_LEN)
		return bm_fail(err, EBADMSG, "ledger-head", NULL, "not a head of the ledger");
	r = bm_json_parse(text, len, "head of the ledger", &json, err);
	if (r < 0)
		return r;
	if (bm_json_int(json, "n", &n) < 0 || n < 0 || bm_json_int(json, "file", &file) < 0 ||
	    file < 1 || file > UINT32_MAX ||
	    !take(json, "hash", head.at.hash, sizeof(head.at.hash)) ||
	    strlen(head.at.hash) != BM_HASH_LEN - 1 ||
	    !take(json, "time", head.time, sizeof(head.time)) ||
	    !take(json, "key", head.key, sizeof(head.key)))
		return bm_fail(err, EBADMSG, "ledger-head", NULL, "not a head of the ledger");
	if (!signature_holds(text, len, head.key))
		return bm_fail(err, EKEYREJECTED, "ledger-head", NULL,
			       "the head of the ledger is not signed with the key it names");
	head.at.n = (uint64_t)n;
	head.file = (uint32_t)file;
	*ret = head;
	return 0;
}

int bm_head_read(int fd, struct bm_head *ret, int *ret_slot, struct bm_error *err)
{
	char text[BM_HEAD_SLOTS * BM_HEAD_LEN];
	struct bm_head head = {}, best = {};
	ssize_t n = pread(fd, text, sizeof(text), 0);
	struct bm_error why = {};
	int newest = -1;

	if (n < 0)
		return bm_fail_errno(err, errno, BM_HEAD_NAME);
	for (int i = 0; i < BM_HEAD_SLOTS && (i + 1) * BM_HEAD_LEN <= n; i++) {
		if (bm_head_parse(text + i * BM_HEAD_LEN, BM_HEAD_LEN, &head, &why) < 0)
			continue;
		if (newest < 0 || head.at.n > best.at.n) {
			best = head;
			newest = i;
		}
	}
	if (newest < 0 && n == 0)
		return bm_fail_errno(err, ENODATA, BM_HEAD_NAME);
	if (newest < 0)
		return bm_fail(err, EBADMSG, "ledger-head", BM_CHAIN_REMEDY,
			       BM_HEAD_NAME " was changed: %s",
			       why.code ? why.message : "it is no whole line");
	*ret = best;
	*ret_slot = (newest + 1) % BM_HEAD_SLOTS;
	return 0;
}

int bm_head_write(int fd, int slot, const char *text)
{
	char line[BM_HEAD_LEN + 1];
	ssize_t n;

	snprintf(line, sizeof(line), "%-*s\n", BM_HEAD_LEN - 1, text);
	n = pwrite(fd, line, BM_HEAD_LEN, (off_t)slot * BM_HEAD_LEN);
	if (n != BM_HEAD_LEN)
		return n < 0 ? -errno : -ENOSPC;
	return fdatasync(fd) < 0 ? -errno : 0;
}

const char *bm_head_text(const struct bm_chain *at, char buf[BM_HEAD_TEXT_LEN])
{
	snprintf(buf, BM_HEAD_TEXT_LEN, "%" PRIu64 ":%s", at->n, at->hash);
	return buf;
}

int bm_head_text_parse(const char *text, struct bm_chain *ret)
{
	unsigned char hash[(BM_HASH_LEN - 1) / 2];
	struct bm_chain at = {};
	char *end;

	errno = 0;
	at.n = strtoull(text, &end, 10);
	if (errno || text[0] < '1' || text[0] > '9' || *end != ':' ||
	    !from_hex(end + 1, strlen(end + 1), hash, sizeof(hash)))
		return -EINVAL;
	sodium_bin2hex(at.hash, sizeof(at.hash), hash, sizeof(hash));
	*ret = at;
	return 0;
}
