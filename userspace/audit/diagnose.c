// SPDX-License-Identifier: GPL-2.0-only
/*
 * A chain breaks where a line does not follow the one in front of it. What was done there, the
 * lines behind it tell: each says its number and names the line before it.
 */
#include "audit/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "audit/lines.h"
#include "base/cleanup.h"

struct found {
	struct bm_link bad, next; /* next.n 0: none */
	bool whole;               /* the bad line has its newline */
	size_t due;               /* so many lines behind it comes the one that was due; 0: none */
	bool copied;              /* the bad line stands again behind it */
	bool any_next;
};

static bool continues(const struct bm_link *link, const struct bm_chain *last)
{
	return link->sealed && link->n == last->n + 1 && !strcmp(link->prev, last->hash);
}

static int look_behind(const struct bm_scan_of *of, const struct bm_chain *last, off_t at,
		       struct found *ret)
{
	struct found f = {};
	autolines lines = {};
	struct bm_link link;
	const char *line;
	bool whole;
	size_t len;
	int r = bm_lines_open(&lines, of->fd, of->end);

	if (r < 0)
		return r;
	lines.next = at;
	for (size_t i = 0; (r = bm_lines_next(&lines, &line, &len, &whole)) > 0; i++) {
		bm_chain_peek(line, len, &link);
		if (i == 0) {
			f.bad = link;
			f.whole = whole;
			continue;
		}
		if (i == 1) {
			f.next = link;
			f.any_next = true;
		}
		if (!f.due && continues(&link, last))
			f.due = i;
		f.copied |= link.sealed && f.bad.sealed && !strcmp(link.hash, f.bad.hash);
	}
	*ret = f;
	return r == -EFBIG ? 0 : r;
}

/* Its bytes are not what its hash says. */
static int unsealed(const struct bm_scan_of *of, const struct found *f, uint64_t line,
		    struct bm_break *ret, struct bm_error *err)
{
	if (f->due)
		return bm_scan_broken(ret, err, BM_BREAK_INSERTED, of->name, line,
				      "it is no line of the ledger, and the one that was due "
				      "comes behind it");
	if (!f->whole && !f->any_next)
		return bm_scan_broken(ret, err, BM_BREAK_TRUNCATED, of->name, line,
				      "its end is missing, and it was on disk");
	return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, line,
			      "its hash is not that of its content");
}

/* Two lines that both continue the same one: which of them the rest goes on from is the right one.
 */
static int forked(const struct bm_scan_of *of, const struct found *f, const struct bm_chain *last,
		  uint64_t line, struct bm_break *ret, struct bm_error *err)
{
	bool copy = !strcmp(f->bad.hash, last->hash);
	bool first_foreign = !copy && f->next.sealed && !strcmp(f->next.prev, f->bad.hash);

	return bm_scan_broken(ret, err, BM_BREAK_INSERTED, of->name,
			      first_foreign ? line - 1 : line,
			      "number %" PRIu64 " stands there twice", f->bad.n);
}

/* It is known from elsewhere. */
static bool vouched(const struct bm_scan_of *of, const struct bm_link *link)
{
	for (size_t i = 0; i < of->mark_count; i++)
		if (link->n == of->marks[i].at.n && !strcmp(link->hash, of->marks[i].at.hash))
			return true;
	return false;
}

/* The number that was due, and another line in front of it than was. */
static int unlinked(const struct bm_scan_of *of, const struct found *f, uint64_t line,
		    struct bm_break *ret, struct bm_error *err)
{
	bool goes_on =
		(f->next.sealed && !strcmp(f->next.prev, f->bad.hash)) || vouched(of, &f->bad);

	if (f->due)
		return bm_scan_broken(ret, err, BM_BREAK_INSERTED, of->name, line,
				      "it does not continue the line before it, and the one that "
				      "does comes behind it");
	/* Alone at the end it says nothing about which of the two was made anew. */
	if (goes_on && line > 1)
		return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, line - 1,
				      "made anew, with a hash of its own: the line behind it "
				      "continues another one");
	return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, line,
			      "it does not continue the line before it");
}

static int misplaced(const struct bm_scan_of *of, const struct found *f, uint64_t due,
		     uint64_t line, struct bm_break *ret, struct bm_error *err)
{
	uint64_t n = f->bad.n;

	if (n < due && !f->due && (f->any_next || of->signed_n >= due))
		return bm_scan_broken(ret, err, BM_BREAK_CHANGED, of->name, line,
				      "number %" PRIu64 " again, where %" PRIu64 " is due", n, due);
	if (n < due || (f->due && f->copied))
		return bm_scan_broken(ret, err, BM_BREAK_INSERTED, of->name, line,
				      "a copy of number %" PRIu64 ", where %" PRIu64 " is due", n,
				      due);
	if (f->due)
		return bm_scan_broken(ret, err, BM_BREAK_REORDERED, of->name, line,
				      "number %" PRIu64 " stands in front of number %" PRIu64
				      ", which is in line %" PRIu64,
				      n, due, line + f->due);
	if (n == due + 1)
		return bm_scan_broken(ret, err, BM_BREAK_REMOVED, of->name, line,
				      "number %" PRIu64 " is missing in front of it", due);
	return bm_scan_broken(ret, err, BM_BREAK_REMOVED, of->name, line,
			      "numbers %" PRIu64 " to %" PRIu64 " are missing in front of it", due,
			      n - 1);
}

int bm_scan_diagnose(const struct bm_scan_of *of, const struct bm_chain *before,
		     const struct bm_chain *last, off_t at, uint64_t line, struct bm_break *ret,
		     struct bm_error *err)
{
	struct found f;
	int r = look_behind(of, last, at, &f);

	if (r < 0)
		return bm_fail_errno(err, -r, "%s", of->name);
	if (!f.bad.sealed || !f.whole)
		return unsealed(of, &f, line, ret, err);
	if (line > 1 && f.bad.n == last->n && !strcmp(f.bad.prev, before->hash))
		return forked(of, &f, last, line, ret, err);
	if (f.bad.n == last->n + 1)
		return unlinked(of, &f, line, ret, err);
	return misplaced(of, &f, last->n + 1, line, ret, err);
}
