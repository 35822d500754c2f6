// SPDX-License-Identifier: GPL-2.0-only
#include "confine/caps.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

uint64_t bm_caps_permitted(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &header, data) < 0)
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

int bm_caps_keep(uint64_t keep, struct bm_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	uint64_t left = bm_caps_permitted() & keep;
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)left, .permitted = (uint32_t)left },
		{ .effective = (uint32_t)(left >> 32), .permitted = (uint32_t)(left >> 32) },
	};

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, data) < 0)
		return bm_fail_errno(err, errno, "give up capabilities");
	return 0;
}

int bm_caps_bound(uint64_t keep, struct bm_error *err)
{
	for (int cap = 0; cap < 64 && prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (!(keep & 1ull << cap) && prctl(PR_CAPBSET_READ, cap) > 0 &&
		    prctl(PR_CAPBSET_DROP, cap) < 0)
			return bm_fail_errno(err, errno, "give up capability %d", cap);
	return 0;
}
