// SPDX-License-Identifier: GPL-2.0-only
/* Images of podman's: mounted read-only, as long as they are looked at. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "base/escape.h"
#include "base/io.h"
#include "cli/profile.h"
#include "cli/text.h"

#define MOUNT_MS 300000

static int podman(const char *verb, const char *image, char **ret_out, struct bm_error *err)
{
	const char *argv[] = { "podman", "image", verb, image, NULL };
	autofree char *complaint = NULL;
	char shown[CLI_SHOWN];
	int status, r = bm_run(argv, MOUNT_MS, &status, ret_out, &complaint);

	if (r < 0)
		return bm_fail_errno(err, -r, "podman image %s", verb);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return bm_fail(err, ENOENT, "image", "install podman, or pass --rootfs",
			       "there is no podman to ask for the image");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return bm_fail(err, ENOENT, "image", "see `podman image ls`",
			       "podman image %s: %.300s", verb,
			       bm_escape(complaint ?: "", shown, sizeof(shown)));
	return 0;
}

int cli_image_mount(const char *image, int *ret_fd, struct bm_error *err)
{
	autofree char *path = NULL;
	char shown[CLI_SHORT];
	int r;

	/* podman would take it for an option. */
	if (!*image || *image == '-')
		return bm_fail(err, EINVAL, "image", "see `podman image ls`",
			       "'%s' is no name of an image",
			       bm_escape(image, shown, sizeof(shown)));
	r = podman("mount", image, &path, err);
	if (r < 0)
		return r;
	path[strcspn(path, "\n")] = '\0';
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	r = -errno;
	cli_image_unmount(image);
	return bm_fail_errno(err, -r, "where podman mounted the image");
}

/* One that is in use elsewhere stays mounted there: podman counts. */
void cli_image_unmount(const char *image)
{
	podman("unmount", image, NULL, NULL);
}
