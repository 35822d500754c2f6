// SPDX-License-Identifier: GPL-2.0-only
/* A file: its mount and its mode, which the kernel asks by itself, and the programs. */
#include "gatekeeperd/why.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "audit/describe.h"
#include "base/escape.h"
#include "bench/mounts.h"
#include "bench/named.h"

static int parse_rights(const char *text, uint32_t *ret, struct bm_error *err)
{
	static const char letters[] = "rwx";
	bool known = text && *text && strspn(text, letters) == strlen(text);

	*ret = 0;
	for (size_t i = 0; known && i < strlen(letters); i++)
		if (strchr(text, letters[i]))
			*ret |= 1u << i;
	return known ? 0
		     : bm_fail(err, EINVAL, NULL, "ask for r, w, x, or several as rw",
			       "those are no rights");
}

static struct grant *grant_by_number(const struct bench *bench, uint32_t number)
{
	struct grant *const lists[] = { bench->grants, bench->closed, bench->revoked };

	for (size_t i = 0; number && i < sizeof(lists) / sizeof(lists[0]); i++)
		for (struct grant *g = lists[i]; g; g = g->next)
			if (g->number == number)
				return g;
	return NULL;
}

/* Where what is mounted at m lies in its file system. False: it is not known. */
static bool path_below(const struct bm_mount *m, const struct bm_named *named, char *buf,
		       size_t size)
{
	size_t len = strcmp(m->target, "/") ? strlen(m->target) : 0;
	char root[PATH_MAX];

	if (strncmp(named->path, m->target, len) || (named->path[len] && named->path[len] != '/'))
		return false;
	snprintf(root, sizeof(root), "%s%s", strcmp(m->root, "/") ? m->root : "",
		 named->path + len);
	bm_escape(*root ? root : "/", buf, size);
	return true;
}

static void add_hint(struct daemon *d, const struct bench *bench, const struct bm_mount *m,
		     const struct bm_named *named, const struct bm_asked *answer, uint32_t wanted,
		     struct json_object *why)
{
	const struct grant *g = grant_by_number(bench, answer->grant);
	char below[BM_PATH_LEN], found[BM_PATH_LEN], buf[BM_HINT_LEN];
	const char *hint = NULL;
	bool writes = wanted & BM_W;

	if (wanted & BM_X)
		return;
	if (answer->rule == BM_RULE_RIGHTS && g && g->source && g->dest && !g->writable)
		hint = bm_describe_again(bench->name, g->number, g->source, g->dest, true, buf);
	else if ((answer->rule == BM_RULE_REVOKED || answer->rule == BM_RULE_EXPIRED) && g &&
		 g->source)
		hint = bm_describe_file_hint(g->source, writes, bench->name, buf);
	else if (answer->rule == BM_RULE_NO_GRANT && m &&
		 path_below(m, named, below, sizeof(below)) &&
		 places_find(&d->host, m->major, m->minor, below, true, found, sizeof(found)) == 0)
		hint = bm_describe_file_hint(found, writes, bench->name, buf);
	if (hint)
		bm_json_add_string(why, "hint", hint);
}

/* Root of the Bench executes what has any x bit, and writes and reads whatever is the Bench's. */
static const char *mode_rule(const struct bm_named *named, uint32_t wanted)
{
	bool executable = S_ISREG(named->mode) && named->mode & 0111;

	return wanted & BM_X && !executable ? bm_rule_name(BM_RULE_EXEC_REFUSED) : NULL;
}

static const char *mount_rule(const struct bm_mount *m, const struct bm_named *named,
			      uint32_t wanted)
{
	/* What leads to a device, a pipe or a socket is not the file system's to write. */
	bool written = S_ISREG(named->mode) || S_ISDIR(named->mode);

	if (wanted & BM_W && m->ro && written)
		return "read-only";
	return wanted & BM_X && m->noexec ? bm_rule_name(BM_RULE_EXEC_REFUSED) : NULL;
}

static void absent(struct json_object *why)
{
	bm_json_add_string(why, "verdict", "absent");
	bm_json_add_string(why, "sentence", "nothing of that name is in the Bench");
	bm_json_add_string(why, "remedy",
			   "to make it there takes w of its directory; to have it of the host, "
			   "`benchmon grant BENCH file SRC:DEST`");
}

static void add_mode(struct json_object *why, const struct bm_named *named)
{
	char text[16];

	snprintf(text, sizeof(text), "%04o", named->mode & 07777u);
	bm_json_add_string(why, "mode", text);
	bm_json_add_int(why, "uid", named->uid);
	bm_json_add_int(why, "gid", named->gid);
}

static int tell(struct daemon *d, struct bench *bench, const struct bm_named *named,
		const struct bm_asked *answer, uint32_t wanted, struct json_object *why,
		struct bm_error *err)
{
	bool denied = answer->rule != BM_RULE_NONE;
	char at[BM_PATH_LEN], shown[PATH_MAX];
	automounts mounts = {};
	const struct bm_mount *m;
	int r = bm_target_mounts(&bench->target, &mounts, err);

	if (r < 0)
		return r;
	m = bm_mount_find(&mounts, named->mount);
	bm_json_add_string(why, "path", bm_escape(named->path, shown, sizeof(shown)));
	add_mode(why, named);
	if (m)
		why_layer(why, "mount", mount_rule(m, named, wanted), NULL,
			  bm_escape(m->target, at, sizeof(at)));
	if (wanted & BM_X)
		why_layer(why, "mode", mode_rule(named, wanted), NULL, NULL);
	why_layer(why, "bpf", denied ? bm_rule_name(answer->rule) : NULL,
		  bm_hook_name(answer->hook), NULL);
	why_grant(why, bench, answer->grant);
	add_hint(d, bench, m, named, answer, wanted, why);
	why_judge(why, answer->rule);
	if (strcmp(bm_json_string(why, "verdict"), "deny"))
		bm_json_add_string(why, "sentence",
				   answer->grant ? "a grant of the Bench has it"
						 : "it is the Bench's own");
	return 0;
}

int why_file(struct daemon *d, struct bench *bench, struct json_object *request,
	     struct json_object *why, struct bm_error *err)
{
	const char *path = bm_json_string(request, "target"),
		   *rights = bm_json_string(request, "rights");
	struct bm_asked question = { .cgroup = bench->cgroup.id }, answer;
	struct bm_named named;
	uint32_t wanted;
	int r = parse_rights(rights, &wanted, err), named_r, link;

	if (r < 0)
		return r;
	if (path[0] != '/')
		return bm_fail(err, EINVAL, NULL, "begin it with a slash",
			       "a path in a Bench begins at its root");
	bm_json_add_string(why, "rights", rights);
	question.wanted = wanted;
	r = bm_ask_begin(d->kernel, &question, &link, err);
	if (r < 0)
		return r;
	named_r = bm_named(&bench->target, path, bm_ask, question.cookie, &named, err);
	r = bm_ask_end(d->kernel, link, &answer, named_r < 0 ? NULL : err);
	if (named_r == -ENOENT) {
		absent(why);
		return 0;
	}
	if (named_r < 0)
		return named_r;
	return r < 0 ? r : tell(d, bench, &named, &answer, wanted, why, err);
}
