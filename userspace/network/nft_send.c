// SPDX-License-Identifier: GPL-2.0-only
#include "network/nft_batch.h"

#include <errno.h>
#include <string.h>

#include <libnftnl/common.h>

#include "base/cleanup.h"
#include "network/netlink.h"

/*
 * Any number but those of the messages means the batch as a whole: nfnetlink answers to the
 * opening message when the commit itself fails.
 */
static int refused(const struct bm_batch *b, const struct nlmsghdr *nlh, int code,
		   struct bm_error *err)
{
	unsigned int i = nlh->nlmsg_seq - b->first - 1;

	if (i >= b->count)
		return bm_fail_errno(err, code, "nftables transaction on table inet %s", b->table);
	return bm_fail_errno(err, code, "nftables table inet %s, %s %s", b->table,
			     b->what[i].action, b->what[i].name);
}

/*
 * Counts the acknowledgements among len bytes; the first refusal ends it: it is the cause, and the
 * kernel has dropped the batch as a whole.
 */
static int read_acks(const struct bm_batch *b, const void *buf, int len, unsigned int *acks,
		     int ignore, struct bm_error *err)
{
	const struct nlmsghdr *nlh = buf;

	for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
		const struct nlmsgerr *answer = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(nlh) < sizeof(*answer))
			continue;
		if (answer->error && -answer->error == ignore && nlh->nlmsg_seq == b->first + 1) {
			*acks = b->count;
			return 0;
		}
		if (answer->error)
			return refused(b, nlh, -answer->error, err);
		(*acks)++;
	}
	return 0;
}

/* A transaction is one datagram, however large. */
static int make_room(struct mnl_socket *s, size_t size)
{
	int wanted = (int)size, fd = mnl_socket_get_fd(s), has = 0;
	socklen_t len = sizeof(has);

	if (getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &has, &len) == 0 && (size_t)has / 2 >= size)
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)) < 0 ? -errno : 0;
}

int bm_batch_send(struct bm_batch *b, struct mnl_socket *s, int ignore, struct bm_error *err)
{
	autofree char *buf = malloc(BM_NETLINK_BUFFER);
	unsigned int acks = 0;
	int r = 0;

	if (b->error || !buf)
		return bm_fail_errno(err, b->error ?: ENOMEM, "building the nftables batch");
	b->used += nftnl_batch_end(b->buf + b->used, b->first + b->count + 1)->nlmsg_len;
	r = make_room(s, b->used);
	if (r < 0 || mnl_socket_sendto(s, b->buf, b->used) < 0)
		return bm_fail_errno(err, r < 0 ? -r : errno, "sending to nftables");
	while (r == 0 && acks < b->count) {
		ssize_t n = mnl_socket_recvfrom(s, buf, BM_NETLINK_BUFFER);

		if (n < 0)
			return bm_fail_errno(err, errno == EAGAIN ? ETIMEDOUT : errno,
					     "the answer of nftables");
		r = read_acks(b, buf, (int)n, &acks, ignore, err);
	}
	return r;
}
