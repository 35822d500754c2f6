// SPDX-License-Identifier: GPL-2.0-only
#include "bench/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "confine/confine.h"

static int write_map(pid_t pid, const char *file, struct bm_id_map map)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	snprintf(text, sizeof(text), "%u %u %u\n", map.inside, map.outside, map.count);
	return bm_write_file(AT_FDCWD, path, 0, 0, text);
}

static _Noreturn void hold(int ready, int go)
{
	unsigned char code = EPERM;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bm_confine(BM_CONFINE_USER, NULL) == 0)
		code = unshare(CLONE_NEWUSER) < 0 ? (unsigned char)errno : 0;
	if (write(ready, &code, 1) == 1 && !code)
		while (read(go, &code, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

int bm_userns_make(struct bm_id_map uids, struct bm_id_map gids, int *ret_fd, struct bm_error *err)
{
	autoclose ready_r = -1, ready_w = -1, go_r = -1, go_w = -1, fd = -1;
	int ready[2], go[2], r = 0;
	unsigned char code;
	char path[64];
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return bm_fail_errno(err, errno, "pipe");
	ready_r = ready[0];
	ready_w = ready[1];
	if (pipe2(go, O_CLOEXEC) < 0)
		return bm_fail_errno(err, errno, "pipe");
	go_r = go[0];
	go_w = go[1];
	pid = fork();
	if (pid < 0)
		return bm_fail_errno(err, errno, "fork");
	if (pid == 0) {
		bm_close(go_w); /* else it would wait for itself */
		hold(ready_w, go_r);
	}
	bm_close(TAKE_FD(ready_w));
	r = read(ready_r, &code, 1) == 1 ? -code : -ECHILD;
	if (r == 0)
		r = write_map(pid, "uid_map", uids);
	if (r == 0)
		r = write_map(pid, "gid_map", gids);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	fd = r == 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (r == 0 && fd < 0)
		r = -errno;
	bm_close(TAKE_FD(go_w));
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (r == -ENOSPC)
		return bm_fail(err, ENOSPC, "user-namespaces",
			       "revoke what is not needed, or raise the sysctl "
			       "user.max_user_namespaces",
			       "root has as many user namespaces as it may have");
	if (r < 0)
		return bm_fail_errno(err, -r, "make a user namespace");
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static bool same(struct bm_id_map a, struct bm_id_map b)
{
	return a.inside == b.inside && a.outside == b.outside && a.count == b.count;
}

int bm_id_maps_set(struct bm_id_maps *maps, struct bm_id_map uids, struct bm_id_map gids,
		   struct bm_error *err)
{
	int fd, r;

	if (maps->userns >= 0 && same(maps->uids, uids) && same(maps->gids, gids))
		return 0;
	r = bm_userns_make(uids, gids, &fd, err);
	if (r < 0)
		return r;
	bm_close(maps->userns);
	*maps = (struct bm_id_maps){ uids, gids, fd };
	return 0;
}

static int root_in(pid_t pid, const char *file, uint32_t *ret)
{
	autofree char *text = NULL;
	char path[64], *line, *rest;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	r = bm_read_file(AT_FDCWD, path, 65536, &text, NULL);
	if (r < 0)
		return r;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		uint32_t inside, outside;

		if (sscanf(line, "%u %u", &inside, &outside) == 2 && inside == 0) {
			*ret = outside;
			return 0;
		}
	}
	return -ENXIO;
}

int bm_userns_root_of(pid_t pid, uid_t *ret_uid, gid_t *ret_gid, struct bm_error *err)
{
	uint32_t uid, gid;
	int r = root_in(pid, "uid_map", &uid);

	if (r == 0)
		r = root_in(pid, "gid_map", &gid);
	if (r < 0)
		return bm_fail_errno(err, -r, "user namespace of process %d", pid);
	*ret_uid = uid;
	*ret_gid = gid;
	return 0;
}
