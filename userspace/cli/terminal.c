// SPDX-License-Identifier: GPL-2.0-only
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/cleanup.h"

static struct termios saved;
static volatile sig_atomic_t raw_fd = -1;

void cli_pty_resize(int like, int master)
{
	struct winsize size;

	if (like >= 0 && ioctl(like, TIOCGWINSZ, &size) == 0)
		ioctl(master, TIOCSWINSZ, &size);
}

int cli_pty_open(int like, int *ret_master, int *ret_slave, struct bm_error *err)
{
	autoclose master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	autoclose slave = -1;
	struct termios settings;

	if (master < 0)
		return bm_fail_errno(err, errno, "a terminal for the Bench");
	if (unlockpt(master) < 0)
		return bm_fail_errno(err, errno, "unlockpt");
	/* By descriptor: the name is only good where the same devpts is mounted on /dev/pts. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return bm_fail_errno(err, errno, "a terminal for the Bench");
	if (like >= 0 && tcgetattr(like, &settings) == 0)
		tcsetattr(slave, TCSANOW, &settings);
	cli_pty_resize(like, master);
	*ret_master = TAKE_FD(master);
	*ret_slave = TAKE_FD(slave);
	return 0;
}

int cli_terminal_raw(int fd, struct bm_error *err)
{
	static int registered;
	struct termios settings;

	if (tcgetattr(fd, &saved) < 0)
		return bm_fail_errno(err, errno, "terminal");
	if (!registered++)
		atexit(cli_terminal_restore);
	settings = saved;
	cfmakeraw(&settings);
	raw_fd = fd;
	if (tcsetattr(fd, TCSADRAIN, &settings) < 0)
		return bm_fail_errno(err, errno, "terminal");
	return 0;
}

void cli_terminal_restore(void)
{
	int fd = raw_fd;

	raw_fd = -1;
	if (fd >= 0)
		tcsetattr(fd, TCSANOW, &saved);
}
