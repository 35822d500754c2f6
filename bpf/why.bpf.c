// SPDX-License-Identifier: GPL-2.0-only
/*
 * Why: what the hooks would say, by the functions that they say it by. A hook, as no other program
 * may look up what an inode is, and this one because it is given a file that was only named
 * (O_PATH). Attached while somebody asks. It refuses nothing, counts nothing and gives nothing.
 */
#define ASKS
#include "call.h"
#include "open.h"

#define F_GETFD 1

static __always_inline void answer_file(struct bm_asked *question, struct file *file)
{
	const struct bm_bench *bench = bpf_map_lookup_elem(&benches, &question->cgroup);
	__u32 wanted = question->wanted, flags;
	struct decision decision;

	if (!bench)
		return;
	flags = bench->flags;
	/* What is executed is opened for that and for reading; the hook on execution asks for less.
	 */
	decide_open(bench, flags, file, wanted & BM_X ? wanted | BM_R : wanted, &decision);
	question->hook = BM_HOOK_FILE_OPEN;
	question->rule = decision.rule;
	question->grant = decision.grant;
	question->object = decision.object;
	question->answered = 1;
}

/* Of its own for its stack: beside the way up of a file there is no room for it. */
static __noinline int answer_call(struct bm_asked *question)
{
	const struct bm_cgroup *own = &question->own;
	const struct bm_dest_key *key = &question->to;
	struct bm_dest *dest;
	bool within;
	__u32 rule;

	rule = call_rule(own, key, &within);
	question->rule = leave_rule(own, key, within, rule);
	dest = bpf_map_lookup_elem(&destinations, key);
	question->grant = dest ? dest->grant : 0;
	question->within = within;
	question->answered = 1;
	return 0;
}

SEC("lsm/file_fcntl")
int BPF_PROG(bm_why, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	struct bm_asked *question;
	__u32 zero = 0;

	if (ret || cmd != F_GETFD || !arg)
		return ret;
	question = bpf_map_lookup_elem(&asked, &zero);
	if (!question || arg != question->cookie || question->answered)
		return 0;
	if (question->wanted)
		answer_file(question, file);
	else
		answer_call(question);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
