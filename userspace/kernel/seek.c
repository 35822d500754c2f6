// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a Bench does not find, told for as long as somebody asks. The links are this process's
 * alone: nothing is enforced by them, and nobody else would end them.
 */
#include "kernel/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const bm_seek_programs[BM_SEEK_PROGRAM_MAX] = { "seek_open", "seek_lookup" };

bool bm_seek_program(const struct bpf_program *program)
{
	for (int i = 0; i < BM_SEEK_PROGRAM_MAX; i++)
		if (!strcmp(bpf_program__name(program) + strlen("bm_"), bm_seek_programs[i]))
			return true;
	return false;
}

static int attach(struct bm_kernel *kernel, int i, struct bm_error *err)
{
	autoclose program = -1;
	char path[256];

	snprintf(path, sizeof(path), BM_PIN_DIR "/programs/%s", bm_seek_programs[i]);
	program = bpf_obj_get(path);
	kernel->seek[i] = program < 0 ? program : bpf_raw_tracepoint_open(NULL, program);
	return kernel->seek[i] < 0 ? bm_fail(err, EOPNOTSUPP, "seek", NULL,
					     "this kernel does not tell what is not found: %s: %s",
					     bm_seek_programs[i], strerror(-kernel->seek[i]))
				   : 0;
}

static void detach(struct bm_kernel *kernel)
{
	for (int i = 0; i < BM_SEEK_PROGRAM_MAX; i++) {
		bm_close(kernel->seek[i]);
		kernel->seek[i] = -1;
	}
}

int bm_seek_begin(struct bm_kernel *kernel, uint32_t bench, struct bm_error *err)
{
	int place = 0, r = 0;

	while (place < BM_MAX_SEEK && kernel->config->seek[place])
		place++;
	if (place == BM_MAX_SEEK)
		return bm_fail(err, EBUSY, "seek", "wait for one of them",
			       "of %d executions it is told already what they do not find",
			       BM_MAX_SEEK);
	for (int i = 0; i < BM_SEEK_PROGRAM_MAX && r == 0; i++)
		if (kernel->seek[i] < 0)
			r = attach(kernel, i, err);
	if (r == 0)
		kernel->config->seek[place] = bench;
	else
		bm_seek_end(kernel, 0);
	return r;
}

void bm_seek_end(struct bm_kernel *kernel, uint32_t bench)
{
	bool more = false, found = false;

	for (int i = 0; i < BM_MAX_SEEK; i++) {
		if (bench && !found && kernel->config->seek[i] == bench) {
			kernel->config->seek[i] = 0;
			found = true;
		}
		more |= kernel->config->seek[i];
	}
	if (!more)
		detach(kernel);
}

void bm_seek_forget(struct bm_kernel *kernel)
{
	for (int i = 0; i < BM_MAX_SEEK; i++)
		kernel->config->seek[i] = 0;
}
