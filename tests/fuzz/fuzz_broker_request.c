// SPDX-License-Identifier: GPL-2.0-only
/* No head, however it is made, gets a call past the definition, or two readings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "broker/answer.h"
#include "broker/request.h"
#include "tests/fuzz/must.h"

static const char text[] =
	"{\"name\":\"b\",\"description\":\"d\",\"upstream\":{\"host\":\"a.test\"},"
	"\"credential\":{\"header\":\"X-Key\"},\"headers\":[\"x-*\"],"
	"\"allow\":[{\"method\":\"GET\",\"path\":\"/a/*\",\"query\":[\"q\",\"p=1\"]},"
	"{\"method\":\"POST\",\"path\":\"/@*%2f*\"}],\"verify\":{\"method\":\"GET\",\"path\":\"/"
	"a\"}}";
static const char *const hosts[] = { "h", NULL };
static struct bm_broker broker;
static struct echo *echo;

static size_t count_of(const struct request *q, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < q->header_count; i++)
		count += q->headers[i].name.len == strlen(name) &&
			 !strncasecmp(q->headers[i].name.text, name, strlen(name));
	return count;
}

static void inside(struct slice s, const char *head, size_t len)
{
	MUST(!s.len || (s.text >= head && s.text + s.len <= head + len));
}

/* Decided apart from the code. */
static void use(const struct request *q, const char *head, size_t len)
{
	MUST(!memcmp(head + len - 4, "\r\n\r\n", 4));
	MUST(memmem(head, len, "\r\n\r\n", 4) == head + len - 4);
	MUST(!memchr(head, 0, len));
	for (size_t i = 0; i < len; i++)
		MUST((head[i] == '\n') == (i && head[i - 1] == '\r'));
	MUST(count_of(q, "content-length") + count_of(q, "transfer-encoding") <= 1);
	MUST(count_of(q, "host") == 1 && !count_of(q, "upgrade"));
	MUST(q->chunked <= count_of(q, "transfer-encoding"));
	inside(q->path, head, len);
	inside(q->query, head, len);
	MUST(!memmem(q->path.text, q->path.len, "..", 2) || q->path.len > 4);
	MUST(!memmem(q->path.text, q->path.len, "/../", 4));
	MUST(!memmem(q->path.text, q->path.len, "//", 2));
	MUST(!memchr(q->path.text, '?', q->path.len) && !memchr(q->path.text, ' ', q->path.len));
	MUST(!memchr(q->query.text, ' ', q->query.len));
	MUST((q->method.len == 3 && !memcmp(q->method.text, "GET", 3) &&
	      !memcmp(q->path.text, "/a/", 3) && !q->chunked && !q->length) ||
	     (q->method.len == 4 && !memcmp(q->method.text, "POST", 4) &&
	      !memcmp(q->path.text, "/@", 2) && !q->query.len));
	for (size_t i = 0; i < q->header_count; i++) {
		inside(q->headers[i].name, head, len);
		inside(q->headers[i].value, head, len);
		if (!head_passes(&broker, &q->headers[i]))
			continue;
		MUST(strncasecmp(q->headers[i].name.text, "x-key:", 6));
		MUST(strncasecmp(q->headers[i].name.text, "host", 4));
		MUST(!memchr(q->headers[i].value.text, '\r', q->headers[i].value.len));
	}
}

static void as_request(const char *data, size_t size)
{
	struct refusal refusal = {}, again = {};
	struct request request = {};
	size_t seen = 0, cut = size / 2, bytes = 0;
	int len = head_end(data, size, &seen, &refusal), r;

	/* In two pieces it ends where it ends in one. */
	r = head_end(data, cut, &bytes, &again);
	if (r == 0)
		r = head_end(data, size, &bytes, &again);
	MUST(r == len);
	MUST(len >= 0 || refusal.status >= 400);
	if (len <= 0)
		return;
	r = head_parse(data, (size_t)len, &request, &refusal);
	if (r == 0)
		r = head_check(&request, &broker, hosts, &refusal);
	MUST((r == 0) == !refusal.status);
	for (const char *c = refusal.error.message; *c; c++)
		MUST((unsigned char)*c >= 0x20 && *c < 0x7f);
	if (r == 0)
		use(&request, data, (size_t)len);
}

/* The same bytes as the lines of an answer's head. */
static void as_answer(const char *data, size_t size)
{
	struct answer answer = {};

	while (size && !answer.ended) {
		const char *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) + 1 : size;

		MUST(answer_line(&answer, data, len, &broker, echo) == 0);
		data += len;
		size -= len;
	}
	for (size_t i = 0; i < answer.header_count; i++) {
		MUST(!strpbrk(answer.headers[i].name, "\r\n:"));
		MUST(!strpbrk(answer.headers[i].value, "\r\n"));
		MUST(strcasecmp(answer.headers[i].name, "set-cookie"));
		MUST(strcasecmp(answer.headers[i].name, "transfer-encoding"));
		MUST(!strstr(answer.headers[i].value, "secret-1234"));
		MUST(!strstr(answer.headers[i].name, "secret-1234"));
		MUST(strcmp(answer.headers[i].name, "Location") ||
		     (answer.headers[i].value[0] == '/' && answer.headers[i].value[1] != '/'));
	}
	answer_done(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;

	if (!echo) {
		MUST(bm_broker_parse(text, strlen(text), "fuzz", NULL, &broker, NULL) == 0);
		MUST(echo_new("secret-1234", 11, &echo) == 0);
	}
	/* Of exactly that size, so that a byte too far is seen. */
	copy = malloc(size ?: 1);
	MUST(copy);
	memcpy(copy, data, size);
	as_request(copy, size);
	as_answer(copy, size);
	free(copy);
	return 0;
}
