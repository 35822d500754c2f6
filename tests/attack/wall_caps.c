// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities: what each is for, in a way that leaves the machine as it was. */
#include "payload.h"

#include <fcntl.h>
#include <grp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/reboot.h>

static int way_hostname(char **args)
{
	static struct utsname name;

	(void)args;
	uname(&name);
	return outcome(door(SYS_sethostname, name.nodename, strlen(name.nodename), 0, 0, 0, 0));
}

static int way_domainname(char **args)
{
	static struct utsname name;

	(void)args;
	uname(&name);
	return outcome(
		door(SYS_setdomainname, name.domainname, strlen(name.domainname), 0, 0, 0, 0));
}

static int way_settime(char **args)
{
	static struct timespec now;

	(void)args;
	clock_gettime(CLOCK_REALTIME, &now);
	return outcome(door(SYS_clock_settime, CLOCK_REALTIME, &now, 0, 0, 0, 0));
}

static int way_settimeofday(char **args)
{
	struct timespec now;
	struct timeval time;

	(void)args;
	clock_gettime(CLOCK_REALTIME, &now);
	time = (struct timeval){ now.tv_sec, now.tv_nsec / 1000 };
	return outcome(syscall(SYS_settimeofday, &time, NULL));
}

static int way_adjtime(char **args)
{
	struct timex timex = {};

	(void)args;
	if (adjtimex(&timex) < 0)
		return errno;
	timex.modes = ADJ_FREQUENCY;
	return outcome(adjtimex(&timex) < 0 ? -1 : 0);
}

static int inet_ioctl(unsigned long get, unsigned long set)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct ifreq lo = { .ifr_name = "lo" };

	if (fd < 0)
		return setup("socket");
	return outcome(ioctl(fd, get, &lo) < 0 ? -1 : ioctl(fd, set, &lo));
}

static int way_ifflags(char **args)
{
	(void)args;
	return inet_ioctl(SIOCGIFFLAGS, SIOCSIFFLAGS);
}

static int way_mtu(char **args)
{
	(void)args;
	return inet_ioctl(SIOCGIFMTU, SIOCSIFMTU);
}

/* By rtnetlink, the one family there is: an address on lo. */
static int way_address(char **args)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg address;
		struct rtattr attr;
		uint32_t local;
	} request = {
		.head = { sizeof(request), RTM_NEWADDR,
			  NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE },
		.address = { AF_INET, 32, 0, RT_SCOPE_HOST, 1 },
		.attr = { sizeof(struct rtattr) + 4, IFA_LOCAL },
		.local = htonl(0x7f000042),
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char more[512];
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	(void)args;
	if (fd < 0)
		return errno;
	if (send(fd, &request, sizeof(request), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0 ||
	    reply.head.nlmsg_type != NLMSG_ERROR)
		return setup("rtnetlink");
	return -reply.error.error;
}

static int option(int level, int name, int value)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		return setup("socket");
	return outcome(setsockopt(fd, level, name, &value, sizeof(value)));
}

static int way_mark(char **args)
{
	(void)args;
	return option(SOL_SOCKET, SO_MARK, 7);
}

static int way_bufforce(char **args)
{
	(void)args;
	return option(SOL_SOCKET, SO_RCVBUFFORCE, 4096);
}

static int way_transparent(char **args)
{
	(void)args;
	return option(SOL_IP, IP_TRANSPARENT, 1);
}

static int way_raise(char **args)
{
	struct rlimit64 limit = { 64, 64 };

	(void)args;
	if (prlimit64(0, RLIMIT_NOFILE, &limit, NULL) < 0)
		return setup("prlimit");
	limit.rlim_max++;
	return outcome(prlimit64(0, RLIMIT_NOFILE, &limit, NULL));
}

static int way_pipe(char **args)
{
	int fds[2];

	(void)args;
	if (pipe(fds) < 0)
		return setup("pipe");
	return outcome(fcntl(fds[0], F_SETPIPE_SZ, 4 << 20) < 0 ? -1 : 0);
}

static int way_nice(char **args)
{
	(void)args;
	return outcome(setpriority(PRIO_PROCESS, 0, -5));
}

static int way_fifo(char **args)
{
	struct sched_param param = { .sched_priority = 1 };

	(void)args;
	return outcome(sched_setscheduler(0, SCHED_FIFO, &param));
}

static int way_ioprio(char **args)
{
	(void)args;
	return outcome(syscall(SYS_ioprio_set, 1, 0, 1 << 13)); /* real time */
}

/* PATH */
static int way_immutable(char **args)
{
	int fd = open(args[0], O_RDONLY | O_CREAT, 0600), flags = 0, r;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return setup(args[0]);
	flags |= FS_IMMUTABLE_FL;
	r = outcome(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	flags &= ~FS_IMMUTABLE_FL;
	if (r == 0)
		ioctl(fd, FS_IOC_SETFLAGS, &flags);
	return r;
}

static int way_mlock(char **args)
{
	static char page[8192];
	struct rlimit none = { 0, 0 };

	(void)args;
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
		return setup("setrlimit");
	return outcome(mlock(page, sizeof(page)));
}

/* Of a child that became another user: beyond what uid 0 may by itself. */
static int way_ptrace(char **args)
{
	int ready[2], r;
	pid_t pid;
	char byte;

	(void)args;
	if (pipe(ready) < 0)
		return setup("pipe");
	pid = fork();
	if (pid == 0) {
		if (setgid(1) < 0 || setuid(1) < 0 || write(ready[1], "x", 1) != 1)
			_exit(SETUP);
		pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return setup("child");
	r = outcome(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, __WALL);
	return r;
}

static int way_hangup(char **args)
{
	(void)args;
	if (setsid() < 0)
		return setup("setsid");
	return outcome(door(SYS_vhangup, 0, 0, 0, 0, 0, 0));
}

/* Says only what Ctrl-Alt-Del does. */
static int way_reboot(char **args)
{
	(void)args;
	return past(door(SYS_reboot, (long)(int)LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2,
			 LINUX_REBOOT_CMD_CAD_OFF, 0, 0, 0),
		    EINVAL);
}

static int way_iopl(char **args)
{
	(void)args;
	return outcome(door(SYS_iopl, 3, 0, 0, 0, 0, 0));
}

static int way_ioperm(char **args)
{
	(void)args;
	return outcome(door(SYS_ioperm, 0x80, 1, 1, 0, 0, 0));
}

static int way_acct(char **args)
{
	(void)args;
	return outcome(door(SYS_acct, 0, 0, 0, 0, 0, 0));
}

static int way_swapon(char **args)
{
	static const char path[] = "/nothing/here";

	(void)args;
	return past(door(SYS_swapon, path, 0, 0, 0, 0, 0), ENOENT);
}

static int way_alarm(char **args)
{
	int fd = timerfd_create(CLOCK_BOOTTIME_ALARM, 0);

	(void)args;
	return outcome(fd);
}

static int way_setmm(char **args)
{
	(void)args;
	return past(prctl(PR_SET_MM, PR_SET_MM_ARG_START, 1, 0, 0), EINVAL);
}

static int way_settid(char **args)
{
	pid_t wanted = 4194000;
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
			set_tid, set_tid_size, cgroup;
	} clone = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1 };
	long pid;
	FILE *max = fopen("/proc/sys/kernel/pid_max", "r");

	(void)args;
	if (max && fscanf(max, "%d", &wanted) == 1)
		wanted -= 3;
	if (max)
		fclose(max);
	pid = syscall(SYS_clone3, &clone, sizeof(clone));
	if (pid == 0)
		_exit(0);
	return outcome(pid);
}

static int way_bounding(char **args)
{
	(void)args;
	return outcome(prctl(PR_CAPBSET_DROP, CAP_WAKE_ALARM, 0, 0, 0));
}

/* PATH */
static int way_handle(char **args)
{
	static union {
		struct file_handle head;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = { .head.handle_bytes = MAX_HANDLE_SZ };
	int mount, fd = open(args[0], O_RDONLY | O_DIRECTORY);

	if (fd < 0 || name_to_handle_at(AT_FDCWD, args[0], &handle.head, &mount, 0) < 0)
		return setup(args[0]);
	return outcome(door(SYS_open_by_handle_at, fd, &handle, O_RDONLY, 0, 0, 0));
}

/* PATH MAJOR MINOR [fifo|block] */
static int way_mknod(char **args)
{
	bool block = args[3] && !strcmp(args[3], "block");

	return outcome(door(SYS_mknod, low(args[0]), (block ? S_IFBLK : S_IFCHR) | 0666,
			    number(args[1]) << 8 | number(args[2]), 0, 0, 0));
}

static int way_fanotify(char **args)
{
	(void)args;
	return outcome(door(SYS_fanotify_init, 0, O_RDONLY, 0, 0, 0, 0));
}

/* --- what builds and package managers need
 * ------------------------------------------------------*/

static int way_chroot(char **args)
{
	(void)args;
	return outcome(door(SYS_chroot, "/", 0, 0, 0, 0, 0));
}

static int way_setuid(char **args)
{
	gid_t groups[] = { 1, 2 };

	(void)args;
	if (setgroups(2, groups) < 0 || setresgid(1, 1, 1) < 0)
		return errno;
	return outcome(setresuid(1, 1, 1));
}

/* PATH, made: its owner, its mode, its set-id bit, what its mode forbids root. */
static int way_files(char **args)
{
	int fd = open(args[0], O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		return setup(args[0]);
	if (chown(args[0], 1, 1) < 0 || chmod(args[0], 04700) < 0 || chmod(args[0], 0) < 0)
		return errno;
	close(fd);
	return outcome(open(args[0], O_RDWR));
}

static int way_killother(char **args)
{
	pid_t pid = fork();
	int r;

	(void)args;
	if (pid == 0) {
		if (setresuid(1, 1, 1) < 0)
			_exit(SETUP);
		pause();
	}
	r = outcome(kill(pid, SIGKILL));
	waitpid(pid, NULL, 0);
	return r;
}

static int way_bind80(char **args)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(81) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)args;
	return outcome(bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

/* NUMBER PROBE ARGS...: permitted still, and no more effective. */
static int way_without(char **args)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2];
	int dropped = number(args[0]);

	if (syscall(SYS_capget, &header, sets) < 0)
		return setup("capget");
	sets[dropped / 32].effective &= ~(1u << dropped % 32);
	if (syscall(SYS_capset, &header, sets) < 0)
		return setup("capset");
	return run_probe(args + 1);
}

static const struct way ways[] = {
	{ "sethostname", way_hostname },
	{ "setdomainname", way_domainname },
	{ "settime", way_settime },
	{ "settimeofday", way_settimeofday },
	{ "adjtime", way_adjtime },
	{ "ifflags", way_ifflags },
	{ "mtu", way_mtu },
	{ "address", way_address },
	{ "mark", way_mark },
	{ "bufforce", way_bufforce },
	{ "transparent", way_transparent },
	{ "raise", way_raise },
	{ "pipe", way_pipe },
	{ "nice", way_nice },
	{ "fifo", way_fifo },
	{ "ioprio", way_ioprio },
	{ "immutable", way_immutable },
	{ "mlock", way_mlock },
	{ "ptrace", way_ptrace },
	{ "hangup", way_hangup },
	{ "reboot", way_reboot },
	{ "iopl", way_iopl },
	{ "ioperm", way_ioperm },
	{ "acct", way_acct },
	{ "swapon", way_swapon },
	{ "alarm", way_alarm },
	{ "setmm", way_setmm },
	{ "settid", way_settid },
	{ "bounding", way_bounding },
	{ "handle", way_handle },
	{ "mknod", way_mknod },
	{ "fanotify", way_fanotify },
	{ "chroot", way_chroot },
	{ "setuid", way_setuid },
	{ "files", way_files },
	{ "killother", way_killother },
	{ "bind80", way_bind80 },
	{ "without", way_without },
};

int probe_cap(char **args)
{
	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}
