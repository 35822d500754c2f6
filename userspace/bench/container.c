// SPDX-License-Identifier: GPL-2.0-only
#include "bench/container.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/json.h"
#include "bench/launcher.h"

#define CRUN_TIMEOUT_MS 30000
#define PATH_LEN 512

/* crun on root (args[0]) with a verb (args[1]); its last words become the error. */
static int crun(const char *const *args, char **ret_out, struct bm_error *err)
{
	autofree char *out = NULL, *said = NULL;
	char shown[256];
	int status, r;

	r = bm_launch_run(BM_LAUNCH_CRUN, args, CRUN_TIMEOUT_MS, &status, &out, &said);
	if (r < 0)
		return bm_fail_errno(err, -r, "crun %s", args[1]);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return bm_fail(err, ENOENT, NULL, "install crun", "crun is not installed");
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		said[strcspn(said, "\n")] = '\0';
		return bm_fail(err, EIO, NULL, NULL, "crun %s: %s", args[1],
			       bm_escape(said, shown, sizeof(shown)));
	}
	if (ret_out)
		*ret_out = TAKE_PTR(out);
	return 0;
}

/* crun takes the id for a path component and so do we. */
int bm_container_check_id(const char *id, struct bm_error *err)
{
	char shown[64];

	for (const char *p = id; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.+-", *p))
			id = "";
	if (!*id || *id == '.' || *id == '-' || strlen(id) > 255)
		return bm_fail(err, EINVAL, "container-id",
			       "take it from `crun list` or `podman ps`",
			       "\"%s\" is no container id", bm_escape(id, shown, sizeof(shown)));
	return 0;
}

/* As config.json has it: relative to the bundle, usually. */
int bm_container_rootfs(struct json_object *state, const char *key, char **ret,
			struct bm_error *err)
{
	const char *rootfs = bm_json_string(state, key);
	const char *bundle = bm_json_string(state, "bundle");

	if (!rootfs || (rootfs[0] != '/' && !bundle))
		return bm_fail(err, EPROTO, NULL, NULL,
			       "the runtime does not say what the root is");
	if (asprintf(ret, "%s%s%s", rootfs[0] == '/' ? "" : bundle, rootfs[0] == '/' ? "" : "/",
		     rootfs) < 0)
		return bm_fail_errno(err, ENOMEM, "the container's root");
	return 0;
}

int bm_container_find(const char *root, const char *id, pid_t *ret_pid, bool *ret_created,
		      char **ret_rootfs, struct bm_error *err)
{
	autofree char *out = NULL;
	autojson *state = NULL;
	char path[PATH_LEN];
	const char *status;
	int64_t pid;
	int r = bm_container_check_id(id, err);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s/status", root, id);
	if (access(path, F_OK) < 0)
		return bm_fail(err, ENOENT, "container-id", "see `crun list`",
			       "crun knows no container %s", id);
	r = crun((const char *[]){ root, "state", id, NULL }, &out, err);
	if (r < 0)
		return r;
	r = bm_json_parse(out, strlen(out), "crun state", &state, err);
	if (r < 0)
		return r;
	status = bm_json_string(state, "status");
	if (!status || bm_json_int(state, "pid", &pid) < 0)
		return bm_fail(err, EPROTO, NULL, NULL, "crun state: no status or pid");
	if (pid <= 0 || !strcmp(status, "stopped"))
		return bm_fail(err, ESRCH, "container-id", "create it anew",
			       "container %s is stopped", id);
	if (ret_rootfs) {
		r = bm_container_rootfs(state, "rootfs", ret_rootfs, err);
		if (r < 0)
			return r;
	}
	*ret_pid = (pid_t)pid;
	*ret_created = !strcmp(status, "created");
	return 0;
}

bool bm_container_waits(const char *root, const char *id)
{
	char path[PATH_LEN];

	/*
	 * `crun start` removes the fifo before it writes the byte that init waits for: while it is
	 * there and init is frozen, init has not gone past it.
	 */
	snprintf(path, sizeof(path), "%s/%s/exec.fifo", root, id);
	return access(path, F_OK) == 0;
}

int bm_crun_create(const char *id, const char *bundle, pid_t *ret_pid, struct bm_error *err)
{
	const char *args[] = { BM_CRUN_ROOT, "create", "--bundle", bundle, id, NULL };
	bool created;
	int r = crun(args, NULL, err);

	if (r < 0)
		return r;
	r = bm_container_find(BM_CRUN_ROOT, id, ret_pid, &created, NULL, err);
	if (r == 0 && !created)
		r = bm_fail(err, EPROTO, NULL, NULL, "crun create: the container already runs");
	return r;
}

int bm_crun_start(const char *id, struct bm_error *err)
{
	return crun((const char *[]){ BM_CRUN_ROOT, "start", id, NULL }, NULL, err);
}

int bm_crun_delete(const char *id, struct bm_error *err)
{
	char path[PATH_LEN];

	snprintf(path, sizeof(path), BM_CRUN_ROOT "/%s", id);
	if (access(path, F_OK) < 0)
		return 0;
	return crun((const char *[]){ BM_CRUN_ROOT, "delete", "--force", id, NULL }, NULL, err);
}
