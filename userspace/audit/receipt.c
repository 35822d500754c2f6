// SPDX-License-Identifier: GPL-2.0-only
/* One receipt: signed, and believed only as it was. */
#include "audit/receipt.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"

#define RULE "receipt"
#define SIGNATURE_KEY ",\"signature\":\""
#define SIGNATURE_HEX (2 * crypto_sign_BYTES)
#define KEY_HEX (2 * crypto_sign_PUBLICKEYBYTES)
/* ,"signature":"HEX"} and a newline */
#define TAIL_LEN (sizeof(SIGNATURE_KEY) - 1 + SIGNATURE_HEX + 3)
#define DOMAIN_LEN (sizeof(BM_RECEIPT_DOMAIN) - 1)

/* Behind the domain, so that no other text that this key signs can pass for a receipt. */
static int message_of(const char *text, size_t len, unsigned char **ret)
{
	unsigned char *message = malloc(DOMAIN_LEN + len);

	if (!message)
		return -ENOMEM;
	memcpy(message, BM_RECEIPT_DOMAIN, DOMAIN_LEN);
	memcpy(message + DOMAIN_LEN, text, len);
	*ret = message;
	return 0;
}

static void hex_of_key(const struct bm_receipt_key *key, char ret[KEY_HEX + 1])
{
	sodium_bin2hex(ret, KEY_HEX + 1, key->public, crypto_sign_PUBLICKEYBYTES);
}

int bm_receipt_sign(struct json_object *json, const struct bm_receipt_key *key, char **ret_text,
		    size_t *ret_len, struct bm_error *err)
{
	unsigned char signature[crypto_sign_BYTES];
	char hex[SIGNATURE_HEX + 1], id[KEY_HEX + 1], *text;
	autofree unsigned char *message = NULL;
	const char *whole;
	size_t len;
	int r;

	hex_of_key(key, id);
	bm_json_add_string(json, "key", id);
	whole = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE);
	if (!whole)
		return bm_fail_errno(err, ENOMEM, "receipt");
	/* Without its '}', which the signature pushes behind itself. */
	len = strlen(whole) - 1;
	if (len > BM_RECEIPT_MAX - TAIL_LEN)
		return bm_fail(err, EFBIG, RULE, NULL, "the receipt is longer than %d bytes",
			       BM_RECEIPT_MAX);
	r = message_of(whole, len, &message);
	if (r < 0)
		return bm_fail_errno(err, -r, "receipt");
	crypto_sign_detached(signature, NULL, message, DOMAIN_LEN + len, key->secret);
	sodium_bin2hex(hex, sizeof(hex), signature, sizeof(signature));
	r = asprintf(&text, "%.*s" SIGNATURE_KEY "%s\"}\n", (int)len, whole, hex);
	if (r < 0)
		return bm_fail_errno(err, ENOMEM, "receipt");
	*ret_text = text;
	*ret_len = (size_t)r;
	return 0;
}

static int damaged(struct bm_error *err)
{
	return bm_fail(err, EBADMSG, RULE, "the ledger has what was decided; trust that alone",
		       "the receipt is not as it was signed");
}

static int check_signature(const char *text, size_t len, const struct bm_receipt_key *key,
			   struct bm_error *err)
{
	const char *tail = text + len - TAIL_LEN, *hex = tail + sizeof(SIGNATURE_KEY) - 1;
	unsigned char signature[crypto_sign_BYTES];
	autofree unsigned char *message = NULL;
	size_t got;
	int r;

	if (memcmp(tail, SIGNATURE_KEY, sizeof(SIGNATURE_KEY) - 1) ||
	    memcmp(hex + SIGNATURE_HEX, "\"}\n", 3) ||
	    sodium_hex2bin(signature, sizeof(signature), hex, SIGNATURE_HEX, NULL, &got, NULL) ||
	    got != sizeof(signature))
		return damaged(err);
	r = message_of(text, len - TAIL_LEN, &message);
	if (r < 0)
		return bm_fail_errno(err, -r, "receipt");
	return crypto_sign_verify_detached(signature, message, DOMAIN_LEN + len - TAIL_LEN,
					   key->public) == 0
		       ? 0
		       : damaged(err);
}

int bm_receipt_check(const char *text, size_t len, const struct bm_receipt_key *key,
		     struct json_object **ret, struct bm_error *err)
{
	autojson *json = NULL;
	const char *schema, *named;
	char id[KEY_HEX + 1];
	int r;

	if (len <= TAIL_LEN || len > BM_RECEIPT_MAX)
		return damaged(err);
	r = bm_json_parse(text, len, "receipt", &json, err);
	if (r < 0)
		return r;
	schema = bm_json_string(json, "schema");
	named = bm_json_string(json, "key");
	if (!schema || strcmp(schema, BM_RECEIPT_SCHEMA) || !named)
		return bm_fail(err, EBADMSG, RULE, NULL, "it is no receipt of this version");
	hex_of_key(key, id);
	if (strcmp(named, id))
		return bm_fail(err, EKEYREJECTED, RULE,
			       "take it to the machine that wrote it, or trust it not at all",
			       "the receipt was signed with another key than this machine's");
	r = check_signature(text, len, key, err);
	if (r == 0 && ret)
		*ret = TAKE_PTR(json);
	return r;
}

void bm_receipt_digest(const char *text, size_t len, char ret[BM_HASH_LEN])
{
	unsigned char hash[32];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)text, len, NULL, 0);
	sodium_bin2hex(ret, BM_HASH_LEN, hash, sizeof(hash));
}

const char *bm_receipt_name(const char *bench, uint32_t id, char buf[BM_RECEIPT_NAME_LEN])
{
	snprintf(buf, BM_RECEIPT_NAME_LEN, "%.*s-%u.json", BM_BENCH_NAME_LEN - 1, bench, id);
	return buf;
}

int bm_receipt_name_parse(const char *name, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_id)
{
	const char *dash = strrchr(name, '-');
	char bench[BM_BENCH_NAME_LEN] = "";
	unsigned long id;
	char *end;

	if (!dash || dash - name >= BM_BENCH_NAME_LEN || dash[1] < '1' || dash[1] > '9')
		return -EINVAL;
	memcpy(bench, name, (size_t)(dash - name));
	errno = 0;
	id = strtoul(dash + 1, &end, 10);
	if (errno || id > UINT32_MAX || (*end && strcmp(end, ".json")) ||
	    !bm_bench_name_valid(bench))
		return -EINVAL;
	memcpy(ret_bench, bench, sizeof(bench));
	*ret_id = (uint32_t)id;
	return 0;
}
