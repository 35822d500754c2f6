// SPDX-License-Identifier: GPL-2.0-only
#include "cli/ocsf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/json.h"

#define OCSF_VERSION "1.3.0"

enum class {
	CLASS_BASE = 0,
	CLASS_FILE = 1001,
	CLASS_KERNEL = 1003,
	CLASS_PROCESS = 1007,
	CLASS_NETWORK = 4001,
	CLASS_HTTP = 4002,
};

enum {
	ACTIVITY_OTHER = 99,
	FILE_CREATE = 1,
	FILE_READ = 2,
	FILE_UPDATE = 3,
	FILE_DELETE = 4,
	FILE_RENAME = 5,
	FILE_SET_ATTRIBUTES = 6,
	FILE_SET_SECURITY = 7,
	FILE_GET_ATTRIBUTES = 8,
	FILE_OPEN = 14,
	KERNEL_INVOKE = 4,
	PROCESS_LAUNCH = 1,
	PROCESS_OPEN = 3,
	NETWORK_OPEN = 1,
	NETWORK_TRAFFIC = 6,
};

/* What is not here is a file's, where the event has an object, else the kernel's. */
static const struct {
	const char *hook;
	enum class class;
	int activity;
} hooks[] = {
	{ "file_open", CLASS_FILE, FILE_OPEN },
	{ "file_permission", CLASS_FILE, FILE_READ },
	{ "mknod", CLASS_FILE, FILE_CREATE },
	{ "mkdir", CLASS_FILE, FILE_CREATE },
	{ "symlink", CLASS_FILE, FILE_CREATE },
	{ "link", CLASS_FILE, FILE_CREATE },
	{ "rmdir", CLASS_FILE, FILE_DELETE },
	{ "unlink", CLASS_FILE, FILE_DELETE },
	{ "rename", CLASS_FILE, FILE_RENAME },
	{ "truncate", CLASS_FILE, FILE_UPDATE },
	{ "chmod", CLASS_FILE, FILE_SET_SECURITY },
	{ "chown", CLASS_FILE, FILE_SET_SECURITY },
	{ "setattr", CLASS_FILE, FILE_SET_ATTRIBUTES },
	{ "setxattr", CLASS_FILE, FILE_SET_ATTRIBUTES },
	{ "getxattr", CLASS_FILE, FILE_GET_ATTRIBUTES },
	{ "getattr", CLASS_FILE, FILE_GET_ATTRIBUTES },
	{ "exec", CLASS_PROCESS, PROCESS_LAUNCH },
	{ "arrival", CLASS_PROCESS, PROCESS_LAUNCH },
	{ "clone", CLASS_PROCESS, PROCESS_LAUNCH },
	{ "ptrace", CLASS_PROCESS, PROCESS_OPEN },
	{ "signal", CLASS_PROCESS, ACTIVITY_OTHER },
	{ "task", CLASS_PROCESS, ACTIVITY_OTHER },
	{ "connect4", CLASS_NETWORK, NETWORK_OPEN },
	{ "connect6", CLASS_NETWORK, NETWORK_OPEN },
	{ "sendmsg4", CLASS_NETWORK, NETWORK_TRAFFIC },
	{ "sendmsg6", CLASS_NETWORK, NETWORK_TRAFFIC },
	{ "egress", CLASS_NETWORK, NETWORK_TRAFFIC },
	{ "ingress", CLASS_NETWORK, NETWORK_TRAFFIC },
	{ "recvmsg", CLASS_NETWORK, NETWORK_TRAFFIC },
};

static void classify(struct json_object *event, enum class *ret_class, int *ret_activity)
{
	const char *hook = bm_json_string(event, "hook"), *type = bm_json_string(event, "type");

	*ret_class = CLASS_BASE;
	*ret_activity = ACTIVITY_OTHER;
	if (type && !strcmp(type, "call"))
		*ret_class = CLASS_HTTP;
	if ((type && strcmp(type, "first-use")) || !hook)
		return;
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		if (strcmp(hook, hooks[i].hook))
			continue;
		*ret_class = hooks[i].class;
		*ret_activity = hooks[i].activity;
		return;
	}
	*ret_class = bm_json_get(event, "object", json_type_object) ? CLASS_FILE : CLASS_KERNEL;
	if (*ret_class == CLASS_KERNEL)
		*ret_activity = KERNEL_INVOKE;
}

static void copy(struct json_object *to, const char *as, struct json_object *from, const char *key)
{
	struct json_object *value;

	if (from && json_object_object_get_ex(from, key, &value))
		json_object_object_add(to, as, json_object_get(value));
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static struct json_object *file_of(const char *path)
{
	struct json_object *file = json_object_new_object();

	bm_json_add_string(file, "name", base_name(path));
	bm_json_add_string(file, "path", path);
	bm_json_add_int(file, "type_id", 0);
	return file;
}

static struct json_object *process_of(struct json_object *from, struct json_object *container)
{
	struct json_object *process = json_object_new_object();
	struct json_object *parent = bm_json_get(from, "parent", json_type_object);
	const char *exe = bm_json_string(from, "exe");

	copy(process, "pid", from, "pid");
	copy(process, "name", from, "comm");
	copy(process, "tid", from, "tid");
	copy(process, "namespace_pid", from, "inside");
	if (exe)
		bm_json_add(process, "file", file_of(exe));
	if (container)
		bm_json_add(process, "container", container);
	if (parent)
		bm_json_add(process, "parent_process", process_of(parent, NULL));
	return process;
}

static void add_actor(struct json_object *to, struct json_object *event)
{
	struct json_object *from = bm_json_get(event, "process", json_type_object);
	struct json_object *actor = json_object_new_object();
	struct json_object *container = json_object_new_object();
	char uid[24];
	int64_t number;

	copy(container, "name", event, "bench");
	if (!from) {
		/* Packets, which no task stands behind; and what is told of the stream. */
		bm_json_add_string(actor, "app_name", "benchmon");
		bm_json_add(to, "actor", actor);
		bm_json_add(to, "container", container);
		return;
	}
	bm_json_add(actor, "process", process_of(from, container));
	if (bm_json_int(from, "uid", &number) == 0) {
		struct json_object *user = json_object_new_object();

		snprintf(uid, sizeof(uid), "%lld", (long long)number);
		bm_json_add_string(user, "uid", uid);
		bm_json_add(actor, "user", user);
	}
	bm_json_add(to, "actor", actor);
}

/* "198.51.100.10:80/tcp", "[2001:db8::1]:443/udp", "198.51.100.10/icmp" */
static void add_endpoint(struct json_object *to, struct json_object *event)
{
	const char *text = bm_json_string(event, "destination"),
		   *hook = bm_json_string(event, "hook");
	bool in = hook && (!strcmp(hook, "ingress") || !strcmp(hook, "recvmsg"));
	struct json_object *endpoint = json_object_new_object(), *info = json_object_new_object();
	const char *end, *port, *slash = text ? strrchr(text, '/') : NULL;
	char ip[64];

	bm_json_add(to, in ? "src_endpoint" : "dst_endpoint", endpoint);
	bm_json_add(to, "connection_info", info);
	bm_json_add_int(info, "direction_id", in ? 1 : 2);
	copy(endpoint, "hostname", event, "host");
	if (!slash)
		return;
	bm_json_add_string(info, "protocol_name", slash + 1);
	end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":/");
	if (!end)
		return;
	snprintf(ip, sizeof(ip), "%.*s", (int)(end - text - (text[0] == '[')),
		 text + (text[0] == '['));
	bm_json_add_string(endpoint, "ip", ip);
	port = *end == ']' ? end + 1 : end;
	if (*port == ':')
		bm_json_add_int(endpoint, "port", strtol(port + 1, NULL, 10));
}

static void add_target(struct json_object *to, struct json_object *event)
{
	struct json_object *object = bm_json_get(event, "object", json_type_object),
			   *target = bm_json_get(event, "target", json_type_object);
	struct json_object *process = json_object_new_object();

	if (target)
		copy(process, "pid", target, "pid");
	else if (object && bm_json_string(object, "path"))
		bm_json_add(process, "file", file_of(bm_json_string(object, "path")));
	else
		copy(process, "name", bm_json_get(event, "process", json_type_object), "comm");
	bm_json_add(to, "process", process);
}

static void add_kernel(struct json_object *to, struct json_object *event)
{
	struct json_object *kernel = json_object_new_object(),
			   *subject = bm_json_get(event, "subject", json_type_object);
	const char *what = subject ? bm_json_string(subject, "what") : NULL;

	bm_json_add_string(kernel, "name", what ?: bm_json_string(event, "hook") ?: "?");
	bm_json_add_int(kernel, "type_id", 99);
	copy(kernel, "type", event, "hook");
	bm_json_add(to, "kernel", kernel);
}

static void add_call(struct json_object *to, struct json_object *event)
{
	struct json_object *request = json_object_new_object(), *url = json_object_new_object(),
			   *response = json_object_new_object();

	copy(request, "http_method", event, "method");
	copy(url, "path", event, "path");
	bm_json_add(request, "url", url);
	copy(response, "code", event, "status");
	bm_json_add(to, "http_request", request);
	bm_json_add(to, "http_response", response);
}

static void add_class(struct json_object *to, enum class class, struct json_object *event)
{
	struct json_object *object = bm_json_get(event, "object", json_type_object);

	switch (class) {
	case CLASS_FILE:
		bm_json_add(to, "file",
			    file_of(object ? bm_json_string(object, "path") ?: "?" : "?"));
		break;
	case CLASS_NETWORK:
		add_endpoint(to, event);
		break;
	case CLASS_PROCESS:
		add_target(to, event);
		break;
	case CLASS_KERNEL:
		add_kernel(to, event);
		break;
	case CLASS_HTTP:
		add_call(to, event);
		break;
	case CLASS_BASE:
		break;
	}
}

static void add_metadata(struct json_object *to, struct json_object *event)
{
	struct json_object *metadata = json_object_new_object(),
			   *product = json_object_new_object(), *profiles = json_object_new_array();

	bm_json_add_string(product, "name", "benchmon");
	bm_json_add_string(product, "vendor_name", "benchmon");
	bm_json_add_string(product, "version", BENCHMON_VERSION);
	bm_json_add(metadata, "product", product);
	bm_json_add_string(metadata, "version", OCSF_VERSION);
	json_object_array_add(profiles, json_object_new_string("security_control"));
	json_object_array_add(profiles, json_object_new_string("container"));
	bm_json_add(metadata, "profiles", profiles);
	copy(metadata, "original_time", event, "time");
	copy(metadata, "sequence", event, "seq");
	bm_json_add(to, "metadata", metadata);
}

struct json_object *cli_ocsf(struct json_object *event)
{
	const char *verdict = bm_json_string(event, "verdict"),
		   *time = bm_json_string(event, "time");
	bool denied = (verdict && !strcmp(verdict, "deny")) || bm_json_string(event, "refused");
	bool would = verdict && !strcmp(verdict, "would-deny");
	struct json_object *to = json_object_new_object(), *device;
	uint64_t ns = 0;
	enum class class;
	int activity;

	if (!to)
		return NULL;
	classify(event, &class, &activity);
	if (!time || bm_time_parse(time, &ns) < 0)
		ns = bm_now_ns(CLOCK_REALTIME);
	bm_json_add_int(to, "category_uid", class / 1000);
	bm_json_add_int(to, "class_uid", class);
	bm_json_add_int(to, "activity_id", activity);
	bm_json_add_int(to, "type_uid", class * 100 + activity);
	bm_json_add_int(to, "time", (int64_t)(ns / 1000000));
	bm_json_add_int(to, "severity_id", denied ? 2 : 1);
	bm_json_add_int(to, "action_id", denied ? 2 : class == CLASS_BASE ? 0 : 1);
	/* 17: logged. What is let through because the Bench learns is no decision to allow it. */
	bm_json_add_int(to, "disposition_id",
			would                 ? 17
			: denied              ? 2
			: class == CLASS_BASE ? 0
					      : 1);
	bm_json_add_int(to, "status_id", denied ? 2 : class == CLASS_BASE ? 0 : 1);
	copy(to, "status_code", event, "errno");
	copy(to, "status_detail", event, "rule");
	copy(to, "message", event, "hint");
	copy(to, "count", event, "count");
	add_metadata(to, event);
	device = json_object_new_object();
	bm_json_add_int(device, "type_id", 0);
	bm_json_add(to, "device", device);
	add_actor(to, event);
	add_class(to, class, event);
	bm_json_add(to, "unmapped", json_object_get(event));
	return to;
}
