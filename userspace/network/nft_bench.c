// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_bench.h"

#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/netfilter.h>
#include <string.h>

#include "network/endpoint.h"
#include "network/nft_listen.h"
#include "network/nft_rule.h"
#include "network/pool.h"

#define OUT "out"
#define IN "in"
#define FORWARD                                                                                    \
	"forward" /* "fwd" is a word of nft(8)'s own, whose listing could not be read back */

#define LOOPBACK_IFINDEX 1 /* in every namespace */
#define HOP_LIMIT_MAX 255
#define ND_ROUTER_ADVERT 134
#define ND_SOLICIT 135
#define ND_ADVERT 136
#define ICMP_UNREACHABLE 3
#define ICMP_TOO_BIG 4
#define ICMPV6_TOO_BIG 2

#define IS_V4 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV4)
#define IS_V6 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV6)
/*
 * Next header and hop limit lie side by side. A router decrements the limit, so 255 has crossed
 * none.
 */
#define IS_ND                                                                                      \
	IS_V6, BM_PAYLOAD(NETWORK, 6, 2, 0), BM_CMP(EQ, 0, 2, IPPROTO_ICMPV6, HOP_LIMIT_MAX),      \
		BM_PAYLOAD(TRANSPORT, 0, 1, 0), BM_CMP(GTE, 0, 1, ND_SOLICIT),                     \
		BM_CMP(LTE, 0, 1, ND_ADVERT)
#define TO_V6(len, ...) BM_PAYLOAD(NETWORK, 24, len, 0), BM_CMP(EQ, 0, len, __VA_ARGS__)
#define REFUSE BM_COUNTER, BM_DROP

static const struct bm_set sets[] = {
	{ BM_NFT_SET4, BM_TYPE_IPV4 << 12 | BM_TYPE_PROTOCOL << 6 | BM_TYPE_SERVICE,
	  BM_NFT_KEY4_LEN, 1, 0, 0 },
	{ BM_NFT_SET6, BM_TYPE_IPV6 << 12 | BM_TYPE_PROTOCOL << 6 | BM_TYPE_SERVICE,
	  BM_NFT_KEY6_LEN, 2, 0, 0 },
};

/* No connection tracking: a removed element stops the very next packet of a live connection. */
static const struct bm_chain own_chains[] = {
	{ OUT, "filter", NF_INET_LOCAL_OUT, 0, NF_DROP },
	{ IN, "filter", NF_INET_LOCAL_IN, 0, NF_DROP },
	{ FORWARD, "filter", NF_INET_FORWARD, 0, NF_DROP },
};

/* What is shared with others: they pass, and what is the Bench's goes on to the rules. */
#define OUTPUT "output"
#define INPUT "input"
static const struct bm_chain shared_chains[] = {
	{ .name = OUT },
	{ .name = IN },
	{ OUTPUT, "filter", NF_INET_LOCAL_OUT, 0, NF_ACCEPT },
	{ INPUT, "filter", NF_INET_LOCAL_IN, 0, NF_ACCEPT },
};

/* At the host's end of a link. */
#define LOCAL "local"
#define IS_V6_FRAGMENT IS_V6, BM_PAYLOAD(NETWORK, 6, 1, 0), BM_CMP(EQ, 0, 1, IPPROTO_FRAGMENT)

static const struct bm_chain link_chains[] = {
	{ .name = LOCAL },
	{ .name = OUT },
	{ .name = IN },
	{ OUTPUT, "filter", NF_INET_LOCAL_OUT, 0, NF_ACCEPT },
	{ INPUT, "filter", NF_INET_LOCAL_IN, 0, NF_ACCEPT },
	{ FORWARD, "filter", NF_INET_FORWARD, 0, NF_ACCEPT },
};

/*
 * What is for the host itself. IPv4 is whole there; IPv6 is put together only behind that hook, for
 * which the kernel refuses fragments that overlap: so the first, with UDP and nothing else right
 * behind it, has the ports, and the others count for nothing without it.
 */
static const struct bm_rule local[] = {
	{ LOCAL,
	  { IS_V6_FRAGMENT, BM_PAYLOAD(NETWORK, 40, 4, 0), BM_MASK(0, 4, 0xff, 0, 0xff, 0xf8),
	    BM_CMP(EQ, 0, 4, IPPROTO_UDP, 0, 0, 0), BM_PAYLOAD(NETWORK, 24, 16, 0),
	    BM_META(L4PROTO, 4), BM_PAYLOAD(TRANSPORT, 2, 2, 5), BM_LOOKUP(BM_NFT_SET6),
	    BM_ACCEPT } },
	{ LOCAL,
	  { IS_V6_FRAGMENT, BM_PAYLOAD(NETWORK, 42, 2, 0), BM_MASK(0, 2, 0xff, 0xf8),
	    BM_CMP(NEQ, 0, 2, 0, 0), BM_ACCEPT } },
	{ LOCAL, { BM_GOTO(OUT) } },
};

#define TO_ENDPOINT IS_V4, BM_PAYLOAD(NETWORK, 16, 3, 0), BM_CMP(EQ, 0, 3, BM_ENDPOINT_PREFIX)
#define FROM_ENDPOINT IS_V4, BM_PAYLOAD(NETWORK, 12, 3, 0), BM_CMP(EQ, 0, 3, BM_ENDPOINT_PREFIX)

/*
 * The loopback of a namespace that is the Bench's alone, but for the addresses where brokers
 * listen: those are granted, and by no other way.
 */
static const struct bm_rule loopback[] = {
	{ OUT,
	  { BM_META(OIF, 0), BM_CMP_NATIVE(EQ, 0, LOOPBACK_IFINDEX), TO_ENDPOINT,
	    BM_PAYLOAD(NETWORK, 16, 4, 0), BM_PAYLOAD(NETWORK, 9, 1, 1),
	    BM_PAYLOAD(TRANSPORT, 2, 2, 2), BM_LOOKUP(BM_NFT_SET4), BM_ACCEPT } },
	{ OUT, { TO_ENDPOINT, REFUSE } },
	{ IN,
	  { BM_META(IIF, 0), BM_CMP_NATIVE(EQ, 0, LOOPBACK_IFINDEX), FROM_ENDPOINT,
	    BM_PAYLOAD(NETWORK, 12, 4, 0), BM_PAYLOAD(NETWORK, 9, 1, 1),
	    BM_PAYLOAD(TRANSPORT, 0, 2, 2), BM_LOOKUP(BM_NFT_SET4), BM_ACCEPT } },
	{ IN, { FROM_ENDPOINT, REFUSE } },
	{ OUT, { BM_META(OIF, 0), BM_CMP_NATIVE(EQ, 0, LOOPBACK_IFINDEX), BM_ACCEPT } },
	{ IN, { BM_META(IIF, 0), BM_CMP_NATIVE(EQ, 0, LOOPBACK_IFINDEX), BM_ACCEPT } },
};

static const struct bm_rule sealed[] = {
	/*
	 * A raw socket can send fragments: the later ones have no ports, and one may overwrite
	 * those of the first at the receiver. What the stack itself fragments is whole here.
	 */
	{ OUT,
	  { IS_V4, BM_PAYLOAD(NETWORK, 6, 2, 0), BM_MASK(0, 2, 0x3f, 0xff), BM_CMP(NEQ, 0, 2, 0, 0),
	    REFUSE } },
	/* A source route (IP_OPTIONS) makes the sealed address a mere stop on the way elsewhere. */
	{ OUT,
	  { IS_V4, BM_PAYLOAD(NETWORK, 0, 1, 0), BM_MASK(0, 1, 0x0f), BM_CMP(NEQ, 0, 1, 5),
	    REFUSE } },
	{ OUT,
	  { IS_V4, BM_PAYLOAD(NETWORK, 16, 4, 0), BM_PAYLOAD(NETWORK, 9, 1, 1),
	    BM_PAYLOAD(TRANSPORT, 2, 2, 2), BM_LOOKUP(BM_NFT_SET4), BM_ACCEPT } },
	/*
	 * The next header itself, not meta l4proto, which skips extension headers: among them are
	 * the routing header, that anyone may set (IPV6_RTHDR), and the fragment header.
	 */
	{ OUT,
	  { IS_V6, BM_PAYLOAD(NETWORK, 24, 16, 0), BM_PAYLOAD(NETWORK, 6, 1, 4),
	    BM_PAYLOAD(TRANSPORT, 2, 2, 5), BM_LOOKUP(BM_NFT_SET6), BM_ACCEPT } },

	/* A grant is a way out: the destination must not open connections to the Bench with it. */
	{ IN,
	  { BM_META(L4PROTO, 0), BM_CMP(EQ, 0, 1, IPPROTO_TCP), BM_PAYLOAD(TRANSPORT, 13, 1, 0),
	    BM_MASK(0, 1, 0x12), BM_CMP(EQ, 0, 1, 0x02), REFUSE } },
	{ IN,
	  { IS_V4, BM_PAYLOAD(NETWORK, 12, 4, 0), BM_PAYLOAD(NETWORK, 9, 1, 1),
	    BM_PAYLOAD(TRANSPORT, 0, 2, 2), BM_LOOKUP(BM_NFT_SET4), BM_ACCEPT } },
	{ IN,
	  { IS_V6, BM_PAYLOAD(NETWORK, 8, 16, 0), BM_PAYLOAD(NETWORK, 6, 1, 4),
	    BM_PAYLOAD(TRANSPORT, 0, 2, 5), BM_LOOKUP(BM_NFT_SET6), BM_ACCEPT } },
	/*
	 * "Too big" comes from any router on the way. Without it a path with a smaller MTU swallows
	 * every large packet; the kernel believes it only for a connection that the message quotes.
	 */
	{ IN,
	  { IS_V4, BM_PAYLOAD(NETWORK, 9, 1, 0), BM_CMP(EQ, 0, 1, IPPROTO_ICMP),
	    BM_PAYLOAD(TRANSPORT, 0, 2, 0), BM_CMP(EQ, 0, 2, ICMP_UNREACHABLE, ICMP_TOO_BIG),
	    BM_ACCEPT } },
	{ IN,
	  { IS_V6, BM_PAYLOAD(NETWORK, 6, 1, 0), BM_CMP(EQ, 0, 1, IPPROTO_ICMPV6),
	    BM_PAYLOAD(TRANSPORT, 0, 1, 0), BM_CMP(EQ, 0, 1, ICMPV6_TOO_BIG), BM_ACCEPT } },
};

/* The kernel's own socket for it is in the cgroup of whoever made the namespace. */
static const struct bm_rule discovery[] = {
	/*
	 * Neighbour discovery may carry data, and the host would forward it for a raw socket, so it
	 * goes to the link alone: multicast, link-local, and the other end (link.h).
	 */
	{ OUT, { IS_ND, TO_V6(2, 0xff, 0x02), BM_ACCEPT } },
	{ OUT, { IS_ND, TO_V6(2, 0xfe, 0x80), BM_ACCEPT } },
	{ OUT, { IS_ND, TO_V6(6, BM_POOL6_PREFIX), BM_ACCEPT } },
	{ IN, { IS_ND, BM_ACCEPT } },
};

/*
 * A network that the Bench brought with it may have its addresses from a router on the link, and
 * they lapse where that is not heard any more. What it says leads nowhere that is not sealed.
 */
static const struct bm_rule advertisements[] = {
	{ IN,
	  { IS_V6, BM_PAYLOAD(NETWORK, 6, 2, 0), BM_CMP(EQ, 0, 2, IPPROTO_ICMPV6, HOP_LIMIT_MAX),
	    BM_PAYLOAD(NETWORK, 8, 2, 0), BM_MASK(0, 2, 0xff, 0xc0), BM_CMP(EQ, 0, 2, 0xfe, 0x80),
	    BM_PAYLOAD(TRANSPORT, 0, 1, 0), BM_CMP(EQ, 0, 1, ND_ROUTER_ADVERT), BM_ACCEPT } },
};

/*
 * The Bench learns: what only a grant is missing for. Fragments, source routes, brokers' endpoints
 * and whoever opens a connection from outside have been refused above; which datagrams are answers,
 * the other layer knows.
 */
static const struct bm_rule learning[] = {
	{ OUT, { BM_META(L4PROTO, 0), BM_CMP(EQ, 0, 1, IPPROTO_TCP), BM_COUNTER, BM_ACCEPT } },
	{ OUT, { BM_META(L4PROTO, 0), BM_CMP(EQ, 0, 1, IPPROTO_UDP), BM_COUNTER, BM_ACCEPT } },
	{ IN, { BM_META(L4PROTO, 0), BM_CMP(EQ, 0, 1, IPPROTO_TCP), BM_COUNTER, BM_ACCEPT } },
	{ IN, { BM_META(L4PROTO, 0), BM_CMP(EQ, 0, 1, IPPROTO_UDP), BM_COUNTER, BM_ACCEPT } },
};

static const struct bm_rule own_end[] = {
	{ OUT, { BM_COUNTER } },
	{ IN, { BM_COUNTER } },
	{ FORWARD, { BM_COUNTER } },
};

/* A chain that is no hook's has no policy. The goto of a gate comes back no more. */
static const struct bm_rule shared_end[] = {
	{ OUT, { REFUSE } },
	{ IN, { REFUSE } },
};

/* What the host itself says on every link (MLD, router solicitations) is no attempt of anybody's.
 */
static const struct bm_rule link_end[] = {
	{ OUT, { REFUSE } },
	{ IN, { BM_DROP } },
};

#define ADD(b, rules) bm_batch_add_rules(b, rules, sizeof(rules) / sizeof((rules)[0]))

static void add_sealed(struct bm_batch *b)
{
	bm_nft_listen_in(b);
	ADD(b, sealed);
	bm_nft_listen_out(b);
	ADD(b, discovery);
}

static void add_chains(struct bm_batch *b, const struct bm_chain *chains, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bm_batch_add_chain(b, &chains[i]);
}

/*
 * By its sockets: what has none in the Bench's cgroup or below it breaks off the rule, and passes.
 * A packet on its way in has the socket it is for looked up.
 */
static void add_gates(struct bm_batch *b, const struct bm_nft *nft)
{
	struct bm_rule gates[] = {
		{ OUTPUT,
		  { BM_CGROUP(nft->level, 0), BM_CMP(EQ, 0, sizeof(nft->cgroup)), BM_GOTO(OUT) } },
		{ INPUT,
		  { BM_CGROUP(nft->level, 0), BM_CMP(EQ, 0, sizeof(nft->cgroup)), BM_GOTO(IN) } },
	};

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++)
		memcpy(gates[i].steps[1].bytes, &nft->cgroup, sizeof(nft->cgroup));
	ADD(b, gates);
}

/*
 * Where what comes from the Bench goes on, and what goes to it: what the link has carried in
 * fragments is whole there, as it is where the Bench's own table looks.
 */
static void add_link_gates(struct bm_batch *b, const char *link)
{
	struct bm_rule gates[] = {
		{ INPUT, { BM_META(IIFNAME, 0), BM_CMP_NAME(0), BM_GOTO(LOCAL) } },
		{ FORWARD, { BM_META(IIFNAME, 0), BM_CMP_NAME(0), BM_GOTO(OUT) } },
		{ FORWARD, { BM_META(OIFNAME, 0), BM_CMP_NAME(0), BM_GOTO(IN) } },
		{ OUTPUT, { BM_META(OIFNAME, 0), BM_CMP_NAME(0), BM_GOTO(IN) } },
	};

	for (size_t i = 0; i < sizeof(gates) / sizeof(gates[0]); i++)
		strncpy((char *)gates[i].steps[1].bytes, link, sizeof(gates[i].steps[1].bytes));
	ADD(b, gates);
}

static void add_link(struct bm_batch *b, const struct bm_nft *nft)
{
	add_chains(b, link_chains, sizeof(link_chains) / sizeof(link_chains[0]));
	ADD(b, local);
	add_sealed(b);
	ADD(b, link_end);
	add_link_gates(b, nft->link);
}

static void add_shared(struct bm_batch *b, const struct bm_nft *nft)
{
	add_chains(b, shared_chains, sizeof(shared_chains) / sizeof(shared_chains[0]));
	add_sealed(b);
	if (nft->learns)
		ADD(b, learning);
	ADD(b, shared_end);
	add_gates(b, nft);
}

static void add_own(struct bm_batch *b, const struct bm_nft *nft)
{
	add_chains(b, own_chains, sizeof(own_chains) / sizeof(own_chains[0]));
	ADD(b, loopback);
	add_sealed(b);
	ADD(b, advertisements);
	if (nft->learns)
		ADD(b, learning);
	ADD(b, own_end);
}

void bm_nft_bench_table(struct bm_batch *b, const struct bm_nft *nft)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		bm_batch_add_set(b, &sets[i]);
	bm_nft_listen_sets(b);
	if (*nft->link)
		add_link(b, nft);
	else if (*nft->table)
		add_shared(b, nft);
	else
		add_own(b, nft);
}
