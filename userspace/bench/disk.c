// SPDX-License-Identifier: GPL-2.0-only
#include "bench/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <linux/loop.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "bench/launcher.h"

#define FORMAT_MS 60000
/* Another one may take the free device between asking and taking. */
#define TRIES 16

static int format(const char *file, struct bm_error *err)
{
	autofree char *complaint = NULL;
	char shown[160];
	int status, r = bm_launch_run(BM_LAUNCH_FORMAT, (const char *[]){ file, NULL }, FORMAT_MS,
				      &status, NULL, &complaint);

	if (r < 0)
		return bm_fail_errno(err, -r, "mkfs.ext4");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return bm_fail(err, ENOENT, "limits", "install e2fsprogs, or give no --disk",
			       "there is no mkfs.ext4 to make a disk with");
	return status ? bm_fail(err, EIO, "limits", NULL, "mkfs.ext4: %.150s",
				bm_escape(complaint ?: "", shown, sizeof(shown)))
		      : 0;
}

/* Cleared by itself with its last user, also when nobody is left to do it. */
static int take_device(int file, int *ret_fd, char ret_path[32], struct bm_error *err)
{
	struct loop_config config = { .fd = (uint32_t)file,
				      .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };
	autoclose control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return bm_fail(err, errno, "limits", "load the module loop, or give no --disk",
			       "/dev/loop-control: %s", strerror(errno));
	for (int i = 0; i < TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);
		autoclose device = -1;

		if (number < 0)
			return bm_fail_errno(err, errno, "a free loop device");
		snprintf(ret_path, 32, "/dev/loop%d", number);
		device = open(ret_path, O_RDWR | O_CLOEXEC);
		if (device < 0)
			return bm_fail_errno(err, errno, "%s", ret_path);
		if (ioctl(device, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = TAKE_FD(device);
			return 0;
		}
		if (errno != EBUSY)
			return bm_fail_errno(err, errno, "%s", ret_path);
	}
	return bm_fail_errno(err, EBUSY, "loop devices");
}

int bm_disk_make(const char *file, uint64_t size, const char *dir, struct bm_error *err)
{
	autoclose fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	autoclose device = -1;
	char path[32];
	int r;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return bm_fail_errno(err, errno, "%s", file);
	r = format(file, err);
	if (r == 0)
		r = take_device(fd, &device, path, err);
	if (r < 0)
		return r;
	/* Its journal would outlive nothing: the whole disk goes with the Bench. */
	if (mount(path, dir, "ext4", MS_NODEV | MS_NOATIME, "errors=remount-ro") < 0)
		return bm_fail_errno(err, errno, "mount the disk at %s", dir);
	return 0;
}
