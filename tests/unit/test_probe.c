// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/capability.h>

#include "kernel/probe.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void lsm_list_with_bpf(void **state)
{
	static const char *const lists[] = {
		"bpf",
		"bpf\n",
		"bpf,capability",
		"capability,landlock,lockdown,yama,apparmor,bpf",
		"capability,landlock,lockdown,yama,apparmor,bpf\n",
		"lockdown,bpf,apparmor\n",
		"ebpf,bpfx,bpf\n",
		"bpfx,bpf",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lists); i++) {
		struct bm_error err = {};

		if (bm_probe_lsm_list(lists[i], &err) != 0 || err.code)
			fail_msg("not found in %s", lists[i]);
	}
}

static void lsm_list_without_bpf(void **state)
{
	static const struct {
		const char *list, *shown;
	} cases[] = {
		{ "", "()" },
		{ "\n", "()" },
		{ "capability,landlock,apparmor\n", "(capability,landlock,apparmor)" },
		{ "capability", "(capability)" },
		{ "ebpf", "(ebpf)" },
		{ "capability,ebpf\n", "(capability,ebpf)" },
		{ "bpfx", "(bpfx)" },
		{ "bpfx,capability", "(bpfx,capability)" },
		{ "bp,f", "(bp,f)" },
		{ "capability,bp", "(capability,bp)" },
		{ "bpf x", "(bpf x)" },
		{ "BPF", "(BPF)" },
		{ ",,", "(,,)" },
		{ "xbpf,bpf-lsm\n", "(xbpf,bpf-lsm)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bm_error err = {};

		if (bm_probe_lsm_list(cases[i].list, &err) != -EOPNOTSUPP)
			fail_msg("found in %s", cases[i].list);
		assert_int_equal(err.code, EOPNOTSUPP);
		assert_string_equal(err.rule, "kernel");
		assert_non_null(strstr(err.message, "bpf is not among the active LSMs"));
		assert_non_null(strstr(err.message, cases[i].shown));
		assert_null(strchr(err.message, '\n'));
		assert_non_null(strstr(err.remedy, "lsm="));
	}
}

static const struct {
	int cap;
	const char *name;
} needed[] = {
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN" },
	{ CAP_BPF, "CAP_BPF" },
	{ CAP_PERFMON, "CAP_PERFMON" },
	{ CAP_NET_ADMIN, "CAP_NET_ADMIN" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" },
	{ CAP_CHOWN, "CAP_CHOWN" },
	{ CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_SETUID, "CAP_SETUID" },
	{ CAP_SETGID, "CAP_SETGID" },
	{ CAP_KILL, "CAP_KILL" },
};

static void capabilities_one_missing(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(needed); i++) {
		struct bm_error err = {};
		char expected[64];

		assert_int_equal(bm_probe_capabilities(~(1ull << needed[i].cap), &err), -EPERM);
		assert_int_equal(err.code, EPERM);
		snprintf(expected, sizeof(expected), "missing capabilities: %s", needed[i].name);
		assert_string_equal(err.message, expected);
		assert_non_null(strstr(err.remedy, "root"));
	}
}

static void capabilities_alone(void **state)
{
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(needed); i++)
		all |= 1ull << needed[i].cap;
	/* These and no more are enough; an unprivileged user has none of them. */
	assert_int_equal(bm_probe_capabilities(all, NULL), 0);
	assert_int_equal(bm_probe_capabilities(UINT64_MAX, NULL), 0);
	for (size_t i = 0; i < COUNT(needed); i++) {
		struct bm_error err = {};

		assert_int_equal(bm_probe_capabilities(1ull << needed[i].cap, &err), -EPERM);
		for (size_t j = 0; j < COUNT(needed); j++)
			assert_int_equal(!strstr(err.message, needed[j].name), i == j);
	}
}

static void capabilities_none(void **state)
{
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_probe_capabilities(0, &err), -EPERM);
	for (size_t i = 0; i < COUNT(needed); i++)
		assert_non_null(strstr(err.message, needed[i].name));
	assert_non_null(strstr(err.message, ": CAP_SYS_ADMIN, CAP_BPF, "));
	assert_string_equal(err.message + strlen(err.message) - 10, ", CAP_KILL");
}

/* A verifier that was never asked is not a program that is wrong. */
static void load_failed(void **state)
{
	struct bm_error silent = {}, refused = {}, invalid = {}, quiet = {};

	(void)state;
	assert_int_equal(bm_probe_load_failed(EPERM, "", &silent), -EPERM);
	assert_non_null(strstr(silent.message, "refuses BPF LSM programs before verification"));
	assert_non_null(strstr(silent.remedy, "another kernel"));

	assert_int_equal(bm_probe_load_failed(EPERM, "0: R1=ctx() invalid mem", &refused), -EPERM);
	assert_non_null(strstr(refused.message, "Operation not permitted"));
	assert_non_null(strstr(refused.message, "R1=ctx() invalid mem"));
	assert_non_null(strstr(refused.remedy, "report"));

	assert_int_equal(bm_probe_load_failed(EINVAL, "unknown func", &invalid), -EINVAL);
	assert_int_equal(invalid.code, EINVAL);
	assert_non_null(strstr(invalid.message, "Invalid argument"));
	assert_non_null(strstr(invalid.message, "unknown func"));

	assert_int_equal(bm_probe_load_failed(EINVAL, "", &quiet), -EINVAL);
	assert_non_null(strstr(quiet.message, "LSM program refused: Invalid argument"));
}

static void load_failed_long_log(void **state)
{
	struct bm_error err = {};
	char log[4096];

	(void)state;
	memset(log, 'x', sizeof(log) - 1);
	log[sizeof(log) - 1] = '\0';
	assert_int_equal(bm_probe_load_failed(E2BIG, log, &err), -E2BIG);
	assert_true(strlen(err.message) < 300);
}

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < BM_PROBE_MAX; i++) {
		assert_true(bm_probe_name((enum bm_probe)i)[0]);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(bm_probe_name((enum bm_probe)i),
						bm_probe_name((enum bm_probe)j));
	}
}

/*
 * Whatever this kernel can do: a step that failed says why, the first one is the result, and but
 * for the list of LSMs, which the denial proves or refutes, nothing is tried after it.
 */
static void steps(void **state)
{
	struct bm_probe_step step[BM_PROBE_MAX];
	int r = bm_probe_run(step), first = 0;
	struct bm_error err = {};
	bool stopped = false;

	(void)state;
	for (int i = 0; i < BM_PROBE_MAX; i++) {
		assert_int_equal(step[i].result == 1, stopped);
		assert_int_equal(step[i].err.code, step[i].result < 0 ? -step[i].result : 0);
		assert_int_equal(!step[i].err.message[0], step[i].result >= 0);
		if (step[i].result < 0 && !first)
			first = step[i].result;
		stopped |= step[i].result < 0 && i != BM_PROBE_LSM_LIST;
	}
	assert_int_equal(r, first);
	if (step[BM_PROBE_PROGRAMS].result == 1 || r == 0) {
		assert_int_equal(bm_probe_enforces(&err), r);
		assert_int_equal(err.code, -r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lsm_list_with_bpf),
		cmocka_unit_test(lsm_list_without_bpf),
		cmocka_unit_test(capabilities_one_missing),
		cmocka_unit_test(capabilities_alone),
		cmocka_unit_test(capabilities_none),
		cmocka_unit_test(load_failed),
		cmocka_unit_test(load_failed_long_log),
		cmocka_unit_test(names),
		cmocka_unit_test(steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
