// SPDX-License-Identifier: GPL-2.0-only
/* The helper that looks for what is held, started and awaited; and what of its answer is believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "bench/held.h"
#include "bench/held_internal.h"

/* Of a process that has gone meanwhile nothing is held; of one outside it nothing is believed. */
static bool is_member(pid_t pid, const struct bm_cgroup_ref *cgroup)
{
	size_t len = strlen(cgroup->path);
	char path[BM_CGROUP_PATH];

	return pid > 0 && bm_cgroup_of_pid(pid, path, NULL) == 0 &&
	       !strncmp(path, cgroup->path, len) && (!path[len] || path[len] == '/');
}

static int take_answer(int fd, const struct bm_cgroup_ref *cgroup, struct bm_held_list *ret)
{
	struct bm_held *list;
	autofree char *data = NULL;
	bool member = false;
	pid_t last = 0;
	size_t size;
	int r = bm_read_fd(fd, HELD_FOUND_MAX * sizeof(*list), &data, &size);

	if (r < 0)
		return r;
	list = (struct bm_held *)(void *)data;
	for (size_t i = 0; i < size / sizeof(*list); i++) {
		struct bm_held held = list[i];

		if (held.pid != last)
			member = is_member(held.pid, cgroup);
		last = held.pid;
		if (held.kind >= BM_HELD_KIND_MAX)
			return -EPROTO;
		held.comm[sizeof(held.comm) - 1] = '\0';
		held.path[sizeof(held.path) - 1] = '\0';
		if (member)
			list[ret->count++] = held;
	}
	ret->list = (struct bm_held *)(void *)TAKE_PTR(data);
	return 0;
}

int bm_held_finish(struct bm_held_search *search, const struct bm_cgroup_ref *cgroup,
		   struct bm_held_list *ret, struct bm_error *err)
{
	autoclose socket = TAKE_FD(search->socket), answer = -1;
	struct bm_held_list found = {};
	int r = bm_helper_await(socket, search->pid, BM_HELD_MS, &answer, err);

	if (r < 0)
		return r;
	r = take_answer(answer, cgroup, &found);
	if (r < 0)
		return bm_fail_errno(err, -r, "what the Bench holds");
	*ret = found;
	return 0;
}

void bm_held_abandon(struct bm_held_search *search)
{
	bm_helper_end(&search->socket, search->pid);
}

int bm_held_find(const struct bm_held_scan *scan, struct bm_held_list *ret, struct bm_error *err)
{
	struct bm_held_search search = { .socket = -1 };
	int r = bm_held_start(scan, &search, err);

	return r < 0 ? r : bm_held_finish(&search, scan->cgroup, ret, err);
}

int bm_held_open(const struct bm_held *held)
{
	char path[64];
	int fd;

	if (held->kind == BM_HELD_CWD || held->kind == BM_HELD_ROOT)
		snprintf(path, sizeof(path), "/proc/%d/%s", held->pid,
			 bm_held_kind_name(held->kind));
	else
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", held->pid, held->fd);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}
