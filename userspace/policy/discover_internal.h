/* SPDX-License-Identifier: GPL-2.0-only */
/* What the three discoveries share. */
#ifndef BENCHMON_DISCOVER_INTERNAL_H
#define BENCHMON_DISCOVER_INTERNAL_H

#include "policy/discover.h"

/* In the image: whose configuration counts for what runs as the Bench's root. */
#define HOME "/root"
#define BM_IMAGE_FILE_MAX (1024 * 1024)

/* A host, checked and in lower case; what it is not, is left out. */
void discover_add_host(struct bm_discovery *d, const char *host, size_t len, uint16_t port,
		       const char *file);
/* Whom apt asks for what is at that host; NULL: the host itself. */
const struct bm_proxy *discover_proxy(const struct bm_discovery *d, bool https, const char *host,
				      size_t len);
/* The host of an http or https URI of len bytes, or its proxy; any other is left out. */
void discover_add_uri(struct bm_discovery *d, const char *uri, size_t len, const char *file);
/* what is escaped; len bytes of it are shown. */
__attribute__((format(printf, 5, 6))) void discover_leave(struct bm_discovery *d, const char *what,
							  size_t len, const char *file,
							  const char *fmt, ...);

/* The next line of *text without its newline; false at the end. */
bool discover_line(const char **text, const char **ret_line, size_t *ret_len);
/* The next word of *at before end, separated by blanks; false when there is none. */
bool discover_word(const char **at, const char *end, const char **ret_word, size_t *ret_len);
/* Without the blanks around it. */
void discover_trim(const char **text, size_t *len);
/* The next string in quotes of either kind, not far from there; false when there is none. */
bool discover_quoted(const char *text, const char **ret, size_t *ret_len);

/* In the helper. Reads a file of the image; -ENOENT, also for what is no regular file. */
int discover_read(int root, const char *path, char **ret, struct bm_error *err);
/* Calls fn with each name in a directory of the image, sorted; nothing when there is none. */
int discover_each(int root, const char *path,
		  int (*fn)(void *ctx, const char *name, struct bm_error *err), void *ctx,
		  struct bm_error *err);

int discover_apt(int root, struct bm_discovery *d, struct bm_error *err);
int discover_npm(int root, struct bm_discovery *d, struct bm_error *err);
int discover_pip(int root, struct bm_discovery *d, struct bm_error *err);

#endif
