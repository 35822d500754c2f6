// SPDX-License-Identifier: GPL-2.0-only
/* By io_uring: no system call enters, and with other credentials than the task's. */
#include "payload.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/io_uring.h>

/* Of this task as it is; then it becomes another one that may the same. */
static int take_personality(int ring)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	int id = (int)syscall(SYS_io_uring_register, ring, IORING_REGISTER_PERSONALITY, NULL, 0);

	if (syscall(SYS_capget, &header, caps) < 0 || syscall(SYS_capset, &header, caps) < 0)
		return -1;
	return id;
}

/* What the one request came to: 0 or errno. */
static int submit(struct io_uring_sqe request, const char *how)
{
	struct io_uring_params p = {};
	int ring = (int)syscall(SYS_io_uring_setup, 2, &p);
	struct io_uring_sqe *sqe;
	struct io_uring_cqe *cqe;
	char *sq, *cq;

	if (ring < 0)
		return errno;
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED, ring, IORING_OFF_CQ_RING);
	sqe = mmap(NULL, p.sq_entries * sizeof(*sqe), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		   IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqe == MAP_FAILED)
		return setup("mmap");
	*sqe = request;
	if (how && !strcmp(how, "async")) /* in a kernel thread of the ring */
		sqe->flags = IOSQE_ASYNC;
	if (how && !strcmp(how, "as")) {
		int id = take_personality(ring);

		if (id <= 0)
			return setup("personality");
		sqe->personality = (uint16_t)id;
	}
	((uint32_t *)(sq + p.sq_off.array))[0] = 0;
	__atomic_store_n((uint32_t *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return setup("io_uring_enter");
	cqe = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
	return cqe->res < 0 ? -cqe->res : 0;
}

int probe_uring(char **args)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_OPENAT,
				    .fd = AT_FDCWD,
				    .addr = (uintptr_t)args[0] };

	return submit(sqe, args[1]);
}
