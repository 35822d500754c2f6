/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A rule written as a table of steps that reads like `nft --debug=netlink list ruleset`: each
 * loads a register, compares it (a mismatch ends the rule), or acts.
 */
#ifndef BENCHMON_NFT_RULE_H
#define BENCHMON_NFT_RULE_H

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdint.h>

#include "network/nft_batch.h"

enum bm_step_kind {
	BM_STEP_END,
	BM_STEP_META,
	BM_STEP_CGROUP,
	BM_STEP_PAYLOAD,
	BM_STEP_CT_STATE,
	BM_STEP_ROUTE_TYPE,
	BM_STEP_MASK,
	BM_STEP_CMP,
	BM_STEP_LOOKUP,
	BM_STEP_UPDATE,
	BM_STEP_COUNTER,
	BM_STEP_VERDICT,
	BM_STEP_MASQUERADE,
};

struct bm_step {
	enum bm_step_kind kind;
	uint32_t reg;
	uint32_t key; /* NFT_META_*, payload base, cgroup level, NFT_CMP_*, verdict */
	uint32_t offset;
	uint32_t len;
	union {
		uint8_t bytes[16];
		uint32_t native; /* what meta and ct load is in host byte order */
	};
	const char *set; /* or chain that the verdict leads to */
};

struct bm_rule {
	const char *chain;
	struct bm_step steps[12];
};

/* Registers of 4 bytes; a set of concatenated fields is looked up from consecutive ones. */
#define BM_REG(n) (NFT_REG32_00 + (n))

#define BM_META(key_, n)                                                                           \
	{                                                                                          \
		.kind = BM_STEP_META, .reg = BM_REG(n), .key = NFT_META_##key_                     \
	}
#define BM_PAYLOAD(base_, offset_, len_, n)                                                        \
	{                                                                                          \
		.kind = BM_STEP_PAYLOAD, .reg = BM_REG(n), .key = NFT_PAYLOAD_##base_##_HEADER,    \
		.offset = (offset_), .len = (len_)                                                 \
	}
/* The id of the ancestor, at that level, of the cgroup that the packet's socket is in: 8 bytes. */
#define BM_CGROUP(level_, n)                                                                       \
	{                                                                                          \
		.kind = BM_STEP_CGROUP, .reg = BM_REG(n), .key = (level_)                          \
	}
#define BM_CT_STATE(n)                                                                             \
	{                                                                                          \
		.kind = BM_STEP_CT_STATE, .reg = BM_REG(n)                                         \
	}
/* RTN_* of the address it is for. */
#define BM_ROUTE_TYPE(n)                                                                           \
	{                                                                                          \
		.kind = BM_STEP_ROUTE_TYPE, .reg = BM_REG(n)                                       \
	}
#define BM_MASK(n, len_, ...)                                                                      \
	{                                                                                          \
		.kind = BM_STEP_MASK, .reg = BM_REG(n), .len = (len_), .bytes = { __VA_ARGS__ }    \
	}
#define BM_MASK_NATIVE(n, value_)                                                                  \
	{                                                                                          \
		.kind = BM_STEP_MASK, .reg = BM_REG(n), .len = 4, .native = (value_)               \
	}
#define BM_CMP(op_, n, len_, ...)                                                                  \
	{                                                                                          \
		.kind = BM_STEP_CMP, .reg = BM_REG(n), .key = NFT_CMP_##op_, .len = (len_),        \
		.bytes = {                                                                         \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
/* An interface's name, of 16 bytes with the zeros behind it: to be filled in. */
#define BM_CMP_NAME(n)                                                                             \
	{                                                                                          \
		.kind = BM_STEP_CMP, .reg = BM_REG(n), .key = NFT_CMP_EQ, .len = 16                \
	}
#define BM_CMP_NATIVE(op_, n, value_)                                                              \
	{                                                                                          \
		.kind = BM_STEP_CMP, .reg = BM_REG(n), .key = NFT_CMP_##op_, .len = 4,             \
		.native = (value_)                                                                 \
	}
#define BM_LOOKUP(set_)                                                                            \
	{                                                                                          \
		.kind = BM_STEP_LOOKUP, .reg = BM_REG(0), .set = (set_)                            \
	}
/* Puts the key into a set of elements that end by themselves; what finds no room ends the rule. */
#define BM_UPDATE(set_)                                                                            \
	{                                                                                          \
		.kind = BM_STEP_UPDATE, .reg = BM_REG(0), .set = (set_)                            \
	}
#define BM_COUNTER                                                                                 \
	{                                                                                          \
		.kind = BM_STEP_COUNTER                                                            \
	}
#define BM_ACCEPT                                                                                  \
	{                                                                                          \
		.kind = BM_STEP_VERDICT, .key = NF_ACCEPT                                          \
	}
#define BM_DROP                                                                                    \
	{                                                                                          \
		.kind = BM_STEP_VERDICT, .key = NF_DROP                                            \
	}
#define BM_GOTO(chain_)                                                                            \
	{                                                                                          \
		.kind = BM_STEP_VERDICT, .key = (uint32_t)NFT_GOTO, .set = (chain_)                \
	}
#define BM_MASQUERADE                                                                              \
	{                                                                                          \
		.kind = BM_STEP_MASQUERADE                                                         \
	}

/* How nft(8) numbers its types, so that it can show ours; six bits a field. */
#define BM_TYPE_IPV4 7
#define BM_TYPE_IPV6 8
#define BM_TYPE_PROTOCOL 12
#define BM_TYPE_SERVICE 13
#define BM_TYPE_IFINDEX 20

void bm_batch_add_rules(struct bm_batch *b, const struct bm_rule *rules, size_t count);

#endif
