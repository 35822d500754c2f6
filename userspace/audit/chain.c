// SPDX-License-Identifier: GPL-2.0-only
#include "audit/chain.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "audit/lines.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"

#define HASH_BYTES 32
#define HASH_KEY ",\"hash\":\""
/* ,"hash":"HEX"} */
#define SEAL_LEN (sizeof(HASH_KEY) - 1 + BM_HASH_LEN - 1 + 2)

void bm_chain_start(struct bm_chain *ret)
{
	*ret = (struct bm_chain){};
	memset(ret->hash, '0', BM_HASH_LEN - 1);
}

static void digest(const char *data, size_t len, char ret[BM_HASH_LEN])
{
	unsigned char hash[HASH_BYTES];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)data, len, NULL, 0);
	sodium_bin2hex(ret, BM_HASH_LEN, hash, sizeof(hash));
}

bool bm_chain_sealed(const char *line, size_t len)
{
	char hash[BM_HASH_LEN], seal[SEAL_LEN + 1];

	if (len <= SEAL_LEN || memcmp(line + len - SEAL_LEN, HASH_KEY, sizeof(HASH_KEY) - 1))
		return false;
	digest(line, len - SEAL_LEN, hash);
	snprintf(seal, sizeof(seal), HASH_KEY "%s\"}", hash);
	return !memcmp(line + len - SEAL_LEN, seal, SEAL_LEN);
}

bool bm_chain_torn(const char *tail, size_t len)
{
	for (const char *p = tail; (p = memchr(p, '}', len - (size_t)(p - tail))); p++) {
		size_t line = (size_t)(p - tail) + 1;

		if (!bm_chain_sealed(tail, line))
			continue;
		while (line < len && tail[line] == '\0')
			line++;
		return line == len;
	}
	return true;
}

void bm_chain_peek(const char *line, size_t len, struct bm_link *ret)
{
	autojson *json = NULL;
	const char *prev, *hash;
	int64_t n;

	*ret = (struct bm_link){};
	if (!bm_chain_sealed(line, len) || bm_json_parse(line, len, "line", &json, NULL) < 0)
		return;
	prev = bm_json_string(json, "prev");
	hash = bm_json_string(json, "hash");
	if (!prev || strlen(prev) != BM_HASH_LEN - 1 || !hash || strlen(hash) != BM_HASH_LEN - 1 ||
	    bm_json_int(json, "n", &n) < 0)
		return;
	ret->sealed = true;
	ret->n = (uint64_t)n;
	memcpy(ret->prev, prev, BM_HASH_LEN);
	memcpy(ret->hash, hash, BM_HASH_LEN);
}

static int reserved(struct json_object *fields, struct bm_error *err)
{
	static const char *const keys[] = { "n", "time", "event", "prev", "hash" };

	for (size_t i = 0; fields && i < sizeof(keys) / sizeof(keys[0]); i++)
		if (json_object_object_get_ex(fields, keys[i], NULL))
			return bm_fail(err, EINVAL, "ledger-fields", NULL,
				       "ledger: \"%s\" is a key of the line itself", keys[i]);
	return 0;
}

int bm_chain_seal(const struct bm_chain *head, uint64_t realtime_ns, const char *event,
		  struct json_object *fields, char **ret_line, size_t *ret_len,
		  struct bm_chain *ret_next, struct bm_error *err)
{
	autojson *json = json_object_new_object();
	char time[BM_TIME_LEN], hash[BM_HASH_LEN];
	struct bm_chain next = *head;
	autofree char *line = NULL;
	const char *text;
	size_t len;
	int r;

	r = reserved(fields, err);
	if (r < 0)
		return r;
	if (!json)
		return bm_fail_errno(err, ENOMEM, "ledger");
	bm_json_add_int(json, "n", (int64_t)head->n + 1);
	bm_json_add_string(json, "time", bm_time_format(realtime_ns, time));
	bm_json_add_string(json, "event", event);
	if (fields) {
		json_object_object_foreach(fields, key, value)
			bm_json_add(json, key, json_object_get(value));
	}
	bm_json_add_string(json, "prev", head->hash);

	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							    JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!text)
		return bm_fail_errno(err, ENOMEM, "ledger");
	/* Without its '}', which the hash member pushes behind itself. */
	len = strlen(text) - 1;
	if (len + SEAL_LEN + 1 > BM_LINE_MAX)
		return bm_fail(err, EMSGSIZE, "ledger-line", NULL,
			       "ledger: a line of %zu bytes, at most %d are taken",
			       len + SEAL_LEN + 1, BM_LINE_MAX);
	digest(text, len, hash);
	if (asprintf(&line, "%.*s" HASH_KEY "%s\"}\n", (int)len, text, hash) < 0) {
		line = NULL;
		return bm_fail_errno(err, ENOMEM, "ledger");
	}
	len += SEAL_LEN + 1;
	r = bm_chain_follow(&next, line, len - 1, "new line", NULL, err);
	if (r < 0)
		return r;
	*ret_line = TAKE_PTR(line);
	*ret_len = len;
	*ret_next = next;
	return 0;
}

int bm_chain_follow(struct bm_chain *head, const char *line, size_t len, const char *what,
		    struct json_object **ret, struct bm_error *err)
{
	autojson *json = NULL;
	const char *prev, *hash;
	int64_t n = 0;
	int r;

	r = bm_json_parse(line, len, what, &json, err);
	if (r < 0)
		return r;
	prev = bm_json_string(json, "prev");
	hash = bm_json_string(json, "hash");
	if (!prev || !hash || strlen(hash) != BM_HASH_LEN - 1 || !bm_json_string(json, "event") ||
	    bm_json_int(json, "n", &n) < 0)
		return bm_fail(err, EBADMSG, "ledger-chain", BM_CHAIN_REMEDY,
			       "%s: not a ledger line", what);
	if ((uint64_t)n != head->n + 1)
		return bm_fail(err, EBADMSG, "ledger-chain", BM_CHAIN_REMEDY,
			       "%s: number %lld where %llu is due", what, (long long)n,
			       (unsigned long long)head->n + 1);
	if (strcmp(prev, head->hash))
		return bm_fail(err, EBADMSG, "ledger-chain", BM_CHAIN_REMEDY,
			       "%s: does not continue the line before it", what);
	head->n = (uint64_t)n;
	memcpy(head->hash, hash, BM_HASH_LEN);
	if (ret)
		*ret = TAKE_PTR(json);
	return 0;
}
