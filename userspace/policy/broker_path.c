// SPDX-License-Identifier: GPL-2.0-only
/* Paths and header names: what may be passed on to an upstream at all. */
#include <string.h>
#include <strings.h>

#include "policy/broker.h"

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Escapes are hex digits of either case; the rest of a path is not. */
static bool same_escape(const char *a, const char *b)
{
	return !strncasecmp(a, b, 3);
}

/* With the last star alone to go back to: what an earlier one could take, that one can too, for as
 * long as none of them crosses a '/'. */
bool bm_broker_path_matches(const char *pattern, const char *path, size_t len)
{
	const char *end = path + len, *star = NULL, *from = NULL;

	while (path < end || *pattern) {
		if (*pattern == '*' && path < end && *path != '/' && *path != '%') {
			star = ++pattern;
			from = ++path;
		} else if (*pattern == '%' && end - path >= 3 && same_escape(pattern, path)) {
			pattern += 3;
			path += 3;
		} else if (*pattern && *pattern != '%' && *pattern != '*' && path < end &&
			   *pattern == *path) {
			pattern++;
			path++;
		} else if (star && from < end && *from != '/' && *from != '%') {
			pattern = star;
			path = ++from;
		} else {
			return false;
		}
	}
	return true;
}

/* A segment that servers take for this directory or the one above, also with a parameter. */
static bool is_dots(const char *segment, size_t len)
{
	return len && strspn(segment, ".") >= len;
}

const char *bm_broker_path_wrong(const char *path, size_t len, bool pattern)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				   "-._~!$&'()+,:=@/";
	size_t segment = 1;

	if (!len || path[0] != '/')
		return "it does not begin with '/'";
	for (size_t i = 0; i < len; i++) {
		if (path[i] == '\\')
			return "a backslash, which some servers take for '/'";
		if (path[i] == ';')
			return "a parameter (';'), which servers see differently";
		if (path[i] == '%') {
			if (len - i < 3 || !is_hex(path[i + 1]) || !is_hex(path[i + 2]))
				return "an escape that is none";
			/* All but "%2f" has a plain form, or none that is harmless. */
			if (path[i + 1] != '2' || (path[i + 2] | 0x20) != 'f')
				return "an escape other than %2f";
			i += 2;
			continue;
		}
		if (path[i] == '*' && pattern)
			continue;
		if (!path[i] || !strchr(good, path[i]))
			return "a byte that no path has";
	}
	for (size_t i = 1; i <= len; i++) {
		bool escape = i < len && path[i] == '%';

		if (i < len && path[i] != '/' && !escape)
			continue;
		if (is_dots(path + segment, i - segment))
			return "a segment of dots alone";
		if (i == segment && (i < len || escape) && len > 1)
			return "an empty segment";
		segment = i + (escape ? 3 : 1);
		i = segment - 1;
	}
	return NULL;
}

bool bm_broker_header_never(const char *name)
{
	static const char *const never[] = {
		/* Of the connection: libcurl says its own. */
		"host",
		"connection",
		"content-length",
		"transfer-encoding",
		"te",
		"trailer",
		"upgrade",
		"keep-alive",
		"expect",
		"http2-settings",
		"accept-encoding",
		/* A credential of the client's: the call would be somebody else's. */
		"authorization",
		"cookie",
		"x-api-key",
		"api-key",
		"x-goog-api-key",
		"x-auth-token",
		"private-token",
		"job-token",
		"deploy-token",
		"x-access-token",
		"x-amz-security-token",
		/* In parts an echo of the credential is none that is found. */
		"range",
		"if-range",
		/* Another method, path or sender than the ones that were looked at. */
		"x-http-method",
		"x-http-method-override",
		"x-method-override",
		"x-original-url",
		"x-original-uri",
		"x-rewrite-url",
		"x-real-ip",
		"forwarded",
		"via",
		"true-client-ip",
	};

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (!strcasecmp(name, never[i]))
			return true;
	return !strncasecmp(name, "proxy-", 6) || !strncasecmp(name, "x-forwarded-", 12);
}
