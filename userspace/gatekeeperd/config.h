/* SPDX-License-Identifier: GPL-2.0-only */
/* What an administrator may set: one JSON object, gatekeeperd.schema.json, read once at start. */
#ifndef BENCHMON_GATEKEEPERD_CONFIG_H
#define BENCHMON_GATEKEEPERD_CONFIG_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "gatekeeperd/log.h"

#define CONFIG_PATH "/etc/benchmon/gatekeeperd.json"
#define CONFIG_MAX (64 * 1024)
/* That many connections, and places for Benches, are kept for root alone. */
#define CONFIG_RESERVED 16

struct config {
	enum log_level log_level;
	char operators[33]; /* a group, whose members are operators beside root; "": none */
	char agents[33];    /* a group, whose members may ask; "": none */
	char metrics[33];   /* a group, whose members may read the metrics; "": none */
	gid_t operators_gid, agents_gid, metrics_gid; /* config_resolve() */
	int64_t max_connections;
	int64_t max_connections_per_user; /* but root */
	int64_t max_benches_per_user;     /* the same */
	int64_t max_grants_per_user;      /* the same, in all of their Benches */
	int64_t idle_seconds;      /* after which a connection that waits for nothing is closed */
	int64_t confirm_seconds;   /* after which one that awaits a confirmation is */
	int64_t request_seconds;   /* after which a request that nobody decided expires */
	int64_t max_requests;      /* pending, in all */
	int64_t max_requests_each; /* of one who asks, and for one Bench */
	int64_t max_requests_per_user; /* and for all Benches of one owner */
	int64_t max_receipts_per_user; /* that are kept */
	int64_t events_max_bytes;      /* of the file of events, before it is rotated */
	int64_t events_total_bytes; /* of those that were rotated, before the oldest is removed */
	int64_t events_max_days;    /* such a one is kept */
};

extern const struct config config_default;

/* *ret is config_default with what text sets; untouched on failure. what names it in the error. */
int config_parse(const char *text, size_t len, const char *what, struct config *ret,
		 struct bm_error *err);

/* A file that somebody else than root could have written configures nothing: -EPERM. */
int config_check_file(const struct stat *st, const char *what, struct bm_error *err);

/* The file, not followed when it is a link. Without one the defaults, unless it must be there. */
int config_read(const char *path, bool must, struct config *ret, struct bm_error *err);

/* Looks the groups up: before the daemon gives up what name services may want. */
int config_resolve(struct config *config, const char *what, struct bm_error *err);

/* All of it as the file would have it; the caller's. */
struct json_object *config_to_json(const struct config *config);

#endif
