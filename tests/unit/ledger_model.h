/* SPDX-License-Identifier: GPL-2.0-only */
/* A daemon that has a ledger of its own and the model that comes of it, and nothing else. */
#ifndef BENCHMON_LEDGER_MODEL_H
#define BENCHMON_LEDGER_MODEL_H

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/ledger.h"
#include "base/cleanup.h"
#include "gatekeeperd/carriers.h"
#include "gatekeeperd/asks.h"
#include "gatekeeperd/replay.h"

static struct daemon d;
static char dir_path[64];
static int dir = -1;

static inline void forget(void)
{
	while (d.model.benches)
		model_remove(&d.model, d.model.benches);
	carriers_free(&d.model);
	while (d.model.asks)
		asks_remove(&d.model, d.model.asks);
	d.model = (struct model){};
}

/* All files of the ledger, and its key. */
static inline void emptied(void)
{
	autoclosedir DIR *all = opendir(dir_path);
	struct dirent *entry;

	while (all && (entry = readdir(all)))
		if (entry->d_name[0] != '.')
			unlinkat(dir, entry->d_name, 0);
}

/* In memory, where there is such a place: each line is waited for until it is on disk. */
static inline int setup(void **state)
{
	(void)state;
	snprintf(dir_path, sizeof(dir_path), "%s", "/dev/shm/benchmon-model-XXXXXX");
	if (!mkdtemp(dir_path)) {
		snprintf(dir_path, sizeof(dir_path), "%s", "/tmp/benchmon-model-XXXXXX");
		if (!mkdtemp(dir_path))
			return -1;
	}
	dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : bm_ledger_open(dir, NULL, &d.ledger, NULL);
}

static inline int teardown(void **state)
{
	(void)state;
	forget();
	bm_ledger_close(d.ledger);
	d = (struct daemon){};
	emptied();
	bm_close(dir);
	return rmdir(dir_path);
}

/* A line; its fields with ' for ". */
static inline void say(const char *event, const char *fields)
{
	char *text = strdup(fields);
	autojson *json = NULL;

	assert_non_null(text);
	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	assert_int_equal(bm_json_parse(text, strlen(text), "fields", &json, NULL), 0);
	assert_int_equal(bm_ledger_append(d.ledger, event, json, NULL), 0);
	free(text);
}

static inline void replayed(void)
{
	struct bm_error err = {};

	forget();
	if (replay_ledger(&d, &err) != 0)
		fail_msg("%s", err.message);
}

#endif
