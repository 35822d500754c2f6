// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names that a Bench looks for and does not find: no hook is asked about what is not there. Nothing
 * is decided here. Attached only while somebody has asked for it of some Bench, and told once a
 * path, so that a search for a program in twenty directories does not take the room of denials.
 */
#include "learned.h"
#include "record.h"
#include "who.h"

#define ENOENT 2
#define PATH_WORDS 32 /* of 8 bytes: what is longer is told apart by its beginning */

struct filename___name {
	const char *name;
} KERNEL;

static __always_inline bool is_sought(__u32 bench)
{
	for (int i = 0; i < BM_MAX_SEEK; i++)
		if (config.seek[i] == bench)
			return true;
	return false;
}

/* FNV-1a, a word at a time: two paths that have one number are told of as one. */
static __always_inline __u64 number_of(const __u64 *words)
{
	__u64 hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < PATH_WORDS; i++)
		hash = (hash ^ words[i]) * 0x100000001b3ull;
	return hash;
}

static __always_inline int tell(struct filename___name *name)
{
	struct bm_learned_key key = { .kind = BM_LEARNED_NOT_FOUND };
	struct bm_bench *bench = bench_of_current();
	__u64 words[PATH_WORDS] = {};
	struct bm_event *event;
	const char *path;

	if (!bench || !is_sought(bench->id) || is_arrival(bench->id))
		return 0;
	key.bench = bench->id;
	path = BPF_CORE_READ(name, name);
	if (bpf_probe_read_kernel_str(words, sizeof(words), path) < 0 || (char)words[0] != '/')
		return 0;
	key.where[0] = number_of(words);
	if (is_learned(&key, 1))
		return 0;
	event = record(key.bench, BM_HOOK_NOT_FOUND, BM_NO_VERDICT, BM_RULE_NONE, ENOENT);
	if (!event)
		return 0;
	learn(&key);
	record_process(event);
	__builtin_memset(&event->file, 0, offsetof(struct bm_event_file, names));
	event->file.wanted = BM_R;
	/* One string: the path as it was given. */
	__builtin_memcpy(event->file.names, words, sizeof(words));
	((char *)event->file.names)[sizeof(words) - 1] = '\0';
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* open, exec. */
SEC("fexit/do_filp_open")
int BPF_PROG(bm_seek_open, int dfd, struct filename___name *name, const void *op, long file)
{
	return file == -ENOENT ? tell(name) : 0;
}

/* stat, access, chdir and their like. */
SEC("fexit/filename_lookup")
int BPF_PROG(bm_seek_lookup, int dfd, struct filename___name *name, unsigned int flags, void *path,
	     void *root, int ret)
{
	return ret == -ENOENT ? tell(name) : 0;
}

char LICENSE[] SEC("license") = "GPL";
