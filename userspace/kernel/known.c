// SPDX-License-Identifier: GPL-2.0-only
/*
 * That the pins are those that were made: whoever can write to bpffs could put a program that
 * allows everything, or a map that is empty, in the place of one of ours, by the same name.
 */
#include "kernel/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PIN_PATH 256
#define KNOWN BM_PIN_DIR "/maps/known"

static int put(int known, const char *pin, const struct bm_known *value)
{
	struct bm_known_key key = {};

	if (strlen(pin) >= sizeof(key.pin))
		return -ENAMETOOLONG;
	memcpy(key.pin, pin, strlen(pin));
	return bpf_map_update_elem(known, &key, value, BPF_ANY);
}

static int look_up(int known, const char *pin, struct bm_known *ret)
{
	struct bm_known_key key = {};

	memcpy(key.pin, pin, strnlen(pin, sizeof(key.pin) - 1));
	return bpf_map_lookup_elem(known, &key, ret);
}

static int of_program(int fd, struct bm_known *ret)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	*ret = (struct bm_known){ .where = info.attach_btf_id };
	memcpy(&ret->what, info.tag, sizeof(ret->what));
	return 0;
}

static int of_map(int fd, struct bm_known *ret)
{
	struct bpf_map_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size) < 0)
		return -errno;
	*ret = (struct bm_known){ .what = info.id };
	return 0;
}

int bm_known_program(int known, const char *pin, int program)
{
	struct bm_known value;
	int r = of_program(program, &value);

	return r < 0 ? r : put(known, pin, &value);
}

int bm_known_map(int known, const char *pin, int map)
{
	struct bm_known value;
	int r = of_map(map, &value);

	return r < 0 ? r : put(known, pin, &value);
}

int bm_known_build(int known, uint64_t build)
{
	return put(known, BM_KNOWN_BUILD, &(struct bm_known){ .what = build });
}

/* What was loaded, and in the midst of a replacement what is to be. */
struct known {
	int now, next; /* next: -1 if there is none */
};

static bool is_known(const struct known *known, const char *pin, const struct bm_known *found)
{
	struct bm_known wanted;

	if (look_up(known->now, pin, &wanted) == 0 && wanted.what == found->what &&
	    wanted.where == found->where)
		return true;
	return known->next >= 0 && look_up(known->next, pin, &wanted) == 0 &&
	       wanted.what == found->what && wanted.where == found->where;
}

static int missing(const char *path, int code, struct bm_error *err)
{
	return bm_fail(err, ESTALE, "pins", BM_STALE_REMEDY, "%s is missing or foreign: %s", path,
		       strerror(code));
}

static int replaced(const char *path, const char *what, struct bm_error *err)
{
	return bm_fail(err, ESTALE, "pins", BM_STALE_REMEDY, "%s holds another %s than was loaded",
		       path, what);
}

static int program_of_link(int link, struct bpf_link_info *ret, struct bm_known *ret_program)
{
	uint32_t size = sizeof(*ret);
	autoclose fd = -1;

	*ret = (struct bpf_link_info){};
	if (bpf_obj_get_info_by_fd(link, ret, &size) < 0)
		return -errno;
	/* A program's descriptor has these fields too, and means something else by them. */
	if (ret->type != BPF_LINK_TYPE_TRACING && ret->type != BPF_LINK_TYPE_RAW_TRACEPOINT &&
	    ret->type != BPF_LINK_TYPE_CGROUP)
		return -EINVAL;
	fd = bpf_prog_get_fd_by_id(ret->prog_id);
	return fd < 0 ? fd : of_program(fd, ret_program);
}

static int check_link(const struct known *known, const char *path, const char *pin,
		      struct bpf_link_info *ret, struct bm_error *err)
{
	autoclose link = bpf_obj_get(path);
	struct bm_known program;

	if (link < 0)
		return missing(path, errno, err);
	if (program_of_link(link, ret, &program) < 0 || !is_known(known, pin, &program))
		return replaced(path, "program", err);
	return 0;
}

static int check_fd(const struct known *known, const char *path, const char *pin,
		    int (*of)(int fd, struct bm_known *ret), const char *what, struct bm_error *err)
{
	autoclose fd = bpf_obj_get(path);
	struct bm_known found;

	if (fd < 0)
		return missing(path, errno, err);
	if (of(fd, &found) < 0 || !is_known(known, pin, &found))
		return replaced(path, what, err);
	return 0;
}

static int check_pin(const struct known *known, const char *pin, struct bm_error *err)
{
	struct bpf_link_info info;
	char path[PIN_PATH];

	snprintf(path, sizeof(path), BM_PIN_DIR "/%s", pin);
	if (!strncmp(pin, "links/", 6))
		return check_link(known, path, pin, &info, err);
	if (!strncmp(pin, "programs/", 9))
		return check_fd(known, path, pin, of_program, "program", err);
	/* It is known by itself: what is in it is checked, and that it is in it. */
	return strncmp(pin, "maps/", 5) ? 0 : check_fd(known, path, pin, of_map, "map", err);
}

/* Those are there only while something is recalled. */
static int check_recall(const struct known *known, struct bm_error *err)
{
	int r = 0;

	for (int i = 0; i < BM_RECALL_PROGRAM_MAX && r == 0; i++) {
		struct bpf_link_info info;
		char path[PIN_PATH], pin[PIN_PATH];

		snprintf(path, sizeof(path), BM_PIN_DIR "/links/%s", bm_recall_programs[i]);
		snprintf(pin, sizeof(pin), "programs/%s", bm_recall_programs[i]);
		if (access(path, F_OK) == 0)
			r = check_link(known, path, pin, &info, err);
	}
	return r;
}

static int open_known(struct known *ret, struct bm_error *err)
{
	struct bm_known build;

	ret->next = -1;
	ret->now = bpf_obj_get(KNOWN);
	if (ret->now < 0)
		return missing(KNOWN, errno, err);
	if (look_up(ret->now, BM_KNOWN_BUILD, &build) < 0)
		return replaced(KNOWN, "map", err);
	ret->next = bpf_obj_get(BM_KNOWN_NEXT);
	return 0;
}

static void close_known(struct known *known)
{
	bm_close(known->now);
	bm_close(known->next);
}

int bm_known_check(struct bm_error *err)
{
	__attribute__((cleanup(close_known))) struct known known = { -1, -1 };
	struct bm_known_key key, *at = NULL;
	int r = open_known(&known, err);

	while (r == 0 && bpf_map_get_next_key(known.now, at, &key) == 0) {
		at = &key;
		r = check_pin(&known, key.pin, err);
	}
	return r < 0 ? r : check_recall(&known, err);
}

int bm_known_check_link(const char *path, const char *pin, struct bpf_link_info *ret,
			struct bm_error *err)
{
	__attribute__((cleanup(close_known))) struct known known = { -1, -1 };
	int r = open_known(&known, err);

	return r < 0 ? r : check_link(&known, path, pin, ret, err);
}
