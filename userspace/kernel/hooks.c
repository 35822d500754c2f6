// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/hooks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/internal.h"
#include "skel/benchmon.skel.h"

static const char *const names[] = {
	[BM_HOOK_ON] = "on",
	[BM_HOOK_OFF] = "off",
	[BM_HOOK_ON_DEMAND] = "on-demand",
	[BM_HOOK_PER_BENCH] = "per-bench",
	[BM_HOOK_ABSENT] = "absent",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == BM_HOOK_STATE_MAX, "a name for each state");

const char *bm_hook_state_name(enum bm_hook_state state)
{
	return names[state];
}

static enum bm_hook_state state_of(const struct bpf_program *program)
{
	enum bpf_prog_type type = bpf_program__type(program);
	char path[256];

	if (!bpf_program__autoload(program))
		return BM_HOOK_ABSENT;
	if (type != BPF_PROG_TYPE_LSM && type != BPF_PROG_TYPE_TRACING)
		return BM_HOOK_PER_BENCH;
	snprintf(path, sizeof(path), BM_PIN_DIR "/links/%s",
		 bpf_program__name(program) + strlen("bm_"));
	if (access(path, F_OK) == 0)
		return BM_HOOK_ON;
	return bm_recall_program(program) || bm_why_program(program) || bm_seek_program(program)
		       ? BM_HOOK_ON_DEMAND
		       : BM_HOOK_OFF;
}

int bm_hooks_each(void (*fn)(void *ctx, const char *hook, enum bm_hook_state state), void *ctx,
		  struct bm_error *err)
{
	struct bpf_program *program;
	struct benchmon *skel;
	int r;

	bm_libbpf_capture();
	skel = benchmon__open();
	if (!skel)
		return bm_fail_errno(err, errno, "BPF object");
	r = bm_choose_programs(skel->obj);
	if (r < 0)
		bm_fail_errno(err, -r, "BPF programs");
	bpf_object__for_each_program(program, skel->obj) {
		const char *section = bpf_program__section_name(program);
		const char *slash = strrchr(section, '/');

		if (r == 0)
			fn(ctx, slash ? slash + 1 : section, state_of(program));
	}
	benchmon__destroy(skel);
	return r;
}
