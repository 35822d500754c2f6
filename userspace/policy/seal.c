// SPDX-License-Identifier: GPL-2.0-only
/* A sealed profile, and its JSON. */
#include "policy/seal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/one.h"

#define SCHEMA "benchmon-seal/1"

void bm_sealed_done(struct bm_sealed *sealed)
{
	for (size_t i = 0; i < sealed->host_count; i++)
		free(sealed->hosts[i].addresses);
	free(sealed->hosts);
	*sealed = (struct bm_sealed){};
}

struct bm_sealed_host *bm_sealed_add_host(struct bm_sealed *sealed)
{
	struct bm_sealed_host *grown;

	if (sealed->host_count >= BM_SEALED_HOSTS)
		return NULL;
	grown = realloc(sealed->hosts, (sealed->host_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	sealed->hosts = grown;
	grown += sealed->host_count++;
	*grown = (struct bm_sealed_host){};
	return grown;
}

struct bm_sealed_address *bm_sealed_add_address(struct bm_sealed_host *host)
{
	struct bm_sealed_address *grown;

	if (host->address_count >= BM_SEALED_ADDRESSES)
		return NULL;
	grown = realloc(host->addresses, (host->address_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	host->addresses = grown;
	grown += host->address_count++;
	*grown = (struct bm_sealed_address){};
	return grown;
}

static struct json_object *address_to_json(const struct bm_sealed_address *address)
{
	struct json_object *json = json_object_new_object();
	const uint8_t *bytes = address->destination.address;
	bool v4 = bm_destination_is_v4(&address->destination);
	char text[INET6_ADDRSTRLEN];

	inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? bytes + 12 : bytes, text, sizeof(text));
	bm_json_add_string(json, "address", text);
	bm_json_add_int(json, "ttl", address->ttl);
	bm_json_add_int(json, "seen", address->seen);
	if (address->until)
		bm_json_add_int(json, "until", address->until);
	return json;
}

struct json_object *bm_sealed_host_to_json(const struct bm_sealed_host *host)
{
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();

	bm_json_add_string(json, "host", host->host);
	bm_json_add_string(json, "protocol", host->protocol == IPPROTO_UDP ? "udp" : "tcp");
	bm_json_add_int(json, "port", host->port);
	bm_json_add_bool(json, "uploads", host->uploads);
	bm_json_add_string(json, "from", host->from);
	for (size_t i = 0; i < host->address_count; i++)
		json_object_array_add(list, address_to_json(&host->addresses[i]));
	bm_json_add(json, "addresses", list);
	return json;
}

struct json_object *bm_sealed_to_json(const struct bm_sealed *sealed)
{
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();
	char digest[2 * BM_PROFILE_DIGEST + 1];

	sodium_bin2hex(digest, sizeof(digest), sealed->definition, sizeof(sealed->definition));
	bm_json_add_string(json, "schema", SCHEMA);
	bm_json_add_string(json, "name", sealed->name);
	bm_json_add_int(json, "sealed", sealed->sealed);
	bm_json_add_int(json, "expires", sealed->expires);
	bm_json_add_string(json, "definition", digest);
	for (size_t i = 0; i < sealed->host_count; i++)
		json_object_array_add(list, bm_sealed_host_to_json(&sealed->hosts[i]));
	bm_json_add(json, "hosts", list);
	return json;
}

/* --- and back -------------------------------------------------------------------------------- */

static bool in_range(struct json_object *json, const char *key, int64_t least, int64_t most,
		     int64_t *ret)
{
	return bm_json_int(json, key, ret) == 0 && *ret >= least && *ret <= most;
}

/* INT64_MAX is a time no clock of ours shows; sums of two times stay in range. */
#define TIME_MAX (INT64_MAX / 4)

static bool parse_address(struct json_object *json, struct bm_sealed_host *host)
{
	static const char *const keys[] = { "address", "ttl", "seen", "until", NULL };
	struct bm_sealed_address *address = bm_sealed_add_address(host);
	const char *text = bm_json_string(json, "address");
	int64_t ttl, seen, until = 0;
	char whole[80];

	if (!address || !text || strlen(text) > INET6_ADDRSTRLEN ||
	    text[strspn(text, "0123456789abcdef:.")] || bm_json_only(json, keys, "", NULL) < 0)
		return false;
	snprintf(whole, sizeof(whole), strchr(text, ':') ? "[%s]:1" : "%s:1", text);
	if (bm_destination_parse(whole, &address->destination, NULL) < 0 ||
	    !in_range(json, "ttl", 0, UINT32_MAX, &ttl) ||
	    !in_range(json, "seen", 1, TIME_MAX, &seen) ||
	    (json_object_object_get_ex(json, "until", NULL) &&
	     !in_range(json, "until", 1, TIME_MAX, &until)))
		return false;
	address->destination.port = host->port;
	address->destination.protocol = host->protocol;
	address->ttl = (uint32_t)ttl;
	address->seen = seen;
	address->until = until;
	return true;
}

static bool parse_host(struct json_object *json, struct bm_sealed *sealed)
{
	static const char *const keys[] = { "host", "protocol",  "port", "uploads",
					    "from", "addresses", NULL };
	struct bm_sealed_host *host = bm_sealed_add_host(sealed);
	const char *name = bm_json_string(json, "host"), *from = bm_json_string(json, "from");
	const char *protocol = bm_json_string(json, "protocol");
	struct json_object *list = bm_json_get(json, "addresses", json_type_array);
	int64_t port;

	if (!host || !name || !from || !protocol || !list || strlen(from) >= sizeof(host->from) ||
	    (strcmp(protocol, "tcp") && strcmp(protocol, "udp")) ||
	    !in_range(json, "port", 1, 65535, &port) ||
	    !bm_json_get(json, "uploads", json_type_boolean) ||
	    bm_json_only(json, keys, "", NULL) < 0 ||
	    (*name && bm_hostname_parse(name, strlen(name), host->host, NULL) < 0))
		return false;
	host->protocol = strcmp(protocol, "udp") ? IPPROTO_TCP : IPPROTO_UDP;
	host->port = (uint16_t)port;
	host->uploads = bm_json_bool(json, "uploads");
	snprintf(host->from, sizeof(host->from), "%s", from);
	for (size_t i = 0; i < json_object_array_length(list); i++)
		if (!parse_address(json_object_array_get_idx(list, i), host))
			return false;
	return true;
}

static bool parse_sealed(struct json_object *json, struct bm_sealed *s)
{
	static const char *const keys[] = { "schema",     "name",  "sealed", "expires",
					    "definition", "hosts", NULL };
	const char *schema = bm_json_string(json, "schema"), *name = bm_json_string(json, "name");
	const char *digest = bm_json_string(json, "definition");
	struct json_object *hosts = bm_json_get(json, "hosts", json_type_array);
	size_t len = 0;

	if (!schema || strcmp(schema, SCHEMA) || !name || bm_seal_name_check(name, NULL) < 0 ||
	    !digest || strlen(digest) != 2 * sizeof(s->definition) || !hosts ||
	    sodium_hex2bin(s->definition, sizeof(s->definition), digest, strlen(digest), NULL, &len,
			   NULL) ||
	    len != sizeof(s->definition) || !in_range(json, "sealed", 1, TIME_MAX, &s->sealed) ||
	    !in_range(json, "expires", 1, TIME_MAX, &s->expires) ||
	    bm_json_only(json, keys, "", NULL) < 0)
		return false;
	snprintf(s->name, sizeof(s->name), "%s", name);
	for (size_t i = 0; i < json_object_array_length(hosts); i++)
		if (!parse_host(json_object_array_get_idx(hosts, i), s))
			return false;
	return true;
}

int bm_sealed_from_json(struct json_object *json, struct bm_sealed *ret, struct bm_error *err)
{
	autosealed sealed = {};

	if (!parse_sealed(json, &sealed))
		return bm_fail(err, EBADMSG, "seal", "seal it again",
			       "this is not what a seal of version 1 holds");
	*ret = sealed;
	sealed = (struct bm_sealed){};
	return 0;
}
