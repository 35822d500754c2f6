// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/io.h"

#define PIN_PATH 256

/* Levels and filter from the table as it is. With one more Bench first, with one fewer last. */
static int recount(struct bm_kernel *kernel, uint64_t more_id, uint32_t more_level)
{
	struct bm_config next = {};
	uint64_t id = more_id, key;
	struct bm_bench bench = { .level = more_level };
	int r;

	for (r = bpf_map_get_next_key(kernel->map.benches, NULL, &key);;) {
		uint32_t i = 0;

		if (id) {
			while (i < next.level_count && next.level[i] != bench.level)
				i++;
			if (i == BM_MAX_LEVELS)
				return -E2BIG;
			next.level[i] = bench.level;
			if (i == next.level_count)
				next.level_count++;
			next.filter[(id >> 6) % BM_FILTER_WORDS] |= 1ull << (id & 63);
		}
		if (r < 0)
			break;
		id = bpf_map_lookup_elem(kernel->map.benches, &key, &bench) == 0 ? key : 0;
		r = bpf_map_get_next_key(kernel->map.benches, &key, &key);
	}
	/*
	 * Programs read this while it is written. Adding must never hide a Bench for a moment: bits
	 * are set before they are cleared, and levels are only appended while they grow.
	 */
	for (int i = 0; i < BM_FILTER_WORDS; i++)
		kernel->config->filter[i] |= next.filter[i];
	for (uint32_t i = 0; i < next.level_count; i++) {
		uint32_t j = 0;

		while (j < kernel->config->level_count && kernel->config->level[j] != next.level[i])
			j++;
		if (j < kernel->config->level_count)
			continue;
		if (j == BM_MAX_LEVELS)
			return -E2BIG;
		kernel->config->level[j] = next.level[i];
		__sync_synchronize();
		kernel->config->level_count = j + 1;
	}
	if (!more_id) {
		for (int i = 0; i < BM_FILTER_WORDS; i++)
			kernel->config->filter[i] = next.filter[i];
		/* Levels no longer in use cost a look-up; dropped when none is. */
		if (!next.level_count)
			kernel->config->level_count = 0;
	}
	return 0;
}

static void pin_path(char path[PIN_PATH], uint32_t bench, const char *name)
{
	snprintf(path, PIN_PATH, BM_PIN_DIR "/benches/%u%s%s", bench, name ? "/" : "", name ?: "");
}

static int attach_program(struct bm_kernel *kernel, uint32_t bench, int cgroup, int i,
			  struct bm_error *err)
{
	autoclose link =
		bpf_link_create(kernel->program[i], cgroup, bm_cgroup_programs[i].type, NULL);
	char path[PIN_PATH];

	if (link < 0)
		return bm_fail_errno(err, -link, "attach %s", bm_cgroup_programs[i].name);
	pin_path(path, bench, bm_cgroup_programs[i].name);
	if (bpf_obj_pin(link, path) < 0)
		return bm_fail_errno(err, errno, "pin %s", path);
	return 0;
}

static int enter(struct bm_kernel *kernel, uint32_t bench, int cgroup, uint64_t cgroup_id,
		 uint32_t level, struct bm_error *err)
{
	struct bm_bench entry = { .id = bench, .level = level };
	struct bm_cgroup know = { .bench = bench };
	struct bm_stats zero = {};
	char path[PIN_PATH];
	int r;

	pin_path(path, bench, NULL);
	if (mkdir(path, 0700) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	r = bpf_map_update_elem(kernel->map.stats, &bench, &zero, BPF_ANY);
	if (r < 0)
		return bm_fail_errno(err, -r, "counters");
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		r = attach_program(kernel, bench, cgroup, i, err);
		if (r < 0)
			return r;
	}
	/* The storage came with the first link; until it names the Bench, its programs deny. */
	r = bpf_map_update_elem(kernel->map.cgroups, &cgroup_id, &know, BPF_EXIST);
	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup storage");
	r = recount(kernel, cgroup_id, level);
	if (r < 0)
		return bm_fail(err, -r, "attach", "destroy Benches that are not needed",
			       "Benches lie at more than %d different cgroup levels",
			       BM_MAX_LEVELS);
	entry.attached_ns = bm_now_ns(CLOCK_MONOTONIC);
	r = bpf_map_update_elem(kernel->map.benches, &cgroup_id, &entry, BPF_NOEXIST);
	if (r == -E2BIG)
		return bm_fail(err, E2BIG, "attach", "destroy Benches that are not needed",
			       "there are %d Benches already", BM_MAX_BENCHES);
	return r < 0 ? bm_fail_errno(err, -r, "benches") : 0;
}

int bm_bench_enter(struct bm_kernel *kernel, uint32_t bench, int cgroup, uint64_t cgroup_id,
		   uint32_t level, struct bm_error *err)
{
	struct bm_bench other;
	int r;

	if (bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &other) == 0)
		return bm_fail(err, EEXIST, "attach", "detach it first",
			       "the cgroup is a Bench already");
	r = enter(kernel, bench, cgroup, cgroup_id, level, err);
	if (r < 0)
		bm_bench_leave(kernel, bench, cgroup_id, NULL);
	return r;
}

int bm_bench_leave(struct bm_kernel *kernel, uint32_t bench, uint64_t cgroup_id,
		   struct bm_error *err)
{
	struct bm_bench entry;
	char path[PIN_PATH];
	int r;

	/* Authority first, while the walls still stand. */
	r = bm_tables_prune(kernel, bench, NULL, NULL);
	if (r < 0)
		return bm_fail_errno(err, -r, "grants");
	if (bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &entry) == 0 && entry.id == bench)
		bpf_map_delete_elem(kernel->map.benches, &cgroup_id);
	recount(kernel, 0, 0);
	pin_path(path, bench, NULL);
	r = bm_unpin_tree(AT_FDCWD, path);
	if (r < 0)
		return bm_fail_errno(err, -r, "remove %s", path);
	bpf_map_delete_elem(kernel->map.stats, &bench);
	return 0;
}

bool bm_bench_whole(struct bm_kernel *kernel, uint32_t bench, uint64_t cgroup_id)
{
	struct bm_bench entry;
	struct bm_cgroup know;

	if (bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &entry) < 0 || entry.id != bench)
		return false;
	if (bpf_map_lookup_elem(kernel->map.cgroups, &cgroup_id, &know) < 0 || know.bench != bench)
		return false;
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		struct bpf_link_info info = {};
		uint32_t size = sizeof(info);
		char path[PIN_PATH];
		autoclose link = -1;

		pin_path(path, bench, bm_cgroup_programs[i].name);
		link = bpf_obj_get(path);
		if (link < 0 || bpf_obj_get_info_by_fd(link, &info, &size) < 0 ||
		    info.cgroup.cgroup_id != cgroup_id)
			return false;
	}
	return true;
}

int bm_bench_each(struct bm_kernel *kernel,
		  int (*fn)(void *ctx, uint64_t cgroup_id, const struct bm_bench *bench), void *ctx)
{
	uint64_t key, next;
	int r = bpf_map_get_next_key(kernel->map.benches, NULL, &key);

	while (r == 0) {
		int more = bpf_map_get_next_key(kernel->map.benches, &key, &next);
		struct bm_bench bench;

		if (bpf_map_lookup_elem(kernel->map.benches, &key, &bench) == 0) {
			r = fn(ctx, key, &bench);
			if (r < 0)
				return r;
		}
		key = next;
		r = more;
	}
	return r == -ENOENT ? 0 : r;
}

int bm_stats_get(struct bm_kernel *kernel, uint32_t bench, struct bm_stats *ret)
{
	return bpf_map_lookup_elem(kernel->map.stats, &bench, ret);
}

int bm_arrival_mark(struct bm_kernel *kernel, int pidfd, struct bm_error *err)
{
	struct bm_task task = { .state = BM_TASK_ARRIVAL };
	int r = bpf_map_update_elem(kernel->map.tasks, &pidfd, &task, BPF_ANY);

	return r < 0 ? bm_fail_errno(err, -r, "mark the arrival") : 0;
}
