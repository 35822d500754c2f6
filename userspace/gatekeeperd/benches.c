// SPDX-License-Identifier: GPL-2.0-only
/* create, attach, detach, destroy. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/step.h"
#include "bench/box.h"
#include "bench/container.h"
#include "gatekeeperd/adopt.h"
#include "gatekeeperd/chosen.h"
#include "gatekeeperd/ending.h"
#include "gatekeeperd/lifecycle.h"
#include "gatekeeperd/receipt.h"
#include "gatekeeperd/lifetime.h"

static int check_name(struct daemon *d, const char *name, struct bm_error *err)
{
	char shown[64];

	if (!bm_bench_name_valid(name))
		return bm_fail(err, EINVAL, "bench-name",
			       "use 1 to 32 of a-z, 0-9 and '-', a letter first",
			       "\"%s\" is no name for a Bench",
			       bm_escape(name, shown, sizeof(shown)));
	if (model_find(&d->model, name))
		return bm_fail(err, EEXIST, "bench-name", "take another name",
			       "there is a Bench %s already", name);
	return 0;
}

static int exec_of(struct json_object *request, enum bench_exec *ret, struct bm_error *err)
{
	const char *given = bm_json_string(request, "exec");
	char shown[64];

	return bench_exec_parse(given, ret) == 0
		       ? 0
		       : bm_fail(err, EINVAL, "protocol", "give own or image",
				 "\"%s\" is no mode of execution",
				 bm_escape(given, shown, sizeof(shown)));
}

/* The name is in the model from the first step on: a crash in between leaves something to end. */
static int create(struct daemon *d, struct bench *bench, struct bm_box *box, struct bm_error *err)
{
	struct bring_up how = { .waiting = bench->name, .runtime_root = BM_CRUN_ROOT };
	struct json_object *fields = json_object_new_object();
	char cgroup[BM_CGROUP_PATH];
	int r;

	bm_json_add_string(fields, "origin", bench_origin_name(bench->origin));
	bm_json_add_int(fields, "slot", bench->slot);
	bm_json_add_string(fields, "exec", bench_exec_name(bench->exec));
	bm_json_add_bool(fields, "userns", bench->userns);
	bm_json_add_string(fields, "created", bench->created);
	lifetime_add(fields, bench);
	r = bench_record(d, bench, "create", fields, err);
	bench->begun = r == 0;
	STEP(CREATE_SAID);
	if (r == 0)
		r = bm_box_create(box, &bench->pid, err);
	STEP(CREATE_BOX_MADE);
	if (r < 0)
		return r;
	bench->pid_start = pid_start_time(bench->pid);
	snprintf(cgroup, sizeof(cgroup), "/" BM_SLICE "/%s", bench->name);
	r = bm_cgroup_open(cgroup, &bench->cgroup, err);
	if (r == 0)
		r = bench_bring_up(d, bench, &how, err);
	if (r == 0)
		r = bm_box_start(bench->name, err);
	STEP(CREATE_STARTED);
	return r;
}

static void end_half_made(struct daemon *d, struct bench *bench)
{
	struct json_object *fields = json_object_new_object();
	struct bm_error err = {};

	bm_json_add_string(fields, "reason", "half-made");
	if (bench_end(d, bench, bench->origin == ORIGIN_CREATED ? "destroy" : "detach", fields,
		      &err) < 0)
		daemon_log_error("clean up a half-made Bench", &err);
}

static struct json_object *bench_reply(struct daemon *d, const struct bench *bench)
{
	struct json_object *reply = json_object_new_object();
	size_t next;

	bm_json_add(reply, "bench", bench_to_json(d, bench, 0, true, &next));
	return reply;
}

int request_create(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	const char *given = bm_json_string(message->json, "bench");
	struct bm_box box = { .rootfs = message->fds[0], .peer = c->pid, .root = c->uid == 0 };
	char name[BM_BENCH_NAME_LEN];
	struct bm_source source;
	enum bench_exec mode;
	struct bench *bench;
	int64_t seconds = 0;
	int r;

	if (message->fd_count != 1)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "create: no root file system was passed");
	if (given)
		snprintf(name, sizeof(name), "%.*s", BM_BENCH_NAME_LEN - 1, given);
	else
		model_free_name(&d->model, name);
	r = check_name(d, given ?: name, err);
	if (r == 0)
		r = bm_source_look(message->fds[0], false, c->uid, &source, err);
	if (r == 0 && !source.directory)
		r = bm_fail(err, ENOTDIR, "object-kind", "give the root directory of one",
			    "the root file system is no directory");
	if (r == 0)
		r = limits_of_request(message->json, &box.limits, &seconds, err);
	if (r == 0)
		r = exec_of(message->json, &mode, err);
	if (r == 0 && model_free_slot(&d->model, &box.slot) < 0)
		r = bm_fail(err, ENOSPC, "limits", "destroy Benches that are not needed",
			    "all %u id ranges are in use", BM_ID_SLOTS);
	if (r < 0)
		return r;
	bench = model_add(&d->model, name, d->model.last_bench + 1);
	if (!bench)
		return -ENOMEM;
	bench->origin = ORIGIN_CREATED;
	bench->slot = box.slot;
	bench->exec = mode;
	bench->userns = box.userns = bm_json_bool(message->json, "userns");
	bench->limits = box.limits;
	bench->seconds = seconds;
	box.name = bench->name;
	box.image = mode == EXEC_IMAGE;
	bench->first_event = bm_store_position(d->store);
	now_text(bench->created);
	r = create(d, bench, &box, err);
	if (r < 0) {
		end_half_made(d, bench);
		return r;
	}
	lifetime_await(d);
	daemon_log(LOG_LEVEL_INFO, "Bench %s created", name);
	*ret_reply = bench_reply(d, bench);
	return 0;
}

/* The cgroup is known to be free before the ledger hears of it. */
static int attach(struct daemon *d, struct bench *bench, const struct chosen *chosen,
		  struct adoption *adopt, struct bm_error *err)
{
	struct bring_up how = { .waiting = chosen->waiting,
				.runtime_root = chosen->runtime_root,
				.rootfs = chosen->rootfs,
				.adopt = adopt };
	autocgroup cgroup = BM_CGROUP_NONE;
	struct json_object *fields;
	int r = bm_cgroup_open(chosen->cgroup, &cgroup, err);

	if (r == 0)
		r = bench_refuse_overlap(d, bench, &cgroup, err);
	if (r < 0)
		return r;
	bench->cgroup = cgroup;
	cgroup.fd = -1;
	fields = json_object_new_object();
	bm_json_add_string(fields, "origin", bench_origin_name(bench->origin));
	bm_json_add_string(fields, "container", bench->container);
	bm_json_add_string(fields, "exec", bench_exec_name(bench->exec));
	bm_json_add_bool(fields, "userns", bench->userns);
	bm_json_add_string(fields, "created", bench->created);
	bm_json_add_int(fields, "pid", bench->pid);
	bm_json_add_int(fields, "pid_start", (int64_t)bench->pid_start);
	bm_json_add_string(fields, "cgroup", bench->cgroup.path);
	r = bench_record(d, bench, "attach", fields, err);
	bench->begun = r == 0;
	STEP(ATTACH_SAID);
	return r < 0 ? r : bench_bring_up(d, bench, &how, err);
}

int request_attach(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *container = bm_json_get(message->json, "container", json_type_object);
	const char *name = bm_json_string(message->json, "bench");
	autochosen chosen = {};
	enum bench_exec mode;
	bool adopt = bm_json_bool(message->json, "adopt");
	autoadoption *adoption = adopt ? adoption_new() : NULL;
	struct bench *bench;
	int r;

	if (!name || !container)
		return bm_fail(err, EINVAL, "protocol", NULL,
			       "attach: needs \"bench\" and \"container\"");
	if (adopt && !adoption)
		return -ENOMEM;
	r = check_name(d, name, err);
	if (r == 0)
		r = exec_of(message->json, &mode, err);
	if (r == 0)
		r = chosen_find(container, &chosen, err);
	if (r < 0)
		return r;
	bench = model_add(&d->model, name, d->model.last_bench + 1);
	if (!bench)
		return -ENOMEM;
	bench->origin = ORIGIN_ATTACHED;
	bench->exec = mode;
	bench->userns = bm_json_bool(message->json, "userns");
	bench->pid = chosen.pid;
	bench->pid_start = pid_start_time(bench->pid);
	snprintf(bench->container, sizeof(bench->container), "%s", chosen.shown);
	bench->first_event = bm_store_position(d->store);
	now_text(bench->created);
	r = attach(d, bench, &chosen, adoption, err);
	if (r < 0) {
		end_half_made(d, bench);
		return r;
	}
	daemon_log(LOG_LEVEL_INFO, "Bench %s attached to %s", bench->name, bench->container);
	*ret_reply = bench_reply(d, bench);
	if (!adoption)
		return 0;
	adoption_for(adoption, bench->id);
	STEP(ATTACH_VOLUMES_HELD);
	bm_json_add(*ret_reply, "volumes", adoption_to_json(adoption));
	adoption_drop(c->adoption);
	c->adoption = TAKE_PTR(adoption);
	return 0;
}

/* NULL: it has ended so already, and that is the reply: asking twice does no harm. */
static int find_to_end(struct daemon *d, struct json_object *request, const char *event,
		       struct bench **ret, struct json_object **ret_reply, struct bm_error *err)
{
	int r = bench_of_request(d, request, ret, err);

	if (r == -ENOENT && receipt_ended(d, request, event, ret_reply) == 0) {
		*err = (struct bm_error){};
		*ret = NULL;
		return 0;
	}
	return r;
}

static struct json_object *asked_by(const struct connection *c)
{
	struct json_object *fields = json_object_new_object();

	bm_json_add_int(fields, "uid", c->uid);
	return fields;
}

int request_detach(struct daemon *d, struct connection *c, struct bm_message *message,
		   struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply, *revoked;
	struct bench *bench;
	int r = find_to_end(d, message->json, "detach", &bench, ret_reply, err);

	if (r < 0 || !bench)
		return r;
	if (bench->origin != ORIGIN_ATTACHED)
		return bm_fail(err, EINVAL, "detach", "`benchmon destroy` ends it",
			       "Bench %s was made by benchmon and can't be let go", bench->name);
	/* It would run without walls, or stand still with nobody who knows why. */
	if (bench->frozen)
		return bm_fail(err, EBUSY, "frozen", "`benchmon thaw` it, or end the container",
			       "Bench %s is frozen", bench->name);
	reply = json_object_new_object();
	revoked = json_object_new_array();
	bm_json_add_string(reply, "bench", bench->name);
	bm_json_add(reply, "revoked", revoked);
	for (const struct grant *g = bench->grants; g; g = g->next) {
		char id[BM_GRANT_ID_LEN];

		snprintf(id, sizeof(id), "%s/%u", bench->name, g->number);
		json_object_array_add(revoked, json_object_new_string(id));
	}
	return ending_begin(d, c, bench, "detach", asked_by(c), reply, ret_reply, err);
}

int request_destroy(struct daemon *d, struct connection *c, struct bm_message *message,
		    struct json_object **ret_reply, struct bm_error *err)
{
	struct json_object *reply, *outputs;
	struct bench *bench;
	int r = find_to_end(d, message->json, "destroy", &bench, ret_reply, err);

	if (r < 0 || !bench)
		return r;
	if (bench->origin != ORIGIN_CREATED)
		return bm_fail(err, EINVAL, "destroy", "detach it, and remove it with what made it",
			       "Bench %s is a container that benchmon did not make", bench->name);
	reply = json_object_new_object();
	outputs = json_object_new_array();
	bm_json_add_string(reply, "bench", bench->name);
	bm_json_add_int(reply, "denied", 0);
	bm_json_add(reply, "outputs", outputs);
	for (const struct grant *g = bench->grants; g; g = g->next)
		if (g->kind == GRANT_FILE && g->writable)
			json_object_array_add(outputs, json_object_new_string(g->source));
	return ending_begin(d, c, bench, "destroy", asked_by(c), reply, ret_reply, err);
}
