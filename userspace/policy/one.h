/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A profile of one: HOST:PORT[/udp]. No file defines it, its name is all that it is; it is
 * resolved, shown and sealed as any other.
 */
#ifndef BENCHMON_ONE_H
#define BENCHMON_ONE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/profile.h"
#include "policy/seal.h"

/* Of the host's name: with port and protocol it has to fit a file name, and a line of advice. */
#define BM_ONE_HOST_MAX 200

/* Whether a name of a profile, well formed or not, is meant as one of these. */
bool bm_one_is(const char *name);

/*
 * Makes it from HOST:PORT[/tcp|/udp]. ret->name is the one way to write it: in lower case, TCP left
 * out. len bytes, NULs among them are seen. -EINVAL with what is wrong and where, also of an
 * address. Release *ret with bm_profile_done().
 */
int bm_one_parse(const char *text, size_t len, struct bm_profile *ret, struct bm_error *err);

/* The private addresses among those that were sealed are meant, as they were then. -ENOMEM. */
int bm_one_keep_private(struct bm_profile *profile, const struct bm_sealed *old,
			struct bm_error *err);

/* A name under which something may be sealed: a profile's, or of these the one way to write it. */
int bm_seal_name_check(const char *name, struct bm_error *err);

#endif
