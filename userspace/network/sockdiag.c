// SPDX-License-Identifier: GPL-2.0-only
#include "network/sockdiag.h"

#include <errno.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/netlink.h"

/* Sockets with the same four addresses are found one after the other (SO_REUSEPORT). */
#define ROUNDS_MAX 64
#define SOCKETS_MAX 65536
#define ALL_BUT_LISTEN (~(1u << TCP_LISTEN))

struct found {
	struct inet_diag_sockid id;
	uint8_t family, state;
};

struct list {
	const struct bm_sockets *of;
	const struct bm_destination *to; /* sorted */
	size_t to_count;
	uint8_t protocol;
	uint16_t port; /* in network order; 0: they have several, or it is the socket's own */
	struct found *items;
	size_t count;
	int error;
};

static bool leads_there(const struct inet_diag_msg *m, const struct list *list)
{
	struct bm_destination d = { .address = { [10] = 0xff, 0xff },
				    .port = ntohs(m->id.idiag_dport),
				    .protocol = list->protocol };

	if (m->idiag_family == AF_INET)
		memcpy(d.address + 12, m->id.idiag_dst, 4);
	else
		memcpy(d.address, m->id.idiag_dst, sizeof(d.address));
	if (bm_destinations_have(list->to, list->to_count, &d))
		return true;
	d.port = ntohs(m->id.idiag_sport);
	d.listens = true;
	return bm_destinations_have(list->to, list->to_count, &d);
}

/* What is in TIME_WAIT has no cgroup any more, and is nobody's to end where others are. */
static bool belongs_to(const struct nlmsghdr *nlh, const struct bm_sockets *of)
{
	const struct nlattr *attr;
	uint64_t cgroup = 0;

	if (!of->cgroups)
		return true;
	mnl_attr_for_each(attr, nlh, sizeof(struct inet_diag_msg))
		if (mnl_attr_get_type(attr) == INET_DIAG_CGROUP_ID &&
		    mnl_attr_get_payload_len(attr) == sizeof(cgroup))
			memcpy(&cgroup, mnl_attr_get_payload(attr), sizeof(cgroup));
	for (size_t i = 0; i < of->cgroup_count; i++)
		if (cgroup && cgroup == of->cgroups[i])
			return true;
	return false;
}

static int list_socket(const struct nlmsghdr *nlh, void *arg)
{
	const struct inet_diag_msg *m = mnl_nlmsg_get_payload(nlh);
	struct list *list = arg;
	struct found *grown;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*m) || !leads_there(m, list) ||
	    !belongs_to(nlh, list->of))
		return MNL_CB_OK;
	if (list->count == SOCKETS_MAX) {
		errno = E2BIG;
		return MNL_CB_ERROR;
	}
	if ((list->count & (list->count - 1)) == 0) {
		grown = reallocarray(list->items, list->count ? list->count * 2 : 1,
				     sizeof(*grown));
		if (!grown)
			return MNL_CB_ERROR;
		list->items = grown;
	}
	list->items[list->count++] = (struct found){ m->id, m->idiag_family, m->idiag_state };
	return MNL_CB_OK;
}

static void list_reset(void *arg)
{
	struct list *list = arg;

	list->count = 0;
}

static struct nlmsghdr *request_of(char *buf, uint16_t type, uint8_t family, uint8_t protocol,
				   const struct inet_diag_sockid *id)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *request = mnl_nlmsg_put_extra_header(nlh, sizeof(*request));

	nlh->nlmsg_type = type;
	request->sdiag_family = family;
	request->sdiag_protocol = protocol;
	request->idiag_states = ALL_BUT_LISTEN;
	request->id = *id;
	return nlh;
}

static int list_family(struct mnl_socket *s, uint8_t family, struct list *list)
{
	struct inet_diag_sockid any = { .idiag_dport = list->port,
					.idiag_cookie = { INET_DIAG_NOCOOKIE,
							  INET_DIAG_NOCOOKIE } };
	char buf[256];

	return bm_netlink_dump(s,
			       request_of(buf, SOCK_DIAG_BY_FAMILY, family, list->protocol, &any),
			       list_socket, list, list_reset);
}

/* The cookie says that it is still the same. One that is gone meanwhile counts for nothing. */
static int destroy(struct mnl_socket *s, uint8_t protocol, const struct found *f, size_t *ended)
{
	char buf[256];
	int r = bm_netlink_ask(s, request_of(buf, SOCK_DESTROY, f->family, protocol, &f->id), NULL,
			       NULL);

	if (r == 0)
		(*ended)++;
	return r == -ENOENT ? 0 : r;
}

/* Until there is none left, or none of those that are left can be ended. */
static int destroy_family(struct mnl_socket *s, uint8_t family, struct list *list,
			  size_t *ret_count)
{
	size_t ended = 1;
	int r = 0;

	for (int round = 0; r == 0 && ended && round < ROUNDS_MAX; round++) {
		r = list_family(s, family, list);
		ended = 0;
		for (size_t i = 0; r == 0 && i < list->count; i++) {
			size_t before = ended;

			r = destroy(s, list->protocol, &list->items[i], &ended);
			*ret_count += ended > before && list->items[i].state != TCP_TIME_WAIT;
		}
	}
	return r;
}

/* All that lead to any of them are found by one look at each kind of socket. */
static int destroy_protocol(struct mnl_socket *s, uint8_t protocol, struct list *list,
			    size_t *ret_count)
{
	const struct bm_destination *first = NULL;
	bool v4 = false;
	int r;

	list->protocol = protocol;
	for (size_t i = 0; i < list->to_count; i++) {
		const struct bm_destination *d = &list->to[i];

		if (d->protocol != protocol)
			continue;
		v4 |= bm_destination_is_v4(d);
		if (d->listens || (first && list->port != htons(d->port)))
			list->port = 0;
		else
			list->port = htons(d->port);
		first = first ?: d;
	}
	/* What leads to an IPv4 address may be an IPv6 socket. */
	r = first ? destroy_family(s, AF_INET6, list, ret_count) : 0;
	return r == 0 && v4 ? destroy_family(s, AF_INET, list, ret_count) : r;
}

int bm_sockets_destroy(const struct bm_sockets *of, const struct bm_destination *list, size_t count,
		       size_t *ret_count, struct bm_error *err)
{
	autofree struct bm_destination *to = calloc(count + 1, sizeof(*to));
	struct list looked = { .of = of, .to = to };
	char text[BM_DESTINATION_LEN], more[48] = "";
	autonetlink *s = NULL;
	size_t ended = 0;
	int r;

	if (!to)
		return bm_fail_errno(err, ENOMEM, "sockets");
	for (size_t i = 0; i < count; i++)
		to[i] = list[i];
	looked.to_count = bm_destinations_sort(to, count);
	r = bm_netlink_open(of->netns, NETLINK_SOCK_DIAG, &s, err);
	if (r < 0)
		return r;
	r = destroy_protocol(s, IPPROTO_TCP, &looked, &ended);
	if (r == 0)
		r = destroy_protocol(s, IPPROTO_UDP, &looked, &ended);
	free(looked.items);
	*ret_count = ended;
	if (looked.to_count > 1)
		snprintf(more, sizeof(more), " and %zu others", looked.to_count - 1);
	if (r < 0)
		return bm_fail(err, -r, "sock_diag",
			       "let the kernel have inet_diag, tcp_diag and udp_diag, with "
			       "CONFIG_INET_DIAG_DESTROY",
			       "ending the sockets that lead to %s%s: %s",
			       bm_destination_format(to, text), more, strerror(-r));
	return 0;
}
