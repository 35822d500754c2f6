// SPDX-License-Identifier: GPL-2.0-only
#include "audit/explain.h"

#include <stddef.h>

#include "bpf/abi.h"

static const struct {
	const char *sentence, *remedy;
} rules[] = {
	[BM_RULE_NONE] = { "no rule is against it", NULL },
	[BM_RULE_NO_GRANT] = { "it is the host's, and no grant of the Bench has it", NULL },
	[BM_RULE_RIGHTS] = { "what is granted, or the Bench's own, is without that right", NULL },
	[BM_RULE_REVOKED] = { "it was granted, and has been revoked", NULL },
	[BM_RULE_EXPIRED] = { "it was granted, and its time is over", NULL },
	[BM_RULE_NOEXEC] = { "nothing that is granted is ever executed",
			     "copy it to /work, and execute the copy" },
	[BM_RULE_DEPTH] = { "it lies too deep below what is granted, or was moved at that moment",
			    "grant a directory nearer to it" },
	[BM_RULE_NOT_SEALED] = { "that destination is in no sealed set of the Bench", NULL },
	[BM_RULE_PACKET] = { "a fragment, options, or a protocol other than TCP and UDP leave by "
			     "no "
			     "grant",
			     NULL },
	[BM_RULE_INHERITED_FD] = { "who starts something in a Bench may hand it no descriptor "
				   "above "
				   "2",
				   "close them before, or mark them close-on-exec" },
	[BM_RULE_ARRIVAL] = { "it is still on its way in, and nothing of the Bench may touch it",
			      NULL },
	[BM_RULE_SOCKET_KIND] = { "a Bench has sockets of TCP, UDP and unix alone", NULL },
	[BM_RULE_SOCKET_OPTION] = { "that option would send packets elsewhere than to their "
				    "destination",
				    NULL },
	[BM_RULE_EXEC_REFUSED] = { "the kernel refuses it by itself: its mount is noexec, or it is "
				   "no file with an x bit",
				   "copy it to /work, make that executable, and execute it" },
	[BM_RULE_PRIVILEGE] = { "set-id bits, capabilities, devices and owners in a grant would be "
				"the host's too",
				NULL },
	[BM_RULE_HOST_TOOLS] = { "it would stall or watch the host's own use of what is granted ro",
				 NULL },
	[BM_RULE_IO_URING] = { "a Bench has no io_uring", NULL },
	[BM_RULE_NOT_TRACKED] = { "what ends by the clock gives nothing that the clock could not "
				  "end",
				  "grant it without --for" },
	[BM_RULE_UNKNOWN_BENCH] = { "the programs of its cgroup were told no Bench",
				    "see `benchmon doctor`" },
	[BM_RULE_EXEC_IMAGE] = { "with --exec image nothing executes but what is in the image",
				 NULL },
	[BM_RULE_EXCEPTED] = { "its grant leaves that name out, or leaves it ro",
			       "grant it once more without that --except" },
	[BM_RULE_CAPABILITY] = { "that capability counts in no Bench", NULL },
	[BM_RULE_MOUNTS] = { "a Bench changes no mounts", NULL },
	[BM_RULE_USERNS] = { "this Bench may make no user namespaces",
			     "make it with --allow-userns" },
	[BM_RULE_DEVICE] = { "a Bench has no devices but null, zero, full, random, tty and its "
			     "terminals",
			     NULL },
	[BM_RULE_OUTSIDE] = { "it belongs to nothing in the Bench", NULL },
	[BM_RULE_SHARED] = { "others have that namespace too",
			     "give the container one of its own" },
	[BM_RULE_KERNEL] = { "no Bench has that part of the kernel", NULL },
	[BM_RULE_CGROUP] = { "it would lead out of the Bench's cgroup", NULL },
	[BM_RULE_HOLDER] = { "the Bench's first process is not the Bench's to touch", NULL },
	[BM_RULE_TELLS] = { "it tells of the host, or changes it", NULL },
	[BM_RULE_CORE_DUMP] = { "a helper of the host's might read the dump", NULL },
	[BM_RULE_LISTEN] = { "by a port that is listened on only answers leave", NULL },
	[BM_RULE_NEVER_BOTH] = { "a Bench never has both egress and a secret",
				 "use another Bench, or a broker" },
	[BM_RULE_LEARN] = { "no grant has it, and it is let through: the Bench learns",
			    "see `benchmon suggest`" },
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) == BM_RULE_MAX, "a sentence for each rule");

const char *bm_rule_sentence(uint32_t rule)
{
	return rule < BM_RULE_MAX ? rules[rule].sentence : "an unknown rule";
}

const char *bm_rule_remedy(uint32_t rule)
{
	return rule < BM_RULE_MAX ? rules[rule].remedy : NULL;
}
