// SPDX-License-Identifier: GPL-2.0-only
#include "audit/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "audit/lines.h"
#include "base/cleanup.h"
#include "base/json.h"

const char *bm_break_name(enum bm_break_kind kind)
{
	static const char *const names[BM_BREAK_MAX] = {
		[BM_BREAK_NONE] = "none",           [BM_BREAK_CHANGED] = "changed",
		[BM_BREAK_INSERTED] = "inserted",   [BM_BREAK_REMOVED] = "removed",
		[BM_BREAK_REORDERED] = "reordered", [BM_BREAK_TRUNCATED] = "truncated",
	};

	return names[kind];
}

int bm_scan_broken(struct bm_break *ret, struct bm_error *err, enum bm_break_kind kind,
		   const char *file, uint64_t line, const char *fmt, ...)
{
	char rule[64], what[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	if (ret) {
		ret->kind = kind;
		ret->line = line;
		snprintf(ret->file, sizeof(ret->file), "%s", file);
	}
	snprintf(rule, sizeof(rule), "ledger-%s", bm_break_name(kind));
	return bm_fail(err, EBADMSG, rule, BM_CHAIN_REMEDY, "%s line %" PRIu64 " %s: %s", file,
		       line, bm_break_name(kind), what);
}

static void meet(const struct bm_scan_of *of, const struct bm_chain *at)
{
	for (size_t i = 0; i < of->mark_count; i++) {
		struct bm_mark *mark = &of->marks[i];

		if (!mark->at.n || mark->at.n != at->n)
			continue;
		mark->seen = true;
		mark->same = bm_chain_equal(&mark->at, at);
	}
}

/* A later file begins by saying what it continues; believed only as far as its end is signed. */
static void begin(struct bm_scan *scan, const struct bm_scan_of *of, const char *line, size_t len)
{
	autojson *json = NULL;
	struct bm_link link;
	int64_t file;

	bm_chain_start(&scan->before);
	bm_chain_peek(line, len, &link);
	if (of->start)
		scan->before = *of->start;
	else if (link.sealed && link.n && bm_json_parse(line, len, "line", &json, NULL) == 0 &&
		 bm_json_int(json, "file", &file) == 0 && file > 1) {
		scan->before.n = link.n - 1;
		memcpy(scan->before.hash, link.prev, BM_HASH_LEN);
	}
	scan->head = scan->before;
	meet(of, &scan->before);
}

static void learn(struct bm_scan *scan, const char *event, struct json_object *json)
{
	const char *key = bm_json_string(json, "key");
	bool begins = scan->lines == 0 && !strcmp(event, "begin");
	int64_t file;

	if (begins && bm_json_int(json, "file", &file) == 0 && file > 0 && file <= UINT32_MAX)
		scan->file = (uint32_t)file;
	if (key && (begins || !strcmp(event, "key") || !strcmp(event, "accepted")))
		snprintf(scan->key, sizeof(scan->key), "%s", key);
	if (!strcmp(event, "accepted"))
		scan->accepted = scan->head.n;
	scan->decisions += !begins && strcmp(event, "state");
}

static int scan_line(struct bm_scan *scan, const struct bm_scan_of *of, const char *line,
		     size_t len, struct bm_error *err)
{
	autojson *json = NULL;
	const char *event;
	int r = bm_chain_follow(&scan->head, line, len, of->name, &json, err);

	if (r < 0)
		return r;
	event = bm_json_string(json, "event");
	learn(scan, event, json);
	scan->lines++;
	meet(of, &scan->head);
	return of->fn ? of->fn(of->ctx, scan->head.n, event, json, err) : 0;
}

/*
 * Whatever stands behind the signed lines and is no line itself: an append writes its head before
 * it returns, so nothing rests on it. What was never signed has to look like the rest of a write.
 */
static bool is_torn(const struct bm_scan_of *of, uint64_t n, const char *line, size_t len,
		    bool whole, bool last)
{
	if ((whole && bm_chain_sealed(line, len)) || n <= of->signed_n)
		return false;
	return of->signed_n || (last && bm_chain_torn(line, len));
}

static bool follows(const struct bm_chain *head, const char *line, size_t len)
{
	struct bm_chain next = *head;

	return bm_chain_sealed(line, len) &&
	       bm_chain_follow(&next, line, len, "line", NULL, NULL) == 0;
}

int bm_scan(const struct bm_scan_of *of, struct bm_scan *ret, struct bm_break *ret_break,
	    struct bm_error *err)
{
	struct bm_scan scan = { .file = 1 };
	struct bm_chain before;
	autolines lines = {};
	const char *line;
	bool whole;
	size_t len;
	int r;

	bm_chain_start(&scan.head);
	scan.before = before = scan.head;
	r = bm_lines_open(&lines, of->fd, of->end);
	if (r < 0)
		return bm_fail_errno(err, -r, "%s", of->name);
	while ((r = bm_lines_next(&lines, &line, &len, &whole)) > 0) {
		struct bm_chain last;

		if (scan.lines == 0)
			begin(&scan, of, line, len);
		last = scan.head;
		if (is_torn(of, last.n + 1, line, len, whole, lines.next == of->end)) {
			scan.torn = of->end - scan.length;
			break;
		}
		if (!whole || !follows(&last, line, len)) {
			*ret = scan;
			return bm_scan_diagnose(of, &before, &last, scan.length, scan.lines + 1,
						ret_break, err);
		}
		r = scan_line(&scan, of, line, len, err);
		if (r < 0)
			return r;
		before = last;
		scan.length = lines.next;
	}
	*ret = scan;
	if (r == -EFBIG)
		return bm_scan_broken(ret_break, err, BM_BREAK_CHANGED, of->name, scan.lines + 1,
				      "longer than the %d bytes that a line has at most",
				      BM_LINE_MAX);
	return r < 0 ? bm_fail_errno(err, -r, "%s", of->name) : 0;
}

int bm_scan_check_marks(const struct bm_scan_of *of, const struct bm_scan *scan, bool newest,
			struct bm_break *ret, struct bm_error *err)
{
	for (size_t i = 0; i < of->mark_count; i++) {
		const struct bm_mark *mark = &of->marks[i];

		if (newest && mark->at.n > scan->head.n)
			return bm_scan_broken(ret, err, BM_BREAK_TRUNCATED, of->name,
					      scan->lines + 1,
					      "it ends with number %" PRIu64 ", and number %" PRIu64
					      " was written, by %s",
					      scan->head.n, mark->at.n, mark->who);
		if (mark->seen && !mark->same)
			return bm_scan_broken(
				ret, err, BM_BREAK_CHANGED, of->name,
				mark->at.n > scan->before.n ? mark->at.n - scan->before.n : 1,
				"number %" PRIu64 " is not the line that was written, "
				"by %s: it or one before it has been made anew",
				mark->at.n, mark->who);
	}
	return 0;
}

int bm_scan_check_tail(const struct bm_scan_of *of, const struct bm_scan *scan,
		       const struct bm_chain *signed_head, struct bm_break *ret,
		       struct bm_error *err)
{
	/* A line, or a new file's restatement, of which the head could not be written any more. */
	if (signed_head->n + 1 >= scan->head.n ||
	    (signed_head->n == scan->before.n && !scan->decisions))
		return 0;
	return bm_scan_broken(ret, err, BM_BREAK_INSERTED, of->name,
			      signed_head->n > scan->before.n ? signed_head->n - scan->before.n + 1
							      : 1,
			      "gatekeeperd signed up to number %" PRIu64 ", and %" PRIu64
			      " lines stand behind it",
			      signed_head->n, scan->head.n - signed_head->n);
}
