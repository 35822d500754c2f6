// SPDX-License-Identifier: GPL-2.0-only
/* gatekeeperd: start, event loop, end. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/launcher.h"
#include "bench/pin.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/arguments.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/ask.h"
#include "gatekeeperd/clients.h"
#include "gatekeeperd/daemon.h"
#include "gatekeeperd/doctor.h"
#include "gatekeeperd/door.h"
#include "gatekeeperd/ending.h"
#include "gatekeeperd/freeze.h"
#include "gatekeeperd/ledger_main.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/metrics.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/record.h"
#include "gatekeeperd/rubbish.h"
#include "gatekeeperd/sealing.h"
#include "gatekeeperd/search.h"
#include "gatekeeperd/secrets_search.h"
#include "gatekeeperd/shrink.h"
#include "gatekeeperd/unload.h"

/* Exit statuses: 1, it was refused to start, and would be again; 2, usage; and this one. */
#define EXIT_BROKEN 3

static int make_dir(const char *path, mode_t mode, int *ret_fd, struct bm_error *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return bm_fail_errno(err, errno, "%s", path);
	if (chmod(path, mode) < 0)
		return bm_fail_errno(err, errno, "%s", path);
	if (!ret_fd)
		return 0;
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd < 0 ? bm_fail_errno(err, errno, "%s", path) : 0;
}

/*
 * One at a time: loading the programs takes seconds, and who came second would only find the ledger
 * in use. benchmon waits for this lock too, so as to ask the one that is starting and start none.
 */
static int begin_start(struct daemon *d, struct bm_error *err)
{
	int r = make_dir(BM_RUN_DIR, 0711, &d->starting, err);

	while (r == 0 && flock(d->starting, LOCK_EX) < 0)
		if (errno != EINTR)
			r = bm_fail_errno(err, errno, "lock " BM_RUN_DIR);
	return r;
}

/* Not by closing it alone: the launcher has been forked with it. */
static void end_start(struct daemon *d)
{
	if (d->starting >= 0)
		flock(d->starting, LOCK_UN);
	bm_close(TAKE_FD(d->starting));
}

/*
 * Mounts of Benches are made in a mount namespace of the daemon's own: nothing of them is ever
 * seen on the host, and they end with the daemon where it has no time to unmount them. What the
 * host mounts later still arrives here.
 */
static int own_mounts(struct daemon *d, struct bm_error *err)
{
	/* What it is opened in, it goes on to tell of. */
	places_watch(&d->host, open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return bm_fail_errno(err, errno, "mount namespace of its own");
	bm_pins_forget();
	return 0;
}

static void on_signal(struct daemon *d, struct watch *w, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	if (read(w->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		bm_store_reopen(d->store);
	else
		d->stop = true;
}

/* It ends with the daemon or by somebody's hand: without it nothing can be executed any more. */
static void on_launcher(struct daemon *d, struct watch *w, uint32_t events)
{
	(void)w;
	(void)events;
	daemon_log(LOG_LEVEL_ERROR, "the launcher has ended, and gatekeeperd with it");
	d->stop = true;
	d->status = EXIT_BROKEN;
}

/* In the daemon's mount namespace, and with nothing yet that it would hold. */
static int start_launcher(struct daemon *d, struct bm_error *err)
{
	int r = bm_launcher_start(&d->launcher.fd, err);

	if (r < 0)
		return r;
	d->launcher.ready = on_launcher;
	r = daemon_watch(d, &d->launcher, EPOLLRDHUP);
	return r < 0 ? bm_fail_errno(err, -r, "launcher") : 0;
}

static int watch_signals(struct daemon *d, struct bm_error *err)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a full ledger is an error, not an end */
	d->signals = (struct watch){ .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
				     .ready = on_signal };
	r = d->signals.fd < 0 ? -errno : daemon_watch(d, &d->signals, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "signals") : 0;
}

static void on_timer(struct daemon *d, struct watch *w, uint32_t events)
{
	uint64_t count;

	(void)events;
	if (read(w->fd, &count, sizeof(count)) != sizeof(count))
		return;
	recall_review(d);
	lifetime_review(d);
	endings_review(d);
	freezings_review(d);
	brokers_review(d);
	asks_review(d);
	streams_review(d);
	metrics_review(d);
}

static int watch_timer(struct daemon *d, struct bm_error *err)
{
	int r;

	d->timer = (struct watch){ .fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
				   .ready = on_timer };
	r = d->timer.fd < 0 ? -errno : daemon_watch(d, &d->timer, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "timer") : 0;
}

static void tell_ready(const struct daemon *d)
{
	char state[64];
	size_t count = 0;

	for (const struct bench *b = d->model.benches; b; b = b->next)
		count++;
	snprintf(state, sizeof(state), "READY=1\nSTATUS=Benches at start: %zu", count);
	service_tell(&d->service, state);
}

static int start(struct daemon *d, const char *socket_path, struct bm_error *err)
{
	int r;

	if (geteuid() != 0)
		return bm_fail(err, EPERM, "operator", "run it as root", "gatekeeperd needs root");
	if (sodium_init() < 0)
		return bm_fail_errno(err, EIO, "libsodium");
	umask(022);
	d->epoll = epoll_create1(EPOLL_CLOEXEC);
	r = begin_start(d, err);
	if (r == 0)
		r = make_dir(BM_LEDGER_DIR, 0711, &d->state_dir, err);
	if (r == 0)
		r = make_dir(BM_STORE_DIR, 0755, &d->log_dir, err);
	if (r == 0)
		r = ledger_open(d, err);
	if (r == 0)
		r = bm_store_open(d->log_dir, &d->store, err);
	if (r == 0) {
		const struct bm_stored_limits limits = { d->config.events_max_bytes,
							 d->config.events_total_bytes,
							 d->config.events_max_days * 86400 };

		bm_store_limit(d->store, &limits);
		r = own_mounts(d, err);
	}
	if (r == 0)
		r = start_launcher(d, err);
	clients_raise_limit(d);
	service_tell(&d->service, "STATUS=loading the programs");
	if (r == 0)
		r = watch_signals(d, err);
	if (r == 0)
		r = watch_timer(d, err);
	if (r == 0)
		r = bm_kernel_open(&d->kernel, err);
	if (r == -ESTALE)
		freeze_all(d);
	if (r == 0)
		ledger_watch(d);
	if (r == 0)
		r = bm_events_open(d->kernel, on_record, d, err);
	if (r == 0)
		r = daemon_restore(d, err);
	if (r < 0)
		return r;
	/* What loading the programs, and reading the ledger, has left lies about. */
	malloc_trim(0);
	d->ring = (struct watch){ .fd = bm_events_fd(d->kernel), .ready = on_ring };
	r = daemon_watch(d, &d->ring, EPOLLIN);
	if (r < 0)
		return bm_fail_errno(err, -r, "event ring");
	streams_begin(d);
	metrics_begin(d);
	rubbish_collect(d);
	r = doors_begin(d, err);
	if (r == 0)
		r = clients_listen(d, socket_path, err);
	/* Nobody has been listened to yet. */
	return r < 0 ? r : daemon_shrink(err);
}

/* Connections closed since the last round; nothing of this round points at them any more. */
static void bury(struct daemon *d)
{
	struct connection **at = &d->connections;

	while (*at) {
		struct connection *c = *at;

		if (c->dead) {
			*at = c->next;
			sealing_free(c->sealing);
			broker_verify_free(c->verify);
			secrets_search_free(c->search);
			free(c);
		} else {
			at = &c->next;
		}
	}
}

static void loop(struct daemon *d)
{
	while (!d->stop) {
		struct epoll_event events[32];
		int count = epoll_wait(d->epoll, events, 32, ledger_patience(d));

		for (int i = 0; i < count; i++) {
			struct watch *w = events[i].data.ptr;

			if (w->fd >= 0)
				w->ready(d, w, events[i].events);
		}
		bury(d);
		executions_bury(d);
		endings_bury(d);
		freezings_bury(d);
		revocations_turn(d);
		searches_bury(d);
		inits_bury(d);
		brokers_bury(d);
		doors_bury(d);
		ledger_turn(d);
	}
}

/* Benches, walls and pins stay: stopping the daemon is not stopping them. */
static void finish(struct daemon *d)
{
	revocations_finish(d);
	service_tell(&d->service, "STOPPING=1");
	for (struct connection *c = d->connections; c; c = c->next) {
		c->execution = NULL; /* its payload goes on, without a listener */
		connection_close(d, c);
	}
	bury(d);
	for (struct execution *x = d->executions; x; x = x->next)
		x->dead = true;
	executions_bury(d);
	endings_abandon(d);
	freezings_abandon(d);
	brokers_finish(d);
	doors_end(d);
	if (d->socket_path[0])
		unlink(d->socket_path);
	while (d->model.benches)
		model_remove(&d->model, d->model.benches);
	carriers_free(&d->model);
	bm_close(d->listener.fd);
	bm_close(d->launcher.fd);
	bm_close(d->signals.fd);
	bm_close(d->timer.fd);
	bm_close(d->rubbish.fd);
	bm_close(d->idle.fd);
	service_end(&d->service);
	bm_kernel_close(d->kernel);
	bm_store_close(d->store);
	places_close(&d->host);
	bm_ledger_close(d->ledger);
	bm_close(d->state_dir);
	bm_close(d->log_dir);
	bm_close(d->epoll);
}

static int configure(const struct arguments *a, struct config *config, struct bm_error *err)
{
	const char *path = a->config ?: CONFIG_PATH;
	int r = config_read(path, a->config || a->check, config, err);

	if (r == 0)
		r = config_resolve(config, path, err);
	if (r == 0 && a->level && !log_level_parse(a->level, &config->log_level))
		r = bm_fail(err, EINVAL, "log-level", "give one of these",
			    "--log-level is none of error, warning, info and debug");
	if (r == 0)
		daemon_log_level(config->log_level);
	return r;
}

/* What would be in force, as the file would have it. */
static int check_config(const struct arguments *a)
{
	struct config config = config_default;
	struct bm_error err = {};
	autojson *json = NULL;
	char line[1024];

	if (configure(a, &config, &err) < 0) {
		fprintf(stderr, "gatekeeperd: %s\n", bm_error_line(&err, line, sizeof(line)));
		return 1;
	}
	json = config_to_json(&config);
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
	return 0;
}

/* The one who waits for us, whoever it is, learns what became of it. */
static void announce(const struct daemon *d, int ready, const struct bm_error *err)
{
	char line[1024], state[1100];

	bm_error_line(err, line, sizeof(line));
	if (ready >= 0) {
		dprintf(ready, "%s\n", err->code ? line : "ok");
		close(ready);
	}
	if (!err->code) {
		tell_ready(d);
		return;
	}
	snprintf(state, sizeof(state), "STATUS=%s", line);
	service_tell(&d->service, state);
}

int main(int argc, char **argv)
{
	struct daemon d = { .config = config_default,
			    .service = SERVICE_NONE,
			    .host.fd = -1,
			    .state_dir = -1,
			    .log_dir = -1,
			    .starting = -1,
			    .epoll = -1,
			    .listener.fd = -1,
			    .launcher.fd = -1,
			    .signals.fd = -1,
			    .ring.fd = -1,
			    .rubbish.fd = -1,
			    .idle.fd = -1,
			    .timer.fd = -1,
			    .door_timer.fd = -1 };
	struct arguments a = { .socket = BM_SOCKET_PATH, .ready = -1 };
	struct bm_error err = {};
	int r = arguments_parse(argc, argv, &a);

	if (r >= 0)
		return r;
	if (a.doctor)
		return doctor_main(a.ledger.json);
	if (a.verify)
		return ledger_verify_main(&a.ledger);
	if (a.accept)
		return ledger_accept_main(a.force);
	if (a.unload)
		return unload_main(a.force);
	if (a.check)
		return check_config(&a);
	if (a.ready >= 0)
		fcntl(a.ready, F_SETFD, FD_CLOEXEC);
	r = service_begin(&d.service, &err);
	if (r == 0)
		r = configure(&a, &d.config, &err);
	if (r == 0)
		r = start(&d, a.socket, &err);
	if (r < 0)
		bm_fail_errno(&err, -r, "start");
	end_start(&d);
	announce(&d, a.ready, &err);
	if (r < 0) {
		daemon_log_error("start", &err);
		finish(&d);
		return 1;
	}
	daemon_log(LOG_LEVEL_INFO, "version " BENCHMON_VERSION " listens at %s",
		   d.socket_path[0] ? d.socket_path : "the socket of the service manager");
	loop(&d);
	finish(&d);
	return d.status;
}
