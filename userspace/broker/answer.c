// SPDX-License-Identifier: GPL-2.0-only
#include "broker/answer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/*
 * The connection's, and what makes a client remember or go somewhere else. A cookie is a credential
 * of the upstream's making, and no request would bring it back.
 */
static bool kept_here(const char *name)
{
	static const char *const list[] = {
		"connection",
		"keep-alive",
		"transfer-encoding",
		"te",
		"trailer",
		"upgrade",
		"content-length",
		"content-encoding",
		"date",
		"set-cookie",
		"set-cookie2",
		"alt-svc",
		"strict-transport-security",
		"public-key-pins",
		"content-location",
		"refresh",
		"location",
		"link",
		"sourcemap",
		"clear-site-data",
		"report-to",
		"nel",
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (!strcasecmp(name, list[i]))
			return true;
	return !strncasecmp(name, "proxy-", 6);
}

void answer_done(struct answer *answer)
{
	for (size_t i = 0; i < answer->header_count; i++) {
		free(answer->headers[i].name);
		free(answer->headers[i].value);
	}
	free(answer->location);
	*answer = (struct answer){ .hidden = answer->hidden };
}

const char *answer_own_path(const char *location, const struct bm_broker *broker)
{
	size_t len = strlen(broker->host);
	char port[16];

	if (!strncasecmp(location, "https:", 6))
		location += 6;
	/* Relative to where the client is: it stays at the endpoint. */
	if (location[0] == '/' && location[1] != '/' && location[1] != '\\')
		return location;
	if (strncmp(location, "//", 2) || strncasecmp(location + 2, broker->host, len))
		return NULL;
	location += 2 + len;
	snprintf(port, sizeof(port), ":%u", broker->port);
	if (!strncmp(location, port, strlen(port)))
		location += strlen(port);
	else if (broker->port != 443)
		return NULL;
	return location[0] == '/' ? location : NULL;
}

static int take_length(struct answer *answer, const char *value)
{
	uint64_t length = 0;
	size_t i = 0;

	for (; value[i] >= '0' && value[i] <= '9' && i < 18; i++)
		length = length * 10 + (uint64_t)(value[i] - '0');
	if (!i || value[i])
		return refuse(&answer->refusal, 502, EBADMSG, "broker-answer", "call again",
			      "the upstream tells no length that is one");
	answer->has_length = true;
	answer->length = length;
	return 0;
}

static int take_header(struct answer *answer, const char *name, char *value,
		       const struct echo *echo)
{
	size_t i = answer->header_count;
	int found;

	if (!strcasecmp(name, "content-length"))
		return take_length(answer, value), 0;
	if (!strcasecmp(name, "content-encoding") && strcasecmp(value, "identity"))
		refuse(&answer->refusal, 502, EPROTO, "broker-encoding", "ask for identity",
		       "the upstream compressed its answer, where a credential could hide");
	if (!strcasecmp(name, "location")) {
		free(answer->location);
		answer->location = strdup(value);
		return answer->location ? 0 : -ENOMEM;
	}
	if (kept_here(name) || i == ANSWER_HEADERS)
		return 0;
	found = echo_text(echo, value, strlen(value));
	if (found < 0)
		return found;
	answer->hidden += (uint64_t)found;
	answer->headers[i].name = strdup(name);
	answer->headers[i].value = strdup(value);
	answer->header_count++;
	if (!answer->headers[i].name || !answer->headers[i].value)
		return -ENOMEM;
	/* A name of the upstream's is a place for an echo too. */
	found = echo_text(echo, answer->headers[i].name, strlen(name));
	return found < 0 ? found : 0;
}

/* The whole head is there. */
static int end(struct answer *answer, const struct bm_broker *broker, const struct echo *echo)
{
	bool redirect = answer->status >= 300 && answer->status <= 399;
	const char *path = answer->location ? answer_own_path(answer->location, broker) : NULL;
	char *own;
	int r;

	if (answer->status < 200) {
		answer_done(answer);
		return 0;
	}
	answer->ended = true;
	if (answer->location && !path && redirect)
		refuse(&answer->refusal, 502, EPERM, "broker-redirect",
		       "have a broker defined for the other host, if it is meant",
		       "the upstream redirects to another host");
	if (!path)
		return 0;
	own = strdup(path);
	if (!own)
		return -ENOMEM;
	free(answer->location);
	answer->location = own;
	r = echo_text(echo, own, strlen(own));
	if (r < 0 || answer->header_count == ANSWER_HEADERS)
		return r < 0 ? r : 0;
	answer->hidden += (uint64_t)r;
	answer->headers[answer->header_count].name = strdup("Location");
	answer->headers[answer->header_count].value = strdup(own);
	answer->header_count++;
	return answer->headers[answer->header_count - 1].value ? 0 : -ENOMEM;
}

static bool printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
			return false;
	return true;
}

int answer_line(struct answer *answer, const char *line, size_t len, const struct bm_broker *broker,
		const struct echo *echo)
{
	char text[8192], *value;
	int status = 0;

	/* Trailers come as headers do. */
	if (answer->ended)
		return 0;
	while (len && strchr("\r\n", line[len - 1]))
		len--;
	if (!len)
		return end(answer, broker, echo);
	/* Longer than any that means something to the Bench; a fold is nobody's. */
	if (len >= sizeof(text) || !printable(line, len) || strchr(" \t", line[0]))
		return 0;
	memcpy(text, line, len);
	text[len] = '\0';
	if (!strncmp(text, "HTTP/", 5)) {
		value = strchr(text, ' ');
		if (value && strspn(value + 1, "0123456789") == 3)
			status = atoi(value + 1);
		answer_done(answer);
		answer->status = status;
		if (status < 100 || status > 599)
			refuse(&answer->refusal, 502, EBADMSG, "broker-answer", "call again",
			       "the upstream tells no status");
		return 0;
	}
	value = strchr(text, ':');
	if (!value || value == text)
		return 0;
	*value++ = '\0';
	value += strspn(value, " \t");
	for (len = strlen(value); len && strchr(" \t", value[len - 1]); len--)
		value[len - 1] = '\0';
	return take_header(answer, text, value, echo);
}
