// SPDX-License-Identifier: GPL-2.0-only
/* Which addresses may never be sealed, as one table. */
#include "network/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum kind {
	NEVER,
	PRIVATE,
	EMBEDDED, /* an IPv4 address lies at `at`, inverted if `inverted`; its own rules hold */
};

struct range {
	uint8_t address[16];
	uint8_t prefix;
	uint8_t kind;
	uint8_t at;
	bool inverted;
	const char *what;
};

#define V4(a, b, c, d)                                                                             \
	{                                                                                          \
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d                               \
	}
#define METADATA "a cloud metadata address, which hands out credentials"

/* The first match decides, so the narrow come before the wide. */
static const struct range ranges[] = {
	/* Metadata: reachable from any machine of that cloud, and the keys to all the others. */
	{ V4(169, 254, 169, 254), 128, NEVER, .what = METADATA },
	{ V4(169, 254, 170, 2), 128, NEVER, .what = METADATA },
	{ V4(100, 100, 100, 200), 128, NEVER, .what = METADATA },    /* Alibaba */
	{ V4(168, 63, 129, 16), 128, NEVER, .what = METADATA },      /* Azure's wire server */
	{ V4(192, 0, 0, 192), 128, NEVER, .what = METADATA },        /* Oracle */
	{ { 0xfd, 0x00, 0x0e, 0xc2 }, 32, NEVER, .what = METADATA }, /* AWS: fd00:ec2::254, ::23 */
	{ { 0xfd, 0x00, 0x00, 0x42, [15] = 0x42 }, 128, NEVER, .what = METADATA }, /* Scaleway */
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128, NEVER, .what = METADATA }, /* GCP */

	/* 0.0.0.0 connects to this host on Linux, and so does "::". */
	{ V4(0, 0, 0, 0), 104, NEVER, .what = "an unspecified address (0.0.0.0/8)" },
	{ V4(127, 0, 0, 0), 104, NEVER, .what = "a loopback address" },
	{ V4(169, 254, 0, 0), 112, NEVER, .what = "a link-local address" },
	{ V4(224, 0, 0, 0), 100, NEVER, .what = "a multicast address" },
	{ V4(255, 255, 255, 255), 128, NEVER, .what = "the broadcast address" },
	{ V4(240, 0, 0, 0), 100, NEVER, .what = "a reserved address (240.0.0.0/4)" },
	{ { 0 }, 128, NEVER, .what = "the unspecified address" },
	{ { [15] = 1 }, 128, NEVER, .what = "the loopback address" },
	{ { 0 }, 96, NEVER, .what = "an IPv4-compatible address (::/96)" },
	{ { 0xfe, 0x80 }, 10, NEVER, .what = "a link-local address" },
	{ { 0xfe, 0xc0 }, 10, NEVER, .what = "a site-local address" },
	{ { 0xff }, 8, NEVER, .what = "a multicast address" },
	/* Where the IPv4 address lies in a local NAT64 prefix is the network's own business. */
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, NEVER, .what = "a local NAT64 address" },

	{ V4(10, 0, 0, 0), 104, PRIVATE, .what = "a private address (10.0.0.0/8)" },
	{ V4(172, 16, 0, 0), 108, PRIVATE, .what = "a private address (172.16.0.0/12)" },
	{ V4(192, 168, 0, 0), 112, PRIVATE, .what = "a private address (192.168.0.0/16)" },
	{ V4(100, 64, 0, 0), 106, PRIVATE, .what = "a shared address (100.64.0.0/10)" },
	{ { 0xfc }, 7, PRIVATE, .what = "a unique local address (fc00::/7)" },

	{ { [8] = 0xff, 0xff }, 96, EMBEDDED, 12, false, "a translated address" },
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, EMBEDDED, 12, false, "a NAT64 address" },
	{ { 0x20, 0x02 }, 16, EMBEDDED, 2, false, "a 6to4 address" },
	/* Teredo holds its server and, inverted, its client. */
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, EMBEDDED, 12, true, "a Teredo address" },
};

static bool in_range(const uint8_t address[16], const struct range *range)
{
	uint8_t bytes = range->prefix / 8, bits = range->prefix % 8;

	if (memcmp(address, range->address, bytes))
		return false;
	return !bits || !((address[bytes] ^ range->address[bytes]) >> (8 - bits));
}

static const struct range *find(const uint8_t address[16])
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (in_range(address, &ranges[i]))
			return &ranges[i];
	return NULL;
}

const char *bm_address_never(const struct bm_destination *d)
{
	const struct range *range = find(d->address);

	return range && range->kind == NEVER ? range->what : NULL;
}

static int refuse(const struct bm_destination *d, const struct range *range, const char *embedded,
		  struct bm_error *err)
{
	char text[BM_DESTINATION_LEN];
	const char *rule = "never sealed", *remedy = "give another address";

	if (range->kind == PRIVATE) {
		rule = "private addresses are allowed one by one";
		remedy = "pass --private to say that this very address is meant";
	}
	return bm_fail(err, EPERM, rule, remedy, "%s %s%s%s", bm_destination_format(d, text),
		       embedded ?: "", embedded ? ", " : "is ", range->what);
}

static int check_embedded(const struct bm_destination *d, const struct range *outer, uint8_t at,
			  bool inverted, bool allow_private, struct bm_error *err)
{
	uint8_t address[16] = V4(0, 0, 0, 0);
	char v4[INET_ADDRSTRLEN], text[96];
	const struct range *range;

	for (int i = 0; i < 4; i++)
		address[12 + i] = d->address[at + i] ^ (inverted ? 0xff : 0);
	range = find(address);
	if (!range || (range->kind == PRIVATE && allow_private))
		return 0;
	inet_ntop(AF_INET, address + 12, v4, sizeof(v4));
	snprintf(text, sizeof(text), "is %s that leads to %s", outer->what, v4);
	return refuse(d, range, text, err);
}

int bm_destination_check(const struct bm_destination *d, bool allow_private, struct bm_error *err)
{
	static const uint8_t isatap[4] = { 0x00, 0x00, 0x5e, 0xfe };
	static const struct range isatap_range = { .what = "an ISATAP address" };
	const struct range *range = find(d->address);
	int r = 0;

	if (!d->port || (d->protocol != IPPROTO_TCP && d->protocol != IPPROTO_UDP))
		return bm_fail(err, EINVAL, NULL, NULL, "a destination has a port, and tcp or udp");
	if (range && range->kind == NEVER)
		return refuse(d, range, NULL, err);
	if (range && range->kind == PRIVATE && !allow_private)
		return refuse(d, range, NULL, err);
	if (range && range->kind == EMBEDDED)
		r = check_embedded(d, range, range->at, range->inverted, allow_private, err);
	if (r == 0 && range && range->inverted)
		r = check_embedded(d, range, 4, false, allow_private, err);
	/* Bit 1 of the interface identifier says whether the IPv4 address is a global one. */
	if (r == 0 && !bm_destination_is_v4(d) && (d->address[8] & 0xfd) == isatap[0] &&
	    !memcmp(d->address + 9, isatap + 1, 3))
		r = check_embedded(d, &isatap_range, 12, false, allow_private, err);
	return r;
}
