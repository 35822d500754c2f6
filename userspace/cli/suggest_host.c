// SPDX-License-Identifier: GPL-2.0-only
/* What the host says of the paths: secrets among them, whose home they are, what else is there. */
#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/suggest_cli.h"

#define PATHS_AT_ONCE 64
/* More names than that are many; a directory is not read to its end to count them. */
#define NAMES_MAX 4096

enum suggest_there suggest_there(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return SUGGEST_NOTHING;
	return S_ISDIR(st.st_mode)   ? SUGGEST_DIRECTORY
	       : S_ISREG(st.st_mode) ? SUGGEST_FILE
				     : SUGGEST_NOTHING;
}

static size_t entries(void *ctx, const char *source)
{
	DIR *dir = opendir(source);
	struct dirent *entry;
	size_t count = 0;

	(void)ctx;
	if (!dir)
		return 0;
	while (count < NAMES_MAX && (entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(dir);
	return count;
}

/* The root, what homes lie in, and every home: what else is in them nobody has looked at. */
static bool is_home(void *ctx, const char *source)
{
	static const char *const never[] = { "/", "/home", "/root", "/etc", "/var", "/usr", NULL };
	bool found = false;
	struct passwd *pw;

	(void)ctx;
	for (size_t i = 0; never[i]; i++)
		if (!strcmp(source, never[i]))
			return true;
	setpwent();
	while (!found && (pw = getpwent()))
		found = !strcmp(pw->pw_dir, source);
	endpwent();
	return found;
}

static int ask(int socket, const struct suggest_list *files, size_t from, size_t count,
	       struct json_object **ret_reply, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	struct json_object *paths = json_object_new_array();

	for (size_t i = 0; i < count; i++)
		json_object_array_add(paths, json_object_new_string(files->list[from + i].source));
	bm_json_add(request, "paths", paths);
	return cli_call(socket, "suggest", request, NULL, 0, ret_reply, err);
}

int suggest_secrets(int socket, struct suggest *s, struct bm_error *err)
{
	struct suggest_list kept = { .left_out = s->files.left_out };
	int r = 0;

	for (size_t from = 0; from < s->files.count && r == 0; from += PATHS_AT_ONCE) {
		size_t left = s->files.count - from;
		size_t count = left < PATHS_AT_ONCE ? left : PATHS_AT_ONCE;
		autojson *reply = NULL;
		struct json_object *list;

		r = ask(socket, &s->files, from, count, &reply, err);
		list = r == 0 ? bm_json_get(reply, "secrets", json_type_array) : NULL;
		for (size_t i = 0; list && i < count && r == 0; i++) {
			struct json_object *why = json_object_array_get_idx(list, i);
			const struct suggest_use *use = &s->files.list[from + i];

			if (why)
				suggest_apart(s, "secret", "path", use->source,
					      json_object_get_string(why), use->first);
			else
				r = suggest_add(&kept, use);
		}
	}
	suggest_done(&s->files);
	s->files = kept;
	return r;
}

int suggest_files(struct suggest *s, struct json_object *grants)
{
	const struct suggest_rules rules = { is_home, entries, NULL };
	struct suggest_list list = {};
	int r = suggest_merge(&s->files, &rules, &list);

	for (size_t i = 0; i < list.count && r == 0; i++) {
		const struct suggest_use *use = &list.list[i];
		struct json_object *grant;

		if (use->whole && is_home(NULL, use->source)) {
			suggest_apart(s, "home", "path", use->source,
				      "it is never granted as a whole: use a directory in it",
				      use->first);
			continue;
		}
		grant = json_object_new_object();
		bm_json_add_string(grant, "kind", "file");
		bm_json_add_string(grant, "source", use->source);
		bm_json_add_string(grant, "dest", use->dest);
		bm_json_add_string(grant, "rights", use->writes ? "rw" : "ro");
		bm_json_add_int(grant, "count", (int64_t)use->count);
		bm_json_add(grant, "evidence", json_object_get(use->first));
		json_object_array_add(grants, grant);
	}
	suggest_done(&list);
	return r;
}
