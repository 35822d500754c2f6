/* SPDX-License-Identifier: GPL-2.0-only */
/* The events of gatekeeperd, as they come and as people read them. */
#ifndef BENCHMON_CLI_STREAM_H
#define BENCHMON_CLI_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"

/* Asks for events; bench NULL: of all, since below 0: from the first. Takes the socket over. */
int cli_events_ask(int socket, const char *bench, int64_t since, bool follow, struct bm_error *err);
/* 1: *ret_event is the caller's; 0: that was all. */
int cli_events_next(int socket, struct json_object **ret_event, struct bm_error *err);

void cli_event_print(FILE *out, struct json_object *event);
/* What an event is about: the path, the destination, or "-"; returns buf. */
const char *cli_event_object(struct json_object *event, char *buf, size_t size);

#endif
