// SPDX-License-Identifier: GPL-2.0-only
/* One event: what it would take, or why nothing gives it. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/suggest.h"

void suggest_begin(struct suggest *s)
{
	*s = (struct suggest){ .nets = json_object_new_array(), .apart = json_object_new_array() };
}

void suggest_end(struct suggest *s)
{
	suggest_done(&s->files);
	json_object_put(s->nets);
	json_object_put(s->apart);
	*s = (struct suggest){};
}

/* One more of the same in a list of objects; NULL: none is there. */
static struct json_object *same_of(struct json_object *list, const char *what, const char *key,
				   const char *value)
{
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		struct json_object *item = json_object_array_get_idx(list, i);
		const char *of = bm_json_string(item, "what"), *is = bm_json_string(item, key);

		if ((!what || (of && !strcmp(of, what))) && is && !strcmp(is, value))
			return item;
	}
	return NULL;
}

static void count_one(struct json_object *item, uint64_t more)
{
	int64_t count = 0;

	bm_json_int(item, "count", &count);
	json_object_object_del(item, "count");
	bm_json_add_int(item, "count", count + (int64_t)more);
}

void suggest_apart(struct suggest *s, const char *what, const char *key, const char *value,
		   const char *why, struct json_object *event)
{
	struct json_object *item = same_of(s->apart, what, key, value);

	if (!item && json_object_array_length(s->apart) >= SUGGEST_USES) {
		s->files.left_out++;
		return;
	}
	if (!item) {
		item = json_object_new_object();
		bm_json_add_string(item, "what", what);
		bm_json_add_string(item, key, value);
		bm_json_add_string(item, "why", why);
		bm_json_add(item, "evidence", json_object_get(event));
		json_object_array_add(s->apart, item);
	}
	count_one(item, 1);
}

static bool among(const char *const *list, const char *word)
{
	for (; word && *list; list++)
		if (!strcmp(*list, word))
			return true;
	return false;
}

static int add_net(struct suggest *s, struct json_object *event, const char *hook)
{
	static const char *const out[] = { "connect4", "connect6", "sendmsg4",
					   "sendmsg6", "egress",   NULL };
	const char *to = bm_json_string(event, "destination");
	const char *hint = bm_json_string(event, "hint");
	struct json_object *item;
	const char *port;

	if (!among(out, hook))
		return 0;
	port = strrchr(to, ':');
	if (port && !strcmp(port, ":53/udp")) {
		suggest_apart(s, "dns", "destination", to,
			      "a Bench has no DNS: names come with what is sealed", event);
		return 0;
	}
	if (!hint) {
		suggest_apart(s, "destination", "destination", to, "no grant leads there", event);
		return 0;
	}
	item = same_of(s->nets, NULL, "destination", to);
	if (!item) {
		item = json_object_new_object();
		bm_json_add_string(item, "destination", to);
		if (strstr(hint, " --private"))
			bm_json_add_bool(item, "private", true);
		bm_json_add(item, "evidence", json_object_get(event));
		json_object_array_add(s->nets, item);
	}
	count_one(item, 1);
	return 0;
}

/* The directory of path, in place; false where that is no directory of its own. */
static bool above(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static int add_file(struct suggest *s, struct json_object *event, struct json_object *object,
		    const char *hook, enum suggest_there (*there)(const char *path))
{
	static const char *const names[] = { "mknod", "mkdir",  "rmdir",   "unlink",
					     "link",  "rename", "symlink", NULL };
	/* Which are done without where they are refused, and would make all that is read writable.
	 */
	static const char *const weak[] = { "ioctl", "notify", NULL };
	static const char *const asks[] = { "getattr", "getxattr", "lookup", NULL };
	const char *host = bm_json_string(object, "host"),
		   *inside = bm_json_string(object, "inside"),
		   *wanted = bm_json_string(object, "wanted"),
		   *volume = bm_json_string(object, "grant");
	char source[PATH_MAX], dest[PATH_MAX];
	struct suggest_use use = { .source = source, .dest = dest, .count = 1, .first = event };
	bool directory;

	if (!host || (!inside && volume) || strchr(host, '\\') || strlen(host) >= sizeof(source) ||
	    strlen(inside ?: host) >= sizeof(dest)) {
		suggest_apart(s, "unplaced", "path", bm_json_string(object, "path") ?: "?",
			      host ? "no command can name it"
				   : "the host has not mounted it, or its path is too long",
			      event);
		return 0;
	}
	snprintf(source, sizeof(source), "%s", host);
	snprintf(dest, sizeof(dest), "%s", inside ?: host);
	use.volume = (char *)(volume ?: "");
	use.writes = wanted && strchr(wanted, 'w') && !among(weak, hook);
	if (among(names, hook)) {
		use.whole = above(source) && above(dest);
		if (!use.whole)
			return 0;
		return suggest_add(&s->files, &use);
	}
	directory = there(source) == SUGGEST_DIRECTORY;
	use.whole = directory;
	use.looked = directory && !use.writes && among(asks, hook);
	return suggest_add(&s->files, &use);
}

/*
 * What the host has by the same name, it may be given by it. What belongs to an image is not looked
 * for on the host: a program that searches its libraries would ask for all of it.
 */
static int add_not_found(struct suggest *s, struct json_object *event, const char *path,
			 enum suggest_there (*there)(const char *path))
{
	static const char *const images[] = { "/usr/", "/lib",  "/bin/",  "/sbin/",
					      "/etc/", "/opt/", "/proc/", "/sys/",
					      "/dev/", "/run/", NULL };
	struct suggest_use use = { .source = (char *)path,
				   .dest = (char *)path,
				   .volume = (char *)"",
				   .count = 1,
				   .first = event };
	enum suggest_there what;
	size_t len = strlen(path);

	for (size_t i = 0; images[i]; i++)
		if (!strncmp(path, images[i], strlen(images[i])))
			return 0;
	/* As it was typed: with a way up in it, or one name too many, it is no name of one place.
	 */
	if (path[0] != '/' || len < 2 || len >= PATH_MAX || strchr(path, '\\') ||
	    strstr(path, "/.") || strstr(path, "//") || path[len - 1] == '/')
		return 0;
	what = there(path);
	use.whole = what == SUGGEST_DIRECTORY;
	return what == SUGGEST_NOTHING ? 0 : suggest_add(&s->files, &use);
}

int suggest_event(struct suggest *s, struct json_object *event,
		  enum suggest_there (*there)(const char *path))
{
	static const char *const grantable[] = { "no-grant", "rights", "revoked", "expired", NULL };
	static const char *const executes[] = { "noexec", "exec-refused", NULL };
	struct json_object *object = bm_json_get(event, "object", json_type_object);
	const char *type = bm_json_string(event, "type"), *rule = bm_json_string(event, "rule");
	const char *verdict = bm_json_string(event, "verdict");
	const char *hook = bm_json_string(event, "hook");
	int64_t count;

	if (type && !strcmp(type, "suppressed") && bm_json_int(event, "count", &count) == 0)
		s->suppressed += (uint64_t)count;
	if (!verdict || !strcmp(verdict, "allow") || !hook || !rule)
		return 0;
	s->events++;
	if (!strcmp(hook, "not_found"))
		return object && bm_json_string(object, "path")
			       ? add_not_found(s, event, bm_json_string(object, "path"), there)
			       : 0;
	if (bm_json_string(event, "destination"))
		return !strcmp(rule, "not-sealed") ? add_net(s, event, hook) : 0;
	if (!object)
		return 0;
	if (among(executes, rule)) {
		suggest_apart(s, "execute", "path",
			      bm_json_string(object, "inside") ?: bm_json_string(object, "path"),
			      "what is granted is never executed: copy it to a directory of the "
			      "Bench's own, or give its interpreter the path",
			      event);
		return 0;
	}
	/* Of its own objects it has all that it may ever have. */
	if (!among(grantable, rule) ||
	    (!strcmp(rule, "rights") && !bm_json_string(object, "grant")))
		return 0;
	return add_file(s, event, object, hook, there);
}
