// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of a Bench: reaps orphans, passes signals on, and holds the namespaces. Its end is the end
 * of the Bench. Static and without options: there is nothing else in its root file system that it
 * could rely on. What runs beside it is as much root as it is: so it keeps next to nothing.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Exactly what main() does from here on. The 32-bit entry has other calls under these numbers. */
static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(rt_sigtimedwait),
		ALLOW(wait4),
		ALLOW(kill),
		ALLOW(exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* To pass a signal on to users of the Bench that are not root. */
static int keep_kill(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = 1u << CAP_KILL,
						    .permitted = 1u << CAP_KILL } };

	return (int)syscall(SYS_capset, &header, data);
}

int main(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* Not traceable, and its /proc/1 root's of the host. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    keep_kill() < 0 || filter() < 0)
		return 1;
	for (;;) {
		siginfo_t info;
		int signal = sigwaitinfo(&all, &info);

		if (signal < 0 && errno != EINTR)
			return 1;
		if (signal == SIGCHLD)
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		/* From outside alone: there the sender has no number here, and none can claim so.
		 */
		else if ((signal == SIGTERM || signal == SIGINT || signal == SIGHUP) &&
			 info.si_code == SI_USER && info.si_pid == 0)
			kill(-1, signal); /* everybody in the Bench but this process */
	}
}
