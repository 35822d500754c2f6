// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/tells.h"

#include <errno.h>
#include <string.h>

#include "kernel/internal.h"

/*
 * Sizes and load of the machine are here since nproc, malloc and every JVM ask for them. Not here:
 * names of its hardware, disks, modules, users and processes, addresses in its kernel, its boot id
 * and its host name.
 */
const struct bm_tells_path bm_tells_paths[] = {
	{ "/proc/self", BM_TELLS_EXACT },
	{ "/proc/thread-self", BM_TELLS_EXACT },
	{ "/proc/mounts", BM_TELLS_EXACT },
	{ "/proc/net", BM_TELLS_EXACT },
	{ "/proc/filesystems", BM_TELLS_EXACT },
	{ "/proc/cgroups", BM_TELLS_EXACT },
	{ "/proc/cpuinfo", BM_TELLS_EXACT },
	{ "/proc/meminfo", BM_TELLS_EXACT },
	{ "/proc/stat", BM_TELLS_EXACT },
	{ "/proc/loadavg", BM_TELLS_EXACT },
	{ "/proc/uptime", BM_TELLS_EXACT },
	{ "/proc/version", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/osrelease", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/ostype", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/version", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/cap_last_cap", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/ngroups_max", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/pid_max", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/threads-max", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/overflowuid", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/overflowgid", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/shmmax", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/shmall", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/shmmni", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/sem", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/msgmax", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/msgmnb", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/msgmni", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/random/uuid", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/random/entropy_avail", BM_TELLS_EXACT },
	{ "/proc/sys/kernel/random/poolsize", BM_TELLS_EXACT },
	{ "/proc/sys/vm/overcommit_memory", BM_TELLS_EXACT },
	{ "/proc/sys/vm/overcommit_ratio", BM_TELLS_EXACT },
	{ "/proc/sys/vm/overcommit_kbytes", BM_TELLS_EXACT },
	{ "/proc/sys/vm/max_map_count", BM_TELLS_EXACT },
	{ "/proc/sys/vm/mmap_min_addr", BM_TELLS_EXACT },
	{ "/proc/sys/fs/file-max", BM_TELLS_EXACT },
	{ "/proc/sys/fs/nr_open", BM_TELLS_EXACT },
	{ "/proc/sys/fs/pipe-max-size", BM_TELLS_EXACT },
	{ "/proc/sys/fs/aio-max-nr", BM_TELLS_EXACT },
	{ "/proc/sys/fs/inotify/max_queued_events", BM_TELLS_EXACT },
	{ "/proc/sys/fs/inotify/max_user_instances", BM_TELLS_EXACT },
	{ "/proc/sys/fs/inotify/max_user_watches", BM_TELLS_EXACT },
	{ "/proc/sys/fs/mqueue/msg_max", BM_TELLS_EXACT },
	{ "/proc/sys/fs/mqueue/msgsize_max", BM_TELLS_EXACT },
	{ "/proc/sys/fs/mqueue/queues_max", BM_TELLS_EXACT },
	{ "/proc/sys/crypto/fips_enabled", BM_TELLS_EXACT },
	{ "/proc/sys/net/core/somaxconn", BM_TELLS_EXACT },
	{ "/proc/sys/net/core/rmem_default", BM_TELLS_EXACT },
	{ "/proc/sys/net/core/rmem_max", BM_TELLS_EXACT },
	{ "/proc/sys/net/core/wmem_default", BM_TELLS_EXACT },
	{ "/proc/sys/net/core/wmem_max", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/ip_local_port_range", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/ip_unprivileged_port_start", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_rmem", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_wmem", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_fin_timeout", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_keepalive_time", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_keepalive_intvl", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_keepalive_probes", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_max_syn_backlog", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv4/tcp_congestion_control", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv6/bindv6only", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv6/conf/all/disable_ipv6", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv6/conf/default/disable_ipv6", BM_TELLS_EXACT },
	{ "/proc/sys/net/ipv6/conf/lo/disable_ipv6", BM_TELLS_EXACT },
	{ "/sys/devices/system/cpu", BM_TELLS_BELOW },
	{ "/sys/devices/system/node", BM_TELLS_BELOW },
	{ "/sys/devices/system/cpu/crash_notes", BM_TELLS_NEVER },
	{ "/sys/kernel/mm/transparent_hugepage", BM_TELLS_BELOW },
	{ "/sys/kernel/mm/hugepages", BM_TELLS_BELOW },
	{ "/sys/fs/cgroup", BM_TELLS_EXACT },
};
const size_t bm_tells_count = sizeof(bm_tells_paths) / sizeof(bm_tells_paths[0]);

struct filling {
	int map;
	uint32_t next; /* number of the next node */
};

/* The node of a name in parent, made when it is not there; the last of a path is of its kind. */
static int put(struct filling *filling, struct bm_tells_key *key, const enum bm_tells_kind *kind)
{
	struct bm_tells value = { .node = filling->next, .kind = BM_TELLS_EXACT };
	int r = bpf_map_lookup_elem(filling->map, key, &value);

	if (r == -ENOENT)
		value.node = filling->next++;
	else if (r < 0)
		return r;
	if (kind)
		value.kind = *kind;
	if (r == -ENOENT || kind)
		r = bpf_map_update_elem(filling->map, key, &value, BPF_ANY);
	key->parent = value.node;
	return r;
}

static int put_path(struct filling *filling, const struct bm_tells_path *path)
{
	bool proc = !strncmp(path->path, "/proc/", 6);
	const char *name = path->path + (proc ? 6 : strlen("/sys/"));
	struct bm_tells_key key = { .parent = proc ? BM_TELLS_PROC : BM_TELLS_SYSFS };
	int r = 0;

	while (r == 0 && *name) {
		size_t len = strcspn(name, "/");
		bool last = !name[len];

		if (len >= sizeof(key.name))
			return -ENAMETOOLONG;
		memset(key.name, 0, sizeof(key.name));
		memcpy(key.name, name, len);
		r = put(filling, &key, last ? &path->kind : NULL);
		name += len + !last;
	}
	return r;
}

int bm_tells_fill(int map)
{
	struct filling filling = { map, BM_TELLS_FREE };
	int r = 0;

	for (size_t i = 0; r == 0 && i < bm_tells_count; i++)
		r = put_path(&filling, &bm_tells_paths[i]);
	return r < 0 ? r : bpf_map_freeze(map);
}
