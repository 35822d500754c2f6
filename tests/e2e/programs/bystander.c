// SPDX-License-Identifier: GPL-2.0-only
/*
 * What any program may do, and what came of it, so that it can be compared with another time:
 *
 *   bystander DIR    works in DIR, which is empty
 */
#include "say.h"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <linux/aio_abi.h>
#include <linux/bpf.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>

static const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 2 } };

static void opens(void)
{
	char buf[64];
	int fd, dir;
	struct stat st;

	fd = made("create", open("file", O_RDWR | O_CREAT | O_EXCL, 0644));
	say("write", write(fd, "hello, file\n", 12));
	say("pread", pread(fd, buf, 5, 7));
	say("pwritev", pwritev(fd, &(struct iovec){ "HELLO", 5 }, 1, 0));
	say("lseek", lseek(fd, 0, SEEK_END));
	say("fallocate", fallocate(fd, 0, 0, 65536));
	say("ftruncate", ftruncate(fd, 12));
	say("fdatasync", fdatasync(fd));
	say("FIONREAD", ioctl(fd, FIONREAD, &(int){ 0 }));
	say("FS_IOC_GETFLAGS", ioctl(fd, FS_IOC_GETFLAGS, &(int){ 0 }));
	say("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &(int){ FS_NOATIME_FL }));
	say("FICLONE to itself", ioctl(fd, FICLONE, fd));
	say("TCGETS", ioctl(fd, 0x5401, buf));
	closed(fd);
	closed(made("exclusive", open("file", O_CREAT | O_EXCL | O_RDWR, 0644)));
	closed(made("neither", open("file", 3)));
	closed(made("O_PATH", open("file", O_PATH)));
	closed(made("O_TRUNC", open("file", O_RDONLY | O_TRUNC)));
	closed(made("O_DIRECT", open("file", O_RDWR | O_DIRECT)));
	closed(made("not there", open("nothing", O_RDONLY)));
	closed(made("no directory", open("file/x", O_RDONLY)));
	fd = made("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600));
	snprintf(buf, sizeof(buf), "/proc/self/fd/%d", fd);
	say("  link", linkat(AT_FDCWD, buf, AT_FDCWD, "tmp", AT_SYMLINK_FOLLOW));
	closed(made("  again", open(buf, O_RDONLY)));
	closed(fd);
	dir = made("directory", open(".", O_RDONLY | O_DIRECTORY));
	say("getdents", syscall(SYS_getdents64, dir, (char[1024]){}, 1024) > 0);
	closed(made("openat", openat(dir, "file", O_RDWR)));
	say("fstatat", fstatat(dir, "file", &st, AT_SYMLINK_NOFOLLOW));
	say("fchdir", fchdir(dir));
	closed(dir);
	say("access", access("file", R_OK | W_OK));
	say("access x", access("file", X_OK));
	say("statx", syscall(SYS_statx, AT_FDCWD, "file", 0, 0x7ff, (char[256]){}));
}

static void handles(void)
{
	struct {
		struct file_handle head;
		char bytes[128];
	} handle = { .head.handle_bytes = 128 };
	int mount, dir = open(".", O_RDONLY | O_DIRECTORY);

	say("name_to_handle_at", name_to_handle_at(AT_FDCWD, "file", &handle.head, &mount, 0));
	closed(made("open_by_handle_at", open_by_handle_at(dir, &handle.head, O_RDWR)));
	close(dir);
}

static void names(void)
{
	char buf[64];

	say("mkdir", mkdir("dir", 02755));
	say("symlink", symlink("file", "symlink"));
	say("readlink", readlink("symlink", buf, sizeof(buf)));
	say("link", link("file", "linked"));
	say("rename", rename("linked", "dir/renamed"));
	say("exchange", renameat2(AT_FDCWD, "tmp", AT_FDCWD, "dir", RENAME_EXCHANGE));
	say("exchange back", renameat2(AT_FDCWD, "tmp", AT_FDCWD, "dir", RENAME_EXCHANGE));
	say("no replace", renameat2(AT_FDCWD, "tmp", AT_FDCWD, "file", RENAME_NOREPLACE));
	say("whiteout", renameat2(AT_FDCWD, "tmp", AT_FDCWD, "moved", RENAME_WHITEOUT));
	say("unlink whiteout", unlink("tmp"));
	say("mkfifo", mkfifo("fifo", 0600));
	say("mknod", mknod("null", S_IFCHR | 0600, makedev(1, 3)));
	closed(made("open node", open("null", O_RDWR)));
	say("rmdir full", rmdir("dir"));
	say("unlink", unlink("dir/renamed"));
	say("rmdir", rmdir("dir"));
	say("chmod", chmod("file", 06755));
	say("chown", chown("file", 5, 6));
	say("chown back", chown("file", 0, 0));
	say("chown same", chown("file", 0, -1));
	say("lchown", lchown("symlink", 5, 6));
	say("utimes", utimensat(AT_FDCWD, "file", times, 0));
	say("truncate", truncate("file", 4096));
	say("setxattr", setxattr("file", "user.name", "value", 5, 0));
	say("setxattr trusted", setxattr("file", "trusted.name", "value", 5, 0));
	say("setxattr security", setxattr("file", "security.name", "value", 5, 0));
	say("getxattr", getxattr("file", "user.name", buf, sizeof(buf)));
	say("listxattr", listxattr("file", buf, sizeof(buf)));
	say("removexattr", removexattr("file", "user.name"));
	say("getxattr acl", getxattr("file", "system.posix_acl_access", buf, sizeof(buf)));
}

/* What a Bench may not do to a ro object, so that the host can always. */
static void watches(void)
{
	char buf[512];
	int fd = open("file", O_RDWR), reader = open("file", O_RDONLY), watch;
	struct flock lock = { .l_type = F_WRLCK, .l_len = 10 };

	say("flock", flock(fd, LOCK_EX | LOCK_NB));
	say("flock other", flock(reader, LOCK_SH | LOCK_NB));
	say("unlock", flock(fd, LOCK_UN));
	say("F_SETLK", fcntl(fd, F_SETLK, &lock));
	say("F_OFD_SETLK", fcntl(reader, F_OFD_SETLK, &lock));
	lock.l_type = F_UNLCK;
	say("F_UNLCK", fcntl(fd, F_SETLK, &lock));
	closed(fd);
	say("lease", fcntl(reader, F_SETLEASE, F_RDLCK));
	say("  open nonblock", open("file", O_WRONLY | O_NONBLOCK));
	say("lease back", fcntl(reader, F_SETLEASE, F_UNLCK));
	closed(reader);
	fd = open(".", O_RDONLY);
	say("F_NOTIFY", fcntl(fd, F_NOTIFY, DN_CREATE));
	closed(fd);
	fd = made("inotify", inotify_init1(IN_NONBLOCK));
	watch = inotify_add_watch(fd, ".", IN_CREATE | IN_MODIFY | IN_OPEN | IN_DELETE);
	made("  watch", watch);
	closed(open("watched", O_WRONLY | O_CREAT, 0600));
	say("  event", read(fd, buf, sizeof(buf)) > 0);
	closed(fd);
	fd = made("fanotify", fanotify_init(FAN_CLASS_CONTENT | FAN_NONBLOCK, O_RDONLY));
	say("  mark", fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, "watched"));
	closed(open("watched", O_RDONLY));
	say("  event", read(fd, buf, sizeof(buf)) > 0);
	closed(fd);
}

static void moves(void)
{
	char buf[64] = "";
	int fd = open("file", O_RDWR), to = open("copy", O_RDWR | O_CREAT, 0755), ring;
	int ends[2], others[2];
	struct io_uring_params params = {};
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)buf };
	struct iocb *cbs[] = { &cb };
	struct io_event event;
	aio_context_t aio = 0;
	void *map;

	say("pipes", pipe(ends) ?: pipe(others));
	say("splice", splice(fd, NULL, ends[1], NULL, 16, 0));
	say("tee", tee(ends[0], others[1], 16, SPLICE_F_NONBLOCK));
	say("splice out", splice(ends[0], NULL, to, NULL, 16, 0));
	say("vmsplice", vmsplice(ends[1], &(struct iovec){ buf, 8 }, 1, 0));
	say("sendfile", sendfile(to, fd, NULL, 16));
	say("copy_file_range", copy_file_range(fd, NULL, to, NULL, 16, 0));
	say("io_setup", syscall(SYS_io_setup, 1, &aio));
	cb.aio_fildes = (uint32_t)fd;
	cb.aio_nbytes = 8;
	say("io_submit", syscall(SYS_io_submit, aio, 1, cbs));
	say("io_getevents", syscall(SYS_io_getevents, aio, 1, 1, &event, NULL));
	say("io_destroy", syscall(SYS_io_destroy, aio));
	ring = made("io_uring_setup", syscall(SYS_io_uring_setup, 2, &params));
	closed(ring);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	made("mmap", map == MAP_FAILED ? -1 : 0);
	say("mprotect x", mprotect(map, 4096, PROT_READ | PROT_EXEC));
	say("msync", msync(map, 4096, MS_SYNC));
	say("munmap", munmap(map, 4096));
	map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	made("mmap x", map == MAP_FAILED ? -1 : 0);
	map = mmap(NULL, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made("mmap anonymous rwx", map == MAP_FAILED ? -1 : 0);
	closed(made("memfd", memfd_create("x", MFD_CLOEXEC)));
	closed(made("eventfd", eventfd(0, 0)));
	closed(fd);
	closed(to);
	for (int i = 0; i < 2; i++) {
		closed(ends[i]);
		closed(others[i]);
	}
}

static void say_exec(const char *what, const char *path)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, "--exit", NULL);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	say(what, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void executes(const char *self)
{
	int from = open(self, O_RDONLY), to = open("prog", O_WRONLY | O_CREAT, 0755), fd;
	char script[300];

	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	closed(from);
	say_exec("text file busy", "./prog");
	closed(to);
	say_exec("exec", "./prog");
	say_exec("not executable", "./watched");
	say_exec("not there", "./nothing");
	say_exec("empty", "./copy");
	fd = open("script", O_WRONLY | O_CREAT, 0755);
	snprintf(script, sizeof(script), "#!%s --exit\n", self);
	say("script", write(fd, script, strlen(script)) > 0);
	closed(fd);
	say_exec("exec script", "./script");
}

static void processes(void)
{
	char buf[8] = "", other[8] = "", name[128];
	struct iovec mine = { buf, 8 }, theirs = { other, 8 };
	struct rlimit limit = { 1 << 30, 1 << 30 };
	pid_t pid = fork();
	int fd, status;
	long size;

	if (pid == 0) {
		pause();
		_exit(0);
	}
	say("ptrace seize", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
	say("ptrace interrupt", ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	waitpid(pid, &status, __WALL);
	say("ptrace detach", ptrace(PTRACE_DETACH, pid, NULL, NULL));
	say("process_vm_readv", process_vm_readv(pid, &mine, 1, &theirs, 1, 0));
	say("kcmp", syscall(SYS_kcmp, getpid(), pid, 2, 0, 0) >= 0);
	fd = made("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
	closed(made("pidfd_getfd", syscall(SYS_pidfd_getfd, fd, 1, 0)));
	say("prlimit", prlimit(pid, RLIMIT_FSIZE, &limit, NULL));
	say("setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 5));
	say("sched_setscheduler", sched_setscheduler(pid, SCHED_BATCH, &(struct sched_param){}));
	say("setpgid", setpgid(pid, pid));
	say("kill 0", kill(pid, 0));
	say("pidfd_send_signal", syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0));
	waitpid(pid, &status, 0);
	say("killed", status);
	closed(fd);
	say("kill nobody", kill(1 << 22, 0));
	fd = made("init's environment", open("/proc/1/environ", O_RDONLY));
	closed(fd);
	closed(made("kallsyms", open("/proc/kallsyms", O_RDONLY)));
	fd = made("sysctl", open("/proc/sys/kernel/hostname", O_RDWR));
	size = say("  read", read(fd, name, sizeof(name)));
	say("  written back", pwrite(fd, name, size > 0 ? (size_t)size : 0, 0));
	closed(fd);
}

static int in_child(int (*what)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		int r = what();

		_exit(r < 0 ? errno : r);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int new_user(void)
{
	return unshare(CLONE_NEWUSER);
}

static int new_mounts(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (mount("none", "mnt", "tmpfs", 0, NULL) || mount(".", "mnt", NULL, MS_BIND, NULL))
		return -1;
	if (mount(NULL, "mnt", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) || umount("mnt"))
		return -1;
	return chroot("mnt");
}

static int new_network(void)
{
	return unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
}

static int other_user(void)
{
	if (setgroups(0, NULL) || setresgid(1000, 1000, 1000) || setresuid(1000, 1000, 1000))
		return -1;
	return open("file", O_RDWR);
}

static int no_more_rights(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ?: prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static void privileges(void)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1
	};
	struct perf_event_attr perf = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(perf),
					.config = PERF_COUNT_SW_TASK_CLOCK };

	say("mkdir", mkdir("mnt", 0755));
	say("user namespace", in_child(new_user));
	say("mount namespace", in_child(new_mounts));
	say("network namespace", in_child(new_network));
	say("another user", in_child(other_user));
	say("no_new_privs", in_child(no_more_rights));
	closed(made("bpf", syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map))));
	closed(made("perf", syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0)));
	closed(made("open_tree", syscall(SYS_open_tree, AT_FDCWD, ".", 1)));
	closed(made("fsopen", syscall(SYS_fsopen, "tmpfs", 0)));
	closed(made("userfaultfd", syscall(SYS_userfaultfd, 0)));
	say("add_key", syscall(SYS_add_key, "user", "k", "v", 1, -2) > 0);
}

static void ipc(void)
{
	struct {
		long type;
		char text[8];
	} message = { 1, "hello" };
	int id = made("shmget", shmget(IPC_PRIVATE, 4096, 0600));
	void *map = shmat(id, NULL, SHM_EXEC);
	mqd_t queue;

	made("shmat", map == (void *)-1 ? -1 : 0);
	say("shmdt", shmdt(map));
	say("shmctl", shmctl(id, IPC_RMID, NULL));
	id = made("msgget", msgget(IPC_PRIVATE, 0600));
	say("msgsnd", msgsnd(id, &message, 6, 0));
	say("msgrcv", msgrcv(id, &message, 8, 0, 0));
	say("msgctl", msgctl(id, IPC_RMID, NULL));
	id = made("semget", semget(IPC_PRIVATE, 1, 0600));
	say("semop", semop(id, &(struct sembuf){ 0, 1, 0 }, 1));
	say("semctl", semctl(id, 0, IPC_RMID));
	queue = mq_open("/e2e-bystander", O_RDWR | O_CREAT, 0600, NULL);
	made("mq_open", queue);
	say("mq_send", mq_send(queue, "hello", 5, 0));
	say("mq_close", mq_close(queue));
	say("mq_unlink", mq_unlink("/e2e-bystander"));
}

static void unix_sockets(void)
{
	struct sockaddr_un address = { AF_UNIX, "socket" };
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	int fd = made("unix", socket(AF_UNIX, SOCK_STREAM, 0)), other, accepted;

	say("  bind", bind(fd, (void *)&address, sizeof(address)));
	say("  bind again", bind(fd, (void *)&address, sizeof(address)));
	say("  listen", listen(fd, 1));
	other = socket(AF_UNIX, SOCK_STREAM, 0);
	say("  connect", connect(other, (void *)&address, sizeof(address)));
	accepted = made("  accept", accept(fd, NULL, NULL));
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
	say("  SCM_RIGHTS", sendmsg(other, &msg, 0));
	say("  received", recvmsg(accepted, &msg, 0));
	say("  flags", msg.msg_flags);
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	made("  passed", fcntl(fd, F_GETFD));
	closed(accepted);
	closed(other);
	say("  unlink", unlink("socket"));
	other = socket(AF_UNIX, SOCK_DGRAM, 0);
	say("  nobody there", sendto(other, "x", 1, 0, (void *)&address, sizeof(address)));
	closed(other);
}

static void inet(int family, const char *what)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in four = { AF_INET, 0, { htonl(INADDR_LOOPBACK) }, "" };
	struct sockaddr *to = family == AF_INET ? (void *)&four : (void *)&address;
	socklen_t size = family == AF_INET ? sizeof(four) : sizeof(address);
	char buf[8];
	int fd = made(what, socket(family, SOCK_STREAM, 0)), other, accepted, raised = 1;

	say("  reuse", setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &raised, sizeof(raised)));
	say("  bind", bind(fd, to, size));
	say("  name", getsockname(fd, to, &size));
	other = socket(family, SOCK_STREAM, 0);
	say("  refused", connect(other, to, size));
	closed(other);
	say("  listen", listen(fd, 1));
	other = socket(family, SOCK_STREAM, 0);
	say("  fast open", setsockopt(other, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &raised, 4));
	say("  connect", connect(other, to, size));
	say("  send", send(other, "hello", 5, MSG_NOSIGNAL));
	accepted = made("  accept", accept(fd, NULL, NULL));
	say("  recv", recv(accepted, buf, sizeof(buf), 0));
	closed(accepted);
	closed(other);
	closed(fd);
	fd = made("  udp", socket(family, SOCK_DGRAM, 0));
	say("  bind", bind(fd, to, size));
	other = socket(family, SOCK_DGRAM, 0);
	say("  sendto", sendto(other, "hello", 5, 0, to, size));
	say("  connect", connect(other, to, size));
	say("  send", send(other, "hello", 5, 0));
	say("  device", setsockopt(other, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	say("  options", setsockopt(other, IPPROTO_IP, 4, "\x01\x01\x01\x01", 4));
	say("  recv", recv(fd, buf, sizeof(buf), 0));
	closed(other);
	closed(fd);
}

static void sockets(void)
{
	static const struct {
		const char *what;
		int family, type, protocol;
	} kinds[] = {
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_ICMP },
		{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP },
		{ "mptcp", AF_INET, SOCK_STREAM, 262 },
		{ "udplite", AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE },
		{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP },
		{ "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "route", AF_NETLINK, SOCK_RAW, 0 },
		{ "netfilter", AF_NETLINK, SOCK_RAW, 12 },
		{ "uevent", AF_NETLINK, SOCK_RAW, 15 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "seqpacket", AF_UNIX, SOCK_SEQPACKET, 0 },
		{ "no family", 44, SOCK_STREAM, 0 },
	};
	struct sockaddr_in nowhere = { AF_INET, htons(9), { htonl(0xcb007107) }, "" };
	int fd;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		closed(made(kinds[i].what,
			    socket(kinds[i].family, kinds[i].type, kinds[i].protocol)));
	inet(AF_INET, "tcp");
	inet(AF_INET6, "tcp6");
	unix_sockets();
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	say("no route", connect(fd, (void *)&nowhere, sizeof(nowhere)));
	say("SIOCGIFCONF", ioctl(fd, 0x8912, &(long[2]){}));
	closed(fd);
}

int main(int argc, char **argv)
{
	/* What is executed here is this program again. */
	if (argc > 1 && !strcmp(argv[1], "--exit"))
		return 42;
	if (argc != 2 || chdir(argv[1]))
		return 2;
	/* A lease that breaks and a directory that is watched tell by it. */
	signal(SIGIO, SIG_IGN);
	umask(022);
	opens();
	handles();
	names();
	watches();
	moves();
	executes("/proc/self/exe");
	processes();
	privileges();
	ipc();
	sockets();
	return 0;
}
