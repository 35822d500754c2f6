// SPDX-License-Identifier: GPL-2.0-only
#include "network/resolve.h"

#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <linux/memfd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/io.h"
#include "confine/confine.h"

#define RULE "resolve"
#define ANSWER_MAX 65535
#define WAIT_S 3 /* for one answer of one server, doubled by libresolv with each try */
#define TRIES 2

static const int types[] = { ns_t_a, ns_t_aaaa };
#define TYPES (sizeof(types) / sizeof(types[0]))

struct work {
	struct bm_resolved *hosts;
	size_t count;
	struct __res_state state;
	uint8_t answer[ANSWER_MAX];
	uint64_t deadline; /* ns of CLOCK_MONOTONIC */
};

static const char *type_name(int type)
{
	return type == ns_t_a ? "IPv4" : "IPv6";
}

/* What libresolv says of a question that brought nothing; 0: there is just no address of the kind.
 */
static int explain(const char *host, int type, int why, int error, struct bm_error *err)
{
	if (why == NO_DATA)
		return 0;
	if (why == HOST_NOT_FOUND)
		return bm_fail(err, ENOENT, RULE, "check the name", "%s: no such host", host);
	if (why == TRY_AGAIN && error == ECONNREFUSED)
		return bm_fail(err, ECONNREFUSED, RULE, "look at /etc/resolv.conf",
			       "%s: refused: no resolver listens where the system looks for one",
			       host);
	if (why == TRY_AGAIN)
		return bm_fail(err, EHOSTUNREACH, RULE, "try again later",
			       "%s: no answer for its %s addresses: the resolver was silent, "
			       "failed or refused",
			       host, type_name(type));
	return bm_fail(err, EHOSTUNREACH, RULE, "ask who runs the resolver",
		       "%s: the resolver refused to answer for its %s addresses", host,
		       type_name(type));
}

static int ask(struct work *w, struct bm_resolved *host, int type, struct bm_error *err)
{
	int len, r;

	if (bm_now_ns(CLOCK_MONOTONIC) > w->deadline)
		return bm_fail(err, ETIMEDOUT, RULE, "try again later",
			       "%s: the resolver is too slow to ask it of all hosts", host->host);
	len = res_nquery(&w->state, host->host, ns_c_in, type, w->answer, sizeof(w->answer));
	if (len < 0)
		return explain(host->host, type, w->state.res_h_errno, errno, err);
	r = len > (int)sizeof(w->answer) ? -EBADMSG
					 : bm_resolve_parse(w->answer, (size_t)len, type, host);
	if (r == -E2BIG)
		return bm_fail(err, E2BIG, RULE, "a pinned set is no use for it",
			       "%s has more than %d addresses", host->host, BM_RESOLVE_ADDRESSES);
	if (r < 0)
		return bm_fail(err, EHOSTUNREACH, RULE, "try again later",
			       "%s: what the resolver sent is no answer for its %s addresses",
			       host->host, type_name(type));
	return 0;
}

/* All hosts, then all again: answers from a cache have time to change. */
static int ask_all(struct work *w, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < BM_RESOLVE_ROUNDS * w->count * TYPES; i++)
		r = ask(w, &w->hosts[i / TYPES % w->count], types[i % TYPES], err);
	for (size_t i = 0; r == 0 && i < w->count; i++)
		if (!w->hosts[i].count)
			r = bm_fail(err, ENODATA, RULE, "check the name",
				    "%s exists and has no address", w->hosts[i].host);
	return r;
}

/* In a helper: it talks to the network and takes apart what comes back. */
static int resolve(void *arg, int *ret_fd, struct bm_error *err)
{
	struct work *w = arg;
	autoclose answer = -1;
	int r = bm_confine(BM_CONFINE_RESOLVE, err);

	if (r < 0)
		return r;
	if (res_ninit(&w->state) < 0)
		return bm_fail_errno(err, errno ?: EIO, "the resolver's configuration");
	w->state.retrans = WAIT_S;
	w->state.retry = TRIES;
	/* Names are full ones: nothing is appended to them. */
	w->state.options &= ~(RES_DNSRCH | RES_DEFNAMES);
	w->deadline = bm_now_ns(CLOCK_MONOTONIC) + (BM_RESOLVE_MS / 2) * 1000000ull;
	r = ask_all(w, err);
	res_nclose(&w->state);
	if (r < 0)
		return r;
	answer = memfd_create("benchmon", MFD_CLOEXEC);
	r = answer < 0 ? -errno : bm_write_all(answer, w->hosts, w->count * sizeof(*w->hosts));
	if (r < 0 || lseek(answer, 0, SEEK_SET) < 0)
		return bm_fail_errno(err, r < 0 ? -r : errno, "addresses");
	*ret_fd = TAKE_FD(answer);
	return 0;
}

int bm_resolve_start(const char *const *hosts, size_t count, struct bm_resolving *ret,
		     struct bm_error *err)
{
	autofree struct bm_resolved *list = calloc(count, sizeof(*list));
	autofree struct work *w = calloc(1, sizeof(*w));
	int r;

	if (!count || count > BM_RESOLVE_HOSTS)
		return bm_fail(err, E2BIG, RULE, "split the profile", "%zu hosts, not 1 to %d",
			       count, BM_RESOLVE_HOSTS);
	if (!list || !w)
		return bm_fail_errno(err, ENOMEM, "resolve");
	for (size_t i = 0; i < count; i++)
		snprintf(list[i].host, sizeof(list[i].host), "%s", hosts[i]);
	w->hosts = list;
	w->count = count;
	r = bm_helper_start(resolve, w, -1, &ret->socket, &ret->pid, err);
	if (r < 0)
		return r;
	ret->hosts = TAKE_PTR(list);
	ret->count = count;
	return 0;
}

/* It may have been taken over by what it was sent: its answer is for the hosts that were asked. */
static int take_answer(int fd, const struct bm_resolving *asked, struct bm_resolved **ret)
{
	size_t size = 0, wanted = asked->count * sizeof(**ret);
	autofree char *data = NULL;
	struct bm_resolved *list;
	int r = bm_read_fd(fd, wanted, &data, &size);

	if (r < 0)
		return r;
	list = (struct bm_resolved *)(void *)data;
	if (size != wanted)
		return -EPROTO;
	for (size_t i = 0; i < asked->count; i++)
		if (!list[i].count || list[i].count > BM_RESOLVE_ADDRESSES ||
		    memcmp(list[i].host, asked->hosts[i].host, sizeof(list[i].host)))
			return -EPROTO;
	*ret = (struct bm_resolved *)(void *)TAKE_PTR(data);
	return 0;
}

int bm_resolve_finish(struct bm_resolving *resolving, struct bm_resolved **ret,
		      struct bm_error *err)
{
	autoclose socket = TAKE_FD(resolving->socket), answer = -1;
	int r = bm_helper_await(socket, resolving->pid, BM_RESOLVE_MS, &answer, err);

	if (r == 0)
		r = take_answer(answer, resolving, ret);
	bm_resolve_abandon(resolving);
	return r < 0 ? bm_fail_errno(err, -r, "addresses") : 0;
}

void bm_resolve_abandon(struct bm_resolving *resolving)
{
	bm_helper_end(&resolving->socket, resolving->pid);
	free(resolving->hosts);
	*resolving = (struct bm_resolving){ .socket = -1 };
}
