// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <bpf/btf.h>
#include <linux/capability.h>
#include <linux/magic.h>

#include "base/helper.h"
#include "base/io.h"
#include "confine/confine.h"
#include "kernel/internal.h"
#include "skel/benchmon.skel.h"
#include "skel/probe.skel.h"

#define LSM_LIST "/sys/kernel/security/lsm"

static const char *const names[] = {
	[BM_PROBE_CGROUP] = "cgroup v2",         [BM_PROBE_LSM_LIST] = "bpf in lsm=",
	[BM_PROBE_BTF] = "kernel BTF",           [BM_PROBE_CAPABILITIES] = "capabilities",
	[BM_PROBE_LOAD] = "load an LSM program", [BM_PROBE_ATTACH] = "attach it",
	[BM_PROBE_DENY] = "see it deny",         [BM_PROBE_PROGRAMS] = "benchmon's programs",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == BM_PROBE_MAX, "a name for each step");

const char *bm_probe_name(enum bm_probe probe)
{
	return names[probe];
}

static int probe_cgroup(struct bm_error *err)
{
	static const char *const places[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };
	struct statfs fs;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (statfs(places[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return 0;
	return bm_fail(err, EXDEV, "cgroup-v2", "boot with systemd.unified_cgroup_hierarchy=1",
		       "this host has cgroup v1 only; a Bench is a cgroup v2 subtree");
}

int bm_probe_lsm_list(const char *list, struct bm_error *err)
{
	for (const char *p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, "bpf", 3) && strchr(",\n", p[3]))
			return 0;
	}
	return bm_fail(err, EOPNOTSUPP, "kernel", "boot with lsm=...,bpf added to that list",
		       "bpf is not among the active LSMs (%.*s)", (int)strcspn(list, "\n"), list);
}

/* In a mount namespace of its own: asking must not leave a mount on a host without securityfs. */
static int open_lsm_list(void *arg, int *ret_fd, struct bm_error *err)
{
	int r;

	(void)arg;
	if (access(LSM_LIST, F_OK) < 0 &&
	    (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	     mount("securityfs", "/sys/kernel/security", "securityfs", 0, NULL) < 0))
		return bm_fail_errno(err, errno, "mount securityfs");
	r = bm_confine(BM_CONFINE_LOOK, err);
	if (r < 0)
		return r;
	*ret_fd = open(LSM_LIST, O_RDONLY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, LSM_LIST) : 0;
}

static int probe_lsm_list(struct bm_error *err)
{
	autofree char *list = NULL;
	autoclose fd = -1;
	char path[32];
	int r = bm_helper(open_lsm_list, NULL, &fd, err);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = bm_read_file(AT_FDCWD, path, 4096, &list, NULL);

	if (r < 0)
		return bm_fail_errno(err, -r, LSM_LIST);
	return bm_probe_lsm_list(list, err);
}

static int probe_btf(struct bm_error *err)
{
	struct btf *btf;
	int r;

	bm_libbpf_capture();
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return bm_fail(err, ENOENT, "kernel",
			       "use a kernel built with CONFIG_DEBUG_INFO_BTF",
			       "this kernel has no BTF (/sys/kernel/btf/vmlinux)");
	r = btf__find_by_name_kind(btf, "bpf_lsm_file_open", BTF_KIND_FUNC);
	btf__free(btf);
	return r < 0 ? bm_fail(err, ENOENT, "kernel", "use a kernel built with CONFIG_BPF_LSM",
			       "this kernel's BTF has no BPF LSM hooks")
		     : 0;
}

int bm_probe_capabilities(uint64_t effective, struct bm_error *err)
{
	static const struct {
		int cap;
		const char *name;
	} needed[] = {
		{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
		{ CAP_BPF, "CAP_BPF" },
		{ CAP_PERFMON, "CAP_PERFMON" },
		{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
		{ CAP_CHOWN, "CAP_CHOWN" },
		{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
		{ CAP_SETUID, "CAP_SETUID" },
		{ CAP_SETGID, "CAP_SETGID" },
		{ CAP_KILL, "CAP_KILL" },
	};
	char missing[256] = "";

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		size_t len = strlen(missing);

		if (!(effective & 1ull << needed[i].cap))
			snprintf(missing + len, sizeof(missing) - len, "%s%s", len ? ", " : "",
				 needed[i].name);
	}
	return missing[0] ? bm_fail(err, EPERM, "kernel", "run it as root, outside of a container",
				    "missing capabilities: %s", missing)
			  : 0;
}

static int probe_capabilities(struct bm_error *err)
{
	autofree char *status = NULL;
	char *line;
	int r = bm_read_file(AT_FDCWD, "/proc/self/status", 65536, &status, NULL);

	if (r < 0)
		return bm_fail_errno(err, -r, "/proc/self/status");
	line = strstr(status, "\nCapEff:");
	return bm_probe_capabilities(line ? strtoull(line + 8, NULL, 16) : 0, err);
}

int bm_probe_load_failed(int code, const char *log, struct bm_error *err)
{
	/* The verifier says something of every program it sees; silence is a refusal before it. */
	if (code == EPERM && !log[0])
		return bm_fail(err, EPERM, "kernel",
			       "use another kernel, or the project's tools/vm",
			       "this kernel refuses BPF LSM programs before verification, although "
			       "bpf is in lsm= and all capabilities are there");
	return bm_fail(err, code, "kernel", "report this to the project",
		       "LSM program refused: %s: %.200s", strerror(code), log);
}

static int probe_load(struct probe **ret, struct bm_error *err)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .kernel_log_level = 1);
	struct probe *skel;
	int r;

	bm_libbpf_capture();
	skel = probe__open_opts(&opts);
	if (!skel)
		return bm_fail_errno(err, errno, "probe");
	static char log[65536];

	log[0] = '\0';
	bpf_program__set_log_buf(skel->progs.bm_probe, log, sizeof(log));
	r = probe__load(skel);
	if (r < 0) {
		probe__destroy(skel);
		return bm_probe_load_failed(-r, log, err);
	}
	*ret = skel;
	return 0;
}

static int probe_deny(struct probe *skel, struct bm_error *err)
{
	char path[] = "/tmp/benchmon-probe-XXXXXX";
	autoclose file = mkstemp(path), again = -1;
	struct stat st;
	int failed;

	if (file < 0 || fstat(file, &st) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	skel->bss->probe_inode = st.st_ino;
	skel->bss->probe_tgid = (uint32_t)getpid();
	again = open(path, O_RDONLY | O_CLOEXEC);
	failed = again < 0 ? errno : 0;
	skel->bss->probe_tgid = 0;
	unlink(path);
	if (!failed)
		return bm_fail(err, EOPNOTSUPP, "kernel",
			       "boot with lsm=...,bpf, or use another kernel",
			       "an LSM program was attached and did not enforce: an open it denies "
			       "succeeded");
	return failed == EACCES ? 0 : bm_fail_errno(err, failed, "%s", path);
}

static int probe_programs(struct bm_error *err)
{
	struct benchmon *skel;

	bm_libbpf_capture();
	skel = benchmon__open();
	if (!skel || bm_choose_programs(skel->obj) < 0 || benchmon__load(skel) < 0) {
		int code = errno;

		benchmon__destroy(skel);
		errno = code;
		return bm_fail(err, errno, "kernel", "report this to the project",
			       "benchmon's programs were refused: %s: %.300s", strerror(errno),
			       bm_libbpf_said());
	}
	benchmon__destroy(skel);
	return 0;
}

static int run(struct bm_probe_step ret_steps[BM_PROBE_MAX], int last)
{
	static int (*const simple[])(struct bm_error * err) = { probe_cgroup, probe_lsm_list,
								probe_btf, probe_capabilities };
	struct probe *skel = NULL;
	int r = 0;

	for (int i = 0; i < BM_PROBE_MAX; i++)
		ret_steps[i] = (struct bm_probe_step){ .result = 1 };
	for (int i = 0; i <= last; i++) {
		struct bm_error *err = &ret_steps[i].err;
		int step;

		if (i <= BM_PROBE_CAPABILITIES) {
			step = simple[i](err);
		} else if (i == BM_PROBE_LOAD) {
			step = probe_load(&skel, err);
		} else if (i == BM_PROBE_ATTACH) {
			step = probe__attach(skel);
			if (step < 0)
				bm_fail(err, -step, "kernel",
					"look for what else uses BPF LSM here",
					"LSM programs load and can't be attached: %s",
					strerror(-step));
		} else if (i == BM_PROBE_DENY) {
			step = probe_deny(skel, err);
		} else {
			step = probe_programs(err);
		}
		ret_steps[i].result = step;
		if (step < 0 && r == 0)
			r = step;
		/* What the list says, the denial shows: go on to it. */
		if (step < 0 && i != BM_PROBE_LSM_LIST)
			break;
	}
	probe__destroy(skel);
	return r;
}

int bm_probe_run(struct bm_probe_step ret_steps[BM_PROBE_MAX])
{
	return run(ret_steps, BM_PROBE_PROGRAMS);
}

int bm_probe_enforces(struct bm_error *err)
{
	struct bm_probe_step steps[BM_PROBE_MAX];
	int r = run(steps, BM_PROBE_DENY);

	for (int i = 0; r < 0 && i <= BM_PROBE_DENY; i++)
		if (steps[i].result < 0 && err && !err->code)
			*err = steps[i].err;
	return r;
}
