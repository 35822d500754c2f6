// SPDX-License-Identifier: GPL-2.0-only
/* npm: the registry of its npmrc files, or what its own table of options has as the default. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/discover_internal.h"

/* As npm would have it: the user's, those of the prefixes, the one that came with npm. */
static const char *const files[] = {
	HOME "/.npmrc",
	"/etc/npmrc",
	"/usr/etc/npmrc",
	"/usr/local/etc/npmrc",
	"/usr/share/nodejs/npm/npmrc",
	"/usr/lib/node_modules/npm/npmrc",
	"/usr/local/lib/node_modules/npm/npmrc",
};

static const char *const modules[] = { "/usr/local/lib/node_modules/npm",
				       "/usr/lib/node_modules/npm", "/usr/share/nodejs/npm" };

/* Since npm 9.5 it is a package of its own; Debian's has it beside npm. */
static const char *const tables[] = {
	"node_modules/@npmcli/config/lib/definitions/definitions.js",
	"../@npmcli/config/lib/definitions/definitions.js",
	"lib/utils/config/definitions.js",
};

static void unquote(const char **text, size_t *len)
{
	if (*len >= 2 && (**text == '"' || **text == '\'') && (*text)[*len - 1] == **text) {
		(*text)++;
		*len -= 2;
	}
}

/* "registry", or "@scope:registry" */
static bool is_scoped(const char *key, size_t len)
{
	return len > 10 && *key == '@' && !memcmp(key + len - 9, ":registry", 9);
}

static bool is_proxy(const char *key, size_t len)
{
	return (len == 5 && !memcmp(key, "proxy", 5)) ||
	       (len == 10 && !memcmp(key, "http-proxy", 10)) ||
	       (len == 11 && !memcmp(key, "https-proxy", 11));
}

/* Without what the environment would fill in, which nobody knows here. */
static void add(struct bm_discovery *d, const char *value, size_t len, const char *file)
{
	if (memmem(value, len, "${", 2))
		discover_leave(d, "a registry", 10, file, "it depends on the environment");
	else
		discover_add_uri(d, value, len, file);
}

bool bm_discover_npmrc(const char *text, const char *file, bool with_registry,
		       struct bm_discovery *d)
{
	const char *line, *registry = NULL;
	size_t len, registry_len = 0;
	bool section = false;

	while (discover_line(&text, &line, &len)) {
		const char *equals, *key, *value;
		size_t size;

		discover_trim(&line, &len);
		section |= len && *line == '[';
		equals = memchr(line, '=', len);
		/* What stands below a section is no option of npm's. */
		if (!equals || section || strchr("#;", *line))
			continue;
		key = line;
		size = (size_t)(equals - line);
		discover_trim(&key, &size);
		unquote(&key, &size);
		value = equals + 1;
		len -= (size_t)(value - line);
		discover_trim(&value, &len);
		unquote(&value, &len);
		if (is_scoped(key, size)) {
			add(d, value, len, file);
		} else if (size == 8 && !memcmp(key, "registry", 8)) {
			registry = value; /* the last one counts */
			registry_len = len;
		} else if (len && is_proxy(key, size)) {
			discover_leave(d, key, size, file, "npm's proxies are not taken");
		}
	}
	if (registry && with_registry)
		add(d, registry, registry_len, file);
	return registry != NULL;
}

bool bm_discover_npm_default(const char *text, const char *file, struct bm_discovery *d)
{
	static const char *const heads[] = { "'registry', {", "\"registry\", {" };

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		const char *at = strstr(text, heads[i]), *value;
		size_t len, before = d->count;

		if (!at)
			continue;
		at += strlen(heads[i]);
		at += strspn(at, " \t\r\n");
		if (strncmp(at, "default:", 8) || !discover_quoted(at + 8, &value, &len))
			continue;
		discover_add_uri(d, value, len, file);
		if (d->count > before)
			return true;
	}
	return false;
}

/* --- in the helper -----------------------------------------------------------------------------
 */

static int look_in_tables(int root, struct bm_discovery *d, struct bm_error *err)
{
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		for (size_t k = 0; k < sizeof(tables) / sizeof(tables[0]); k++) {
			autofree char *text = NULL;
			char path[BM_FOUND_FILE_LEN];
			int r;

			snprintf(path, sizeof(path), "%s/%s", modules[i], tables[k]);
			r = discover_read(root, path, &text, err);
			if (r < 0 && r != -ENOENT)
				return r;
			if (r == 0 && bm_discover_npm_default(text, path, d))
				return 0;
		}
	return bm_fail(err, ENOENT, "discover", "configure a registry in the image's /etc/npmrc",
		       "npm: the image has no registry configured, and no npm whose default could "
		       "be read");
}

int discover_npm(int root, struct bm_discovery *d, struct bm_error *err)
{
	bool set = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		autofree char *text = NULL;
		int r = discover_read(root, files[i], &text, err);

		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			set |= bm_discover_npmrc(text, files[i], !set, d);
	}
	if (!set)
		return look_in_tables(root, d, err);
	if (!d->count)
		return bm_fail(err, ENOENT, "discover", "configure one with http or https",
			       "npm: no registry that the image names can be used; left out: %s",
			       d->left_count ? d->left[0] : "none");
	return 0;
}
