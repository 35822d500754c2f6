// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PIN_PATH 256

const char *const bm_recall_programs[BM_RECALL_PROGRAM_MAX] = {
	"recall", "recall_map", "lookup",      "expire_map",
	"tick",   "queued",     "queued_file", "queued_option",
};

bool bm_recall_program(const struct bpf_program *program)
{
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++)
		if (!strcmp(bpf_program__name(program) + strlen("bm_"), bm_recall_programs[i]))
			return true;
	return false;
}

static void pin_path(int i, char path[PIN_PATH])
{
	snprintf(path, PIN_PATH, BM_PIN_DIR "/links/%s", bm_recall_programs[i]);
}

static int attach(struct bm_kernel *kernel, int i, struct bm_error *err)
{
	char path[PIN_PATH];
	autoclose link = -1;

	/* Not just that something is there: it has to be a link. */
	pin_path(i, path);
	link = bpf_obj_get(path);
	if (link >= 0)
		return 0;
	if (link != -ENOENT)
		return bm_fail_errno(err, -link, "%s", path);
	/* The attach call of LSM programs that all of our kernels know. */
	link = bpf_raw_tracepoint_open(NULL, kernel->recall[i]);
	if (link < 0)
		return bm_fail(err, -link, "recall", "run `benchmon doctor`", "attach %s: %s",
			       bm_recall_programs[i], strerror(-link));
	return bpf_obj_pin(link, path) < 0 ? bm_fail_errno(err, errno, "pin %s", path) : 0;
}

int bm_recall_attach(struct bm_kernel *kernel, struct bm_error *err)
{
	int r = 0;

	for (int i = 0; i < BM_RECALL_PROGRAM_MAX && r == 0; i++)
		r = attach(kernel, i, err);
	return r;
}

int bm_recall_detach(struct bm_kernel *kernel, struct bm_error *err)
{
	char path[PIN_PATH];

	(void)kernel;
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++) {
		pin_path(i, path);
		if (unlink(path) < 0 && errno != ENOENT)
			return bm_fail_errno(err, errno, "%s", path);
	}
	return 0;
}

bool bm_recall_attached(struct bm_kernel *kernel)
{
	char path[PIN_PATH];

	(void)kernel;
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++) {
		pin_path(i, path);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

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

static struct bm_carried_key carried_key(uint32_t bench, uint64_t device, uint64_t inode)
{
	return (struct bm_carried_key){ .bench = bench,
					.device = major(device) << 20 | minor(device),
					.inode = inode };
}

int bm_carried_put(struct bm_kernel *kernel, uint32_t bench, uint64_t device, uint64_t inode)
{
	struct bm_carried_key key = carried_key(bench, device, inode);
	uint32_t one = 1;

	return bpf_map_update_elem(kernel->map.carried, &key, &one, BPF_ANY);
}

bool bm_carried(struct bm_kernel *kernel, uint32_t bench, uint64_t device, uint64_t inode)
{
	struct bm_carried_key key = carried_key(bench, device, inode);
	uint32_t one;

	return bpf_map_lookup_elem(kernel->map.carried, &key, &one) == 0;
}
