// SPDX-License-Identifier: GPL-2.0-only
#include "network/sockdiag.h"

#include <errno.h>
#include <netinet/in.h> /* first: linux/in.h gives way to it */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
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
	const struct bm_destination *d;
	struct found *items;
	size_t count;
	int error;
};

static bool leads_to(const struct inet_diag_msg *m, const struct bm_destination *d)
{
	uint8_t address[16] = { [10] = 0xff, 0xff };

	if (m->idiag_family == AF_INET)
		memcpy(address + 12, m->id.idiag_dst, 4);
	else
		memcpy(address, m->id.idiag_dst, sizeof(address));
	return (d->listens ? m->id.idiag_sport : m->id.idiag_dport) == htons(d->port) &&
	       !memcmp(address, d->address, sizeof(address));
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

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*m) || !leads_to(m, list->d) ||
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

static struct nlmsghdr *request_of(char *buf, uint16_t type, uint8_t family,
				   const struct bm_destination *d,
				   const struct inet_diag_sockid *id)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct inet_diag_req_v2 *request = mnl_nlmsg_put_extra_header(nlh, sizeof(*request));

	nlh->nlmsg_type = type;
	request->sdiag_family = family;
	request->sdiag_protocol = d->protocol;
	request->idiag_states = ALL_BUT_LISTEN;
	request->id = *id;
	return nlh;
}

static int list_family(struct mnl_socket *s, uint8_t family, struct list *list)
{
	struct inet_diag_sockid any = { .idiag_cookie = { INET_DIAG_NOCOOKIE,
							  INET_DIAG_NOCOOKIE } };
	char buf[256];

	if (list->d->listens)
		any.idiag_sport = htons(list->d->port);
	else
		any.idiag_dport = htons(list->d->port);

	return bm_netlink_dump(s, request_of(buf, SOCK_DIAG_BY_FAMILY, family, list->d, &any),
			       list_socket, list, list_reset);
}

/* The cookie says that it is still the same. One that is gone meanwhile counts for nothing. */
static int destroy(struct mnl_socket *s, const struct bm_destination *d, const struct found *f,
		   size_t *ended)
{
	char buf[256];
	int r = bm_netlink_ask(s, request_of(buf, SOCK_DESTROY, f->family, d, &f->id), NULL, NULL);

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

			r = destroy(s, list->d, &list->items[i], &ended);
			*ret_count += ended > before && list->items[i].state != TCP_TIME_WAIT;
		}
	}
	return r;
}

int bm_sockets_destroy(const struct bm_sockets *of, const struct bm_destination *d,
		       size_t *ret_count, struct bm_error *err)
{
	struct list list = { .of = of, .d = d };
	char text[BM_DESTINATION_LEN];
	autonetlink *s = NULL;
	size_t count = 0;
	int r = bm_netlink_open(of->netns, NETLINK_SOCK_DIAG, &s, err);

	if (r < 0)
		return r;
	/* What leads to an IPv4 address may be an IPv6 socket. */
	r = destroy_family(s, AF_INET6, &list, &count);
	if (r == 0 && bm_destination_is_v4(d))
		r = destroy_family(s, AF_INET, &list, &count);
	free(list.items);
	*ret_count = count;
	if (r < 0)
		return bm_fail(err, -r, "sock_diag",
			       "let the kernel have inet_diag, tcp_diag and udp_diag, with "
			       "CONFIG_INET_DIAG_DESTROY",
			       "ending the sockets that lead to %s: %s",
			       bm_destination_format(d, text), strerror(-r));
	return 0;
}
