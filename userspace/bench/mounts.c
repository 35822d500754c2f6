// SPDX-License-Identifier: GPL-2.0-only
#include "bench/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/cleanup.h"
#include "base/io.h"

#define MOUNTINFO_MAX (16u << 20)

void bm_mounts_done(struct bm_mounts *mounts)
{
	free(mounts->list);
	free(mounts->text);
	*mounts = (struct bm_mounts){};
}

static bool octal(char c)
{
	return c >= '0' && c <= '7';
}

/* \040 and its like, in place. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && octal(s[1]) && octal(s[2]) && octal(s[3])) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

static bool has_option(const char *options, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = options; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, len) && (p[len] == ',' || !p[len]))
			return true;
	}
	return false;
}

/* 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue */
static int parse_line(char *line, struct bm_mount *ret)
{
	char *field[6], *flags, *word;

	for (int i = 0; i < 6; i++) {
		field[i] = strsep(&line, " ");
		if (!line)
			return -EBADMSG;
	}
	do {
		word = strsep(&line, " ");
	} while (word && strcmp(word, "-"));
	ret->fstype = strsep(&line, " ");
	if (!strsep(&line, " ") || !line) /* the source: the mounter's word */
		return -EBADMSG;
	if (sscanf(field[2], "%u:%u", &ret->major, &ret->minor) != 2)
		return -EBADMSG;
	ret->id = strtoull(field[0], NULL, 10);
	ret->parent = strtoull(field[1], NULL, 10);
	unescape(field[3]);
	unescape(field[4]);
	ret->root = field[3];
	ret->target = field[4];
	flags = field[5];
	ret->ro = has_option(flags, "ro") || has_option(line, "ro");
	ret->noexec = has_option(flags, "noexec");
	ret->options = line;
	return 0;
}

int bm_mounts_parse(char *text, struct bm_mounts *ret)
{
	automounts mounts = { .text = text };
	char *line;

	while ((line = strsep(&text, "\n"))) {
		struct bm_mount *grown;
		int r;

		if (!*line)
			continue;
		grown = reallocarray(mounts.list, mounts.count + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		mounts.list = grown;
		r = parse_line(line, &grown[mounts.count]);
		if (r < 0)
			return r;
		mounts.count++;
	}
	*ret = mounts;
	mounts = (struct bm_mounts){};
	return 0;
}

int bm_mounts_read(pid_t pid, struct bm_mounts *ret, struct bm_error *err)
{
	char path[64], *text;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	r = bm_read_file(AT_FDCWD, path, MOUNTINFO_MAX, &text, NULL);
	if (r == 0)
		r = bm_mounts_parse(text, ret);
	return r < 0 ? bm_fail_errno(err, -r, "%s", path) : 0;
}

const struct bm_mount *bm_mount_find(const struct bm_mounts *mounts, uint64_t id)
{
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->list[i].id == id)
			return &mounts->list[i];
	return NULL;
}

void bm_mounts_below(struct bm_mounts *mounts, const char *root)
{
	size_t len = strlen(root), kept = 0;

	for (size_t i = 0; i < mounts->count; i++) {
		struct bm_mount m = mounts->list[i];

		if (strncmp(m.target, root, len) || (m.target[len] && m.target[len] != '/'))
			continue;
		m.target = m.target[len] ? m.target + len : "/";
		mounts->list[kept++] = m;
	}
	mounts->count = kept;
}

#define STEP_MAX (PATH_MAX - NAME_MAX - 2)

int bm_mount_open(int root, const struct bm_mount *m)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	autoclose dir = -1;
	const char *rest = m->target;
	int fd;

	while (strlen(rest) >= PATH_MAX) {
		char step[PATH_MAX];
		size_t len = STEP_MAX;

		while (len && rest[len] != '/')
			len--;
		if (!len)
			return -ENAMETOOLONG;
		snprintf(step, sizeof(step), "%.*s", (int)len, rest);
		fd = (int)syscall(SYS_openat2, dir < 0 ? root : dir, step, &how, sizeof(how));
		if (fd < 0)
			return -errno;
		bm_close(dir);
		dir = fd;
		rest += len;
	}
	fd = (int)syscall(SYS_openat2, dir < 0 ? root : dir, rest, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

bool bm_mount_option(const char *options, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key), used = 0;
	const char *p = options;

	while (strncmp(p, key, len) || p[len] != '=') {
		p = strchr(p, ',');
		if (!p)
			return false;
		p++;
	}
	for (p += len + 1; *p && *p != ',' && used + 1 < size; p++)
		buf[used++] = *p;
	buf[used] = '\0';
	if (*p && *p != ',')
		return false;
	unescape(buf);
	return true;
}

/* The next of a list that is separated by ':', where "\\:" is a colon; in place. NULL at the end.
 */
char *bm_mount_layer(char **rest)
{
	char *layer = *rest, *from = layer, *to = layer;

	if (!layer)
		return NULL;
	while (*from && *from != ':') {
		if (from[0] == '\\' && from[1])
			from++;
		*to++ = *from++;
	}
	*rest = *from ? from + 1 : NULL;
	*to = '\0';
	return layer;
}
