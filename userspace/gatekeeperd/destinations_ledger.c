// SPDX-License-Identifier: GPL-2.0-only
/* What a net grant reaches, as lines of the ledger. */
#include <errno.h>
#include <string.h>

#include "gatekeeperd/destinations.h"
#include "gatekeeperd/lifecycle.h"

/* Of a line, beside what stands around it. */
#define LINE_ROOM 32768

/* From *at on, as much as a line holds; the next one goes on at *at. */
static struct json_object *line_of(const struct grant_hosts *hosts, size_t *host, size_t *at)
{
	struct json_object *list = json_object_new_array();
	size_t used = 0;

	for (; *host < hosts->count && used < LINE_ROOM; (*host)++, *at = 0) {
		const struct grant_host *h = &hosts->list[*host];
		struct json_object *item = json_object_new_object();
		struct json_object *to = json_object_new_array();

		bm_json_add_string(item, "host", h->name);
		bm_json_add(item, "to", to);
		json_object_array_add(list, item);
		used += strlen(h->name) + 32;
		for (; *at < h->count && used < LINE_ROOM; (*at)++) {
			struct json_object *dest = json_object_new_object();
			char text[BM_DESTINATION_LEN];

			bm_json_add_string(dest, "destination",
					   bm_destination_format(&h->list[*at].to, text));
			if (h->list[*at].until)
				bm_json_add_int(dest, "until", h->list[*at].until);
			json_object_array_add(to, dest);
			used += sizeof(text) + 48;
		}
		if (*at < h->count)
			break;
	}
	return list;
}

int hosts_record(struct daemon *d, struct bench *bench, uint32_t number,
		 const struct grant_hosts *hosts, struct bm_error *err)
{
	size_t host = 0, at = 0;
	bool first = true;
	int r = 0;

	while (r == 0 && (host < hosts->count || first)) {
		struct json_object *fields = json_object_new_object();

		bm_json_add_int(fields, "grant", number);
		bm_json_add_bool(fields, "first", first);
		bm_json_add(fields, "hosts", line_of(hosts, &host, &at));
		r = bench_record(d, bench, "destinations", fields, err);
		first = false;
	}
	return r;
}

static int replay_host(struct grant_hosts *hosts, struct json_object *item)
{
	struct json_object *to = bm_json_get(item, "to", json_type_array);
	const char *name = bm_json_string(item, "host");
	struct grant_host *host;
	int r = 0;

	if (!name || !to || strlen(name) >= sizeof(host->name))
		return -EBADMSG;
	host = hosts_find(hosts, name);
	if (!host)
		host = hosts_add(hosts, name);
	if (!host)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < json_object_array_length(to); i++) {
		struct json_object *dest = json_object_array_get_idx(to, i);
		const char *text = bm_json_string(dest, "destination");
		struct bm_destination d;
		int64_t until = 0;

		bm_json_int(dest, "until", &until);
		r = text && bm_destination_parse(text, &d, NULL) == 0 ? host_add(host, &d, until)
								      : -EBADMSG;
	}
	return r;
}

int hosts_replay(struct bench *bench, struct json_object *line)
{
	struct json_object *list = bm_json_get(line, "hosts", json_type_array);
	int64_t number;
	int r = 0;

	if (!list || bm_json_int(line, "grant", &number) < 0 || number <= 0 || number > UINT32_MAX)
		return -EBADMSG;
	/* What was announced and never granted is forgotten. */
	if (bm_json_bool(line, "first")) {
		hosts_done(&bench->announced);
		bench->announced_grant = (uint32_t)number;
	}
	if (number != bench->announced_grant)
		return -EBADMSG;
	for (size_t i = 0; r == 0 && i < json_object_array_length(list); i++)
		r = replay_host(&bench->announced, json_object_array_get_idx(list, i));
	return r;
}

int hosts_take(struct bench *bench, uint32_t number, struct grant_hosts *ret)
{
	if (number != bench->announced_grant || !bench->announced.count)
		return -EBADMSG;
	if (hosts_sort(&bench->announced) < 0)
		return -ENOMEM;
	*ret = bench->announced;
	bench->announced = (struct grant_hosts){};
	bench->announced_grant = 0;
	return 0;
}
