// SPDX-License-Identifier: GPL-2.0-only
/* What is named by its file system, by the name that it has in a mount namespace. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "gatekeeperd/places.h"

static struct places places;

static int setup(void **state)
{
	static const char text[] = "22 1 8:1 / / rw,relatime - ext4 /dev/a rw\n"
				   "23 22 8:2 / /home rw - ext4 /dev/b rw\n"
				   "24 22 8:2 /ann/src /in/src ro - ext4 /dev/b rw\n"
				   "25 22 8:2 /ann /in/odd\\011name rw - ext4 /dev/b rw\n"
				   "26 22 0:40 /sub /only/sub rw - btrfs /dev/c rw\n";
	int fd = memfd_create("mountinfo", MFD_CLOEXEC);

	(void)state;
	places = PLACES_NONE;
	if (fd < 0 || write(fd, text, sizeof(text) - 1) != sizeof(text) - 1)
		return -1;
	places_watch(&places, fd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	places_close(&places);
	return 0;
}

static void assert_found(unsigned int major, unsigned int minor, const char *path, bool whole,
			 const char *expected)
{
	char buf[256];
	int r = places_find(&places, major, minor, path, whole, buf, sizeof(buf));

	if (!expected) {
		assert_int_equal(r, -ENOENT);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(buf, expected);
}

static void by_what_has_most_or_least(void **state)
{
	(void)state;
	assert_found(8, 1, "/etc/shadow", true, "/etc/shadow");
	assert_found(8, 1, "/", true, "/");
	assert_found(8, 2, "/ann/src/file", true, "/home/ann/src/file");
	assert_found(8, 2, "/ann/src/file", false, "/in/src/file");
	assert_found(8, 2, "/ann/src", false, "/in/src");
	assert_found(8, 2, "/", true, "/home");
	/* Of a name that only begins so. */
	assert_found(8, 2, "/ann/srcs", false, "/in/odd\\x09name/srcs");
	assert_found(8, 2, "/bob", false, "/home/bob");
	assert_found(0, 40, "/sub/x", true, "/only/sub/x");
	assert_found(0, 40, "/other", true, NULL);
	assert_found(9, 9, "/", true, NULL);
}

static void nowhere(void **state)
{
	struct places none = PLACES_NONE;
	char buf[16];

	(void)state;
	assert_int_equal(places_find(&none, 8, 1, "/", true, buf, sizeof(buf)), -ENOENT);
	places_close(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_what_has_most_or_least, setup, teardown),
		cmocka_unit_test(nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
