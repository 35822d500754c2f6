// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interfaces and addresses of a network namespace that is the host's too, or others': any socket
 * answers the older ioctls about them. Netlink, which tells the same: unix.
 */
#include "check.h"
#include "subject.h"

#define SOCKET_IOCTL 0x89
#define WIRELESS_IOCTL 0x8b
#define SIOCGSTAMPNS 0x07 /* up to it: owners, the urgent mark, times of what came */
#define SIOCOUTQNSD 0x4b

static __always_inline bool is_about_socket(unsigned int cmd)
{
	__u32 type = cmd >> 8 & 0xff, number = cmd & 0xff;

	if (type == SOCKET_IOCTL)
		return number <= SIOCGSTAMPNS || number == SIOCOUTQNSD;
	return type != WIRELESS_IOCTL;
}

static __always_inline int check_interface(struct file *file, unsigned int cmd)
{
	struct decision decision = { .rule = BM_RULE_SHARED };
	struct bm_bench *bench;

	if (is_about_socket(cmd) || !bpf_sock_from_file(file))
		return 0;
	bench = walled_bench();
	if (!bench || !(bench->flags & BM_BENCH_SHARED_NET))
		return 0;
	record_file(bench->id, BM_HOOK_IOCTL, file, BM_R, &decision);
	return -EACCES;
}

SEC("lsm/file_ioctl")
int BPF_PROG(bm_interface, struct file *file, unsigned int cmd)
{
	return check_interface(file, cmd);
}

SEC("lsm/file_ioctl_compat")
int BPF_PROG(bm_interface_32, struct file *file, unsigned int cmd)
{
	return check_interface(file, cmd);
}

char LICENSE[] SEC("license") = "GPL";
