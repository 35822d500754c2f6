// SPDX-License-Identifier: GPL-2.0-only
/* apt.conf(5), for the proxies in it, and which of them apt asks for a source. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/discover_internal.h"

#define KEY_LEN 512
#define DEPTH_MAX 16

struct parser {
	const char *at, *file;
	struct bm_discovery *d;
	char scope[KEY_LEN]; /* "Acquire::http" */
	size_t lens[DEPTH_MAX], depth;
	char name[KEY_LEN];
};

static bool starts(const char *text, const char *with)
{
	return !strncasecmp(text, with, strlen(with));
}

/* Empty takes an earlier one back, as does #clear. */
static void set_proxy(struct bm_discovery *d, bool https, const char *host, const char *uri,
		      size_t len, const char *file)
{
	struct bm_proxy *proxy = d->proxies;

	while (proxy < d->proxies + d->proxy_count &&
	       (proxy->https != https || strcasecmp(proxy->host, host)))
		proxy++;
	if (strlen(host) >= sizeof(proxy->host) || len >= sizeof(proxy->uri)) {
		discover_leave(d, "a proxy", 7, file, "it is too long");
	} else if (proxy == d->proxies + BM_PROXIES_MAX) {
		discover_leave(d, "a proxy", 7, file, "more than %d of them", BM_PROXIES_MAX);
	} else {
		d->proxy_count += proxy == d->proxies + d->proxy_count;
		*proxy = (struct bm_proxy){ .https = https };
		snprintf(proxy->host, sizeof(proxy->host), "%s", host);
		snprintf(proxy->uri, sizeof(proxy->uri), "%.*s", (int)len, uri);
		snprintf(proxy->file, sizeof(proxy->file), "%s", file);
	}
}

static void set(struct parser *p, const char *value, size_t len)
{
	char key[2 * KEY_LEN + 2];
	const char *rest = key;
	bool https;

	snprintf(key, sizeof(key), "%s%s%s", p->scope, *p->scope ? "::" : "", p->name);
	https = starts(key, "Acquire::https::");
	if (!https && !starts(key, "Acquire::http::"))
		return;
	rest += https ? 16 : 15;
	if (!strcasecmp(rest, "Proxy-Auto-Detect") || !strcasecmp(rest, "ProxyAutoDetect"))
		discover_leave(p->d, rest, strlen(rest), p->file, "what it answers is not known");
	else if (!strcasecmp(rest, "Proxy"))
		set_proxy(p->d, https, "", value, len, p->file);
	else if (starts(rest, "Proxy::") && rest[7])
		set_proxy(p->d, https, rest + 7, value, len, p->file);
}

static bool is_within(const char *key, const char *scope, size_t len)
{
	return !strncasecmp(key, scope, len) && (!key[len] || starts(key + len, "::"));
}

/* "#clear NAME": with all that is below it. */
static void clear(struct parser *p, const char *line, const char *end)
{
	struct bm_discovery *d = p->d;
	const char *word;
	size_t len;

	while (discover_word(&line, end, &word, &len)) {
		size_t left = 0;

		len -= word[len - 1] == ';';
		for (size_t i = 0; i < d->proxy_count; i++) {
			char key[KEY_LEN];

			snprintf(key, sizeof(key), "Acquire::http%s::Proxy%s%s",
				 d->proxies[i].https ? "s" : "", *d->proxies[i].host ? "::" : "",
				 d->proxies[i].host);
			if (!is_within(key, word, len))
				d->proxies[left++] = d->proxies[i];
		}
		d->proxy_count = left;
	}
}

static void skip_line(struct parser *p)
{
	const char *end = p->at + strcspn(p->at, "\n");

	if (starts(p->at, "#clear"))
		clear(p, p->at + 6, end);
	else if (starts(p->at, "#include"))
		discover_leave(p->d, "#include", 8, p->file, "it is not followed");
	p->at = end;
}

/* To what means something; false at the end. */
static bool skip_blanks(struct parser *p)
{
	for (;;) {
		p->at += strspn(p->at, " \t\r\n");
		if (*p->at == '#' || starts(p->at, "//")) {
			skip_line(p);
		} else if (starts(p->at, "/*")) {
			const char *end = strstr(p->at + 2, "*/");

			p->at = end ? end + 2 : p->at + strlen(p->at);
		} else {
			return *p->at;
		}
	}
}

static bool enter(struct parser *p)
{
	size_t len = strlen(p->scope), room = sizeof(p->scope) - len;

	if (p->depth == DEPTH_MAX)
		return false;
	if ((size_t)snprintf(p->scope + len, room, "%s%s", len && *p->name ? "::" : "", p->name) >=
	    room)
		return false;
	p->lens[p->depth++] = len;
	p->name[0] = '\0';
	return true;
}

static void leave(struct parser *p)
{
	if (p->depth)
		p->scope[p->lens[--p->depth]] = '\0';
	p->name[0] = '\0';
}

/* A name, or, after one, its value; false when the name is none of apt's length. */
static bool take_word(struct parser *p)
{
	bool quoted = *p->at == '"';
	const char *word = p->at + quoted;
	size_t len = strcspn(word, quoted ? "\"" : " \t\r\n\"{};");

	p->at = word + len + (quoted && word[len]);
	if (p->name[0]) {
		set(p, word, len);
	} else if (!quoted) {
		if (len >= sizeof(p->name))
			return false;
		snprintf(p->name, sizeof(p->name), "%.*s", (int)len, word);
	}
	return true;
}

void bm_discover_apt_conf(const char *text, const char *file, struct bm_discovery *d)
{
	struct parser p = { .at = text, .file = file, .d = d };
	bool fine = true;

	while (fine && skip_blanks(&p)) {
		if (*p.at == '{' || *p.at == '}' || *p.at == ';') {
			char mark = *p.at++;

			if (mark == '{')
				fine = enter(&p);
			else if (mark == '}')
				leave(&p);
			else
				p.name[0] = '\0';
		} else {
			fine = take_word(&p);
		}
	}
	if (!fine)
		discover_leave(d, "the rest", 8, file, "too long or too deep");
}

/* --- which of them ------------------------------------------------------------------------------
 */

static const struct bm_proxy *find(const struct bm_discovery *d, bool https, const char *host,
				   size_t len)
{
	for (size_t i = 0; i < d->proxy_count; i++)
		if (d->proxies[i].https == https && *d->proxies[i].uri &&
		    strlen(d->proxies[i].host) == len &&
		    !strncasecmp(d->proxies[i].host, host, len))
			return &d->proxies[i];
	return NULL;
}

/* That of the host before that of all, and https has those of http where it has none. */
const struct bm_proxy *discover_proxy(const struct bm_discovery *d, bool https, const char *host,
				      size_t len)
{
	const struct bm_proxy *proxy = NULL;

	for (int of_all = 0; !proxy && of_all < 2; of_all++) {
		size_t size = of_all ? 0 : len;

		if (https)
			proxy = find(d, true, host, size);
		if (!proxy)
			proxy = find(d, false, host, size);
	}
	/* "DIRECT", and whatever else is no URI. */
	return proxy && strstr(proxy->uri, "://") ? proxy : NULL;
}
