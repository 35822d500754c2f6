// SPDX-License-Identifier: GPL-2.0-only
/* Not attacks: what a test does beside the Bench, as root of the host. */
#include "payload.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/sched.h>

static int namespace_of(const char *pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * Lives where a runtime does before its execve, with no more power than the payload and as visible
 * as it can make itself: nothing but the walls keeps a Bench task from it.
 */
static _Noreturn void stay(int user)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = {};

	if (setns(user, CLONE_NEWUSER) < 0 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		_exit(setup("join"));
	for (;;)
		pause();
}

/* Prints its pid in the Bench's namespace; ends with this process. */
int tool_arrive(char **args)
{
	int cgroup = open(args[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int user = namespace_of(args[1], "user");
	struct clone_args clone = { .flags = CLONE_INTO_CGROUP,
				    .exit_signal = SIGCHLD,
				    .cgroup = (uint64_t)cgroup };
	char line[256], path[64];
	long pid, inner = 0;
	FILE *status;

	if (cgroup < 0 || user < 0 || setns(namespace_of(args[1], "pid"), 0) < 0)
		return setup("namespaces");
	pid = syscall(SYS_clone3, &clone, sizeof(clone));
	if (pid == 0)
		stay(user);
	snprintf(path, sizeof(path), "/proc/%ld/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "NSpid:", 6))
			inner = atol(strrchr(line, '\t') + 1);
	if (pid < 0 || !inner)
		return setup("arrival");
	printf("%ld\n", inner);
	fflush(stdout);
	fclose(stdout);
	return waitpid((pid_t)pid, NULL, 0) < 0 ? setup("waitpid") : 0;
}

int tool_unmountin(char **args)
{
	if (setns(namespace_of(args[0], "mnt"), CLONE_NEWNS) < 0)
		return setup("mount namespace");
	return outcome(umount2(args[1], MNT_DETACH));
}

/* FLAGS: those that stay, of ro and noexec; a tampering that the mount layer would not survive. */
int tool_remount(char **args)
{
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;

	if (strstr(args[2], "ro"))
		flags |= MS_RDONLY;
	if (strstr(args[2], "noexec"))
		flags |= MS_NOEXEC;
	if (setns(namespace_of(args[0], "mnt"), CLONE_NEWNS) < 0)
		return setup("mount namespace");
	return outcome(mount("none", args[1], NULL, flags, NULL));
}

/* What attach has detached comes back, to be denied by the rules alone. */
int tool_mountin(char **args)
{
	int tree = open_tree(AT_FDCWD, args[1], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return setup(args[1]);
	if (setns(namespace_of(args[0], "mnt"), CLONE_NEWNS) < 0)
		return setup("mount namespace");
	return outcome(move_mount(tree, "", AT_FDCWD, args[2], MOVE_MOUNT_F_EMPTY_PATH));
}

int tool_deep(char **args)
{
	int fd;

	umask(0);
	if (chdir(args[0]) < 0)
		return setup(args[0]);
	for (int n = atoi(args[1]); n > 0; n--)
		if ((mkdir("d", 0777) < 0 && errno != EEXIST) || chdir("d") < 0)
			return setup("d");
	fd = open("f", O_WRONLY | O_CREAT, 0666);
	return outcome(fd < 0 ? -1 : write(fd, "deep\n", 5));
}

int tool_now(char **args)
{
	(void)args;
	printf("%" PRIu64 "\n", now_ns());
	return 0;
}

/*
 * The entry of a pinned map is written anew as it is, again and again, as a grant that excepts a
 * name does once for its Bench.
 */
int tool_rewrite(char **args)
{
	static char value[1024];
	uint64_t key = strtoull(args[1], NULL, 0);
	union bpf_attr attr = { .pathname = (uintptr_t)args[0] };
	int map = (int)syscall(SYS_bpf, BPF_OBJ_GET, &attr, sizeof(attr));

	attr = (union bpf_attr){ .map_fd = (uint32_t)map,
				 .key = (uintptr_t)&key,
				 .value = (uintptr_t)value };
	if (map < 0 || syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) < 0)
		return setup(args[0]);
	puts("rewriting");
	fflush(stdout);
	attr.flags = BPF_EXIST | BPF_F_LOCK;
	while (syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)) == 0)
		;
	return setup("update");
}
