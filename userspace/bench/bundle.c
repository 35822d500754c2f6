// SPDX-License-Identifier: GPL-2.0-only
#include "bench/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/personality.h>

#include "base/io.h"
#include "base/json.h"
#include "bench/syscalls.h"

#define ID_COUNT 65536
#define CPU_PERIOD_US 100000

const char *const bm_capabilities[] = {
	"CAP_AUDIT_WRITE", "CAP_CHOWN",   "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
	"CAP_KILL",        "CAP_SETFCAP", "CAP_SETGID",       "CAP_SETUID", "CAP_NET_BIND_SERVICE",
	"CAP_SYS_CHROOT",  NULL,
};

static struct json_object *strings(const char *const *list)
{
	struct json_object *array = json_object_new_array();

	for (; *list; list++)
		json_object_array_add(array, json_object_new_string(*list));
	return array;
}
#define STRINGS(...) strings((const char *const[]){ __VA_ARGS__, NULL })

static struct json_object *process(void)
{
	struct json_object *json = json_object_new_object(), *user = json_object_new_object(),
			   *caps = json_object_new_object();
	static const char *const sets[] = { "bounding", "effective", "permitted" };

	bm_json_add_int(user, "uid", 0);
	bm_json_add_int(user, "gid", 0);
	bm_json_add(json, "user", user);
	bm_json_add(json, "args", STRINGS("/" BM_HOLDER));
	bm_json_add(json, "env", STRINGS("PATH=/usr/bin:/bin"));
	bm_json_add_string(json, "cwd", "/");
	bm_json_add_bool(json, "noNewPrivileges", true);
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		bm_json_add(caps, sets[i], strings(bm_capabilities));
	bm_json_add(json, "capabilities", caps);
	return json;
}

static struct json_object *mount_of(const char *target, const char *type, const char *source,
				    struct json_object *options)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "destination", target);
	bm_json_add_string(json, "type", type);
	bm_json_add_string(json, "source", source);
	bm_json_add(json, "options", options);
	return json;
}

static struct json_object *mounts(const struct bm_bundle *bundle)
{
	struct json_object *list = json_object_new_array();

	json_object_array_add(
		list, mount_of("/proc", "proc", "proc", STRINGS("nosuid", "noexec", "nodev")));
	json_object_array_add(list, mount_of("/dev", "tmpfs", "tmpfs",
					     STRINGS("nosuid", "noexec", "mode=755", "size=64k")));
	json_object_array_add(list, mount_of("/dev/pts", "devpts", "devpts",
					     STRINGS("nosuid", "noexec", "newinstance",
						     "ptmxmode=0666", "mode=0620", "gid=5")));
	json_object_array_add(
		list, mount_of("/dev/shm", "tmpfs", "shm",
			       STRINGS("nosuid", "noexec", "nodev", "mode=1777", "size=64m")));
	json_object_array_add(list, mount_of("/dev/mqueue", "mqueue", "mqueue",
					     STRINGS("nosuid", "noexec", "nodev")));
	if (bundle->image)
		json_object_array_add(list, mount_of("/tmp", "tmpfs", "tmpfs",
						     STRINGS("nosuid", "noexec", "nodev",
							     "mode=1777", "size=64m")));
	json_object_array_add(list,
			      mount_of("/work", "bind", bundle->scratch,
				       bundle->image ? STRINGS("bind", "nosuid", "nodev", "noexec")
						     : STRINGS("bind", "nosuid", "nodev")));
	return list;
}

static struct json_object *id_map(uint32_t base)
{
	struct json_object *list = json_object_new_array(), *map = json_object_new_object();

	bm_json_add_int(map, "containerID", 0);
	bm_json_add_int(map, "hostID", base);
	bm_json_add_int(map, "size", ID_COUNT);
	json_object_array_add(list, map);
	return list;
}

static struct json_object *namespaces(void)
{
	static const char *const types[] = { "pid",  "ipc",     "uts",   "mount",
					     "user", "network", "cgroup" };
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct json_object *ns = json_object_new_object();

		bm_json_add_string(ns, "type", types[i]);
		json_object_array_add(list, ns);
	}
	return list;
}

static struct json_object *resources(const struct bm_limits *limits)
{
	struct json_object *json = json_object_new_object(), *part;

	if (limits->memory) {
		part = json_object_new_object();
		bm_json_add_int(part, "limit", (int64_t)limits->memory);
		/* Memory and swap together: no swap on top. */
		bm_json_add_int(part, "swap", (int64_t)limits->memory);
		bm_json_add(json, "memory", part);
	}
	if (limits->pids) {
		part = json_object_new_object();
		bm_json_add_int(part, "limit", (int64_t)limits->pids);
		bm_json_add(json, "pids", part);
	}
	if (limits->cpus) {
		part = json_object_new_object();
		bm_json_add_int(part, "period", CPU_PERIOD_US);
		bm_json_add_int(part, "quota", (int64_t)(limits->cpus * CPU_PERIOD_US / 1000));
		bm_json_add(json, "cpu", part);
	}
	return json;
}

static struct json_object *denied(struct json_object *names, int code)
{
	struct json_object *rule = json_object_new_object();

	bm_json_add(rule, "names", names);
	bm_json_add_string(rule, "action", "SCMP_ACT_ERRNO");
	bm_json_add_int(rule, "errnoRet", code);
	return rule;
}

static struct json_object *masked(int index, uint32_t mask, uint32_t value)
{
	struct json_object *arg = json_object_new_object();

	bm_json_add_int(arg, "index", index);
	bm_json_add_int(arg, "value", mask);
	bm_json_add_int(arg, "valueTwo", value);
	bm_json_add_string(arg, "op", "SCMP_CMP_MASKED_EQ");
	return arg;
}

static void add_personality(struct json_object *list)
{
	for (unsigned int bit = 0; bit < BM_PERSONALITY_BITS; bit++) {
		struct json_object *rule, *args;

		if (1u << bit == READ_IMPLIES_EXEC)
			continue;
		rule = denied(STRINGS("personality"), EPERM);
		args = json_object_new_array();
		json_object_array_add(args,
				      masked(0, READ_IMPLIES_EXEC | 1u << bit, READ_IMPLIES_EXEC));
		bm_json_add(rule, "args", args);
		json_object_array_add(list, rule);
	}
}

static void add_userns(struct json_object *list)
{
	struct json_object *args = json_object_new_array(),
			   *clone = denied(STRINGS("clone"), EPERM);

	json_object_array_add(list, denied(strings(bm_denied_without_userns), EPERM));
	json_object_array_add(list, denied(STRINGS("clone3"), ENOSYS));
	json_object_array_add(args, masked(0, CLONE_NEWUSER, CLONE_NEWUSER));
	bm_json_add(clone, "args", args);
	json_object_array_add(list, clone);
}

/* The same filter as bm_syscalls_deny(). */
static struct json_object *seccomp(const struct bm_bundle *bundle)
{
	struct json_object *json = json_object_new_object(), *list = json_object_new_array();

	bm_json_add_string(json, "defaultAction", "SCMP_ACT_ALLOW");
	bm_json_add(json, "architectures",
		    STRINGS("SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"));
	json_object_array_add(list, denied(strings(bm_denied_syscalls), EPERM));
	if (!bundle->userns)
		add_userns(list);
	if (bundle->image) {
		json_object_array_add(list, denied(strings(bm_denied_in_image), EPERM));
		add_personality(list);
	}
	bm_json_add(json, "syscalls", list);
	return json;
}

static struct json_object *linux_part(const struct bm_bundle *bundle)
{
	struct json_object *json = json_object_new_object();

	bm_json_add(json, "namespaces", namespaces());
	bm_json_add(json, "uidMappings", id_map(bundle->id_base));
	bm_json_add(json, "gidMappings", id_map(bundle->id_base));
	bm_json_add_string(json, "cgroupsPath", bundle->cgroup);
	bm_json_add(json, "resources", resources(&bundle->limits));
	bm_json_add(json, "seccomp", seccomp(bundle));
	bm_json_add(json, "maskedPaths",
		    STRINGS("/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
			    "/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug",
			    "/proc/scsi", "/proc/kallsyms", "/proc/kmsg", "/proc/config.gz"));
	bm_json_add(
		json, "readonlyPaths",
		STRINGS("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"));
	return json;
}

int bm_bundle_write(int dir, const struct bm_bundle *bundle, struct bm_error *err)
{
	autojson *json = json_object_new_object();
	struct json_object *root = json_object_new_object();
	int r;

	bm_json_add_string(json, "ociVersion", "1.0.0");
	bm_json_add_string(root, "path", bundle->rootfs);
	bm_json_add_bool(root, "readonly", bundle->image);
	bm_json_add(json, "root", root);
	bm_json_add_string(json, "hostname", bundle->name);
	bm_json_add(json, "process", process());
	bm_json_add(json, "mounts", mounts(bundle));
	bm_json_add(json, "linux", linux_part(bundle));
	r = bm_write_file(dir, "config.json", O_CREAT | O_TRUNC, 0600,
			  json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY));
	return r < 0 ? bm_fail_errno(err, -r, "config.json") : 0;
}
