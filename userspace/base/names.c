// SPDX-License-Identifier: GPL-2.0-only
#include "base/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) == BM_RULE_MAX, "a name for each rule");

static const char *const verdicts[] = {
	[BM_ALLOW] = "allow",
	[BM_DENY] = "deny",
};
_Static_assert(sizeof(verdicts) / sizeof(verdicts[0]) == BM_VERDICT_MAX, "a name for each verdict");

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
