// SPDX-License-Identifier: GPL-2.0-only
#include "policy/hostname.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define RULE "a host is a full DNS name of letters, digits and hyphens"
#define LABEL_MAX 63

static bool letter(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* What people write by mistake gets a word of its own; the rest its number. */
static int refuse_byte(unsigned char c, size_t at, struct bm_error *err)
{
	static const struct {
		const char bytes[8], *what, *remedy;
	} known[] = {
		{ "_", "an underscore", "no public host has one; give the name without" },
		{ ":", "a colon",
		  "give the port as \"port\" and an IPv6 address as \"address\", without "
		  "brackets" },
		{ "[]", "a bracket", "give an IPv6 address as an address, not as a host" },
		{ "%", "a percent sign", "give a global address, as an address, without a scope" },
		{ "/", "a slash", "give the host alone: no scheme, no path" },
		{ "@", "an at sign", "give the host alone: no user, no password" },
		{ "*", "an asterisk", "write out each host: a pattern can't be resolved" },
		{ " \t\r\n", "white space", "remove it" },
	};

	if (c >= 0x80)
		return bm_fail(err, EINVAL, RULE,
			       "write an international name in its ASCII form, xn--...",
			       "byte 0x%02x at %zu of the host name is not ASCII", c, at);
	for (size_t i = 0; c && i < sizeof(known) / sizeof(known[0]); i++)
		if (strchr(known[i].bytes, c))
			return bm_fail(err, EINVAL, RULE, known[i].remedy,
				       "%s (byte 0x%02x) at %zu of the host name", known[i].what, c,
				       at);
	return bm_fail(err, EINVAL, RULE, "write it with letters, digits, hyphens and dots",
		       "byte 0x%02x at %zu does not belong in a host name", c, at);
}

/* Its first byte is at start, its last before end; both count from 0. */
static int check_label(const char *text, size_t start, size_t end, struct bm_error *err)
{
	size_t len = end - start;

	if (!len)
		return bm_fail(err, EINVAL, RULE, "remove a dot",
			       "an empty label at byte %zu of the host name", start + 1);
	if (len > LABEL_MAX)
		return bm_fail(err, EINVAL, RULE, "check the name",
			       "the label at byte %zu of the host name has %zu bytes, more than %d",
			       start + 1, len, LABEL_MAX);
	if (text[start] == '-' || text[end - 1] == '-')
		return bm_fail(err, EINVAL, RULE, "check the name",
			       "a label of the host name %s with a hyphen, at byte %zu",
			       text[start] == '-' ? "begins" : "ends",
			       text[start] == '-' ? start + 1 : end);
	return 0;
}

static int check_labels(const char *text, size_t len, struct bm_error *err)
{
	size_t start = 0, labels = 0, last = 0;
	int r = 0;

	if (text[len - 1] == '.')
		return bm_fail(err, EINVAL, RULE, "remove it: a full name is meant anyway",
			       "a dot at the end of the host name, byte %zu", len);
	for (size_t i = 0; r == 0 && i <= len; i++) {
		if (i < len && text[i] != '.')
			continue;
		r = check_label(text, start, i, err);
		last = start;
		start = i + 1;
		labels++;
	}
	if (r < 0)
		return r;
	/* inet_aton() takes 127.1 and 0x7f.1: no last label is a number. */
	if (!letter((unsigned char)text[last]))
		return bm_fail(
			err, EINVAL, RULE, "give an address as an address, not as a host",
			"the last label of the host name, at byte %zu, begins with no letter",
			last + 1);
	/* Else it would depend on a search list, or be the Bench's own localhost. */
	if (labels < 2)
		return bm_fail(err, EINVAL, RULE, "give the full name, with its domain",
			       "the host name has one label alone");
	return 0;
}

int bm_hostname_parse(const char *text, size_t len, char ret[BM_HOSTNAME_LEN], struct bm_error *err)
{
	int r;

	if (!len)
		return bm_fail(err, EINVAL, RULE, "give a name", "the host name is empty");
	for (size_t i = 0; i < len && i < BM_HOSTNAME_LEN; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!letter(c) && !digit(c) && c != '-' && c != '.')
			return refuse_byte(c, i + 1, err);
	}
	if (len >= BM_HOSTNAME_LEN)
		return bm_fail(err, EINVAL, RULE, "check the name",
			       "the host name has %zu bytes, more than %d", len,
			       BM_HOSTNAME_LEN - 1);
	r = check_labels(text, len, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < len; i++)
		ret[i] = (char)(letter((unsigned char)text[i]) ? text[i] | 0x20 : text[i]);
	ret[len] = '\0';
	return 0;
}
