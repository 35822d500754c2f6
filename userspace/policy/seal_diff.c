// SPDX-License-Identifier: GPL-2.0-only
/* From one seal to the next: what stays for a while, and what changes. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/seal.h"

static struct bm_sealed_host *find_host(const struct bm_sealed *sealed,
					const struct bm_sealed_host *like)
{
	for (size_t i = 0; sealed && i < sealed->host_count; i++) {
		struct bm_sealed_host *host = &sealed->hosts[i];

		if (!strcmp(host->host, like->host) && host->port == like->port &&
		    host->protocol == like->protocol)
			return host;
	}
	return NULL;
}

static struct bm_sealed_address *find_address(const struct bm_sealed_host *host,
					      const struct bm_destination *destination)
{
	for (size_t i = 0; host && i < host->address_count; i++)
		if (bm_destination_equal(&host->addresses[i].destination, destination))
			return &host->addresses[i];
	return NULL;
}

/* What is given as an address is not answered by anyone: the profile has it or it has not. */
static bool may_stay(const struct bm_sealed_host *host, const struct bm_profile *profile,
		     const struct bm_destination *destination)
{
	return host->host[0] &&
	       bm_destination_check(destination, bm_profile_means(profile, destination->address),
				    NULL) == 0;
}

int bm_seal_overlap(const struct bm_sealed *old, const struct bm_profile *profile,
		    struct bm_sealed *next, struct bm_error *err)
{
	for (size_t i = 0; i < next->host_count; i++) {
		struct bm_sealed_host *host = &next->hosts[i], *before = find_host(old, host);

		for (size_t k = 0; before && k < before->address_count; k++) {
			const struct bm_sealed_address *was = &before->addresses[k];
			struct bm_sealed_address *kept;
			int64_t until = was->until ?: next->sealed + profile->overlap;

			if (until <= next->sealed || find_address(host, &was->destination) ||
			    !may_stay(host, profile, &was->destination))
				continue;
			kept = bm_sealed_add_address(host);
			if (!kept)
				return bm_fail(err, E2BIG, "seal", "give it a shorter \"overlap\"",
					       "%s has more than %d addresses with those it had",
					       host->host, BM_SEALED_ADDRESSES);
			*kept = *was;
			kept->until = until;
		}
	}
	return 0;
}

static size_t count_addresses(const struct bm_sealed *sealed)
{
	size_t count = 0;

	for (size_t i = 0; sealed && i < sealed->host_count; i++)
		count += sealed->hosts[i].address_count;
	return count;
}

/* Of what a has: what b has not, or what a keeps for a while. */
static size_t compare(const struct bm_sealed *a, const struct bm_sealed *b,
		      enum bm_seal_change missing, bool kept, struct bm_seal_difference *list)
{
	size_t count = 0;

	for (size_t i = 0; a && i < a->host_count; i++) {
		const struct bm_sealed_host *host = &a->hosts[i], *other = find_host(b, host);

		for (size_t k = 0; k < host->address_count; k++) {
			const struct bm_sealed_address *address = &host->addresses[k];

			if (kept && address->until)
				list[count++] =
					(struct bm_seal_difference){ BM_SEAL_KEPT, host, address };
			else if (!find_address(other, &address->destination))
				list[count++] =
					(struct bm_seal_difference){ missing, host, address };
		}
	}
	return count;
}

int bm_seal_diff(const struct bm_sealed *old, const struct bm_sealed *next,
		 struct bm_seal_difference **ret, size_t *ret_count)
{
	size_t most = count_addresses(old) + count_addresses(next), count;
	struct bm_seal_difference *list = calloc(most + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	count = compare(next, old, BM_SEAL_ADDED, true, list);
	count += compare(old, next, BM_SEAL_DROPPED, false, list + count);
	*ret = list;
	*ret_count = count;
	return 0;
}
