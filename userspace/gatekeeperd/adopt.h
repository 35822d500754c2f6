/* SPDX-License-Identifier: GPL-2.0-only */
/* The volumes that an attached container came with: detached from it, offered as grants. */
#ifndef BENCHMON_ADOPT_H
#define BENCHMON_ADOPT_H

#include "bench/foreign.h"
#include "gatekeeperd/daemon.h"

/* What `attach --adopt` has set aside for its connection. */
struct adoption;

struct adoption *adoption_new(void);
/* Drops what was not granted. Accepts NULL. */
void adoption_drop(struct adoption *a);
#define autoadoption __attribute__((cleanup(adoption_dropp))) struct adoption
void adoption_dropp(struct adoption **a);

/* Clones the mounts of foreign, before they are detached; one that can't be offered gets the
 * reason. */
int adoption_take(struct adoption *a, const struct bm_target *target,
		  const struct bm_foreign_list *foreign);
void adoption_for(struct adoption *a, uint32_t bench);
/* V of protocol/README.md, as many as a reply holds. */
struct json_object *adoption_to_json(const struct adoption *a);

/* The same for the ledger and `show`: what was detached. */
struct json_object *detached_to_json(const struct bm_foreign_list *gone);

#endif
