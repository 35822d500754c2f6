// SPDX-License-Identifier: GPL-2.0-only
/* What is pinned, opened: loaded first where there is nothing, replaced where it is of another
 * build. */
#include "kernel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#define PIN_PATH 256

static int open_pin(const char *kind, const char *name, int *ret_fd, struct bm_error *err)
{
	char path[PIN_PATH];
	int fd;

	snprintf(path, sizeof(path), BM_PIN_DIR "/%s/%s", kind, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return bm_fail(err, ESTALE, "pins", BM_STALE_REMEDY, "%s is missing or foreign: %s",
			       path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int map_config(struct bm_kernel *kernel, struct bm_error *err)
{
	autoclose fd = -1;
	void *memory;
	int r = open_pin("maps", "config", &fd, err);

	if (r < 0)
		return r;
	memory = mmap(NULL, sizeof(struct bm_config), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return bm_fail(err, ESTALE, "pins", BM_STALE_REMEDY,
			       BM_PIN_DIR "/maps/config is another map than was loaded: %s",
			       strerror(errno));
	kernel->config = memory;
	/* Not ESTALE: they are whole, and go on enforcing what they know. */
	if (kernel->config->abi != BM_ABI_VERSION)
		return bm_fail(
			err, EPROTO, "abi", BM_OTHER_REMEDY,
			"the programs in the kernel are of ABI %u, this gatekeeperd of ABI %u; "
			"they go on enforcing",
			kernel->config->abi, BM_ABI_VERSION);
	return 0;
}

static int adopt(struct bm_kernel *kernel, struct bm_error *err)
{
	int r;

#define X(name)                                                                                    \
	r = open_pin("maps", #name, &kernel->map.name, err);                                       \
	if (r < 0)                                                                                 \
		return r;
	BM_MAPS(X)
#undef X
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		r = open_pin("programs", bm_cgroup_programs[i].name, &kernel->program[i], err);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++) {
		r = open_pin("programs", bm_recall_programs[i], &kernel->recall[i], err);
		if (r < 0)
			return r;
	}
	r = open_pin("programs", "queued_list", &kernel->queued_list, err);
	if (r == 0)
		r = open_pin("programs", "strangers", &kernel->strangers, err);
	if (r == 0)
		r = open_pin("programs", "socket_cgroups", &kernel->socket_cgroups, err);
	return r < 0 ? r : open_pin("programs", "why", &kernel->why, err);
}

int bm_kernel_open(struct bm_kernel **ret, struct bm_error *err)
{
	__attribute__((cleanup(bm_kernel_closep))) struct bm_kernel *kernel =
		calloc(1, sizeof(*kernel));
	struct statfs fs;
	int r;

	if (!kernel)
		return bm_fail_errno(err, ENOMEM, "kernel");
	memset(&kernel->map, 0xff, sizeof(kernel->map));
	memset(kernel->program, 0xff, sizeof(kernel->program));
	memset(kernel->recall, 0xff, sizeof(kernel->recall));
	memset(kernel->seek, 0xff, sizeof(kernel->seek));
	kernel->queued_list = kernel->strangers = kernel->socket_cgroups = kernel->why = -1;
	if (statfs(BM_BPFFS, &fs) < 0 || fs.f_type != BPF_FS_MAGIC)
		return bm_fail(err, ENOENT, "kernel", "mount -t bpf bpf " BM_BPFFS,
			       "no bpffs at " BM_BPFFS);
	r = bm_unpin_tree(AT_FDCWD, BM_PIN_NEW);
	if (r < 0)
		return bm_fail_errno(err, -r, "remove " BM_PIN_NEW);
	if (access(BM_PIN_DIR, F_OK) < 0) {
		r = bm_load(err);
		if (r < 0)
			return r;
	}
	r = map_config(kernel, err);
	if (r == 0)
		r = bm_known_check(err);
	if (r == 0)
		r = bm_upgrade(err);
	if (r == 0)
		r = adopt(kernel, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(kernel);
	return 0;
}

void bm_kernel_close(struct bm_kernel *kernel)
{
	if (!kernel)
		return;
	ring_buffer__free(kernel->ring);
	if (kernel->config)
		munmap((void *)(uintptr_t)kernel->config, sizeof(struct bm_config));
#define X(name) bm_close(kernel->map.name);
	BM_MAPS(X)
#undef X
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++)
		bm_close(kernel->program[i]);
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++)
		bm_close(kernel->recall[i]);
	for (int i = 0; i < BM_SEEK_PROGRAM_MAX; i++)
		bm_close(kernel->seek[i]);
	bm_close(kernel->queued_list);
	bm_close(kernel->strangers);
	bm_close(kernel->socket_cgroups);
	bm_close(kernel->why);
	free(kernel);
}

int bm_kernel_unload(bool force, struct bm_error *err)
{
	autoclose benches = bpf_obj_get(BM_PIN_DIR "/maps/benches");
	uint64_t key;
	int r;

	if (!force && benches >= 0 && bpf_map_get_next_key(benches, NULL, &key) == 0)
		return bm_fail(err, EBUSY, "unload", "destroy or detach them first",
			       "there are Benches in the kernel's tables");
	/* In one step out of the way: what is left half removed is never adopted. */
	r = bm_unpin_tree(AT_FDCWD, BM_PIN_NEW);
	if (r == 0 && rename(BM_PIN_DIR, BM_PIN_NEW) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = bm_unpin_tree(AT_FDCWD, BM_PIN_NEW);
	return r < 0 ? bm_fail_errno(err, -r, "remove " BM_PIN_DIR) : 0;
}
