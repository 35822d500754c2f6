// SPDX-License-Identifier: GPL-2.0-only
/* pip: the indexes of its pip.conf files, or the one that its own sources have as the default. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/discover_internal.h"

/* The first that sets an option decides, as for pip. */
static const char *const files[] = {
	HOME "/.config/pip/pip.conf",
	HOME "/.pip/pip.conf",
	"/etc/pip.conf",
	"/etc/xdg/pip/pip.conf",
};

static const char *const libraries[] = { "/usr/local/lib", "/usr/lib", "/usr/lib64" };
static const char *const packages[] = { "site-packages", "dist-packages" };

/* "index-url"; pip takes it with '_' too, and whatever the case. */
static bool is_key(const char *text, size_t len, const char *key)
{
	if (len != strlen(key))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i] == '_' ? '-' : text[i];

		if (c != key[i] && (c < 'A' || c > 'Z' || (c | 0x20) != key[i]))
			return false;
	}
	return true;
}

static bool add_words(const char *at, const char *end, const char *file, struct bm_discovery *d)
{
	const char *word;
	size_t len;
	bool any = false;

	while (discover_word(&at, end, &word, &len) && *word != '#') {
		discover_add_uri(d, word, len, file);
		any = true;
	}
	return any;
}

bool bm_discover_pip_conf(const char *text, const char *file, const char *key,
			  struct bm_discovery *d)
{
	bool in_key = false, any = false;
	const char *line;
	size_t len;

	while (discover_line(&text, &line, &len)) {
		const char *end = line + len, *rest = line, *equals;
		size_t size = len;

		discover_trim(&rest, &size);
		if (!size || strchr("#;", *rest))
			continue;
		/* A value goes on in lines that are indented. */
		if (rest > line && in_key) {
			any |= add_words(rest, end, file, d);
			continue;
		}
		if (rest > line)
			continue;
		len = 0;
		while (line + len < end && !strchr("=:", line[len]))
			len++;
		equals = line + len;
		discover_trim(&line, &len);
		in_key = equals < end && is_key(line, len, key);
		if (in_key)
			any |= add_words(equals + 1, end, file, d);
		else if (equals < end && is_key(line, len, "proxy"))
			discover_leave(d, "proxy", 5, file, "pip's proxy is not taken");
	}
	return any;
}

static bool found(const struct bm_discovery *d, const struct bm_found *what)
{
	for (size_t i = 0; i < d->count; i++)
		if (!strcmp(d->found[i].host, what->host) && d->found[i].port == what->port)
			return true;
	return false;
}

bool bm_discover_pip_default(const char *text, const char *file, bool with_index,
			     struct bm_discovery *d)
{
	static const char head[] = "\nPyPI = PackageIndex(", storage[] = "file_storage_domain=";
	const char *at = strstr(text, head), *uri, *files_at, *host;
	struct bm_discovery own = {};
	size_t uri_len, len;

	if (!at || !discover_quoted(at + sizeof(head) - 1, &uri, &uri_len))
		return false;
	discover_add_uri(&own, uri, uri_len, file);
	if (own.count != 1)
		return false;
	if (with_index)
		discover_add_uri(d, uri, uri_len, file);
	/* Another index may have its files anywhere; this one says where. */
	files_at = strstr(uri + uri_len, storage);
	if (found(d, &own.found[0]) && files_at && files_at - uri < 200 &&
	    discover_quoted(files_at + sizeof(storage) - 1, &host, &len))
		discover_add_host(d, host, len, own.found[0].port, file);
	return true;
}

/* --- in the helper -----------------------------------------------------------------------------
 */

struct walk {
	int root;
	struct bm_discovery *d;
	const char *library;
	bool with_index, done;
};

/* python3, python3.11 ... */
static int look_in_python(void *ctx, const char *name, struct bm_error *err)
{
	struct walk *w = ctx;

	if (strncmp(name, "python", 6))
		return 0;
	for (size_t i = 0; !w->done && i < sizeof(packages) / sizeof(packages[0]); i++) {
		char path[2 * BM_FOUND_FILE_LEN];
		autofree char *text = NULL;
		int r;

		snprintf(path, sizeof(path), "%s/%s/%s/pip/_internal/models/index.py", w->library,
			 name, packages[i]);
		if (strlen(path) >= BM_FOUND_FILE_LEN)
			continue;
		r = discover_read(w->root, path, &text, err);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			w->done = bm_discover_pip_default(text, path, w->with_index, w->d);
	}
	return 0;
}

static int look_in_sources(int root, bool with_index, struct bm_discovery *d, struct bm_error *err)
{
	struct walk w = { .root = root, .d = d, .with_index = with_index };
	int r = 0;

	for (size_t i = 0; r == 0 && !w.done && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		w.library = libraries[i];
		r = discover_each(root, libraries[i], look_in_python, &w, err);
	}
	if (r == 0 && with_index && !w.done)
		return bm_fail(err, ENOENT, "discover",
			       "configure an index in the image's /etc/pip.conf",
			       "pip: the image has no index configured, and no pip whose default "
			       "could be read");
	return r;
}

int discover_pip(int root, struct bm_discovery *d, struct bm_error *err)
{
	static const char *const keys[] = { "index-url", "extra-index-url" };
	bool set[2] = {};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		autofree char *text = NULL;
		int r = discover_read(root, files[i], &text, err);

		if (r < 0 && r != -ENOENT)
			return r;
		for (size_t k = 0; r == 0 && k < 2; k++)
			if (!set[k])
				set[k] = bm_discover_pip_conf(text, files[i], keys[k], d);
	}
	if (set[0] && !d->count)
		return bm_fail(err, ENOENT, "discover", "configure one with http or https",
			       "pip: no index that the image names can be used; left out: %s",
			       d->left_count ? d->left[0] : "none");
	return look_in_sources(root, !set[0], d, err);
}
