// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

bool bm_why_program(const struct bpf_program *program)
{
	return !strcmp(bpf_program__name(program), "bm_why");
}

static int put(struct bm_kernel *kernel, const struct bm_asked *question)
{
	uint32_t zero = 0;

	return bpf_map_update_elem(kernel->map.asked, &zero, question, BPF_ANY);
}

int bm_ask_begin(struct bm_kernel *kernel, struct bm_asked *question, int *ret_link,
		 struct bm_error *err)
{
	autoclose link = -1;
	int r;

	if (getrandom(&question->cookie, sizeof(question->cookie), 0) != sizeof(question->cookie))
		return bm_fail_errno(err, errno, "getrandom");
	question->cookie |= 1;
	/* As the storage has it for the programs of its cgroup, which no other program can read. */
	r = bpf_map_lookup_elem(kernel->map.cgroups, &question->cgroup, &question->own);
	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup storage");
	r = put(kernel, question);
	if (r < 0)
		return bm_fail_errno(err, -r, "asked");
	link = bpf_raw_tracepoint_open(NULL, kernel->why);
	if (link < 0) {
		put(kernel, &(struct bm_asked){});
		return bm_fail(err, -link, "why", "run `benchmon doctor`", "attach why: %s",
			       strerror(-link));
	}
	*ret_link = TAKE_FD(link);
	return 0;
}

/* Not by fcntl(3), which passes no argument on where the command has none. */
void bm_ask(int fd, uint64_t cookie)
{
	syscall(SYS_fcntl, fd, F_GETFD, cookie);
}

int bm_ask_end(struct bm_kernel *kernel, int link, struct bm_asked *ret, struct bm_error *err)
{
	uint32_t zero = 0;
	int r;

	bm_close(link);
	r = bpf_map_lookup_elem(kernel->map.asked, &zero, ret);
	put(kernel, &(struct bm_asked){});
	if (r == 0 && !ret->answered)
		r = -ENODATA;
	return r < 0 ? bm_fail_errno(err, -r, "ask the programs in the kernel") : 0;
}
