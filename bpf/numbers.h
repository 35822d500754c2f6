/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's macros, which no BTF has: part of its ABI, or the same in 6.1, 6.12 and 6.18. */
#ifndef BENCHMON_BPF_NUMBERS_H
#define BENCHMON_BPF_NUMBERS_H

#define EPERM 1
#define EACCES 13

/* include/linux/fs.h and mount.h */
#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define O_TRUNC 01000
#define FMODE_EXEC_FLAG 0x20 /* __FMODE_EXEC: kept in f_flags, not f_mode */
#define MNT_INTERNAL 0x4000
#define MQUEUE_MAGIC 0x19800202
#define ANON_INODE_FS_MAGIC 0x09041934
#define SB_KERNMOUNT (1 << 22)
#define PROC_SUPER_MAGIC 0x9fa0
#define SYSFS_MAGIC 0x62656572
#define CGROUP2_SUPER_MAGIC 0x63677270
#define CAP_SYS_ADMIN 21
#define RENAME_WHITEOUT (1 << 2)
#define S_ISUID 04000
#define S_ISGID 02000
#define S_IFMT 0170000
#define S_IFDIR 0040000
#define S_IFIFO 0010000
#define S_IFREG 0100000
#define S_IFCHR 0020000
#define S_IFBLK 0060000

#endif
