// SPDX-License-Identifier: GPL-2.0-only
#include "broker/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "base/json.h"

#define GRAMMAR "broker-request"
#define FRAMING "broker-framing"

int refuse(struct refusal *refusal, int status, int code, const char *rule, const char *remedy,
	   const char *fmt, ...)
{
	char message[sizeof(refusal->error.message)];
	va_list ap;

	if (!refusal || refusal->error.code)
		return -code;
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	refusal->status = status;
	return bm_fail(&refusal->error, code, rule, remedy, "%s", message);
}

struct json_object *refusal_json(const struct refusal *refusal)
{
	struct json_object *json = json_object_new_object(), *error = json_object_new_object();

	bm_json_add_string(error, "message", refusal->error.message);
	bm_json_add_string(error, "rule", refusal->error.rule);
	bm_json_add_string(error, "remedy", refusal->error.remedy);
	bm_json_add(json, "error", error);
	return json;
}

int head_end(const char *data, size_t len, size_t *seen, struct refusal *ret)
{
	for (size_t i = *seen; i < len; i++) {
		unsigned char c = (unsigned char)data[i];

		if (c == '\n' && (!i || data[i - 1] != '\r'))
			return refuse(ret, 400, EBADMSG, GRAMMAR, "end lines with CR LF",
				      "a line feed alone at byte %zu of the head", i + 1);
		if (i && data[i - 1] == '\r' && c != '\n')
			return refuse(ret, 400, EBADMSG, GRAMMAR, "end lines with CR LF",
				      "a carriage return alone at byte %zu of the head", i);
		if ((c < 0x20 && !strchr("\t\r\n", c)) || !c || c >= 0x7f)
			return refuse(ret, 400, EBADMSG, GRAMMAR, "send printable ASCII",
				      "byte 0x%02x at %zu of the head", c, i + 1);
		if (c == '\n' && i == 1)
			return refuse(ret, 400, EBADMSG, GRAMMAR, "begin with the method",
				      "an empty line before the request");
		if (c == '\n' && i >= 3 && data[i - 2] == '\n') {
			*seen = i + 1;
			return (int)(i + 1);
		}
		if (i + 1 >= REQUEST_HEAD)
			return refuse(ret, 431, E2BIG, GRAMMAR, "send less or shorter headers",
				      "a head of more than %d bytes", REQUEST_HEAD);
	}
	*seen = len;
	return 0;
}

/* The line at *at without its end, which is there; moves on to the next. */
static struct slice next_line(const char *head, size_t *at)
{
	struct slice line = { head + *at, 0 };

	while (line.text[line.len] != '\r')
		line.len++;
	*at += line.len + 2;
	return line;
}

/* Up to that byte or the end; what follows is left in rest, without the byte. */
static struct slice cut(struct slice *rest, char at)
{
	const char *found = memchr(rest->text, at, rest->len);
	struct slice first = { rest->text, found ? (size_t)(found - rest->text) : rest->len };

	rest->text += first.len + !!found;
	rest->len -= first.len + !!found;
	return first;
}

static bool is(struct slice s, const char *text)
{
	return s.len == strlen(text) && !strncasecmp(s.text, text, s.len);
}

static bool is_token(struct slice s)
{
	static const char good[] = "!#$%&'*+-.^_`|~0123456789"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	for (size_t i = 0; i < s.len; i++)
		if (!strchr(good, s.text[i]))
			return false;
	return s.len;
}

static struct slice trimmed(struct slice s)
{
	while (s.len && strchr(" \t", s.text[0])) {
		s.text++;
		s.len--;
	}
	while (s.len && strchr(" \t", s.text[s.len - 1]))
		s.len--;
	return s;
}

static int take_line(struct slice line, struct request *ret, struct refusal *refusal)
{
	struct slice target;

	ret->method = cut(&line, ' ');
	target = cut(&line, ' ');
	if (!is_token(ret->method) || !target.len)
		return refuse(refusal, 400, EBADMSG, GRAMMAR, "METHOD /path HTTP/1.1",
			      "no request line");
	if (line.len != 8 || memcmp(line.text, "HTTP/1.1", 8))
		return refuse(refusal, 505, EBADMSG, GRAMMAR, "speak HTTP/1.1",
			      "another version of HTTP, or more in the request line");
	if (is(ret->method, "CONNECT"))
		return refuse(refusal, 405, EPERM, "broker-route", "call the endpoint's paths",
			      "CONNECT: this is no proxy");
	if (target.text[0] != '/')
		return refuse(refusal, 400, EPERM, "broker-path",
			      "use the endpoint as base URL, not as a proxy",
			      "a target that is no path");
	if (target.len > REQUEST_TARGET)
		return refuse(refusal, 414, E2BIG, "broker-path", "send a shorter one",
			      "a target of more than %d bytes", REQUEST_TARGET);
	ret->has_query = memchr(target.text, '?', target.len);
	ret->path = cut(&target, '?');
	ret->query = target;
	return 0;
}

static int take_header(struct slice line, struct request *ret, struct refusal *refusal)
{
	struct request_header *header = &ret->headers[ret->header_count];

	if (strchr(" \t", line.text[0]))
		return refuse(refusal, 400, EBADMSG, GRAMMAR, "write each header in one line",
			      "a header that is folded");
	if (ret->header_count == REQUEST_HEADERS)
		return refuse(refusal, 431, E2BIG, GRAMMAR, "send fewer headers",
			      "more than %d headers", REQUEST_HEADERS);
	if (!memchr(line.text, ':', line.len))
		return refuse(refusal, 400, EBADMSG, GRAMMAR, "NAME: VALUE",
			      "header %zu has no colon", ret->header_count + 1);
	header->name = cut(&line, ':');
	if (!is_token(header->name))
		return refuse(refusal, 400, EBADMSG, GRAMMAR, "NAME: VALUE, no space in the name",
			      "header %zu has no name that is one", ret->header_count + 1);
	header->value = trimmed(line);
	ret->header_count++;
	return 0;
}

static int take_length(struct slice value, uint64_t *ret, struct refusal *refusal)
{
	uint64_t length = 0;

	for (size_t i = 0; i < value.len; i++) {
		if (value.text[i] < '0' || value.text[i] > '9' || i > 14)
			return refuse(refusal, 400, EBADMSG, FRAMING, "send one decimal number",
				      "a Content-Length that is none");
		length = length * 10 + (uint64_t)(value.text[i] - '0');
	}
	if (!value.len)
		return refuse(refusal, 400, EBADMSG, FRAMING, "send one decimal number",
			      "an empty Content-Length");
	*ret = length;
	return 0;
}

/* A header that is named here belongs to the connection, and is named so that it is dropped. */
static int check_connection(struct slice value, struct refusal *refusal)
{
	while (value.len) {
		struct slice token = trimmed(cut(&value, ','));

		if (!is(token, "close") && !is(token, "keep-alive") && !is(token, "te"))
			return refuse(refusal, 400, EPERM, FRAMING, "send close or keep-alive",
				      "a Connection header that names something else");
	}
	return 0;
}

static int take_framing(struct request *ret, struct refusal *refusal)
{
	unsigned int lengths = 0, codings = 0;
	bool body;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ret->header_count; i++) {
		struct slice name = ret->headers[i].name, value = ret->headers[i].value;

		if (is(name, "content-length")) {
			lengths++;
			r = take_length(value, &ret->length, refusal);
		} else if (is(name, "transfer-encoding")) {
			codings++;
			ret->chunked = is(value, "chunked");
		} else if (is(name, "connection")) {
			r = check_connection(value, refusal);
		} else if (is(name, "upgrade")) {
			r = refuse(refusal, 400, EPERM, FRAMING, "speak HTTP/1.1",
				   "Upgrade: another protocol would not be looked at");
		} else if (is(name, "expect")) {
			ret->expects = is(value, "100-continue");
			if (!ret->expects)
				r = refuse(refusal, 417, EPERM, FRAMING, "expect 100-continue",
					   "an Expect header of another kind");
		}
	}
	if (r < 0)
		return r;
	if (lengths + codings > 1)
		return refuse(refusal, 400, EBADMSG, FRAMING, "say it once",
			      "the length of the body is told more than once");
	if (codings && !ret->chunked)
		return refuse(refusal, 501, EBADMSG, FRAMING, "use chunked or Content-Length",
			      "a Transfer-Encoding other than chunked");
	body = ret->chunked || ret->length;
	if (body && (is(ret->method, "GET") || is(ret->method, "HEAD")))
		return refuse(refusal, 400, EBADMSG, FRAMING, "send it with another method",
			      "a body where none belongs");
	return 0;
}

int head_parse(const char *head, size_t len, struct request *ret, struct refusal *refusal)
{
	struct request request = {};
	size_t at = 0;
	int r = take_line(next_line(head, &at), &request, refusal);

	while (r == 0 && at < len - 2)
		r = take_header(next_line(head, &at), &request, refusal);
	if (r == 0)
		r = take_framing(&request, refusal);
	if (r == 0)
		*ret = request;
	return r;
}

static int check_host(const struct request *request, const char *const *hosts,
		      struct refusal *refusal)
{
	const struct request_header *host = NULL;

	for (size_t i = 0; i < request->header_count; i++) {
		if (!is(request->headers[i].name, "host"))
			continue;
		if (host)
			return refuse(refusal, 400, EBADMSG, "broker-host", "send one",
				      "Host is given twice");
		host = &request->headers[i];
	}
	for (size_t i = 0; host && hosts[i]; i++)
		if (is(host->value, hosts[i]))
			return 0;
	return refuse(refusal, host ? 421 : 400, EPERM, "broker-host",
		      "call the endpoint by the name it was given",
		      host ? "Host is not this endpoint" : "Host is missing");
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Escapes in values may be of anything but what ends a line or a string. */
static bool value_good(struct slice v)
{
	for (size_t i = 0; i < v.len; i++) {
		if (v.text[i] == '%') {
			if (v.len - i < 3 || !is_hex(v.text[i + 1]) || !is_hex(v.text[i + 2]) ||
			    v.text[i + 1] < '2' || !strncasecmp(v.text + i, "%7f", 3))
				return false;
			i += 2;
		} else if (strchr("#\\\"<>^`{|};", v.text[i])) {
			return false;
		}
	}
	return true;
}

static int check_query(const struct request *request, struct refusal *refusal)
{
	struct slice rest = request->query;
	char shown[64], name[64];

	while (rest.len) {
		struct slice one = cut(&rest, '&'), value = one;
		struct slice key = cut(&value, '=');
		bool found = false;

		for (size_t i = 0; !found && i < request->route->query_count; i++) {
			const char *query = request->route->query[i];
			size_t len = strlen(query);

			found = strchr(query, '=')
					? one.len == len && !memcmp(one.text, query, len)
					: key.len == len && !memcmp(key.text, query, len);
		}
		if (found && value_good(value))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(key.len < 40 ? key.len : 40), key.text);
		return refuse(refusal, 403, EPERM, "broker-query", "send those that it allows",
			      "the parameter \"%s\" is none that the definition has there",
			      bm_escape(name, shown, sizeof(shown)));
	}
	return 0;
}

static int check_route(struct request *request, const struct bm_broker *broker,
		       struct refusal *refusal)
{
	bool path = false;

	for (size_t i = 0; i < broker->route_count; i++) {
		const struct bm_broker_route *route = &broker->routes[i];

		if (!bm_broker_path_matches(route->path, request->path.text, request->path.len))
			continue;
		path = true;
		/* Methods are told apart by case. */
		if (request->method.len != strlen(route->method) ||
		    memcmp(request->method.text, route->method, request->method.len))
			continue;
		request->route = route;
		/* Another route of that path may have the query. */
		if (check_query(request, NULL) == 0)
			return 0;
	}
	if (request->route)
		return check_query(request, refusal);
	return refuse(refusal, path ? 405 : 403, EPERM, "broker-route",
		      "have the definition changed, if this call is meant",
		      path ? "%s does not allow this method there" : "%s does not allow this path",
		      broker->name);
}

int head_check(struct request *request, const struct bm_broker *broker, const char *const *hosts,
	       struct refusal *refusal)
{
	const char *why = bm_broker_path_wrong(request->path.text, request->path.len, false);
	int r = check_host(request, hosts, refusal);

	if (r < 0)
		return r;
	if (why)
		return refuse(refusal, 400, EPERM, "broker-path", "write the path plainly",
			      "the path has %s", why);
	return check_route(request, broker, refusal);
}

bool head_passes(const struct bm_broker *broker, const struct request_header *header)
{
	static const char *const always[] = { "accept", "content-type", "user-agent" };
	char name[BM_BROKER_WORD];

	if (header->name.len >= sizeof(name))
		return false;
	memcpy(name, header->name.text, header->name.len);
	name[header->name.len] = '\0';
	if (bm_broker_header_never(name) || !strcasecmp(name, broker->header))
		return false;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!strcasecmp(name, always[i]))
			return true;
	for (size_t i = 0; i < broker->header_count; i++) {
		const char *allowed = broker->headers[i];
		size_t len = strlen(allowed) - 1;

		if (allowed[len] == '*' ? !strncasecmp(name, allowed, len)
					: !strcasecmp(name, allowed))
			return true;
	}
	return false;
}
