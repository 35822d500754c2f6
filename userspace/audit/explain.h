/* SPDX-License-Identifier: GPL-2.0-only */
/* What a rule means, for people. */
#ifndef BENCHMON_EXPLAIN_H
#define BENCHMON_EXPLAIN_H

#include <stdint.h>

/* Why it refuses: one sentence, without its full stop. */
const char *bm_rule_sentence(uint32_t rule);
/* What to do, where no command allows it; NULL: nothing does, or the command says it. */
const char *bm_rule_remedy(uint32_t rule);

#endif
