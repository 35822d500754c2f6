// SPDX-License-Identifier: GPL-2.0-only
/* Kernel surface that no work needs. */
#include "payload.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>

#define CALL(nr, a, b, c, d, e) outcome(door(nr, a, b, c, d, e, 0))

/* --- bpf(2)
 * -------------------------------------------------------------------------------------*/

static union bpf_attr attr;

static int bpf(int command)
{
	return CALL(SYS_bpf, command, &attr, sizeof(attr), 0, 0);
}

/* TYPE */
static int way_map(char **args)
{
	attr.map_type = (unsigned)number(args[0]);
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	return bpf(BPF_MAP_CREATE);
}

/* TYPE */
static int way_prog(char **args)
{
	static const struct bpf_insn code[] = { { 0xb7, 0, 0, 0, 0 }, { 0x95, 0, 0, 0, 0 } };
	static const char license[] = "GPL";

	attr.prog_type = (unsigned)number(args[0]);
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t)license;
	return bpf(BPF_PROG_LOAD);
}

/* PATH: a pin */
static int way_pinned(char **args)
{
	attr.pathname = (uintptr_t)low_string(args[0]);
	return bpf(BPF_OBJ_GET);
}

/* 11 program, 12 map, 23 BTF, 31 link: the next after 0 */
static int way_next(char **args)
{
	attr.start_id = 0;
	return bpf(number(args[0]));
}

/* 13 program, 14 map, 19 BTF, 30 link; ID */
static int way_byid(char **args)
{
	attr.map_id = (unsigned)number(args[1]);
	return bpf(number(args[0]));
}

/* --- perf, io_uring, userfaultfd, modules, kexec
 * ------------------------------------------------*/

static struct perf_event_attr event;

/* PID CPU [kernel] */
static int way_perf(char **args)
{
	event.type = PERF_TYPE_SOFTWARE;
	event.size = sizeof(event);
	event.config = PERF_COUNT_SW_CPU_CLOCK;
	event.exclude_kernel = !args[2];
	return CALL(SYS_perf_event_open, &event, number(args[0]), number(args[1]), -1, 0);
}

static int way_uring(char **args)
{
	static uint32_t params[64];

	(void)args;
	return CALL(SYS_io_uring_setup, 1, params, 0, 0, 0);
}

/* [user]: for faults of user space alone */
static int way_userfaultfd(char **args)
{
	return CALL(SYS_userfaultfd, args[0] ? 1 : 0, 0, 0, 0, 0);
}

static int way_init_module(char **args)
{
	static char image[64], none[1];

	(void)args;
	return past(door(SYS_init_module, image, sizeof(image), none, 0, 0, 0), ENOEXEC);
}

/* PATH */
static int way_finit_module(char **args)
{
	int fd = open(args[0], O_RDONLY);

	return fd < 0 ? setup(args[0])
		      : past(door(SYS_finit_module, fd, low(""), 0, 0, 0, 0), ENOEXEC);
}

static int way_delete_module(char **args)
{
	(void)args;
	return past(door(SYS_delete_module, low("bm_no_module"), 0, 0, 0, 0, 0), ENOENT);
}

static int way_kexec(char **args)
{
	(void)args;
	return past(door(SYS_kexec_load, 0, 0, 0, 0 /* unloads what is loaded */, 0, 0), EINVAL);
}

/* PATH: no kernel */
static int way_kexec_file(char **args)
{
	int fd = open(args[0], O_RDONLY);

	if (fd < 0)
		return setup(args[0]);
	return past(syscall(SYS_kexec_file_load, fd, -1, 1, "", 4 /* NO_INITRAMFS */), ENOEXEC);
}

/* --- modules that somebody's request loads
 * -------------------------------------------------------*/

/* PATH, made: its magic number is unknown, so that the kernel asks for a module. */
static int way_binfmt(char **args)
{
	int fd = open(args[0], O_WRONLY | O_CREAT | O_TRUNC, 0755);

	if (fd < 0 || write(fd, "\x07\x01\x9e\xbd\x02\x03", 6) != 6)
		return setup(args[0]);
	close(fd);
	execl(args[0], args[0], NULL);
	return errno == ENOEXEC ? 0 : errno;
}

static int way_congestion(char **args)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)args;
	return past(setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "bmnone", 6), ENOENT);
}

static int way_ulp(char **args)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)args;
	return past(setsockopt(fd, IPPROTO_TCP, 31 /* TCP_ULP */, "bmnone", 6), ENOENT);
}

static int way_device(char **args)
{
	struct ifreq none = { .ifr_name = "bmnone" };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)args;
	return past(ioctl(fd, SIOCGIFFLAGS, &none), ENODEV);
}

static int way_discipline(char **args)
{
	int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY), kind = 29;

	(void)args;
	if (fd < 0)
		return setup("/dev/ptmx");
	return past(ioctl(fd, TIOCSETD, &kind), EINVAL);
}

/* --- keys, the log
 * ------------------------------------------------------------------------------*/

/* KEYRING */
static int way_addkey(char **args)
{
	return CALL(SYS_add_key, low("user"), low("attack"), low("x"), 1, number(args[0]));
}

/* TYPE [CALLOUT]: ENOKEY is all that there is to be had, but a helper of the host's might run. */
static int way_requestkey(char **args)
{
	return CALL(SYS_request_key, low(args[0]), low("bm:none"), low(args[1]), 0, 0);
}

/* COMMAND [A B C D] */
static int way_keyctl(char **args)
{
	long a[4] = {};
	static char buffer[256];

	for (int i = 0; i < 4 && args[i + 1]; i++)
		a[i] = !strcmp(args[i + 1], "buffer") ? (long)buffer : number(args[i + 1]);
	return outcome(door(SYS_keyctl, number(args[0]), a[0], a[1], a[2], a[3], 0));
}

/* The session keyring that this process came with. */
static int way_session(char **args)
{
	long id = syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);

	(void)args;
	return outcome(id);
}

/* ACTION */
static int way_syslog(char **args)
{
	static char text[256];

	return CALL(SYS_syslog, number(args[0]), text, sizeof(text), 0, 0);
}

/* NUMBER [unix]: an ioctl of an interface that every network has */
static int way_interface(char **args)
{
	static struct ifreq request;
	int fd = socket(args[1] ? AF_UNIX : AF_INET, SOCK_DGRAM, 0);

	request = (struct ifreq){ .ifr_name = "lo", .ifr_ifindex = 1 };
	return fd < 0 ? setup("socket")
		      : outcome(door(SYS_ioctl, fd, number(args[0]), &request, 0, 0, 0));
}

static const struct way ways[] = {
	{ "map", way_map },
	{ "prog", way_prog },
	{ "pinned", way_pinned },
	{ "next", way_next },
	{ "byid", way_byid },
	{ "perf", way_perf },
	{ "uring", way_uring },
	{ "userfaultfd", way_userfaultfd },
	{ "init-module", way_init_module },
	{ "finit-module", way_finit_module },
	{ "delete-module", way_delete_module },
	{ "kexec", way_kexec },
	{ "kexec-file", way_kexec_file },
	{ "binfmt", way_binfmt },
	{ "congestion", way_congestion },
	{ "ulp", way_ulp },
	{ "device", way_device },
	{ "discipline", way_discipline },
	{ "addkey", way_addkey },
	{ "requestkey", way_requestkey },
	{ "keyctl", way_keyctl },
	{ "session", way_session },
	{ "syslog", way_syslog },
	{ "interface", way_interface },
};

int probe_kern(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}

/* --- sockets
 * ------------------------------------------------------------------------------------*/

static const struct {
	const char *name;
	int number;
} families[] = {
	{ "unix", AF_UNIX },
	{ "inet", AF_INET },
	{ "inet6", AF_INET6 },
	{ "netlink", AF_NETLINK },
	{ "packet", AF_PACKET },
	{ "key", AF_KEY },
	{ "alg", AF_ALG },
	{ "vsock", AF_VSOCK },
	{ "xdp", AF_XDP },
	{ "bluetooth", AF_BLUETOOTH },
	{ "can", AF_CAN },
	{ "rds", AF_RDS },
	{ "tipc", AF_TIPC },
	{ "qipcrtr", AF_QIPCRTR },
	{ "nfc", AF_NFC },
	{ "ib", AF_IB },
	{ "kcm", AF_KCM },
	{ "pppox", AF_PPPOX },
	{ "llc", AF_LLC },
	{ "x25", AF_X25 },
	{ "ax25", AF_AX25 },
	{ "smc", AF_SMC },
	{ "ieee802154", AF_IEEE802154 },
	{ "phonet", AF_PHONET },
	{ "atmpvc", AF_ATMPVC },
	{ "netrom", AF_NETROM },
	{ "rose", AF_ROSE },
	{ "appletalk", AF_APPLETALK },
	{ "ipx", AF_IPX },
	{ "rxrpc", AF_RXRPC },
	{ "isdn", AF_ISDN },
	{ "caif", AF_CAIF },
	{ "mctp", 45 },
	{ "iucv", AF_IUCV },
	{ "none", 46 },
};

static const struct {
	const char *name;
	int number;
} types[] = {
	{ "stream", SOCK_STREAM },       { "dgram", SOCK_DGRAM }, { "raw", SOCK_RAW },
	{ "seqpacket", SOCK_SEQPACKET }, { "rdm", SOCK_RDM },     { "dccp", SOCK_DCCP },
	{ "packet", SOCK_PACKET },
};

static long make_socket(char **args)
{
	static int pair[2];
	int family = -1, type = -1;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (!strcmp(families[i].name, args[0]))
			family = families[i].number;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, args[1]))
			type = types[i].number;
	if (family < 0 || type < 0)
		_exit(setup(args[0]));
	if (args[3])
		return door(SYS_socketpair, family, type, number(args[2]), pair, 0, 0);
	return door(SYS_socket, family, type, number(args[2]), 0, 0, 0);
}

/* FAMILY TYPE PROTOCOL [pair] */
int probe_sock(char **args)
{
	return outcome(make_socket(args));
}

/*
 * The same outside. A kernel that has not this kind of socket says so only after it has asked the
 * walls: that is to be let through.
 */
int probe_asked(char **args)
{
	long fd = make_socket(args);
	bool none = errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT || errno == ESOCKTNOSUPPORT ||
		    errno == EOPNOTSUPP || errno == ENODEV ||
		    errno == EACCES /* ping_group_range */;

	return fd < 0 && none ? 0 : outcome(fd);
}

/* --- cgroups
 * ------------------------------------------------------------------------------------*/

/* PATH: the file of a directory that takes processes */
static int way_join(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return fd < 0 ? errno : outcome(write(fd, "0", 1) < 0 ? -1 : 0);
}

/* DIR */
static int way_into(char **args)
{
	static struct {
		uint64_t words[11];
	} clone;
	int fd = open(args[0], O_RDONLY | O_DIRECTORY);
	long pid;

	if (fd < 0)
		fd = open(args[0], O_PATH);
	if (fd < 0)
		return errno;
	clone.words[0] = 0x200000000ull; /* CLONE_INTO_CGROUP */
	clone.words[4] = SIGCHLD;
	clone.words[10] = (uint64_t)fd;
	pid = door(SYS_clone3, &clone, sizeof(clone), 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

/* DIR */
static int way_make(char **args)
{
	return mkdir(args[0], 0755) < 0 ? errno : outcome(rmdir(args[0]));
}

/* FILE VALUE */
static int way_write(char **args)
{
	int fd = open(args[0], O_WRONLY);

	return fd < 0 ? errno : outcome(write(fd, args[1], strlen(args[1])) < 0 ? -1 : 0);
}

static const struct way cgroup_ways[] = {
	{ "join", way_join },
	{ "into", way_into },
	{ "make", way_make },
	{ "write", way_write },
};

int probe_cgrp(char **args)
{
	return by_way(cgroup_ways, sizeof(cgroup_ways) / sizeof(cgroup_ways[0]), args);
}

/* --- core dumps
 * ---------------------------------------------------------------------------------*/

/* [LIMIT]: dies of SIGSEGV in a child. What became of the core, the test sees outside. */
int probe_crash(char **args)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (args[0])
			limit.rlim_cur = (rlim_t)number(args[0]);
		if (setrlimit(RLIMIT_CORE, &limit) < 0) {
			getrlimit(RLIMIT_CORE, &limit);
			limit.rlim_cur = limit.rlim_max;
			setrlimit(RLIMIT_CORE, &limit);
		}
		raise(SIGSEGV);
		_exit(SETUP);
	}
	if (waitpid(pid, &status, 0) != pid)
		return setup("fork");
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 0 : SETUP;
}
