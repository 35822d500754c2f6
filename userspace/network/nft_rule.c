// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_rule.h"

#include <stdio.h> /* libnftnl/expr.h uses FILE */

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

static struct nftnl_expr *make(const struct bm_step *step)
{
	static const char *const names[] = {
		[BM_STEP_META] = "meta",         [BM_STEP_PAYLOAD] = "payload",
		[BM_STEP_CGROUP] = "socket",     [BM_STEP_CT_STATE] = "ct",
		[BM_STEP_ROUTE_TYPE] = "fib",    [BM_STEP_MASK] = "bitwise",
		[BM_STEP_CMP] = "cmp",           [BM_STEP_LOOKUP] = "lookup",
		[BM_STEP_UPDATE] = "dynset",     [BM_STEP_COUNTER] = "counter",
		[BM_STEP_VERDICT] = "immediate", [BM_STEP_MASQUERADE] = "masq",
	};

	return nftnl_expr_alloc(names[step->kind]);
}

static void fill_load(struct nftnl_expr *e, const struct bm_step *step)
{
	if (step->kind == BM_STEP_META) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, step->key);
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, step->reg);
	} else if (step->kind == BM_STEP_CGROUP) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_KEY, NFT_SOCKET_CGROUPV2);
		nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_LEVEL, step->key);
		nftnl_expr_set_u32(e, NFTNL_EXPR_SOCKET_DREG, step->reg);
	} else if (step->kind == BM_STEP_CT_STATE) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, step->reg);
	} else if (step->kind == BM_STEP_ROUTE_TYPE) {
		nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
		nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
		nftnl_expr_set_u32(e, NFTNL_EXPR_FIB_DREG, step->reg);
	} else {
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, step->key);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, step->offset);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, step->len);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, step->reg);
	}
}

static int fill(struct nftnl_expr *e, const struct bm_step *step)
{
	static const uint8_t zero[16];

	switch (step->kind) {
	case BM_STEP_META:
	case BM_STEP_CGROUP:
	case BM_STEP_CT_STATE:
	case BM_STEP_ROUTE_TYPE:
	case BM_STEP_PAYLOAD:
		fill_load(e, step);
		return 0;
	case BM_STEP_MASK:
		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, step->reg);
		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, step->reg);
		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, step->len);
		return nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, step->bytes, step->len) |
		       nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, zero, step->len);
	case BM_STEP_CMP:
		nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, step->reg);
		nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, step->key);
		return nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, step->bytes, step->len);
	case BM_STEP_LOOKUP:
		nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, step->reg);
		return nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, step->set);
	case BM_STEP_UPDATE:
		nftnl_expr_set_u32(e, NFTNL_EXPR_DYNSET_SREG_KEY, step->reg);
		nftnl_expr_set_u32(e, NFTNL_EXPR_DYNSET_OP, NFT_DYNSET_OP_UPDATE);
		return nftnl_expr_set_str(e, NFTNL_EXPR_DYNSET_SET_NAME, step->set);
	case BM_STEP_VERDICT:
		nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
		nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, step->key);
		return step->set ? nftnl_expr_set_str(e, NFTNL_EXPR_IMM_CHAIN, step->set) : 0;
	default:
		return 0;
	}
}

/* NULL when out of memory. */
static struct nftnl_rule *build(const struct bm_rule *rule)
{
	struct nftnl_rule *r = nftnl_rule_alloc();

	for (size_t i = 0; r && i < sizeof(rule->steps) / sizeof(rule->steps[0]); i++) {
		const struct bm_step *step = &rule->steps[i];
		struct nftnl_expr *e;

		if (step->kind == BM_STEP_END)
			break;
		e = make(step);
		if (e && fill(e, step) == 0) {
			nftnl_rule_add_expr(r, e);
			continue;
		}
		/* A rule that lost one of its conditions would match more than it says. */
		if (e)
			nftnl_expr_free(e);
		nftnl_rule_free(r);
		r = NULL;
	}
	return r;
}

void bm_batch_add_rules(struct bm_batch *b, const struct bm_rule *rules, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bm_batch_add_rule(b, rules[i].chain, build(&rules[i]));
}
