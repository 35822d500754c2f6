/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is taken for a secret: by name and place (patterns), or by a line near its beginning
 * (marks). profiles/secrets.json is built in; /etc/benchmon/secrets.json takes its place.
 */
#ifndef BENCHMON_SECRETS_H
#define BENCHMON_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define BM_SECRETS_MAX (256 * 1024) /* bytes of a definition */
#define BM_SECRET_PATTERNS 512
#define BM_SECRET_MARKS 64
#define BM_SECRET_NOTS 8
#define BM_SECRET_GLOB_LEN 128
#define BM_SECRET_WHY_LEN 801
#define BM_SECRET_PARTS 8
/* Of a file this much is looked at for marks, and of larger ones than that nothing. */
#define BM_SECRET_HEAD 4096
#define BM_SECRET_FILE_MAX (64 * 1024)

struct bm_secret_pattern {
	char path[BM_SECRET_GLOB_LEN]; /* without its last / */
	bool below;                    /* a directory and all in it */
	char not [BM_SECRET_NOTS][BM_SECRET_GLOB_LEN];
	unsigned not_count;
	char why[BM_SECRET_WHY_LEN];
};

struct bm_secret_mark {
	char line[BM_SECRET_GLOB_LEN];
	char why[BM_SECRET_WHY_LEN];
};

struct bm_secrets {
	struct bm_secret_pattern *patterns;
	size_t pattern_count;
	struct bm_secret_mark *marks;
	size_t mark_count;
};

/* what names it in errors, which say the pattern, the key and what is wrong with it. */
int bm_secrets_parse(const char *text, size_t len, const char *what, struct bm_secrets *ret,
		     struct bm_error *err);
void bm_secrets_done(struct bm_secrets *secrets);
#define autosecrets __attribute__((cleanup(bm_secrets_done))) struct bm_secrets

/*
 * The file at path, or where there is none what is built in. Refused unless it belongs to root, or
 * to owner, and nobody else can write it: whoever writes it decides what is no secret.
 */
int bm_secrets_load(const char *path, uid_t owner, struct bm_secrets *ret, struct bm_error *err);

/* Why the last component of path makes it one; NULL: it doesn't. */
const char *bm_secret_by_name(const struct bm_secrets *secrets, const char *path, bool directory);
/* The same, and of every directory that path lies in. */
const char *bm_secret_by_path(const struct bm_secrets *secrets, const char *path, bool directory);
/* Why the beginning of a file makes it one. */
const char *bm_secret_by_head(const struct bm_secrets *secrets, const char *head, size_t len);

/* --- what is in a directory --------------------------------------------------------------------
 */

#define BM_SECRET_FOUND 64
#define BM_SECRET_PATH_LEN 1024

struct bm_secret_found {
	char path[BM_SECRET_PATH_LEN]; /* below what was searched; "": itself */
	char why[BM_SECRET_WHY_LEN];
	bool directory;
};

/* A file or directory that is one whatever it is called. */
struct bm_secret_known {
	uint64_t device, inode;
	int64_t born_ns; /* 0: not known */
};

struct bm_secrets_look {
	const struct bm_secrets *secrets;
	int fd;           /* what is searched */
	const char *path; /* where that is */
	uid_t uid;        /* it is read as theirs; without root's rights */
	gid_t gid;
	bool anybody;             /* or as root, who reads everything */
	const char *const *leave; /* paths below it, NULL at the end: not looked at */
	const struct bm_secret_known *known;
	size_t known_count;
	const char *known_why;
	uint64_t entries, depth, ms;
};

/* A bound that was met leaves something unsearched. */
struct bm_secrets_scan {
	struct bm_secret_found list[BM_SECRET_FOUND];
	uint32_t count; /* of all that were found, in the list or not */
	uint32_t entries, unreadable;
	uint32_t bounds;
};
enum bm_secrets_bound {
	BM_SECRETS_ENTRIES = 1,
	BM_SECRETS_DEPTH = 2,
	BM_SECRETS_TIME = 4,
	BM_SECRETS_UNREAD = 8
};

/* In a helper: the names and files are a stranger's. */
int bm_secrets_scan(const struct bm_secrets_look *look, struct bm_secrets_scan *ret,
		    struct bm_error *err);

/* The same, not waited for. */
struct bm_secrets_search {
	int socket; /* readable when it has an answer, or has ended; -1: none */
	pid_t pid;
};
int bm_secrets_search_start(const struct bm_secrets_look *look, struct bm_secrets_search *ret,
			    struct bm_error *err);
int bm_secrets_search_finish(struct bm_secrets_search *search, struct bm_secrets_scan *ret,
			     struct bm_error *err);
/* Ends it; nothing when it has been finished. */
void bm_secrets_search_abandon(struct bm_secrets_search *search);

#endif
