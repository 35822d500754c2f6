// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/clients.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/door.h"
#include "gatekeeperd/peer.h"
#include "gatekeeperd/sealing.h"
#include "gatekeeperd/secrets_search.h"

/* SO_PEERPIDFD: since 6.5 the peer itself, not only its number. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define BACKLOG 128
#define SECOND_NS 1000000000ull
/* Who is here is not served without some: a peer is looked up, a file is opened. */
#define DESCRIPTORS_KEPT 64
#define STRANGERS_MAX 16

/* --- for how long --- */

/* It was shown what it is to confirm. */
static bool awaits(const struct connection *c)
{
	return c->pending.token[0] || c->adoption || sealing_open(c->sealing);
}

/* 0: as long as it likes. */
static uint64_t deadline_of(const struct daemon *d, const struct connection *c)
{
	if (c->streaming || c->execution || c->ending || c->awaits.number ||
	    sealing_busy(c->sealing) || broker_verify_busy(c) || secrets_busy(c))
		return 0;
	if (c->role == PEER_BENCH)
		return door_deadline(c);
	return c->heard_ns +
	       (uint64_t)(awaits(c) ? d->config.confirm_seconds : d->config.idle_seconds) *
		       SECOND_NS;
}

static void set_timer(struct daemon *d, uint64_t ns)
{
	struct itimerspec when = { .it_value = { (time_t)(ns / SECOND_NS),
						 (long)(ns % SECOND_NS) } };

	d->idle_ns = ns;
	timerfd_settime(d->idle.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void wake_by(struct daemon *d, uint64_t ns)
{
	if (ns && (!d->idle_ns || ns < d->idle_ns))
		set_timer(d, ns);
}

void clients_touch(struct daemon *d, struct connection *c)
{
	if (c->dead)
		return;
	c->heard_ns = bm_now_ns(CLOCK_MONOTONIC);
	wake_by(d, deadline_of(d, c));
}

static void hear_again(struct daemon *d)
{
	if (d->deaf && daemon_watch(d, &d->listener, EPOLLIN) == 0)
		d->deaf = false;
}

void clients_gone(struct daemon *d)
{
	/* Tried again when the loop comes round: what its descriptors were is closed by then. */
	if (d->deaf)
		wake_by(d, bm_now_ns(CLOCK_MONOTONIC));
}

static void on_idle(struct daemon *d, struct watch *w, uint32_t events)
{
	uint64_t now = bm_now_ns(CLOCK_MONOTONIC), next = 0, count;

	(void)events;
	if (read(w->fd, &count, sizeof(count)) != sizeof(count))
		return;
	d->idle_ns = 0;
	for (struct connection *c = d->connections; c; c = c->next) {
		uint64_t deadline = c->dead ? 0 : deadline_of(d, c);

		if (deadline && deadline <= now) {
			daemon_log(awaits(c) ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG,
				   "process %d has %s in time: hung up", c->pid,
				   awaits(c) ? "confirmed nothing" : "asked nothing");
			connection_close(d, c);
		} else if (deadline && (!next || deadline < next)) {
			next = deadline;
		}
	}
	hear_again(d);
	if (d->deaf && (!next || next > now + SECOND_NS))
		next = now + SECOND_NS;
	wake_by(d, next);
}

/* --- who --- */

int clients_peer(int socket, pid_t pid)
{
	socklen_t len = sizeof(int);
	int fd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &len) == 0)
		return fd;
	/* Of one that has gone there is none, and its number may be another's. */
	if (errno != ENOPROTOOPT)
		return -errno;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	return fd < 0 ? -errno : fd;
}

static enum peer_role role_of(const struct config *config, int socket, const struct ucred *peer)
{
	if (peer->uid == 0 ||
	    (config->operators[0] && peer_has_group(socket, config->operators_gid)))
		return PEER_OPERATOR;
	if (config->agents[0] && peer_has_group(socket, config->agents_gid))
		return PEER_AGENT;
	return PEER_STRANGER;
}

/*
 * Whether one more of uid's fits: nobody takes what is root's, nor what is everybody else's. They
 * can all come where two groups may (set_mode()): who may ask nothing takes next to nothing.
 */
static bool has_room(const struct daemon *d, uid_t uid, enum peer_role role)
{
	int64_t all = 0, others = 0, own = 0, strangers = 0;

	for (const struct connection *c = d->connections; c; c = c->next) {
		/* Each Bench has its own few (door.c). */
		if (c->role == PEER_BENCH)
			continue;
		all += !c->dead;
		others += !c->dead && c->uid != 0;
		own += !c->dead && c->uid == uid;
		strangers += !c->dead && c->role == PEER_STRANGER;
	}
	if (uid == 0)
		return all < d->config.max_connections;
	if (role == PEER_STRANGER && strangers >= STRANGERS_MAX)
		return false;
	return own < d->config.max_connections_per_user &&
	       others < d->config.max_connections - CONFIG_RESERVED;
}

/* Whoever is refused may try again at once: one line a second tells of all. */
static void refuse(struct daemon *d, const struct ucred *peer)
{
	uint64_t now = bm_now_ns(CLOCK_MONOTONIC);

	d->turned_away++;
	if (d->told_ns && now < d->told_ns + SECOND_NS)
		return;
	daemon_log(LOG_LEVEL_WARNING,
		   "too many connections: one of process %d of uid %u refused, %" PRIu64 " in all",
		   peer->pid, peer->uid, d->turned_away);
	d->told_ns = now;
}

static void take(struct daemon *d, int *fd, const struct ucred *peer)
{
	int size = 4 * BM_MESSAGE_MAX;
	int pidfd = clients_peer(*fd, peer->pid);
	/* One that has ended in between is nobody, and is told so when it asks. */
	enum peer_role role = role_of(&d->config, *fd, peer);
	bool fits = pidfd != -ENFILE && *fd < d->descriptors && has_room(d, peer->uid, role);
	struct connection *c = fits ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		bm_close(pidfd);
		refuse(d, peer);
		return;
	}
	setsockopt(*fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	peer_take(c, peer, pidfd);
	c->role = role;
	c->pending.fd = c->pending.tree = -1;
	c->watch = (struct watch){ .fd = *fd, .ready = on_connection };
	if (daemon_watch(d, &c->watch, EPOLLIN) < 0) {
		bm_close(c->pidfd);
		free(c);
		return;
	}
	*fd = -1;
	c->next = d->connections;
	d->connections = c;
	clients_touch(d, c);
}

static void on_listener(struct daemon *d, struct watch *w, uint32_t events)
{
	autoclose fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	(void)events;
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)) {
		/* Who waits there stays there, and would wake us without end. */
		daemon_log(LOG_LEVEL_WARNING, "accept: %s; again in a second", strerror(errno));
		daemon_unwatch(d, w);
		d->deaf = true;
		wake_by(d, bm_now_ns(CLOCK_MONOTONIC) + SECOND_NS);
		return;
	}
	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
		take(d, &fd, &peer);
}

/* --- where --- */

/* The socket lets in whom we would listen to; a file has one group, so where two may all can. */
static int set_mode(const struct daemon *d, const char *path, struct bm_error *err)
{
	const struct config *config = &d->config;
	bool operators = config->operators[0], agents = config->agents[0];
	gid_t group = operators ? config->operators_gid : agents ? config->agents_gid : 0;
	mode_t mode = operators && agents ? 0666 : operators || agents ? 0660 : 0600;

	if (chown(path, 0, group) < 0 || chmod(path, mode) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	return 0;
}

static int make_socket(const char *path, int *ret_fd, struct bm_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	autoclose fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;
	int r;

	if (fd < 0)
		return bm_fail_errno(err, errno, "socket");
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    sizeof(address.sun_path))
		return bm_fail_errno(err, ENAMETOOLONG, "%s", path);
	/* The ledger's lock is held: whoever listened there has gone. */
	unlink(path);
	mask = umask(0177);
	r = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return bm_fail_errno(err, -r, "listen at %s", path);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Of the socket that was handed over, which has a path (service.c). */
static int path_of(int fd, char *ret, size_t size, struct bm_error *err)
{
	struct sockaddr_un address = {};
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return bm_fail_errno(err, errno, "the socket of the service manager");
	snprintf(ret, size, "%.*s", (int)sizeof(address.sun_path), address.sun_path);
	return 0;
}

static int watch_idle(struct daemon *d, struct bm_error *err)
{
	int r;

	d->idle = (struct watch){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
				  .ready = on_idle };
	r = d->idle.fd < 0 ? -errno : daemon_watch(d, &d->idle, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "timer") : 0;
}

int clients_listen(struct daemon *d, const char *path, struct bm_error *err)
{
	char there[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	autoclose fd = TAKE_FD(d->service.listener);
	bool ours = fd < 0;
	int r = ours ? make_socket(path, &fd, err) : path_of(fd, there, sizeof(there), err);

	if (r == 0)
		r = set_mode(d, ours ? path : there, err);
	/* Each message then says who has written it: what is accepted there inherits it. */
	if (r == 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0)
		r = bm_fail_errno(err, errno, "SO_PASSCRED");
	if (r == 0 && ours && listen(fd, BACKLOG) < 0)
		r = bm_fail_errno(err, errno, "listen at %s", path);
	if (r == 0)
		r = watch_idle(d, err);
	if (r < 0)
		return r;
	if (ours)
		snprintf(d->socket_path, sizeof(d->socket_path), "%s", path);
	d->listener = (struct watch){ .fd = TAKE_FD(fd), .ready = on_listener };
	r = daemon_watch(d, &d->listener, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "listen at %s", path) : 0;
}

void clients_raise_limit(struct daemon *d)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	getrlimit(RLIMIT_NOFILE, &limit);
	d->descriptors =
		limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur - DESCRIPTORS_KEPT : INT_MAX;
}
