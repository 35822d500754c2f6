// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/chosen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "bench/container.h"

void chosen_done(struct chosen *chosen)
{
	free(chosen->rootfs);
}

static int first_pid(void *ctx, pid_t pid)
{
	*(pid_t *)ctx = pid;
	return 1;
}

/* The init of a cgroup: of its tasks the one that is 1 in the innermost pid namespace, or any. */
static int by_cgroup(const char *path, struct chosen *ret, struct bm_error *err)
{
	autocgroup cgroup = BM_CGROUP_NONE;
	int r = bm_cgroup_open(path, &cgroup, err);

	if (r < 0)
		return r;
	r = bm_cgroup_each(&cgroup, first_pid, &ret->pid);
	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup %s", cgroup.path);
	if (!ret->pid)
		return bm_fail(err, ESRCH, "container", "start the container first",
			       "cgroup %s holds no process", cgroup.path);
	snprintf(ret->cgroup, sizeof(ret->cgroup), "%s", cgroup.path);
	snprintf(ret->shown, sizeof(ret->shown), "cgroup %.200s", cgroup.path);
	return 0;
}

static int by_id(const char *id, struct chosen *ret, struct bm_error *err)
{
	bool created;
	int r = bm_container_find(BM_CRUN_DEFAULT_ROOT, id, &ret->pid, &created, &ret->rootfs, err);

	if (r < 0)
		return r;
	ret->waiting = created ? id : NULL;
	ret->runtime_root = BM_CRUN_DEFAULT_ROOT;
	snprintf(ret->shown, sizeof(ret->shown), "%.255s", id);
	return bm_cgroup_of_pid(ret->pid, ret->cgroup, err);
}

static int pid_of(struct json_object *json, pid_t *ret, struct bm_error *err)
{
	int64_t pid;

	if (bm_json_int(json, "pid", &pid) < 0 || pid <= 0 || pid > INT32_MAX)
		return bm_fail(err, EINVAL, "protocol", NULL, "attach: no container is named");
	*ret = (pid_t)pid;
	return 0;
}

static int by_pid(struct json_object *container, struct chosen *ret, struct bm_error *err)
{
	int r = pid_of(container, &ret->pid, err);

	if (r < 0)
		return r;
	snprintf(ret->shown, sizeof(ret->shown), "pid %d", ret->pid);
	return bm_cgroup_of_pid(ret->pid, ret->cgroup, err);
}

/* Its runtime goes on when the hook has ended: until then its init executes nothing. */
static int by_hook(struct json_object *state, struct chosen *ret, struct bm_error *err)
{
	static const char *const known[] = { "id", "pid", "bundle", "root", NULL };
	const char *id = bm_json_string(state, "id");
	int r = bm_json_only(state, known, "hook", err);

	if (r == 0)
		r = bm_container_check_id(id ?: "", err);
	if (r == 0)
		r = pid_of(state, &ret->pid, err);
	if (r == 0)
		r = bm_container_rootfs(state, "root", &ret->rootfs, err);
	if (r < 0)
		return r;
	ret->waiting = id;
	snprintf(ret->shown, sizeof(ret->shown), "%.255s", id);
	return bm_cgroup_of_pid(ret->pid, ret->cgroup, err);
}

int chosen_find(struct json_object *container, uid_t uid, struct chosen *ret, struct bm_error *err)
{
	static const char *const known[] = { "id", "pid", "cgroup", "hook", NULL };
	const char *id = bm_json_string(container, "id"),
		   *cgroup = bm_json_string(container, "cgroup");
	struct json_object *hook = bm_json_get(container, "hook", json_type_object);
	int r = bm_json_only(container, known, "container", err);

	if (r < 0)
		return r;
	if (json_object_object_length(container) != 1)
		return bm_fail(err, EINVAL, "protocol", NULL, "attach: not exactly one container");
	if (uid && (id || hook))
		return bm_fail(err, EPERM, "own-container", "give its --pid or its --cgroup",
			       "attach: an id and a hook are those of root's containers");
	if (cgroup)
		return by_cgroup(cgroup, ret, err);
	if (id)
		return by_id(id, ret, err);
	return hook ? by_hook(hook, ret, err) : by_pid(container, ret, err);
}
