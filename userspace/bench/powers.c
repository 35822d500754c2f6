// SPDX-License-Identifier: GPL-2.0-only
#include "bench/powers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/own.h"

#define PTMX makedev(5, 2)
#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143
#define TEXT_MAX (16u << 20)

#define REMEDY "end that process, or attach between create and start"

struct search {
	const struct bm_cgroup_ref *cgroup;
	struct bm_error *err;
	bool mapped;
	char *packets; /* /proc/net/packet of the process that is looked at */
};

static int held(const struct search *s, pid_t pid, const char *what)
{
	return bm_fail(s->err, EBUSY, "held", REMEDY, "process %d of the container has %s", pid,
		       what);
}

static bool harmless(dev_t device)
{
	return bm_device_harmless(device) || device == PTMX ||
	       (major(device) >= PTS_MAJOR_FIRST && major(device) <= PTS_MAJOR_LAST);
}

/* The last column of a line. */
static bool is_packet_socket(const char *packets, const char *inode)
{
	size_t len = strcspn(inode, "]");
	const char *line = packets;

	while (line && (line = strchr(line, '\n'))) {
		const char *end = strchr(++line, '\n');
		size_t width = end ? (size_t)(end - line) : strlen(line);

		while (width && line[width - 1] == ' ')
			width--;
		if (width > len && line[width - len - 1] == ' ' &&
		    !strncmp(line + width - len, inode, len))
			return true;
	}
	return false;
}

/* One descriptor or mapping: what leads past the walls whichever file system it lies on. */
static int check_one(const struct search *s, pid_t pid, int dir, const char *name)
{
	char link[64] = "", what[96];
	struct stat st;

	if (readlinkat(dir, name, link, sizeof(link) - 1) < 0)
		return 0; /* gone with its process */
	if (!strncmp(link, "anon_inode:bpf", 14) || !strncmp(link, "anon_inode:[perf_event]", 23)) {
		snprintf(what, sizeof(what), "a handle of the kernel's, %.48s", link);
		return held(s, pid, what);
	}
	if (!strncmp(link, "socket:[", 8))
		return s->mapped || is_packet_socket(s->packets, link + 8)
			       ? held(s, pid, s->mapped ? "a socket mapped" : "a packet socket")
			       : 0;
	if (fstatat(dir, name, &st, 0) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) ||
	    harmless(S_ISBLK(st.st_mode) ? 0 : st.st_rdev))
		return 0;
	snprintf(what, sizeof(what), "a device open, %u:%u", major(st.st_rdev), minor(st.st_rdev));
	return held(s, pid, what);
}

static int check_all(const struct search *s, pid_t pid, const char *kind)
{
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	char path[64];
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, kind);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH ? 0
							 : bm_fail_errno(s->err, errno, "%s", path);
	while (r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = check_one(s, pid, dirfd(dir), entry->d_name);
	return r;
}

/* /proc/TID is there for every thread, and each may have descriptors of its own. */
static int check_thread(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	autofree char *packets = NULL;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/net/packet", pid);
	r = bm_read_file(AT_FDCWD, path, TEXT_MAX, &packets, NULL);
	if (r < 0 && r != -ENOENT && r != -ESRCH && r != -EINVAL)
		return bm_fail_errno(s->err, -r, "%s", path);
	s->packets = packets;
	r = check_all(s, pid, "fd");
	s->packets = NULL;
	return r;
}

static int check_process(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	int r;

	s->mapped = false;
	r = bm_threads_each(pid, check_thread, s);
	s->mapped = true;
	return r < 0 ? r : check_all(s, pid, "map_files");
}

/* Once it is attached as a tracer, no hook is asked about what it does with the other. */
static int check_tracer(void *ctx, pid_t pid)
{
	const struct search *s = ctx;
	autofree char *text = NULL;
	const char *line;
	char path[64];
	pid_t tracer;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (bm_read_file(AT_FDCWD, path, TEXT_MAX, &text, NULL) < 0)
		return 0;
	line = strstr(text, "\nTracerPid:\t");
	tracer = line ? atoi(line + strlen("\nTracerPid:\t")) : 0;
	return tracer && bm_cgroup_holds(s->cgroup, tracer) && !bm_cgroup_holds(s->cgroup, pid)
		       ? bm_fail(s->err, EBUSY, "held", REMEDY,
				 "process %d of the container traces %d outside of it", tracer, pid)
		       : 0;
}

static int check_tracers(struct search *s)
{
	autoclosedir DIR *proc = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	if (!proc)
		return bm_fail_errno(s->err, errno, "/proc");
	while (r == 0 && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = bm_threads_each(atoi(entry->d_name), check_tracer, s);
	return r;
}

int bm_powers_check(const struct bm_cgroup_ref *cgroup, struct bm_error *err)
{
	struct search s = { .cgroup = cgroup, .err = err };
	int r = bm_cgroup_each(cgroup, check_process, &s);

	return r < 0 ? bm_fail_errno(err, -r, "cgroup %s", cgroup->path) : check_tracers(&s);
}
