// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs of this build in the place of another's, while Benches run. The maps stay, so both
 * decide by the same; the new hooks are attached before an old one goes, and a Bench's own links
 * change their program in one step. For a while both decide, and the stricter one counts. Killed
 * meanwhile, the next start finds pins of both (known_next), and begins anew.
 */
#include "kernel/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/step.h"
#include "skel/benchmon.skel.h"

#define PIN_PATH 256

/* Filled by its build for good, and frozen: each build has its own. */
static bool is_own(const struct benchmon *skel, const struct bpf_map *map)
{
	return map == skel->maps.known || map == skel->maps.tells;
}

static int does_not_fit(const char *name, const char *what, unsigned there, unsigned here,
			struct bm_error *err)
{
	return bm_fail(err, EPROTO, "abi", BM_OTHER_REMEDY,
		       "the programs in the kernel have a map %s whose %s is %u, and this "
		       "gatekeeperd one of %u; they go on enforcing",
		       name, what, there, here);
}

static int check_map(const struct bpf_map *map, const char *name, int fd, struct bm_error *err)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return bm_fail_errno(err, errno, "maps/%s", name);
	if (info.type != bpf_map__type(map))
		return does_not_fit(name, "type", info.type, bpf_map__type(map), err);
	if (info.key_size != bpf_map__key_size(map))
		return does_not_fit(name, "key size", info.key_size, bpf_map__key_size(map), err);
	if (info.value_size != bpf_map__value_size(map))
		return does_not_fit(name, "value size", info.value_size, bpf_map__value_size(map),
				    err);
	/* Of storages the kernel says another number than was asked for. */
	if (bpf_map__max_entries(map) && info.max_entries &&
	    info.max_entries != bpf_map__max_entries(map))
		return does_not_fit(name, "size", info.max_entries, bpf_map__max_entries(map), err);
	return 0;
}

static int keep_maps(struct benchmon *skel, struct bm_error *err)
{
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_map(map, skel->obj) {
		bool config = map == skel->maps.bss;
		const char *name = config ? "config" : bpf_map__name(map);
		char path[PIN_PATH];
		autoclose fd = -1;

		if ((bpf_map__is_internal(map) && !config) || is_own(skel, map))
			continue;
		snprintf(path, sizeof(path), BM_PIN_DIR "/maps/%s", name);
		fd = bpf_obj_get(path);
		/* One that the other build has not begins empty. */
		if (fd < 0 && errno == ENOENT)
			continue;
		r = fd < 0 ? bm_fail_errno(err, errno, "%s", path) : check_map(map, name, fd, err);
		if (r == 0 && bpf_map__reuse_fd(map, fd) < 0)
			r = bm_fail_errno(err, errno, "%s", path);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A Bench's links are made when it begins: none is added to it, and none taken away. */
static int check_cgroup_programs(struct bm_error *err)
{
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		char path[PIN_PATH];

		snprintf(path, sizeof(path), BM_PIN_DIR "/programs/%s", bm_cgroup_programs[i].name);
		if (access(path, F_OK) < 0)
			return bm_fail(err, EPROTO, "abi", BM_OTHER_REMEDY,
				       "the Benches have no program %s, and this gatekeeperd has; "
				       "the programs in the kernel go on enforcing",
				       bm_cgroup_programs[i].name);
	}
	return 0;
}

static int load_beside(struct benchmon *skel, struct bm_error *err)
{
	int r = bm_choose_programs(skel->obj);

	if (r < 0)
		return bm_fail_errno(err, -r, "BPF object");
	r = keep_maps(skel, err);
	if (r == 0)
		r = check_cgroup_programs(err);
	if (r < 0)
		return r;
	r = benchmon__load(skel);
	if (r < 0)
		return bm_fail(
			err, -r, "kernel", "run `benchmon doctor` for the reason",
			"the kernel does not take the programs of this gatekeeperd: %s (%.200s); "
			"those that are in it go on enforcing",
			strerror(-r), bm_libbpf_said());
	r = bm_tells_fill(bpf_map__fd(skel->maps.tells));
	return r < 0 ? bm_fail_errno(err, -r, "tells") : bm_pin_all(skel, err);
}

/* What is recalled at this moment stays so. */
static int attach_recall(struct benchmon *skel, struct bm_error *err)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skel->obj) {
		const char *name = bpf_program__name(program) + strlen("bm_");
		char path[PIN_PATH];
		autoclose link = -1;

		snprintf(path, sizeof(path), BM_PIN_DIR "/links/%s", name);
		if (!bm_recall_program(program) || access(path, F_OK) < 0)
			continue;
		link = bpf_raw_tracepoint_open(NULL, bpf_program__fd(program));
		snprintf(path, sizeof(path), BM_PIN_NEW "/links/%s", name);
		if (link < 0 || bpf_obj_pin(link, path) < 0)
			return bm_fail_errno(err, link < 0 ? -link : errno, "attach %s", name);
	}
	return 0;
}

static int change(const char *bench, int i, int program, struct bm_error *err)
{
	const char *name = bm_cgroup_programs[i].name;
	char path[PIN_PATH + 64];
	autoclose link = -1;
	int r;

	snprintf(path, sizeof(path), BM_PIN_DIR "/benches/%.32s/%s", bench, name);
	link = bpf_obj_get(path);
	/* What is missing of it, restoring finds. */
	if (link < 0 && errno == ENOENT)
		return 0;
	r = link < 0 ? -errno : bpf_link_update(link, program, NULL);
	STEP(UPGRADE_BENCH);
	/* Its cgroup has gone, and with it what could be decided. */
	return r < 0 && r != -ENOLINK ? bm_fail_errno(err, -r, "%s", path) : 0;
}

static int change_benches(struct benchmon *skel, struct bm_error *err)
{
	autoclosedir DIR *dir = opendir(BM_PIN_DIR "/benches");
	struct dirent *entry;

	if (!dir)
		return bm_fail_errno(err, errno, BM_PIN_DIR "/benches");
	while ((entry = readdir(dir))) {
		for (int i = 0; entry->d_name[0] != '.' && i < BM_CGROUP_PROGRAM_MAX; i++) {
			char name[64];
			int r, fd;

			snprintf(name, sizeof(name), "bm_%s", bm_cgroup_programs[i].name);
			fd = bpf_program__fd(bpf_object__find_program_by_name(skel->obj, name));
			r = change(entry->d_name, i, fd, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

/* Each new pin takes the old one's name: what that held goes, and is replaced by then. */
static int take_places(const char *kind, struct bm_error *err)
{
	char from[PIN_PATH], to[PIN_PATH], dir_path[PIN_PATH];
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;

	snprintf(dir_path, sizeof(dir_path), BM_PIN_NEW "/%s", kind);
	dir = opendir(dir_path);
	if (!dir)
		return bm_fail_errno(err, errno, "%s", dir_path);
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "known"))
			continue;
		snprintf(from, sizeof(from), BM_PIN_NEW "/%s/%.64s", kind, entry->d_name);
		snprintf(to, sizeof(to), BM_PIN_DIR "/%s/%.64s", kind, entry->d_name);
		if (rename(from, to) < 0)
			return bm_fail_errno(err, errno, "rename %s to %s", from, to);
		STEP(UPGRADE_PLACE);
		rewinddir(dir);
	}
	return 0;
}

/* What the other build had, and this one has not. */
static void remove_rest(const char *kind, int known)
{
	autoclosedir DIR *dir = NULL;
	struct dirent *entry;
	char path[PIN_PATH];

	snprintf(path, sizeof(path), BM_PIN_DIR "/%s", kind);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		struct bm_known_key key = {}, program = {};
		struct bm_known value;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(key.pin, sizeof(key.pin), "%s/%.24s", kind, entry->d_name);
		snprintf(program.pin, sizeof(program.pin), "programs/%.24s", entry->d_name);
		if (bpf_map_lookup_elem(known, &key, &value) < 0 &&
		    bpf_map_lookup_elem(known, &program, &value) < 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

static int replace(struct benchmon *skel, struct bm_error *err)
{
	int known = bpf_map__fd(skel->maps.known), r;

	if (rename(BM_PIN_NEW "/maps/known", BM_KNOWN_NEXT) < 0)
		return bm_fail_errno(err, errno, BM_KNOWN_NEXT);
	STEP(UPGRADE_ANNOUNCED);
	r = change_benches(skel, err);
	if (r == 0)
		r = take_places("links", err);
	if (r == 0)
		r = take_places("programs", err);
	if (r == 0)
		r = take_places("maps", err);
	if (r < 0)
		return r;
	if (rename(BM_KNOWN_NEXT, BM_PIN_DIR "/maps/known") < 0)
		return bm_fail_errno(err, errno, BM_KNOWN_NEXT);
	STEP(UPGRADE_KNOWN);
	remove_rest("links", known);
	remove_rest("programs", known);
	remove_rest("maps", known);
	return 0;
}

/* True where all is this build's, and nothing of a replacement is left to be done. */
static bool is_this_build(void)
{
	autoclose known = bpf_obj_get(BM_PIN_DIR "/maps/known");
	struct bm_known_key key = { .pin = BM_KNOWN_BUILD };
	struct bm_known value;

	return known >= 0 && bpf_map_lookup_elem(known, &key, &value) == 0 &&
	       value.what == bm_build() && access(BM_KNOWN_NEXT, F_OK) < 0;
}

int bm_upgrade(struct bm_error *err)
{
	struct benchmon *skel;
	int r;

	if (is_this_build())
		return 0;
	bm_libbpf_capture();
	skel = benchmon__open();
	if (!skel)
		return bm_fail_errno(err, errno, "BPF object");
	r = load_beside(skel, err);
	if (r == 0)
		r = attach_recall(skel, err);
	STEP(UPGRADE_BESIDE);
	if (r == 0)
		r = replace(skel, err);
	benchmon__destroy(skel);
	bm_unpin_tree(AT_FDCWD, BM_PIN_NEW);
	return r;
}
