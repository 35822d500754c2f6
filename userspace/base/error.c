// SPDX-License-Identifier: GPL-2.0-only
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void set(struct bm_error *err, int code, const char *rule, const char *remedy)
{
	err->code = code;
	snprintf(err->rule, sizeof(err->rule), "%s", rule ?: "");
	snprintf(err->remedy, sizeof(err->remedy), "%s", remedy ?: "");
}

int bm_fail(struct bm_error *err, int code, const char *rule, const char *remedy, const char *fmt,
	    ...)
{
	va_list ap;

	if (!err || err->code)
		return -code;
	set(err, code, rule, remedy);
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -code;
}

int bm_fail_errno(struct bm_error *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	if (!err || err->code)
		return -code;
	set(err, code, NULL, NULL);
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	len = strlen(err->message);
	snprintf(err->message + len, sizeof(err->message) - len, ": %s", strerror(code));
	return -code;
}

struct json_object *bm_error_to_json(const struct bm_error *err)
{
	struct json_object *json = json_object_new_object();

	if (!json)
		return NULL;
	bm_json_add_int(json, "errno", err->code);
	bm_json_add_string(json, "message", err->message);
	if (err->rule[0])
		bm_json_add_string(json, "rule", err->rule);
	if (err->remedy[0])
		bm_json_add_string(json, "remedy", err->remedy);
	return json;
}

int bm_error_from_json(struct json_object *json, struct bm_error *ret)
{
	const char *message = bm_json_string(json, "message");
	int64_t code = 0;

	if (!message || bm_json_int(json, "errno", &code) < 0 || code <= 0 || code > 4095)
		return -EBADMSG;
	*ret = (struct bm_error){};
	set(ret, (int)code, bm_json_string(json, "rule"), bm_json_string(json, "remedy"));
	snprintf(ret->message, sizeof(ret->message), "%s", message);
	return 0;
}

const char *bm_error_line(const struct bm_error *err, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s%s%s%s%s", err->message, err->rule[0] ? " (rule: " : "", err->rule,
		 err->rule[0] ? ")" : "", err->remedy[0] ? "; " : "", err->remedy);
	return buf;
}
