// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "kernel/hooks.h"
#include "kernel/probe.h"
#include "network/link.h"
#include "network/obstacle.h"

/* Beside the kernel: what Benches of our own need on this host. */
static int check_crun(struct bm_error *err)
{
	autofree char *out = NULL;
	int status, r = bm_run((const char *[]){ "crun", "--version", NULL }, 10000, &status, &out,
			       NULL);

	if (r < 0 || status)
		return bm_fail(err, 2, NULL, "apt install crun",
			       "crun is not installed: `run` and `create` need it");
	return 0;
}

/* While some Bench has a link: whether others drop what goes over it. 1: there is none. */
static int check_forwarding(struct bm_error *err)
{
	struct bm_obstacle list[BM_OBSTACLES_MAX];
	size_t count = 0;
	char link[16];
	int r;

	if (!bm_link_any(link))
		return 1;
	r = bm_obstacles_find(AF_UNSPEC, link, list, &count, err);
	return r < 0 || !count ? r : bm_fail(err, EPERM, NULL, list[0].remedy, "%s", list[0].what);
}

static const char *word(int result)
{
	return result == 0 ? "ok" : result > 0 ? "not tried" : "FAILED";
}

static struct json_object *step_to_json(const char *name, int result, const struct bm_error *err)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "check", name);
	bm_json_add_string(json, "result",
			   result == 0  ? "ok"
			   : result > 0 ? "not-tried"
					: "failed");
	if (result < 0)
		bm_json_add(json, "error", bm_error_to_json(err));
	return json;
}

static void print_step(const char *name, int result, const struct bm_error *err)
{
	printf("%-22s %s\n", name, word(result));
	if (result >= 0)
		return;
	printf("    %s\n", err->message);
	if (err->remedy[0])
		printf("    %s\n", err->remedy);
}

static void hook_to_json(void *ctx, const char *hook, enum bm_hook_state state)
{
	struct json_object *json = json_object_new_object();

	bm_json_add_string(json, "hook", hook);
	bm_json_add_string(json, "state", bm_hook_state_name(state));
	json_object_array_add(ctx, json);
}

#define WIDTH 80
#define INDENT 23
#define HOOKS_MAX 128

struct hooks {
	struct {
		char name[48];
		enum bm_hook_state state;
	} list[HOOKS_MAX];
	size_t count;
};

static void add_hook(void *ctx, const char *hook, enum bm_hook_state state)
{
	struct hooks *hooks = ctx;

	if (hooks->count == HOOKS_MAX)
		return;
	snprintf(hooks->list[hooks->count].name, sizeof(hooks->list[0].name), "%s", hook);
	hooks->list[hooks->count++].state = state;
}

static void print_hooks_that_are(const struct hooks *hooks, enum bm_hook_state state)
{
	const char *last = "";
	int column = 0;

	for (size_t i = 0; i < hooks->count; i++) {
		const char *name = hooks->list[i].name;
		int len = (int)strlen(name);

		/* Programs of one hook stand beside one another; it is named once. */
		if (hooks->list[i].state != state || !strcmp(name, last))
			continue;
		last = name;
		if (!column) {
			column = printf("%-*s%s", INDENT, bm_hook_state_name(state), name);
		} else if (column + 1 + len > WIDTH) {
			printf("\n%*s%s", INDENT, "", name);
			column = INDENT + len;
		} else {
			column += printf(" %s", name);
		}
	}
	if (column)
		putchar('\n');
}

static void print_hooks(void)
{
	struct hooks hooks = {};

	if (bm_hooks_each(add_hook, &hooks, NULL) < 0)
		return;
	puts("\nhooks");
	for (int state = 0; state < BM_HOOK_STATE_MAX; state++)
		print_hooks_that_are(&hooks, state);
}

int doctor_main(bool json)
{
	struct bm_probe_step steps[BM_PROBE_MAX];
	int can = bm_probe_run(steps), crun;
	struct bm_error crun_err = {}, forwarding_err = {};
	int forwarding = check_forwarding(&forwarding_err);
	struct utsname kernel;

	uname(&kernel);
	crun = check_crun(&crun_err);
	if (json) {
		autojson *report = json_object_new_object();
		struct json_object *list = json_object_new_array();

		bm_json_add_string(report, "kernel", kernel.release);
		bm_json_add_bool(report, "can_enforce", can == 0);
		for (int i = 0; i < BM_PROBE_MAX; i++)
			json_object_array_add(list, step_to_json(bm_probe_name(i), steps[i].result,
								 &steps[i].err));
		json_object_array_add(list, step_to_json("crun", crun, &crun_err));
		if (forwarding <= 0)
			json_object_array_add(
				list, step_to_json("forwarding", forwarding, &forwarding_err));
		bm_json_add(report, "checks", list);
		list = json_object_new_array();
		if (can == 0)
			bm_hooks_each(hook_to_json, list, NULL);
		bm_json_add(report, "hooks", list);
		puts(json_object_to_json_string_ext(report, JSON_C_TO_STRING_PLAIN));
		return can == 0 && crun == 0 ? 0 : 1;
	}
	printf("kernel %s\n\n", kernel.release);
	for (int i = 0; i < BM_PROBE_MAX; i++)
		print_step(bm_probe_name(i), steps[i].result, &steps[i].err);
	print_step("crun", crun, &crun_err);
	if (forwarding <= 0)
		print_step("forwarding", forwarding, &forwarding_err);
	if (can == 0)
		print_hooks();
	printf("\n%s\n", can == 0 ? "This kernel can enforce."
				  : "This kernel can't enforce: no Bench is started.");
	return can == 0 && crun == 0 ? 0 : 1;
}
