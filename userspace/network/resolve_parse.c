// SPDX-License-Identifier: GPL-2.0-only
/* One DNS answer: the only bytes of the network that we take apart. */
#include <arpa/nameser.h>
#include <errno.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "network/resolve.h"

/* Aliases that follow one another; what asks for more of them goes round in circles. */
#define ALIASES 16

struct answer {
	ns_msg msg;
	char name[NS_MAXDNAME]; /* whose records are looked for now */
	uint32_t ttl;           /* the least of the aliases that led here */
};

/* The next record of that name and type, from *at on. */
static bool next(struct answer *a, int type, int *at, ns_rr *ret)
{
	int count = ns_msg_count(a->msg, ns_s_an);

	while (*at < count) {
		if (ns_parserr(&a->msg, ns_s_an, (*at)++, ret) < 0) {
			*at = count;
			return false;
		}
		if ((int)ns_rr_type(*ret) == type && ns_rr_class(*ret) == ns_c_in &&
		    !strcasecmp(ns_rr_name(*ret), a->name))
			return true;
	}
	return false;
}

/* To the name that has the records itself: aliases may stand in any order. */
static int follow(struct answer *a)
{
	for (int i = 0; i < ALIASES; i++) {
		int at = 0;
		ns_rr rr;

		if (!next(a, ns_t_cname, &at, &rr))
			return 0;
		if (ns_name_uncompress(ns_msg_base(a->msg), ns_msg_end(a->msg), ns_rr_rdata(rr),
				       a->name, sizeof(a->name)) < 0)
			return -EBADMSG;
		if (ns_rr_ttl(rr) < a->ttl)
			a->ttl = ns_rr_ttl(rr);
	}
	return -EBADMSG;
}

static int add(struct bm_resolved *ret, const uint8_t address[16], uint32_t ttl)
{
	for (size_t i = 0; i < ret->count; i++) {
		struct bm_resolved_address *known = &ret->addresses[i];

		if (memcmp(known->address, address, 16))
			continue;
		if (ttl < known->ttl)
			known->ttl = ttl;
		return 0;
	}
	if (ret->count >= BM_RESOLVE_ADDRESSES)
		return -E2BIG;
	memcpy(ret->addresses[ret->count].address, address, 16);
	ret->addresses[ret->count++].ttl = ttl;
	return 0;
}

int bm_resolve_parse(const uint8_t *answer, size_t len, int type, struct bm_resolved *ret)
{
	size_t size = type == ns_t_a ? 4 : 16;
	struct answer a = { .ttl = UINT32_MAX };
	ns_rr rr;
	int at = 0, r;

	if (len > NS_MAXMSG || ns_initparse(answer, (int)len, &a.msg) < 0 ||
	    !ns_msg_getflag(a.msg, ns_f_qr) || ns_msg_getflag(a.msg, ns_f_tc) ||
	    ns_msg_getflag(a.msg, ns_f_rcode) != ns_r_noerror)
		return -EBADMSG;
	snprintf(a.name, sizeof(a.name), "%s", ret->host);
	r = follow(&a);
	while (r == 0 && next(&a, type, &at, &rr)) {
		uint8_t address[16] = { [10] = 0xff, [11] = 0xff };

		if (ns_rr_rdlen(rr) != size)
			return -EBADMSG;
		memcpy(address + sizeof(address) - size, ns_rr_rdata(rr), size);
		r = add(ret, address, ns_rr_ttl(rr) < a.ttl ? ns_rr_ttl(rr) : a.ttl);
	}
	return r;
}
