// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals by a terminal that an arrival brought: O_ASYNC on it, with no owner named, makes its
 * foreground group the owner, and that is the operator's. With F_SETSIG the next key kills them.
 */
#include "check.h"
#include "subject.h"

#define F_SETFL 4
#define O_ASYNC 020000
#define FIOASYNC 0x5452
#define TIOCEXCL 0x540c
#define TIOCSWINSZ 0x5414
#define TIOCSETD 0x5423

/* A terminal of the Bench's own devpts is its own: numbers, and so inodes, come again there. */
static __always_inline int check_carried(struct file *file)
{
	struct dentry *dentry = file->f_path.dentry;
	struct bm_bench *bench = walled_bench();
	struct decision decision;
	__u32 id;

	if (!bench)
		return 0;
	id = bench->id;
	if (!was_carried(id, dentry))
		return 0;
	decide(bench, file, BM_R | BM_W, &decision);
	if (decision.rule == BM_RULE_NONE)
		return 0;
	return refuse_task(id, BM_HOOK_SIGNAL, BM_RULE_OUTSIDE, EPERM, 0);
}

SEC("lsm/file_fcntl")
int BPF_PROG(bm_async, struct file *file, unsigned int cmd, unsigned long arg)
{
	return cmd == F_SETFL && arg & O_ASYNC ? check_carried(file) : 0;
}

static __always_inline int check_ioctl(struct file *file, unsigned int cmd)
{
	return cmd == FIOASYNC || cmd == TIOCSWINSZ || cmd == TIOCEXCL || cmd == TIOCSETD
		       ? check_carried(file)
		       : 0;
}

SEC("lsm/file_ioctl")
int BPF_PROG(bm_async_ioctl, struct file *file, unsigned int cmd)
{
	return check_ioctl(file, cmd);
}

SEC("lsm/file_ioctl_compat")
int BPF_PROG(bm_async_compat, struct file *file, unsigned int cmd)
{
	return check_ioctl(file, cmd);
}

char LICENSE[] SEC("license") = "GPL";
