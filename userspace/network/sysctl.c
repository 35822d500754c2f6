// SPDX-License-Identifier: GPL-2.0-only
#include "network/sysctl.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/io.h"

#define PATH_LEN 128

static const char *path_of(int family, const char *interface, const char *key, char buf[PATH_LEN])
{
	snprintf(buf, PATH_LEN, "/proc/sys/net/%s/conf/%s/%s", family == AF_INET ? "ipv4" : "ipv6",
		 interface, key);
	return buf;
}

int bm_sysctl_read(int family, const char *interface, const char *key, int *ret)
{
	autofree char *text = NULL;
	char path[PATH_LEN];
	int r = bm_read_file(AT_FDCWD, path_of(family, interface, key, path), 64, &text, NULL);

	if (r < 0)
		return r;
	return sscanf(text, "%d", ret) == 1 ? 0 : -EBADMSG;
}

int bm_sysctl_write(int family, const char *interface, const char *key, int value,
		    struct bm_error *err)
{
	char path[PATH_LEN], text[16];
	int current, r = bm_sysctl_read(family, interface, key, &current);

	if (r == -ENOENT || (r == 0 && current == value))
		return 0;
	snprintf(text, sizeof(text), "%d\n", value);
	r = bm_write_file(AT_FDCWD, path_of(family, interface, key, path), 0, 0, text);
	return r < 0 ? bm_fail_errno(err, -r, "writing %d to %s", value, path) : 0;
}

int bm_sysctl_write_all(const char *interface, const struct bm_sysctl *list, size_t count,
			struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = bm_sysctl_write(list[i].family, interface, list[i].key, list[i].value, err);
	return r;
}
