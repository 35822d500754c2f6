// SPDX-License-Identifier: GPL-2.0-only
/* No definition of a broker, however it is written, lets a call go astray. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "policy/broker.h"
#include "tests/fuzz/must.h"

static void visible(const char *text)
{
	for (; *text; text++)
		MUST((unsigned char)*text >= 0x20 && *text < 0x7f);
}

/* Decided apart from the code. */
static void path(const char *text)
{
	MUST(text[0] == '/');
	MUST(!strchr(text, '?') && !strchr(text, '#') && !strchr(text, '\\') && !strchr(text, ' '));
	MUST(!strstr(text, "//") && !strstr(text, "/../") && !strstr(text, "/./"));
	for (; *text; text++)
		MUST(*text != '%' || !strncasecmp(text, "%2f", 3));
}

static void use(const struct bm_broker *b)
{
	MUST(b->name[0] >= 'a' && b->name[0] <= 'z');
	MUST(b->setting == !b->host[0] && b->setting == !b->port);
	MUST(b->route_count && b->route_count <= BM_BROKER_ROUTES);
	visible(b->before);
	visible(b->user);
	visible(b->ca);
	MUST(b->header[0] && strcmp(b->header, "host") && strcmp(b->header, "content-length"));
	for (size_t i = 0; i < b->route_count; i++) {
		path(b->routes[i].path);
		for (size_t j = 0; j < b->routes[i].query_count; j++)
			visible(b->routes[i].query[j]);
	}
	for (size_t i = 0; i < b->header_count; i++) {
		MUST(strcasecmp(b->headers[i], "authorization") &&
		     strcasecmp(b->headers[i], "transfer-encoding") &&
		     strcasecmp(b->headers[i], b->header));
		MUST(b->headers[i][0] != '*' && !strpbrk(b->headers[i], ": \r\n"));
	}
	path(b->verify.path);
	MUST(!strcmp(b->verify.method, "GET") || !strcmp(b->verify.method, "HEAD"));
	MUST(b->limits.rate && b->limits.concurrent && b->limits.concurrent <= 64);
	MUST(b->limits.seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autobroker broker = { .port = 7 };
	struct bm_error err = {};
	int r = bm_broker_parse((const char *)data, size, "fuzz", NULL, &broker, &err);

	MUST(r == -err.code && (r == 0) == !err.message[0]);
	if (r == 0)
		use(&broker);
	else
		MUST(broker.port == 7 && !broker.routes);
	return 0;
}
