/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of an event as text for people: safe on a terminal, and safe to paste into a shell. */
#ifndef BENCHMON_DESCRIBE_H
#define BENCHMON_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

/* Each byte of a name can become "\xNN". */
#define BM_PATH_LEN (BM_NAMES * BM_NAME_LEN * 4 + 16)
/* The path from the root of its file system, escaped; "..." where the kernel cut it. Returns buf.
 */
const char *bm_describe_path(const struct bm_event_file *file, char buf[BM_PATH_LEN]);

#define BM_EXE_LEN (BM_EXE_NAMES * BM_NAME_LEN * 4 + 16)
/* The same of what the process executes. */
const char *bm_describe_exe(const struct bm_event *event, char buf[BM_EXE_LEN]);

#define BM_NET_LEN 72
/* "198.51.100.10:80/tcp", "[2001:db8::1]:443/udp", "198.51.100.10/icmp"; returns buf. */
const char *bm_describe_net(const struct bm_event_net *net, char buf[BM_NET_LEN]);

/* "CAP_SYS_ADMIN", "b 7:0", "overlay", "command 5"; returns buf. */
const char *bm_describe_subject(const struct bm_event *event, char *buf, size_t size);

#define BM_HINT_LEN (BM_PATH_LEN + 128)
/* The command that grants a path of the host's; NULL: none that is safe to paste would. */
const char *bm_describe_file_hint(const char *path, bool writes, const char *bench,
				  char buf[BM_HINT_LEN]);
/* The commands that grant it once more, with other rights; NULL, as above. */
const char *bm_describe_again(const char *bench, unsigned int number, const char *source,
			      const char *dest, bool writes, char buf[BM_HINT_LEN]);
/* The command that would allow what was denied; NULL when there is none. */
const char *bm_describe_hint(const struct bm_event *event, const char *bench,
			     char buf[BM_HINT_LEN]);

#endif
