// SPDX-License-Identifier: GPL-2.0-only
#include "base/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/capability.h>

static const char *const hooks[] = {
	[BM_HOOK_FILE_OPEN] = "file_open",
	[BM_HOOK_EXEC] = "exec",
	[BM_HOOK_MMAP] = "mmap",
	[BM_HOOK_MPROTECT] = "mprotect",
	[BM_HOOK_CONNECT4] = "connect4",
	[BM_HOOK_CONNECT6] = "connect6",
	[BM_HOOK_SENDMSG4] = "sendmsg4",
	[BM_HOOK_SENDMSG6] = "sendmsg6",
	[BM_HOOK_EGRESS] = "egress",
	[BM_HOOK_INGRESS] = "ingress",
	[BM_HOOK_ARRIVAL] = "arrival",
	[BM_HOOK_PTRACE] = "ptrace",
	[BM_HOOK_SIGNAL] = "signal",
	[BM_HOOK_SOCKET] = "socket",
	[BM_HOOK_SETSOCKOPT] = "setsockopt",
	[BM_HOOK_RECEIVE] = "receive",
	[BM_HOOK_IOCTL] = "ioctl",
	[BM_HOOK_LOCK] = "lock",
	[BM_HOOK_FCNTL] = "fcntl",
	[BM_HOOK_MKNOD] = "mknod",
	[BM_HOOK_MKDIR] = "mkdir",
	[BM_HOOK_RMDIR] = "rmdir",
	[BM_HOOK_UNLINK] = "unlink",
	[BM_HOOK_SYMLINK] = "symlink",
	[BM_HOOK_LINK] = "link",
	[BM_HOOK_RENAME] = "rename",
	[BM_HOOK_TRUNCATE] = "truncate",
	[BM_HOOK_CHMOD] = "chmod",
	[BM_HOOK_CHOWN] = "chown",
	[BM_HOOK_SETATTR] = "setattr",
	[BM_HOOK_SETXATTR] = "setxattr",
	[BM_HOOK_GETXATTR] = "getxattr",
	[BM_HOOK_GETATTR] = "getattr",
	[BM_HOOK_READLINK] = "readlink",
	[BM_HOOK_NOTIFY] = "notify",
	[BM_HOOK_FILE_PERMISSION] = "file_permission",
	[BM_HOOK_LOOKUP] = "lookup",
	[BM_HOOK_IO_URING] = "io_uring",
	[BM_HOOK_EXPIRY] = "expiry",
	[BM_HOOK_PERSONALITY] = "personality",
	[BM_HOOK_CAPABLE] = "capable",
	[BM_HOOK_MOUNT] = "mount",
	[BM_HOOK_USERNS] = "userns",
	[BM_HOOK_DEVICE] = "device",
	[BM_HOOK_SYSCTL] = "sysctl",
	[BM_HOOK_TASK] = "task",
	[BM_HOOK_IPC] = "ipc",
	[BM_HOOK_UNIX] = "unix",
	[BM_HOOK_CLONE] = "clone",
	[BM_HOOK_BPF] = "bpf",
	[BM_HOOK_PERF_EVENT] = "perf_event",
	[BM_HOOK_MODULE] = "module",
	[BM_HOOK_KEY] = "key",
	[BM_HOOK_USERFAULTFD] = "userfaultfd",
	[BM_HOOK_CORE_DUMP] = "core_dump",
	[BM_HOOK_SYSLOG] = "syslog",
	[BM_HOOK_QUOTA] = "quota",
	[BM_HOOK_BIND] = "bind",
	[BM_HOOK_RECVMSG] = "recvmsg",
	[BM_HOOK_NOT_FOUND] = "not_found",
};
_Static_assert(sizeof(hooks) / sizeof(hooks[0]) == BM_HOOK_MAX, "a name for each hook");

static const char *const rules[] = {
	[BM_RULE_NONE] = "none",
	[BM_RULE_NO_GRANT] = "no-grant",
	[BM_RULE_RIGHTS] = "rights",
	[BM_RULE_REVOKED] = "revoked",
	[BM_RULE_EXPIRED] = "expired",
	[BM_RULE_NOEXEC] = "noexec",
	[BM_RULE_DEPTH] = "depth",
	[BM_RULE_NOT_SEALED] = "not-sealed",
	[BM_RULE_PACKET] = "packet",
	[BM_RULE_INHERITED_FD] = "inherited-fd",
	[BM_RULE_ARRIVAL] = "arrival",
	[BM_RULE_SOCKET_KIND] = "socket-kind",
	[BM_RULE_SOCKET_OPTION] = "socket-option",
	[BM_RULE_EXEC_REFUSED] = "exec-refused",
	[BM_RULE_PRIVILEGE] = "privilege",
	[BM_RULE_HOST_TOOLS] = "host-tools",
	[BM_RULE_IO_URING] = "io_uring",
	[BM_RULE_NOT_TRACKED] = "not-tracked",
	[BM_RULE_UNKNOWN_BENCH] = "unknown-bench",
	[BM_RULE_EXEC_IMAGE] = "exec-image",
	[BM_RULE_EXCEPTED] = "excepted",
	[BM_RULE_CAPABILITY] = "capability",
	[BM_RULE_MOUNTS] = "mounts",
	[BM_RULE_USERNS] = "userns",
	[BM_RULE_DEVICE] = "device",
	[BM_RULE_OUTSIDE] = "outside",
	[BM_RULE_SHARED] = "shared-namespace",
	[BM_RULE_KERNEL] = "kernel-surface",
	[BM_RULE_CGROUP] = "cgroup",
	[BM_RULE_HOLDER] = "holder",
	[BM_RULE_TELLS] = "tells-of-host",
	[BM_RULE_CORE_DUMP] = "core-dump",
	[BM_RULE_LISTEN] = "listen",
	[BM_RULE_NEVER_BOTH] = "never-both",
	[BM_RULE_LEARN] = "learn",
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) == BM_RULE_MAX, "a name for each rule");

static const char *const verdicts[] = {
	[BM_ALLOW] = "allow",
	[BM_DENY] = "deny",
	[BM_WOULD_DENY] = "would-deny",
	[BM_NO_VERDICT] = "none",
};
_Static_assert(sizeof(verdicts) / sizeof(verdicts[0]) == BM_VERDICT_MAX, "a name for each verdict");

static const char *const capabilities[] = {
	[CAP_CHOWN] = "CAP_CHOWN",
	[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
	[CAP_FOWNER] = "CAP_FOWNER",
	[CAP_FSETID] = "CAP_FSETID",
	[CAP_KILL] = "CAP_KILL",
	[CAP_SETGID] = "CAP_SETGID",
	[CAP_SETUID] = "CAP_SETUID",
	[CAP_SETPCAP] = "CAP_SETPCAP",
	[CAP_LINUX_IMMUTABLE] = "CAP_LINUX_IMMUTABLE",
	[CAP_NET_BIND_SERVICE] = "CAP_NET_BIND_SERVICE",
	[CAP_NET_BROADCAST] = "CAP_NET_BROADCAST",
	[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
	[CAP_NET_RAW] = "CAP_NET_RAW",
	[CAP_IPC_LOCK] = "CAP_IPC_LOCK",
	[CAP_IPC_OWNER] = "CAP_IPC_OWNER",
	[CAP_SYS_MODULE] = "CAP_SYS_MODULE",
	[CAP_SYS_RAWIO] = "CAP_SYS_RAWIO",
	[CAP_SYS_CHROOT] = "CAP_SYS_CHROOT",
	[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
	[CAP_SYS_PACCT] = "CAP_SYS_PACCT",
	[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	[CAP_SYS_BOOT] = "CAP_SYS_BOOT",
	[CAP_SYS_NICE] = "CAP_SYS_NICE",
	[CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE",
	[CAP_SYS_TIME] = "CAP_SYS_TIME",
	[CAP_SYS_TTY_CONFIG] = "CAP_SYS_TTY_CONFIG",
	[CAP_MKNOD] = "CAP_MKNOD",
	[CAP_LEASE] = "CAP_LEASE",
	[CAP_AUDIT_WRITE] = "CAP_AUDIT_WRITE",
	[CAP_AUDIT_CONTROL] = "CAP_AUDIT_CONTROL",
	[CAP_SETFCAP] = "CAP_SETFCAP",
	[CAP_MAC_OVERRIDE] = "CAP_MAC_OVERRIDE",
	[CAP_MAC_ADMIN] = "CAP_MAC_ADMIN",
	[CAP_SYSLOG] = "CAP_SYSLOG",
	[CAP_WAKE_ALARM] = "CAP_WAKE_ALARM",
	[CAP_BLOCK_SUSPEND] = "CAP_BLOCK_SUSPEND",
	[CAP_AUDIT_READ] = "CAP_AUDIT_READ",
	[CAP_PERFMON] = "CAP_PERFMON",
	[CAP_BPF] = "CAP_BPF",
	[CAP_CHECKPOINT_RESTORE] = "CAP_CHECKPOINT_RESTORE",
};
_Static_assert(sizeof(capabilities) / sizeof(capabilities[0]) == CAP_LAST_CAP + 1,
	       "a name for each capability");

const char *bm_capability_name(uint32_t capability)
{
	return capability <= CAP_LAST_CAP ? capabilities[capability] : "?";
}

const char *bm_hook_name(uint32_t hook)
{
	return hook < BM_HOOK_MAX ? hooks[hook] : "?";
}

const char *bm_rule_name(uint32_t rule)
{
	return rule < BM_RULE_MAX ? rules[rule] : "?";
}

const char *bm_verdict_name(uint32_t verdict)
{
	return verdict < BM_VERDICT_MAX ? verdicts[verdict] : "?";
}

const char *bm_rights_name(uint32_t rights, char buf[BM_RIGHTS_LEN])
{
	char *p = buf;

	if (rights & BM_R)
		*p++ = 'r';
	if (rights & BM_W)
		*p++ = 'w';
	if (rights & BM_X)
		*p++ = 'x';
	*p = '\0';
	return buf;
}

bool bm_bench_name_valid(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < BM_BENCH_NAME_LEN && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

int bm_grant_id_parse(const char *id, char ret_bench[BM_BENCH_NAME_LEN], uint32_t *ret_number)
{
	const char *slash = strchr(id, '/');
	char name[BM_BENCH_NAME_LEN] = "";
	unsigned long number;
	char *end;

	if (!slash || slash - id >= BM_BENCH_NAME_LEN)
		return -EINVAL;
	memcpy(name, id, (size_t)(slash - id));
	if (!bm_bench_name_valid(name) || slash[1] < '1' || slash[1] > '9')
		return -EINVAL;
	errno = 0;
	number = strtoul(slash + 1, &end, 10);
	if (errno || *end || number > UINT32_MAX)
		return -EINVAL;
	memcpy(ret_bench, name, sizeof(name));
	*ret_number = (uint32_t)number;
	return 0;
}
