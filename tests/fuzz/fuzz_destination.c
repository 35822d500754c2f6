// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is taken for a destination is written back as it was meant; no check depends on its form. A
 * text is an address, a host by its name, or neither.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "network/address.h"
#include "policy/one.h"
#include "tests/fuzz/must.h"

static bool same(const struct bm_destination *a, const struct bm_destination *b)
{
	return !memcmp(a->address, b->address, sizeof(a->address)) && a->port == b->port &&
	       a->protocol == b->protocol;
}

static void printable(const char *text)
{
	for (; *text; text++)
		MUST(*text >= 0x20 && *text < 0x7f);
}

/* Decided apart from the code: what is never sealed, however it is written. */
static bool never(const struct bm_destination *d)
{
	const uint8_t *a = d->address;

	if (!bm_destination_is_v4(d))
		return a[0] == 0xff || (a[0] == 0xfe && a[1] >= 0x80);
	return a[12] == 0 || a[12] == 127 || a[12] >= 224 || (a[12] == 169 && a[13] == 254);
}

static bool private_v4(const struct bm_destination *d)
{
	const uint8_t *a = d->address;

	return bm_destination_is_v4(d) &&
	       (a[12] == 10 || (a[12] == 172 && a[13] >> 4 == 1) || (a[12] == 192 && a[13] == 168));
}

static void use(const struct bm_destination *d)
{
	char *text = malloc(BM_DESTINATION_LEN);
	struct bm_error strict = {}, lax = {};
	struct bm_destination again = {};
	int r, allowed;

	MUST(text && bm_destination_format(d, text) == text);
	MUST(strlen(text) < BM_DESTINATION_LEN);
	printable(text);
	MUST(bm_destination_parse(text, &again, NULL) == 0 && same(d, &again));
	free(text);

	r = bm_destination_check(d, false, &strict);
	allowed = bm_destination_check(d, true, &lax);
	MUST(r == -strict.code && allowed == -lax.code);
	MUST(r == 0 || r == -EPERM);
	MUST(allowed == 0 || allowed == r);
	MUST(!never(d) || allowed == -EPERM);
	MUST(!private_v4(d) || r == -EPERM);
	printable(strict.message);
}

/* Its name is the one way to write it, and can be a file's. */
static void as_host(const char *text, size_t size)
{
	autoprofile p = {}, again = {};
	struct bm_destination d;
	struct bm_error err = {};
	int r = bm_one_parse(text, size, &p, &err);

	MUST(r == -err.code && (r == 0 || r == -EINVAL));
	printable(err.message);
	if (r < 0) {
		MUST(!p.entries);
		return;
	}
	printable(p.name);
	MUST(strlen(p.name) <= strlen(text) && strlen(p.name) < 240 && p.name[0] != '.');
	MUST(bm_destination_parse(p.name, &d, NULL) == -EINVAL);
	MUST(bm_one_parse(p.name, strlen(p.name), &again, NULL) == 0);
	MUST(!strcmp(p.name, again.name) && !memcmp(p.digest, again.digest, sizeof(p.digest)));
	MUST(bm_seal_name_check(p.name, NULL) == 0);
}

static void as_text(const uint8_t *data, size_t size)
{
	struct bm_destination d = { .port = 77 };
	autofree char *text = malloc(size + 1);
	struct bm_error err = {};
	int r;

	MUST(text);
	memcpy(text, data, size);
	text[size] = '\0';
	as_host(text, size);
	r = bm_destination_parse(text, &d, &err);
	MUST(r == -err.code && (r == 0 || r == -EINVAL));
	printable(err.message);
	if (r < 0) {
		MUST(d.port == 77);
		return;
	}
	MUST(d.port && (d.protocol == IPPROTO_TCP || d.protocol == IPPROTO_UDP));
	use(&d);
}

static void as_address(const uint8_t *data, size_t size)
{
	struct bm_destination d = {};

	if (size < sizeof(d.address) + 3)
		return;
	memcpy(d.address, data, sizeof(d.address));
	memcpy(&d.port, data + sizeof(d.address), sizeof(d.port));
	d.protocol = data[sizeof(d.address) + 2] & 1 ? IPPROTO_UDP : IPPROTO_TCP;
	if (d.port)
		use(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	as_text(data, size);
	as_address(data, size);
	return 0;
}
