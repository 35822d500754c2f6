// SPDX-License-Identifier: GPL-2.0-only
#include "cli/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"

/* What the kernel's table has room for, and how deep gatekeeperd follows a name. */
#define EXCEPT_PART 63
#define EXCEPT_DEPTH 8
#define LONG_FORM "for a name with colons use --source, --dest and --rights"

static int fail(struct bm_error *err, const char *remedy, const char *text, const char *why)
{
	char shown[128];

	return bm_fail(err, EINVAL, NULL, remedy, "'%s': %s", bm_escape(text, shown, sizeof(shown)),
		       why);
}

int cli_parse_rights(const char *text, char ret[3], struct bm_error *err)
{
	if (strcmp(text, "ro") && strcmp(text, "rw"))
		return fail(err, "say ro or rw", text, "no such rights");
	memcpy(ret, text, 3);
	return 0;
}

int cli_parse_spec(const char *spec, struct cli_spec *ret, struct bm_error *err)
{
	struct cli_spec parsed = { .rights = "ro" };
	const char *first = strchr(spec, ':');
	const char *rest = first ? first + 1 : NULL;
	const char *second = rest ? strchr(rest, ':') : NULL;
	size_t source_len = first ? (size_t)(first - spec) : strlen(spec);
	size_t dest_len;

	if (!source_len)
		return fail(err, LONG_FORM, spec, "no source before the colon");
	if (source_len >= sizeof(parsed.source))
		return bm_fail(err, ENAMETOOLONG, NULL, NULL, "the source is too long");
	memcpy(parsed.source, spec, source_len);
	if (second && strchr(second + 1, ':'))
		return fail(err, LONG_FORM, spec, "more than SRC:DEST:RIGHTS");
	if (second && cli_parse_rights(second + 1, parsed.rights, err) < 0)
		return -EINVAL;
	if (!rest || (!second && !cli_parse_rights(rest, parsed.rights, NULL))) {
		*ret = parsed;
		return 0;
	}
	if (*rest != '/')
		return fail(err, LONG_FORM, rest,
			    second ? "DEST is an absolute path in the Bench"
				   : "neither ro or rw nor an absolute DEST");
	dest_len = second ? (size_t)(second - rest) : strlen(rest);
	if (dest_len >= sizeof(parsed.dest))
		return bm_fail(err, ENAMETOOLONG, NULL, NULL, "the destination is too long");
	memcpy(parsed.dest, rest, dest_len);
	*ret = parsed;
	return 0;
}

static int digits(const char *text, int64_t max, int64_t *ret, const char **ret_end)
{
	int64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (value > (max - (*p - '0')) / 10)
			return -ERANGE;
		value = value * 10 + (*p - '0');
	}
	if (p == text)
		return -EINVAL;
	*ret = value;
	*ret_end = p;
	return 0;
}

int cli_parse_size(const char *text, int64_t *ret, struct bm_error *err)
{
	static const char units[] = "KMGT";
	const char *unit, *end = NULL;
	int64_t value = 0;
	unsigned shift = 0;
	int r = digits(text, INT64_MAX, &value, &end);

	if (r == 0 && *end && (unit = strchr(units, toupper((unsigned char)*end)))) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (!strcmp(end, "iB"))
			end += 2;
	}
	if (r == -EINVAL || (r == 0 && *end))
		return fail(err, "write it as 512M or 2G", text, "not a size");
	if (r < 0 || value > INT64_MAX >> shift)
		return fail(err, NULL, text, "too large");
	if (!value)
		return fail(err, NULL, text, "a limit of nothing");
	*ret = value << shift;
	return 0;
}

int cli_parse_duration(const char *text, int64_t *ret, struct bm_error *err)
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = { 1, 60, 3600, 86400 };
	static const int64_t year = 365 * 86400;
	const char *unit, *end = NULL;
	int64_t value = 0;

	if (digits(text, year, &value, &end) == -EINVAL || !end || !*end || end[1] ||
	    !(unit = strchr(units, *end)))
		return fail(err, "write it as 90s, 10m, 2h or 1d", text, "not a duration");
	if (value > year / seconds[unit - units])
		return fail(err, NULL, text, "longer than a year");
	if (!value)
		return fail(err, NULL, text, "no time at all");
	*ret = value * seconds[unit - units];
	return 0;
}

int cli_parse_number(const char *what, const char *text, int64_t min, int64_t max, int64_t *ret,
		     struct bm_error *err)
{
	const char *end = "";
	int64_t value = 0;
	char shown[64];

	if (digits(text, max, &value, &end) < 0 || *end || value < min)
		return bm_fail(
			err, EINVAL, NULL, NULL, "%s: '%s' is not a number from %lld to %lld", what,
			bm_escape(text, shown, sizeof(shown)), (long long)min, (long long)max);
	*ret = value;
	return 0;
}

int cli_parse_port(const char *text, int64_t *ret, const char **ret_protocol, struct bm_error *err)
{
	static const char remedy[] = "write it as 8080 or 5000/udp";
	const char *end = NULL;
	int64_t value = 0;
	int r = digits(text, 65535, &value, &end);
	bool bare = r == 0 && !*end;

	if (r == -EINVAL || (r == 0 && *end && *end != '/'))
		return fail(err, remedy, text, "not a port number");
	if (r == 0 && text[0] == '0' && end - text > 1)
		return fail(err, "remove the zeros", text, "the port has leading zeros");
	if (r < 0 || !value)
		return fail(err, remedy, text, "the port is not in 1 to 65535");
	if (!bare && strcmp(end, "/tcp") && strcmp(end, "/udp"))
		return fail(err, "end it with /tcp, /udp or nothing", text, "no such protocol");
	*ret = value;
	*ret_protocol = !bare && !strcmp(end, "/udp") ? "udp" : "tcp";
	return 0;
}

int cli_parse_env(const char *text, char *ret_key, size_t size, const char **ret_value,
		  struct bm_error *err)
{
	size_t len = strcspn(text, "=");

	if (!len)
		return fail(err, "write it as NAME=VALUE", text, "a variable without a name");
	if (len >= size)
		return bm_fail(err, ENAMETOOLONG, NULL, NULL, "the name of a variable is too long");
	memcpy(ret_key, text, len);
	ret_key[len] = '\0';
	*ret_value = text[len] ? text + len + 1 : getenv(ret_key);
	return 0;
}

int cli_parse_base(const char *path, char ret[NAME_MAX + 1], struct bm_error *err)
{
	autofree char *real = NULL;
	const char *start, *end = path + strlen(path);
	size_t len;

	while (end > path + 1 && end[-1] == '/')
		end--;
	start = end;
	while (start > path && start[-1] != '/')
		start--;
	len = (size_t)(end - start);
	if (len == 0 || (len <= 2 && !strncmp(start, "..", len))) {
		real = realpath(path, NULL);
		if (!real)
			return bm_fail_errno(err, errno, "%s", path);
		start = strrchr(real, '/') + 1;
		len = strlen(start);
	}
	if (!len)
		return fail(err, "use `benchmon grant`, which takes a DEST", path,
			    "has no name that it could have in the Bench");
	if (len > NAME_MAX)
		return bm_fail_errno(err, ENAMETOOLONG, "%s", path);
	memcpy(ret, start, len);
	ret[len] = '\0';
	return 0;
}

int cli_parse_except(const char *text, struct cli_except *ret, struct bm_error *err)
{
	static const char remedy[] = "give a name below the directory, as .env or sub/.env:ro";
	struct cli_except parsed = {};
	size_t len = strlen(text);
	unsigned depth = 0;

	parsed.readable = len >= 3 && !strcmp(text + len - 3, ":ro");
	len -= parsed.readable ? 3 : 0;
	if (len >= sizeof(parsed.name))
		return bm_fail(err, ENAMETOOLONG, NULL, remedy,
			       "--except: a name is longer than %zu bytes",
			       sizeof(parsed.name) - 1);
	memcpy(parsed.name, text, len);
	for (const char *p = parsed.name; p; depth++) {
		size_t part = strcspn(p, "/");

		if (!part || (part <= 2 && !strncmp(p, "..", part)))
			return fail(err, remedy, text,
				    "empty, \".\" or \"..\" component in an excepted name");
		if (part > EXCEPT_PART)
			return fail(err, remedy, text,
				    "a component longer than 63 bytes can't be excepted");
		p = p[part] ? p + part + 1 : NULL;
	}
	if (depth > EXCEPT_DEPTH)
		return fail(err, remedy, text, "more than 8 components in an excepted name");
	*ret = parsed;
	return 0;
}

bool cli_is_utf8(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		unsigned more = *s < 0x80                 ? 0
				: *s >= 0xc2 && *s < 0xe0 ? 1
				: *s >= 0xe0 && *s < 0xf0 ? 2
				: *s >= 0xf0 && *s < 0xf5 ? 3
							  : 4;

		if (more == 4 || (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
		    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
			return false;
		for (s++; more; more--, s++)
			if ((*s & 0xc0) != 0x80)
				return false;
	}
	return true;
}

unsigned cli_distance(const char *a, const char *b)
{
	unsigned row[64], la = (unsigned)strlen(a), lb = (unsigned)strlen(b);

	if (la >= 64 || lb >= 64)
		return 64;
	for (unsigned j = 0; j <= lb; j++)
		row[j] = j;
	for (unsigned i = 1; i <= la; i++) {
		unsigned corner = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= lb; j++) {
			unsigned best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			best = corner + 1 < best ? corner + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
		}
	}
	return row[lb];
}
