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
#include "base/step.h"

#define PIN_PATH 256

/* One more Bench in what the programs look at first. */
static int note(struct bm_config *next, uint64_t id, uint32_t level)
{
	uint32_t i = 0;

	while (i < next->level_count && next->level[i] != level)
		i++;
	if (i == BM_MAX_LEVELS)
		return -E2BIG;
	next->level[i] = level;
	if (i == next->level_count)
		next->level_count++;
	next->filter[(id >> 6) % BM_FILTER_WORDS] |= 1ull << (id & 63);
	return 0;
}

static int note_all(struct bm_kernel *kernel, struct bm_config *next)
{
	struct bm_bench bench;
	uint64_t key, after;
	int r = bpf_map_get_next_key(kernel->map.benches, NULL, &key);

	while (r == 0) {
		r = bpf_map_lookup_elem(kernel->map.benches, &key, &bench);
		if (r == 0)
			r = note(next, key, bench.level);
		if (r < 0)
			return r;
		r = bpf_map_get_next_key(kernel->map.benches, &key, &after);
		key = after;
	}
	return r == -ENOENT ? 0 : r;
}

static bool has_level(const struct bm_config *config, uint32_t count, uint32_t level)
{
	for (uint32_t i = 0; i < count; i++)
		if (config->level[i] == level)
			return true;
	return false;
}

/* A place for a level: a new one, or that of a level which no Bench lies at any more. */
static uint32_t level_place(struct bm_kernel *kernel, const struct bm_config *next)
{
	uint32_t count = kernel->config->level_count;

	for (uint32_t i = 0; i < count; i++)
		if (!has_level(next, next->level_count, kernel->config->level[i]))
			return i;
	return count;
}

/*
 * Programs read this while it is written, and no Bench may be hidden for a moment: bits are set
 * before any is cleared, levels in use are never moved, and on any error nothing is cleared.
 */
static int recount(struct bm_kernel *kernel, uint64_t more_id, uint32_t more_level)
{
	struct bm_config next = {};
	int r = note_all(kernel, &next);

	if (r == 0 && more_id)
		r = note(&next, more_id, more_level);
	if (r < 0)
		return r;
	for (int i = 0; i < BM_FILTER_WORDS; i++)
		kernel->config->filter[i] |= next.filter[i];
	for (uint32_t i = 0; i < next.level_count; i++) {
		uint32_t place;

		if (has_level((const struct bm_config *)(uintptr_t)kernel->config,
			      kernel->config->level_count, next.level[i]))
			continue;
		place = level_place(kernel, &next);
		if (place == BM_MAX_LEVELS)
			return -E2BIG;
		kernel->config->level[place] = next.level[i];
		__sync_synchronize();
		if (place == kernel->config->level_count)
			kernel->config->level_count = place + 1;
	}
	if (more_id)
		return 0;
	for (int i = 0; i < BM_FILTER_WORDS; i++)
		kernel->config->filter[i] = next.filter[i];
	if (!next.level_count)
		kernel->config->level_count = 0;
	return 0;
}

/*
 * A slot that no Bench has. What an earlier one had in it is forgotten when nothing that could
 * still write it runs any more.
 */
static int take_slot(struct bm_kernel *kernel, uint32_t *ret)
{
	bool used[BM_SLOTS] = { true };
	struct bm_bench bench;
	uint64_t key, after;
	uint32_t slot = 1;
	int r = bpf_map_get_next_key(kernel->map.benches, NULL, &key);

	while (r == 0) {
		r = bpf_map_lookup_elem(kernel->map.benches, &key, &bench);
		if (r < 0)
			return r;
		used[bench.slot % BM_SLOTS] = true;
		r = bpf_map_get_next_key(kernel->map.benches, &key, &after);
		key = after;
	}
	if (r != -ENOENT)
		return r;
	while (used[slot])
		slot++;
	if (kernel->config->ever[slot]) {
		r = bm_kernel_settle();
		if (r < 0)
			return r;
		kernel->config->ever[slot] = 0;
	}
	kernel->config->sent[slot] = 0;
	*ret = slot;
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
		 uint32_t level, uint32_t flags, uint32_t userns, struct bm_error *err)
{
	struct bm_bench entry = { .id = bench,
				  .level = level,
				  .flags = flags,
				  .userns = userns,
				  .capabilities = BM_CAPABILITIES };
	struct bm_cgroup know = { .bench = bench, .flags = flags };
	struct bm_stats zero = {};
	char path[PIN_PATH];
	int r = take_slot(kernel, &entry.slot);

	if (r < 0)
		return bm_fail_errno(err, -r, "benches");
	know.slot = entry.slot;

	pin_path(path, bench, NULL);
	if (mkdir(path, 0700) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	r = bpf_map_update_elem(kernel->map.stats, &bench, &zero, BPF_ANY);
	if (r < 0)
		return bm_fail_errno(err, -r, "counters");
	STEP(ENTER_COUNTED);
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		r = attach_program(kernel, bench, cgroup, i, err);
		STEP(ENTER_PROGRAM);
		if (r < 0)
			return r;
	}
	/* The storage came with the first link; until it names the Bench, its programs deny. */
	r = bpf_map_update_elem(kernel->map.cgroups, &cgroup_id, &know, BPF_EXIST);
	if (r < 0)
		return bm_fail_errno(err, -r, "cgroup storage");
	STEP(ENTER_STORAGE);
	r = recount(kernel, cgroup_id, level);
	STEP(ENTER_FILTER);
	if (r < 0 && r != -E2BIG)
		return bm_fail_errno(err, -r, "count the Benches");
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

/* What image rests on beyond the hooks of the floor: functions that a kernel may lack or inline. */
static int check_image(struct bm_error *err)
{
	static const char *const links[] = { "personality", "stack" };

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		char path[PIN_PATH];

		snprintf(path, sizeof(path), BM_PIN_DIR "/links/%s", links[i]);
		if (access(path, F_OK) < 0)
			return bm_fail(err, EOPNOTSUPP, "exec-image", "take --exec own",
				       "this kernel has no place for the program \"%s\"", links[i]);
	}
	return 0;
}

int bm_bench_enter(struct bm_kernel *kernel, uint32_t bench, int cgroup, uint64_t cgroup_id,
		   uint32_t level, uint32_t flags, uint32_t userns, struct bm_error *err)
{
	struct bm_bench other;
	int r = flags & BM_BENCH_IMAGE ? check_image(err) : 0;

	if (r < 0)
		return r;
	if (bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &other) == 0)
		return bm_fail(err, EEXIST, "attach", "detach it first",
			       "the cgroup is a Bench already");
	r = enter(kernel, bench, cgroup, cgroup_id, level, flags, userns, err);
	if (r < 0)
		bm_bench_leave(kernel, bench, NULL, NULL);
	return r;
}

/* By its id: the cgroup may have gone, and its id with it. */
static int drop_entries(struct bm_kernel *kernel, uint32_t bench)
{
	struct bm_bench entry;
	uint64_t key, after;
	int r = bpf_map_get_next_key(kernel->map.benches, NULL, &key);

	while (r == 0) {
		int more = bpf_map_get_next_key(kernel->map.benches, &key, &after);

		if (bpf_map_lookup_elem(kernel->map.benches, &key, &entry) == 0 &&
		    entry.id == bench) {
			r = bpf_map_delete_elem(kernel->map.benches, &key);
			if (r < 0 && r != -ENOENT)
				return r;
		}
		key = after;
		r = more;
	}
	return r == -ENOENT ? 0 : r;
}

int bm_bench_leave(struct bm_kernel *kernel, uint32_t bench, struct bm_stats *ret_last,
		   struct bm_error *err)
{
	char path[PIN_PATH];
	int r;

	/* Authority first, while the walls still stand. */
	r = bm_tables_prune(kernel, bench, NULL, NULL);
	STEP(LEAVE_PRUNED);
	if (r == 0)
		r = drop_entries(kernel, bench);
	STEP(LEAVE_DROPPED);
	if (r == 0)
		r = recount(kernel, 0, 0);
	STEP(LEAVE_FILTER);
	if (r < 0)
		return bm_fail_errno(err, -r, "take Bench %u out of the kernel's tables", bench);
	pin_path(path, bench, NULL);
	r = bm_unpin_tree(AT_FDCWD, path);
	if (r < 0)
		return bm_fail_errno(err, -r, "remove %s", path);
	STEP(LEAVE_UNPINNED);
	/* Whoever was still counting has done so. */
	if (ret_last && bm_kernel_settle() == 0)
		bm_stats_get(kernel, bench, ret_last);
	bpf_map_delete_elem(kernel->map.stats, &bench);
	return 0;
}

int bm_bench_get(struct bm_kernel *kernel, uint64_t cgroup_id, struct bm_bench *ret)
{
	return bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, ret);
}

/* Every flag narrows, but for those that allow. NESTED and LISTENS come and go with the grants.
 */
static bool as_strict(uint32_t found, uint32_t wanted)
{
	return !(wanted & ~found) && !(found & ~wanted & (BM_BENCH_USERNS | BM_BENCH_LEARN));
}

static int not_whole(struct bm_error *err, const char *what)
{
	return bm_fail(err, EPERM, "pins", NULL, "%s", what);
}

int bm_bench_check(struct bm_kernel *kernel, uint32_t bench, uint64_t cgroup_id, uint32_t flags,
		   struct bm_error *err)
{
	struct bm_bench entry;
	struct bm_cgroup know;
	int r = 0;

	if (bpf_map_lookup_elem(kernel->map.benches, &cgroup_id, &entry) < 0 || entry.id != bench)
		return not_whole(err, "its cgroup is not in the kernel's table of Benches");
	if (!as_strict(entry.flags, flags) || entry.capabilities & ~BM_CAPABILITIES)
		return not_whole(err, "the kernel's table has it less strict than it was made");
	if (bpf_map_lookup_elem(kernel->map.cgroups, &cgroup_id, &know) < 0 ||
	    know.bench != bench || !as_strict(know.flags, flags) || know.slot != entry.slot ||
	    !entry.slot || entry.slot >= BM_SLOTS)
		return not_whole(err, "the storage of its cgroup is not as it was made");
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX && r == 0; i++) {
		const char *name = bm_cgroup_programs[i].name;
		struct bpf_link_info info;
		char path[PIN_PATH], pin[PIN_PATH];

		pin_path(path, bench, name);
		snprintf(pin, sizeof(pin), "programs/%s", name);
		r = bm_known_check_link(path, pin, &info, err);
		if (r == 0 &&
		    (info.type != BPF_LINK_TYPE_CGROUP || info.cgroup.cgroup_id != cgroup_id ||
		     info.cgroup.attach_type != bm_cgroup_programs[i].type))
			r = bm_fail(err, EPERM, "pins", NULL,
				    "%s is attached elsewhere than to its cgroup", path);
	}
	return r;
}

bool bm_bench_pinned(uint32_t bench, const char *program)
{
	char path[PIN_PATH];

	pin_path(path, bench, program);
	return access(path, F_OK) == 0;
}

/* The kernel puts a copy in the old one's place, so that no program sees half of it. */
int bm_bench_listens(struct bm_kernel *kernel, uint64_t cgroup_id, bool listens,
		     struct bm_error *err)
{
	struct bm_cgroup know;
	int r = bpf_map_lookup_elem(kernel->map.cgroups, &cgroup_id, &know);

	if (r == 0 && !(know.flags & BM_BENCH_LISTENS) != listens)
		return 0;
	know.flags ^= BM_BENCH_LISTENS;
	if (r == 0)
		r = bpf_map_update_elem(kernel->map.cgroups, &cgroup_id, &know, BPF_EXIST);
	return r < 0 ? bm_fail_errno(err, -r, "cgroup storage") : 0;
}

int bm_stats_get(struct bm_kernel *kernel, uint32_t bench, struct bm_stats *ret)
{
	return bpf_map_lookup_elem(kernel->map.stats, &bench, ret);
}

int bm_arrival_mark(struct bm_kernel *kernel, uint32_t bench, int pidfd, struct bm_error *err)
{
	struct bm_task task = { .state = BM_TASK_ARRIVAL, .bench = bench };
	int r = bpf_map_update_elem(kernel->map.tasks, &pidfd, &task, BPF_ANY);

	return r < 0 ? bm_fail_errno(err, -r, "mark the arrival") : 0;
}

bool bm_arrives(struct bm_kernel *kernel, uint32_t bench, int pidfd)
{
	struct bm_task task;

	return bpf_map_lookup_elem(kernel->map.tasks, &pidfd, &task) == 0 &&
	       task.state == BM_TASK_ARRIVAL && task.bench == bench;
}
