// SPDX-License-Identifier: GPL-2.0-only
/* What a service manager hands over and wants to hear, by one that stands in for it here. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/capability.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/launcher.h"
#include "confine/caps.h"
#include "gatekeeperd/service.h"
#include "gatekeeperd/shrink.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define UNIT "tools/systemd/gatekeeperd.service.in"

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_service.XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int bound_at(const char *name, int type, bool listening)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t len;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			  (size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", name));
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	else
		unlink(name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	if (listening)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

struct handed {
	const char *name; /* NULL: not a socket */
	int type;
	bool listening;
	const char *pid, *fds; /* pid NULL: the right one */
	const char *refusal;   /* NULL: it is taken; "": it is left alone */
};

/* In a child, where descriptor 3 is whatever it is made. */
static void be_handed(const struct handed *h)
{
	struct service service = SERVICE_NONE;
	struct bm_error err = {};
	char pid[16];
	int fd = h->name ? bound_at(h->name, h->type, h->listening)
			 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r;

	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_true(fd == 3 || dup2(fd, 3) == 3);
	setenv("LISTEN_PID", h->pid ?: pid, 1);
	setenv("LISTEN_FDS", h->fds, 1);
	setenv("LISTEN_FDNAMES", "x", 1);
	r = service_begin(&service, &err);
	assert_null(getenv("LISTEN_PID"));
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_FDNAMES"));
	if (!h->refusal || !*h->refusal) {
		assert_int_equal(r, 0);
		assert_int_equal(service.listener, h->refusal ? -1 : 3);
		if (!h->refusal)
			assert_int_equal(fcntl(3, F_GETFD), FD_CLOEXEC);
		return;
	}
	assert_int_equal(r, -EINVAL);
	assert_string_equal(err.rule, "socket-activation");
	if (!strstr(err.message, h->refusal))
		fail_msg("%s", err.message);
}

static void one_listening_socket_is_taken(void **state)
{
	char path[96];
	const struct handed cases[] = {
		{ path, SOCK_SEQPACKET, true, NULL, "1", NULL },
		{ path, SOCK_SEQPACKET, true, "1", "1", "" },
		{ path, SOCK_SEQPACKET, true, "", "1", "" },
		{ path, SOCK_SEQPACKET, true, "x", "1", "" },
		{ path, SOCK_SEQPACKET, true, NULL, "2", "2 sockets, not one" },
		{ path, SOCK_SEQPACKET, true, NULL, "0", "0 sockets, not one" },
		{ path, SOCK_SEQPACKET, true, NULL, "-1", "-1 sockets, not one" },
		{ path, SOCK_SEQPACKET, true, NULL, "1x", "1x sockets, not one" },
		{ path, SOCK_SEQPACKET, true, NULL, "99999999999999999999", "not one" },
		{ path, SOCK_SEQPACKET, true, NULL, "\033[2J", "\\x1b[2J sockets" },
		{ path, SOCK_STREAM, true, NULL, "1", "another type than SOCK_SEQPACKET" },
		{ path, SOCK_SEQPACKET, false, NULL, "1", "doesn't listen" },
		{ "@test-service", SOCK_SEQPACKET, true, NULL, "1", "has no path" },
		{ NULL, 0, false, NULL, "1", "no AF_UNIX socket" },
	};

	(void)state;
	snprintf(path, sizeof(path), "%s/socket", dir);
	for (size_t i = 0; i < COUNT(cases); i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			be_handed(&cases[i]);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		unlink(path);
		if (status)
			fail_msg("case %zu: status %x", i, (unsigned)status);
	}
}

static void hears(int manager, const char *wanted)
{
	char text[64];
	ssize_t n = recv(manager, text, sizeof(text), MSG_DONTWAIT);

	assert_int_equal(n, strlen(wanted));
	assert_memory_equal(text, wanted, (size_t)n);
}

static void the_manager_is_told(void **state)
{
	char names[2][96];

	(void)state;
	snprintf(names[0], sizeof(names[0]), "%s/notify", dir);
	snprintf(names[1], sizeof(names[1]), "@test-service-%d", getpid());
	for (size_t i = 0; i < COUNT(names); i++) {
		autoclose manager = bound_at(names[i], SOCK_DGRAM, false);
		struct service service = SERVICE_NONE;

		setenv("NOTIFY_SOCKET", names[i], 1);
		setenv("WATCHDOG_USEC", "1", 1);
		assert_int_equal(service_begin(&service, NULL), 0);
		assert_null(getenv("NOTIFY_SOCKET"));
		assert_null(getenv("WATCHDOG_USEC"));
		service_tell(&service, "READY=1\nSTATUS=x");
		hears(manager, "READY=1\nSTATUS=x");
		/* One that doesn't read, or that has gone, holds nobody up. */
		for (int n = 0; n < 1000; n++)
			service_tell(&service, "STATUS=more");
		bm_close(TAKE_FD(manager));
		service_tell(&service, "STOPPING=1");
		service_end(&service);
		assert_int_equal(service.notify, -1);
	}
	unlink(names[0]);
}

static void no_address_of_a_manager(void **state)
{
	char name[200];
	const char *const wrong[] = { "relative", "/", "@", "vsock:1:2", "/no/such/place", name };

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct service service = SERVICE_NONE;
		struct bm_error err = {};

		setenv("NOTIFY_SOCKET", wrong[i], 1);
		assert_true(service_begin(&service, &err) < 0);
		assert_non_null(strstr(err.message, "NOTIFY_SOCKET="));
		assert_null(getenv("NOTIFY_SOCKET"));
	}
	setenv("NOTIFY_SOCKET", "", 1);
	{
		struct service service = SERVICE_NONE;

		assert_int_equal(service_begin(&service, NULL), 0);
		service_tell(&service, "READY=1");
	}
}

/* By number, as the kernel has them. */
static const char *const capabilities[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};

static uint64_t capability(const char *name)
{
	assert_int_equal(strncmp(name, "CAP_", 4), 0);
	for (size_t i = 0; i < COUNT(capabilities); i++)
		if (!strcmp(capabilities[i], name + 4))
			return 1ull << i;
	fail_msg("%s is no capability", name);
	return 0;
}

/*
 * The unit gives what the daemon and its launcher keep, and what it has while it loads the programs
 * (PERFMON): with less they fail, more is not needed.
 */
static void the_unit_has_the_capabilities_of_the_code(void **state)
{
	static const char key[] = "CapabilityBoundingSet=";
	autofree char *unit = NULL;
	uint64_t given = 0;

	(void)state;
	assert_int_equal(bm_read_file(AT_FDCWD, UNIT, 1 << 16, &unit, NULL), 0);
	for (char *line = strtok(unit, "\n"); line; line = strtok(NULL, "\n")) {
		char *rest = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1))
			continue;
		for (char *name = strsep(&rest, " "); name; name = strsep(&rest, " "))
			given |= capability(name);
	}
	assert_int_equal(given, daemon_capabilities | bm_launcher_capabilities | BM_CAP(PERFMON));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_listening_socket_is_taken),
		cmocka_unit_test(the_manager_is_told),
		cmocka_unit_test(no_address_of_a_manager),
		cmocka_unit_test(the_unit_has_the_capabilities_of_the_code),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
