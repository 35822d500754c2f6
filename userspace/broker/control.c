// SPDX-License-Identifier: GPL-2.0-only
/* What gatekeeperd is told. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/escape.h"
#include "broker/broker.h"

int control_tell(struct json_object *json)
{
	const char *text = json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN);

	if (send(CONTROL, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno != EAGAIN && errno != ENOBUFS)
		/* Nobody is there to record what is done here. */
		_exit(0);
	return -EAGAIN;
}

void control_fail(const struct bm_error *err)
{
	autojson *json = json_object_new_object();

	bm_json_add(json, "error", bm_error_to_json(err));
	control_tell(json);
}

static struct json_object *record(const struct call *call, uint64_t number)
{
	struct json_object *json = json_object_new_object(), *it = json_object_new_object();
	const struct request *request = &call->request;
	int status = call->queued || call->phase == PHASE_LINGER ? 0 : -1;
	uint64_t hidden = call->answer.hidden;
	char text[513], shown[513];

	if (status == 0)
		status = call->refusal.status ?: call->answer.status;
	bm_json_add_int(it, "number", (int64_t)number);
	snprintf(text, sizeof(text), "%.*s",
		 (int)(request->method.len < 32 ? request->method.len : 32),
		 request->method.text ?: "");
	bm_json_add_string(it, "method", bm_escape(text, shown, 64));
	snprintf(text, sizeof(text), "%.*s",
		 (int)(request->path.len < 512 ? request->path.len : 512),
		 request->path.text ?: "");
	bm_json_add_string(it, "path", bm_escape(text, shown, sizeof(shown)));
	bm_json_add_int(it, "status", status < 0 ? 0 : status);
	bm_json_add_int(it, "bytes_in", (int64_t)call->bytes_in);
	bm_json_add_int(it, "bytes_out", (int64_t)call->bytes_out);
	bm_json_add_int(it, "ms", (int64_t)(now_ms() - call->began));
	if (call->echo)
		hidden += echo_found(call->echo);
	if (hidden)
		bm_json_add_int(it, "hidden", (int64_t)hidden);
	if (call->refusal.status && !call->counted)
		bm_json_add_string(it, "refused", call->refusal.error.rule);
	else if (call->cut || call->refusal.status)
		bm_json_add_string(it, "cut", call->cut ?: call->refusal.error.rule);
	bm_json_add(json, "call", it);
	return json;
}

bool control_flush(struct broker *broker)
{
	size_t sent = 0;

	while (sent < broker->record_count && control_tell(broker->records[sent]) == 0)
		json_object_put(broker->records[sent++]);
	memmove(broker->records, broker->records + sent,
		(broker->record_count - sent) * sizeof(broker->records[0]));
	broker->record_count -= sent;
	return !broker->record_count;
}

void control_record(struct broker *broker, const struct call *call)
{
	/* There are no more calls than descriptors, and none begins while one waits. */
	if (broker->record_count == FDS)
		_exit(1);
	broker->records[broker->record_count++] = record(call, ++broker->number);
	control_flush(broker);
}
