// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request that an operator answers: from its number to what is shown, and from that to its end.
 * Of what was asked for nothing is believed: it is put where an operator would have typed it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/step.h"
#include "gatekeeperd/ask.h"

/* All else is what was asked for. */
static int check_keys(struct json_object *message, bool bench, struct bm_error *err)
{
	static const char *const of_grant[] = {
		"v",        "op",        "request", "source",      "idmap",          "private",
		"except",   "on_revoke", "secret",  "with_secret", "except_secrets", "unscanned",
		"upstream", "limits",    NULL
	};
	static const char *const of_bench[] = { "v",    "op",     "request",    "limits",
						"exec", "userns", "first_uses", NULL };
	const char *const *known = bench ? of_bench : of_grant;

	json_object_object_foreach(message, key, value) {
		size_t i = 0;

		(void)value;
		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return bm_fail(err, EINVAL, "request", "reject it, and grant that instead",
				       "\"%s\" is not for who confirms a request", key);
	}
	return 0;
}

static void fill_port(struct json_object *message, const struct ask *ask)
{
	char *end;

	bm_json_add_int(message, "port", (int64_t)strtoul(ask->target, &end, 10));
	bm_json_add_string(message, "protocol", strcmp(end, "/udp") ? "tcp" : "udp");
}

static void fill_grant(struct json_object *message, const struct ask *ask)
{
	bm_json_add_string(message, "bench", ask->bench);
	bm_json_add_string(message, "kind", grant_kind_name(ask->kind));
	if (ask->seconds)
		bm_json_add_int(message, "for", ask->seconds);
	if (ask->kind == GRANT_FILE) {
		bm_json_add_string(message, "source", ask->target);
		bm_json_add_string(message, "rights", ask->writable ? "rw" : "ro");
		if (ask->dest[0])
			bm_json_add_string(message, "dest", ask->dest);
	} else if (ask->kind == GRANT_LISTEN) {
		fill_port(message, ask);
	} else if (ask->kind == GRANT_BROKER) {
		bm_json_add_string(message, "broker", ask->target);
	} else {
		bm_json_add_string(message,
				   bm_bench_name_valid(ask->target) ? "profile" : "destination",
				   ask->target);
	}
}

int ask_fill(struct daemon *d, const struct connection *c, struct json_object *message, bool bench,
	     struct ask **ret, struct bm_error *err)
{
	const char *id = bm_json_string(message, "request");
	struct bench *of;
	struct ask *ask;
	int r;

	*ret = NULL;
	if (!id)
		return 0;
	ask = asks_find_id(&d->model, id);
	of = ask && ask->bench_id ? model_find_id(&d->model, ask->bench_id) : NULL;
	if (!ask || !ask->bench_id != bench || (!bench && (!of || !bench_is_of(of, c->uid))))
		return bm_fail(err, ENOENT, "request", "see `benchmon pending`",
			       "no such request awaits a decision");
	r = check_keys(message, bench, err);
	if (r < 0)
		return r;
	if (!bench)
		fill_grant(message, ask);
	else if (ask->bench[0])
		bm_json_add_string(message, "bench", ask->bench);
	*ret = ask;
	return 0;
}

void ask_take_up(struct pending *p, const struct ask *ask)
{
	if (!ask)
		return;
	p->ask = ask->number;
	p->ask_bench = ask->bench_id;
	STEP(ASK_TAKEN_UP);
}

int ask_still(struct daemon *d, const struct pending *p, struct ask **ret, struct bm_error *err)
{
	*ret = NULL;
	if (!p->ask)
		return 0;
	STEP(ASK_CONFIRMED);
	*ret = asks_find(&d->model, p->ask_bench, p->ask);
	return *ret ? 0
		    : bm_fail(err, ENOENT, "request", "see `benchmon ledger show`",
			      "the request awaits no decision any more");
}

void ask_answered(struct daemon *d, struct connection *c, struct ask *ask, int r, uint64_t said,
		  const char *how, const struct bench *bench, const struct grant *grant)
{
	struct json_object *fields;
	char id[BM_GRANT_ID_LEN];

	if (!ask || (r < 0 && r != -ESTALE && bm_ledger_head(d->ledger)->n == said))
		return;
	fields = json_object_new_object();
	bm_json_add_int(fields, "uid", c->uid);
	if (r < 0) {
		bm_json_add_string(fields, "why",
				   r == -ESTALE ? "changed since it was shown" : "it failed");
		ask_end(d, ask, "void", fields);
		return;
	}
	bm_json_add_string(fields, "how", how);
	if (grant) {
		snprintf(id, sizeof(id), "%s/%u", bench->name, grant->number);
		bm_json_add_string(fields, "grant", id);
	} else {
		bm_json_add_string(fields, "made", bench->name);
	}
	ask_end(d, ask, "confirmed", fields);
}
