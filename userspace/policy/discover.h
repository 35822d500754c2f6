/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where an image gets its packages from: read in its own configuration, as its apt, npm or pip
 * would read it, so that no host of a registry stands in a profile and people with mirrors are
 * served.
 */
#ifndef BENCHMON_DISCOVER_H
#define BENCHMON_DISCOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/hostname.h"
#include "policy/profile.h"

#define BM_FOUND_MAX 64
#define BM_FOUND_FILE_LEN 256
#define BM_LEFT_MAX 32
#define BM_LEFT_LEN 512
#define BM_LISTS_MAX 8
#define BM_PROXIES_MAX 16

struct bm_found {
	char host[BM_HOSTNAME_LEN];
	uint16_t port;
	char file[BM_FOUND_FILE_LEN]; /* in the image, from its root on; not escaped */
};

/* Of apt's: whom it asks instead of a host, or of all hosts (""), for that scheme. */
struct bm_proxy {
	bool https;
	char host[BM_HOSTNAME_LEN];
	char uri[512]; /* may hold a password */
	char file[BM_FOUND_FILE_LEN];
};

struct bm_discovery {
	struct bm_found found[BM_FOUND_MAX];
	size_t count;
	/* What was named there and is left out, with the reason; escaped. */
	char left[BM_LEFT_MAX][BM_LEFT_LEN];
	size_t left_count;
	bool more_left;
	/* Files that apt's sources refer to: mirror+file. */
	char lists[BM_LISTS_MAX][BM_FOUND_FILE_LEN];
	size_t list_count;
	struct bm_proxy proxies[BM_PROXIES_MAX];
	size_t proxy_count;
};

/*
 * Reads the image whose root directory root is, in a confined helper: no link leads out of it. The
 * ports are TCP's. -ENOENT when nothing is configured and no default can be found.
 */
int bm_discover(int root, enum bm_discover what, struct bm_discovery *ret, struct bm_error *err);

/* --- the parsers: of text that is the image's; file is where it stands
 * ----------------------------- */

/* apt.conf: its proxies, which are what is found of the sources that come after. */
void bm_discover_apt_conf(const char *text, const char *file, struct bm_discovery *d);
/* sources.list: one-line style. */
void bm_discover_apt_list(const char *text, const char *file, struct bm_discovery *d);
/* *.sources: deb822 style. */
void bm_discover_apt_sources(const char *text, const char *file, struct bm_discovery *d);
/* What mirror+file refers to. */
void bm_discover_apt_mirrors(const char *text, const char *file, struct bm_discovery *d);
/* Of npmrc: those of scopes; and the registry, if with_registry, which is what it returns: whether
 * it has one. */
bool bm_discover_npmrc(const char *text, const char *file, bool with_registry,
		       struct bm_discovery *d);
/* npm's table of options: what registry is when nobody has set it. */
bool bm_discover_npm_default(const char *text, const char *file, struct bm_discovery *d);
/* pip.conf: the values of key, which is index-url or extra-index-url. */
bool bm_discover_pip_conf(const char *text, const char *file, const char *key,
			  struct bm_discovery *d);
/*
 * pip's models/index.py: its own index, if with_index, and where that has its files, if it is among
 * what was found. False when it does not say.
 */
bool bm_discover_pip_default(const char *text, const char *file, bool with_index,
			     struct bm_discovery *d);

#endif
