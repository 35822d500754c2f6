// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_listen.h"

#include <netinet/in.h> /* first: linux/in.h gives way to it */

#include "network/nft_bench.h"
#include "network/nft_rule.h"

/*
 * UDP has no SYN by which an answer is told from a question, so a datagram leaves only for who has
 * sent one: address . port . port of the Bench's, for as long as in bpf/listen.h. When they are
 * full nobody new is heard.
 */
#define HEARD4 "heard4"
#define HEARD6 "heard6"
#define HEARD_MS 120000
#define HEARD_MAX 4096

#define KEY_TYPE(address) ((address) << 12 | BM_TYPE_PROTOCOL << 6 | BM_TYPE_SERVICE)
#define HEARD_TYPE(address) ((address) << 12 | BM_TYPE_SERVICE << 6 | BM_TYPE_SERVICE)

static const struct bm_set sets[] = {
	{ BM_NFT_LISTEN4, KEY_TYPE(BM_TYPE_IPV4), BM_NFT_KEY4_LEN, 3, 0, 0 },
	{ BM_NFT_LISTEN6, KEY_TYPE(BM_TYPE_IPV6), BM_NFT_KEY6_LEN, 4, 0, 0 },
	{ HEARD4, HEARD_TYPE(BM_TYPE_IPV4), BM_NFT_KEY4_LEN, 5, HEARD_MS, HEARD_MAX },
	{ HEARD6, HEARD_TYPE(BM_TYPE_IPV6), BM_NFT_KEY6_LEN, 6, HEARD_MS, HEARD_MAX },
};

#define IS_V4 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV4)
#define IS_V6 BM_META(NFPROTO, 0), BM_CMP(EQ, 0, 1, NFPROTO_IPV6)
/* Where in the header: the other end's address, its port and the Bench's. */
#define FROM4 12
#define TO4 16
#define FROM6 8
#define TO6 24
#define SPORT 0
#define DPORT 2
#define PEER4(at, protocol)                                                                        \
	BM_PAYLOAD(NETWORK, at, 4, 0), BM_PAYLOAD(NETWORK, 9, 1, 1), BM_CMP(EQ, 1, 1, protocol)
#define PEER6(at, protocol)                                                                        \
	BM_PAYLOAD(NETWORK, at, 16, 0), BM_PAYLOAD(NETWORK, 6, 1, 4), BM_CMP(EQ, 4, 1, protocol)
/* Of SYN and ACK not just these. */
#define FLAGS_NOT(flags, n)                                                                        \
	BM_PAYLOAD(TRANSPORT, 13, 1, n), BM_MASK(n, 1, 0x12), BM_CMP(NEQ, n, 1, flags)
#define SYN 0x02
#define SYN_ACK 0x12

/* The answer to a SYN of the Bench's own, had one left, is not let in either. */
static const struct bm_rule in[] = {
	{ "in",
	  { IS_V4, PEER4(FROM4, IPPROTO_TCP), BM_PAYLOAD(TRANSPORT, DPORT, 2, 2),
	    BM_LOOKUP(BM_NFT_LISTEN4), FLAGS_NOT(SYN_ACK, 3), BM_ACCEPT } },
	{ "in",
	  { IS_V4, PEER4(FROM4, IPPROTO_UDP), BM_PAYLOAD(TRANSPORT, DPORT, 2, 2),
	    BM_LOOKUP(BM_NFT_LISTEN4), BM_PAYLOAD(TRANSPORT, SPORT, 2, 1), BM_UPDATE(HEARD4),
	    BM_ACCEPT } },
	{ "in",
	  { IS_V6, PEER6(FROM6, IPPROTO_TCP), BM_PAYLOAD(TRANSPORT, DPORT, 2, 5),
	    BM_LOOKUP(BM_NFT_LISTEN6), FLAGS_NOT(SYN_ACK, 6), BM_ACCEPT } },
	{ "in",
	  { IS_V6, PEER6(FROM6, IPPROTO_UDP), BM_PAYLOAD(TRANSPORT, DPORT, 2, 5),
	    BM_LOOKUP(BM_NFT_LISTEN6), BM_PAYLOAD(TRANSPORT, SPORT, 2, 4), BM_UPDATE(HEARD6),
	    BM_ACCEPT } },
};

/* No connection is opened by such a port, whatever sends the SYN. */
static const struct bm_rule out[] = {
	{ "out",
	  { IS_V4, PEER4(TO4, IPPROTO_TCP), BM_PAYLOAD(TRANSPORT, SPORT, 2, 2),
	    BM_LOOKUP(BM_NFT_LISTEN4), FLAGS_NOT(SYN, 3), BM_ACCEPT } },
	{ "out",
	  { IS_V4, PEER4(TO4, IPPROTO_UDP), BM_PAYLOAD(TRANSPORT, SPORT, 2, 2),
	    BM_LOOKUP(BM_NFT_LISTEN4), BM_PAYLOAD(TRANSPORT, DPORT, 2, 1), BM_LOOKUP(HEARD4),
	    BM_ACCEPT } },
	{ "out",
	  { IS_V6, PEER6(TO6, IPPROTO_TCP), BM_PAYLOAD(TRANSPORT, SPORT, 2, 5),
	    BM_LOOKUP(BM_NFT_LISTEN6), FLAGS_NOT(SYN, 6), BM_ACCEPT } },
	{ "out",
	  { IS_V6, PEER6(TO6, IPPROTO_UDP), BM_PAYLOAD(TRANSPORT, SPORT, 2, 5),
	    BM_LOOKUP(BM_NFT_LISTEN6), BM_PAYLOAD(TRANSPORT, DPORT, 2, 4), BM_LOOKUP(HEARD6),
	    BM_ACCEPT } },
};

void bm_nft_listen_sets(struct bm_batch *b)
{
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		bm_batch_add_set(b, &sets[i]);
}

void bm_nft_listen_in(struct bm_batch *b)
{
	bm_batch_add_rules(b, in, sizeof(in) / sizeof(in[0]));
}

void bm_nft_listen_out(struct bm_batch *b)
{
	bm_batch_add_rules(b, out, sizeof(out) / sizeof(out[0]));
}
