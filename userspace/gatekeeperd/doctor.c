// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/doctor.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/json.h"
#include "kernel/probe.h"

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

int doctor_main(bool json)
{
	struct bm_probe_step steps[BM_PROBE_MAX];
	int can = bm_probe_run(steps), crun;
	struct bm_error crun_err = {};
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
		bm_json_add(report, "checks", list);
		puts(json_object_to_json_string_ext(report, JSON_C_TO_STRING_PLAIN));
		return can == 0 && crun == 0 ? 0 : 1;
	}
	printf("kernel %s\n\n", kernel.release);
	for (int i = 0; i < BM_PROBE_MAX; i++)
		print_step(bm_probe_name(i), steps[i].result, &steps[i].err);
	print_step("crun", crun, &crun_err);
	printf("\n%s\n", can == 0 ? "This kernel can enforce."
				  : "This kernel can't enforce: no Bench is started.");
	return can == 0 && crun == 0 ? 0 : 1;
}
