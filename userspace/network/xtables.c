// SPDX-License-Identifier: GPL-2.0-only
#include "network/xtables.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/io.h"

#define TABLE "filter"
#define ENTRIES_MAX (64u << 20) /* a larger table is not looked at */
#define ROUNDS_MAX 8            /* it may be replaced between asking for its size and for it */

/* Where the two families differ. Both number their options alike, and their other structures. */
struct layout {
	int level;
	const char *names; /* the tables there are */
	size_t entry, in, out, target, next;
};

static const struct layout layout4 = {
	.level = IPPROTO_IP,
	.names = "/proc/self/net/ip_tables_names",
	.entry = sizeof(struct ipt_entry),
	.in = offsetof(struct ipt_entry, ip.iniface),
	.out = offsetof(struct ipt_entry, ip.outiface),
	.target = offsetof(struct ipt_entry, target_offset),
	.next = offsetof(struct ipt_entry, next_offset),
};

static const struct layout layout6 = {
	.level = IPPROTO_IPV6,
	.names = "/proc/self/net/ip6_tables_names",
	.entry = sizeof(struct ip6t_entry),
	.in = offsetof(struct ip6t_entry, ipv6.iniface),
	.out = offsetof(struct ip6t_entry, ipv6.outiface),
	.target = offsetof(struct ip6t_entry, target_offset),
	.next = offsetof(struct ip6t_entry, next_offset),
};

_Static_assert((int)IPT_SO_GET_INFO == (int)IP6T_SO_GET_INFO, "one number for both");
_Static_assert((int)IPT_SO_GET_ENTRIES == (int)IP6T_SO_GET_ENTRIES, "one number for both");
_Static_assert(sizeof(struct ipt_getinfo) == sizeof(struct ip6t_getinfo), "one for both");

/* The kernel would load and make the table that it is asked about. */
static bool is_there(const struct layout *layout)
{
	autofree char *text = NULL;
	const char *line;

	if (bm_read_file(AT_FDCWD, layout->names, 4096, &text, NULL) < 0)
		return false;
	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, TABLE "\n", sizeof(TABLE)))
			return true;
	}
	return false;
}

static uint16_t number_at(const char *p)
{
	uint16_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* A chain of users' begins with an entry that bears its name. */
static void look_at_chain(const struct xt_entry_target *target, size_t size, struct bm_xtables *x)
{
	const struct xt_error_target *named = (const void *)target;

	if (size < sizeof(*named) || strcmp(target->u.user.name, XT_ERROR_TARGET) != 0)
		return;
	x->docker |= !strncmp(named->errorname, "DOCKER-USER", sizeof("DOCKER-USER"));
	x->ufw |= !strncmp(named->errorname, "ufw-", 4) || !strncmp(named->errorname, "ufw6-", 5);
}

static bool is_drop(const struct xt_entry_target *target, size_t size)
{
	const struct xt_standard_target *standard = (const void *)target;

	return size >= sizeof(*standard) && !target->u.user.name[0] &&
	       standard->verdict == -NF_DROP - 1;
}

static int look(const struct layout *layout, const char *blob, size_t size, size_t policy,
		struct bm_xtables *ret)
{
	struct bm_xtables x = {};

	for (size_t at = 0, next; at < size; at += next) {
		const char *entry = blob + at;
		const struct xt_entry_target *target;
		size_t offset;

		if (size - at < layout->entry)
			return -EBADMSG;
		offset = number_at(entry + layout->target);
		next = number_at(entry + layout->next);
		if (next > size - at || offset < layout->entry || offset > next ||
		    next - offset < sizeof(*target))
			return -EBADMSG;
		target = (const void *)(entry + offset);
		x.names_link |= !strncmp(entry + layout->in, "bm", 2) ||
				!strncmp(entry + layout->out, "bm", 2);
		look_at_chain(target, next - offset, &x);
		if (at == policy)
			x.drops = is_drop(target, next - offset);
	}
	*ret = x;
	return 0;
}

/* -EAGAIN: replaced meanwhile. */
static int ask(int fd, const struct layout *layout, struct bm_xtables *ret)
{
	struct ipt_getinfo info = { .name = TABLE };
	socklen_t len = sizeof(info);
	autofree struct ipt_get_entries *get = NULL;

	if (getsockopt(fd, layout->level, IPT_SO_GET_INFO, &info, &len) < 0)
		return -errno;
	if (!(info.valid_hooks & 1u << NF_INET_FORWARD))
		return -ENOENT;
	if (info.size > ENTRIES_MAX)
		return -E2BIG;
	len = (socklen_t)(offsetof(struct ipt_get_entries, entrytable) + info.size);
	get = calloc(1, len);
	if (!get)
		return -ENOMEM;
	memcpy(get->name, TABLE, sizeof(TABLE));
	get->size = info.size;
	if (getsockopt(fd, layout->level, IPT_SO_GET_ENTRIES, get, &len) < 0)
		return -errno;
	return look(layout, (const char *)get->entrytable, info.size,
		    info.underflow[NF_INET_FORWARD], ret);
}

int bm_xtables_forward(int family, struct bm_xtables *ret, struct bm_error *err)
{
	const struct layout *layout = family == AF_INET ? &layout4 : &layout6;
	autoclose fd = -1;
	int r = -EAGAIN;

	if (!is_there(layout))
		return -ENOENT;
	fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return bm_fail_errno(err, errno, "a socket to ask for iptables' table " TABLE);
	for (int round = 0; r == -EAGAIN && round < ROUNDS_MAX; round++)
		r = ask(fd, layout, ret);
	return r < 0 && r != -ENOENT ? bm_fail_errno(err, -r, "iptables' table " TABLE) : r;
}
