// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names in a network namespace that is the host's too, or others': a port or an abstract name is
 * taken from whoever was to have it, and its clients come to the Bench.
 */
#include "subject.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10

struct socket;

struct sockaddr {
	unsigned short sa_family;
	char sa_data[14];
} KERNEL;

/* No name at all (autobind) is one that nobody waits for. */
static __always_inline bool takes_name(const struct sockaddr *address, int size)
{
	__u16 family = address->sa_family;

	if (family == AF_INET || family == AF_INET6)
		return true;
	return family == AF_UNIX && size > (int)sizeof(family) && !address->sa_data[0];
}

SEC("lsm/socket_bind")
int BPF_PROG(bm_bind, struct socket *socket, const struct sockaddr *address, int size)
{
	struct bm_bench *bench = walled_bench();

	if (!bench || !(bench->flags & BM_BENCH_SHARED_NET) || !takes_name(address, size))
		return 0;
	return refuse(bench->id, BM_HOOK_BIND, BM_RULE_SHARED, EPERM, 0, 0, NULL);
}

char LICENSE[] SEC("license") = "GPL";
