// SPDX-License-Identifier: GPL-2.0-only
#include "network/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define RULE "a destination is ADDRESS:PORT[/tcp|/udp]"
#define REMEDY "write 198.51.100.10:443, [2001:db8::1]:443 or 198.51.100.10:53/udp"

/* The longest that can be right: an IPv6 address of 45 bytes, "[]:65535/tcp". */
#define TEXT_MAX 60

static const uint8_t v4_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool bm_destination_equal(const struct bm_destination *a, const struct bm_destination *b)
{
	return !memcmp(a->address, b->address, sizeof(a->address)) && a->port == b->port &&
	       a->protocol == b->protocol && a->listens == b->listens;
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
		return bm_fail(err, EINVAL, RULE,
			       "HOST:PORT needs a sealed profile; give the address",
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
		return bm_fail(err, EINVAL, RULE,
			       "HOST:PORT needs a sealed profile; give the address",
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
