// SPDX-License-Identifier: GPL-2.0-only
/* Whether a path, or the beginning of a file, is one of the secrets; and where the list comes from.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/secrets.h"

/* The component that ends at end, in a path that begins at path. */
static const char *component(const char *path, const char *end)
{
	while (end > path && end[-1] != '/')
		end--;
	return end;
}

/* Whether the last components of path, up to end, are those of glob. Matched from the last on. */
static bool matches(const char *glob, const char *path, const char *end)
{
	const char *glob_end = glob + strlen(glob);

	for (;;) {
		const char *g = component(glob, glob_end), *p = component(path, end);
		char part[BM_SECRET_GLOB_LEN], name[256];

		if (p == end || end - p >= (ptrdiff_t)sizeof(name))
			return false;
		snprintf(part, sizeof(part), "%.*s", (int)(glob_end - g), g);
		snprintf(name, sizeof(name), "%.*s", (int)(end - p), p);
		if (fnmatch(part, name, 0))
			return false;
		if (g == glob)
			return true;
		if (p == path)
			return false;
		glob_end = g - 1;
		end = p - 1;
	}
}

static bool excused(const struct bm_secret_pattern *pattern, const char *path, const char *end)
{
	for (unsigned i = 0; i < pattern->not_count; i++)
		if (matches(pattern->not [i], path, end))
			return true;
	return false;
}

static const char *find(const struct bm_secrets *secrets, const char *path, const char *end,
			bool directory)
{
	for (size_t i = 0; i < secrets->pattern_count; i++) {
		const struct bm_secret_pattern *pattern = &secrets->patterns[i];

		if (pattern->below == directory && matches(pattern->path, path, end) &&
		    !excused(pattern, path, end))
			return pattern->why;
	}
	return NULL;
}

const char *bm_secret_by_name(const struct bm_secrets *secrets, const char *path, bool directory)
{
	return find(secrets, path, path + strlen(path), directory);
}

const char *bm_secret_by_path(const struct bm_secrets *secrets, const char *path, bool directory)
{
	const char *why = bm_secret_by_name(secrets, path, directory);

	for (const char *end = strrchr(path, '/'); !why && end && end > path;) {
		why = find(secrets, path, end, true);
		end = component(path, end);
		end = end > path ? end - 1 : NULL;
	}
	return why;
}

const char *bm_secret_by_head(const struct bm_secrets *secrets, const char *head, size_t len)
{
	if (len > BM_SECRET_HEAD)
		len = BM_SECRET_HEAD;
	for (size_t at = 0; at < len;) {
		const char *nl = memchr(head + at, '\n', len - at);
		size_t size = nl ? (size_t)(nl - head) - at : len - at, begin = 0;
		char line[256];

		/* Indented, or in quotes: as it stands in YAML and in JSON. */
		while (begin < size && strchr(" \t\"'", head[at + begin]) && head[at + begin])
			begin++;
		snprintf(line, sizeof(line), "%.*s", (int)(size - begin), head + at + begin);
		line[strcspn(line, "\r")] = '\0';
		for (size_t i = 0; i < secrets->mark_count; i++)
			if (!fnmatch(secrets->marks[i].line, line, 0))
				return secrets->marks[i].why;
		at += size + 1;
	}
	return NULL;
}

/* --- where it comes from -----------------------------------------------------------------------
 */

__asm__(".section .rodata\n"
	"bm_secrets_text: .incbin \"profiles/secrets.json\"\n"
	"bm_secrets_text_end: .byte 0\n"
	".previous\n");
extern const char bm_secrets_text[] __attribute__((visibility("hidden")));
extern const char bm_secrets_text_end[] __attribute__((visibility("hidden")));

static int check_owner(int fd, const char *path, uid_t owner, struct bm_error *err)
{
	static const char rule[] = "secrets-file";
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%.256s", path);
	if (!S_ISREG(st.st_mode))
		return bm_fail(err, EPERM, rule, "put a file there, or nothing",
			       "%.256s is no regular file", path);
	if (st.st_uid && st.st_uid != owner)
		return bm_fail(err, EPERM, rule, "chown root it after you have read it",
			       "%.256s belongs to uid %u, not to root", path, st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return bm_fail(err, EPERM, rule, "chmod go-w it after you have read it",
			       "%.256s can be written by others than its owner", path);
	return 0;
}

int bm_secrets_load(const char *path, uid_t owner, struct bm_secrets *ret, struct bm_error *err)
{
	/* O_NONBLOCK: a FIFO of that name must not hold up the daemon. */
	autoclose fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	autofree char *text = NULL;
	size_t len;
	int r;

	if (fd < 0 && errno == ENOENT)
		return bm_secrets_parse(bm_secrets_text,
					(size_t)(bm_secrets_text_end - bm_secrets_text),
					"profiles/secrets.json", ret, err);
	if (fd < 0)
		return bm_fail_errno(err, errno, "%.256s", path);
	r = check_owner(fd, path, owner, err);
	if (r < 0)
		return r;
	r = bm_read_fd(fd, BM_SECRETS_MAX, &text, &len);
	if (r < 0)
		return bm_fail_errno(err, -r, "%.256s", path);
	return bm_secrets_parse(text, len, path, ret, err);
}
