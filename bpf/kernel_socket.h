/* SPDX-License-Identifier: GPL-2.0-only */
/* A socket and the cgroup of who made it, whoever holds it now; its other end, and its queue. */
#ifndef BENCHMON_BPF_KERNEL_SOCKET_H
#define BENCHMON_BPF_KERNEL_SOCKET_H

#include <linux/in6.h>

#include "kernel.h"

struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL;

struct sk_buff {
	struct sk_buff *next;
	unsigned char *head;
	__u16 transport_header;
	__u16 network_header;
	__be16 protocol;
	int skb_iif;
} KERNEL;

struct sk_buff_head {
	struct sk_buff *next;
	__u32 qlen;
} KERNEL;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL;

struct inet_sock {
	__be16 inet_sport;
} KERNEL;

struct inet_connection_sock {
	const void *icsk_ulp_ops;
} KERNEL;

struct tcp_sock {
	__u16 urg_data;
} KERNEL;

struct udp_sock {
	struct sk_buff_head reader_queue;
} KERNEL;

struct socket {
	struct sock *sk;
} KERNEL;

#endif
