// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/config.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "audit/receipt.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "base/io.h"

#define REMEDY "see SETTINGS in gatekeeperd(8)"

const struct config config_default = {
	.log_level = LOG_LEVEL_INFO,
	.max_connections = 256,
	.max_connections_per_user = 64,
	.max_benches_per_user = 256,
	.max_grants_per_user = 8192,
	.idle_seconds = 60,
	.confirm_seconds = 600,
	.request_seconds = 900,
	.max_requests = 256,
	.max_requests_per_user = 64,
	.max_requests_each = 8,
	.max_receipts_per_user = BM_RECEIPTS_EACH,
	.events_max_bytes = 16 << 20,
	.events_total_bytes = 256 << 20,
	.events_max_days = 90,
};

static const struct {
	const char *key;
	size_t at;
	int64_t least, most;
} numbers[] = {
	{ "max_connections", offsetof(struct config, max_connections), 2 * CONFIG_RESERVED, 4096 },
	{ "max_connections_per_user", offsetof(struct config, max_connections_per_user), 1, 4096 },
	{ "max_benches_per_user", offsetof(struct config, max_benches_per_user), 1, 4096 },
	{ "max_grants_per_user", offsetof(struct config, max_grants_per_user), 1, 262144 },
	{ "idle_seconds", offsetof(struct config, idle_seconds), 5, 86400 },
	{ "confirm_seconds", offsetof(struct config, confirm_seconds), 10, 86400 },
	{ "request_seconds", offsetof(struct config, request_seconds), 5, 86400 },
	{ "max_requests", offsetof(struct config, max_requests), 1, 1024 },
	{ "max_requests_per_user", offsetof(struct config, max_requests_per_user), 1, 1024 },
	{ "max_requests_each", offsetof(struct config, max_requests_each), 1, 64 },
	{ "max_receipts_per_user", offsetof(struct config, max_receipts_per_user), 16,
	  BM_RECEIPTS_ALL },
	{ "events_max_bytes", offsetof(struct config, events_max_bytes), 65536, 1 << 30 },
	{ "events_total_bytes", offsetof(struct config, events_total_bytes), 65536, 1ll << 40 },
	{ "events_max_days", offsetof(struct config, events_max_days), 1, 36500 },
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static int64_t *number_at(struct config *config, size_t i)
{
	return (int64_t *)((char *)config + numbers[i].at);
}

static int take_number(struct json_object *json, size_t i, const char *what, struct config *config,
		       struct bm_error *err)
{
	int64_t value;

	if (!json_object_object_get_ex(json, numbers[i].key, NULL))
		return 0;
	if (bm_json_int(json, numbers[i].key, &value) < 0 || value < numbers[i].least ||
	    value > numbers[i].most)
		return bm_fail(err, EINVAL, "config", REMEDY,
			       "%s: \"%s\" is no whole number from %lld to %lld", what,
			       numbers[i].key, (long long)numbers[i].least,
			       (long long)numbers[i].most);
	*number_at(config, i) = value;
	return 0;
}

static int take_level(struct json_object *json, const char *what, struct config *config,
		      struct bm_error *err)
{
	const char *name = bm_json_string(json, "log_level");

	if (!json_object_object_get_ex(json, "log_level", NULL))
		return 0;
	if (!name || !log_level_parse(name, &config->log_level))
		return bm_fail(err, EINVAL, "config", REMEDY,
			       "%s: \"log_level\" is none of error, warning, info and debug", what);
	return 0;
}

/* As groupadd(8) takes them. */
static bool group_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len < sizeof(config_default.operators) && name[0] != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		       len;
}

static const struct {
	const char *key;
	size_t name, gid;
} groups[] = {
	{ "operators", offsetof(struct config, operators), offsetof(struct config, operators_gid) },
	{ "agents", offsetof(struct config, agents), offsetof(struct config, agents_gid) },
	{ "metrics", offsetof(struct config, metrics), offsetof(struct config, metrics_gid) },
};

#define GROUPS (sizeof(groups) / sizeof(groups[0]))

static char *group_at(struct config *config, size_t i)
{
	return (char *)config + groups[i].name;
}

static int take_group(struct json_object *json, size_t i, const char *what, struct config *config,
		      struct bm_error *err)
{
	const char *name = bm_json_string(json, groups[i].key);

	if (!json_object_object_get_ex(json, groups[i].key, NULL))
		return 0;
	if (!name || !group_valid(name))
		return bm_fail(err, EINVAL, "config", REMEDY, "%s: \"%s\" is no name of a group",
			       what, groups[i].key);
	snprintf(group_at(config, i), sizeof(config->operators), "%s", name);
	return 0;
}

int config_parse(const char *text, size_t len, const char *what, struct config *ret,
		 struct bm_error *err)
{
	const char *known[NUMBERS + GROUPS + 2] = { "log_level" };
	struct config config = config_default;
	autojson *json = NULL;
	int r;

	for (size_t i = 0; i < NUMBERS; i++)
		known[1 + GROUPS + i] = numbers[i].key;
	for (size_t i = 0; i < GROUPS; i++)
		known[1 + i] = groups[i].key;
	r = bm_json_parse(text, len, what, &json, err);
	if (r == 0)
		r = bm_json_only(json, known, what, err);
	if (r == 0)
		r = take_level(json, what, &config, err);
	for (size_t i = 0; r == 0 && i < GROUPS; i++)
		r = take_group(json, i, what, &config, err);
	for (size_t i = 0; r == 0 && i < NUMBERS; i++)
		r = take_number(json, i, what, &config, err);
	if (r == 0)
		*ret = config;
	return r;
}

int config_check_file(const struct stat *st, const char *what, struct bm_error *err)
{
	char remedy[128];

	if (!S_ISREG(st->st_mode))
		return bm_fail(err, EINVAL, "config", "put a file there", "%s: not a regular file",
			       what);
	if (st->st_uid != 0) {
		snprintf(remedy, sizeof(remedy), "read it, then chown root %.100s", what);
		return bm_fail(err, EPERM, "config-owner", remedy,
			       "%s: owned by uid %u, not by root", what, st->st_uid);
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(remedy, sizeof(remedy), "read it, then chmod go-w %.100s", what);
		return bm_fail(err, EPERM, "config-mode", remedy,
			       "%s: mode %04o lets others than root write to it", what,
			       st->st_mode & 07777);
	}
	if (st->st_size > CONFIG_MAX)
		return bm_fail(err, EFBIG, "config", REMEDY, "%s: of more than %d bytes", what,
			       CONFIG_MAX);
	return 0;
}

int config_read(const char *path, bool must, struct config *ret, struct bm_error *err)
{
	/* Not blocking: what stands there may be a fifo. */
	autoclose fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	autofree char *text = NULL;
	char what[256];
	struct stat st;
	size_t len;
	int r;

	if (fd < 0 && errno == ENOENT && !must) {
		*ret = config_default;
		return 0;
	}
	bm_escape(path, what, sizeof(what));
	if (fd < 0 && errno == ELOOP)
		return bm_fail(err, ELOOP, "config", "put the file itself there",
			       "%s: a symbolic link", what);
	if (fd < 0 || fstat(fd, &st) < 0)
		return bm_fail_errno(err, errno, "%s", what);
	r = config_check_file(&st, what, err);
	if (r < 0)
		return r;
	r = bm_read_fd(fd, CONFIG_MAX, &text, &len);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", what);
	return config_parse(text, len, what, ret, err);
}

static int resolve_group(struct config *config, size_t i, const char *what, struct bm_error *err)
{
	const char *name = group_at(config, i);
	struct group *group;
	char remedy[96];

	if (!name[0])
		return 0;
	errno = 0;
	group = getgrnam(name);
	if (!group && errno && errno != ENOENT && errno != ESRCH)
		return bm_fail_errno(err, errno, "group %s", name);
	if (!group) {
		snprintf(remedy, sizeof(remedy), "make it: groupadd --system %s", name);
		return bm_fail(err, ENOENT, "config", remedy,
			       "%s: \"%s\" is %s, and there is no such group", what, groups[i].key,
			       name);
	}
	*(gid_t *)((char *)config + groups[i].gid) = group->gr_gid;
	return 0;
}

int config_resolve(struct config *config, const char *what, struct bm_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < GROUPS; i++)
		r = resolve_group(config, i, what, err);
	return r;
}

struct json_object *config_to_json(const struct config *config)
{
	struct json_object *json = json_object_new_object();
	struct config copy = *config;

	bm_json_add_string(json, "log_level", log_level_name(config->log_level));
	for (size_t i = 0; i < GROUPS; i++)
		if (group_at(&copy, i)[0])
			bm_json_add_string(json, groups[i].key, group_at(&copy, i));
	for (size_t i = 0; i < NUMBERS; i++)
		bm_json_add_int(json, numbers[i].key, *number_at(&copy, i));
	return json;
}
