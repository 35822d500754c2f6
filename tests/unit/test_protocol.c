// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "protocol/protocol.h"

#define MANY_FDS 253 /* the most a kernel takes in one message */

static int ours = -1, theirs = -1, fds_before;

static int count_fds(void)
{
	autoclosedir DIR *fds = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(fds))
		count++;
	return count;
}

static int setup(void **state)
{
	int pair[2], size = 4 * BM_MESSAGE_MAX;

	(void)state;
	fds_before = count_fds();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	ours = pair[0];
	theirs = pair[1];
	return setsockopt(theirs, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int teardown(void **state)
{
	(void)state;
	bm_close(TAKE_FD(ours));
	bm_close(TAKE_FD(theirs));
	return count_fds() == fds_before ? 0 : -1;
}

/* As a peer would that is not ours: any bytes, any fds. */
static void raw_send(const void *data, size_t len, int fd, size_t fd_count)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * MANY_FDS)];
	} control = {};
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd_count) {
		struct cmsghdr *cmsg;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		for (size_t i = 0; i < fd_count; i++)
			memcpy(CMSG_DATA(cmsg) + i * sizeof(int), &fd, sizeof(int));
	}
	assert_int_equal(sendmsg(theirs, &msg, MSG_NOSIGNAL), len);
}

/* The message is refused, nothing of it stays, and the next one is understood. */
static void assert_refused(int code, const char *rule)
{
	struct bm_message message = { .fd_count = 77 };
	struct bm_error err = {};
	int fds = count_fds();

	assert_int_equal(bm_receive(ours, &message, &err), -code);
	assert_int_equal(err.code, code);
	assert_string_equal(err.rule, rule);
	assert_int_equal(message.fd_count, 77);
	assert_int_equal(count_fds(), fds);

	automessage good = {};

	raw_send("{\"v\":1}", 7, -1, 0);
	assert_int_equal(bm_receive(ours, &good, NULL), 0);
	assert_int_equal(count_fds(), fds);
}

static void messages_pass(void **state)
{
	int fds[3] = { STDIN_FILENO, ours, theirs }, before = count_fds();
	autojson *json = json_object_new_object();
	struct bm_message message = {};

	(void)state;
	bm_json_add_string(json, "path", "/in/\"x\"");
	for (size_t count = 0; count <= 3; count++) {
		assert_int_equal(bm_send(theirs, json, fds, count), 0);
		assert_int_equal(bm_receive(ours, &message, NULL), 0);
		assert_string_equal(bm_json_string(message.json, "path"), "/in/\"x\"");
		assert_int_equal(message.fd_count, count);
		assert_int_equal(count_fds(), before + (int)count);
		for (size_t i = 0; i < count; i++) {
			struct stat a, b;

			assert_int_equal(fcntl(message.fds[i], F_GETFD), FD_CLOEXEC);
			fstat(message.fds[i], &a);
			fstat(fds[i], &b);
			assert_int_equal(a.st_ino, b.st_ino);
		}
		bm_message_done(&message);
		assert_int_equal(count_fds(), before);
		bm_message_done(&message);
	}
	assert_int_equal(bm_send(theirs, json, fds, 4), -EMSGSIZE);
}

static void taken_fds_are_the_takers(void **state)
{
	struct bm_message message = {};
	int before = count_fds(), taken;

	(void)state;
	raw_send("{}", 2, STDIN_FILENO, 3);
	assert_int_equal(bm_receive(ours, &message, NULL), 0);
	taken = TAKE_FD(message.fds[1]);
	bm_message_done(&message);
	assert_int_equal(count_fds(), before + 1);
	assert_true(fcntl(taken, F_GETFD) >= 0);
	bm_close(taken);
}

static struct json_object *sized(size_t size)
{
	struct json_object *json = json_object_new_object();
	autofree char *text = calloc(1, size);

	memset(text, 'x', size - strlen("{\"a\":\"\"}"));
	bm_json_add_string(json, "a", text);
	return json;
}

static void sizes(void **state)
{
	autojson *largest = sized(BM_MESSAGE_MAX), *larger = sized(BM_MESSAGE_MAX + 1);
	autofree char *raw = malloc(3 * BM_MESSAGE_MAX);
	automessage message = {};

	(void)state;
	assert_int_equal(bm_send(theirs, larger, NULL, 0), -EMSGSIZE);
	assert_int_equal(bm_send(theirs, largest, &(int){ STDIN_FILENO }, 1), 0);
	assert_int_equal(bm_receive(ours, &message, NULL), 0);
	assert_int_equal(strlen(bm_json_string(message.json, "a")), BM_MESSAGE_MAX - 8);
	assert_int_equal(message.fd_count, 1);

	memset(raw, ' ', 3 * BM_MESSAGE_MAX);
	memcpy(raw, "{}", 2);
	raw_send(raw, BM_MESSAGE_MAX + 1, -1, 0);
	assert_refused(EMSGSIZE, "message-size");
	raw_send(raw, 3 * BM_MESSAGE_MAX, STDIN_FILENO, MANY_FDS);
	assert_refused(EMSGSIZE, "message-size");
}

/* A page of entries that stay below the limit fits; one entry more does not. */
static void pages_fill_a_message(void **state)
{
	autojson *reply = json_object_new_object(), *entry = sized(700);
	struct json_object *list = json_object_new_array();
	size_t entry_len = strlen(json_object_to_json_string_ext(entry, JSON_C_TO_STRING_PLAIN));
	size_t frame = strlen("{\"l\":[]}"), fit = (BM_MESSAGE_MAX - frame + 1) / (entry_len + 1);

	(void)state;
	assert_int_equal(entry_len, 700);
	bm_json_add(reply, "l", list);
	for (size_t i = 0; i < fit; i++)
		json_object_array_add(list, json_object_get(entry));
	automessage page = {};

	assert_int_equal(bm_send(theirs, reply, NULL, 0), 0);
	assert_int_equal(bm_receive(ours, &page, NULL), 0);
	assert_int_equal(json_object_array_length(bm_json_get(page.json, "l", json_type_array)),
			 fit);
	json_object_array_add(list, json_object_get(entry));
	assert_int_equal(bm_send(theirs, reply, NULL, 0), -EMSGSIZE);
}

static void malformed(void **state)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"null",
		"{}{}",
		"x",
		"{\"v\":1,\"v\":1}",
		"{\"a\":\"\xff\"}",
		"{'a':1}",
		"{\"a\":\"\\u0000\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		raw_send(texts[i], strlen(texts[i]), STDIN_FILENO, i % 4);
		assert_refused(EBADMSG, "json");
	}
	raw_send("{}\0{}", 5, -1, 0);
	assert_refused(EBADMSG, "json");
}

static void too_many_fds(void **state)
{
	(void)state;
	for (size_t count = BM_MESSAGE_FDS + 1; count <= MANY_FDS; count++) {
		raw_send("{}", 2, STDIN_FILENO, count);
		assert_refused(E2BIG, "message-fds");
	}
	/* Credentials beside the fds leave no room for all of them. */
	assert_int_equal(setsockopt(ours, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)), 0);
	raw_send("{}", 2, STDIN_FILENO, MANY_FDS);
	assert_refused(E2BIG, "message-fds");
	raw_send("{}", 2, STDIN_FILENO, 1);
	automessage message = {};

	assert_int_equal(bm_receive(ours, &message, NULL), 0);
	assert_int_equal(message.fd_count, 1);
}

static void nothing_there(void **state)
{
	struct bm_message message = {};
	struct bm_error err = {};

	(void)state;
	assert_int_equal(fcntl(ours, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(bm_receive(ours, &message, &err), -EAGAIN);
	raw_send("", 0, STDIN_FILENO, 3);
	assert_int_equal(bm_receive(ours, &message, &err), -ECONNRESET);
	assert_int_equal(count_fds(), fds_before + 2);
}

static void peer_hangs_up(void **state)
{
	autojson *json = sized(100);
	struct bm_message message = {};
	struct bm_error err = {};

	(void)state;
	/* What it said last is still read, and fds that nobody received are the kernel's to close.
	 */
	raw_send("{\"last\":1}", 10, STDIN_FILENO, 2);
	bm_close(TAKE_FD(theirs));
	assert_int_equal(bm_receive(ours, &message, &err), 0);
	bm_message_done(&message);
	assert_int_equal(bm_receive(ours, &message, &err), -ECONNRESET);
	assert_int_equal(err.code, 0);
	assert_int_equal(bm_send(ours, json, NULL, 0), -EPIPE);
}

static void full_socket(void **state)
{
	autojson *json = sized(BM_MESSAGE_MAX);
	int sent = 0, r;

	(void)state;
	assert_int_equal(fcntl(theirs, F_SETFL, O_NONBLOCK), 0);
	while ((r = bm_send(theirs, json, NULL, 0)) == 0)
		assert_true(++sent < 1000);
	assert_int_equal(r, -EAGAIN);
	assert_true(sent > 0);
	/* Whole messages or none. */
	while (sent--) {
		automessage message = {};

		assert_int_equal(bm_receive(ours, &message, NULL), 0);
	}
}

static void calls(void **state)
{
	autojson *request = json_object_new_object(), *reply = NULL, *none = NULL;
	autojson *large = sized(BM_MESSAGE_MAX);
	struct bm_error err = {};

	(void)state;
	bm_json_add_string(request, "bench", "b1");
	raw_send("{\"ok\":true,\"bench\":{}}", 22, -1, 0);
	assert_int_equal(bm_call(ours, "show", request, NULL, 0, &reply, &err), 0);
	assert_non_null(bm_json_get(reply, "bench", json_type_object));

	automessage seen = {};

	assert_int_equal(bm_receive(theirs, &seen, NULL), 0);
	assert_string_equal(json_object_to_json_string_ext(seen.json, JSON_C_TO_STRING_PLAIN),
			    "{\"v\":1,\"op\":\"show\",\"bench\":\"b1\"}");

	static const struct {
		const char *reply;
		int code;
	} cases[] = {
		{ "{\"ok\":false,\"error\":{\"errno\":17,\"message\":\"it exists\"}}", EEXIST },
		{ "{\"ok\":false}", EPROTO },
		{ "{}", EPROTO },
		{ "{\"ok\":\"true\"}", EPROTO },
		{ "{\"ok\":false,\"error\":{\"errno\":0,\"message\":\"\"}}", EPROTO },
		{ "{\"ok\":false,\"error\":{\"errno\":-1,\"message\":\"\"}}", EPROTO },
		{ "{\"ok\":false,\"error\":{\"errno\":5}}", EPROTO },
		{ "{\"ok\"", EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		err = (struct bm_error){};
		raw_send(cases[i].reply, strlen(cases[i].reply), STDIN_FILENO, 1);
		assert_int_equal(bm_call(ours, "ls", NULL, NULL, 0, &none, &err), -cases[i].code);
		assert_int_equal(err.code, cases[i].code);
		assert_true(err.message[0]);
	}
	err = (struct bm_error){};
	assert_int_equal(bm_call(ours, "ls", large, NULL, 0, &none, &err), -EMSGSIZE);
	assert_string_equal(err.rule, "message-size");
	err = (struct bm_error){};
	/* Requests that it left unread turn its end into a reset. */
	bm_close(TAKE_FD(theirs));
	assert_int_equal(bm_call(ours, "ls", NULL, NULL, 0, &none, &err), -ECONNRESET);
	assert_non_null(strstr(err.message, "ls: "));
	err = (struct bm_error){};
	assert_int_equal(bm_call(ours, "ls", NULL, NULL, 0, &none, &err), -EPIPE);
	assert_non_null(strstr(err.message, "ls: "));
	assert_null(none);
}

static void connects(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/benchmon-protocol-XXXXXX", too_long[200];
	int socket_fd = -1, before = count_fds();

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", dir);
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	assert_int_equal(bm_connect(address.sun_path, &socket_fd), -ENOENT);
	assert_int_equal(bm_connect(too_long, &socket_fd), -ENAMETOOLONG);
	{
		autoclose listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

		assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
		assert_int_equal(bm_connect(address.sun_path, &socket_fd), -ECONNREFUSED);
		assert_int_equal(socket_fd, -1);
		assert_int_equal(listen(listener, 1), 0);
		assert_int_equal(bm_connect(address.sun_path, &socket_fd), 0);
		assert_int_equal(fcntl(socket_fd, F_GETFD), FD_CLOEXEC);
		bm_close(socket_fd);
	}
	unlink(address.sun_path);
	rmdir(dir);
	assert_int_equal(count_fds(), before);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(messages_pass), TEST(taken_fds_are_the_takers),
		TEST(sizes),         TEST(pages_fill_a_message),
		TEST(malformed),     TEST(too_many_fds),
		TEST(nothing_there), TEST(peer_hangs_up),
		TEST(full_socket),   TEST(calls),
		TEST(connects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
