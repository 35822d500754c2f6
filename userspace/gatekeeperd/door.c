// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/door.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/step.h"
#include "bench/cgroup.h"
#include "bench/door.h"
#include "gatekeeperd/clients.h"
#include "gatekeeperd/lifecycle.h"

/* Some may wait for an answer, and one can still ask. */
#define CONNECTIONS_MAX 4
#define MESSAGE_MAX 4096
#define IDLE_NS 10000000000ull
/* What is taken from a Bench, connections and messages, at once and by the second. */
#define BURST 32
#define PACE_NS 125000000ull
#define LOGGED 100

struct door {
	struct watch watch; /* first: a watch is cast to its door */
	struct door *next;
	uint32_t bench;
	unsigned connections;
	unsigned tokens;
	uint64_t filled_ns;
	uint64_t refused; /* what it asked and may not */
	bool watched;     /* its socket is */
	bool paused;      /* and none of its connections is either, until there are tokens */
	bool dead;
};

static struct door *door_of(const struct daemon *d, uint32_t bench)
{
	struct door *door = d->doors;

	while (door && (door->dead || door->bench != bench))
		door = door->next;
	return door;
}

/* --- the pace --- */

static void fill(struct door *door)
{
	uint64_t now = bm_now_ns(CLOCK_MONOTONIC), more = (now - door->filled_ns) / PACE_NS;

	door->filled_ns += more * PACE_NS;
	door->tokens = more < BURST - door->tokens ? door->tokens + (unsigned)more : BURST;
}

static void set_timer(struct daemon *d)
{
	struct itimerspec when = { .it_value = { .tv_nsec = 2 * (long)PACE_NS } };

	timerfd_settime(d->door_timer.fd, 0, &when, NULL);
}

static void watch_socket(struct daemon *d, struct door *door, bool wanted)
{
	if (door->watched == wanted)
		return;
	if (!wanted)
		daemon_unwatch(d, &door->watch);
	else if (daemon_watch(d, &door->watch, EPOLLIN) < 0)
		return;
	door->watched = wanted;
}

/* Who waits at a socket that is not watched costs nothing. */
static void review(struct daemon *d, struct door *door)
{
	watch_socket(d, door, !door->paused && door->connections < CONNECTIONS_MAX);
}

static void pause_door(struct daemon *d, struct door *door)
{
	if (door->paused)
		return;
	door->paused = true;
	for (struct connection *c = d->connections; c; c = c->next)
		if (!c->dead && c->bench_id == door->bench)
			daemon_unwatch(d, &c->watch);
	review(d, door);
	set_timer(d);
}

static void resume_door(struct daemon *d, struct door *door)
{
	door->paused = false;
	for (struct connection *c = d->connections; c; c = c->next)
		if (!c->dead && c->bench_id == door->bench &&
		    daemon_watch(d, &c->watch, EPOLLIN) < 0)
			connection_close(d, c);
	review(d, door);
}

static void spend(struct daemon *d, struct door *door)
{
	fill(door);
	if (door->tokens)
		door->tokens--;
	if (!door->tokens)
		pause_door(d, door);
}

static void on_timer(struct daemon *d, struct watch *w, uint32_t events)
{
	uint64_t count;
	bool again = false;

	(void)events;
	if (read(w->fd, &count, sizeof(count)) != sizeof(count))
		return;
	for (struct door *door = d->doors; door; door = door->next) {
		if (door->dead || !door->paused)
			continue;
		fill(door);
		if (door->tokens)
			resume_door(d, door);
		else
			again = true;
	}
	if (again)
		set_timer(d);
}

/* --- who --- */

/* By now the kernel has let in nobody else; it is looked at again all the same. */
static bool is_inside(const struct bench *bench, const struct connection *c)
{
	struct pollfd polled = { c->pidfd, POLLIN, 0 };
	size_t len = strlen(bench->cgroup.path);
	char path[BM_CGROUP_PATH];

	return c->pidfd >= 0 && len && bm_cgroup_of_pid(c->pid, path, NULL) == 0 &&
	       !strncmp(path, bench->cgroup.path, len) && (!path[len] || path[len] == '/') &&
	       poll(&polled, 1, 0) == 0;
}

static struct connection *take(struct daemon *d, struct door *door, int fd)
{
	struct connection *c = fd < d->descriptors ? calloc(1, sizeof(*c)) : NULL;
	struct bench *bench = model_find_id(&d->model, door->bench);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!c || !bench || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0) {
		free(c);
		return NULL;
	}
	c->pid = peer.pid;
	c->uid = peer.uid;
	c->gid = peer.gid;
	c->role = PEER_BENCH;
	c->bench_id = door->bench;
	c->pending.fd = c->pending.tree = -1;
	c->pidfd = clients_peer(fd, peer.pid);
	c->watch = (struct watch){ .fd = fd, .ready = on_connection };
	if (is_inside(bench, c) && daemon_watch(d, &c->watch, EPOLLIN) == 0)
		return c;
	bm_close(c->pidfd);
	free(c);
	return NULL;
}

static void on_door(struct daemon *d, struct watch *w, uint32_t events)
{
	struct door *door = (struct door *)w;
	struct connection *c;
	autoclose fd = -1;

	(void)events;
	/* Told before its pause began, in the same round. */
	if (!door->watched)
		return;
	fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	c = fd < 0 ? NULL : take(d, door, fd);
	if (c) {
		TAKE_FD(fd);
		c->next = d->connections;
		d->connections = c;
		door->connections++;
		clients_touch(d, c);
	}
	review(d, door);
	/* Also what was not taken: it would wake us without end. */
	spend(d, door);
}

/* --- what it says --- */

int door_receive(struct daemon *d, struct connection *c, struct bm_message *ret,
		 struct bm_error *err)
{
	struct door *door = door_of(d, c->bench_id);
	struct bench *bench = model_find_id(&d->model, c->bench_id);
	int r;

	if (!door || !bench || !is_inside(bench, c))
		return -ECONNRESET;
	r = bm_receive_bare(c->watch.fd, MESSAGE_MAX, ret, err);
	if (r == -EAGAIN)
		return r;
	spend(d, door);
	return r;
}

/* A Bench asks, and is told nothing else of us. */
bool door_takes(const struct request *request)
{
	return !strcmp(request->op, "version") || !strcmp(request->op, "request");
}

/* Each of the first, then some: a log is not for who fills it. */
void door_refused(struct daemon *d, struct connection *c, const struct bm_error *err)
{
	struct door *door = door_of(d, c->bench_id);
	struct bench *bench = model_find_id(&d->model, c->bench_id);

	if (!door || !bench)
		return;
	door->refused++;
	if (door->refused <= LOGGED || door->refused % LOGGED == 0)
		daemon_log(LOG_LEVEL_INFO, "Bench %s: at its door: %s (%" PRIu64 " refused)",
			   bench->name, err->message, door->refused);
}

void door_add(const struct daemon *d, const struct bench *bench, struct json_object *json)
{
	struct door *door = door_of(d, bench->id);
	struct json_object *part;

	if (!door)
		return;
	part = json_object_new_object();
	bm_json_add_int(part, "refused", (int64_t)door->refused);
	bm_json_add(json, "door", part);
}

/*
 * Who asks for the credentials of the other end is told its own: of us a Bench learns neither the
 * number nor, by SO_PASSPIDFD, a handle.
 */
int door_reply(struct connection *c, struct json_object *reply)
{
	struct pollfd polled = { c->pidfd, POLLIN, 0 };
	struct ucred who = { .pid = c->pid, .uid = c->uid, .gid = c->gid };

	/* Its number may be another's by now. */
	if (poll(&polled, 1, 0) != 0)
		return -ECONNRESET;
	return bm_send_as(c->watch.fd, reply, &who);
}

void door_left(struct daemon *d, struct connection *c)
{
	struct door *door = door_of(d, c->bench_id);

	if (!door)
		return;
	door->connections--;
	review(d, door);
}

uint64_t door_deadline(const struct connection *c)
{
	return c->heard_ns + IDLE_NS;
}

/* --- from its beginning to its end --- */

static void attend(struct daemon *d, uint32_t bench, int *socket)
{
	struct door *door = calloc(1, sizeof(*door));

	if (!door)
		return;
	*door = (struct door){ .watch = { .fd = *socket, .ready = on_door },
			       .next = d->doors,
			       .bench = bench,
			       .tokens = BURST,
			       .filled_ns = bm_now_ns(CLOCK_MONOTONIC) };
	*socket = -1;
	d->doors = door;
	review(d, door);
}

/* Marked before it listens: until then nobody gets in, and afterwards its Bench alone. */
static int make(struct daemon *d, const struct bench *bench, int *ret_socket, struct bm_error *err)
{
	autoclose fd = -1;
	int r = bm_door_make(bench->id, &fd, err);

	if (r == 0)
		r = bm_door_mark(d->kernel, bench->id, fd, err);
	STEP(DOOR_MARKED);
	if (r == 0)
		*ret_socket = TAKE_FD(fd);
	return r;
}

static int open_door(struct daemon *d, struct bench *bench, struct bm_own_list *own,
		     struct bm_error *err)
{
	autoclose fd = -1, dir = -1;
	int r = make(d, bench, &fd, err);

	if (r == 0)
		r = bm_door_listen(&fd, 1, err);
	STEP(DOOR_LISTENS);
	if (r == 0)
		r = bm_door_mount(bench->id, &bench->target, own, &dir, err);
	STEP(DOOR_MOUNTED);
	if (r < 0)
		return r;
	attend(d, bench->id, &fd);
	r = bm_own_add(own, "door", BM_DOOR_PLACE, BM_R | BM_X, TAKE_FD(dir));
	return r < 0 ? bm_fail_errno(err, -r, "own objects") : 0;
}

void door_open(struct daemon *d, struct bench *bench, struct bm_own_list *own)
{
	struct bm_error err = {};

	if (open_door(d, bench, own, &err) == 0)
		return;
	daemon_log(LOG_LEVEL_WARNING, "Bench %s has no door, it can't ask for anything: %s",
		   bench->name, err.message);
	door_close(d, bench);
}

void doors_reopen(struct daemon *d)
{
	autofree struct bench **benches = NULL;
	autofree int *sockets = NULL;
	struct bm_error err = {};
	size_t count = 0;
	int r;

	for (struct bench *b = d->model.benches; b; b = b->next)
		count++;
	benches = calloc(count + 1, sizeof(*benches));
	sockets = calloc(count + 1, sizeof(*sockets));
	count = 0;
	for (struct bench *b = d->model.benches; benches && sockets && b; b = b->next) {
		if (!bm_door_there(b->id))
			continue;
		if (make(d, b, &sockets[count], &err) == 0)
			benches[count++] = b;
		else
			daemon_log_error("open the door of a Bench again", &err);
		err = (struct bm_error){};
	}
	r = bm_door_listen(sockets, count, &err);
	STEP(DOORS_LISTEN);
	if (r < 0)
		daemon_log_error("open the doors of Benches again", &err);
	for (size_t i = 0; i < count; i++) {
		if (r == 0)
			attend(d, benches[i]->id, &sockets[i]);
		bm_close(sockets[i]);
	}
}

void door_close(struct daemon *d, struct bench *bench)
{
	struct door *door = door_of(d, bench->id);
	struct bm_error err = {};
	int r = 0;

	for (struct connection *c = d->connections; c; c = c->next)
		if (!c->dead && c->bench_id == bench->id)
			connection_close(d, c);
	if (door) {
		watch_socket(d, door, false);
		bm_close(door->watch.fd);
		door->watch.fd = -1;
		door->dead = true;
	}
	/* What benchmon made ends with its mounts; who is let go of keeps nothing of ours. */
	if (bench->origin == ORIGIN_ATTACHED && bench_alive(bench))
		r = bm_door_unmount(bench->id, &bench->target, &err);
	STEP(DOOR_UNMOUNTED);
	if (r == 0)
		r = bm_door_remove(bench->id, &err);
	STEP(DOOR_REMOVED);
	if (r < 0)
		daemon_log_error("remove the door of a Bench", &err);
}

static bool keep(void *ctx, uint32_t bench)
{
	struct daemon *d = ctx;

	return model_find_id(&d->model, bench);
}

int doors_begin(struct daemon *d, struct bm_error *err)
{
	struct bm_error without = {};
	int r;

	d->door_timer =
		(struct watch){ .fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
				.ready = on_timer };
	r = d->door_timer.fd < 0 ? -errno : daemon_watch(d, &d->door_timer, EPOLLIN);
	if (r < 0)
		return bm_fail_errno(err, -r, "timer");
	if (bm_door_client(&without) < 0)
		daemon_log_error("no Bench can ask for anything", &without);
	without = (struct bm_error){};
	if (bm_doors_sweep(keep, d, &without) < 0)
		daemon_log_error("remove the doors of ended Benches", &without);
	STEP(DOORS_SWEPT);
	doors_reopen(d);
	return 0;
}

void doors_bury(struct daemon *d)
{
	struct door **at = &d->doors;

	while (*at) {
		struct door *door = *at;

		if (door->dead) {
			*at = door->next;
			free(door);
		} else {
			at = &door->next;
		}
	}
}

/* Without a listener who connects is refused; the place stays for the next daemon. */
void doors_end(struct daemon *d)
{
	for (struct door *door = d->doors; door; door = door->next) {
		bm_close(door->watch.fd);
		door->dead = true;
	}
	doors_bury(d);
	bm_close(d->door_timer.fd);
}
