// SPDX-License-Identifier: GPL-2.0-only
/* gatekeeperd: start, event loop, end. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>

#include <sodium.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "bench/launcher.h"
#include "bench/pin.h"
#include "gatekeeperd/daemon.h"
#include "gatekeeperd/doctor.h"
#include "gatekeeperd/lifetime.h"
#include "gatekeeperd/recall.h"
#include "gatekeeperd/sealing.h"
#include "gatekeeperd/shrink.h"
#include "gatekeeperd/unload.h"

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
 * Mounts of Benches are made in a mount namespace of the daemon's own: nothing of them is ever
 * seen on the host, and they end with the daemon where it has no time to unmount them. What the
 * host mounts later still arrives here.
 */
static int own_mounts(struct bm_error *err)
{
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return bm_fail_errno(err, errno, "mount namespace of its own");
	bm_pins_forget();
	return 0;
}

static int listen_at(struct daemon *d, const char *path, struct bm_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	autoclose fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return bm_fail_errno(err, errno, "socket");
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    sizeof(address.sun_path))
		return bm_fail_errno(err, ENAMETOOLONG, "%s", path);
	/* The ledger's lock is held: whoever listened there has gone. */
	unlink(path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, 0600) < 0 ||
	    listen(fd, 128) < 0)
		return bm_fail_errno(err, errno, "listen at %s", path);
	d->listener = (struct watch){ .fd = TAKE_FD(fd), .ready = on_listener };
	return daemon_watch(d, &d->listener, EPOLLIN);
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
}

static int watch_timer(struct daemon *d, struct bm_error *err)
{
	int r;

	d->timer = (struct watch){ .fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
				   .ready = on_timer };
	r = d->timer.fd < 0 ? -errno : daemon_watch(d, &d->timer, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "timer") : 0;
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
	r = make_dir(BM_RUN_DIR, 0711, NULL, err);
	if (r == 0)
		r = make_dir(BM_LEDGER_DIR, 0711, &d->state_dir, err);
	if (r == 0)
		r = make_dir(BM_STORE_DIR, 0755, &d->log_dir, err);
	if (r == 0)
		r = bm_ledger_open(d->state_dir, &d->ledger, err);
	if (r == 0)
		r = bm_store_open(d->log_dir, &d->store, err);
	if (r == 0)
		r = own_mounts(err);
	if (r == 0)
		r = start_launcher(d, err);
	if (r == 0)
		r = watch_signals(d, err);
	if (r == 0)
		r = watch_timer(d, err);
	if (r == 0)
		r = bm_kernel_open(&d->kernel, err);
	if (r == -ESTALE)
		freeze_all(d);
	if (r == 0)
		r = bm_events_open(d->kernel, on_record, d, err);
	if (r == 0)
		r = daemon_restore(d, err);
	if (r < 0)
		return r;
	d->ring = (struct watch){ .fd = bm_events_fd(d->kernel), .ready = on_ring };
	r = daemon_watch(d, &d->ring, EPOLLIN);
	if (r < 0)
		return bm_fail_errno(err, -r, "event ring");
	r = listen_at(d, socket_path, err);
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
		int count = epoll_wait(d->epoll, events, 32, -1);

		for (int i = 0; i < count; i++) {
			struct watch *w = events[i].data.ptr;

			if (w->fd >= 0)
				w->ready(d, w, events[i].events);
		}
		bury(d);
		executions_bury(d);
		inits_bury(d);
	}
}

/* Benches, walls and pins stay: stopping the daemon is not stopping them. */
static void finish(struct daemon *d, const char *socket_path)
{
	for (struct connection *c = d->connections; c; c = c->next) {
		c->execution = NULL; /* its payload goes on, without a listener */
		connection_close(d, c);
	}
	bury(d);
	for (struct execution *x = d->executions; x; x = x->next)
		x->dead = true;
	executions_bury(d);
	if (d->listener.fd >= 0)
		unlink(socket_path);
	while (d->model.benches)
		model_remove(&d->model, d->model.benches);
	bm_close(d->listener.fd);
	bm_close(d->launcher.fd);
	bm_close(d->signals.fd);
	bm_close(d->timer.fd);
	bm_kernel_close(d->kernel);
	bm_store_close(d->store);
	bm_ledger_close(d->ledger);
	bm_close(d->state_dir);
	bm_close(d->log_dir);
	bm_close(d->epoll);
}

static const struct option options[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "background-fd", required_argument, NULL, 'b' },
	{ "doctor", no_argument, NULL, 'd' },
	{ "format", required_argument, NULL, 'F' },
	{ "socket", required_argument, NULL, 's' },
	{ "unload", no_argument, NULL, 'u' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ "force", no_argument, NULL, 'k' },
	{},
};

static const char usage[] =
	"usage: gatekeeperd [--foreground] [--socket PATH] [--background-fd N]\n"
	"       gatekeeperd --doctor [--format json|text]\n"
	"       gatekeeperd --unload [--force]\n";

int main(int argc, char **argv)
{
	struct daemon d = { .state_dir = -1,
			    .log_dir = -1,
			    .epoll = -1,
			    .listener.fd = -1,
			    .launcher.fd = -1,
			    .signals.fd = -1,
			    .ring.fd = -1,
			    .timer.fd = -1 };
	const char *socket_path = BM_SOCKET_PATH;
	bool doctor = false, json = false, unload = false, force = false;
	struct bm_error err = {};
	int option, ready = -1, r;
	char line[1024];

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			break;
		case 'b':
			ready = atoi(optarg);
			break;
		case 'd':
			doctor = true;
			break;
		case 'F':
			json = !strcmp(optarg, "json");
			break;
		case 's':
			socket_path = optarg;
			break;
		case 'u':
			unload = true;
			break;
		case 'k':
			force = true;
			break;
		case 'V':
			puts("gatekeeperd " BENCHMON_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	if (doctor)
		return doctor_main(json);
	if (unload)
		return unload_main(force);
	if (ready >= 0)
		fcntl(ready, F_SETFD, FD_CLOEXEC);
	r = start(&d, socket_path, &err);
	if (r < 0)
		bm_fail_errno(&err, -r, "start");
	if (ready >= 0) {
		dprintf(ready, "%s\n", r < 0 ? bm_error_line(&err, line, sizeof(line)) : "ok");
		close(ready);
	}
	if (r < 0) {
		daemon_log_error("start", &err);
		finish(&d, socket_path);
		return 1;
	}
	daemon_log(LOG_LEVEL_INFO, "version " BENCHMON_VERSION " listens at %s", socket_path);
	loop(&d);
	finish(&d, socket_path);
	return 0;
}
