// SPDX-License-Identifier: GPL-2.0-only
/*
 * The probes of the walls make their system calls through door(), which goes in by the 64-bit entry
 * or by int $0x80. This program is linked statically and not PIE: its static data lies below 4 GiB,
 * where a 32-bit call can point to, and low() copies what does not.
 */
#include "payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool compat;

static const struct {
	long native;
	long compat;
} numbers[] = {
	{ SYS_mount, 21 },
	{ SYS_umount2, 52 },
	{ SYS_pivot_root, 217 },
	{ SYS_open_tree, 428 },
	{ SYS_move_mount, 429 },
	{ SYS_fsopen, 430 },
	{ SYS_fsconfig, 431 },
	{ SYS_fsmount, 432 },
	{ SYS_fspick, 433 },
	{ SYS_mount_setattr, 442 },
	{ SYS_unshare, 310 },
	{ SYS_setns, 346 },
	{ SYS_clone, 120 },
	{ SYS_clone3, 435 },
	{ SYS_chroot, 61 },
	{ SYS_mknod, 14 },
	{ SYS_ptrace, 26 },
	{ SYS_kill, 37 },
	{ SYS_tkill, 238 },
	{ SYS_tgkill, 270 },
	{ SYS_rt_sigqueueinfo, 178 },
	{ SYS_rt_tgsigqueueinfo, 335 },
	{ SYS_pidfd_open, 434 },
	{ SYS_pidfd_send_signal, 424 },
	{ SYS_pidfd_getfd, 438 },
	{ SYS_process_madvise, 440 },
	{ SYS_prlimit64, 340 },
	{ SYS_setpriority, 97 },
	{ SYS_ioprio_set, 289 },
	{ SYS_ioprio_get, 290 },
	{ SYS_sched_setaffinity, 241 },
	{ SYS_sched_getaffinity, 242 },
	{ SYS_sched_setscheduler, 156 },
	{ SYS_sched_getscheduler, 157 },
	{ SYS_sched_setparam, 154 },
	{ SYS_sched_getparam, 155 },
	{ SYS_sched_setattr, 351 },
	{ SYS_sched_getattr, 352 },
	{ SYS_sched_rr_get_interval, 423 },
	{ SYS_move_pages, 317 },
	{ SYS_migrate_pages, 294 },
	{ SYS_setpgid, 57 },
	{ SYS_getpgid, 132 },
	{ SYS_getsid, 147 },
	{ SYS_kcmp, 349 },
	{ SYS_get_robust_list, 312 },
	{ SYS_bpf, 357 },
	{ SYS_perf_event_open, 336 },
	{ SYS_io_uring_setup, 425 },
	{ SYS_init_module, 128 },
	{ SYS_finit_module, 350 },
	{ SYS_delete_module, 129 },
	{ SYS_kexec_load, 283 },
	{ SYS_add_key, 286 },
	{ SYS_request_key, 287 },
	{ SYS_keyctl, 288 },
	{ SYS_userfaultfd, 374 },
	{ SYS_syslog, 103 },
	{ SYS_socket, 359 },
	{ SYS_socketpair, 360 },
	{ SYS_setsockopt, 366 },
	{ SYS_sethostname, 74 },
	{ SYS_setdomainname, 121 },
	{ SYS_clock_settime, 404 },
	{ SYS_reboot, 88 },
	{ SYS_swapon, 87 },
	{ SYS_acct, 51 },
	{ SYS_vhangup, 111 },
	{ SYS_iopl, 110 },
	{ SYS_ioperm, 101 },
	{ SYS_open_by_handle_at, 342 },
	{ SYS_fanotify_init, 338 },
	{ SYS_shmget, 395 },
	{ SYS_shmat, 397 },
	{ SYS_shmctl, 396 },
	{ SYS_semget, 393 },
	{ SYS_semctl, 394 },
	{ SYS_msgget, 399 },
	{ SYS_msgsnd, 400 },
	{ SYS_msgrcv, 401 },
	{ SYS_msgctl, 402 },
	{ SYS_mq_open, 277 },
	{ SYS_mq_unlink, 278 },
	{ SYS_ioctl, 54 },
};

/* The sixth argument is 0. */
static long enter32(long nr, const long a[6])
{
	long r;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "push %%rbp\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "int $0x80\n\t"
			 "pop %%rbp\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "=a"(r)
			 : "a"(nr), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4])
			 : "memory", "r8", "r9", "r10", "r11", "cc");
	return (int)r;
}

long door_of(long nr, const long a[6])
{
	long r;

	if (!compat)
		return syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i].native != nr)
			continue;
		r = enter32(numbers[i].compat, a);
		errno = r < 0 ? (int)-r : 0;
		return r < 0 ? -1 : r;
	}
	_exit(setup("no 32-bit number"));
}

bool is_compat(void)
{
	return compat;
}

/* PROBE ARGS...: with its system calls by the 32-bit entry. */
int probe_compat(char **args)
{
	compat = true;
	return run_probe(args);
}

const char *low(const char *text)
{
	const char *copy = text ? low_string(text) : NULL;

	if (text && !copy)
		_exit(setup("low memory"));
	return copy;
}

int number(const char *text)
{
	return text ? (int)strtol(text, NULL, 0) : 0;
}

int by_way(const struct way *ways, size_t count, char **args)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(ways[i].name, args[0]))
			return ways[i].fn(args + 1);
	return setup("no such way");
}

/* For calls that fail without harm once they were let through: error counts as that. */
int past(long r, int error)
{
	return r < 0 && errno != error ? errno : 0;
}
