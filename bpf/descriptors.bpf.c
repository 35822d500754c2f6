// SPDX-License-Identifier: GPL-2.0-only
/* What is done to a file through its descriptor, and descriptors that come from elsewhere. */
#include "check.h"

#define F_SETLEASE 1024
#define F_NOTIFY 1026

/* ioctls every libc uses on any file, the same for 32-bit callers. */
#define FIONREAD 0x541b
#define FIONBIO 0x5421
#define FIONCLEX 0x5450
#define FIOCLEX 0x5451
#define FIOASYNC 0x5452
#define FIOQSIZE 0x5460
#define TCGETS 0x5401
#define TCGETS2 0x802c542a
#define TIOCGWINSZ 0x5413
#define TIOCSTI 0x5412
#define TIOCLINUX 0x541c
#define FS_IOC_SETFLAGS 0x40086602
#define FS_IOC32_SETFLAGS 0x40046602
#define FS_IOC_FSSETXATTR 0x401c5820

static __always_inline __u32 rights_of_fd(struct file *file)
{
	__u32 wanted = 0;

	if (file->f_mode & FMODE_READ)
		wanted |= BM_R;
	if (file->f_mode & FMODE_WRITE)
		wanted |= BM_W;
	return wanted ?: BM_R; /* O_PATH: a name at least */
}

/* SCM_RIGHTS, pidfd_getfd and their like. */
SEC("lsm/file_receive")
int BPF_PROG(bm_receive, struct file *file, int ret)
{
	return ret
		       ?: check_path(&file->f_path, file->f_path.dentry, BM_HOOK_RECEIVE,
				     rights_of_fd(file), 0, 0);
}

static __always_inline bool asks_only(unsigned int cmd)
{
	return cmd == FIONREAD || cmd == FIONBIO || cmd == FIONCLEX || cmd == FIOCLEX ||
	       cmd == FIOASYNC || cmd == FIOQSIZE || cmd == TCGETS || cmd == TCGETS2 ||
	       cmd == TIOCGWINSZ;
}

/*
 * A directory that becomes case-insensitive would show an excepted name under others. Those with
 * excepted names in them are objects.
 */
static __always_inline int check_flags(struct file *file, unsigned int cmd)
{
	struct decision decision = { .rule = BM_RULE_EXCEPTED };
	struct dentry *dentry = file->f_path.dentry;
	struct bm_bench *bench;

	if (cmd != FS_IOC_SETFLAGS && cmd != FS_IOC32_SETFLAGS && cmd != FS_IOC_FSSETXATTR)
		return 0;
	bench = bench_of_current();
	if (!bench || !(bench->flags & BM_BENCH_NESTED) || !object_of(dentry->d_inode))
		return 0;
	return verdict(bench->id, 0, BM_HOOK_IOCTL, dentry, dentry, BM_W, &decision, 0, 0);
}

/*
 * Beyond those an ioctl may do anything: btrfs snapshots, XFS opening by handle, flags of inodes,
 * clones. So it needs w, and an fd that was opened for it.
 */
static __always_inline int check_ioctl(struct file *file, unsigned int cmd)
{
	/* An overlay asks so when it copies up a file's flags. */
	if (asks_only(cmd) || acts_as_mounter())
		return 0;
	/* The process's own terminal, the operator's choice; typing into it is another matter. */
	if (is_pts(file->f_path.dentry) && cmd != TIOCSTI && cmd != TIOCLINUX)
		return 0;
	return check_path(&file->f_path, file->f_path.dentry, BM_HOOK_IOCTL, BM_R | BM_W, 0, 0)
		       ?: check_flags(file, cmd);
}

SEC("lsm/file_ioctl")
int BPF_PROG(bm_ioctl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return ret ?: check_ioctl(file, cmd);
}

/* The 32-bit entry: another hook, without which it would be another door. */
SEC("lsm/file_ioctl_compat")
int BPF_PROG(bm_ioctl_compat, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return ret ?: check_ioctl(file, cmd);
}

/* A lock on a ro object would stall the host's own tools. */
SEC("lsm/file_lock")
int BPF_PROG(bm_lock, struct file *file, unsigned int cmd, int ret)
{
	return ret
		       ?: check_path(&file->f_path, file->f_path.dentry, BM_HOOK_LOCK, BM_R | BM_W,
				     0, 0);
}

SEC("lsm/file_fcntl")
int BPF_PROG(bm_fcntl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	if (ret || (cmd != F_SETLEASE && cmd != F_NOTIFY))
		return ret;
	/* A watch by signal leaves no trace in /proc: it would not be found when the grant ends. */
	return check_path(&file->f_path, file->f_path.dentry, BM_HOOK_FCNTL, BM_R | BM_W,
			  cmd == F_NOTIFY, BM_RULE_HOST_TOOLS);
}

char LICENSE[] SEC("license") = "GPL";
