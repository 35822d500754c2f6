// SPDX-License-Identifier: GPL-2.0-only
/* exec: a payload in a Bench, for as long as its client listens. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "bench/door.h"
#include "base/step.h"
#include "bench/exec.h"
#include "gatekeeperd/broker.h"
#include "gatekeeperd/lifecycle.h"

#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143

static struct execution *of_report(struct watch *w)
{
	return (struct execution *)((char *)w - offsetof(struct execution, report));
}

static void reply_started(struct daemon *d, struct execution *x, int code)
{
	struct json_object *reply = json_object_new_object();
	struct bm_error err = {};

	bm_json_add_bool(reply, "ok", !code);
	if (code) {
		bm_exec_failed(x->command, code, &err);
		bm_json_add(reply, "error", bm_error_to_json(&err));
		x->connection->execution = NULL;
	} else {
		bm_json_add_int(reply, "pid", x->pid);
	}
	connection_reply(d, x->connection, reply);
}

/*
 * How far it came is its own matter, and the Bench's: a lease, a slow file system or a fork bomb
 * may hold the execve up, and nobody else waits for that.
 */
static void on_report(struct daemon *d, struct watch *w, uint32_t events)
{
	struct execution *x = of_report(w);
	int code = 0;
	ssize_t n = read(w->fd, &code, sizeof(code));

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	x->failed = n == sizeof(code);
	daemon_unwatch(d, w);
	bm_close(w->fd);
	w->fd = -1;
	bm_events_consume(d->kernel);
	STEP(EXEC_REPORTED);
	if (x->connection)
		reply_started(d, x, x->failed ? code : 0);
	if (x->failed)
		x->connection = NULL;
}

static void on_exit_of(struct daemon *d, struct watch *w, uint32_t events)
{
	struct execution *x = (struct execution *)w;
	siginfo_t info = {};

	waitid(P_PIDFD, (id_t)w->fd, &info, WEXITED);
	if (x->report.fd >= 0)
		on_report(d, &x->report, events);
	if (x->seeks)
		bm_seek_end(d->kernel, x->seeks);
	x->seeks = 0;
	/* Its last denials are in the store before its end is told. */
	bm_events_consume(d->kernel);
	if (x->connection) {
		struct json_object *message = json_object_new_object(),
				   *exit = json_object_new_object();

		bm_json_add_int(exit, info.si_code == CLD_EXITED ? "code" : "signal",
				info.si_status);
		bm_json_add(message, "exit", exit);
		x->connection->execution = NULL;
		connection_reply(d, x->connection, message);
	}
	daemon_unwatch(d, w);
	bm_close(w->fd);
	w->fd = -1;
	x->dead = true;
}

void executions_bury(struct daemon *d)
{
	struct execution **at = &d->executions;

	while (*at) {
		struct execution *x = *at;

		if (x->dead) {
			*at = x->next;
			free(x);
		} else {
			at = &x->next;
		}
	}
}

/* The process and, as it leads a session of its own, its process group. */
void execution_abandon(struct execution *x)
{
	x->connection = NULL;
	if (x->exit.fd >= 0 && syscall(SYS_pidfd_send_signal, x->exit.fd, SIGKILL, NULL, 0) == 0)
		kill(-x->pid, SIGKILL);
}

/* Anything else might be a file or socket of the host, carried in past every grant. */
static int check_stdio(const int *fds, bool tty, struct bm_error *err)
{
	for (int i = 0; i < 3; i++) {
		struct stat st;
		bool pts;

		if (fstat(fds[i], &st) < 0)
			return bm_fail_errno(err, errno, "stdio");
		pts = S_ISCHR(st.st_mode) && major(st.st_rdev) >= PTS_MAJOR_FIRST &&
		      major(st.st_rdev) <= PTS_MAJOR_LAST;
		if (tty ? !pts : !pts && !S_ISFIFO(st.st_mode))
			return bm_fail(err, EPERM, "stdio", "pass pipes or a pty",
				       "exec: fd %d is neither a pipe nor a pty", i);
	}
	return 0;
}

static char **strings_of(struct json_object *array)
{
	size_t count = json_object_array_length(array);
	char **list = calloc(count + 1, sizeof(*list));

	for (size_t i = 0; list && i < count; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);
		const char *text = json_object_get_string(item);

		if (!json_object_is_type(item, json_type_string) ||
		    strlen(text) != (size_t)json_object_get_string_len(item)) {
			free(list);
			return NULL;
		}
		list[i] = (char *)(uintptr_t)text;
	}
	return list;
}

static int add_variable(struct json_object *list, const char *name, const char *value)
{
	autofree char *text = NULL;

	if (asprintf(&text, "%s=%s", name, value) < 0)
		return -ENOMEM;
	return json_object_array_add(list, json_object_new_string(text));
}

static int add_missing(struct json_object *list, struct json_object *given, const char *name,
		       const char *value)
{
	if (given && json_object_object_get_ex(given, name, NULL))
		return 0;
	return add_variable(list, name, value);
}

/* Where its brokers are. */
static int add_brokers(struct json_object *list, struct json_object *given,
		       const struct bench *bench)
{
	int r = 0;

	for (const struct grant *g = bench->grants; g; g = g->next) {
		for (size_t i = 0; g->kind == GRANT_BROKER && i < g->broker->variable_count; i++)
			r |= add_missing(list, given, g->broker->variables[i].name,
					 g->broker->variables[i].value);
	}
	return r;
}

/* What is given, and what is missing of the least that programs expect. */
static int environment(const struct bench *bench, struct json_object *given,
		       struct json_object **ret, struct bm_error *err)
{
	static const char *const defaults[][2] = {
		{ "PATH",
		  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" BM_DOOR_PLACE },
		{ "HOME", "/root" },
		{ "LANG", "C.UTF-8" },
	};
	autojson *list = json_object_new_array();
	int r = 0;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		r |= add_missing(list, given, defaults[i][0], defaults[i][1]);
	r |= add_brokers(list, given, bench);
	if (given) {
		json_object_object_foreach(given, key, value) {
			if (!*key || strchr(key, '=') ||
			    !json_object_is_type(value, json_type_string))
				return bm_fail(err, EINVAL, "protocol", NULL,
					       "exec: \"env\" holds what is no variable");
			r |= add_variable(list, key, json_object_get_string(value));
		}
	}
	if (r)
		return bm_fail_errno(err, ENOMEM, "exec");
	*ret = TAKE_PTR(list);
	return 0;
}

static int record_exec(struct daemon *d, struct bench *bench, struct json_object *argv, uid_t uid,
		       struct bm_error *err)
{
	struct json_object *fields = json_object_new_object();
	int r;

	bm_json_add(fields, "argv", json_object_get(argv));
	bm_json_add_int(fields, "uid", uid);
	r = bench_record(d, bench, "exec", fields, err);
	bench->executions += r == 0;
	return r;
}

/* seeks: a Bench of which it has begun to be told what is not found, until this has ended; 0. */
static int start(struct daemon *d, struct connection *c, const struct bm_exec *exec, uint32_t seeks,
		 struct bm_error *err)
{
	struct execution *x = calloc(1, sizeof(*x));
	int r;

	if (!x) {
		bm_seek_end(d->kernel, seeks);
		return bm_fail_errno(err, ENOMEM, "exec");
	}
	x->seeks = seeks;
	x->exit = (struct watch){ .fd = -1, .ready = on_exit_of };
	x->report = (struct watch){ .fd = -1, .ready = on_report };
	snprintf(x->command, sizeof(x->command), "%.255s", exec->argv[0]);
	r = bm_exec_start(exec, &x->pid, &x->exit.fd, &x->report.fd, err);
	STEP(EXEC_STARTED);
	if (r < 0) {
		bm_seek_end(d->kernel, seeks);
		free(x);
		return r;
	}
	x->next = d->executions;
	d->executions = x;
	r = daemon_watch(d, &x->exit, EPOLLIN);
	if (r == 0)
		r = daemon_watch(d, &x->report, EPOLLIN);
	if (r < 0) {
		/* Nobody would hear of its end: it has none of its own to go to. */
		execution_abandon(x);
		on_exit_of(d, &x->exit, 0);
		return bm_fail_errno(err, -r, "exec");
	}
	x->connection = c;
	c->execution = x;
	return 0;
}

int request_exec(struct daemon *d, struct connection *c, struct bm_message *message,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *argv = bm_json_get(message->json, "argv", json_type_array);
	struct json_object *given = bm_json_get(message->json, "env", json_type_object);
	autojson *env = NULL;
	autofree char **argv_list = argv ? strings_of(argv) : NULL;
	autofree char **env_list = NULL;
	bool seeks = bm_json_bool(message->json, "seek");
	struct bench *bench;
	struct bm_exec exec;
	int r = bench_of_request(d, c, message->json, &bench, err);

	(void)ret_reply; /* given by the report */
	if (r == 0)
		r = environment(bench, given, &env, err);
	if (r < 0)
		return r;
	env_list = strings_of(env);
	if (!argv_list || !argv_list[0] || !argv_list[0][0] || message->fd_count != 3 || !env_list)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "exec: needs a command and three fds");
	r = bench_usable(bench, err);
	if (r == 0)
		r = check_stdio(message->fds, bm_json_bool(message->json, "tty"), err);
	if (r == 0)
		r = record_exec(d, bench, argv, c->uid, err);
	STEP(EXEC_SAID);
	if (r == 0 && seeks)
		r = bm_seek_begin(d->kernel, bench->id, err);
	if (r < 0)
		return r;
	exec = (struct bm_exec){
		.target = &bench->target,
		.cgroup = &bench->cgroup,
		.argv = argv_list,
		.env = env_list,
		.cwd = bm_json_string(message->json, "cwd"),
		.stdio = { message->fds[0], message->fds[1], message->fds[2] },
		.tty = bm_json_bool(message->json, "tty"),
		.filter = bench->origin == ORIGIN_CREATED,
		.image = bench->exec == EXEC_IMAGE,
		.userns = bench->userns,
	};
	return start(d, c, &exec, seeks ? bench->id : 0, err);
}
