// SPDX-License-Identifier: GPL-2.0-only
/* What a peer may send: the parser alone, then the same bytes as a message with fds. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/names.h"
#include "protocol/protocol.h"
#include "tests/fuzz/must.h"

static void use_members(struct json_object *json)
{
	static const char *const known[] = { "v", "op", "bench", "grant", "error", NULL };
	const char *grant = bm_json_string(json, "grant");
	struct json_object *error = bm_json_get(json, "error", json_type_object);
	char bench[BM_BENCH_NAME_LEN], line[1024];
	struct bm_error err = {};
	uint32_t number;
	int64_t version;

	bm_json_only(json, known, "request", &err);
	bm_json_int(json, "v", &version);
	if (grant && bm_grant_id_parse(grant, bench, &number) == 0)
		MUST(bm_bench_name_valid(bench) && number);
	if (error && bm_error_from_json(error, &err) == 0) {
		MUST(err.code > 0);
		bm_error_line(&err, line, sizeof(line));
	}
}

/* What was taken once is taken again, and means the same, after it was written by us. */
static void round_trip(struct json_object *json)
{
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	autojson *again = NULL;

	MUST(bm_json_parse(text, strlen(text), "written", &again, NULL) == 0);
	MUST(json_object_equal(json, again));
}

static void as_message(const uint8_t *data, size_t size, bool good)
{
	automessage message = {};
	struct bm_error err = {};
	int pair[2], r, before, after;

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return;
	autoclose ours = pair[0], theirs = pair[1];

	if (send(theirs, data, size, MSG_NOSIGNAL) != (ssize_t)size)
		return;
	/* Whoever starts this may have left descriptors open, with numbers free between them. */
	before = dup(ours);
	bm_close(before);
	r = bm_receive(ours, &message, &err);
	MUST(r == -err.code);
	MUST((r == 0) == (good && size <= BM_MESSAGE_MAX));
	after = dup(ours);
	MUST(after == before);
	bm_close(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bm_error err = {};
	autojson *json = NULL;
	int r = bm_json_parse((const char *)data, size, "message", &json, &err);

	MUST(r == -err.code && (r == 0) == (json != NULL));
	if (json) {
		use_members(json);
		round_trip(json);
	}
	as_message(data, size, json);
	return 0;
}
