/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who else on the host drops what is forwarded: an accept of ours binds nobody, so the packets of a
 * link may be swallowed by docker's, ufw's or firewalld's tables, or by anybody's with policy drop.
 */
#ifndef BENCHMON_OBSTACLE_H
#define BENCHMON_OBSTACLE_H

#include <stddef.h>

#include "base/error.h"

#define BM_OBSTACLES_MAX 4

struct bm_obstacle {
	char what[320];   /* one sentence, without a full stop */
	char remedy[256]; /* a command; for long names, in words */
};

/*
 * Chains that forwarded packets of a family (AF_INET, AF_INET6; AF_UNSPEC: of any) meet and that
 * drop what no rule accepts. One whose table names interfaces that begin as links do counts as
 * opened already. Those of iptables-legacy are asked too. link: for the remedy. Fills at most
 * BM_OBSTACLES_MAX.
 */
int bm_obstacles_find(int family, const char *link, struct bm_obstacle ret[BM_OBSTACLES_MAX],
		      size_t *ret_count, struct bm_error *err);

#endif
