// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include <bpf/btf.h>
#include <linux/magic.h>

#include "base/io.h"
#include "kernel/probe.h"
#include "skel/benchmon.skel.h"

/* bpffs keeps names with a dot for itself: looking one up is EPERM. */
#define NEW_DIR BM_BPFFS "/benchmon-new"
#define PIN_PATH 256
#define STALE_REMEDY "`gatekeeperd --unload --force` ends every Bench and loads anew"

const struct bm_cgroup_program bm_cgroup_programs[BM_CGROUP_PROGRAM_MAX] = {
#define X(name, type) { #name, type },
	BM_CGROUP_PROGRAMS(X)
#undef X
};

static char said[2048];

static int keep_print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	size_t len = strlen(said);

	if (level == LIBBPF_WARN && len + 1 < sizeof(said))
		vsnprintf(said + len, sizeof(said) - len, fmt, ap);
	return 0;
}

void bm_libbpf_capture(void)
{
	said[0] = '\0';
	libbpf_set_print(keep_print);
}

const char *bm_libbpf_said(void)
{
	for (char *p = said; *p; p++)
		if (*p == '\n')
			*p = p[1] ? '|' : '\0';
	return said;
}

int bm_unpin_tree(int parent, const char *name)
{
	autoclosedir DIR *dir = NULL;
	autoclose fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct dirent *entry;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	TAKE_FD(fd);
	while ((entry = readdir(dir))) {
		int r = 0;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (entry->d_type == DT_DIR)
			r = bm_unpin_tree(dirfd(dir), entry->d_name);
		else if (unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			r = -errno;
		if (r < 0)
			return r;
	}
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

/*
 * Programs that not every kernel has a place for: by the hook's function in BTF, and where its
 * signature changed by its number of arguments. One that is left out for lack of the hook loses
 * nothing: what the hook would see came, or comes, to another.
 */
static const struct {
	const char *program;
	const char *function;
	unsigned arguments; /* 0: any */
} variants[] = {
	{ "bm_refused", "do_open_execat", 0 },
	{ "bm_setattr_2", "bpf_lsm_inode_setattr", 2 },
	{ "bm_setattr_3", "bpf_lsm_inode_setattr", 3 },
	{ "bm_ftruncate", "bpf_lsm_file_truncate", 0 },
	{ "bm_set_acl", "bpf_lsm_inode_set_acl", 0 },
	{ "bm_remove_acl", "bpf_lsm_inode_remove_acl", 0 },
	{ "bm_get_acl", "bpf_lsm_inode_get_acl", 0 },
	{ "bm_set_flags", "bpf_lsm_inode_file_setattr", 0 },
	{ "bm_get_flags", "bpf_lsm_inode_file_getattr", 0 },
	{ "bm_ioctl_compat", "bpf_lsm_file_ioctl_compat", 0 },
	{ "bm_pidfd_compat", "bpf_lsm_file_ioctl_compat", 0 },
	{ "bm_async_compat", "bpf_lsm_file_ioctl_compat", 0 },
	{ "bm_setown_compat", "bpf_lsm_file_ioctl_compat", 0 },
	{ "bm_personality", "__x64_sys_personality", 0 },
	{ "bm_personality_32", "__ia32_sys_personality", 0 },
	{ "bm_stack", "setup_arg_pages", 0 },
};

/* The number of arguments of a function in the kernel's BTF; -ENOENT. */
static int arguments_of(const struct btf *btf, const char *function)
{
	int id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC);
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	type = type ? btf__type_by_id(btf, type->type) : NULL;
	return type ? btf_vlen(type) : -ENOENT;
}

/* What runs at each tick of a CPU's clock, called so since 6.10. */
static int choose_tick(const struct btf *btf, struct bpf_object *object)
{
	struct bpf_program *tick = bpf_object__find_program_by_name(object, "bm_tick");

	if (arguments_of(btf, "sched_tick") >= 0)
		return 0;
	return bpf_program__set_attach_target(tick, 0, "scheduler_tick");
}

int bm_choose_programs(struct bpf_object *object)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int r = 0;

	if (!btf)
		return -errno;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]) && r == 0; i++) {
		int arguments = arguments_of(btf, variants[i].function);
		bool fits = arguments >= 0 &&
			    (!variants[i].arguments || arguments == (int)variants[i].arguments);

		r = bpf_program__set_autoload(
			bpf_object__find_program_by_name(object, variants[i].program), fits);
	}
	if (r == 0)
		r = choose_tick(btf, object);
	btf__free(btf);
	return r;
}

static int pin_maps(struct benchmon *skel, struct bm_error *err)
{
	struct bpf_map *map;
	int r;

	if (mkdir(NEW_DIR "/maps", 0700) < 0)
		return bm_fail_errno(err, errno, NEW_DIR "/maps");
	bpf_object__for_each_map(map, skel->obj) {
		char path[PIN_PATH];
		bool config = map == skel->maps.bss;

		if (bpf_map__is_internal(map) && !config)
			continue;
		snprintf(path, sizeof(path), NEW_DIR "/maps/%s",
			 config ? "config" : bpf_map__name(map));
		r = bpf_map__pin(map, path);
		if (r < 0)
			return bm_fail_errno(err, -r, "pin %s", path);
	}
	return 0;
}

/* Attached for good; an iterator is only ever read. */
static bool is_hook(const struct bpf_program *program)
{
	enum bpf_prog_type type = bpf_program__type(program);

	return !bm_recall_program(program) &&
	       (type == BPF_PROG_TYPE_LSM ||
		(type == BPF_PROG_TYPE_TRACING &&
		 bpf_program__expected_attach_type(program) != BPF_TRACE_ITER));
}

/*
 * LSM and tracing programs are attached here and for all; cgroup programs wait for a Bench, those
 * of a recall for a revocation.
 */
static int pin_program(struct bpf_program *program, struct bm_error *err)
{
	const char *name = bpf_program__name(program) + strlen("bm_");
	char path[PIN_PATH];
	struct bpf_link *link;
	int r;

	if (!bpf_program__autoload(program))
		return 0;
	if (is_hook(program)) {
		link = bpf_program__attach(program);
		r = libbpf_get_error(link);
		/* It only records. A kernel that has it inlined still enforces. */
		if (r < 0 && !strcmp(name, "refused"))
			return 0;
		if (r < 0)
			return bm_fail(err, -r, "kernel", "run `benchmon doctor`",
				       "attach %s: %s (%s)", name, strerror(-r), bm_libbpf_said());
		snprintf(path, sizeof(path), NEW_DIR "/links/%s", name);
		r = bpf_link__pin(link, path);
		bpf_link__destroy(link);
	} else {
		snprintf(path, sizeof(path), NEW_DIR "/programs/%s", name);
		r = bpf_program__pin(program, path);
	}
	return r < 0 ? bm_fail_errno(err, -r, "pin %s", path) : 0;
}

static int pin_all(struct benchmon *skel, struct bm_error *err)
{
	struct bpf_program *program;
	int r;

	if (mkdir(NEW_DIR, 0700) < 0 || mkdir(NEW_DIR "/links", 0700) < 0 ||
	    mkdir(NEW_DIR "/programs", 0700) < 0 || mkdir(NEW_DIR "/benches", 0700) < 0)
		return bm_fail_errno(err, errno, NEW_DIR);
	r = pin_maps(skel, err);
	if (r < 0)
		return r;
	bpf_object__for_each_program(program, skel->obj) {
		r = pin_program(program, err);
		if (r < 0)
			return r;
	}
	if (rename(NEW_DIR, BM_PIN_DIR) < 0)
		return bm_fail_errno(err, errno, "rename %s to %s", NEW_DIR, BM_PIN_DIR);
	return 0;
}

/* What tells of the host and what does not, before a program could ask. */
static int know_host(struct benchmon *skel, struct bm_error *err)
{
	struct stat st;
	int r;

	if (stat("/proc/1/ns/net", &st) < 0)
		return bm_fail_errno(err, errno, "/proc/1/ns/net");
	skel->bss->config.host_net = (uint32_t)st.st_ino;
	r = bm_tells_fill(bpf_map__fd(skel->maps.tells));
	return r < 0 ? bm_fail_errno(err, -r, "tells") : 0;
}

static int load(struct bm_error *err)
{
	struct benchmon *skel;
	int r = bm_probe_enforces(err);

	if (r < 0)
		return r;
	bm_libbpf_capture();
	skel = benchmon__open();
	if (!skel)
		return bm_fail_errno(err, errno, "BPF object");
	r = bm_choose_programs(skel->obj);
	if (r == 0)
		r = benchmon__load(skel);
	if (r < 0) {
		bm_fail(err, -r, "kernel", "run `benchmon doctor` for the reason",
			"the kernel takes no BPF LSM programs: %s (%.200s)", strerror(-r),
			bm_libbpf_said());
	} else {
		skel->bss->config.abi = BM_ABI_VERSION;
		/* Marks end with the machine; ids in the ledger do not. Never the same id twice. */
		skel->bss->config.next_object = bm_now_ns(CLOCK_REALTIME) / 1000;
		r = know_host(skel, err);
		if (r == 0)
			r = pin_all(skel, err);
	}
	benchmon__destroy(skel);
	if (r < 0)
		bm_unpin_tree(AT_FDCWD, NEW_DIR);
	return r;
}

static int open_pin(const char *kind, const char *name, int *ret_fd, struct bm_error *err)
{
	char path[PIN_PATH];
	int fd;

	snprintf(path, sizeof(path), BM_PIN_DIR "/%s/%s", kind, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		return bm_fail(err, ESTALE, "pins", STALE_REMEDY, "%s is missing or foreign: %s",
			       path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int map_config(struct bm_kernel *kernel, struct bm_error *err)
{
	autoclose fd = -1;
	void *memory;
	int r = open_pin("maps", "config", &fd, err);

	if (r < 0)
		return r;
	memory = mmap(NULL, sizeof(struct bm_config), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return bm_fail_errno(err, errno, "map config");
	kernel->config = memory;
	if (kernel->config->abi != BM_ABI_VERSION)
		return bm_fail(err, ESTALE, "pins", STALE_REMEDY,
			       "the programs in the kernel are of ABI %u, this is ABI %u",
			       kernel->config->abi, BM_ABI_VERSION);
	return 0;
}

/* A link that is missing is a hook that does not enforce. */
static int check_link(const struct bpf_program *program, struct bm_error *err)
{
	const char *name = bpf_program__name(program);
	struct bpf_link_info link_info = {};
	struct bpf_prog_info info = {};
	uint32_t link_size = sizeof(link_info), size = sizeof(info);
	autoclose link = -1, fd = -1;
	int r = open_pin("links", name + strlen("bm_"), &link, err);

	if (r < 0)
		return r;
	if (bpf_obj_get_info_by_fd(link, &link_info, &link_size) < 0 ||
	    (fd = bpf_prog_get_fd_by_id(link_info.prog_id)) < 0 ||
	    bpf_obj_get_info_by_fd(fd, &info, &size) < 0 ||
	    info.type != (uint32_t)bpf_program__type(program) ||
	    strncmp(info.name, name, sizeof(info.name) - 1))
		return bm_fail(err, ESTALE, "pins", STALE_REMEDY,
			       BM_PIN_DIR "/links/%s is not what it should be", name);
	return 0;
}

static int check_links(struct bm_error *err)
{
	struct benchmon *skel = benchmon__open();
	struct bpf_program *program;
	int r = 0;

	if (!skel)
		return bm_fail_errno(err, errno, "BPF object");
	r = bm_choose_programs(skel->obj);
	bpf_object__for_each_program(program, skel->obj) {
		if (r < 0 || !bpf_program__autoload(program) || program == skel->progs.bm_refused ||
		    !is_hook(program))
			continue;
		r = check_link(program, err);
	}
	benchmon__destroy(skel);
	return r;
}

static int adopt(struct bm_kernel *kernel, struct bm_error *err)
{
	int r = map_config(kernel, err);

	if (r == 0)
		r = check_links(err);
	if (r < 0)
		return r;
#define X(name)                                                                                    \
	r = open_pin("maps", #name, &kernel->map.name, err);                                       \
	if (r < 0)                                                                                 \
		return r;
	BM_MAPS(X)
#undef X
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++) {
		r = open_pin("programs", bm_cgroup_programs[i].name, &kernel->program[i], err);
		if (r < 0)
			return r;
	}
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++) {
		r = open_pin("programs", bm_recall_programs[i], &kernel->recall[i], err);
		if (r < 0)
			return r;
	}
	r = open_pin("programs", "queued_list", &kernel->queued_list, err);
	if (r == 0)
		r = open_pin("programs", "strangers", &kernel->strangers, err);
	return r < 0 ? r : open_pin("programs", "socket_cgroups", &kernel->socket_cgroups, err);
}

int bm_kernel_open(struct bm_kernel **ret, struct bm_error *err)
{
	__attribute__((cleanup(bm_kernel_closep))) struct bm_kernel *kernel =
		calloc(1, sizeof(*kernel));
	struct statfs fs;
	int r;

	if (!kernel)
		return bm_fail_errno(err, ENOMEM, "kernel");
	memset(&kernel->map, 0xff, sizeof(kernel->map));
	memset(kernel->program, 0xff, sizeof(kernel->program));
	memset(kernel->recall, 0xff, sizeof(kernel->recall));
	kernel->queued_list = kernel->strangers = kernel->socket_cgroups = -1;
	if (statfs(BM_BPFFS, &fs) < 0 || fs.f_type != BPF_FS_MAGIC)
		return bm_fail(err, ENOENT, "kernel", "mount -t bpf bpf " BM_BPFFS,
			       "no bpffs at " BM_BPFFS);
	r = bm_unpin_tree(AT_FDCWD, NEW_DIR);
	if (r < 0)
		return bm_fail_errno(err, -r, "remove " NEW_DIR);
	if (access(BM_PIN_DIR, F_OK) < 0) {
		r = load(err);
		if (r < 0)
			return r;
	}
	r = adopt(kernel, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(kernel);
	return 0;
}

void bm_kernel_close(struct bm_kernel *kernel)
{
	if (!kernel)
		return;
	ring_buffer__free(kernel->ring);
	if (kernel->config)
		munmap((void *)(uintptr_t)kernel->config, sizeof(struct bm_config));
#define X(name) bm_close(kernel->map.name);
	BM_MAPS(X)
#undef X
	for (int i = 0; i < BM_CGROUP_PROGRAM_MAX; i++)
		bm_close(kernel->program[i]);
	for (int i = 0; i < BM_RECALL_PROGRAM_MAX; i++)
		bm_close(kernel->recall[i]);
	bm_close(kernel->queued_list);
	bm_close(kernel->strangers);
	bm_close(kernel->socket_cgroups);
	free(kernel);
}

int bm_kernel_unload(bool force, struct bm_error *err)
{
	autoclose benches = bpf_obj_get(BM_PIN_DIR "/maps/benches");
	uint64_t key;
	int r;

	if (!force && benches >= 0 && bpf_map_get_next_key(benches, NULL, &key) == 0)
		return bm_fail(err, EBUSY, "unload", "destroy or detach them first",
			       "there are Benches in the kernel's tables");
	/* In one step out of the way: what is left half removed is never adopted. */
	r = bm_unpin_tree(AT_FDCWD, NEW_DIR);
	if (r == 0 && rename(BM_PIN_DIR, NEW_DIR) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0)
		r = bm_unpin_tree(AT_FDCWD, NEW_DIR);
	return r < 0 ? bm_fail_errno(err, -r, "remove " BM_PIN_DIR) : 0;
}
