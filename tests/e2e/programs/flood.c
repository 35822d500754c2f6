// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks for what it is refused:
 *
 *   flood COUNT MS ADDRESS PORT
 *
 * From the end of its input, COUNT connections, MS between two of them, as fast as it can where
 * that is 0. It prints how many were refused with EPERM.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "say.h"

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	long count = argc == 5 ? atol(argv[1]) : 0, ms = argc == 5 ? atol(argv[2]) : 0;
	struct itimerspec each = { .it_interval = { ms / 1000, ms % 1000 * 1000000 },
				   .it_value = { 0, 1 } };
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t turns;
	char byte;
	long refused = 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (argc != 5 || inet_pton(AF_INET, argv[3], &to.sin_addr) != 1) {
		fputs("usage: flood COUNT MS ADDRESS PORT\n", stderr);
		return 2;
	}
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	timerfd_settime(timer, 0, &each, NULL);
	to.sin_port = htons((unsigned short)atoi(argv[4]));
	for (long i = 0; i < count; i++) {
		if (ms && read(timer, &turns, sizeof(turns)) != sizeof(turns))
			return 1;
		refused += connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno == EPERM;
	}
	say("refused", refused);
	return refused == count ? 0 : 1;
}
