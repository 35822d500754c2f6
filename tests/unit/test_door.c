// SPDX-License-Identifier: GPL-2.0-only
/* What is taken at a door, what it tells of the other end, and what the client makes of its words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/cleanup.h"
#include "bench/door.h"
#include "protocol/protocol.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void pair(int ret[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret), 0);
}

static void sizes(void **state)
{
	static const struct {
		size_t size;
		int result;
		const char *rule;
	} cases[] = {
		{ 2, 0, "" },
		{ 63, 0, "" },
		{ 64, 0, "" },
		{ 65, -EMSGSIZE, "message-size" },
		{ 4096, -EMSGSIZE, "message-size" },
	};
	char text[4096];
	int ends[2];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "{}", 2);
	pair(ends);
	for (size_t i = 0; i < COUNT(cases); i++) {
		automessage message = {};
		struct bm_error err = {};

		assert_int_equal(send(ends[0], text, cases[i].size, 0), cases[i].size);
		assert_int_equal(bm_receive_bare(ends[1], 64, &message, &err), cases[i].result);
		assert_string_equal(err.rule, cases[i].rule);
	}
	close(ends[0]);
	assert_int_equal(bm_receive_bare(ends[1], 64, &(struct bm_message){}, NULL), -ECONNRESET);
	close(ends[1]);
}

static void malformed(void **state)
{
	static const char *const texts[] = { "{", "[]", "{\"a\":1,\"a\":2}", "{} {}", "\xff" };
	int ends[2];

	(void)state;
	pair(ends);
	for (size_t i = 0; i < COUNT(texts); i++) {
		automessage message = {};
		struct bm_error err = {};

		assert_int_equal(send(ends[0], texts[i], strlen(texts[i]), 0), strlen(texts[i]));
		assert_true(bm_receive_bare(ends[1], 64, &message, &err) < 0);
		assert_int_not_equal(err.code, 0);
	}
	close(ends[0]);
	close(ends[1]);
}

/* It is refused, and is nobody's any more: what it led to has ended. */
static void descriptors(void **state)
{
	int ends[2], carried[2];
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct iovec text = { (char *)"{}", 2 };
	struct msghdr msg = { .msg_iov = &text,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	automessage message = {};
	struct bm_error err = {};
	char byte;

	(void)state;
	pair(ends);
	pair(carried);
	memcpy(CMSG_DATA(&control.head), &carried[0], sizeof(int));
	assert_int_equal(sendmsg(ends[0], &msg, 0), 2);
	close(carried[0]);
	assert_int_equal(bm_receive_bare(ends[1], 64, &message, &err), -E2BIG);
	assert_string_equal(err.rule, "message-fds");
	assert_int_equal(message.fd_count, 0);
	assert_int_equal(recv(carried[1], &byte, 1, 0), 0);
	close(carried[1]);
	close(ends[0]);
	close(ends[1]);
}

static struct ucred credentials_beside(int socket)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char text[64];
	struct iovec to = { text, sizeof(text) };
	struct msghdr msg = { .msg_iov = &to,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct ucred who;

	assert_true(recvmsg(socket, &msg, 0) > 0);
	assert_non_null(CMSG_FIRSTHDR(&msg));
	assert_int_equal(control.head.cmsg_type, SCM_CREDENTIALS);
	memcpy(&who, CMSG_DATA(&control.head), sizeof(who));
	return who;
}

static void answers_name_their_reader(void **state)
{
	struct ucred self = { getpid(), getuid(), getgid() }, who, gone = self;
	autojson *json = json_object_new_object();
	int ends[2], on = 1;

	(void)state;
	pair(ends);
	assert_int_equal(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(bm_send_as(ends[0], json, &self), 0);
	who = credentials_beside(ends[1]);
	assert_memory_equal(&who, &self, sizeof(who));
	gone.pid = 1 << 30;
	assert_true(bm_send_as(ends[0], json, &gone) < 0);
	close(ends[0]);
	close(ends[1]);
}

/* Whom one is connected with is the one who called listen(2). */
static void who_listens_is_gone(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(sa_family_t), len;
	struct bm_error err = {};
	struct ucred peer;
	int sockets[3];

	(void)state;
	for (size_t i = 0; i < COUNT(sockets); i++) {
		sockets[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
		/* A name that the kernel makes up. */
		assert_int_equal(bind(sockets[i], (struct sockaddr *)&address, size), 0);
	}
	assert_int_equal(bm_door_listen(sockets, COUNT(sockets), &err), 0);
	for (size_t i = 0; i < COUNT(sockets); i++) {
		struct sockaddr_un there;
		int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		len = sizeof(there);
		assert_int_equal(getsockname(sockets[i], (struct sockaddr *)&there, &len), 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&there, len), 0);
		len = sizeof(peer);
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len), 0);
		assert_int_not_equal(peer.pid, getpid());
		assert_int_equal(kill(peer.pid, 0), -1);
		assert_int_equal(errno, ESRCH);
		if (getuid() == 0)
			assert_int_equal(peer.uid, 65534);
		close(fd);
		close(sockets[i]);
	}
	assert_int_equal(bm_door_listen(NULL, 0, &err), 0);
}

static int parse(const char *line, struct ask *ret, struct bm_error *err)
{
	static char words[256];
	char *argv[16] = { "benchmon" }, *rest = words;
	int argc = 1;

	snprintf(words, sizeof(words), "%s", line);
	while (argc < 16 && (argv[argc] = strsep(&rest, " ")))
		argc++;
	return ask_parse(argc, argv, ret, err);
}

static void words(void **state)
{
	static const struct {
		const char *line, *json;
	} cases[] = {
		{ "request net apt --why x",
		  "{\"kind\":\"net\",\"why\":\"x\",\"target\":\"apt\"}" },
		{ "request --why=x --for=10m --wait net host.test:443",
		  "{\"kind\":\"net\",\"why\":\"x\",\"for\":600,\"wait\":true,"
		  "\"target\":\"host.test:443\"}" },
		{ "request file /a --why x",
		  "{\"kind\":\"file\",\"why\":\"x\",\"target\":\"/a\",\"rights\":\"ro\"}" },
		{ "request file /a:/in/a:rw --why x",
		  "{\"kind\":\"file\",\"why\":\"x\",\"target\":\"/a\",\"dest\":\"/in/a\","
		  "\"rights\":\"rw\"}" },
		{ "request listen 8080 --why x",
		  "{\"kind\":\"listen\",\"why\":\"x\",\"target\":\"8080\"}" },
		{ "request broker model --why x",
		  "{\"kind\":\"broker\",\"why\":\"x\",\"target\":\"model\"}" },
		{ "request --why x -- net -a",
		  "{\"kind\":\"net\",\"why\":\"x\",\"target\":\"-a\"}" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		autojson *request = NULL;
		struct bm_error err = {};
		struct ask ask;

		assert_int_equal(parse(cases[i].line, &ask, &err), 0);
		assert_int_equal(ask_request(&ask, &request, &err), 0);
		assert_string_equal(
			json_object_to_json_string_ext(
				request, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE),
			cases[i].json);
	}
}

static void misunderstood(void **state)
{
	static const char *const lines[] = {
		"grant b1 net apt",
		"request",
		"request net --why x",
		"request disk a --why x",
		"request net a",
		"request net a b --why x",
		"request net a --why",
		"request net a --why=",
		"request net a --why x --for 0s",
		"request net a --why x --format xml",
		"request net a --whyx",
		"request net a --wait=1 --why x",
		"version --wait",
		"version more",
		"--yes",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		struct bm_error err = {};
		struct ask ask = {};

		assert_int_equal(parse(lines[i], &ask, &err), -EINVAL);
		assert_true(*err.message);
	}
}

static void not_to_be_said(void **state)
{
	static const struct {
		const char *kind, *what, *why;
		int result;
	} cases[] = {
		{ "net", "\xff", "x", -EILSEQ },
		{ "net", "a", "\xff", -EILSEQ },
		{ "file", "a", "x", -EINVAL },
		{ "file", "/a:b", "x", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ask ask = { .kind = cases[i].kind,
				   .what = cases[i].what,
				   .why = cases[i].why };
		struct json_object *request = NULL;
		struct bm_error err = {};

		assert_int_equal(ask_request(&ask, &request, &err), cases[i].result);
		assert_null(request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(malformed),
		cmocka_unit_test(descriptors),
		cmocka_unit_test(answers_name_their_reader),
		cmocka_unit_test(who_listens_is_gone),
		cmocka_unit_test(words),
		cmocka_unit_test(misunderstood),
		cmocka_unit_test(not_to_be_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
