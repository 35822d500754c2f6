// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fills a hash of the kernel's with entries of zeros whose keys are no one's:
 *
 *   fill PATH COUNT
 *
 * PATH is pinned in bpffs; a key begins with four bytes of ones and ends with its number. It prints
 * how many entries there are then.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "say.h"

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int count_all(int fd, unsigned char *key)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd, .next_key = (uint64_t)(uintptr_t)key };
	int count = 0;

	while (bpf(BPF_MAP_GET_NEXT_KEY, &attr) == 0) {
		attr.key = (uint64_t)(uintptr_t)key;
		count++;
	}
	return count;
}

int main(int argc, char **argv)
{
	union bpf_attr attr = { .pathname = argc == 3 ? (uint64_t)(uintptr_t)argv[1] : 0 };
	struct bpf_map_info info = {};
	unsigned char key[256], value[256] = {};
	int fd, count = argc == 3 ? atoi(argv[2]) : 0;

	if (argc != 3) {
		fputs("usage: fill PATH COUNT\n", stderr);
		return 2;
	}
	fd = (int)bpf(BPF_OBJ_GET, &attr);
	attr = (union bpf_attr){ .info = { .bpf_fd = (uint32_t)fd,
					   .info_len = sizeof(info),
					   .info = (uint64_t)(uintptr_t)&info } };
	if (fd < 0 || bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) < 0 || info.key_size > sizeof(key) ||
	    info.value_size > sizeof(value))
		return say("map", -1) ? 1 : 0;
	memset(key, 0xff, sizeof(key));
	for (int i = 0; i < count; i++) {
		memcpy(key + info.key_size - sizeof(i), &i, sizeof(i));
		attr = (union bpf_attr){ .map_fd = (uint32_t)fd,
					 .key = (uint64_t)(uintptr_t)key,
					 .value = (uint64_t)(uintptr_t)value };
		if (bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0) {
			say("update", -1);
			return 1;
		}
	}
	printf("%d\n", count_all(fd, key));
	return 0;
}
