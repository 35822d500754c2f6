// SPDX-License-Identifier: GPL-2.0-only
/* The processes behind broker grants: started, listened to, started again, ended. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"
#include "bench/broker.h"
#include "bench/launcher.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/lifecycle.h"

/* Users of their own, below those of Benches (bench/box.h): one can't signal another. */
#define UID_FIRST 0x6fff0000u
#define UID_COUNT 0x10000u
#define READY_MS 10000
#define END_MS 5000
#define AGAIN_FIRST_NS 1000000000ull
#define AGAIN_MAX_NS 300000000000ull
/* Whoever has run so long may be started again at once. */
#define STEADY_NS 60000000000ull

static struct broker_run *of_said(struct watch *w)
{
	return (struct broker_run *)((char *)w - offsetof(struct broker_run, said));
}

static struct broker_run *find_run(const struct daemon *d, uint32_t bench, uint32_t grant)
{
	struct broker_run *run = d->brokers;

	while (run && (run->dead || run->bench != bench || run->grant != grant))
		run = run->next;
	return run;
}

static struct grant *grant_of(struct daemon *d, const struct broker_run *run,
			      struct bench **ret_bench)
{
	*ret_bench = model_find_id(&d->model, run->bench);
	return *ret_bench ? bench_grant(*ret_bench, run->grant) : NULL;
}

static uint32_t free_uid(const struct daemon *d)
{
	uint32_t uid = UID_FIRST;
	const struct broker_run *run;

	do {
		for (run = d->brokers; run && (run->dead || run->uid != uid); run = run->next)
			;
	} while (run && ++uid < UID_FIRST + UID_COUNT);
	return uid;
}

struct broker_run *broker_run_new(struct daemon *d)
{
	struct broker_run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->exit.fd = run->said.fd = run->endpoint = -1;
	run->uid = free_uid(d);
	run->next = d->brokers;
	d->brokers = run;
	return run;
}

static void close_watch(struct daemon *d, struct watch *w)
{
	if (w->fd < 0)
		return;
	daemon_unwatch(d, w);
	bm_close(w->fd);
	w->fd = -1;
}

/* --- what it says --------------------------------------------------------------------------------
 */

static void take_error(struct daemon *d, struct broker_run *run, struct json_object *json)
{
	struct bm_error err = {};

	if (bm_error_from_json(json, &err) < 0)
		bm_fail(&err, EPROTO, NULL, NULL, "it says what makes no sense");
	run->failed = err;
	(void)d;
}

static void take_ready(struct daemon *d, struct broker_run *run)
{
	struct bench *bench;
	struct grant *g = grant_of(d, run, &bench);
	struct bm_error err = {};

	run->began_ns = bm_now_ns(CLOCK_BOOTTIME);
	if (!run->shut || !g)
		return;
	/* Its endpoint was shut when the one before ended. */
	if (bm_endpoint_reopen(run->endpoint, &g->hosts.list[0].list[0].to, &err) < 0) {
		run->failed = err;
		syscall(SYS_pidfd_send_signal, run->exit.fd, SIGKILL, NULL, 0);
		return;
	}
	run->shut = false;
	broker_record(d, bench, g, "started", NULL);
	daemon_log(LOG_LEVEL_INFO, "the broker of %s/%u takes calls again", bench->name, g->number);
}

static void take_call(struct daemon *d, const struct broker_run *run, struct json_object *call)
{
	struct bench *bench;
	struct grant *g = grant_of(d, run, &bench);

	if (g && g->broker)
		broker_call(d, bench, g, call);
}

/* One message, if there is one: 0. */
static int take_message(struct daemon *d, struct broker_run *run)
{
	automessage message = {};
	struct json_object *json;
	struct bm_error err = {};
	int r = bm_receive(run->said.fd, &message, &err);

	if (r < 0 && r != -EAGAIN && err.code)
		syscall(SYS_pidfd_send_signal, run->exit.fd, SIGKILL, NULL, 0);
	if (r < 0)
		return r;
	if ((json = bm_json_get(message.json, "call", json_type_object)))
		take_call(d, run, json);
	else if ((json = bm_json_get(message.json, "error", json_type_object)))
		take_error(d, run, json);
	else if ((json = bm_json_get(message.json, "verified", json_type_object)))
		run->verified = json_object_get(json);
	else if (bm_json_bool(message.json, "ready"))
		take_ready(d, run);
	return 0;
}

static void on_said(struct daemon *d, struct watch *w, uint32_t events)
{
	struct broker_run *run = of_said(w);
	int r = 0;

	(void)events;
	while (r == 0)
		r = take_message(d, run);
	/* Its end is told by its pidfd. */
	if (r != -EAGAIN)
		close_watch(d, w);
}

/* --- its end -------------------------------------------------------------------------------------
 */

static void tell_end(const siginfo_t *info, const struct bm_error *failed, char *buf, size_t size)
{
	if (failed->code)
		snprintf(buf, size, "%s", failed->message);
	else if (info->si_code == CLD_EXITED)
		snprintf(buf, size, "it ended with status %d", info->si_status);
	else
		snprintf(buf, size, "it was ended by signal %d", info->si_status);
}

/* Its endpoint is shut, and it is started again after a while. */
static void set_aside(struct daemon *d, struct broker_run *run, const char *why)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);
	struct bench *bench;
	struct grant *g = grant_of(d, run, &bench);
	struct bm_error err = {};
	bool ran = run->began_ns;

	if (run->endpoint >= 0 && bm_endpoint_shut(run->endpoint, &err) < 0)
		daemon_log_error("shut the endpoint of a broker", &err);
	run->shut = run->endpoint >= 0;
	if (ran && now - run->began_ns > STEADY_NS)
		backoff_reset(&run->backoff);
	backoff_failed(&run->backoff, now, AGAIN_FIRST_NS, AGAIN_MAX_NS);
	run->began_ns = 0;
	if (g) {
		daemon_log(LOG_LEVEL_WARNING, "the broker of %s/%u: %s", bench->name, g->number,
			   why);
		if (ran)
			broker_charge(g->broker, false);
		/* Not each vain try. */
		if (ran || run->backoff.wait_ns == AGAIN_FIRST_NS)
			broker_record(d, bench, g, "ended", why);
	}
	brokers_await(d);
}

static void on_exit_of(struct daemon *d, struct watch *w, uint32_t events)
{
	struct broker_run *run = (struct broker_run *)w;
	siginfo_t info = {};
	char why[640];

	/* Its last records. */
	if (run->said.fd >= 0)
		on_said(d, &run->said, events);
	waitid(P_PIDFD, (id_t)w->fd, &info, WEXITED);
	close_watch(d, &run->said);
	close_watch(d, w);
	tell_end(&info, &run->failed, why, sizeof(why));
	if (run->ended)
		run->ended(d, run, why);
	else
		set_aside(d, run, why);
	run->failed = (struct bm_error){};
}

/* --- its beginning -------------------------------------------------------------------------------
 */

int broker_spawn(struct daemon *d, struct broker_run *run, struct json_object *first,
		 int credential, struct bm_error *err)
{
	autoclose ours = -1, theirs = -1, pidfd = -1;
	int pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return bm_fail_errno(err, errno, "socketpair");
	ours = pair[0];
	theirs = pair[1];
	/* It waits for what it is told first. */
	if (fcntl(ours, F_SETFL, O_NONBLOCK) < 0)
		return bm_fail_errno(err, errno, "socketpair");
	pid = bm_launch(
		BM_LAUNCH_BROKER, "", 1,
		(int[BM_BROKER_FDS]){
			[BM_BROKER_CONTROL] = theirs, [BM_BROKER_ENDPOINT] = run->endpoint },
		run->endpoint >= 0 ? BM_BROKER_FDS : BM_BROKER_FDS - 1);
	if (pid < 0)
		return bm_fail_errno(err, -pid, "launcher");
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		r = -errno;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return bm_fail_errno(err, -r, "broker");
	}
	run->exit = (struct watch){ .fd = TAKE_FD(pidfd), .ready = on_exit_of };
	run->said = (struct watch){ .fd = TAKE_FD(ours), .ready = on_said };
	bm_json_add_int(first, "uid", run->uid);
	bm_json_add_int(first, "gid", run->uid);
	r = bm_send(run->said.fd, first, &credential, 1);
	/* One that has ended already says why itself. */
	if (r == -EPIPE || r == -ECONNRESET)
		r = 0;
	if (r == 0)
		r = daemon_watch(d, &run->exit, EPOLLIN);
	if (r == 0)
		r = daemon_watch(d, &run->said, EPOLLIN);
	return r < 0 ? bm_fail_errno(err, -r, "broker") : 0;
}

void broker_run_end(struct daemon *d, struct broker_run *run)
{
	struct pollfd polled = { run->exit.fd, POLLIN, 0 };

	if (run->exit.fd >= 0) {
		if (run->said.fd >= 0)
			on_said(d, &run->said, 0);
		syscall(SYS_pidfd_send_signal, run->exit.fd, SIGKILL, NULL, 0);
		/* Held up by something dead, it is nobody's child any more when the daemon ends. */
		if (poll(&polled, 1, END_MS) > 0)
			waitid(P_PIDFD, (id_t)run->exit.fd, &(siginfo_t){}, WEXITED);
	}
	close_watch(d, &run->said);
	close_watch(d, &run->exit);
	bm_close(run->endpoint);
	run->endpoint = -1;
	run->dead = true;
}

static int open_endpoint(struct daemon *d, struct bench *bench, const struct grant *g,
			 struct broker_run *run, struct bm_error *err)
{
	int fd = -1, r;

	if (run->endpoint >= 0)
		return 0;
	r = bm_endpoint_open(bench->target.ns[BM_NS_NET], &g->hosts.list[0].list[0].to, &fd, err);
	if (r < 0)
		return r;
	run->endpoint = fd;
	run->shut = false;
	return bm_endpoint_mark(d->kernel, fd, bench->id, g->number, err);
}

static int begin(struct daemon *d, struct bench *bench, const struct grant *g,
		 struct broker_run *run, struct bm_error *err)
{
	autojson *first = NULL;
	autoclose credential = -1;
	int fd = -1, r = open_endpoint(d, bench, g, run, err);

	if (r == 0)
		r = broker_first(bench, g, &first, &fd, err);
	credential = fd;
	return r < 0 ? r : broker_spawn(d, run, first, credential, err);
}

/* What it says before it takes connections; nobody else is asked meanwhile. */
static int await_ready(struct daemon *d, struct broker_run *run, struct bm_error *err)
{
	struct pollfd polled = { run->said.fd, POLLIN, 0 };
	char remedy[] = "see the log of gatekeeperd";
	int r = 0;

	while (r == 0 && !run->began_ns && !run->failed.code) {
		if (poll(&polled, 1, READY_MS) <= 0)
			return bm_fail(err, ETIMEDOUT, NULL, remedy,
				       "the broker was not ready within %d s", READY_MS / 1000);
		r = take_message(d, run);
	}
	if (run->failed.code) {
		if (err)
			*err = run->failed;
		return -run->failed.code;
	}
	return r < 0 ? bm_fail(err, -r, NULL, "is benchmon-broker installed beside gatekeeperd?",
			       "the broker ended before it was ready")
		     : 0;
}

int broker_start(struct daemon *d, struct bench *bench, const struct grant *g, struct bm_error *err)
{
	struct broker_run *run = broker_run_new(d);
	int r;

	if (!run)
		return bm_fail_errno(err, ENOMEM, "broker");
	run->bench = bench->id;
	run->grant = g->number;
	r = begin(d, bench, g, run, err);
	if (r == 0)
		r = await_ready(d, run, err);
	if (r < 0)
		broker_run_end(d, run);
	return r;
}

static void begin_again(struct daemon *d, struct bench *bench, const struct grant *g,
			struct broker_run *run)
{
	struct bm_error err = {};

	if (begin(d, bench, g, run, &err) == 0)
		return;
	/* A process that there is by now is told of by its end. */
	if (run->exit.fd >= 0) {
		syscall(SYS_pidfd_send_signal, run->exit.fd, SIGKILL, NULL, 0);
		return;
	}
	set_aside(d, run, err.message);
}

void broker_adopt(struct daemon *d, struct bench *bench, struct grant *g)
{
	struct broker_run *run = broker_run_new(d);

	if (!run)
		return;
	run->bench = bench->id;
	run->grant = g->number;
	if (!g->broker->stopped)
		broker_charge(g->broker, true);
	g->broker->uncounted |= !g->broker->stopped;
	g->broker->stopped = false;
	broker_record(d, bench, g, "adopted", NULL);
	begin_again(d, bench, g, run);
}

void broker_stop(struct daemon *d, const struct bench *bench, const struct grant *g)
{
	struct broker_run *run = find_run(d, bench->id, g->number);

	if (run)
		broker_run_end(d, run);
}

bool broker_runs(const struct daemon *d, const struct bench *bench, const struct grant *g)
{
	const struct broker_run *run = find_run(d, bench->id, g->number);

	return run && run->began_ns && !run->shut;
}

/* --- all of them ---------------------------------------------------------------------------------
 */

static bool waits(const struct broker_run *run)
{
	return !run->dead && run->grant && run->exit.fd < 0;
}

void brokers_await(struct daemon *d)
{
	uint64_t next = 0;

	for (const struct broker_run *run = d->brokers; run; run = run->next)
		if (waits(run) && (!next || run->backoff.due_ns < next))
			next = run->backoff.due_ns;
	daemon_timer(d, TIMER_BROKER, next);
}

void brokers_review(struct daemon *d)
{
	uint64_t now = bm_now_ns(CLOCK_BOOTTIME);

	for (struct broker_run *run = d->brokers; run; run = run->next) {
		struct bench *bench;
		struct grant *g = grant_of(d, run, &bench);

		if (waits(run) && g && bench_alive(bench) && backoff_due(&run->backoff, now))
			begin_again(d, bench, g, run);
	}
	brokers_await(d);
}

void brokers_bury(struct daemon *d)
{
	struct broker_run **at = &d->brokers;

	while (*at) {
		struct broker_run *run = *at;

		if (run->dead) {
			*at = run->next;
			json_object_put(run->verified);
			free(run);
		} else {
			at = &run->next;
		}
	}
}

void brokers_finish(struct daemon *d)
{
	for (struct broker_run *run = d->brokers; run; run = run->next) {
		struct bench *bench;
		struct grant *g = grant_of(d, run, &bench);

		if (run->dead)
			continue;
		broker_run_end(d, run);
		if (g)
			broker_record(d, bench, g, "stopped", NULL);
	}
	brokers_bury(d);
}
