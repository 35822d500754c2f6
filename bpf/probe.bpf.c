// SPDX-License-Identifier: GPL-2.0-only
/*
 * For `benchmon doctor` alone, an object of its own: refuses one process to open one file, so that
 * user space sees a denial happen. Some kernels load and attach LSM programs and never run them.
 */
#include "kernel.h"

volatile __u32 probe_tgid;
volatile __u64 probe_inode;

SEC("lsm/file_open")
int BPF_PROG(bm_probe, struct file *file, int ret)
{
	if (ret || bpf_get_current_pid_tgid() >> 32 != probe_tgid)
		return ret;
	return file->f_path.dentry->d_inode->i_ino == probe_inode ? -EACCES : 0;
}

char LICENSE[] SEC("license") = "GPL";
