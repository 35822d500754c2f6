/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A probe tries one thing and returns 0 when it worked, the errno when the kernel refused, SETUP
 * when it could not even be tried: that is never a pass.
 */
#ifndef BENCHMON_TESTS_PAYLOAD_H
#define BENCHMON_TESTS_PAYLOAD_H

#include <errno.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define SETUP 200
#define TIMED_OUT 201
#define KILLED 202 /* by SIGKILL, which nothing but the kernel sends */
/* What an executed copy of this program exits with: proof that it ran. */
#define RAN 77

typedef int probe_fn(char **args);

struct probe {
	const char *name;
	probe_fn *fn;
	int args; /* needed; more are passed on */
	const char *doc;
};

/* payload.c */
int setup(const char *what);
int outcome(long r);                     /* of a system call: 0 or errno */
int opened(int fd);                      /* the same for a new fd, which is read and closed */
uint64_t now_ns(void);                   /* CLOCK_MONOTONIC */
int in_child(probe_fn *fn, char **args); /* status of fn in a forked child */
int run_probe(char **argv);
char *low_string(const char *text); /* below 4 GiB, for 32-bit calls */
long call32(long nr, long a, long b, long c);

/* wall_doors.c */
struct way { /* of one probe: its first argument */
	const char *name;
	probe_fn *fn;
};
int by_way(const struct way *ways, size_t count, char **args);
long door_of(long nr, const long a[6]);
#define door(nr, a, b, c, d, e, f)                                                                 \
	door_of(nr, (const long[]){ (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),         \
				    (long)(f) })
bool is_compat(void);
const char *low(const char *text);
int number(const char *text);
int past(long r, int error);
probe_fn probe_compat;

/* wall_*.c */
probe_fn probe_cap, probe_mnt, probe_task, probe_sig, probe_ipc, probe_unix, probe_kern, probe_sock;
probe_fn probe_asked, probe_cgrp, probe_crash, tool_victim, tool_carry;

/* files.c */
probe_fn probe_open, probe_openat, probe_openat2, probe_creat, probe_fopen, probe_reopen;
probe_fn probe_getdents, probe_thread, probe_fork, probe_vfork, probe_open32, probe_openat32;
probe_fn probe_setid, probe_handle, probe_named, probe_memfd, probe_chdir, probe_exchange;

/* names.c */
probe_fn probe_node, probe_bind, probe_mkdir, probe_rmdir, probe_unlink, probe_unlinkat;
probe_fn probe_symlink, probe_link, probe_linkat, probe_rename, probe_rename2, probe_byfd, probe_in;

/* meta.c */
probe_fn probe_truncate, probe_ftruncate, probe_chmod, probe_fchmod, probe_fchmodat;
probe_fn probe_fchmodat2, probe_chown, probe_fchown, probe_utimes, probe_futimens, probe_setxattr;
probe_fn probe_fsetxattr, probe_setcap, probe_removexattr, probe_setacl, probe_getxattr;
probe_fn probe_listxattr, probe_stat, probe_lstat, probe_fstatat, probe_fstat, probe_statx;
probe_fn probe_readlink, probe_access, probe_inotify, probe_fanotify;

/* door.c */
probe_fn probe_door;

/* event.c */
probe_fn probe_event, tool_lines;

/* fds.c */
long send_fd(int to, int fd);
int take_fd(int from, int *ret_fd); /* 0; EACCES when the kernel has left it out */
int receive_fd(int from);           /* the same, for its own sake */
long read_by_aio(int fd, void *to); /* one byte; -1 and errno */
probe_fn probe_ioctl, probe_ioctl32, probe_clone, probe_flock, probe_lock, probe_lease;
probe_fn probe_dnotify, probe_receive, probe_pass, probe_park, tool_send;

/* ring.c */
probe_fn probe_uring;

/* exec.c */
probe_fn probe_ok, probe_execve, probe_execas, probe_execveat, probe_fexec, probe_opathexec,
	probe_ldso;
probe_fn probe_copyexec, probe_linkexec, probe_renameexec, probe_execve32, probe_memfdexec;
probe_fn probe_vforkexec;

/* map.c */
probe_fn probe_map, probe_mprotect, probe_pkey, probe_implied, probe_remap, probe_map32;

/* image.c */
probe_fn probe_anonymous, probe_heap, probe_stack, probe_vdso, probe_filewx, probe_text;
probe_fn probe_memfdmap, probe_shm, probe_zero, probe_procmem, probe_threadmem, probe_poke;
probe_fn probe_vmwrite, probe_traceme, probe_personality, probe_personality32;
probe_fn probe_ask_personality, tool_mkstack;

/* walls.c */
probe_fn probe_kill, probe_pidfd_kill, probe_queue, probe_tgkill, probe_ptrace, probe_seize;
probe_fn probe_vmread, probe_getfd, probe_mount, probe_umount, probe_bpf, probe_unshare;
probe_fn probe_mknod, probe_setns, probe_opentree, probe_fsopen, probe_perf, probe_keyctl;
probe_fn probe_module, probe_newuser;

/* kernfs.c */
probe_fn probe_reads, probe_write, probe_device, tool_write_fd;

/* net.c, packet.c */
probe_fn probe_tcp, probe_udp, probe_udpc, probe_udplite, probe_mmsg, probe_mapped, probe_ping;
probe_fn probe_raw, probe_packet, probe_route, probe_record, probe_rthdr, probe_big, probe_loopback;
probe_fn probe_self, probe_switch, probe_ping6, probe_from, probe_by;

/* option.c */
probe_fn probe_member, probe_option, probe_forge, probe_cork, probe_again, probe_unspec;

/* outside.c: what the test does beside the Bench */
probe_fn tool_arrive, tool_remount, tool_unmountin, tool_mountin, tool_now, tool_deep;
probe_fn tool_rewrite;

/* loop.c: what goes on while a grant is taken back */
probe_fn tool_loop, tool_readers, tool_stream, tool_hold, tool_stay;

/* race.c */
probe_fn tool_race, tool_swap, probe_forks, tool_flood;

/* held.c */
probe_fn tool_held, tool_watches, tool_locks, tool_read_fd, tool_maps, tool_maps_alone,
	tool_blocked;

/* queued.c */
probe_fn tool_queued, tool_waits, tool_peer, tool_churn;

/* endpoint.c */
probe_fn tool_endpoint;

/* serve.c */
probe_fn tool_serve, tool_listen;

/* capture.c */
probe_fn tool_capture, tool_mark;

#endif
