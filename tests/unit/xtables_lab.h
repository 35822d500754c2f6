/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes tables as iptables-legacy does, in the namespace host of network_lab.h. */
#ifndef BENCHMON_XTABLES_LAB_H
#define BENCHMON_XTABLES_LAB_H

#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include "network_lab.h"

struct legacy {
	bool drops;        /* the policy of FORWARD */
	const char *chain; /* one more */
	bool accepts;      /* with a rule for bm+ */
};

static inline bool has_legacy(const char *names)
{
	autofree char *text = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/net/%s", names);
	assert_int_equal(bm_read_file(AT_FDCWD, path, 4096, &text, NULL), 0);
	return strstr(text, "filter");
}

/* Appends an entry; returns where its target is. */
static inline struct xt_entry_target *add_entry(bool v6, char *blob, size_t *at, size_t target)
{
	size_t head = v6 ? sizeof(struct ip6t_entry) : sizeof(struct ipt_entry);
	uint16_t offsets[2] = { (uint16_t)head, (uint16_t)(head + target) };
	struct xt_entry_target *t = (void *)(blob + *at + head);

	memset(blob + *at, 0, head + target);
	memcpy(blob + *at +
		       (v6 ? offsetof(struct ip6t_entry, target_offset)
			   : offsetof(struct ipt_entry, target_offset)),
	       offsets, sizeof(offsets));
	t->u.target_size = (uint16_t)target;
	*at += head + target;
	return t;
}

static inline void add_standard(bool v6, char *blob, size_t *at, int verdict)
{
	struct xt_standard_target *t =
		(void *)add_entry(v6, blob, at, XT_ALIGN(sizeof(struct xt_standard_target)));

	t->verdict = verdict;
}

static inline void add_error(bool v6, char *blob, size_t *at, const char *name)
{
	struct xt_error_target *t =
		(void *)add_entry(v6, blob, at, XT_ALIGN(sizeof(struct xt_error_target)));

	memcpy(t->target.u.user.name, XT_ERROR_TARGET, sizeof(XT_ERROR_TARGET));
	snprintf(t->errorname, sizeof(t->errorname), "%s", name);
}

/* The whole table "filter" of a family, in place of what there is. */
static inline void legacy(int family, const struct legacy *want)
{
	bool v6 = family == AF_INET6;
	static char room[sizeof(struct ipt_replace) + 4096];
	struct ipt_replace *replace = (void *)room; /* of IPv6, laid out alike */
	char *blob = room + offsetof(struct ipt_replace, entries);
	static struct xt_counters old[64];
	struct ipt_getinfo info = { .name = "filter" };
	socklen_t len = sizeof(info);
	autoclose fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	int level = v6 ? IPPROTO_IPV6 : IPPROTO_IP, hooks = 0;
	size_t at = 0, rule;

	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, level, IPT_SO_GET_INFO, &info, &len), 0);
	memset(room, 0, sizeof(room));
	memcpy(replace->name, "filter", sizeof("filter"));
	replace->valid_hooks =
		1u << NF_INET_LOCAL_IN | 1u << NF_INET_FORWARD | 1u << NF_INET_LOCAL_OUT;
	for (int hook = NF_INET_LOCAL_IN; hook <= NF_INET_LOCAL_OUT; hook++, hooks++) {
		replace->hook_entry[hook] = replace->underflow[hook] = (unsigned int)at;
		add_standard(v6, blob, &at,
			     hook == NF_INET_FORWARD && want->drops ? -NF_DROP - 1
								    : -NF_ACCEPT - 1);
	}
	replace->num_entries = (unsigned int)hooks + 1;
	if (want->chain) {
		add_error(v6, blob, &at, want->chain);
		rule = at;
		if (want->accepts)
			add_standard(v6, blob, &at, -NF_ACCEPT - 1);
		if (want->accepts)
			memcpy(blob + rule +
				       (v6 ? offsetof(struct ip6t_entry, ipv6.iniface)
					   : offsetof(struct ipt_entry, ip.iniface)),
			       "bm", sizeof("bm"));
		add_standard(v6, blob, &at, XT_RETURN);
		replace->num_entries += 2 + want->accepts;
	}
	add_error(v6, blob, &at, XT_ERROR_TARGET);
	replace->size = (unsigned int)at;
	assert_true(info.num_entries <= sizeof(old) / sizeof(old[0]));
	replace->num_counters = info.num_entries;
	replace->counters = old;
	if (setsockopt(fd, level, IPT_SO_SET_REPLACE, room,
		       (socklen_t)(offsetof(struct ipt_replace, entries) + at)) < 0)
		fail_msg("IPT_SO_SET_REPLACE: %s", strerror(errno));
}

#endif
