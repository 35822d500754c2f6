// SPDX-License-Identifier: GPL-2.0-only
/* Whatever comes out of the ring becomes one line of valid JSON, or -EBADMSG. */
#include <errno.h>
#include <string.h>

#include "audit/events.h"
#include "base/json.h"
#include "tests/fuzz/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	autojson *json = NULL, *again = NULL;
	const char *text, *hint;

	if (bm_event_to_json(data, size, 1700000000000000000, "b1", &json) < 0) {
		MUST(!json);
		return 0;
	}
	text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);
	MUST(bm_json_parse(text, strlen(text), "event", &again, NULL) == 0);
	MUST(!strpbrk(text, "\n\x1b\x7f"));
	hint = bm_json_string(json, "hint");
	MUST(!hint || (!strncmp(hint, "benchmon grant b1 ", 18) && !strpbrk(hint + 18, "\\\"\n")));
	return 0;
}
