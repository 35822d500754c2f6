/* SPDX-License-Identifier: GPL-2.0-only */
/* Events in the words of the Open Cybersecurity Schema Framework 1.3.0. */
#ifndef BENCHMON_CLI_OCSF_H
#define BENCHMON_CLI_OCSF_H

#include <json-c/json.h>

/*
 * Of an event of the stream, which stays the caller's: File System, Network or Process Activity;
 * Kernel Activity, what is none of these; Base Event, what tells of the stream itself. With all
 * that has no place there as `unmapped`. The caller's; NULL when out of memory.
 */
struct json_object *cli_ocsf(struct json_object *event);

#endif
