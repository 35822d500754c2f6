/* SPDX-License-Identifier: GPL-2.0-only */
/* The events in the files, from one of them on to the end of the newest. */
#ifndef BENCHMON_HISTORY_H
#define BENCHMON_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

struct bm_history;

/* Of the newest file alone. */
int bm_history_newest(int dirfd, struct bm_history **ret);
/*
 * From the newest file on whose beginning says that of the Bench id no event behind since was told
 * yet; id 0: from the oldest file on.
 */
int bm_history_since(int dirfd, uint32_t id, uint64_t since, struct bm_history **ret);
/* The next line, without newline, until the next call; NULL at the end. What is no text is
 * passed by. */
const char *bm_history_next(struct bm_history *history);
/* Accepts NULL. */
void bm_history_close(struct bm_history *history);

static inline void bm_history_closep(struct bm_history **history)
{
	bm_history_close(*history);
}

#define autohistory __attribute__((cleanup(bm_history_closep))) struct bm_history

#endif
