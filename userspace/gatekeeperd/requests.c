// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/requests.h"

#include <errno.h>
#include <string.h>

#include "base/escape.h"

#define OPERATORS (1u << PEER_OPERATOR)
#define AGENTS (1u << PEER_AGENT) /* of what was made for them */
#define ASKERS (OPERATORS | AGENTS | 1u << PEER_BENCH)
#define ALL ((1u << PEER_ROLE_MAX) - 1)

static const struct request requests[] = {
	{ "version", request_version, 0, ALL, { NULL } },
	{ "create",
	  request_create,
	  1,
	  OPERATORS,
	  { "bench", "limits", "exec", "userns", "first_uses", "request", NULL } },
	{ "attach",
	  request_attach,
	  0,
	  OPERATORS,
	  { "bench", "container", "exec", "userns", "first_uses", "adopt", "learn", NULL } },
	{ "adopt", request_adopt, 0, OPERATORS, { "bench", "volume", NULL } },
	{ "detach", request_detach, 0, OPERATORS, { "bench", NULL } },
	{ "freeze", request_freeze, 0, OPERATORS, { "bench", NULL } },
	{ "thaw", request_thaw, 0, OPERATORS, { "bench", NULL } },
	{ "destroy", request_destroy, 0, OPERATORS | AGENTS, { "bench", NULL } },
	{ "request",
	  request_request,
	  0,
	  ASKERS,
	  { "bench", "kind", "target", "rights", "dest", "for", "why", "wait", "image", "rootfs",
	    "name", NULL } },
	{ "pending", request_pending, 0, ASKERS, { "request", "offset", NULL } },
	{ "reject", request_reject, 0, OPERATORS, { "request", "why", NULL } },
	{ "grant",
	  request_grant,
	  1,
	  OPERATORS,
	  { "bench",          "kind",      "source", "dest",      "rights", "idmap",  "destination",
	    "profile",        "private",   "for",    "on_revoke", "except", "port",   "protocol",
	    "from",           "request",   "broker", "upstream",  "limits", "secret", "with_secret",
	    "except_secrets", "unscanned", NULL } },
	{ "confirm", request_confirm, 0, OPERATORS, { "token", "how", NULL } },
	{ "revoke", request_revoke, 0, OPERATORS, { "grant", "host", "bench", "all", NULL } },
	{ "ls", request_ls, 0, OPERATORS | AGENTS, { "offset", NULL } },
	{ "show", request_show, 0, OPERATORS | AGENTS, { "bench", "offset", NULL } },
	{ "events", request_events, 0, OPERATORS, { "bench", "since", "follow", NULL } },
	{ "why", request_why, 0, OPERATORS, { "bench", "kind", "target", "rights", NULL } },
	{ "ledger", request_ledger, 0, OPERATORS, { "bench", "since", "offset", NULL } },
	{ "ledger-rotate", request_ledger_rotate, 0, OPERATORS, { NULL } },
	{ "suggest", request_suggest, 0, OPERATORS, { "paths", NULL } },
	{ "carriers", request_carriers, 0, OPERATORS, { "offset", NULL } },
	{ "carrier-clear", request_carrier_clear, 0, OPERATORS, { "carrier", NULL } },
	{ "receipts", request_receipts, 0, OPERATORS, { "offset", NULL } },
	{ "receipt", request_receipt, 0, OPERATORS, { "name", NULL } },
	{ "profile-ls", request_profile_ls, 0, OPERATORS, { "offset", NULL } },
	{ "profile-show", request_profile_show, 0, OPERATORS, { "name", "offset", NULL } },
	{ "profile-verify", request_profile_verify, 0, OPERATORS, { "name", NULL } },
	{ "profile-seal",
	  request_profile_seal,
	  1,
	  OPERATORS,
	  { "name", "image", "private", NULL } },
	{ "profile-refresh", request_profile_refresh, 0, OPERATORS, { "name", NULL } },
	{ "profile-unseal", request_profile_unseal, 0, OPERATORS, { "name", NULL } },
	{ "profile-pending", request_profile_pending, 0, OPERATORS, { "token", "offset", NULL } },
	{ "broker-ls", request_broker_ls, 0, OPERATORS, { "offset", NULL } },
	{ "broker-verify",
	  request_broker_verify,
	  0,
	  OPERATORS,
	  { "name", "upstream", "private", NULL } },
	{ "exec",
	  request_exec,
	  3,
	  OPERATORS | AGENTS,
	  { "bench", "argv", "env", "cwd", "tty", "seek", NULL } },
};

/* A key means the same in every request. One of another type is no "false" and no "none". */
static const struct {
	const char *key;
	enum json_type type;
} types[] = {
	{ "v", json_type_int },
	{ "op", json_type_string },
	{ "bench", json_type_string },
	{ "limits", json_type_object },
	{ "container", json_type_object },
	{ "exec", json_type_string },
	{ "adopt", json_type_boolean },
	{ "learn", json_type_boolean },
	{ "userns", json_type_boolean },
	{ "first_uses", json_type_boolean },
	{ "volume", json_type_int },
	{ "paths", json_type_array },
	{ "kind", json_type_string },
	{ "source", json_type_string },
	{ "dest", json_type_string },
	{ "rights", json_type_string },
	{ "idmap", json_type_boolean },
	{ "destination", json_type_string },
	{ "profile", json_type_string },
	{ "host", json_type_string },
	{ "private", json_type_boolean },
	{ "for", json_type_int },
	{ "on_revoke", json_type_string },
	{ "except", json_type_array },
	{ "secret", json_type_boolean },
	{ "with_secret", json_type_boolean },
	{ "except_secrets", json_type_boolean },
	{ "unscanned", json_type_boolean },
	{ "carrier", json_type_int },
	{ "port", json_type_int },
	{ "protocol", json_type_string },
	{ "from", json_type_array },
	{ "broker", json_type_string },
	{ "upstream", json_type_string },
	{ "limits", json_type_object },
	{ "token", json_type_string },
	{ "how", json_type_string },
	{ "grant", json_type_string },
	{ "name", json_type_string },
	{ "image", json_type_string },
	{ "rootfs", json_type_string },
	{ "target", json_type_string },
	{ "request", json_type_string },
	{ "why", json_type_string },
	{ "wait", json_type_boolean },
	{ "all", json_type_boolean },
	{ "offset", json_type_int },
	{ "since", json_type_int },
	{ "follow", json_type_boolean },
	{ "argv", json_type_array },
	{ "env", json_type_object },
	{ "cwd", json_type_string },
	{ "tty", json_type_boolean },
	{ "seek", json_type_boolean },
};

static int check_type(const char *op, const char *key, struct json_object *value,
		      struct bm_error *err)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].key, key) && json_object_is_type(value, types[i].type))
			return 0;
	return bm_fail(err, EINVAL, "protocol", NULL, "%s: \"%s\" is of the wrong type", op, key);
}

static int check_version(struct json_object *message, struct bm_error *err)
{
	int64_t version;

	if (bm_json_int(message, "v", &version) < 0)
		return bm_fail(err, EPROTO, REQUEST_VERSION_RULE,
			       "use benchmon and gatekeeperd of one version",
			       "the request names no version of the protocol; gatekeeperd "
			       "speaks version %d",
			       BM_PROTOCOL_VERSION);
	if (version != BM_PROTOCOL_VERSION)
		return bm_fail(err, EPROTO, REQUEST_VERSION_RULE,
			       "use benchmon and gatekeeperd of one version",
			       "the request is of version %lld of the protocol; gatekeeperd "
			       "speaks version %d",
			       (long long)version, BM_PROTOCOL_VERSION);
	return 0;
}

int request_find(struct json_object *message, const struct request **ret, struct bm_error *err)
{
	const char *op = bm_json_string(message, "op");
	int r = check_version(message, err);
	char shown[64];

	if (r < 0)
		return r;
	if (!op)
		return bm_fail(err, EPROTO, "protocol", NULL, "the request has no \"op\"");
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strcmp(requests[i].op, op))
			continue;
		*ret = &requests[i];
		return 0;
	}
	return bm_fail(err, ENOSYS, "protocol", NULL, "unknown request \"%s\"",
		       bm_escape(op, shown, sizeof(shown)));
}

bool request_allowed(const struct request *request, enum peer_role role)
{
	return request->who & 1u << role;
}

int request_check(const struct request *request, const struct bm_message *message,
		  struct bm_error *err)
{
	const char *known[sizeof(request->keys) / sizeof(request->keys[0]) + 3] = { "v", "op" };
	int r;

	for (size_t k = 0; request->keys[k]; k++)
		known[2 + k] = request->keys[k];
	r = bm_json_only(message->json, known, request->op, err);
	if (r < 0)
		return r;
	json_object_object_foreach(message->json, key, value) {
		r = check_type(request->op, key, value, err);
		if (r < 0)
			return r;
	}
	if (message->fd_count > request->fds)
		return bm_fail(err, E2BIG, "message-fds", NULL, "%s: %zu file descriptors, not %zu",
			       request->op, message->fd_count, request->fds);
	return 0;
}
