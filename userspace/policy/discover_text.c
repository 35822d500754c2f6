// SPDX-License-Identifier: GPL-2.0-only
/* Lines, words and URIs of configuration that is a stranger's. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/escape.h"
#include "policy/discover_internal.h"

/* Far enough for a table's layout, and not into the next entry. */
#define QUOTED_NEAR 300

void discover_leave(struct bm_discovery *d, const char *what, size_t len, const char *file,
		    const char *fmt, ...)
{
	char cut[80], shown[160], where[160], why[160];
	va_list ap;

	if (d->left_count == BM_LEFT_MAX) {
		d->more_left = true;
		return;
	}
	snprintf(cut, sizeof(cut), "%.*s", len < sizeof(cut) ? (int)len : (int)sizeof(cut), what);
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(d->left[d->left_count], BM_LEFT_LEN, "%s in %s: %s",
		 bm_escape(cut, shown, sizeof(shown)), bm_escape(file, where, sizeof(where)), why);
	for (size_t i = 0; i < d->left_count; i++)
		if (!strcmp(d->left[i], d->left[d->left_count]))
			return;
	d->left_count++;
}

void discover_add_host(struct bm_discovery *d, const char *host, size_t len, uint16_t port,
		       const char *file)
{
	struct bm_found found = { .port = port };
	struct bm_error err = {};

	if (bm_hostname_parse(host, len, found.host, &err) < 0) {
		discover_leave(d, host, len, file, "%s", err.message);
		return;
	}
	for (size_t i = 0; i < d->count; i++)
		if (!strcmp(d->found[i].host, found.host) && d->found[i].port == port)
			return;
	if (d->count == BM_FOUND_MAX) {
		discover_leave(d, host, len, file, "more than %d hosts", BM_FOUND_MAX);
		return;
	}
	snprintf(found.file, sizeof(found.file), "%s", file);
	d->found[d->count++] = found;
}

/* 0: no port of ours. */
static uint16_t parse_port(const char *text, size_t len)
{
	unsigned value = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9' || value > 65535)
			return 0;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	return value > 65535 ? 0 : (uint16_t)value;
}

struct authority {
	const char *host;
	size_t len;
	int port; /* -1: none is given; 0: no port of ours */
};

/* The authority of an URI may hold a password: nothing before its '@' is ever shown. */
static struct authority split(const char *rest, size_t len)
{
	size_t size = 0, host = 0;
	struct authority ret = { .port = -1 };
	const char *colon;

	while (size < len && !strchr("/?#", rest[size])) {
		if (rest[size] == '@')
			host = size + 1;
		size++;
	}
	ret.host = rest + host;
	ret.len = size - host;
	/* Of an address in brackets the colons are its own. */
	colon = ret.len && *ret.host == '[' ? NULL : memchr(ret.host, ':', ret.len);
	if (colon) {
		size_t at = (size_t)(colon - ret.host);

		if (ret.len - at > 1)
			ret.port = parse_port(colon + 1, ret.len - at - 1);
		ret.len = at;
	}
	return ret;
}

static void add(struct bm_discovery *d, const struct authority *a, uint16_t usual, const char *file)
{
	if (a->port)
		discover_add_host(d, a->host, a->len, a->port < 0 ? usual : (uint16_t)a->port,
				  file);
	else
		discover_leave(d, a->host, a->len, file, "its port is not in 1 to 65535");
}

/* As apt has it, an http proxy without a port has that of what is asked for. */
static void add_proxy(struct bm_discovery *d, const struct bm_proxy *proxy, uint16_t usual)
{
	static const struct {
		const char *scheme;
		uint16_t port;
	} kinds[] = { { "http://", 0 }, { "https://", 443 }, { "socks5h://", 1080 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t skip = strlen(kinds[i].scheme);
		struct authority a;

		if (strncasecmp(proxy->uri, kinds[i].scheme, skip))
			continue;
		a = split(proxy->uri + skip, strlen(proxy->uri + skip));
		add(d, &a, kinds[i].port ? kinds[i].port : usual, proxy->file);
		return;
	}
	discover_leave(d, "a proxy", 7, proxy->file, "not of http, https or socks5h");
}

void discover_add_uri(struct bm_discovery *d, const char *uri, size_t len, const char *file)
{
	bool http = len > 7 && !strncasecmp(uri, "http://", 7);
	bool https = len > 8 && !strncasecmp(uri, "https://", 8);
	size_t skip = https ? 8 : 7;
	uint16_t usual = https ? 443 : 80;
	const struct bm_proxy *proxy;
	struct authority a;

	if (!http && !https) {
		const char *scheme = memchr(uri, ':', len);

		discover_leave(d, scheme ? uri : "an entry",
			       scheme ? (size_t)(scheme - uri) + 1 : sizeof("an entry") - 1, file,
			       "neither http nor https");
		return;
	}
	a = split(uri + skip, len - skip);
	proxy = discover_proxy(d, https, a.host, a.len);
	if (!proxy) {
		add(d, &a, usual, file);
		return;
	}
	discover_leave(d, a.host, a.len, file, "asked for by the proxy in %s", proxy->file);
	add_proxy(d, proxy, usual);
}

bool discover_line(const char **text, const char **ret_line, size_t *ret_len)
{
	const char *line = *text;
	size_t len = strcspn(line, "\n");

	if (!*line)
		return false;
	*text = line + len + (line[len] == '\n');
	*ret_line = line;
	*ret_len = len && line[len - 1] == '\r' ? len - 1 : len;
	return true;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void discover_trim(const char **text, size_t *len)
{
	while (*len && blank((*text)[*len - 1]))
		(*len)--;
	while (*len && blank(**text)) {
		(*text)++;
		(*len)--;
	}
}

bool discover_word(const char **at, const char *end, const char **ret_word, size_t *ret_len)
{
	const char *p = *at, *word;

	while (p < end && blank(*p))
		p++;
	for (word = p; p < end && !blank(*p);)
		p++;
	*at = p;
	*ret_word = word;
	*ret_len = (size_t)(p - word);
	return p > word;
}

bool discover_quoted(const char *text, const char **ret, size_t *ret_len)
{
	size_t at = strcspn(text, "'\""), len;

	if (!text[at] || at > QUOTED_NEAR)
		return false;
	len = strcspn(text + at + 1, (char[]){ text[at], '\n', '\0' });
	if (text[at + 1 + len] != text[at])
		return false;
	*ret = text + at + 1;
	*ret_len = len;
	return true;
}
