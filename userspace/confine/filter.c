// SPDX-License-Identifier: GPL-2.0-only
#include "confine/filter.h"

#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>

#include <linux/bpf.h>

/*
 * None of our processes has a use for these once it has started: the way from a bug to a program
 * of somebody else's, into the kernel, or into another process.
 */
static const char *const lethal[] = {
	"execve",
	"execveat",
	"ptrace",
	"process_vm_readv",
	"process_vm_writev",
	"pidfd_getfd",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"reboot",
	"iopl",
	"ioperm",
	"swapon",
	"swapoff",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"add_key",
	"request_key",
	"keyctl",
	"personality",
	"modify_ldt",
	NULL,
};

/* The programs in the kernel are loaded by then: nobody adds another. */
static const struct bm_first_argument lethal_arguments[] = {
	{ "bpf", BPF_PROG_LOAD },
	{ "bpf", BPF_MAP_CREATE },
	{ "bpf", BPF_BTF_LOAD },
};

/* Every process of ours, to its end. */
static const char *const always[] = {
	"read",
	"write",
	"close",
	"brk",
	"mmap",
	"munmap",
	"mremap",
	"futex",
	"exit",
	"exit_group",
	"rt_sigreturn",
	"restart_syscall",
	"clock_gettime",
	"getpid",
	"gettid",
	"getrandom",
	"sendmsg",
#ifdef __SANITIZE_ADDRESS__
	/* make SAN=1: what the sanitizers do to look around, to report and to end. */
	"mprotect",
	"madvise",
	"sigaltstack",
	"sched_yield",
	"getrlimit",
	"prlimit64",
	"rt_sigprocmask",
	"rt_sigaction",
	"readlink",
	"openat",
	"lseek",
	"fstat",
	"newfstatat",
	"getppid",
	"getuid",
	"geteuid",
	"tgkill",
	"prctl",
	"clone",
	"ptrace",
	"wait4",
	"getdents64",
	"set_robust_list",
	"dup2",
	"pipe2",
	"sched_getaffinity",
#endif
	NULL,
};

static bool listed(const char *const *list, const char *name)
{
	while (*list && strcmp(*list, name))
		list++;
	return *list;
}

static bool allowed(const struct bm_filter *filter, const char *name)
{
	bool found = listed(always, name);

	for (size_t i = 0; filter->calls[i]; i++)
		found |= listed(filter->calls[i], name);
	/* With one of its first arguments: no other is there then, and none is the end. */
	for (size_t i = 0; i < filter->argument_count; i++)
		found |= !strcmp(filter->arguments[i].call, name);
	return found;
}

static int add(scmp_filter_ctx ctx, uint32_t action, const char *const *names,
	       const struct bm_filter *but)
{
	int r = 0;

	/* One that this libseccomp has no number for, this kernel may have all the same. */
	for (; r == 0 && *names; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number == __NR_SCMP_ERROR)
			r = -ENOSYS;
		else if (!but || !allowed(but, *names))
			r = seccomp_rule_add(ctx, action, number, 0);
		/* The same call in two lists. */
		if (r == -EEXIST)
			r = 0;
	}
	return r;
}

int bm_filter_add(scmp_filter_ctx ctx, uint32_t action, const char *const *names)
{
	return add(ctx, action, names, NULL);
}

int bm_filter_add_32bit(scmp_filter_ctx ctx)
{
	int r = 0;

#ifdef __x86_64__
	r = seccomp_arch_add(ctx, SCMP_ARCH_X86);
	if (r == 0)
		r = seccomp_arch_add(ctx, SCMP_ARCH_X32);
#endif
	return r;
}

static int add_arguments(scmp_filter_ctx ctx, uint32_t action, const struct bm_first_argument *list,
			 size_t count)
{
	int r = 0;

	/* Of 32 bits: the kernel looks at no more of an int. */
	for (size_t i = 0; r == 0 && i < count; i++)
		r = seccomp_rule_add(ctx, action, seccomp_syscall_resolve_name(list[i].call), 1,
				     SCMP_A0_32(SCMP_CMP_EQ, (uint32_t)list[i].value));
	return r;
}

static int load(scmp_filter_ctx ctx, int r, struct bm_error *err)
{
	/* What was refused stands in the audit log: a call that was forgotten is found. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_LOG, 1);
	if (r == 0)
		r = seccomp_load(ctx);
	seccomp_release(ctx);
	return r < 0 ? bm_fail_errno(err, -r, "system call filter") : 0;
}

int bm_filter_allow(const struct bm_filter *filter, struct bm_error *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r = ctx ? 0 : -ENOMEM;

	/* The 32-bit entry too: its numbers mean other calls. */
	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (r == 0)
		r = add(ctx, SCMP_ACT_KILL_PROCESS, lethal, filter);
	if (r == 0)
		r = add_arguments(ctx, SCMP_ACT_KILL_PROCESS, lethal_arguments,
				  sizeof(lethal_arguments) / sizeof(lethal_arguments[0]));
	if (r == 0)
		r = add(ctx, SCMP_ACT_ALLOW, always, NULL);
	for (size_t i = 0; r == 0 && filter->calls[i]; i++)
		r = add(ctx, SCMP_ACT_ALLOW, filter->calls[i], NULL);
	if (r == 0)
		r = add_arguments(ctx, SCMP_ACT_ALLOW, filter->arguments, filter->argument_count);
	return load(ctx, r, err);
}

int bm_filter_deny(const char *const *calls, struct bm_error *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int r = ctx ? 0 : -ENOMEM;

	if (r == 0)
		r = bm_filter_add_32bit(ctx);
	if (r == 0)
		r = bm_filter_add(ctx, SCMP_ACT_ERRNO(EPERM), calls);
	return load(ctx, r, err);
}
