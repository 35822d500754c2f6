// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "bench/own.h"
#include "bpf/abi.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define R BM_R
#define W BM_W
#define X BM_X

/* The host: a disk, and the file systems whose views are its own. */
static struct bm_mount host_list[] = {
	{ .major = 254, .minor = 1, .root = "/", .target = "/", .fstype = "ext4" },
	{ .major = 0, .minor = 5, .root = "/", .target = "/dev", .fstype = "devtmpfs" },
	{ .major = 0, .minor = 21, .root = "/", .target = "/proc", .fstype = "proc" },
	{ .major = 0, .minor = 22, .root = "/", .target = "/sys", .fstype = "sysfs" },
	{ .major = 0, .minor = 23, .root = "/", .target = "/run", .fstype = "tmpfs" },
	{ .major = 0, .minor = 24, .root = "/", .target = "/dev/pts", .fstype = "devpts" },
	{ .major = 0, .minor = 25, .root = "/", .target = "/dev/mqueue", .fstype = "mqueue" },
	{ .major = 0, .minor = 26, .root = "/", .target = "/sys/fs/cgroup", .fstype = "cgroup2" },
};
static const struct bm_mounts host = { .list = host_list, .count = COUNT(host_list) };

/* A container that shares nothing, and one that shares what it can. */
static const struct bm_own_place alone = { .cgroup = "/e2e/c1" };
static const struct bm_own_place shared = { .cgroup = "/e2e/c1",
					    .host_pid = true,
					    .shared_ipc = true };

enum { OPEN, RO, NOEXEC, RO_NOEXEC };

struct mount_case {
	const char *fstype, *target;
	unsigned major, minor;
	int flags;
	mode_t mode;
	dev_t rdev;
	const char *what; /* NULL: the host's */
	uint32_t rights;
};

#define DIR_MODE (S_IFDIR | 0755)
#define FILE_MODE (S_IFREG | 0644)
#define NEW 0, 99        /* a device number that the host has no mount of */
#define PTS_0 (136 << 8) /* makedev() is no constant */

static void check_in(const struct mount_case *c, const char *root, const struct bm_own_place *place)
{
	struct bm_mount m = {
		.major = c->major,
		.minor = c->minor,
		.ro = c->flags == RO || c->flags == RO_NOEXEC,
		.noexec = c->flags == NOEXEC || c->flags == RO_NOEXEC,
		.root = root,
		.target = c->target,
		.fstype = c->fstype,
		.options = "rw",
	};
	uint32_t rights = 0xdead;
	const char *what = bm_own_classify(&m, c->mode, c->rdev, &host, place, &rights);

	if (!what != !c->what || (what && strcmp(what, c->what)))
		fail_msg("%s on %s: %s, expected %s", c->fstype, c->target, what ?: "the host's",
			 c->what ?: "the host's");
	if (what && rights != c->rights)
		fail_msg("%s on %s: rights %u, expected %u", c->fstype, c->target, rights,
			 c->rights);
}

static void check(const struct mount_case *c)
{
	check_in(c, "/", &alone);
}

static void rootfs(void **state)
{
	static const struct mount_case cases[] = {
		{ "overlay", "/", NEW, OPEN, DIR_MODE, 0, "rootfs", R | W | X },
		{ "overlay", "/", NEW, RO, DIR_MODE, 0, "rootfs", R | X },
		{ "ext4", "/", 254, 1, OPEN, DIR_MODE, 0, "rootfs", R | W | X },
		{ "tmpfs", "/", NEW, OPEN, DIR_MODE, 0, "rootfs", R | W | X },
		/* Only the root is the root. */
		{ "overlay", "/x", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "overlay", "", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "overlay", "//", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check(&cases[i]);
}

static void devices(void **state)
{
	static const unsigned harmless[][2] = { { 1, 3 }, { 1, 5 }, { 1, 7 },
						{ 1, 8 }, { 1, 9 }, { 5, 0 } };
	/* mem, kmem, port, kmsg, console, ptmx, fuse, tun, kvm, tty1, uinput, and odd ones. */
	static const unsigned harmful[][2] = { { 1, 1 },   { 1, 2 },    { 1, 4 },     { 1, 6 },
					       { 1, 10 },  { 1, 11 },   { 5, 1 },     { 5, 2 },
					       { 5, 3 },   { 10, 229 }, { 10, 200 },  { 10, 232 },
					       { 4, 1 },   { 10, 223 }, { 3, 1 },     { 0, 0 },
					       { 0, 3 },   { 0, 5 },    { 257, 3 },   { 1, 0x103 },
					       { 0, 259 }, { 21, 0 },   { 4095, 255 } };

	(void)state;
	for (size_t i = 0; i < COUNT(harmless); i++) {
		struct mount_case c = {
			"devtmpfs", "/dev/x", 0, 5, OPEN, S_IFCHR | 0666, 0, NULL, 0
		};

		c.rdev = makedev(harmless[i][0], harmless[i][1]);
		c.what = "device";
		c.rights = R | W;
		check(&c);
		/* A read-only mount stops no write to a device; there is nothing to run. */
		c.flags = RO_NOEXEC;
		check(&c);
		c.fstype = "ext4";
		check(&c);
		/* The number alone says nothing. */
		c.what = NULL;
		c.mode = S_IFBLK | 0666;
		check(&c);
		c.mode = FILE_MODE;
		check(&c);
		c.mode = S_IFIFO | 0666;
		check(&c);
		c.mode = S_IFSOCK | 0666;
		check(&c);
	}
	for (size_t i = 0; i < COUNT(harmful); i++) {
		struct mount_case c = { "devtmpfs",     "/dev/null", 0,    5, OPEN,
					S_IFCHR | 0666, 0,           NULL, 0 };

		c.rdev = makedev(harmful[i][0], harmful[i][1]);
		check(&c);
		c.mode = S_IFBLK | 0666;
		check(&c);
	}
}

static void runtime_files(void **state)
{
	static const char *const names[] = { "/etc/hosts", "/etc/hostname", "/etc/resolv.conf",
					     "/run/.containerenv" };
	static const char *const others[] = { "/etc/host",         "/etc/hosts2",  "/etc/hosts/x",
					      "/etc/shadow",       "/x/etc/hosts", "etc/hosts",
					      "/run/containerenv", "/etc/",        "/etc/Hosts",
					      "/run/secrets/x" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		struct mount_case c = { "ext4", names[i], 254, 1, OPEN, FILE_MODE, 0, NULL, 0 };

		c.what = "runtime file";
		c.rights = R;
		check(&c);
		c.flags = RO;
		check(&c);
		/* On the host's tmpfs, as Podman's are. */
		c.fstype = "tmpfs";
		c.major = 0;
		c.minor = 23;
		check(&c);
		c.what = NULL;
		c.mode = DIR_MODE;
		check(&c);
		c.mode = S_IFSOCK | 0666;
		check(&c);
		c.mode = S_IFBLK | 0666;
		check(&c);
		c.mode = S_IFLNK | 0777;
		check(&c);
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		struct mount_case c = { "ext4", others[i], 254, 1, OPEN, FILE_MODE, 0, NULL, 0 };

		check(&c);
	}
}

static void kernel_views(void **state)
{
	static const char bench[] = "kernel's view of the Bench",
			  all[] = "kernel's view of the host";
	static const struct mount_case cases[] = {
		{ "proc", "/proc", NEW, OPEN, DIR_MODE, 0, bench, R | W },
		{ "proc", "/proc", NEW, NOEXEC, DIR_MODE, 0, bench, R | W },
		{ "proc", "/proc/sys", NEW, RO, DIR_MODE, 0, bench, R },
		{ "devpts", "/dev/pts", NEW, OPEN, DIR_MODE, 0, bench, R | W },
		{ "devpts", "/dev/console", NEW, OPEN, S_IFCHR | 0620, PTS_0, bench, R | W },
		{ "mqueue", "/dev/mqueue", NEW, RO, DIR_MODE, 0, bench, R },
		/* The host's, bound in. */
		{ "proc", "/proc", 0, 21, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "proc", "/proc", 0, 21, RO, DIR_MODE, 0, NULL, 0 },
		{ "devpts", "/dev/pts", 0, 24, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "devpts", "/dev/console", 0, 24, OPEN, S_IFCHR | 0620, PTS_0, NULL, 0 },
		{ "mqueue", "/dev/mqueue", 0, 25, OPEN, DIR_MODE, 0, NULL, 0 },
		/* Read at most, whoever mounted them. */
		{ "sysfs", "/sys", NEW, OPEN, DIR_MODE, 0, all, R },
		{ "sysfs", "/sys", 0, 22, OPEN, DIR_MODE, 0, all, R },
		{ "sysfs", "/sys", 0, 22, RO, DIR_MODE, 0, all, R },
		/* Others never. */
		{ "cgroup", "/sys/fs/cgroup/x", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "cgroup2", "/sys/fs/cgroup", 0, 26, RO, DIR_MODE, 0, NULL, 0 },
		{ "efivarfs", "/sys/firmware/efi/efivars", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "configfs", "/sys/kernel/config", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "pstore", "/sys/fs/pstore", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "hugetlbfs", "/dev/hugepages", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "fusectl", "/sys/fs/fuse/connections", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "nfsd", "/proc/fs/nfsd", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "rpc_pipefs", "/var/lib/nfs/rpc_pipefs", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "autofs", "/proc/sys/fs/binfmt_misc", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "selinuxfs", "/sys/fs/selinux", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "devtmpfs", "/dev", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "debugfs", "/sys/kernel/debug", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "securityfs", "/sys/kernel/security", NEW, RO, DIR_MODE, 0, NULL, 0 },
		{ "bpf", "/sys/fs/bpf", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "tracefs", "/sys/kernel/tracing", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "devtmpfs", "/dev", 0, 5, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "binfmt_misc", "/proc/sys/fs/binfmt_misc", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "proc2", "/proc", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "xsysfs", "/sys", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check(&cases[i]);
}

/* At its own cgroup or below, and nowhere else. */
static void cgroups(void **state)
{
	static const char *const within[] = { "/e2e/c1", "/e2e/c1/x", "/e2e/c1/x/y" };
	static const char *const beyond[] = { "/",  "/e2e",      "/e2e/c", "/e2e/c11",
					      "/x", "/e2e/c2/x", "/../c1", "/e2e/x/e2e/c1",
					      "",   "/../../.." };
	static const struct bm_own_place nowhere = { .cgroup = "" };
	struct mount_case c = { "cgroup2", "/sys/fs/cgroup", 0, 26, OPEN, DIR_MODE, 0, NULL, 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(beyond); i++)
		check_in(&c, beyond[i], &alone);
	for (size_t i = 0; i < COUNT(within); i++)
		check_in(&c, within[i], &nowhere);
	c.what = "kernel's view of the host";
	c.rights = R;
	for (size_t i = 0; i < COUNT(within); i++)
		check_in(&c, within[i], &alone);
	c.flags = RO;
	check_in(&c, within[0], &shared);
}

/* What a shared namespace changes: proc is the host's where the Bench is in its pid namespace. */
static void shared_views(void **state)
{
	static const char bench[] = "kernel's view of the Bench";
	static const struct mount_case cases[] = {
		{ "proc", "/proc", 0, 21, OPEN, DIR_MODE, 0, bench, R | W },
		{ "proc", "/proc", NEW, OPEN, DIR_MODE, 0, bench, R | W },
		{ "proc", "/proc/sys", 0, 21, RO, DIR_MODE, 0, bench, R },
		/* Elsewhere it is one more, with what else the host has there. */
		{ "proc", "/host/proc", 0, 21, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "proc", "/procfs", 0, 21, OPEN, DIR_MODE, 0, NULL, 0 },
		/* Of no IPC namespace that is its own. */
		{ "mqueue", "/dev/mqueue", 0, 25, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "mqueue", "/dev/mqueue", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "devpts", "/dev/pts", NEW, OPEN, DIR_MODE, 0, bench, R | W },
		{ "devpts", "/dev/pts", 0, 24, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "binfmt_misc", "/proc/sys/fs/binfmt_misc", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "devtmpfs", "/dev", 0, 5, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "tmpfs", "/host/run", 0, 23, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "ext4", "/host", 254, 1, OPEN, DIR_MODE, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_in(&cases[i], "/", &shared);
}

static void tmpfs(void **state)
{
	static const char private[] = "private tmpfs";
	static const struct mount_case cases[] = {
		{ "tmpfs", "/tmp", NEW, OPEN, DIR_MODE, 0, private, R | W | X },
		{ "tmpfs", "/tmp", NEW, NOEXEC, DIR_MODE, 0, private, R | W },
		{ "tmpfs", "/tmp", NEW, RO, DIR_MODE, 0, private, R | X },
		{ "tmpfs", "/tmp", NEW, RO_NOEXEC, DIR_MODE, 0, private, R },
		{ "tmpfs", "/etc/hosts", NEW, NOEXEC, DIR_MODE, 0, private, R | W },
		/* Shared with the host, whatever it covers here. */
		{ "tmpfs", "/tmp", 0, 23, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "tmpfs", "/tmp", 0, 23, RO_NOEXEC, DIR_MODE, 0, NULL, 0 },
		{ "tmpfs", "/run/secrets", 0, 23, RO, FILE_MODE, 0, NULL, 0 },
		/* Both numbers tell. */
		{ "tmpfs", "/tmp", 1, 23, OPEN, DIR_MODE, 0, private, R | W | X },
		{ "tmpfs", "/tmp", 254, 23, OPEN, DIR_MODE, 0, private, R | W | X },
		{ "ramfs", "/tmp", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
		{ "tmpfsx", "/tmp", NEW, OPEN, DIR_MODE, 0, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check(&cases[i]);
}

static void volumes(void **state)
{
	static const char *const types[] = { "ext4",     "xfs",      "btrfs",      "overlay",
					     "nfs4",     "fuse",     "fuse.sshfs", "fuseblk",
					     "9p",       "virtiofs", "vfat",       "squashfs",
					     "nsfs",     "",         "fuse.tmpfs", "zfs",
					     "ecryptfs", "fuse.proc" };

	(void)state;
	for (size_t i = 0; i < COUNT(types); i++) {
		struct mount_case c = { types[i], "/data", NEW, OPEN, DIR_MODE, 0, NULL, 0 };

		check(&c);
		c.flags = RO_NOEXEC;
		check(&c);
		c.major = 254;
		c.minor = 1;
		check(&c);
		c.mode = FILE_MODE;
		check(&c);
	}
}

/* Without a host to compare with, nothing counts as the host's; with one mount, that one does. */
static void every_host_mount_counts(void **state)
{
	static const struct bm_mounts none = {};
	uint32_t rights;

	(void)state;
	for (size_t i = 0; i < host.count; i++) {
		struct bm_mount m = host.list[i];

		m.fstype = "tmpfs";
		m.target = "/tmp";
		assert_null(bm_own_classify(&m, DIR_MODE, 0, &host, &alone, &rights));
		assert_non_null(bm_own_classify(&m, DIR_MODE, 0, &none, &alone, &rights));
	}
}

static void list_owns_its_fds(void **state)
{
	struct bm_own_list own = {};
	int fds[20];
	char long_path[400];

	(void)state;
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	long_path[sizeof(long_path) - 1] = '\0';
	for (size_t i = 0; i < COUNT(fds); i++) {
		fds[i] = open("/", O_PATH | O_CLOEXEC);
		assert_true(fds[i] >= 0);
		assert_int_equal(bm_own_add(&own, "layer", i ? "/x" : long_path, R | X, fds[i]), 0);
	}
	assert_int_equal(own.count, COUNT(fds));
	assert_int_equal(strlen(own.list[0].path), sizeof(own.list[0].path) - 1);
	assert_string_equal(own.list[19].path, "/x");
	assert_string_equal(own.list[19].what, "layer");
	assert_int_equal(own.list[19].rights, R | X);
	for (size_t i = 0; i < COUNT(fds); i++) {
		assert_int_equal(own.list[i].fd, fds[i]);
		assert_true(fcntl(fds[i], F_GETFD) >= 0);
	}
	bm_own_done(&own);
	assert_int_equal(own.count, 0);
	for (size_t i = 0; i < COUNT(fds); i++) {
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
	bm_own_done(&own);
}

/* Nothing is both written and executed, and nothing gains a right. */
static void image(void **state)
{
	static const struct {
		const char *what;
		uint32_t before, after;
	} cases[] = {
		{ "rootfs", R | W | X, R | X },
		{ "rootfs", R | X, R | X },
		{ "layer", R | X, R | X },
		{ "layer", R | W | X, R | X },
		{ "scratch", R | W | X, R | W },
		{ "private tmpfs", R | W | X, R | W },
		{ "private tmpfs", R | W, R | W },
		{ "private tmpfs", R | X, R },
		{ "device", R | W, R | W },
		{ "runtime file", R, R },
		{ "kernel's view of the Bench", R | W, R | W },
		{ "something new", R | W | X, R | W },
	};
	struct bm_own_list own = {};

	(void)state;
	bm_own_image(&own);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(bm_own_add(&own, cases[i].what, "/", cases[i].before, -1), 0);
	bm_own_image(&own);
	for (size_t i = 0; i < COUNT(cases); i++)
		if (own.list[i].rights != cases[i].after)
			fail_msg("%s: %u", cases[i].what, own.list[i].rights);
	bm_own_done(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rootfs),
		cmocka_unit_test(devices),
		cmocka_unit_test(runtime_files),
		cmocka_unit_test(kernel_views),
		cmocka_unit_test(cgroups),
		cmocka_unit_test(shared_views),
		cmocka_unit_test(tmpfs),
		cmocka_unit_test(volumes),
		cmocka_unit_test(every_host_mount_counts),
		cmocka_unit_test(list_owns_its_fds),
		cmocka_unit_test(image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
