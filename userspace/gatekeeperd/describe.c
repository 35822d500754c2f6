// SPDX-License-Identifier: GPL-2.0-only
/* What an object is, for who is to confirm it. */
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "gatekeeperd/daemon.h"

/*
 * From the files alone: getpwuid(3) may ask a network, and everybody would wait for it. The name is
 * the third field's: "root:x:0:0:..." in both.
 */
static void name_of(const char *file, unsigned id, char name[64])
{
	autofclose FILE *f = fopen(file, "re");
	char line[1024], wanted[16];

	snprintf(name, 64, "%u", id);
	snprintf(wanted, sizeof(wanted), "%u", id);
	while (f && fgets(line, sizeof(line), f)) {
		char *rest = line, *found = strsep(&rest, ":");

		strsep(&rest, ":");
		if (rest && !strncmp(rest, wanted, strlen(wanted)) && rest[strlen(wanted)] == ':') {
			snprintf(name, 64, "%.60s", found);
			return;
		}
	}
}

static void add_owner(struct json_object *json, const struct bm_source *s)
{
	char user[64], group[64], owner[130];

	name_of("/etc/passwd", s->uid, user);
	name_of("/etc/group", s->gid, group);
	snprintf(owner, sizeof(owner), "%s:%s", user, group);
	bm_json_add_string(json, "owner", owner);
	bm_json_add_int(json, "uid", s->uid);
	bm_json_add_int(json, "gid", s->gid);
}

void source_describe(struct json_object *json, const struct bm_source *s)
{
	char text[32];

	bm_json_add_string(json, "path", s->path);
	bm_json_add_string(json, "type", s->directory ? "directory" : "file");
	add_owner(json, s);
	snprintf(text, sizeof(text), "%04o", s->mode);
	bm_json_add_string(json, "mode", text);
	bm_json_add_int(json, "size", (int64_t)s->size);
	snprintf(text, sizeof(text), "%u:%u", major(s->device), minor(s->device));
	bm_json_add_string(json, "device", text);
	bm_json_add_int(json, "inode", (int64_t)s->inode);
	bm_json_add_string(json, "fstype", s->fstype);
}
