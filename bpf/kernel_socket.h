/* SPDX-License-Identifier: GPL-2.0-only */
/* A socket and the cgroup of who made it, whoever holds it now. */
#ifndef BENCHMON_BPF_KERNEL_SOCKET_H
#define BENCHMON_BPF_KERNEL_SOCKET_H

#include "kernel.h"

struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL;

struct sock {
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

struct socket {
	struct sock *sk;
} KERNEL;

#endif
