// SPDX-License-Identifier: GPL-2.0-only
/* apt: sources.list(5), in both styles, the lists of mirrors that they refer to, and the proxies
 * that apt.conf(5) has for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "policy/discover_internal.h"

#define SOURCES "/etc/apt/sources.list.d"
#define CONF "/etc/apt/apt.conf.d"

static bool is(const char *word, size_t len, const char *what)
{
	return len == strlen(what) && !strncasecmp(word, what, len);
}

/* mirror+file:/path and mirror+file:///path are read; what any other mirror names, no file tells.
 */
static void add_uri(struct bm_discovery *d, const char *uri, size_t len, const char *file)
{
	static const char prefix[] = "mirror+file:";
	size_t skip = sizeof(prefix) - 1;

	if (len <= skip || strncasecmp(uri, prefix, skip)) {
		discover_add_uri(d, uri, len, file);
		return;
	}
	while (skip + 1 < len && uri[skip] == '/' && uri[skip + 1] == '/')
		skip++;
	if (uri[skip] != '/' || len - skip >= BM_FOUND_FILE_LEN || d->list_count == BM_LISTS_MAX)
		discover_leave(d, uri, len, file, "a list of mirrors that can't be read");
	else
		snprintf(d->lists[d->list_count++], BM_FOUND_FILE_LEN, "%.*s", (int)(len - skip),
			 uri + skip);
}

void bm_discover_apt_list(const char *text, const char *file, struct bm_discovery *d)
{
	const char *line, *word;
	size_t len, size;

	while (discover_line(&text, &line, &len)) {
		const char *comment = memchr(line, '#', len), *at = line;
		const char *end = comment ?: line + len;

		if (!discover_word(&at, end, &word, &size) ||
		    (!is(word, size, "deb") && !is(word, size, "deb-src")))
			continue;
		if (!discover_word(&at, end, &word, &size))
			continue;
		/* [ options ], with blanks or without */
		if (*word == '[') {
			const char *close = memchr(word, ']', (size_t)(end - word));

			at = close ? close + 1 : end;
			if (!discover_word(&at, end, &word, &size))
				continue;
		}
		add_uri(d, word, size, file);
	}
}

/* A stanza: where its URIs stand, since "Enabled" may come after them. */
struct stanza {
	const char *uris[BM_FOUND_MAX];
	size_t lens[BM_FOUND_MAX];
	size_t count;
	bool disabled, in_uris;
};

static void end_stanza(struct stanza *s, const char *file, struct bm_discovery *d)
{
	for (size_t i = 0; i < s->count && !s->disabled; i++)
		add_uri(d, s->uris[i], s->lens[i], file);
	*s = (struct stanza){};
}

static void take_uris(struct stanza *s, const char *at, const char *end, const char *file,
		      struct bm_discovery *d)
{
	const char *word;
	size_t size;

	while (discover_word(&at, end, &word, &size)) {
		if (s->count < BM_FOUND_MAX) {
			s->uris[s->count] = word;
			s->lens[s->count++] = size;
		} else {
			discover_leave(d, "an entry", 8, file, "more than %d in one stanza",
				       BM_FOUND_MAX);
		}
	}
}

static bool says_no(const char *at, const char *end)
{
	static const char *const no[] = { "no", "false", "without", "off", "disable", "0" };
	const char *word;
	size_t size;

	if (discover_word(&at, end, &word, &size))
		for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
			if (is(word, size, no[i]))
				return true;
	return false;
}

void bm_discover_apt_sources(const char *text, const char *file, struct bm_discovery *d)
{
	struct stanza s = {};
	const char *line;
	size_t len;

	while (discover_line(&text, &line, &len)) {
		const char *rest = line, *end = line + len, *colon;
		size_t size = len;

		discover_trim(&rest, &size);
		if (*line == '#')
			continue;
		if (!size) {
			end_stanza(&s, file, d);
			continue;
		}
		if (*line == ' ' || *line == '\t') {
			if (s.in_uris)
				take_uris(&s, line, end, file, d);
			continue;
		}
		colon = memchr(line, ':', len);
		size = colon ? (size_t)(colon - line) : 0;
		s.in_uris = size && is(line, size, "URIs");
		if (s.in_uris)
			take_uris(&s, colon + 1, end, file, d);
		else if (size && is(line, size, "Enabled"))
			s.disabled = says_no(colon + 1, end);
	}
	end_stanza(&s, file, d);
}

void bm_discover_apt_mirrors(const char *text, const char *file, struct bm_discovery *d)
{
	const char *line, *word;
	size_t len, size;

	while (discover_line(&text, &line, &len)) {
		const char *at = line;

		if (discover_word(&at, line + len, &word, &size) && *word != '#')
			discover_add_uri(d, word, size, file);
	}
}

/* --- in the helper -----------------------------------------------------------------------------
 */

struct walk {
	int root;
	struct bm_discovery *d;
};

static int read_with(const struct walk *w, const char *path,
		     void (*parse)(const char *text, const char *file, struct bm_discovery *d),
		     struct bm_error *err)
{
	autofree char *text = NULL;
	int r = discover_read(w->root, path, &text, err);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		parse(text, path, w->d);
	return r;
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), size = strlen(end);

	return len > size && !strcmp(name + len - size, end);
}

/* Below DIR; apt takes no other names. */
static bool is_part(const char *dir, const char *name, char ret_path[BM_FOUND_FILE_LEN])
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	return name[0] != '.' && !name[strspn(name, allowed)] &&
	       snprintf(ret_path, BM_FOUND_FILE_LEN, "%s/%s", dir, name) < BM_FOUND_FILE_LEN;
}

static int read_sources(void *ctx, const char *name, struct bm_error *err)
{
	char path[BM_FOUND_FILE_LEN];

	if (!is_part(SOURCES, name, path))
		return 0;
	if (ends_in(name, ".list"))
		return read_with(ctx, path, bm_discover_apt_list, err);
	return ends_in(name, ".sources") ? read_with(ctx, path, bm_discover_apt_sources, err) : 0;
}

static int read_conf(void *ctx, const char *name, struct bm_error *err)
{
	char path[BM_FOUND_FILE_LEN];

	return is_part(CONF, name, path) && (!strchr(name, '.') || ends_in(name, ".conf"))
		       ? read_with(ctx, path, bm_discover_apt_conf, err)
		       : 0;
}

int discover_apt(int root, struct bm_discovery *d, struct bm_error *err)
{
	struct walk w = { root, d };
	int r = discover_each(root, CONF, read_conf, &w, err);

	if (r == 0)
		r = read_with(&w, "/etc/apt/apt.conf", bm_discover_apt_conf, err);
	if (r == 0)
		r = read_with(&w, "/etc/apt/sources.list", bm_discover_apt_list, err);
	if (r == 0)
		r = discover_each(root, SOURCES, read_sources, &w, err);
	for (size_t i = 0; r == 0 && i < d->list_count; i++)
		r = read_with(&w, d->lists[i], bm_discover_apt_mirrors, err);
	if (r == 0 && !d->count)
		return bm_fail(err, ENOENT, "discover", "configure sources in the image",
			       "apt: the image names no source with http or https%s%s",
			       d->left_count ? "; left out: " : "",
			       d->left_count ? d->left[0] : "");
	return r;
}
