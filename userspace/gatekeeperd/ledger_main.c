// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/ledger_main.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "audit/head.h"
#include "audit/verify.h"
#include "base/cleanup.h"
#include "base/escape.h"
#include "gatekeeperd/record.h"

#define EXIT_BROKEN 1
#define EXIT_ASKED 2
#define EXIT_OWN 125

static const char *say(const struct bm_error *err, char *buf, size_t size)
{
	char line[1024];

	return bm_escape(bm_error_line(err, line, sizeof(line)), buf, size);
}

static int complain(const struct ledger_asked *asked, const struct bm_error *err, int code)
{
	autojson *json = NULL;
	char shown[2048];

	if (asked->json) {
		json = json_object_new_object();
		bm_json_add(json, "error", bm_error_to_json(err));
		fprintf(stderr, "%s\n",
			json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
	} else {
		fprintf(stderr, "%s: %s\n", program_invocation_short_name,
			say(err, shown, sizeof(shown)));
	}
	return code;
}

/* What the kernel keeps is of this machine's ledger alone. */
static const char *kernel_mark(const struct ledger_asked *asked, struct bm_mark *mark)
{
	struct bm_ledger_end end = {};
	int r = asked->dir ? -ENOENT : bm_pinned_end_get(&end);

	if (r < 0)
		return r == -ENOENT ? "nothing" : "unknown";
	if (!end.n)
		return "nothing";
	ledger_chain_of(&end, &mark->at);
	return "agrees";
}

static void print_files(struct json_object *report)
{
	struct json_object *list = bm_json_get(report, "files", json_type_array);
	char shown[80];

	for (size_t i = 0; list && i < json_object_array_length(list); i++) {
		struct json_object *file = json_object_array_get_idx(list, i);
		const char *state = bm_json_string(file, "state");
		int64_t first = 0, last = 0;

		printf("  %-8s %s", i ? "" : "files",
		       bm_escape(bm_json_string(file, "name"), shown, sizeof(shown)));
		if (bm_json_int(file, "first", &first) == 0)
			printf(", %" PRId64 " to %" PRId64 "\n", first,
			       bm_json_int(file, "last", &last) == 0 ? last : 0);
		else if (!strcmp(state, "missing"))
			printf(", not there: not looked at\n");
		else if (!strcmp(state, "compressed"))
			printf(", compressed: not looked at\n");
		else
			printf(", empty\n");
	}
}

static void print_report(struct json_object *report, const char *kernel, const char *head)
{
	const char *key = bm_json_string(report, "key");
	int64_t lines = 0, last = 0, number;

	bm_json_int(report, "lines", &lines);
	bm_json_int(report, "last", &last);
	printf("the ledger is whole: %" PRId64 " lines\n", lines);
	print_files(report);
	printf("  head     %" PRId64 ":%s\n", last, bm_json_string(report, "hash"));
	if (key)
		printf("  signed   %.19sZ, with key\n           %s\n",
		       bm_json_string(report, "signed"), key);
	else
		printf("  signed   nowhere: no " BM_HEAD_NAME
		       ", so lines may be cut off its end\n");
	if (bm_json_int(report, "unsigned", &number) == 0 && number)
		printf("  unsigned the last %" PRId64 ": just written, or a crash came behind\n",
		       number);
	if (bm_json_int(report, "torn", &number) == 0)
		printf("  torn     %" PRId64
		       " bytes behind: being written, or what a power cut left\n",
		       number);
	if (bm_json_int(report, "accepted", &number) == 0)
		printf("  accepted up to number %" PRId64 ": lines were lost before, see there\n",
		       number);
	if (!strcmp(kernel, "agrees"))
		printf("  kernel   has the same\n");
	else if (!strcmp(kernel, "unknown"))
		printf("  kernel   not asked: that takes root\n");
	if (head)
		printf("  given    %.60s... is in it\n", head);
}

static void add_break(struct json_object *json, const struct bm_break *found)
{
	struct json_object *at = json_object_new_object();

	if (found->kind != BM_BREAK_NONE) {
		bm_json_add_string(at, "file", found->file);
		bm_json_add_int(at, "line", (int64_t)found->line);
		bm_json_add_string(at, "what", bm_break_name(found->kind));
	}
	bm_json_add(json, "break", at);
}

static int print_broken(const struct ledger_asked *asked, const struct bm_break *found,
			const struct bm_error *err)
{
	autojson *json = NULL;

	if (!asked->json)
		return complain(asked, err, EXIT_BROKEN);
	json = json_object_new_object();
	bm_json_add_bool(json, "whole", false);
	add_break(json, found);
	bm_json_add(json, "error", bm_error_to_json(err));
	printf("%s\n", json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
	return EXIT_BROKEN;
}

static int take_asked(const struct ledger_asked *asked, struct bm_mark *mark, struct bm_error *err)
{
	char shown[96];

	if (asked->head && bm_head_text_parse(asked->head, &mark->at) < 0)
		return bm_fail(err, EINVAL, NULL, "give NUMBER:HASH, as a log or a receipt has it",
			       "--head: '%s' is no head of a ledger",
			       bm_escape(asked->head, shown, sizeof(shown)));
	if (asked->key && strlen(asked->key) != BM_KEY_ID_LEN - 1)
		return bm_fail(err, EINVAL, NULL, "give the 64 digits of a public key",
			       "--key: '%s' is no key",
			       bm_escape(asked->key, shown, sizeof(shown)));
	return 0;
}

/* A head that was given, of a line in a file that is not there, proves nothing. */
static int check_seen(const struct bm_mark *mark, struct bm_error *err)
{
	if (!mark->at.n || mark->seen)
		return 0;
	return bm_fail(err, ENODATA, "ledger-head", "bring the earlier files back",
		       "number %" PRIu64 ", %s, is in none of the files", mark->at.n, mark->who);
}

int ledger_verify_main(const struct ledger_asked *asked)
{
	struct bm_mark marks[2] = { { .who = "the head that was given" },
				    { .who = "the head in the kernel" } };
	struct bm_verify how = { marks, 2, asked->key, !asked->dir };
	autojson *report = NULL;
	struct bm_break found = {};
	struct bm_error err = {};
	const char *kernel;
	autoclose dir = -1;
	int r = take_asked(asked, &marks[0], &err);

	if (r < 0)
		return complain(asked, &err, EXIT_ASKED);
	kernel = kernel_mark(asked, &marks[1]);
	dir = open(asked->dir ?: BM_LEDGER_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? bm_fail_errno(&err, errno, "%s", asked->dir ?: BM_LEDGER_DIR)
		    : bm_ledger_verify(dir, &how, &report, &found, &err);
	if (r == -EBADMSG || r == -EKEYREJECTED)
		return print_broken(asked, &found, &err);
	if (r == 0)
		r = check_seen(&marks[0], &err);
	if (r < 0)
		return complain(asked, &err, EXIT_OWN);
	if (!asked->json) {
		print_report(report, kernel, asked->head);
		return 0;
	}
	bm_json_add_bool(report, "whole", true);
	bm_json_add_string(report, "kernel", kernel);
	printf("%s\n", json_object_to_json_string_ext(report, JSON_C_TO_STRING_PLAIN));
	return 0;
}

int ledger_accept_main(bool force)
{
	autojson *by = json_object_new_object(), *said = NULL;
	struct ledger_asked asked = {};
	struct bm_ledger_end end = {};
	struct bm_chain head = {}, pinned;
	struct bm_error err = {};
	char shown[1024];
	int64_t kept = 0;
	int r = sodium_init() < 0 ? -EIO : 0;
	autoclose dir = open(BM_LEDGER_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (r == 0 && dir < 0)
		r = bm_fail_errno(&err, errno, BM_LEDGER_DIR);
	if (bm_pinned_end_get(&end) < 0)
		end.n = 0;
	ledger_chain_of(&end, &pinned);
	bm_json_add_int(by, "uid", getuid());
	if (r == 0)
		r = bm_ledger_accept(dir, &pinned, by, !force, &said, &head, &err);
	if (r == 0 && force) {
		ledger_end_of(&head, &end);
		r = bm_pinned_end_put(&end);
	}
	if (r < 0) {
		bm_fail_errno(&err, -r, "accept the ledger");
		return complain(&asked, &err, EXIT_OWN);
	}
	bm_json_int(said, "kept", &kept);
	printf("%s\n", bm_escape(bm_json_string(said, "why"), shown, sizeof(shown)));
	printf("%s the first %" PRId64 " lines of %s\n", force ? "kept:" : "would keep", kept,
	       BM_LEDGER_NAME);
	if (bm_json_string(said, "saved"))
		printf("%s all of it as %s/%s\n", force ? "saved:" : "would save", BM_LEDGER_DIR,
		       bm_json_string(said, "saved"));
	printf("what only the lost lines granted ends when gatekeeperd starts%s\n",
	       force ? "" : "; --force does it");
	return 0;
}
