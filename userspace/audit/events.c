// SPDX-License-Identifier: GPL-2.0-only
#include "audit/events.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "audit/describe.h"
#include "base/escape.h"
#include "base/io.h"
#include "base/json.h"
#include "base/names.h"

#define SCHEMA "benchmon/1"
#define ERRNO_MAX 4095

enum kind {
	KIND_FILE,
	KIND_NET,
	KIND_ARRIVAL,
	KIND_TASK,
	KIND_SOCKET,
	KIND_SUBJECT,
};

static const enum kind kinds[] = {
	[BM_HOOK_FILE_OPEN] = KIND_FILE,     [BM_HOOK_EXEC] = KIND_FILE,
	[BM_HOOK_MMAP] = KIND_FILE,          [BM_HOOK_MPROTECT] = KIND_FILE,
	[BM_HOOK_CONNECT4] = KIND_NET,       [BM_HOOK_CONNECT6] = KIND_NET,
	[BM_HOOK_SENDMSG4] = KIND_NET,       [BM_HOOK_SENDMSG6] = KIND_NET,
	[BM_HOOK_EGRESS] = KIND_NET,         [BM_HOOK_INGRESS] = KIND_NET,
	[BM_HOOK_ARRIVAL] = KIND_ARRIVAL,    [BM_HOOK_PTRACE] = KIND_TASK,
	[BM_HOOK_SIGNAL] = KIND_TASK,        [BM_HOOK_SOCKET] = KIND_SOCKET,
	[BM_HOOK_SETSOCKOPT] = KIND_SOCKET,  [BM_HOOK_RECEIVE] = KIND_FILE,
	[BM_HOOK_IOCTL] = KIND_FILE,         [BM_HOOK_LOCK] = KIND_FILE,
	[BM_HOOK_FCNTL] = KIND_FILE,         [BM_HOOK_MKNOD] = KIND_FILE,
	[BM_HOOK_MKDIR] = KIND_FILE,         [BM_HOOK_RMDIR] = KIND_FILE,
	[BM_HOOK_UNLINK] = KIND_FILE,        [BM_HOOK_SYMLINK] = KIND_FILE,
	[BM_HOOK_LINK] = KIND_FILE,          [BM_HOOK_RENAME] = KIND_FILE,
	[BM_HOOK_TRUNCATE] = KIND_FILE,      [BM_HOOK_CHMOD] = KIND_FILE,
	[BM_HOOK_CHOWN] = KIND_FILE,         [BM_HOOK_SETATTR] = KIND_FILE,
	[BM_HOOK_SETXATTR] = KIND_FILE,      [BM_HOOK_GETXATTR] = KIND_FILE,
	[BM_HOOK_GETATTR] = KIND_FILE,       [BM_HOOK_READLINK] = KIND_FILE,
	[BM_HOOK_NOTIFY] = KIND_FILE,        [BM_HOOK_FILE_PERMISSION] = KIND_FILE,
	[BM_HOOK_LOOKUP] = KIND_FILE,        [BM_HOOK_IO_URING] = KIND_FILE,
	[BM_HOOK_EXPIRY] = KIND_FILE,        [BM_HOOK_PERSONALITY] = KIND_FILE,
	[BM_HOOK_CAPABLE] = KIND_SUBJECT,    [BM_HOOK_MOUNT] = KIND_SUBJECT,
	[BM_HOOK_USERNS] = KIND_SUBJECT,     [BM_HOOK_DEVICE] = KIND_SUBJECT,
	[BM_HOOK_SYSCTL] = KIND_SUBJECT,     [BM_HOOK_TASK] = KIND_TASK,
	[BM_HOOK_IPC] = KIND_SUBJECT,        [BM_HOOK_UNIX] = KIND_SUBJECT,
	[BM_HOOK_CLONE] = KIND_SUBJECT,      [BM_HOOK_BPF] = KIND_SUBJECT,
	[BM_HOOK_PERF_EVENT] = KIND_SUBJECT, [BM_HOOK_MODULE] = KIND_SUBJECT,
	[BM_HOOK_KEY] = KIND_SUBJECT,        [BM_HOOK_USERFAULTFD] = KIND_SUBJECT,
	[BM_HOOK_CORE_DUMP] = KIND_SUBJECT,  [BM_HOOK_SYSLOG] = KIND_SUBJECT,
	[BM_HOOK_QUOTA] = KIND_SUBJECT,      [BM_HOOK_BIND] = KIND_SUBJECT,
	[BM_HOOK_RECVMSG] = KIND_NET,        [BM_HOOK_NOT_FOUND] = KIND_FILE,
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == BM_HOOK_MAX, "a kind for each hook");

static bool file_valid(const struct bm_event_file *file, size_t size)
{
	if (size < offsetof(struct bm_event_file, names) || file->name_count > BM_NAMES ||
	    size < offsetof(struct bm_event_file, names) + file->name_count * BM_NAME_LEN ||
	    file->wanted & ~(unsigned int)(BM_R | BM_W | BM_X))
		return false;
	for (unsigned int i = 0; i < file->name_count; i++)
		if (!memchr(file->names[i], '\0', BM_NAME_LEN))
			return false;
	return true;
}

/* Instead of names, as the process gave it. */
static bool is_one_string(const struct bm_event *event)
{
	return event->rule == BM_RULE_EXEC_REFUSED || event->hook == BM_HOOK_NOT_FOUND;
}

static bool event_valid(const struct bm_event *event, size_t size)
{
	size_t rest = size - offsetof(struct bm_event, file);

	if (event->hook >= BM_HOOK_MAX || event->verdict >= BM_VERDICT_MAX ||
	    event->rule >= BM_RULE_MAX || event->error < 0 || event->error > ERRNO_MAX ||
	    !memchr(event->comm, '\0', BM_COMM_LEN) ||
	    !memchr(event->parent_comm, '\0', BM_COMM_LEN) || event->exe_count > BM_EXE_NAMES)
		return false;
	for (unsigned int i = 0; i < event->exe_count; i++)
		if (!memchr(event->exe[i], '\0', BM_NAME_LEN))
			return false;
	switch (kinds[event->hook]) {
	case KIND_FILE:
		if (is_one_string(event) &&
		    !memchr(event->file.names, '\0', sizeof(event->file.names)))
			return false;
		return file_valid(&event->file, rest);
	case KIND_NET:
		return rest >= sizeof(event->net);
	case KIND_ARRIVAL:
		return rest >= sizeof(event->arrival);
	case KIND_SOCKET:
		return rest >= sizeof(event->socket);
	case KIND_SUBJECT:
		return rest >= sizeof(event->subject) &&
		       memchr(event->subject.name, '\0', sizeof(event->subject.name));
	default:
		return rest >= sizeof(event->task);
	}
}

static void add_uint(struct json_object *json, const char *key, uint64_t value)
{
	bm_json_add(json, key, json_object_new_uint64(value));
}

static int add_process(struct json_object *json, const struct bm_event *event)
{
	struct json_object *process = json_object_new_object(), *parent;
	char comm[BM_COMM_LEN * 4 + 4], exe[BM_EXE_LEN];

	if (!process)
		return -ENOMEM;
	bm_json_add(json, "process", process);
	bm_json_add_int(process, "pid", event->pid);
	bm_json_add_int(process, "tid", event->tid);
	bm_json_add_int(process, "uid", event->uid);
	bm_json_add_string(process, "comm", bm_escape(event->comm, comm, sizeof(comm)));
	if (event->inside)
		bm_json_add_int(process, "inside", event->inside);
	if (event->exe_count)
		bm_json_add_string(process, "exe", bm_describe_exe(event, exe));
	if (!event->parent)
		return 0;
	parent = json_object_new_object();
	bm_json_add_int(parent, "pid", event->parent);
	bm_json_add_string(parent, "comm", bm_escape(event->parent_comm, comm, sizeof(comm)));
	bm_json_add(process, "parent", parent);
	return 0;
}

static int add_object(struct json_object *json, const struct bm_event *event, const char *bench)
{
	const struct bm_event_file *file = &event->file;
	struct json_object *object = json_object_new_object();
	char path[BM_PATH_LEN], rights[BM_RIGHTS_LEN], text[BM_GRANT_ID_LEN + 16];

	if (!object)
		return -ENOMEM;
	bm_json_add_string(object, "path",
			   is_one_string(event)
				   ? bm_escape((const char *)file->names, path, sizeof(path))
				   : bm_describe_path(file, path));
	if (file->inode) {
		snprintf(text, sizeof(text), "%u:%u", file->device >> 20, file->device & 0xfffff);
		bm_json_add_string(object, "device", text);
		add_uint(object, "inode", file->inode);
	}
	bm_json_add_string(object, "wanted", bm_rights_name(file->wanted, rights));
	if (file->grant) {
		snprintf(text, sizeof(text), "%s/%u", bench, file->grant);
		bm_json_add_string(object, "grant", text);
	}
	bm_json_add(json, "object", object);
	return 0;
}

static const char *mode_name(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFCHR:
		return "character-device";
	case S_IFBLK:
		return "block-device";
	case S_IFIFO:
		return "pipe";
	case S_IFSOCK:
		return "socket";
	default:
		return mode ? "other" : "closed";
	}
}

static int add_arrival(struct json_object *json, const struct bm_event *event)
{
	struct json_object *arrival = json_object_new_object(), *stdio;

	if (!arrival)
		return -ENOMEM;
	bm_json_add(json, "arrival", arrival);
	if (event->verdict == BM_DENY) {
		bm_json_add_int(arrival, "fd", event->arrival.fd);
		return 0;
	}
	stdio = json_object_new_array();
	if (!stdio)
		return -ENOMEM;
	bm_json_add(arrival, "stdio", stdio);
	for (int i = 0; i < 3; i++)
		json_object_array_add(stdio,
				      json_object_new_string(mode_name(event->arrival.mode[i])));
	return 0;
}

static int add_target(struct json_object *json, const struct bm_event_task *task)
{
	struct json_object *target = json_object_new_object();

	if (!target)
		return -ENOMEM;
	bm_json_add_int(target, "pid", task->target);
	bm_json_add(json, "target", target);
	return 0;
}

static int add_socket(struct json_object *json, const struct bm_event *event)
{
	struct json_object *socket = json_object_new_object();

	if (!socket)
		return -ENOMEM;
	bm_json_add(json, "socket", socket);
	if (event->hook == BM_HOOK_SETSOCKOPT) {
		bm_json_add_int(socket, "level", event->socket.level);
		bm_json_add_int(socket, "option", event->socket.option);
		return 0;
	}
	bm_json_add_int(socket, "family", event->socket.family);
	bm_json_add_int(socket, "type", event->socket.type);
	bm_json_add_int(socket, "protocol", event->socket.protocol);
	return 0;
}

static int add_subject(struct json_object *json, const struct bm_event *event)
{
	struct json_object *subject = json_object_new_object();
	char text[BM_NAME_LEN * 4 + 4];

	if (!subject)
		return -ENOMEM;
	bm_json_add(json, "subject", subject);
	bm_json_add_string(subject, "what", bm_describe_subject(event, text, sizeof(text)));
	return 0;
}

/* An arrival is no grant's doing. */
static bool is_first_use(const struct bm_event *event)
{
	return event->verdict == BM_ALLOW && event->hook != BM_HOOK_ARRIVAL;
}

static void add_first_use(struct json_object *json, const struct bm_event *event, const char *bench)
{
	char text[BM_GRANT_ID_LEN + 16];

	if (!is_first_use(event))
		return;
	bm_json_add_string(json, "type", "first-use");
	snprintf(text, sizeof(text), "%s/%u", bench,
		 kinds[event->hook] == KIND_NET ? event->net.grant : event->file.grant);
	bm_json_add_string(json, "grant", text);
}

static int add_kind(struct json_object *json, const struct bm_event *event, const char *bench)
{
	char text[BM_NET_LEN];

	switch (kinds[event->hook]) {
	case KIND_FILE:
		return add_object(json, event, bench);
	case KIND_NET:
		bm_json_add_string(json, "destination", bm_describe_net(&event->net, text));
		return 0;
	case KIND_ARRIVAL:
		return add_arrival(json, event);
	case KIND_SOCKET:
		return add_socket(json, event);
	case KIND_SUBJECT:
		return add_subject(json, event);
	default:
		return add_target(json, &event->task);
	}
}

int bm_event_to_json(const void *record, size_t size, int64_t realtime_offset_ns,
		     const char *bench_name, struct json_object **ret)
{
	autojson *json = json_object_new_object();
	char time[BM_TIME_LEN], hint[BM_HINT_LEN];
	struct bm_event event = {};
	bool packet;
	int r;

	if (size < offsetof(struct bm_event, file) || size > sizeof(event))
		return -EBADMSG;
	memcpy(&event, record, size);
	if (!event_valid(&event, size))
		return -EBADMSG;
	if (!json)
		return -ENOMEM;
	if (is_first_use(&event) && kinds[event.hook] != KIND_FILE && kinds[event.hook] != KIND_NET)
		return -EBADMSG;
	packet = event.hook == BM_HOOK_EGRESS || event.hook == BM_HOOK_INGRESS;

	bm_json_add_string(json, "schema", SCHEMA);
	add_first_use(json, &event, bench_name);
	bm_json_add_string(json, "time",
			   bm_time_format(event.time_ns + (uint64_t)realtime_offset_ns, time));
	bm_json_add_string(json, "bench", bench_name);
	bm_json_add_int(json, "id", event.bench);
	add_uint(json, "seq", event.seq);
	bm_json_add_string(json, "verdict", bm_verdict_name(event.verdict));
	bm_json_add_string(json, "hook", bm_hook_name(event.hook));
	bm_json_add_string(json, "rule", bm_rule_name(event.rule));
	if (event.error)
		bm_json_add_string(json, "errno", strerrorname_np(event.error) ?: "?");
	r = packet ? 0 : add_process(json, &event);
	if (r == 0)
		r = add_kind(json, &event, bench_name);
	if (r < 0)
		return r;
	if (bm_describe_hint(&event, bench_name, hint))
		bm_json_add_string(json, "hint", hint);
	*ret = json;
	json = NULL;
	return 0;
}

int bm_event_lost(const char *bench_name, uint64_t count, struct json_object **ret)
{
	struct json_object *json = json_object_new_object();

	if (!json)
		return -ENOMEM;
	bm_json_add_string(json, "schema", SCHEMA);
	bm_json_add_string(json, "type", "lost");
	bm_json_add_string(json, "bench", bench_name);
	add_uint(json, "count", count);
	*ret = json;
	return 0;
}

int bm_event_suppressed(const char *bench_name, uint32_t id, uint64_t realtime_ns, uint64_t first,
			uint64_t last, struct json_object **ret)
{
	struct json_object *json = json_object_new_object();
	char time[BM_TIME_LEN];

	if (!json)
		return -ENOMEM;
	bm_json_add_string(json, "schema", SCHEMA);
	bm_json_add_string(json, "type", "suppressed");
	bm_json_add_string(json, "time", bm_time_format(realtime_ns, time));
	bm_json_add_string(json, "bench", bench_name);
	bm_json_add_int(json, "id", id);
	add_uint(json, "first", first);
	add_uint(json, "last", last);
	add_uint(json, "count", last - first + 1);
	*ret = json;
	return 0;
}
