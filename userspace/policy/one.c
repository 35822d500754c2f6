// SPDX-License-Identifier: GPL-2.0-only
#include "policy/one.h"

#include <errno.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define RULE "profile"
/* What stands for the bytes of a definition: two of the same name are the same one. */
#define DIGEST_OF "benchmon-one/1 %s\n"

bool bm_one_is(const char *name)
{
	return strchr(name, ':');
}

static void name_it(struct bm_profile *profile, const struct bm_profile_entry *entry)
{
	char text[sizeof(profile->name) + sizeof(DIGEST_OF)];
	int len;

	snprintf(profile->name, sizeof(profile->name), "%.*s:%u%s", BM_ONE_HOST_MAX, entry->host,
		 entry->destination.port, entry->destination.protocol == IPPROTO_UDP ? "/udp" : "");
	len = snprintf(text, sizeof(text), DIGEST_OF, profile->name);
	crypto_generichash(profile->digest, sizeof(profile->digest), (const unsigned char *)text,
			   (size_t)len, NULL, 0);
}

static int parse_entry(const char *text, size_t len, struct bm_profile_entry *ret,
		       struct bm_error *err)
{
	size_t host;
	int r;

	if (!bm_destination_is_name(text, len))
		return bm_fail(err, EINVAL, RULE, "grant it as it is",
			       "an address is not resolved, and nothing of it is sealed");
	r = bm_destination_split(text, len, &host, &ret->destination.port,
				 &ret->destination.protocol, err);
	if (r == 0)
		r = bm_hostname_parse(text, host, ret->host, err);
	if (r < 0)
		return r;
	if (host > BM_ONE_HOST_MAX)
		return bm_fail(err, EINVAL, RULE, "define a profile that has this host",
			       "the host name has %zu bytes, more than the %d that a seal of its "
			       "own can be named by",
			       host, BM_ONE_HOST_MAX);
	return 0;
}

int bm_one_parse(const char *text, size_t len, struct bm_profile *ret, struct bm_error *err)
{
	autoprofile profile = { .one = true,
				.max_age = BM_PROFILE_MAX_AGE,
				.overlap = BM_PROFILE_OVERLAP,
				.description = "one host, by its name" };
	struct bm_profile_entry *entry = calloc(1, sizeof(*entry));
	int r;

	if (!entry)
		return bm_fail_errno(err, ENOMEM, "profile");
	profile.entries = entry;
	profile.entry_count = 1;
	entry->kind = BM_ENTRY_HOST;
	/* Nobody has said that it takes none. */
	entry->uploads = true;
	snprintf(entry->why, sizeof(entry->why), "it was named by itself");
	r = parse_entry(text, len, entry, err);
	if (r < 0)
		return r;
	name_it(&profile, entry);
	*ret = profile;
	profile = (struct bm_profile){};
	return 0;
}

int bm_one_keep_private(struct bm_profile *profile, const struct bm_sealed *old,
			struct bm_error *err)
{
	for (size_t i = 0; i < old->host_count; i++) {
		for (size_t k = 0; k < old->hosts[i].address_count; k++) {
			const struct bm_destination *d = &old->hosts[i].addresses[k].destination;
			uint8_t(*grown)[16];

			if (bm_destination_check(d, false, NULL) == 0 ||
			    bm_destination_check(d, true, NULL) < 0)
				continue;
			grown = reallocarray(profile->private, profile->private_count + 1,
					     sizeof(*grown));
			if (!grown)
				return bm_fail_errno(err, ENOMEM, "profile %s", profile->name);
			profile->private = grown;
			memcpy(grown[profile->private_count++], d->address, sizeof(*grown));
		}
	}
	return 0;
}

int bm_seal_name_check(const char *name, struct bm_error *err)
{
	autoprofile one = {};
	int r;

	if (!bm_one_is(name))
		return bm_profile_name_check(name, err);
	r = bm_one_parse(name, strlen(name), &one, err);
	if (r < 0 || !strcmp(one.name, name))
		return r;
	return bm_fail(err, EINVAL, RULE, "write it so", "the name of that profile is %s",
		       one.name);
}
