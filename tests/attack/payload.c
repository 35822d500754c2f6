// SPDX-License-Identifier: GPL-2.0-only
/*
 * One static program that tries, inside a Bench and beside it, what a Bench must not do. argv[1]
 * selects the probe; `batch` runs the probes that come in on stdin, each in a process of its own.
 */
#include "payload.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH_TIMEOUT_S 20
#define MAX_ARGS 16

static probe_fn batch;

static const struct probe probes[] = {
	{ "batch", batch, 0,
	  "[apart]: each line of stdin: ID PROBE ARGS...; prints ID STATUS START END" },

	{ "open", probe_open, 1, "open(2) PATH [MODE]" },
	{ "openat", probe_openat, 2, "openat(2) below an O_PATH DIR: NAME" },
	{ "openat2", probe_openat2, 1, "openat2(2) PATH [MODE]" },
	{ "creat", probe_creat, 1, "creat(2) PATH" },
	{ "fopen", probe_fopen, 1, "open(3) PATH" },
	{ "reopen", probe_reopen, 1, "O_PATH, then again by /proc/self/fd: PATH [MODE]" },
	{ "getdents", probe_getdents, 1, "lists DIR" },
	{ "chdir", probe_chdir, 2, "enters DIR and opens NAME" },
	{ "thread", probe_thread, 1, "opens PATH in a thread" },
	{ "fork", probe_fork, 1, "opens PATH in a grandchild" },
	{ "vfork", probe_vfork, 1, "opens PATH in a vfork child" },
	{ "open32", probe_open32, 1, "32-bit open of PATH" },
	{ "openat32", probe_openat32, 1, "32-bit openat of PATH" },
	{ "handle", probe_handle, 2, "open_by_handle_at of PATH on the mount of ANY" },
	{ "named", probe_named, 2, "as a process called NAME opens PATH [MODE]" },
	{ "memfd", probe_memfd, 0, "opens a memfd of its own by /proc" },
	{ "setid", probe_setid, 3, "makes PATH with mode OCTAL: creat|tmp (in its place, linked)" },
	{ "exchange", probe_exchange, 3, "opens LINK while it flips between GOOD and BAD" },

	{ "node", probe_node, 2, "mknod(2) PATH reg|fifo|sock|char [OCTAL]" },
	{ "bind", probe_bind, 1, "binds a unix socket to PATH" },
	{ "mkdir", probe_mkdir, 1, "mkdir(2) PATH [OCTAL]" },
	{ "rmdir", probe_rmdir, 1, "rmdir(2) PATH" },
	{ "unlink", probe_unlink, 1, "unlink(2) PATH" },
	{ "unlinkat", probe_unlinkat, 2, "unlinkat(2) below an O_PATH DIR: NAME [dir]" },
	{ "symlink", probe_symlink, 1, "symlink(2) at PATH" },
	{ "link", probe_link, 2, "link(2) FROM TO" },
	{ "linkat", probe_linkat, 2,
	  "linkat(2) FROM's O_PATH descriptor TO; [empty]: of a ro one" },
	{ "rename", probe_rename, 2, "rename(2) FROM TO" },
	{ "rename2", probe_rename2, 3, "renameat2(2) FROM TO exchange|noreplace" },
	{ "byfd", probe_byfd, 2, "O_PATH of PATH, then PROBE /proc/self/fd/N ARGS..." },
	{ "in", probe_in, 2, "fchdir to an O_PATH DIR, then PROBE ARGS..." },

	{ "truncate", probe_truncate, 1, "truncate(2) PATH" },
	{ "ftruncate", probe_ftruncate, 1, "ftruncate(2) of PATH" },
	{ "chmod", probe_chmod, 2, "chmod(2) PATH OCTAL" },
	{ "fchmod", probe_fchmod, 2, "fchmod(2) of PATH, opened for reading: OCTAL" },
	{ "fchmodat", probe_fchmodat, 3, "fchmodat(2) below an O_PATH DIR: NAME OCTAL" },
	{ "fchmodat2", probe_fchmodat2, 2, "fchmodat2(2) of an O_PATH descriptor of PATH: OCTAL" },
	{ "chown", probe_chown, 2, "chown(2) PATH ID" },
	{ "fchown", probe_fchown, 2, "fchownat(2) of an O_PATH descriptor of PATH: ID" },
	{ "utimes", probe_utimes, 1, "utimensat(2) PATH [now]" },
	{ "futimens", probe_futimens, 1, "futimens(2) of PATH, opened for reading or [opath]" },
	{ "setxattr", probe_setxattr, 2, "setxattr(2) PATH NAME" },
	{ "fsetxattr", probe_fsetxattr, 2, "fsetxattr(2) PATH, opened for reading: NAME" },
	{ "setcap", probe_setcap, 1, "sets file capabilities of PATH" },
	{ "removexattr", probe_removexattr, 2, "removexattr(2) PATH NAME" },
	{ "setacl", probe_setacl, 1, "sets an ACL of PATH" },
	{ "getxattr", probe_getxattr, 2, "getxattr(2) PATH NAME" },
	{ "listxattr", probe_listxattr, 1, "listxattr(2) PATH" },
	{ "stat", probe_stat, 1, "stat(2) PATH" },
	{ "lstat", probe_lstat, 1, "lstat(2) PATH" },
	{ "fstatat", probe_fstatat, 2, "newfstatat(2) below an O_PATH DIR: NAME" },
	{ "fstat", probe_fstat, 1, "fstat(2) of an O_PATH descriptor of PATH" },
	{ "statx", probe_statx, 1, "statx(2) PATH; [empty]: of its O_PATH descriptor" },
	{ "readlink", probe_readlink, 1, "readlink(2) PATH; [empty]: of its O_PATH descriptor" },
	{ "access", probe_access, 2, "access(2) PATH MODE" },
	{ "inotify", probe_inotify, 1, "inotify_add_watch(2) PATH" },
	{ "fanotify", probe_fanotify, 1, "fanotify_mark(2) PATH" },

	{ "ioctl", probe_ioctl, 2, "ioctl(2) of PATH, opened for reading: get|set|asks" },
	{ "ioctl32", probe_ioctl32, 1, "32-bit ioctl(2) of PATH, opened for reading" },
	{ "clone", probe_clone, 2, "FICLONE of FROM into TO, opened for reading or [w]riting" },
	{ "flock", probe_flock, 1, "flock(2) of PATH, opened for reading [exclusive]" },
	{ "lock", probe_lock, 1, "fcntl(2) lock of PATH, opened for reading [ofd]" },
	{ "lease", probe_lease, 1, "F_SETLEASE of PATH" },
	{ "dnotify", probe_dnotify, 1, "F_NOTIFY of DIR" },
	{ "park", probe_park, 1, "watches DIR, sends the watch to itself, and receives it" },
	{ "receive", probe_receive, 2,
	  "has a descriptor sent from outside: r|rw|opath|socket|bpf|event PATH" },
	{ "pass", probe_pass, 0, "sends a socket to itself, and receives it" },

	{ "uring", probe_uring, 1, "openat of PATH by io_uring [async|as another]" },

	{ "ok", probe_ok, 0, "what an executed copy does" },
	{ "execve", probe_execve, 1, "execve(2) PATH" },
	{ "execas", probe_execas, 2, "execve(2) PATH with WORD, which ends with 0" },
	{ "execveat", probe_execveat, 1, "execveat(2) with AT_EMPTY_PATH of PATH" },
	{ "fexec", probe_fexec, 1, "executes /proc/self/fd/N of PATH" },
	{ "opathexec", probe_opathexec, 1, "executes an O_PATH descriptor of PATH" },
	{ "vforkexec", probe_vforkexec, 1, "execve(2) of PATH after vfork" },
	{ "execve32", probe_execve32, 1, "32-bit execve of PATH" },
	{ "ldso", probe_ldso, 2, "LOADER PATH" },
	{ "copyexec", probe_copyexec, 2, "copies FROM to TO and executes it" },
	{ "linkexec", probe_linkexec, 2, "links FROM to TO and executes it" },
	{ "renameexec", probe_renameexec, 2, "copies FROM to TO, renames and executes it" },
	{ "memfdexec", probe_memfdexec, 1, "copies PATH into a memfd and executes it" },

	{ "map", probe_map, 2, "maps PATH executable: shared|private" },
	{ "map32", probe_map32, 1, "32-bit mmap of PATH, executable" },
	{ "mprotect", probe_mprotect, 2, "maps PATH shared|private, then makes it executable" },
	{ "pkey", probe_pkey, 2, "the same by pkey_mprotect" },
	{ "implied", probe_implied, 1, "maps PATH readable under READ_IMPLIES_EXEC" },
	{ "remap", probe_remap, 1, "remap_file_pages of PATH, executable" },

	{ "anonymous", probe_anonymous, 1, "runs memory: private|shared [then made executable]" },
	{ "heap", probe_heap, 0, "runs the heap, made executable" },
	{ "stack", probe_stack, 0, "runs the stack, made executable" },
	{ "vdso", probe_vdso, 0, "runs the vdso, overwritten" },
	{ "filewx", probe_filewx, 1, "runs a private mapping of PATH, overwritten [then|clean]" },
	{ "text", probe_text, 0, "runs its own text, overwritten" },
	{ "memfdmap", probe_memfdmap, 1, "maps a memfd and runs it: private|shared" },
	{ "shm", probe_shm, 0, "shmat(2) with SHM_EXEC" },
	{ "zero", probe_zero, 0, "maps /dev/zero executable" },
	{ "procmem", probe_procmem, 1, "overwrites its text by PATH, its mem in proc" },
	{ "threadmem", probe_threadmem, 0, "the same by that of its thread" },
	{ "poke", probe_poke, 0, "PTRACE_ATTACH to a child, PTRACE_POKETEXT" },
	{ "vmwrite", probe_vmwrite, 0, "process_vm_writev to a child" },
	{ "traceme", probe_traceme, 0, "PTRACE_TRACEME" },
	{ "personality", probe_personality, 0, "runs the heap of READ_IMPLIES_EXEC [all]" },
	{ "personality32", probe_personality32, 0, "the same by the 32-bit call" },
	{ "ask-personality", probe_ask_personality, 0, "personality(2) that asks" },

	{ "reads", probe_reads, 1, "reads each PATH to its end" },
	{ "write", probe_write, 2, "opens PATH and writes TEXT" },
	{ "device", probe_device, 4, "mknod(2) PATH b|c MAJOR MINOR" },

	{ "kill", probe_kill, 2, "kill(2) PID SIGNAL" },
	{ "tgkill", probe_tgkill, 2, "tgkill(2) PID SIGNAL" },
	{ "pidfd-kill", probe_pidfd_kill, 2, "pidfd_send_signal PID SIGNAL" },
	{ "queue", probe_queue, 2, "rt_sigqueueinfo PID SIGNAL" },
	{ "ptrace", probe_ptrace, 1, "PTRACE_ATTACH to PID" },
	{ "seize", probe_seize, 1, "PTRACE_SEIZE of PID" },
	{ "vmread", probe_vmread, 2, "process_vm_readv from PID at ADDRESS" },
	{ "getfd", probe_getfd, 2, "pidfd_getfd of PID's FD" },
	{ "mount", probe_mount, 0, "mount(2) of a tmpfs" },
	{ "umount", probe_umount, 1, "umount2(2) of PATH" },
	{ "opentree", probe_opentree, 1, "open_tree(2) clone of PATH" },
	{ "fsopen", probe_fsopen, 0, "fsopen(2) of tmpfs" },
	{ "bpf", probe_bpf, 0, "bpf(2): makes an array" },
	{ "unshare", probe_unshare, 0, "unshare(2) of the user namespace" },
	{ "newuser", probe_newuser, 0, "clone(2) into a new user namespace" },
	{ "setns", probe_setns, 1, "setns(2) to the namespace PATH" },
	{ "mknod", probe_mknod, 1, "makes a block device at PATH" },
	{ "perf", probe_perf, 0, "perf_event_open(2) of itself" },
	{ "keyctl", probe_keyctl, 0, "add_key(2)" },
	{ "module", probe_module, 0, "init_module(2)" },

	{ "32", probe_compat, 1, "PROBE ARGS by the 32-bit entry: those below" },
	{ "cap", probe_cap, 1, "WAY...: what a capability is for" },
	{ "mnt", probe_mnt, 1, "WAY...: mounts and namespaces" },
	{ "task", probe_task, 2, "WAY PID...: what one process may do to another" },
	{ "sig", probe_sig, 2, "WAY PID SIGNAL: a signal, by each route" },
	{ "ipc", probe_ipc, 1, "WAY...: SysV IPC and message queues" },
	{ "unix", probe_unix, 1, "WAY...: unix sockets" },
	{ "door", probe_door, 1, "WAY...: what a Bench asks by" },
	{ "kern", probe_kern, 1, "WAY...: kernel surface" },
	{ "sock", probe_sock, 3, "FAMILY TYPE PROTOCOL [pair]: makes a socket" },
	{ "asked", probe_asked, 3, "the same outside, where the kernel may not have it" },
	{ "cgrp", probe_cgrp, 2, "WAY PATH: out of the cgroup" },
	{ "crash", probe_crash, 0, "dumps core [LIMIT]" },
	{ "victim", tool_victim, 2,
	  "outside: DIR NAME: all that can be reached, and says what came" },
	{ "carry", tool_carry, 4, "outside: KIND PATH COMMAND...: its stdin brings a descriptor" },

	{ "tcp", probe_tcp, 2,
	  "ADDRESS PORT [nonblock|fastopen|mptcp|mptcp-fastopen|bound|device]" },
	{ "by", probe_by, 3, "PORT ADDRESS PORT [fastopen|mptcp|udp|udpc]: out by a port of ours" },
	{ "from", probe_from, 4, "TCP to ADDRESS PORT from ADDRESS PORT" },
	{ "udp", probe_udp, 2, "ADDRESS PORT: sendto" },
	{ "udpc", probe_udpc, 2, "ADDRESS PORT: connect and send" },
	{ "switch", probe_switch, 4, "connects to ADDRESS PORT, sends to ADDRESS PORT" },
	{ "mmsg", probe_mmsg, 4, "sendmmsg to ADDRESS PORT and ADDRESS PORT" },
	{ "mapped", probe_mapped, 3, "udp|tcp to a v4-mapped ADDRESS PORT" },
	{ "udplite", probe_udplite, 3, "ADDRESS PORT connect|sendto" },
	{ "ping", probe_ping, 1, "ADDRESS by a ping socket" },
	{ "ping6", probe_ping6, 1, "ADDRESS by an IPv6 ping socket" },
	{ "raw", probe_raw, 1, "a raw socket to ADDRESS" },
	{ "packet", probe_packet, 0, "a packet socket" },
	{ "route", probe_route, 3, "UDP to ADDRESS PORT by source route over HOP [beside]" },
	{ "record", probe_record, 2, "UDP to ADDRESS PORT with an IP option, or one [beside] it" },
	{ "rthdr", probe_rthdr, 3, "UDP to ADDRESS PORT by segment routing over HOP [beside]" },
	{ "member", probe_member, 3, "mreq|source|mcast: joins GROUP on LINK" },
	{ "option", probe_option, 2, "sets the socket option NAME for LINK" },
	{ "forge", probe_forge, 3, "UDP to ADDRESS PORT as from SOURCE" },
	{ "cork", probe_cork, 4,
	  "UDP corked to GOOD PORT, then BAD PORT; [gso]: in pieces to BAD" },
	{ "again", probe_again, 5, "connects to GOOD PORT, lets go, then BAD PORT: tcp|udp" },
	{ "unspec", probe_unspec, 2, "UDP to ADDRESS PORT of the family AF_UNSPEC" },
	{ "big", probe_big, 2, "ADDRESS PORT: a UDP datagram larger than the MTU" },
	{ "loopback", probe_loopback, 1, "its own listener by ADDRESS" },
	{ "self", probe_self, 2, "ADDRESS PORT in one TCP socket that connects to itself" },

	{ "loop", tool_loop, 2, "opens PATH in N threads until it has failed often enough" },
	{ "race", tool_race, 4, "opens PATH, and CONTROL, COUNT times r|rw among MOVEs" },
	{ "event", probe_event, 2, "WAY...: what the record of denials has to stand" },
	{ "lines", tool_lines, 0, "each line of stdin: PROBE ARGS...; prints N STATUS" },
	{ "forks", probe_forks, 2, "COUNT children open PATH, one after the other" },
	{ "flood", tool_flood, 2, "COUNT times opens PATH" },
	{ "rewrite", tool_rewrite, 2,
	  "writes the entry KEY of the pinned MAP anew, until it is killed" },
	{ "swap", tool_swap, 1, "each MOVE (A=B, A>B) over and over" },
	{ "stream", tool_stream, 2, "talks to ADDRESS PORT until no answer comes" },
	{ "hold", tool_hold, 1, "waits for a line on stdin, then PROBE ARGS..." },
	{ "held", tool_held, 2, "opens DIR in each way; after a line on stdin tries them all" },
	{ "watches", tool_watches, 1, "watches DIR/sub until it is killed" },
	{ "lockes", tool_locks, 1, "locks DIR/f until it is killed" },
	{ "readers", tool_readers, 2,
	  "reads one descriptor of PATH in N threads until it has failed" },
	{ "read-fd", tool_read_fd, 1, "reads an inherited FD" },
	{ "maps", tool_maps, 2, "maps PATH read|shared and looks at it until it is killed" },
	{ "maps-alone", tool_maps_alone, 2, "the same in a thread that is left alone" },
	{ "blocked", tool_blocked, 1, "reads from a FIFO until something comes" },
	{ "write-fd", tool_write_fd, 2, "writes TEXT to an inherited FD" },
	{ "stay", tool_stay, 0, "does nothing until it is killed" },
	{ "queued", tool_queued, 3,
	  "ADDRESS PORT STAYS: after a line on stdin reads in each way what came before" },
	{ "waits", tool_waits, 3, "ADDRESS PORT recv|mptcp|send|connect|udp: waits in it" },
	{ "endpoint", tool_endpoint, 2,
	  "ADDRESS PORT: after a line on stdin goes on in each way with what began before" },
	{ "churn", tool_churn, 2, "reads one UDP socket to ADDRESS PORT in some threads" },
	{ "peer", tool_peer, 1, "accepts one connection on PORT and says how it ended" },
	{ "listen", tool_listen, 1, "accepts on PORT and says so" },
	{ "serve", tool_serve, 1, "echoes TCP, UDP and UDP-Lite on PORT..." },
	{ "capture", tool_capture, 1, "prints what comes in on DEVICE" },
	{ "mark", tool_mark, 2, "sends TEXT out of DEVICE, for who captures at its other end" },
	{ "send", tool_send, 1, "sends descriptors to who asks in DIR" },
	{ "arrive", tool_arrive, 2, "an arrival in CGROUP and the namespaces of PID" },
	{ "remount", tool_remount, 3, "in the mount namespace of PID, PATH becomes FLAGS" },
	{ "unmountin", tool_unmountin, 2, "in the mount namespace of PID, PATH is unmounted" },
	{ "mkstack", tool_mkstack, 2, "copies FROM to TO, which asks for an executable stack" },
	{ "mountin", tool_mountin, 3, "in the mount namespace of PID, SOURCE appears at PATH" },
	{ "deep", tool_deep, 2, "makes N nested directories below DIR and a file f in the last" },
	{ "now", tool_now, 0, "CLOCK_MONOTONIC in ns" },
};

int setup(const char *what)
{
	fprintf(stderr, "payload: %s: %s\n", what, strerror(errno));
	return SETUP;
}

int outcome(long r)
{
	return r < 0 ? errno : 0;
}

int opened(int fd)
{
	char byte;
	int flags;

	if (fd < 0)
		return errno;
	flags = fcntl(fd, F_GETFL) & O_ACCMODE;
	if ((flags == O_RDONLY || flags == O_RDWR) && read(fd, &byte, 1) < 0 && errno != EISDIR)
		return setup("read");
	close(fd);
	return 0;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int in_child(probe_fn *fn, char **args)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn(args));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return setup("fork");
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM   ? TIMED_OUT
		       : WTERMSIG(status) == SIGKILL ? KILLED
						     : SETUP;
	return WEXITSTATUS(status);
}

char *low_string(const char *text)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return NULL;
	strncpy(low, text, 4095);
	return low;
}

long call32(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(0L), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static int count(char **args)
{
	int n = 0;

	while (args[n])
		n++;
	return n;
}

int run_probe(char **argv)
{
	for (size_t i = 0; argv[0] && i < sizeof(probes) / sizeof(probes[0]); i++)
		if (!strcmp(probes[i].name, argv[0]))
			return count(argv + 1) < probes[i].args ? setup("too few arguments")
								: probes[i].fn(argv + 1);
	return setup("no such probe");
}

/* As the events have it, so that a test can compare them as text. */
static const char *timestamp(char buf[40])
{
	struct timespec ts;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &ts);
	gmtime_r(&ts.tv_sec, &tm);
	len = strftime(buf, 40, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + len, 40 - len, ".%09ldZ", ts.tv_nsec);
	return buf;
}

/* PROBE's mounts are its own: outside, where it may. */
static bool apart;

static int limited(char **args)
{
	if (apart &&
	    (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0))
		return setup("mount namespace");
	prctl(PR_SET_NAME, args[0]);
	alarm(BATCH_TIMEOUT_S);
	return run_probe(args + 1);
}

static int batch(char **args)
{
	char line[1024], start[40], end[40];

	apart = args[0] && !strcmp(args[0], "apart");
	while (fgets(line, sizeof(line), stdin)) {
		char *words[MAX_ARGS + 1] = {}, *rest = line;
		int status;

		line[strcspn(line, "\n")] = '\0';
		for (int n = 0; n < MAX_ARGS && (words[n] = strsep(&rest, " ")); n++)
			;
		timestamp(start);
		fflush(stdout);
		status = in_child(limited, words);
		printf("%s %d %s %s\n", words[0], status, start, timestamp(end));
	}
	return 0;
}

static int usage(void)
{
	fputs("usage: payload PROBE [ARG...]\n", stderr);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		fprintf(stderr, "  %-12s %s\n", probes[i].name, probes[i].doc);
	return SETUP;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return usage();
	status = run_probe(argv + 1);
	if (!strcmp(argv[1], "batch") || status == RAN)
		return status;
	fflush(stdout);
	if (status == SETUP)
		fprintf(stderr, "%s: not tried\n", argv[1]);
	else
		fprintf(stderr, "%s: %s\n", argv[1], status ? strerror(status) : "worked");
	return status;
}
