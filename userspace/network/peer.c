// SPDX-License-Identifier: GPL-2.0-only
#include "network/peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/escape.h"
#include "network/pool.h"

#define RULE "a peer is one address"
#define REMEDY "write 198.51.100.10 or 2001:db8::1"

static const uint8_t v4_prefix[12] = { [10] = 0xff, [11] = 0xff };

static void set_v4(struct bm_destination *d, const void *address)
{
	memcpy(d->address, v4_prefix, sizeof(v4_prefix));
	memcpy(d->address + sizeof(v4_prefix), address, 4);
}

int bm_peer_parse(const char *text, struct bm_destination *ret, struct bm_error *err)
{
	struct bm_destination d = *ret;
	const char *never;
	char shown[64];
	uint8_t v4[4];

	bm_escape(text, shown, sizeof(shown));
	if (strchr(text, '/'))
		return bm_fail(err, EINVAL, RULE, "name each address", "%s is a prefix", shown);
	/* A scope is a number of this host's interface table: it means another link elsewhere. */
	if (strchr(text, '%'))
		return bm_fail(err, EINVAL, RULE, "give a global address without a scope",
			       "%s has a scope", shown);
	if (inet_pton(AF_INET, text, v4) == 1)
		set_v4(&d, v4);
	else if (inet_pton(AF_INET6, text, d.address) != 1)
		return bm_fail(err, EINVAL, RULE, REMEDY, "\"%s\" is no address", shown);
	never = bm_address_never(&d);
	if (never)
		return bm_fail(err, EPERM, RULE, "give another address", "%s is %s", shown, never);
	d.listens = true;
	*ret = d;
	return 0;
}

const char *bm_peer_format(const struct bm_destination *d, char buf[INET6_ADDRSTRLEN])
{
	return bm_destination_is_v4(d) ? inet_ntop(AF_INET, d->address + 12, buf, INET6_ADDRSTRLEN)
				       : inet_ntop(AF_INET6, d->address, buf, INET6_ADDRSTRLEN);
}

void bm_peer_of_link(uint32_t bench, bool v4, bool host, struct bm_destination *ret)
{
	struct bm_pair pair = bm_pool_pair(v4 ? AF_INET : AF_INET6, bench);
	const uint8_t *address = host ? pair.host : pair.bench;

	if (v4)
		set_v4(ret, address);
	else
		memcpy(ret->address, address, sizeof(ret->address));
	ret->listens = true;
}
