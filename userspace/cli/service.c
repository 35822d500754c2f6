// SPDX-License-Identifier: GPL-2.0-only
/* Starting gatekeeperd as the service that it was installed as. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/escape.h"
#include "base/io.h"
#include "cli/cli.h"
#include "cli/daemon.h"

#define UNIT "gatekeeperd.service"
#define UNIT_MAX (64 * 1024)
/* As TimeoutStartSec= of the unit, and a little more. */
#define SYSTEMCTL_MS 310000

static bool executes(const char *unit, const char *daemon)
{
	static const char key[] = "ExecStart=";
	size_t len = strlen(daemon);

	for (const char *line = unit; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, sizeof(key) - 1))
			continue;
		line += sizeof(key) - 1;
		return !strncmp(line, daemon, len) && strchr(" \n", line[len]);
	}
	return false;
}

bool cli_service_of(const char *daemon)
{
	/* As systemd looks for it. */
	static const char *const places[] = { "/etc/systemd/system", "/run/systemd/system",
					      "/usr/local/lib/systemd/system",
					      "/usr/lib/systemd/system", "/lib/systemd/system" };
	char real[PATH_MAX], path[128];
	struct stat st;

	/* There as long as systemd is what runs this machine. */
	if (stat("/run/systemd/system", &st) < 0 || !realpath(daemon, real))
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		autofree char *unit = NULL;

		snprintf(path, sizeof(path), "%s/" UNIT, places[i]);
		if (bm_read_file(AT_FDCWD, path, UNIT_MAX, &unit, NULL) == 0)
			return executes(unit, real);
	}
	return false;
}

int cli_service_start(struct bm_error *err)
{
	autofree char *out = NULL, *said = NULL;
	char shown[256];
	int status;
	int r = bm_run((const char *[]){ "systemctl", "--no-ask-password", "start", UNIT, NULL },
		       SYSTEMCTL_MS, &status, &out, &said);

	if (r < 0)
		return bm_fail_errno(err, -r, "systemctl start " UNIT);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	said[strcspn(said, "\n")] = '\0';
	return bm_fail(err, ECHILD, NULL, "see `journalctl -u gatekeeperd`",
		       "systemd could not start gatekeeperd: %s",
		       *said ? bm_escape(said, shown, sizeof(shown)) : "it does not say why");
}
