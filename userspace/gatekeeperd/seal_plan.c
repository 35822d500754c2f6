// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/seal_plan.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "policy/discover.h"

#define FROM_PROFILE "profile"

/* add_host() or add_address() of the seal has failed: out of room, or out of memory. */
static int no_room_for_host(const struct bm_sealed *sealed, struct bm_error *err)
{
	if (sealed->host_count < BM_SEALED_HOSTS)
		return bm_fail_errno(err, ENOMEM, "hosts of a profile");
	return bm_fail(err, E2BIG, "profile", "split the profile", "more than %d hosts and ports",
		       BM_SEALED_HOSTS);
}

static int no_room_for_address(const struct bm_sealed_host *host, struct bm_error *err)
{
	if (host->address_count < BM_SEALED_ADDRESSES)
		return bm_fail_errno(err, ENOMEM, "addresses of a profile");
	return bm_fail(err, E2BIG, "profile", "split the profile",
		       "%s%s with port %u/%s: more than %d addresses",
		       host->host[0] ? "host " : "given addresses", host->host, host->port,
		       host->protocol == IPPROTO_UDP ? "udp" : "tcp", BM_SEALED_ADDRESSES);
}

/* One that is there already is the same one: it may be named by an entry and be discovered. */
static int add_host(struct bm_sealed *next, const char *name, uint8_t protocol, uint16_t port,
		    bool uploads, const char *from, struct bm_sealed_host **ret,
		    struct bm_error *err)
{
	struct bm_sealed_host *host;

	for (size_t i = 0; i < next->host_count; i++) {
		host = &next->hosts[i];
		if (strcmp(host->host, name) || host->protocol != protocol || host->port != port)
			continue;
		host->uploads |= uploads;
		if (ret)
			*ret = host;
		return 0;
	}
	host = bm_sealed_add_host(next);
	if (!host)
		return no_room_for_host(next, err);
	snprintf(host->host, sizeof(host->host), "%s", name);
	snprintf(host->from, sizeof(host->from), "%s", from);
	host->protocol = protocol;
	host->port = port;
	host->uploads = uploads;
	if (ret)
		*ret = host;
	return 0;
}

static int add_address(struct bm_sealed *next, const struct bm_profile_entry *entry,
		       struct bm_error *err)
{
	const struct bm_destination *d = &entry->destination;
	struct bm_sealed_address *address;
	struct bm_sealed_host *host;
	int r = add_host(next, "", d->protocol, d->port, entry->uploads, FROM_PROFILE, &host, err);

	if (r < 0)
		return r;
	address = bm_sealed_add_address(host);
	if (!address)
		return no_room_for_address(host, err);
	address->destination = *d;
	return 0;
}

static void note_left(struct json_object *notes, const struct bm_discovery *found)
{
	for (size_t i = 0; i < found->left_count + found->more_left; i++) {
		struct json_object *note = json_object_new_object();

		bm_json_add_string(note, "left",
				   i < found->left_count ? found->left[i] : "and more");
		json_object_array_add(notes, note);
	}
}

static int add_discovered(struct bm_sealed *next, const struct bm_profile_entry *entry, int root,
			  struct json_object *notes, struct bm_error *err)
{
	autofree struct bm_discovery *found = calloc(1, sizeof(*found));
	char from[BM_SEALED_FROM_LEN], file[BM_SEALED_FROM_LEN - 8];
	int r;

	if (root < 0)
		return bm_fail(err, EINVAL, "discover", "pass --image or --rootfs",
			       "what %s needs is discovered in an image",
			       bm_discover_name(entry->discover));
	if (!found)
		return bm_fail_errno(err, ENOMEM, "discover");
	r = bm_discover(root, entry->discover, found, err);
	for (size_t i = 0; r == 0 && i < found->count; i++) {
		snprintf(from, sizeof(from), "%s: %s", bm_discover_name(entry->discover),
			 bm_escape(found->found[i].file, file, sizeof(file)));
		r = add_host(next, found->found[i].host, IPPROTO_TCP, found->found[i].port,
			     entry->uploads, from, NULL, err);
	}
	if (r == 0)
		note_left(notes, found);
	return r;
}

int plan_hosts(const struct bm_profile *profile, int root, struct bm_sealed *next,
	       struct json_object *notes, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile->entry_count; i++) {
		const struct bm_profile_entry *entry = &profile->entries[i];

		if (entry->kind == BM_ENTRY_DISCOVER)
			r = add_discovered(next, entry, root, notes, err);
		else if (entry->kind == BM_ENTRY_ADDRESS)
			r = add_address(next, entry, err);
		else
			r = add_host(next, entry->host, entry->destination.protocol,
				     entry->destination.port, entry->uploads, FROM_PROFILE, NULL,
				     err);
	}
	return r;
}

int plan_again(const struct bm_profile *profile, const struct bm_sealed *old,
	       struct bm_sealed *next, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < old->host_count; i++) {
		const struct bm_sealed_host *host = &old->hosts[i];

		if (host->host[0])
			r = add_host(next, host->host, host->protocol, host->port, host->uploads,
				     host->from, NULL, err);
	}
	for (size_t i = 0; r == 0 && i < profile->entry_count; i++)
		if (profile->entries[i].kind == BM_ENTRY_ADDRESS)
			r = add_address(next, &profile->entries[i], err);
	return r;
}

int plan_resolve(const struct bm_sealed *next, struct bm_resolving *ret, struct bm_error *err)
{
	autofree const char **names = calloc(next->host_count + 1, sizeof(*names));
	size_t count = 0;

	*ret = (struct bm_resolving){ .socket = -1 };
	if (!names)
		return bm_fail_errno(err, ENOMEM, "resolve");
	for (size_t i = 0; i < next->host_count; i++) {
		size_t k = 0;

		/* A host with two ports is asked for once. */
		while (k < count && strcmp(names[k], next->hosts[i].host))
			k++;
		if (k == count && next->hosts[i].host[0])
			names[count++] = next->hosts[i].host;
	}
	return count ? bm_resolve_start(names, count, ret, err) : 0;
}

static void note_refused(struct json_object *notes, const struct bm_sealed_host *host,
			 const struct bm_destination *d, const struct bm_error *why)
{
	struct json_object *note = json_object_new_object(), *refused = json_object_new_object();
	char text[BM_DESTINATION_LEN];

	bm_json_add_string(refused, "host", host->host);
	bm_json_add_string(refused, "destination", bm_destination_format(d, text));
	bm_json_add_string(refused, "why", why->message);
	bm_json_add(note, "refused", refused);
	json_object_array_add(notes, note);
}

static const char *remedy_of(const struct bm_profile *profile, const struct bm_error *why)
{
	if (!strstr(why->rule, "private"))
		return "look at who answers for that name";
	return profile->one ? "pass --private to `grant` or `profile seal` if this very address is "
			      "meant"
			    : "list it in \"private\" of the profile if this very address is meant";
}

static int take_addresses(const struct bm_profile *profile, const struct bm_resolved *resolved,
			  int64_t now, struct bm_sealed_host *host, struct json_object *notes,
			  struct bm_error *err)
{
	struct bm_error why = {};

	for (size_t i = 0; i < resolved->count; i++) {
		struct bm_destination d = { .port = host->port, .protocol = host->protocol };
		struct bm_sealed_address *address;

		why = (struct bm_error){};
		memcpy(d.address, resolved->addresses[i].address, sizeof(d.address));
		if (bm_destination_check(&d, bm_profile_means(profile, d.address), &why) < 0) {
			note_refused(notes, host, &d, &why);
			continue;
		}
		address = bm_sealed_add_address(host);
		if (!address)
			return no_room_for_address(host, err);
		address->destination = d;
		address->ttl = resolved->addresses[i].ttl;
		address->seen = now;
	}
	if (host->address_count)
		return 0;
	return bm_fail(err, EPERM, why.rule, remedy_of(profile, &why),
		       "%s has no address that may be sealed: %.200s", host->host, why.message);
}

int plan_take(const struct bm_profile *profile, const struct bm_resolved *resolved, size_t count,
	      int64_t now, struct bm_sealed *next, struct json_object *notes, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < next->host_count; i++) {
		struct bm_sealed_host *host = &next->hosts[i];

		if (!host->host[0]) {
			for (size_t k = 0; k < host->address_count; k++)
				host->addresses[k].seen = now;
			continue;
		}
		for (size_t k = 0; r == 0 && k < count; k++)
			if (!strcmp(resolved[k].host, host->host))
				r = take_addresses(profile, &resolved[k], now, host, notes, err);
	}
	return r;
}
