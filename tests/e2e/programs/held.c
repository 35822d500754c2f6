// SPDX-License-Identifier: GPL-2.0-only
/*
 * held PATH COUNT: has PATH open that often or more, in as many processes as that takes. Whoever
 * opens the FIFO "try" in the working directory to write makes the first of them read from each of
 * its own once more; how many gave something, it appends to the file "read", a line each time, the
 * first once all are open.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int tell(size_t count)
{
	char line[32];
	int len = snprintf(line, sizeof(line), "%zu\n", count);
	int fd = open("read", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, line, (size_t)len);

	close(fd);
	return n == len ? 0 : -1;
}

/* They have what their parent has, and end with it. */
static void forked(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

int main(int argc, char **argv)
{
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, each = 0;
	struct rlimit limit;
	int *fds = calloc(count + 1, sizeof(*fds));

	if (!count || !fds || mkfifo("try", 0600) < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		perror("held");
		return 1;
	}
	while (each < count && each + 16 < limit.rlim_cur) {
		fds[each] = open(argv[1], O_RDONLY | O_CLOEXEC);
		if (fds[each++] < 0) {
			perror(argv[1]);
			return 1;
		}
	}
	forked((count - 1) / each);
	for (;;) {
		size_t good = 0;
		char byte;
		int fd;

		for (size_t i = 0; i < each; i++)
			good += pread(fds[i], &byte, 1, 0) == 1;
		if (tell(good) < 0)
			return 1;
		fd = open("try", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return 1;
		close(fd);
	}
}
