// SPDX-License-Identifier: GPL-2.0-only
/* What the iterators tell of the sockets that processes have. */
#include "kernel/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Records of one size, which a program writes whole. */
static int iterate(int program, void *buf, size_t size, size_t record,
		   void (*fn)(void *ctx, const void *record), void *ctx)
{
	autoclose link = bpf_link_create(program, 0, BPF_TRACE_ITER, NULL);
	autoclose fd = link < 0 ? -1 : bpf_iter_create(link);
	size_t have = 0, at;
	ssize_t n;

	if (fd < 0)
		return -errno;
	while ((n = read(fd, (char *)buf + have, size - have)) > 0) {
		have += (size_t)n;
		for (at = 0; have - at >= record; at += record)
			fn(ctx, (char *)buf + at);
		have -= at;
		memmove(buf, (char *)buf + at, have);
	}
	return n < 0 ? -errno : 0;
}

struct counted {
	uint32_t bench;
	size_t count;
};

static void count_one(void *ctx, const void *record)
{
	struct counted *counted = ctx;

	counted->count += *(const uint32_t *)record == counted->bench;
}

int bm_queued_count(struct bm_kernel *kernel, uint32_t bench, size_t *ret_count,
		    struct bm_error *err)
{
	struct counted counted = { .bench = bench };
	uint32_t buf[256];
	int r = iterate(kernel->queued_list, buf, sizeof(buf), sizeof(buf[0]), count_one, &counted);

	if (r < 0)
		return bm_fail_errno(err, -r, "look for what is queued in sockets");
	*ret_count = counted.count;
	return 0;
}

static void take_stranger(void *ctx, const void *record)
{
	const struct bm_stranger *found = record;
	struct bm_stranger *first = ctx;

	if (found->bench == first->bench && !first->pid)
		*first = *found;
}

int bm_strangers_check(struct bm_kernel *kernel, uint32_t bench, struct bm_error *err)
{
	struct bm_stranger first = { .bench = bench }, buf[64];
	int r = iterate(kernel->strangers, buf, sizeof(buf), sizeof(buf[0]), take_stranger, &first);
	bool inet = first.family == AF_INET || first.family == AF_INET6;

	if (r < 0)
		return bm_fail_errno(err, -r, "look for sockets from outside");
	if (!first.pid)
		return 0;
	return bm_fail(err, EBUSY, "held", "end that process, or attach between create and start",
		       inet ? "process %u of the container has a network socket that was made "
			      "outside of it"
			    : "process %u of the container has a socket of family %u",
		       first.pid, first.family);
}

struct cgroups {
	uint32_t bench;
	uint64_t *list;
	size_t count;
	int error;
};

/* Nearly all of them are of a few. */
static void take_cgroup(void *ctx, const void *record)
{
	const struct bm_socket_cgroup *found = record;
	struct cgroups *c = ctx;
	uint64_t *grown;

	if (found->bench != c->bench)
		return;
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i] == found->id)
			return;
	grown = reallocarray(c->list, c->count + 1, sizeof(*grown));
	if (!grown) {
		c->error = -ENOMEM;
		return;
	}
	c->list = grown;
	grown[c->count++] = found->id;
}

int bm_socket_cgroups(struct bm_kernel *kernel, uint32_t bench, uint64_t **list, size_t *count,
		      struct bm_error *err)
{
	struct cgroups c = { .bench = bench, .list = *list, .count = *count };
	struct bm_socket_cgroup buf[64];
	int r = iterate(kernel->socket_cgroups, buf, sizeof(buf), sizeof(buf[0]), take_cgroup, &c);

	*list = c.list;
	*count = c.count;
	if (r == 0)
		r = c.error;
	return r < 0 ? bm_fail_errno(err, -r, "look for the cgroups of its sockets") : 0;
}
