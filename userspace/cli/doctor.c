// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <limits.h>

#include "cli/cli.h"

int cmd_doctor(struct cli *cli, struct bm_error *err)
{
	const char *json = cli->format == FORMAT_JSON ? "--format" : NULL;
	char path[PATH_MAX];
	int r = cli_daemon_find(path, sizeof(path), err);

	if (r < 0)
		return r;
	/* What enforces examines: the probes are the daemon's own, and it needs no running one. */
	execl(path, "gatekeeperd", "--doctor", json, "json", NULL);
	return bm_fail_errno(err, errno, "%s", path);
}
