/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ownership by attribute. A variable marked `autoclose` or `autofree` owns what it holds until
 * it is handed on with TAKE_FD() or TAKE_PTR(), which leave -1 or NULL behind.
 */
#ifndef BENCHMON_CLEANUP_H
#define BENCHMON_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BM_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Closes and keeps errno, so that an error path may close before it reports. */
void bm_close(int fd);

static inline void bm_closep(int *fd)
{
	bm_close(*fd);
}

static inline void bm_freep(void *p)
{
	free(*(void **)p);
}

static inline void bm_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void bm_closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define autoclose BM_CLEANUP(bm_closep) int
#define autofree BM_CLEANUP(bm_freep)
#define autofclose BM_CLEANUP(bm_fclosep)
#define autoclosedir BM_CLEANUP(bm_closedirp)

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *bm_fd_ = &(fd);                                                               \
		int bm_taken_ = *bm_fd_;                                                           \
		*bm_fd_ = -1;                                                                      \
		bm_taken_;                                                                         \
	})

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *bm_p_ = &(p);                                                       \
		__typeof__(p) bm_taken_ = *bm_p_;                                                  \
		*bm_p_ = NULL;                                                                     \
		bm_taken_;                                                                         \
	})

#endif
