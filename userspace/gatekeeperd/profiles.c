// SPDX-License-Identifier: GPL-2.0-only
/* profile-ls, profile-show, profile-verify: what is defined and what is sealed. */
#include "gatekeeperd/profiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "gatekeeperd/refresh.h"
#include "policy/one.h"

#define NAMES_MAX 4096
#define PAGE_ROOM (BM_MESSAGE_MAX - 8192)

static int open_dir(int i, char path[PATH_MAX])
{
	return bm_definition_dir(i, PROFILE_DIR, "profiles", path);
}

int profile_find(const char *name, struct bm_profile *ret, char *ret_file, struct bm_error *err)
{
	char path[PATH_MAX], remedy[128];
	int r;

	ret_file[0] = '\0';
	if (bm_one_is(name))
		return bm_one_parse(name, strlen(name), ret, err);
	r = bm_profile_name_check(name, err);
	if (r < 0)
		return r;
	for (int i = 0;; i++) {
		struct bm_error one = {};
		autoclose dir = open_dir(i, path);

		if (dir == -ENOENT)
			break;
		r = dir < 0 ? -ENOENT : bm_profile_load(dir, name, 0, ret, &one);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return bm_fail(err, -r, one.rule, one.remedy, "%.180s/%.300s", path,
				       one.message);
		snprintf(ret_file, PATH_MAX, "%.4000s/%s.json", path, name);
		return 0;
	}
	snprintf(remedy, sizeof(remedy),
		 "see `benchmon profile ls`, or write " PROFILE_DIR "/%.32s.json", name);
	return bm_fail(err, ENOENT, "profile", remedy, "there is no profile %.32s", name);
}

int profile_sealed(struct daemon *d, const char *name, struct bm_sealed *ret, struct bm_error *err)
{
	autosealed sealed = {};
	autoprofile profile = {};
	autokey key = {};
	char file[PATH_MAX];
	int r = profile_find(name, &profile, file, err);

	if (r == 0)
		r = bm_seal_key_open(d->state_dir, 0, false, &key, err);
	if (r == 0)
		r = bm_seal_read(d->state_dir, 0, &key, profile.name, time(NULL), &sealed, err);
	if (r == 0)
		r = bm_seal_fits(&sealed, &profile, err);
	if (r < 0)
		return r;
	*ret = sealed;
	sealed = (struct bm_sealed){};
	return 0;
}

void profile_changed(struct daemon *d, uid_t uid, const struct bm_sealed *old,
		     const struct bm_sealed *next, struct json_object *reply)
{
	static const char *const words[] = {
		[BM_SEAL_ADDED] = "added", [BM_SEAL_KEPT] = "kept", [BM_SEAL_DROPPED] = "dropped"
	};
	autofree struct bm_seal_difference *list = NULL;
	size_t count = 0, of[3] = {};

	bm_seal_diff(old, next, &list, &count);
	for (size_t i = 0; i < count; i++)
		of[list[i].change]++;
	daemon_log(LOG_LEVEL_INFO, "profile %s sealed: addresses %s %zu, %s %zu, %s %zu",
		   next->name, words[BM_SEAL_ADDED], of[BM_SEAL_ADDED], words[BM_SEAL_KEPT],
		   of[BM_SEAL_KEPT], words[BM_SEAL_DROPPED], of[BM_SEAL_DROPPED]);
	bm_json_add(reply, "refreshed", grants_refresh(d, next, uid));
}

struct json_object *profile_users(const struct daemon *d, uid_t uid, const char *name)
{
	struct json_object *list = json_object_new_array();
	char id[BM_GRANT_ID_LEN];

	for (const struct bench *b = d->model.benches; b; b = b->next) {
		for (const struct grant *g = b->grants; g; g = g->next) {
			if (!bench_is_of(b, uid) || !grant_is_of_profile(g, name) ||
			    json_object_array_length(list) == PROFILE_USERS)
				continue;
			snprintf(id, sizeof(id), "%s/%u", b->name, g->number);
			json_object_array_add(list, json_object_new_string(id));
		}
	}
	return list;
}

void profile_add_time(struct json_object *json, const char *key, int64_t seconds)
{
	char text[BM_TIME_LEN];

	bm_json_add_string(json, key, bm_time_format((uint64_t)seconds * 1000000000, text));
}

void profile_add_page(struct json_object *reply, struct json_object *items, size_t offset)
{
	struct json_object *page = json_object_new_array();
	size_t used = 0, i = offset;

	for (; i < json_object_array_length(items); i++) {
		struct json_object *item = json_object_array_get_idx(items, i);

		used += strlen(json_object_to_json_string_ext(item, 0)) + 1;
		if (used > PAGE_ROOM) {
			bm_json_add_int(reply, "next", (int64_t)i);
			break;
		}
		json_object_array_add(page, json_object_get(item));
	}
	bm_json_add(reply, "items", page);
}

/* --- one profile -------------------------------------------------------------------------------
 */

struct look {
	struct bm_profile profile;
	struct bm_sealed sealed;
	bool defined, has_seal;
	char file[PATH_MAX];
	const char *state;
	struct bm_error err; /* why it can't be granted */
};

static void look_done(struct look *look)
{
	bm_profile_done(&look->profile);
	bm_sealed_done(&look->sealed);
}

static const char *state_of(int r)
{
	switch (r) {
	case 0:
		return "sealed";
	case -ENOENT:
		return "unsealed";
	case -EKEYEXPIRED:
		return "expired";
	case -ESTALE:
		return "changed";
	default:
		return "refused";
	}
}

static void look_at(struct daemon *d, const char *name, struct look *ret)
{
	autokey key = {};
	int r = profile_find(name, &ret->profile, ret->file, &ret->err);

	ret->defined = r == 0;
	if (r == 0)
		name = ret->profile.name;
	if (r < 0) {
		ret->state = r == -ENOENT ? "undefined" : "refused";
		return;
	}
	r = bm_seal_key_open(d->state_dir, 0, false, &key, &ret->err);
	if (r == 0) {
		r = bm_seal_read(d->state_dir, 0, &key, name, 0, &ret->sealed, &ret->err);
		ret->has_seal = r == 0;
	}
	if (r == 0)
		r = bm_seal_fits(&ret->sealed, &ret->profile, &ret->err);
	if (r == 0) {
		autosealed now = {};

		r = bm_seal_read(d->state_dir, 0, &key, name, time(NULL), &now, &ret->err);
	}
	ret->state = state_of(r);
}

/* P of protocol/README.md */
static struct json_object *look_to_json(const struct look *look, const char *name)
{
	struct json_object *json = json_object_new_object();
	size_t addresses = 0;

	bm_json_add_string(json, "name", look->defined ? look->profile.name : name);
	bm_json_add_string(json, "state", look->state);
	if (look->defined) {
		bm_json_add_string(json, "description", look->profile.description);
		if (look->file[0])
			bm_json_add_string(json, "file", look->file);
		bm_json_add_int(json, "max_age", look->profile.max_age);
		bm_json_add_int(json, "overlap", look->profile.overlap);
	}
	if (look->has_seal) {
		for (size_t i = 0; i < look->sealed.host_count; i++)
			addresses += look->sealed.hosts[i].address_count;
		profile_add_time(json, "sealed", look->sealed.sealed);
		profile_add_time(json, "expires", look->sealed.expires);
		bm_json_add_int(json, "host_count", (int64_t)look->sealed.host_count);
		bm_json_add_int(json, "address_count", (int64_t)addresses);
	}
	if (look->err.code)
		bm_json_add(json, "why", bm_error_to_json(&look->err));
	return json;
}

static struct json_object *entry_to_json(const struct bm_profile_entry *entry)
{
	struct json_object *json = json_object_new_object();
	char text[BM_DESTINATION_LEN];

	if (entry->kind == BM_ENTRY_DISCOVER) {
		bm_json_add_string(json, "discover", bm_discover_name(entry->discover));
	} else if (entry->kind == BM_ENTRY_ADDRESS) {
		bm_json_add_string(json, "destination",
				   bm_destination_format(&entry->destination, text));
	} else {
		bm_json_add_string(json, "host", entry->host);
		bm_json_add_string(json, "protocol",
				   entry->destination.protocol == IPPROTO_UDP ? "udp" : "tcp");
		bm_json_add_int(json, "port", entry->destination.port);
	}
	bm_json_add_string(json, "why", entry->why);
	bm_json_add_bool(json, "uploads", entry->uploads);
	return json;
}

static void add_item(struct json_object *items, const char *key, struct json_object *value)
{
	struct json_object *item = json_object_new_object();

	bm_json_add(item, key, value);
	json_object_array_add(items, item);
}

/* --- requests ----------------------------------------------------------------------------------
 */

static int name_of(struct bm_message *message, const char **ret, struct bm_error *err)
{
	*ret = bm_json_string(message->json, "name");
	if (!*ret)
		return bm_fail(err, EINVAL, "protocol", NULL, "\"name\" is missing");
	return bm_one_is(*ret) ? 0 : bm_profile_name_check(*ret, err);
}

struct names {
	char (*list)[BM_PROFILE_NAME_LEN];
	size_t count;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_name(struct names *names, const char *file, bool seals)
{
	char name[BM_PROFILE_NAME_LEN];

	/* profile.schema.json stands beside them, and is none. */
	if (names->count == NAMES_MAX || bm_seal_file_name(file, name) < 0 ||
	    (!seals && bm_one_is(name)))
		return;
	for (size_t i = 0; i < names->count; i++)
		if (!strcmp(names->list[i], name))
			return;
	memcpy(names->list[names->count++], name, sizeof(name));
}

/* Takes over fd, which may be below 0. */
static void add_names(struct names *names, int fd, bool seals)
{
	autoclosedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		add_name(names, entry->d_name, seals);
}

/* To which single hosts others were let out is theirs to know. */
static bool shows(const struct daemon *d, uid_t uid, const char *name)
{
	autojson *users = uid && bm_one_is(name) ? profile_users(d, uid, name) : NULL;

	return !users || json_object_array_length(users);
}

int request_profile_ls(struct daemon *d, struct connection *c, struct bm_message *message,
		       struct json_object **ret_reply, struct bm_error *err)
{
	struct names names = { .list = calloc(NAMES_MAX, BM_PROFILE_NAME_LEN) };
	autojson *items = json_object_new_array();
	struct json_object *reply;
	char path[PATH_MAX];
	size_t offset;
	int r = offset_of_request(message->json, &offset, err);

	if (r == 0 && !names.list)
		r = -ENOMEM;
	if (r < 0) {
		free(names.list);
		return r;
	}
	for (int i = 0; i < 2; i++)
		add_names(&names, open_dir(i, path), false);
	/* Those of one; and one whose definition has gone is sealed and can't be granted. */
	add_names(
		&names,
		openat(d->state_dir, BM_SEAL_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW),
		true);
	qsort(names.list, names.count, sizeof(names.list[0]), compare_names);
	for (size_t i = 0; i < names.count; i++) {
		struct look look = {};

		if (!shows(d, c->uid, names.list[i]))
			continue;
		look_at(d, names.list[i], &look);
		json_object_array_add(items, look_to_json(&look, names.list[i]));
		look_done(&look);
	}
	free(names.list);
	reply = json_object_new_object();
	profile_add_page(reply, items, offset);
	*ret_reply = reply;
	return 0;
}

int request_profile_show(struct daemon *d, struct connection *c, struct bm_message *message,
			 struct json_object **ret_reply, struct bm_error *err)
{
	autojson *items = json_object_new_array();
	struct look look = {};
	const char *name;
	size_t offset;
	int r = name_of(message, &name, err);

	(void)c;
	if (r == 0)
		r = offset_of_request(message->json, &offset, err);
	if (r < 0)
		return r;
	look_at(d, name, &look);
	if (!look.defined) {
		*err = look.err;
		look_done(&look);
		return -err->code;
	}
	for (size_t i = 0; i < look.profile.entry_count; i++)
		add_item(items, "entry", entry_to_json(&look.profile.entries[i]));
	for (size_t i = 0; i < look.sealed.host_count; i++)
		add_item(items, "host", bm_sealed_host_to_json(&look.sealed.hosts[i]));
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "profile", look_to_json(&look, name));
	profile_add_page(*ret_reply, items, offset);
	look_done(&look);
	return 0;
}

int request_profile_verify(struct daemon *d, struct connection *c, struct bm_message *message,
			   struct json_object **ret_reply, struct bm_error *err)
{
	struct look look = {};
	const char *name;
	int r = name_of(message, &name, err);

	(void)c;
	if (r < 0)
		return r;
	look_at(d, name, &look);
	if (look.err.code) {
		*err = look.err;
		look_done(&look);
		return -err->code;
	}
	*ret_reply = json_object_new_object();
	bm_json_add(*ret_reply, "profile", look_to_json(&look, name));
	look_done(&look);
	return 0;
}
