// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/secrets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/rule_four.h"
#include "gatekeeperd/secrets_search.h"

#define RULE "secret"

void secrets_options(struct json_object *request, struct pending *p)
{
	p->secret = p->kind == GRANT_FILE && bm_json_bool(request, "secret");
	p->with_secret = bm_json_bool(request, "with_secret");
	p->except_secrets = bm_json_bool(request, "except_secrets");
	p->unscanned = bm_json_bool(request, "unscanned");
}

/* False: no exception can have that name. */
static bool except_of(const struct bm_secret_found *found, struct except *ret)
{
	autojson *list = json_object_new_array();
	struct json_object *item = json_object_new_object();
	autofree struct except *one = NULL;
	size_t count;

	bm_json_add_string(item, "name", found->path);
	bm_json_add_string(item, "rights", "none");
	json_object_array_add(list, item);
	if (excepts_from_json(list, false, &one, &count) < 0)
		return false;
	*ret = *one;
	return true;
}

static int except_all(struct pending *p, const struct bm_secrets_scan *found, struct bm_error *err)
{
	struct except *list;
	char shown[128];

	if (p->except_count + found->count > EXCEPT_MAX)
		return bm_fail(err, E2BIG, "except", "grant directories further down",
			       "%u names in %.256s look like secrets, and %d can be excepted",
			       found->count, p->source.path, EXCEPT_MAX);
	list = reallocarray(p->excepts, p->except_count + found->count, sizeof(*list));
	if (!list)
		return bm_fail_errno(err, ENOMEM, "except");
	p->excepts = list;
	for (uint32_t i = 0; i < found->count; i++) {
		if (!except_of(&found->list[i], &list[p->except_count]))
			return bm_fail(err, EINVAL, "except", "grant directories further down",
				       "%.256s looks like a secret and has a name that can't be "
				       "excepted",
				       bm_escape(found->list[i].path, shown, sizeof(shown)));
		p->except_count++;
	}
	return 0;
}

/* As it is typed into a shell. "": that can't be excepted. */
static void option_of(const struct bm_secret_found *found, char *buf, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "/._+-@,=%";
	const char *quote = strspn(found->path, plain) == strlen(found->path) ? "" : "'";
	size_t len = strlen(found->path);
	struct except unused;

	buf[0] = '\0';
	if (except_of(found, &unused) && !strpbrk(found->path, "'\\") &&
	    (len < 3 || strcmp(found->path + len - 3, ":ro")))
		snprintf(buf, size, "--except %s%s%s", quote, found->path, quote);
}

static int refuse_some(const struct pending *p, const struct bm_secrets_scan *found,
		       struct bm_error *err)
{
	char list[400] = "", one[EXCEPT_LEN + 64], shown[160];
	uint32_t named = 0;
	size_t used = 0;

	for (; named < found->count && named < BM_SECRET_FOUND; named++) {
		const struct bm_secret_found *f = &found->list[named];
		int n;

		option_of(f, one, sizeof(one));
		n = snprintf(list + used, sizeof(list) - used, "%s%s (%.60s)", used ? ", " : "",
			     *one ? one : bm_escape(f->path, shown, sizeof(shown)), f->why);
		if ((size_t)n >= sizeof(list) - used - 24) {
			list[used] = '\0';
			break;
		}
		used += (size_t)n;
	}
	if (named < found->count)
		snprintf(list + used, sizeof(list) - used, "%s%u more", used ? " and " : "",
			 found->count - named);
	return bm_fail(err, EPERM, RULE,
		       "leave them out with these options or --except-secrets, or grant it with "
		       "--secret",
		       "in %.64s there %s %u that look%s like a secret: %s",
		       strrchr(p->source.path, '/') + 1, found->count == 1 ? "is" : "are",
		       found->count, found->count == 1 ? "s" : "", list);
}

/* What a Bench with a secret could write to. */
static int refuse_carrier(struct daemon *d, const struct bench *bench, const struct pending *p,
			  struct bm_error *err)
{
	const struct carrier *c;
	int r;
	char remedy[128];

	/* It never gets egress anyway. */
	if (bench->ever & WAY_SECRET)
		return 0;
	r = carrier_above(&d->model, p->fd, p->source.directory, p->source.path, &c);
	if (r < 0)
		return bm_fail(err, -r, "no-relay", "grant the directory it lies in",
			       "nobody can tell whether %.200s lies in what may carry a secret: %s",
			       p->source.path, strerror(-r));
	if (!c)
		return 0;
	snprintf(remedy, sizeof(remedy),
		 "grant it with --secret, or `benchmon carrier clear %u` if it is clean",
		 c->number);
	return bm_fail(err, EPERM, "no-relay", remedy,
		       "%.200s may carry a secret: it was, or lies in, what %s gave (carrier %u)",
		       p->source.path, c->of, c->number);
}

static int refuse_itself(const struct pending *p, const char *why, struct bm_error *err)
{
	return bm_fail(err, EPERM, RULE, "grant it with --secret; the Bench then never gets egress",
		       "%.256s looks like a secret: %.128s", p->source.path, why);
}

static const char *unsearched(const struct bm_secrets_scan *found)
{
	return found->bounds & BM_SECRETS_TIME      ? "it takes more than 3 seconds"
	       : found->bounds & BM_SECRETS_DEPTH   ? "there are more than 32 levels"
	       : found->bounds & BM_SECRETS_ENTRIES ? "there are more than 100000 entries"
						    : "some of it could not be read";
}

int secrets_judge(struct pending *p, const struct bm_secrets_scan *found, struct bm_error *err)
{
	if (!p->source.directory && found->count)
		return refuse_itself(p, found->list[0].why, err);
	if (found->bounds && !p->unscanned)
		return bm_fail(err, EPERM, RULE,
			       "grant what is needed of it, or confirm the rest with --unscanned",
			       "%.256s was not searched for secrets to its end: %s (%u entries "
			       "were seen)",
			       p->source.path, unsearched(found), found->entries);
	p->unscanned = found->bounds;
	if (!found->count)
		return 0;
	return p->except_secrets ? except_all(p, found, err) : refuse_some(p, found, err);
}

int secrets_prepare(struct daemon *d, struct connection *c, const struct bench *bench,
		    struct pending *p, struct bm_error *err)
{
	autosecrets secrets = {};
	const char *why;
	int r;

	p->carrier_changes = d->model.carrier_changes;
	/* Whatever is in it: it is one. */
	if (p->secret)
		return 0;
	r = refuse_carrier(d, bench, p, err);
	if (r == 0)
		r = bm_secrets_load(SECRETS_FILE, 0, &secrets, err);
	if (r < 0)
		return r;
	why = bm_secret_by_path(&secrets, p->source.path, p->source.directory);
	return why ? refuse_itself(p, why, err) : secrets_search_begin(d, c, bench, &secrets, err);
}
