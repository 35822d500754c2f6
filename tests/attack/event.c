// SPDX-License-Identifier: GPL-2.0-only
/* What the record of denials has to stand: names that would forge it, and who is denied in odd
 * states. */
#include "payload.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define OPENS 20

static const struct {
	const char *name, *text;
} odd[] = {
	/* A comm is cut after fifteen bytes, a name after 255. */
	{ "newline", "a\n{\"seq\":1}" },
	{ "quote", "\"},{\"seq\":1" },
	{ "escape", "\033]0;a\007\033[2J" },
	{ "return", "a\r\v\f\tb" },
	{ "bidi", "a\xe2\x80\xae"
		  "b\xe2\x80\x8b" },
	{ "invalid", "\xff\xfe\xc0\xaf\xed\xa0\x80" },
	{ "c1", "\xc2\x9b"
		"31ma" },
	{ "cut", "aaaaaaaaaaaaa\xe2\x82\xac" },
	{ "long", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		  "xxxxxxxxxxxxxxx" },
};

static const char *odd_of(const char *name)
{
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		if (!strcmp(odd[i].name, name))
			return odd[i].text;
	return NULL;
}

/* WHICH PATH: opens PATH as a process that is called so. */
static int way_comm(char **args)
{
	const char *text = odd_of(args[0]);

	if (!text || !args[1])
		return setup("which");
	prctl(PR_SET_NAME, text);
	return probe_open(args + 1);
}

/* WHICH DIR: makes a directory of that name in it. */
static int way_path(char **args)
{
	const char *text = odd_of(args[0]);
	char path[4096];

	if (!text || !args[1])
		return setup("which");
	snprintf(path, sizeof(path), "%s/%s", args[1], text);
	return outcome(mkdir(path, 0777));
}

static int copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0777);
	char buf[65536];
	ssize_t n = 0;

	while (in >= 0 && out >= 0 && (n = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, (size_t)n) != n)
			return -1;
	close(in);
	close(out);
	return in < 0 || out < 0 || n < 0 ? -1 : 0;
}

/* WHICH PATH: a copy of this program beside it, of that name and called with it, opens PATH. */
static int way_argv(char **args)
{
	const char *text = odd_of(args[0]);
	char path[4096], own[2048];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	int status;
	pid_t pid;

	if (!text || !args[1] || len <= 0)
		return setup("which");
	own[len] = '\0';
	snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(own, '/') - own), own, text);
	if (copy(own, path))
		return setup(path);
	pid = fork();
	if (pid == 0) {
		char *argv[] = { (char *)text, (char *)"open", args[1], NULL };

		execv(path, argv);
		_exit(SETUP);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return setup("fork");
	unlink(path);
	return WEXITSTATUS(status);
}

static void *opens(void *path)
{
	for (;;)
		opened(open(path, O_RDONLY));
	return NULL;
}

/* In the midst of their denials. */
static void end_among(char *path, int by)
{
	pthread_t thread;
	int r = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread, NULL, opens, path))
			_exit(SETUP);
	for (int i = 0; i < OPENS; i++)
		r = opened(open(path, O_RDONLY));
	if (by)
		kill(getpid(), by);
	_exit(r);
}

static int among(char *path, int by)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		end_among(path, by);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return setup("fork");
	if (by && !WIFSIGNALED(status))
		return setup("it was not killed");
	return by ? opened(open(path, O_RDONLY)) : WEXITSTATUS(status);
}

/* PATH: a process ends while its threads are denied it. */
static int way_dying(char **args)
{
	return among(args[0], 0);
}

static int way_killed(char **args)
{
	return among(args[0], SIGKILL);
}

/* COUNT PATH: so many processes at once, of which each is denied PATH and ends. */
static int way_storm(char **args)
{
	int count = atoi(args[0]), begin[2], failed = 0, status;
	char go;

	if (pipe(begin))
		return setup("pipe");
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			close(begin[1]);
			_exit(read(begin[0], &go, 1) ? SETUP : opened(open(args[1], O_RDONLY)));
		}
		if (pid < 0)
			return setup("fork");
	}
	close(begin[1]);
	for (int i = 0; i < count; i++) {
		if (wait(&status) < 0 || !WIFEXITED(status))
			return setup("wait");
		if (!WEXITSTATUS(status) || WEXITSTATUS(status) == SETUP)
			return WEXITSTATUS(status);
		failed = WEXITSTATUS(status);
	}
	return failed;
}

/* PATH: in namespaces of its own, as their first process. */
static int way_nested(char **args)
{
	return unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) ? setup("unshare")
								   : in_child(probe_open, args);
}

/* PATH: by the last of three, whose parents have ended. */
static int way_orphan(char **args)
{
	int done[2], r;
	pid_t pid;

	if (pipe(done))
		return setup("pipe");
	pid = fork();
	if (pid == 0) {
		if (fork())
			_exit(0);
		while (getppid() != 1)
			sched_yield();
		r = opened(open(args[0], O_RDONLY));
		_exit(write(done[1], &r, sizeof(r)) != sizeof(r));
	}
	close(done[1]);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid || read(done[0], &r, sizeof(r)) != sizeof(r))
		return setup("fork");
	return r;
}

int probe_event(char **args)
{
	static const struct way ways[] = {
		{ "comm", way_comm },     { "path", way_path },     { "argv", way_argv },
		{ "dying", way_dying },   { "killed", way_killed }, { "storm", way_storm },
		{ "nested", way_nested }, { "orphan", way_orphan },
	};

	return by_way(ways, sizeof(ways) / sizeof(ways[0]), args);
}

#define LINE 512
#define WORDS 8

/* As batch does, and each at once. */
int tool_lines(char **args)
{
	char line[LINE];

	(void)args;
	for (int n = 1; fgets(line, sizeof(line), stdin); n++) {
		char *words[WORDS + 1] = {};
		char *save = NULL, *word = strtok_r(line, " \n", &save);

		for (int i = 0; word && i < WORDS; i++, word = strtok_r(NULL, " \n", &save))
			words[i] = word;
		if (!words[0])
			return setup("line");
		printf("%d %d\n", n, run_probe(words));
		fflush(stdout);
	}
	return 0;
}
