// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/step.h"

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

	for (int i = 0; i < BM_RECALL_PROGRAM_MAX && r == 0; i++) {
		r = attach(kernel, i, err);
		STEP(RECALL_HOOK_ON);
	}
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
		STEP(RECALL_HOOK_OFF);
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
