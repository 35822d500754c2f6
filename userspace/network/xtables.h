/* SPDX-License-Identifier: GPL-2.0-only */
/* The tables of iptables-legacy, which nf_tables does not list: what theirs does when forwarding.
 */
#ifndef BENCHMON_XTABLES_H
#define BENCHMON_XTABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Of the table "filter" of one family. */
struct bm_xtables {
	bool drops;      /* the policy of FORWARD */
	bool names_link; /* some rule is about interfaces that begin as links do */
	bool docker, ufw;
};

/*
 * family: AF_INET or AF_INET6. -ENOENT, silently, when there is no such table; asking makes none.
 */
int bm_xtables_forward(int family, struct bm_xtables *ret, struct bm_error *err);

#endif
