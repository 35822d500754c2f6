// SPDX-License-Identifier: GPL-2.0-only
/* One Bench more than there may be: refused by the bound that it meets. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "gatekeeperd/room.h"
#include "kernel/internal.h"

static struct daemon d;

static int setup(void **state)
{
	(void)state;
	d = (struct daemon){ .epoll = open("/dev/null", O_RDONLY | O_CLOEXEC),
			     .config = config_default,
			     .descriptors = INT_MAX };
	return d.epoll < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	while (d.model.benches)
		model_remove(&d.model, d.model.benches);
	return close(d.epoll);
}

static struct bench *add(uint32_t id)
{
	struct bench *bench;
	char name[BM_BENCH_NAME_LEN];

	snprintf(name, sizeof(name), "b%u", id);
	bench = model_add(&d.model, name, id);
	assert_non_null(bench);
	return bench;
}

static void refused(uid_t uid, const char *rule, const char *message, const char *remedy)
{
	struct bm_error err = {};

	assert_int_equal(room_for_bench(&d, uid, &err), -ENOSPC);
	assert_string_equal(err.rule, rule);
	assert_non_null(strstr(err.message, message));
	assert_non_null(strstr(err.remedy, remedy));
}

static void of_the_kernel(void **state)
{
	(void)state;
	for (uint32_t id = 1; id < BM_MAX_BENCHES; id++)
		add(id);
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
	add(BM_MAX_BENCHES);
	refused(0, "limits", "4096 Benches", "destroy or detach");
	model_remove(&d.model, d.model.benches);
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
}

/* As many as one may have, and each of them alone is told so; the last of all are root's. */
static void of_a_user(void **state)
{
	(void)state;
	d.config.max_benches_per_user = 3;
	for (uint32_t id = 1; id <= 3; id++)
		add(id)->owner = 1501;
	add(4)->owner = 1502;
	refused(1501, "user-limits", "uid 1501 has 3 Benches", "max_benches_per_user");
	assert_int_equal(room_for_bench(&d, 1502, NULL), 0);
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
	model_remove(&d.model, model_find_id(&d.model, 2));
	assert_int_equal(room_for_bench(&d, 1501, NULL), 0);
	for (uint32_t id = 5; id <= BM_MAX_BENCHES - CONFIG_RESERVED; id++)
		add(id);
	assert_int_equal(room_for_bench(&d, 1502, NULL), 0);
	add(2);
	refused(1502, "limits", "but for a few of root's", "destroy or detach");
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
}

/* All of their Benches together; root's are not counted. */
static void of_a_users_grants(void **state)
{
	struct bench *one = add(1), *two = add(2), *roots = add(3), *other = add(4);
	struct bm_error err = {};

	(void)state;
	d.config.max_grants_per_user = 10;
	one->owner = two->owner = 1501;
	other->owner = 1502;
	one->grant_count = 6;
	two->grant_count = 3;
	roots->grant_count = 100;
	assert_int_equal(room_for_grant(&d, one, NULL), 0);
	assert_int_equal(room_for_grant(&d, roots, NULL), 0);
	two->grant_count = 4;
	assert_int_equal(room_for_grant(&d, one, &err), -ENOSPC);
	assert_string_equal(err.rule, "user-limits");
	assert_non_null(strstr(err.message, "uid 1501 have 10 grants"));
	assert_non_null(strstr(err.remedy, "max_grants_per_user"));
	assert_int_equal(room_for_grant(&d, two, NULL), -ENOSPC);
	assert_int_equal(room_for_grant(&d, other, NULL), 0);
	assert_int_equal(room_for_grant(&d, roots, NULL), 0);
	one->grant_count = two->grant_count = roots->grant_count = 0;
}

/* By the lowest number that is free, wherever the others are. */
static void of_descriptors(void **state)
{
	int more[4], next = dup(d.epoll);

	(void)state;
	assert_true(next >= 0);
	close(next);
	add(1);
	d.descriptors = next + ROOM_DESCRIPTORS;
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		more[i] = dup(d.epoll);
	refused(0, "limits", "too few descriptors are left", "LimitNOFILE");
	d.descriptors += CONFIG_RESERVED * ROOM_DESCRIPTORS;
	refused(1501, "limits", "too few descriptors are left", "LimitNOFILE");
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
	d.descriptors -= CONFIG_RESERVED * ROOM_DESCRIPTORS;
	close(more[0]);
	assert_int_equal(room_for_bench(&d, 0, NULL), 0);
	for (size_t i = 1; i < 4; i++)
		close(more[i]);
	/* It leaves none of its own. */
	assert_int_equal(dup(d.epoll), next);
	close(next);
}

static void of_grants(void **state)
{
	struct bm_kernel kernel = { .grants = BM_MAX_GRANTS - 2 };
	struct bm_error err = {};

	(void)state;
	assert_int_equal(bm_grants_room(&kernel, 2, &err), 0);
	assert_int_equal(bm_grants_room(&kernel, 3, &err), -ENOSPC);
	assert_string_equal(err.rule, "grants");
	assert_non_null(strstr(err.message, "262144"));
	assert_non_null(strstr(err.remedy, "revoke"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(of_the_kernel, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_user, setup, teardown),
		cmocka_unit_test_setup_teardown(of_a_users_grants, setup, teardown),
		cmocka_unit_test_setup_teardown(of_descriptors, setup, teardown),
		cmocka_unit_test(of_grants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
