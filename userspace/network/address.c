// SPDX-License-Identifier: GPL-2.0-only
#include "network/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULE "a destination is HOST:PORT or ADDRESS:PORT[/tcp|/udp]"
#define REMEDY "write a.test:443, 198.51.100.10:443, [2001:db8::1]:443 or 198.51.100.10:53/udp"

/* The longest that can be right: an IPv6 address of 45 bytes, "[]:65535/tcp". */
#define TEXT_MAX 60

static const uint8_t v4_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool bm_destination_equal(const struct bm_destination *a, const struct bm_destination *b)
{
	return !memcmp(a->address, b->address, sizeof(a->address)) && a->port == b->port &&
	       a->protocol == b->protocol && a->listens == b->listens;
}

int bm_destination_compare(const struct bm_destination *a, const struct bm_destination *b)
{
	int r = memcmp(a->address, b->address, sizeof(a->address));

	r = r ?: a->protocol - b->protocol;
	r = r ?: a->listens - b->listens;
	return r ?: a->port - b->port;
}

static int compare(const void *a, const void *b)
{
	return bm_destination_compare(a, b);
}

size_t bm_destinations_sort(struct bm_destination *list, size_t count)
{
	size_t left = 0;

	if (count)
		qsort(list, count, sizeof(*list), compare);
	for (size_t i = 0; i < count; i++)
		if (!left || !bm_destination_equal(&list[left - 1], &list[i]))
			list[left++] = list[i];
	return left;
}

bool bm_destinations_have(const struct bm_destination *list, size_t count,
			  const struct bm_destination *d)
{
	return count && bsearch(d, list, count, sizeof(*list), compare);
}

bool bm_destination_is_v4(const struct bm_destination *d)
{
	return memcmp(d->address, v4_prefix, sizeof(v4_prefix)) == 0;
}

/*
 * The text is a stranger's: what is echoed in an error from here on is printable ASCII. Spaces
 * are among the refused bytes, so that no resolver or shell downstream can split what passed.
 */
static int check_bytes(const char *text, struct bm_error *err)
{
	size_t len = strnlen(text, 256);

	if (!len)
		return bm_fail(err, EINVAL, RULE, REMEDY, "the destination is empty");
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
			return bm_fail(err, EINVAL, RULE, "remove it",
				       "white space at byte %zu of the destination", i + 1);
		if (c < 0x21 || c > 0x7e)
			return bm_fail(err, EINVAL, RULE, REMEDY,
				       "byte 0x%02x at %zu does not belong in a destination", c,
				       i + 1);
	}
	return 0;
}

static int parse_protocol(const char *suffix, uint8_t *ret, struct bm_error *err)
{
	if (strcmp(suffix, "tcp") == 0)
		*ret = IPPROTO_TCP;
	else if (strcmp(suffix, "udp") == 0)
		*ret = IPPROTO_UDP;
	else
		return bm_fail(err, EINVAL, RULE, "end it with /tcp, /udp or nothing",
			       "\"/%.32s\" is no protocol that can be granted", suffix);
	return 0;
}

/* strtoul() would take a sign, spaces and leading zeros. */
static int parse_port(const char *text, uint16_t *ret, struct bm_error *err)
{
	unsigned int value = 0;
	size_t i;

	if (!*text)
		return bm_fail(err, EINVAL, RULE, REMEDY, "the port is missing");
	for (i = 0; text[i]; i++) {
		if (text[i] < '0' || text[i] > '9')
			return bm_fail(err, EINVAL, RULE, "give the port as a number",
				       "\"%.32s\" is no port number", text);
		if (value <= 65535)
			value = value * 10 + (unsigned int)(text[i] - '0');
	}
	if (text[0] == '0' && i > 1)
		return bm_fail(err, EINVAL, RULE, "remove the zeros",
			       "port \"%.32s\" has leading zeros", text);
	if (!value || value > 65535)
		return bm_fail(err, EINVAL, RULE, REMEDY, "port %.32s is not in 1 to 65535", text);
	*ret = (uint16_t)value;
	return 0;
}

static int parse_v6(const char *host, uint8_t ret[16], struct bm_error *err)
{
	/* A scope is a number of this host's interface table: it means another link elsewhere. */
	if (strchr(host, '%'))
		return bm_fail(err, EINVAL, RULE, "give a global address without a scope",
			       "[%.46s] has a scope", host);
	if (inet_pton(AF_INET6, host, ret) != 1)
		return bm_fail(err, EINVAL, RULE, REMEDY, "[%.46s] is no IPv6 address", host);
	return 0;
}

static int parse_v4(const char *host, uint8_t ret[16], struct bm_error *err)
{
	bool number = *host && strspn(host, "0123456789.") == strlen(host);

	if (!*host)
		return bm_fail(err, EINVAL, RULE, REMEDY, "the address is missing");
	/* inet_aton() would take 127.1, 0x7f.1 and 0177.0.0.1, and a resolver goes even further. */
	if (!number)
		return bm_fail(err, EINVAL, RULE, "give the address",
			       "\"%.46s\" is a name, not an address", host);
	memcpy(ret, v4_prefix, sizeof(v4_prefix));
	if (inet_pton(AF_INET, host, ret + 12) != 1)
		return bm_fail(err, EINVAL, RULE,
			       "write four decimal numbers without leading zeros",
			       "\"%.46s\" is no IPv4 address", host);
	return 0;
}

/* Splits at the colon, and tells apart the ways in which that may be wrong. */
static int parse_address(char *text, struct bm_destination *ret, struct bm_error *err)
{
	char *end, *port;
	int r;

	if (text[0] == '[') {
		end = strchr(text, ']');
		if (!end)
			return bm_fail(err, EINVAL, RULE, REMEDY, "\"[\" without \"]\"");
		*end = '\0';
		r = parse_v6(text + 1, ret->address, err);
		if (r < 0)
			return r;
		if (end[1] && end[1] != ':')
			return bm_fail(err, EINVAL, RULE, REMEDY,
				       "\"%.32s\" after \"]\" does not belong there", end + 1);
		return parse_port(end[1] ? end + 2 : "", &ret->port, err);
	}
	port = strchr(text, ':');
	if (port && strchr(port + 1, ':'))
		return bm_fail(err, EINVAL, RULE, "put the address in brackets: [ADDRESS]:PORT",
			       "\"%.60s\" is an IPv6 address without brackets", text);
	if (port)
		*port++ = '\0';
	r = parse_v4(text, ret->address, err);
	return r < 0 ? r : parse_port(port ?: "", &ret->port, err);
}

int bm_destination_parse(const char *text, struct bm_destination *ret, struct bm_error *err)
{
	struct bm_destination d = { .protocol = IPPROTO_TCP };
	char copy[TEXT_MAX + 1], *slash;
	int r = check_bytes(text, err);

	if (r < 0)
		return r;
	if (strlen(text) > TEXT_MAX)
		return bm_fail(err, EINVAL, RULE, "give the address",
			       "the destination is longer than any ADDRESS:PORT");
	snprintf(copy, sizeof(copy), "%s", text);
	slash = strchr(copy, '/');
	if (slash) {
		*slash = '\0';
		r = parse_protocol(slash + 1, &d.protocol, err);
	}
	if (r >= 0)
		r = parse_address(copy, &d, err);
	if (r < 0)
		return r;
	*ret = d;
	return 0;
}

/* A byte that some name may have, in whatever alphabet, and no IPv4 address. */
static bool of_names(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c & 0x80 ||
	       (c && strchr("-_*", c));
}

bool bm_destination_is_name(const char *text, size_t len)
{
	size_t at = 0, colons = 0, hex = 0;

	if (!len || text[0] == '[')
		return false;
	while (at < len && text[at] != ':' && text[at] != '/' && !of_names(text[at]))
		at++;
	if (at == len || !of_names(text[at]))
		return false;
	/* fe80::1%eth0 is an address too, if a wrong one. */
	while (hex < len && text[hex] && strchr("0123456789abcdefABCDEF.:", text[hex]))
		colons += text[hex++] == ':';
	return colons < 2 || (hex < len && text[hex] != '%' && text[hex] != '/');
}

int bm_destination_split(const char *text, size_t len, size_t *ret_host_len, uint16_t *ret_port,
			 uint8_t *ret_protocol, struct bm_error *err)
{
	const char *slash = memchr(text, '/', len), *scheme = memmem(text, len, "://", 3);
	size_t end = slash ? (size_t)(slash - text) : len, host;
	const char *colon = memchr(text, ':', end);
	uint8_t protocol = IPPROTO_TCP;
	char rest[TEXT_MAX + 1];
	uint16_t port;
	int r = 0;

	if (scheme)
		return bm_fail(err, EINVAL, RULE, "write HOST:PORT alone: no scheme, no path",
			       "\"://\" at byte %zu does not belong in a destination",
			       (size_t)(scheme - text) + 1);
	host = colon ? (size_t)(colon - text) : end;
	/* Behind the name: it alone may have bytes that are a name's own business. */
	for (size_t i = host; i < len; i++)
		if (text[i] < 0x21 || text[i] > 0x7e)
			return bm_fail(err, EINVAL, RULE, REMEDY,
				       "byte 0x%02x at %zu does not belong in a destination",
				       (unsigned char)text[i], i + 1);
	if (slash) {
		snprintf(rest, sizeof(rest), "%.*s", (int)(len - end - 1), slash + 1);
		r = parse_protocol(rest, &protocol, err);
	}
	if (r < 0)
		return r;
	snprintf(rest, sizeof(rest), "%.*s", colon ? (int)(end - host - 1) : 0,
		 colon ? colon + 1 : "");
	r = parse_port(rest, &port, err);
	if (r < 0)
		return r;
	*ret_host_len = host;
	*ret_port = port;
	*ret_protocol = protocol;
	return 0;
}

const char *bm_destination_format(const struct bm_destination *d, char buf[BM_DESTINATION_LEN])
{
	const char *protocol = d->protocol == IPPROTO_UDP ? "udp" : "tcp";
	char host[INET6_ADDRSTRLEN];

	if (bm_destination_is_v4(d)) {
		inet_ntop(AF_INET, d->address + 12, host, sizeof(host));
		snprintf(buf, BM_DESTINATION_LEN, "%s:%u/%s", host, d->port, protocol);
	} else {
		inet_ntop(AF_INET6, d->address, host, sizeof(host));
		snprintf(buf, BM_DESTINATION_LEN, "[%s]:%u/%s", host, d->port, protocol);
	}
	return buf;
}
