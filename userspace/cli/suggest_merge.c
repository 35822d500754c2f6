// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/suggest.h"

static void use_done(struct suggest_use *use)
{
	free(use->source);
	free(use->dest);
	free(use->volume);
	json_object_put(use->first);
}

void suggest_done(struct suggest_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		use_done(&list->list[i]);
	free(list->list);
	*list = (struct suggest_list){};
}

static int append(struct suggest_list *list, const struct suggest_use *use)
{
	struct suggest_use *grown = reallocarray(list->list, list->count + 1, sizeof(*grown)), *to;

	if (!grown)
		return -ENOMEM;
	list->list = grown;
	to = &grown[list->count];
	*to = *use;
	to->source = strdup(use->source);
	to->dest = strdup(use->dest);
	to->volume = strdup(use->volume);
	to->first = json_object_get(use->first);
	if (!to->source || !to->dest || !to->volume) {
		use_done(to);
		return -ENOMEM;
	}
	list->count++;
	return 0;
}

static void drop(struct suggest_list *list, size_t i)
{
	use_done(&list->list[i]);
	memmove(&list->list[i], &list->list[i + 1], (list->count - i - 1) * sizeof(*list->list));
	list->count--;
}

int suggest_add(struct suggest_list *list, const struct suggest_use *use)
{
	for (size_t i = 0; i < list->count; i++) {
		struct suggest_use *same = &list->list[i];

		if (same->writes != use->writes || strcmp(same->source, use->source) ||
		    strcmp(same->dest, use->dest))
			continue;
		same->count += use->count;
		same->whole |= use->whole;
		same->looked &= use->looked;
		return 0;
	}
	if (list->count < SUGGEST_USES)
		return append(list, use);
	list->left_out += use->count;
	return 0;
}

/* path is dir, or below it. */
static bool lies_in(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

/* The directory of path, in place; false at the root, or right below it. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return false;
	*slash = '\0';
	return true;
}

static bool is_covered_by(const struct suggest_use *under, const struct suggest_use *over)
{
	return over->whole && lies_in(under->source, over->source) &&
	       lies_in(under->dest, over->dest);
}

/* What another covers goes, and is counted there. */
static void absorb(struct suggest_list *list)
{
	for (size_t i = 0; i < list->count;) {
		size_t by = 0;

		while (by < list->count &&
		       (by == i || !is_covered_by(&list->list[i], &list->list[by])))
			by++;
		if (by == list->count) {
			i++;
			continue;
		}
		list->list[by].count += list->list[i].count;
		drop(list, i);
	}
}

/* The lowest directory that all that was used of a volume lies in. */
static void top_of(const struct suggest_list *list, const char *volume, char *ret, size_t size)
{
	bool any = false;

	ret[0] = '\0';
	for (size_t i = 0; i < list->count; i++) {
		const struct suggest_use *use = &list->list[i];

		if (strcmp(use->volume, volume))
			continue;
		if (!any) {
			snprintf(ret, size, "%s", use->source);
			if (!use->whole)
				go_up(ret);
			any = true;
		}
		while (!lies_in(use->source, ret) && go_up(ret))
			;
	}
}

/* How many directly in dir; what is further down counts once for where it is. */
static size_t children(const struct suggest_list *list, const char *dir)
{
	size_t len = strlen(dir), count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const char *path = list->list[i].source;

		count += lies_in(path, dir) && path[len] && !strchr(path + len + 1, '/');
	}
	return count;
}

/* What the Bench calls dir, by what it calls something in it. */
static bool dest_of(const struct suggest_use *use, const char *dir, char *ret, size_t size)
{
	const char *below = use->source + strlen(dir);
	size_t len = strlen(use->dest), tail = strlen(below);

	if (tail >= len || strcmp(use->dest + len - tail, below) ||
	    (size_t)snprintf(ret, size, "%.*s", (int)(len - tail), use->dest) >= size)
		return false;
	return true;
}

/* A directory all of which stands for what was used in it; -EAGAIN: there is none. */
static int merge_one(struct suggest_list *list, const struct suggest_list *all,
		     const struct suggest_rules *rules)
{
	char dir[PATH_MAX], dest[PATH_MAX], top[PATH_MAX], best[PATH_MAX] = "";
	struct suggest_use whole;
	size_t from = 0;
	int r;

	for (size_t i = 0; i < list->count; i++) {
		size_t used, has;

		snprintf(dir, sizeof(dir), "%s", list->list[i].source);
		if (!go_up(dir) || strlen(dir) <= strlen(best) || rules->never(rules->ctx, dir))
			continue;
		top_of(all, list->list[i].volume, top, sizeof(top));
		used = children(list, dir);
		if (!lies_in(dir, top) || used < SUGGEST_MANY ||
		    !dest_of(&list->list[i], dir, dest, sizeof(dest)))
			continue;
		has = rules->entries(rules->ctx, dir);
		if (has && 2 * used < has)
			continue;
		snprintf(best, sizeof(best), "%s", dir);
		from = i;
	}
	if (!*best || !dest_of(&list->list[from], best, dest, sizeof(dest)))
		return -EAGAIN;
	whole = list->list[from];
	whole.source = best;
	whole.dest = dest;
	whole.whole = true;
	whole.count = 0;
	r = append(list, &whole);
	if (r == 0)
		absorb(list);
	return r;
}

static int by_source(const void *a, const void *b)
{
	const struct suggest_use *x = a, *y = b;
	int r = strcmp(x->source, y->source);

	return r ?: strcmp(x->dest, y->dest);
}

/* Of those that write, or those that do not. */
static int merge_class(const struct suggest_list *all, bool writes,
		       const struct suggest_rules *rules, struct suggest_list *ret)
{
	int r = 0;

	for (size_t i = 0; i < all->count && r == 0; i++)
		if (all->list[i].writes == writes)
			r = append(ret, &all->list[i]);
	absorb(ret);
	while (r == 0)
		r = merge_one(ret, all, rules);
	return r == -EAGAIN ? 0 : r;
}

/* What is asked about is there, where something below it is granted. */
static void drop_looked(struct suggest_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		bool below = false;

		for (size_t j = 0; j < list->count && list->list[i].looked; j++)
			below |= j != i && lies_in(list->list[j].source, list->list[i].source);
		if (below)
			drop(list, i--);
	}
}

static bool covered(const struct suggest_list *by, const struct suggest_use *use)
{
	for (size_t i = 0; i < by->count; i++) {
		const struct suggest_use *over = &by->list[i];

		if (is_covered_by(use, over) ||
		    (!strcmp(use->source, over->source) && !strcmp(use->dest, over->dest)))
			return true;
	}
	return false;
}

int suggest_merge(struct suggest_list *uses, const struct suggest_rules *rules,
		  struct suggest_list *ret)
{
	struct suggest_list reads = {}, writes = {};
	int r;

	drop_looked(uses);
	r = merge_class(uses, true, rules, &writes);
	if (r == 0)
		r = merge_class(uses, false, rules, &reads);
	for (size_t i = 0; i < writes.count && r == 0; i++)
		r = append(ret, &writes.list[i]);
	for (size_t i = 0; i < reads.count && r == 0; i++)
		if (!covered(&writes, &reads.list[i]))
			r = append(ret, &reads.list[i]);
	/* An outer one comes before what lies in it. */
	if (r == 0 && ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_source);
	ret->left_out = uses->left_out;
	suggest_done(&reads);
	suggest_done(&writes);
	suggest_done(uses);
	return r;
}
