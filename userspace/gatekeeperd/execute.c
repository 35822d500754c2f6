// SPDX-License-Identifier: GPL-2.0-only
/* exec: a payload in a Bench, for as long as its client listens. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "bench/exec.h"
#include "gatekeeperd/lifecycle.h"

#define PTS_MAJOR_FIRST 136
#define PTS_MAJOR_LAST 143

static void on_exit_of(struct daemon *d, struct watch *w, uint32_t events)
{
	struct execution *x = (struct execution *)w;
	struct json_object *message = json_object_new_object(), *exit = json_object_new_object();
	siginfo_t info = {};

	(void)events;
	waitid(P_PIDFD, (id_t)w->fd, &info, WEXITED);
	bm_json_add_int(exit, info.si_code == CLD_EXITED ? "code" : "signal", info.si_status);
	bm_json_add(message, "exit", exit);
	/* Its last denials are in the store before its end is told. */
	bm_events_consume(d->kernel);
	if (x->connection) {
		x->connection->execution = NULL;
		connection_reply(d, x->connection, message);
	} else {
		json_object_put(message);
	}
	daemon_unwatch(d, w);
	bm_close(w->fd);
	free(x);
}

/* The process and, as it leads a session of its own, its process group. */
void execution_abandon(struct execution *x)
{
	x->connection = NULL;
	if (syscall(SYS_pidfd_send_signal, x->watch.fd, SIGKILL, NULL, 0) == 0)
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

/* What is given, and what is missing of the least that programs expect; NULL: out of memory. */
static struct json_object *environment(struct json_object *given)
{
	static const char *const defaults[][2] = {
		{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "HOME", "/root" },
		{ "LANG", "C.UTF-8" },
	};
	autojson *list = json_object_new_array();
	int r = 0;

	for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++)
		if (!given || !json_object_object_get_ex(given, defaults[i][0], NULL))
			r |= add_variable(list, defaults[i][0], defaults[i][1]);
	if (given) {
		json_object_object_foreach(given, key, value)
			r |= add_variable(list, key, json_object_get_string(value));
	}
	return r ? NULL : TAKE_PTR(list);
}

static int record_exec(struct daemon *d, const struct bench *bench, struct json_object *argv,
		       uid_t uid, struct bm_error *err)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add(fields, "argv", json_object_get(argv));
	bm_json_add_int(fields, "uid", uid);
	return bench_record(d, bench, "exec", fields, err);
}

int request_exec(struct daemon *d, struct connection *c, struct bm_message *message,
		 struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *argv = bm_json_get(message->json, "argv", json_type_array);
	struct json_object *given = bm_json_get(message->json, "env", json_type_object);
	autojson *env = environment(given);
	autofree char **argv_list = argv ? strings_of(argv) : NULL;
	autofree char **env_list = env ? strings_of(env) : NULL;
	autofree struct execution *x = calloc(1, sizeof(*x));
	struct bench *bench;
	struct bm_exec exec;
	int pidfd, r = bench_of_request(d, message->json, &bench, err);

	if (r < 0)
		return r;
	if (!x || !env_list)
		return -ENOMEM;
	if (!argv_list || !argv_list[0] || !argv_list[0][0] || message->fd_count != 3)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "exec: needs a command and three fds");
	if (bench->state != BENCH_READY || !bench_alive(bench))
		return bm_fail(err, ESRCH, NULL, "see `benchmon ls`", "Bench %s has ended",
			       bench->name);
	r = check_stdio(message->fds, bm_json_bool(message->json, "tty"), err);
	if (r == 0)
		r = record_exec(d, bench, argv, c->uid, err);
	if (r < 0)
		return r;
	exec = (struct bm_exec){
		.pid = bench->pid,
		.cgroup = &bench->cgroup,
		.argv = argv_list,
		.env = env_list,
		.cwd = bm_json_string(message->json, "cwd"),
		.stdio = { message->fds[0], message->fds[1], message->fds[2] },
		.tty = bm_json_bool(message->json, "tty"),
		.filter = bench->origin == ORIGIN_CREATED,
	};
	r = bm_exec_start(&exec, &x->pid, &pidfd, err);
	if (r < 0)
		return r;
	x->watch = (struct watch){ .fd = pidfd, .ready = on_exit_of };
	x->connection = c;
	c->execution = x;
	*ret_reply = json_object_new_object();
	bm_json_add_int(*ret_reply, "pid", x->pid);
	r = daemon_watch(d, &x->watch, EPOLLIN);
	if (r < 0) {
		/* Nobody would hear of its end: it has none of its own to go to. */
		c->execution = NULL;
		execution_abandon(x);
		waitid(P_PIDFD, (id_t)pidfd, &(siginfo_t){}, WEXITED);
		bm_close(pidfd);
		return bm_fail_errno(err, -r, "exec");
	}
	TAKE_PTR(x);
	return 0;
}
