// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be done to an overlay, so that what becomes of its layers can be compared:
 *
 *   layers make DIR    the tree that is to be the lower layer
 *   layers run DIR     uses it, and says what came of each call
 *   layers wait DIR    until it is killed
 */
#include "say.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <linux/fs.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>

static const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

static const char *const directories[] = { "dir", "whole", "whole/b", "moved",    "gone",
					   "dx",  "deep",  "deep/1",  "deep/1/2", "swap" };

static const char *const files[] = {
	"read",    "chmod",      "chown", "append", "rename",  "over",      "delete",  "again",
	"link",    "xattr",      "acl",   "mmap",   "shorter", "longer",    "times",   "otrunc",
	"swap/in", "outside",    "dir/a", "dir/b",  "whole/a", "whole/b/c", "moved/a", "gone/a",
	"dx/a",    "deep/1/2/f", "from",  "setid",  "locked",  "flags",     "private", "sparse",
};

static void must(const char *what, int r)
{
	if (r < 0) {
		perror(what);
		exit(1);
	}
}

static void make(void)
{
	int fd;

	umask(0);
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++)
		must(directories[i], mkdir(directories[i], 0755));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		fd = open(files[i], O_WRONLY | O_CREAT | O_EXCL, 0644);
		must(files[i], fd);
		must(files[i], dprintf(fd, "content of %s\n", files[i]));
		close(fd);
	}
	fd = open("flags", O_RDONLY);
	must("flags", ioctl(fd, FS_IOC_SETFLAGS, &(int){ FS_NOATIME_FL }));
	close(fd);
	must("setid", chmod("setid", 06755));
	must("sparse", truncate("sparse", 3 << 20));
	must("xattr", setxattr("xattr", "user.lower", "value", 5, 0));
	must("dx", setxattr("dx", "user.lower", "value", 5, 0));
	must("symlink", symlink("read", "symlink"));
	must("hard", link("read", "hard"));
	must("fifo", mkfifo("fifo", 0600));
	must("node", mknod("node", S_IFCHR | 0600, makedev(1, 3)));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		must(files[i], utimensat(AT_FDCWD, files[i], old, 0));
}

static void say_open(const char *what, const char *path, int flags, const char *text)
{
	int fd = made(what, open(path, flags, 0640));

	if (fd >= 0 && text)
		say("  write", write(fd, text, strlen(text)));
	closed(fd);
}

static void say_read(const char *path)
{
	char buf[256] = "";
	int fd = made("open", open(path, O_RDONLY));

	if (fd >= 0 && say("  read", read(fd, buf, sizeof(buf) - 1)) > 0)
		printf("  %s", buf);
	closed(fd);
}

static void say_stat(const char *path)
{
	struct stat st;

	if (say(path, lstat(path, &st)) == 0)
		printf("  %o %d:%d %ld bytes, %ld links\n", st.st_mode, (int)st.st_uid,
		       (int)st.st_gid, S_ISDIR(st.st_mode) ? 0 : (long)st.st_size,
		       S_ISDIR(st.st_mode) ? 0 : (long)st.st_nlink);
}

static long set_acl(const char *path, const char *name)
{
	struct {
		struct posix_acl_xattr_header head;
		struct posix_acl_xattr_entry entries[5];
	} acl = { { POSIX_ACL_XATTR_VERSION },
		  { { ACL_USER_OBJ, 6, (uint32_t)-1 },
		    { ACL_USER, 6, 1 },
		    { ACL_GROUP_OBJ, 4, (uint32_t)-1 },
		    { ACL_MASK, 6, (uint32_t)-1 },
		    { ACL_OTHER, 0, (uint32_t)-1 } } };

	return setxattr(path, name, &acl, sizeof(acl), 0);
}

/* A file of the lower layer that was opened to be read, and then is copied up by a writer. */
static void stale_reader(void)
{
	char buf[64] = "";
	int reader = made("reader", open("outside", O_RDONLY));

	say_open("writer", "outside", O_WRONLY, "CONTENT");
	say("reader reads", pread(reader, buf, sizeof(buf) - 1, 0));
	printf("  %s", buf);
	closed(reader);
}

static void contents(void)
{
	char value[64];
	char *map;
	int fd, to, flags = 0;

	say_read("read");
	say_read("deep/1/2/f");
	say_open("append", "append", O_WRONLY | O_APPEND, "more\n");
	say_open("truncated at open", "otrunc", O_WRONLY | O_TRUNC, "new\n");
	say("truncate", truncate("shorter", 3));
	say("truncate", truncate("longer", 70000));
	stale_reader();

	fd = made("mmap shared", open("mmap", O_RDWR));
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (made("  map", map == MAP_FAILED ? -1 : 0) == 0) {
		memcpy(map, "MAPPED", 6);
		say("  msync", msync(map, 4096, MS_SYNC));
		munmap(map, 4096);
	}
	closed(fd);
	fd = made("mmap private", open("private", O_RDONLY));
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (made("  map", map == MAP_FAILED ? -1 : 0) == 0) {
		memcpy(map, "PRIVATE", 7);
		say("  executable", mprotect(map, 4096, PROT_READ | PROT_EXEC));
		munmap(map, 4096);
	}
	closed(fd);

	fd = made("sparse", open("sparse", O_RDWR));
	say("  write", pwrite(fd, "end", 3, 2 << 20));
	say("  fsync", fsync(fd));
	say("  hole", lseek(fd, 0, SEEK_HOLE));
	say("  data", lseek(fd, 4096, SEEK_DATA));
	say("  punch", fallocate(fd, 3, 0, 4096));
	say("  allocate", fallocate(fd, 0, 4 << 20, 4096));
	closed(fd);

	fd = made("from", open("from", O_RDONLY));
	to = made("to", open("to", O_RDWR | O_CREAT, 0600));
	say("  copy_file_range", copy_file_range(fd, NULL, to, NULL, 8, 0));
	say("  sendfile", sendfile(to, fd, NULL, 3));
	closed(to);
	closed(fd);

	fd = made("locked", open("locked", O_RDWR));
	say("  flock", flock(fd, LOCK_EX | LOCK_NB));
	say("  lease", fcntl(fd, F_SETLEASE, F_WRLCK));
	closed(fd);

	/* Flags are copied up with the file, by an ioctl of the overlay's own. */
	fd = made("flags", open("flags", O_RDWR | O_APPEND));
	say("  write", write(fd, "more\n", 5));
	say("  get", ioctl(fd, FS_IOC_GETFLAGS, &flags));
	say("  noatime", flags & FS_NOATIME_FL);
	flags = FS_NOATIME_FL | FS_NODUMP_FL;
	say("  set", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	closed(fd);

	fd = made("unnamed", open("dir", O_TMPFILE | O_RDWR, 0604));
	say("  write", write(fd, "unnamed\n", 8));
	snprintf(value, sizeof(value), "/proc/self/fd/%d", fd);
	say("  link", linkat(AT_FDCWD, value, AT_FDCWD, "dir/named", AT_SYMLINK_FOLLOW));
	closed(fd);
}

static void metadata(void)
{
	static const struct timespec times[2] = { { .tv_sec = 999999999 },
						  { .tv_sec = 999999998 } };
	char value[64];

	say("chmod", chmod("chmod", 0600));
	say("chown", chown("chown", 5, 6));
	say("lchown symlink", lchown("symlink", 5, 6));
	say("chown fifo", chown("fifo", 5, 6));
	say("set-id chown", chown("setid", 0, 0));
	say("set-id", chmod("chmod", 04700));
	say("utimes", utimensat(AT_FDCWD, "times", times, 0));
	say("utimes dir", utimensat(AT_FDCWD, "deep/1", times, 0));
	say("setxattr", setxattr("xattr", "user.upper", "other", 5, 0));
	say("removexattr", removexattr("xattr", "user.lower"));
	say("getxattr", getxattr("xattr", "user.upper", value, sizeof(value)));
	say("getxattr dir", getxattr("dx", "user.lower", value, sizeof(value)));
	say("setxattr dir", setxattr("dx", "user.upper", "other", 5, 0));
	say("setxattr trusted", setxattr("dx", "trusted.mine", "x", 1, 0));
	say("setxattr overlay", setxattr("dx", "trusted.overlay.opaque", "y", 1, 0));
	say("listxattr", listxattr("xattr", value, sizeof(value)));
	say("acl", set_acl("acl", "system.posix_acl_access"));
	say("default acl", set_acl("dir", "system.posix_acl_default"));
	say("inherits", mkdir("dir/inherits", 0777));
	say("  acl", getxattr("dir/inherits", "system.posix_acl_default", value, sizeof(value)));
	say("remove acl", removexattr("acl", "system.posix_acl_access"));
	say_stat("setid");
}

static void names(void)
{
	struct sockaddr_un address = { AF_UNIX, "socket" };
	int fd;

	say("rename", rename("rename", "renamed"));
	say("rename over", rename("read", "over"));
	say("rename away", rename("dir/a", "deep/1/a"));
	say("rename dir", rename("moved", "whole/moved"));
	say("exchange", renameat2(AT_FDCWD, "swap", AT_FDCWD, "delete", RENAME_EXCHANGE));
	say("exchange files", renameat2(AT_FDCWD, "delete/in", AT_FDCWD, "times", RENAME_EXCHANGE));
	say("no replace", renameat2(AT_FDCWD, "times", AT_FDCWD, "chmod", RENAME_NOREPLACE));
	say("leaves whiteout", renameat2(AT_FDCWD, "times", AT_FDCWD, "then", RENAME_WHITEOUT));
	say("link", link("link", "linked"));
	say("link symlink", linkat(AT_FDCWD, "symlink", AT_FDCWD, "symlinked", 0));
	say_open("through a link", "linked", O_WRONLY | O_APPEND, "both\n");
	say_open("hard", "hard", O_WRONLY | O_APPEND, "lower links\n");
	say("unlink", unlink("again"));
	say_open("gone", "again", O_RDONLY, NULL);
	say_open("anew", "again", O_WRONLY | O_CREAT | O_EXCL, "anew\n");
	say("unlink b", unlink("dir/b"));
	say("rmdir full", rmdir("gone"));
	say("unlink gone/a", unlink("gone/a"));
	say("rmdir gone", rmdir("gone"));
	say("unlink whole/a", unlink("whole/a"));
	say("unlink whole/b/c", unlink("whole/b/c"));
	say("rmdir whole/b", rmdir("whole/b"));
	say("mkdir opaque", mkdir("whole/b", 0711));
	say_open("in opaque", "whole/b/c", O_RDONLY, NULL);
	say_open("in opaque", "whole/b/new", O_WRONLY | O_CREAT, "new\n");
	say("symlink", symlink("whole", "to-whole"));
	say("mkfifo", mkfifo("new-fifo", 0620));
	say("mknod", mknod("new-node", S_IFCHR | 0600, makedev(1, 3)));
	say("whiteout", mknod("dir/whiteout", S_IFCHR, 0));
	fd = made("socket", socket(AF_UNIX, SOCK_STREAM, 0));
	say("  bind", bind(fd, (void *)&address, sizeof(address)));
	closed(fd);
	say_read("over");
	say_read("hard");
	say_read("deep/1/a");
	say_stat("linked");
	say_stat("whole");
	say_stat("whole/b");
	say_stat("symlink");
}

int main(int argc, char **argv)
{
	umask(022);
	if (argc != 3 || chdir(argv[2]))
		return 2;
	if (!strcmp(argv[1], "make")) {
		make();
		return 0;
	}
	while (!strcmp(argv[1], "wait"))
		pause();
	contents();
	metadata();
	names();
	sync();
	return 0;
}
