// SPDX-License-Identifier: GPL-2.0-only
/* No definition, however it is written, holds what can't be resolved, shown, or ever sealed. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/profile.h"
#include "tests/fuzz/must.h"

static void plain(const char *text)
{
	for (; *text; text++)
		MUST((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* Decided apart from the code. */
static void fit_for_a_resolver(const char *host)
{
	size_t label = 0, dots = 0, len = strlen(host);

	MUST(len >= 3 && len < BM_HOSTNAME_LEN);
	for (size_t i = 0; i < len; i++) {
		char c = host[i];

		MUST((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.');
		if (c == '-')
			MUST(label && host[i + 1] && host[i + 1] != '.');
		dots += c == '.';
		MUST(c != '.' || label);
		label = c == '.' ? 0 : label + 1;
		MUST(label <= 63);
	}
	MUST(label && dots);
	MUST(strrchr(host, '.')[1] >= 'a');
}

static void use(const struct bm_profile *p)
{
	MUST(p->name[0] && strlen(p->name) < BM_PROFILE_NAME_LEN);
	MUST(p->entry_count && p->entry_count <= BM_PROFILE_ENTRIES);
	MUST(p->max_age >= 60 && p->max_age <= 90 * 86400);
	MUST(p->overlap >= 60 && p->overlap <= 90 * 86400);
	plain(p->description);
	for (size_t i = 0; i < p->entry_count; i++) {
		const struct bm_profile_entry *e = &p->entries[i];

		plain(e->why);
		MUST(e->why[0]);
		if (e->kind == BM_ENTRY_DISCOVER) {
			MUST(e->discover < BM_DISCOVER_MAX);
			continue;
		}
		MUST(e->destination.port);
		MUST(e->destination.protocol == IPPROTO_TCP ||
		     e->destination.protocol == IPPROTO_UDP);
		if (e->kind == BM_ENTRY_HOST)
			fit_for_a_resolver(e->host);
		else
			MUST(bm_destination_check(&e->destination,
						  bm_profile_means(p, e->destination.address),
						  NULL) == 0);
	}
}

static void as_host(const uint8_t *data, size_t size)
{
	char host[BM_HOSTNAME_LEN] = "untouched";
	struct bm_error err = {};
	int r = bm_hostname_parse((const char *)data, size, host, &err);

	MUST(r == -err.code && (r == 0 || r == -EINVAL));
	plain(err.message);
	if (r < 0) {
		MUST(!strcmp(host, "untouched"));
		return;
	}
	MUST(strlen(host) == size);
	fit_for_a_resolver(host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autoprofile profile = { .max_age = 7 };
	struct bm_error err = {};
	int r = bm_profile_parse((const char *)data, size, "fuzz", NULL, &profile, &err);

	MUST(r == -err.code && (r == 0) == !err.message[0]);
	plain(err.message);
	if (r == 0)
		use(&profile);
	else
		MUST(profile.max_age == 7 && !profile.entries);
	as_host(data, size);
	return 0;
}
