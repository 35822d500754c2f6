// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <bpf/btf.h>

#include "base/io.h"
#include "base/step.h"
#include "kernel/probe.h"
#include "skel/benchmon.skel.h"

#define PIN_PATH 256

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
	{ "bm_seek_open", "do_filp_open", 3 },
	{ "bm_seek_lookup", "filename_lookup", 5 },
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
	int known = bpf_map__fd(skel->maps.known);
	struct bpf_map *map;
	int r;

	if (mkdir(BM_PIN_NEW "/maps", 0700) < 0)
		return bm_fail_errno(err, errno, BM_PIN_NEW "/maps");
	bpf_object__for_each_map(map, skel->obj) {
		char path[PIN_PATH];
		bool config = map == skel->maps.bss;

		if (bpf_map__is_internal(map) && !config)
			continue;
		snprintf(path, sizeof(path), BM_PIN_NEW "/maps/%s",
			 config ? "config" : bpf_map__name(map));
		r = bpf_map__pin(map, path);
		if (r == 0)
			r = bm_known_map(known, path + strlen(BM_PIN_NEW "/"), bpf_map__fd(map));
		if (r < 0)
			return bm_fail_errno(err, -r, "pin %s", path);
	}
	return 0;
}

/* Attached for good; an iterator is only ever read. */
bool bm_is_hook(const struct bpf_program *program)
{
	enum bpf_prog_type type = bpf_program__type(program);

	return !bm_recall_program(program) && !bm_why_program(program) &&
	       !bm_seek_program(program) &&
	       (type == BPF_PROG_TYPE_LSM ||
		(type == BPF_PROG_TYPE_TRACING &&
		 bpf_program__expected_attach_type(program) != BPF_TRACE_ITER));
}

/*
 * LSM and tracing programs are attached here and for all; cgroup programs wait for a Bench, those
 * of a recall for a revocation.
 */
static int pin_program(struct bpf_program *program, int known, struct bm_error *err)
{
	const char *name = bpf_program__name(program) + strlen("bm_");
	char path[PIN_PATH];
	struct bpf_link *link;
	int r;

	if (!bpf_program__autoload(program))
		return 0;
	if (bm_is_hook(program)) {
		link = bpf_program__attach(program);
		r = libbpf_get_error(link);
		/* It only records. A kernel that has it inlined still enforces. */
		if (r < 0 && !strcmp(name, "refused"))
			return 0;
		if (r < 0)
			return bm_fail(err, -r, "kernel", "run `benchmon doctor`",
				       "attach %s: %s (%s)", name, strerror(-r), bm_libbpf_said());
		snprintf(path, sizeof(path), BM_PIN_NEW "/links/%s", name);
		r = bpf_link__pin(link, path);
		bpf_link__destroy(link);
	} else {
		snprintf(path, sizeof(path), BM_PIN_NEW "/programs/%s", name);
		r = bpf_program__pin(program, path);
	}
	if (r == 0)
		r = bm_known_program(known, path + strlen(BM_PIN_NEW "/"),
				     bpf_program__fd(program));
	return r < 0 ? bm_fail_errno(err, -r, "pin %s", path) : 0;
}

int bm_pin_all(struct benchmon *skel, struct bm_error *err)
{
	int known = bpf_map__fd(skel->maps.known);
	struct bpf_program *program;
	int r;

	if (mkdir(BM_PIN_NEW, 0700) < 0 || mkdir(BM_PIN_NEW "/links", 0700) < 0 ||
	    mkdir(BM_PIN_NEW "/programs", 0700) < 0 || mkdir(BM_PIN_NEW "/benches", 0700) < 0)
		return bm_fail_errno(err, errno, BM_PIN_NEW);
	r = pin_maps(skel, err);
	STEP(LOAD_MAPS);
	if (r < 0)
		return r;
	bpf_object__for_each_program(program, skel->obj) {
		r = pin_program(program, known, err);
		if (r < 0)
			return r;
	}
	r = bm_known_build(known, bm_build());
	STEP(LOAD_PINNED);
	return r < 0 ? bm_fail_errno(err, -r, "known") : 0;
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

uint64_t bm_build(void)
{
	const uint8_t *bytes;
	uint64_t hash = 0xcbf29ce484222325;
	size_t size = 0;

	/* FNV-1a: told apart is what two builds have made of the sources, not what somebody forges.
	 */
	bytes = benchmon__elf_bytes(&size);
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

int bm_load(struct bm_error *err)
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
			r = bm_pin_all(skel, err);
		if (r == 0 && rename(BM_PIN_NEW, BM_PIN_DIR) < 0)
			r = bm_fail_errno(err, errno, "rename " BM_PIN_NEW " to " BM_PIN_DIR);
		STEP(LOAD_NAMED);
	}
	benchmon__destroy(skel);
	if (r < 0)
		bm_unpin_tree(AT_FDCWD, BM_PIN_NEW);
	return r;
}
