// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes to a handler, whatever was sent: a request of our version, of that handler's row, with
 * no key beside those of the row, each of the one type that it has everywhere.
 */
#include <stdio.h>
#include <string.h>

#include "gatekeeperd/requests.h"
#include "tests/fuzz/must.h"

/* By this they are told apart: each is what a row names. */
#define OP(name) #name,
#define HANDLER(name)                                                                              \
	int request_##name(struct daemon *d, struct connection *c, struct bm_message *message,     \
			   struct json_object **ret_reply, struct bm_error *err)                   \
	{                                                                                          \
		(void)d, (void)c, (void)ret_reply, (void)err;                                      \
		handled(#name, message);                                                           \
		return 0;                                                                          \
	}

static const char *const ops[] = { BM_REQUESTS(OP) };

static const struct request *row;

static void same_op(const char *op, const char *name)
{
	for (; *op || *name; op++, name++)
		MUST(*op == *name || (*op == '-' && *name == '_'));
}

static void one_type(const char *key, enum json_type type)
{
	static struct {
		char key[32];
		enum json_type type;
	} seen[128];
	size_t i = 0;

	MUST(type != json_type_null && strlen(key) < sizeof(seen[0].key));
	while (seen[i].key[0] && strcmp(seen[i].key, key))
		MUST(++i < sizeof(seen) / sizeof(seen[0]));
	if (!seen[i].key[0])
		snprintf(seen[i].key, sizeof(seen[i].key), "%s", key);
	else
		MUST(seen[i].type == type);
	seen[i].type = type;
}

static bool of_row(const char *key)
{
	size_t i = 0;

	while (row->keys[i] && strcmp(row->keys[i], key))
		i++;
	return row->keys[i];
}

static void handled(const char *name, struct bm_message *message)
{
	int64_t version;

	same_op(row->op, name);
	MUST(bm_json_int(message->json, "v", &version) == 0 && version == BM_PROTOCOL_VERSION);
	MUST(!strcmp(bm_json_string(message->json, "op"), row->op));
	MUST(message->fd_count <= row->fds);
	json_object_object_foreach(message->json, key, value) {
		one_type(key, json_object_get_type(value));
		MUST(!strcmp(key, "v") || !strcmp(key, "op") || of_row(key));
	}
}

BM_REQUESTS(HANDLER)

static void ask(const char *text, size_t len, size_t fds)
{
	struct bm_message message = { .fd_count = fds % (BM_MESSAGE_FDS + 1) };
	struct bm_error err = {};
	int r = bm_json_parse(text, len, "message", &message.json, &err);

	if (r == 0)
		r = request_find(message.json, &row, &err);
	if (r == 0)
		r = request_check(row, &message, &err);
	MUST(r == -err.code && (r == 0) == !err.message[0]);
	for (const char *c = err.message; *c; c++)
		MUST((unsigned char)*c >= 0x20 && *c != 0x7f);
	if (r == 0)
		row->fn(NULL, NULL, &message, NULL, &err);
	json_object_put(message.json);
}

/* Keys that its row has, with values of every type. */
static void compose(const uint8_t *data, size_t size, const char *op, char *text, size_t room)
{
	static const char *const values[] = {
		"1", "-1", "1.5", "\"x\"", "true", "{}", "[]", "null"
	};
	size_t used = (size_t)snprintf(text, room, "{\"v\":1,\"op\":\"%s\"", op);
	struct json_object *json = json_tokener_parse("{\"v\":1}");
	size_t count = 0;

	bm_json_add_string(json, "op", op);
	MUST(request_find(json, &row, NULL) == 0);
	json_object_put(json);
	while (row->keys[count])
		count++;
	for (size_t i = 0; count && i < size && i < 4; i++)
		used += (size_t)snprintf(text + used, room - used, ",\"%s\":%s",
					 row->keys[data[i] / 8 % count], values[data[i] % 8]);
	snprintf(text + used, room - used, "}");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char op[32], text[512];

	if (!size)
		return 0;
	snprintf(op, sizeof(op), "%s", ops[data[0] % (sizeof(ops) / sizeof(ops[0]))]);
	for (char *c = op; *c; c++)
		if (*c == '_')
			*c = '-';
	ask((const char *)data + 1, size - 1, data[0] >> 6);
	compose(data + 1, size - 1, op, text, sizeof(text));
	ask(text, strlen(text), data[0] >> 6);
	return 0;
}
