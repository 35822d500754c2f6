// SPDX-License-Identifier: GPL-2.0-only
#include "bench/syscalls.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/personality.h>

#include "confine/filter.h"

const char *const bm_denied_syscalls[] = {
	/* Mounts: each would need CAP_SYS_ADMIN, which a user namespace hands out. */
	"mount",
	"umount",
	"umount2",
	"pivot_root",
	"move_mount",
	"open_tree",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	"open_by_handle_at",
	/* Kernel surface that no build needs. */
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"add_key",
	"request_key",
	"keyctl",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"create_module",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"lookup_dcookie",
	"syslog",
	"nfsservctl",
	"uselib",
	"vhangup",
	"ioperm",
	"iopl",
	"setns",
	"kcmp",
	"process_vm_writev",
	"clock_settime",
	"settimeofday",
	"adjtimex",
	"clock_adjtime",
	"stime",
	NULL,
};

const char *const bm_denied_without_userns[] = { "unshare", NULL };

const char *const bm_denied_in_image[] = { "memfd_create", "memfd_secret", NULL };

static int deny_personality(scmp_filter_ctx filter)
{
	int r = 0;

	for (unsigned int bit = 0; r == 0 && bit < BM_PERSONALITY_BITS; bit++)
		if (1u << bit != READ_IMPLIES_EXEC)
			r = seccomp_rule_add(
				filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(personality), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, READ_IMPLIES_EXEC | 1u << bit,
					READ_IMPLIES_EXEC));
	return r;
}

static int deny_userns(scmp_filter_ctx filter)
{
	int r = bm_filter_add(filter, SCMP_ACT_ERRNO(EPERM), bm_denied_without_userns);

	/* Every process may clone; a user namespace would hand it all capabilities. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
	/* Its flags lie in memory, where no filter sees them: libc goes back to clone. */
	return r < 0 ? r : seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
}

int bm_syscalls_deny(bool image, bool userns, struct bm_error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r = filter ? 0 : -ENOMEM;

	if (r == 0)
		r = bm_filter_add_32bit(filter);
	if (r == 0)
		r = bm_filter_add(filter, SCMP_ACT_ERRNO(EPERM), bm_denied_syscalls);
	if (r == 0 && image)
		r = bm_filter_add(filter, SCMP_ACT_ERRNO(EPERM), bm_denied_in_image);
	if (r == 0 && image)
		r = deny_personality(filter);
	if (r == 0 && !userns)
		r = deny_userns(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? bm_fail_errno(err, -r, "system call filter") : 0;
}
