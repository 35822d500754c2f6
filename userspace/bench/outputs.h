/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was written below a directory, or to a file, since a time: path, size, SHA-256. Looked at by
 * a helper without any capability, which follows no link, leaves no file system, opens nothing but
 * directories and regular files, and stops at bounds.
 */
#ifndef BENCHMON_OUTPUTS_H
#define BENCHMON_OUTPUTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Of one Bench, over all that it was granted. */
#define BM_OUTPUTS_FILES 2048
#define BM_OUTPUTS_ENTRIES 100000     /* names looked at */
#define BM_OUTPUTS_DEPTH 32           /* directories below the granted one */
#define BM_OUTPUTS_BYTES (4ull << 30) /* hashed */
#define BM_OUTPUTS_PATHS (256u << 10) /* bytes of their paths */
#define BM_OUTPUTS_MS 20000

/* Which of them it came to, bit by bit. */
enum bm_outputs_bound {
	BM_BOUND_FILES,
	BM_BOUND_ENTRIES,
	BM_BOUND_DEPTH,
	BM_BOUND_BYTES,
	BM_BOUND_PATHS,
	BM_BOUND_SECONDS,
	BM_BOUND_MAX,
};
extern const char *const bm_outputs_bounds[BM_BOUND_MAX];

struct bm_outputs_limits {
	uint64_t files, entries, bytes, paths;
	unsigned depth, ms;
};
#define BM_OUTPUTS_LIMITS                                                                          \
	((struct bm_outputs_limits){ BM_OUTPUTS_FILES, BM_OUTPUTS_ENTRIES, BM_OUTPUTS_BYTES,       \
				     BM_OUTPUTS_PATHS, BM_OUTPUTS_DEPTH, BM_OUTPUTS_MS })

enum bm_output_state {
	BM_OUTPUT_HASHED,
	BM_OUTPUT_CHANGED,    /* while it was read, by somebody else */
	BM_OUTPUT_UNREADABLE, /* error says why */
	BM_OUTPUT_BOUND,      /* too large for the bytes or the time that were left */
	BM_OUTPUT_STATE_MAX,
};

struct bm_output {
	uint64_t size;
	int64_t mtime_ns; /* CLOCK_REALTIME */
	uint32_t state, error;
	uint8_t sha256[32];
	const char *path; /* below what was granted, its bytes as they are; "": the file itself */
};

struct bm_outputs_counts {
	uint64_t entries; /* looked at */
	uint64_t bytes;   /* hashed */
	uint64_t paths;
	uint64_t links;      /* symbolic ones, not followed */
	uint64_t special;    /* FIFOs, sockets, devices */
	uint64_t unreadable; /* directories */
	uint64_t apart;      /* mounts, other grants, excepted names */
	uint64_t bounds;     /* 1 << enum bm_outputs_bound */
};

struct bm_outputs {
	struct bm_output *list; /* by path */
	size_t count;
	struct bm_outputs_counts counts;
	char *text; /* what the paths point into */
};
void bm_outputs_done(struct bm_outputs *outputs);
#define autooutputs __attribute__((cleanup(bm_outputs_done))) struct bm_outputs

/* All of it must last until it has been started, no longer. */
struct bm_outputs_look {
	int fd;           /* O_PATH: the directory or file */
	int64_t since_ns; /* CLOCK_REALTIME; written: its mtime or ctime is no earlier */
	uid_t uid;        /* whose access it has */
	gid_t gid;
	struct bm_outputs_limits limits;
	/* Directories and files that are somebody else's to tell of. */
	const struct bm_outputs_apart {
		uint64_t device, inode;
	} * apart;
	size_t apart_count;
	const char *const *names; /* paths below fd that are left out, ended by NULL; or NULL */
};

/* socket becomes readable when it has answered or ended; it is pid's, to be killed when overdue. */
struct bm_collecting {
	int socket;
	pid_t pid;
};

int bm_outputs_start(const struct bm_outputs_look *look, struct bm_collecting *ret,
		     struct bm_error *err);
/* Waits for it no longer than ms. Release *ret with bm_outputs_done(). */
int bm_outputs_finish(struct bm_collecting *c, unsigned ms, struct bm_outputs *ret,
		      struct bm_error *err);
/* Ends the helper: its socket becomes readable, and bm_outputs_finish() says so. */
void bm_outputs_hurry(const struct bm_collecting *c);
void bm_outputs_abandon(struct bm_collecting *c);

#endif
