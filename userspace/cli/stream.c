// SPDX-License-Identifier: GPL-2.0-only
#include "cli/stream.h"

#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/text.h"

int cli_events_ask(int socket, const char *bench, int64_t since, bool follow, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	autojson *reply = NULL;

	if (bench)
		bm_json_add_string(request, "bench", bench);
	if (since >= 0)
		bm_json_add_int(request, "since", since);
	bm_json_add_bool(request, "follow", follow);
	return cli_call(socket, "events", request, NULL, 0, &reply, err);
}

int cli_events_next(int socket, struct json_object **ret_event, struct bm_error *err)
{
	automessage message = {};
	struct json_object *event, *error;
	int r = bm_receive(socket, &message, err);

	if (r == -ECONNRESET)
		return bm_fail(err, ECONNRESET, NULL, "what is granted and denied stays as it was",
			       "gatekeeperd has ended");
	if (r < 0)
		return bm_fail_errno(err, -r, "events");
	if (bm_json_bool(message.json, "end"))
		return 0;
	error = bm_json_get(message.json, "error", json_type_object);
	if (error && bm_error_from_json(error, err) == 0)
		return -err->code;
	r = cli_reply_object(message.json, "event", &event, err);
	if (r < 0)
		return r;
	*ret_event = json_object_get(event);
	return 1;
}

const char *cli_event_object(struct json_object *event, char *buf, size_t size)
{
	struct json_object *object = bm_json_get(event, "object", json_type_object);

	struct json_object *socket = bm_json_get(event, "socket", json_type_object);
	struct json_object *subject = bm_json_get(event, "subject", json_type_object);
	char host[CLI_SHOWN];
	size_t used = 0;

	if (object)
		return cli_show_key(object, "path", buf, size);
	if (socket) {
		json_object_object_foreach(socket, key, value) {
			if (used < size)
				used += (size_t)snprintf(buf + used, size - used, "%s%s %d",
							 used ? " " : "", key,
							 json_object_get_int(value));
		}
		return buf;
	}
	if (subject)
		return cli_show_key(subject, "what", buf, size);
	cli_show_key(event, "destination", buf, size);
	used = strlen(buf);
	if (bm_json_string(event, "host") && used < size)
		snprintf(buf + used, size - used, " (%s)",
			 cli_show_key(event, "host", host, sizeof(host)));
	return buf;
}

static void print_lost(FILE *out, struct json_object *event)
{
	char bench[CLI_SHORT], count[CLI_SHORT];

	fprintf(out, "%12s  %s%s LOST %s events: the counters still have them%s\n", "",
		cli_colour(out, COLOUR_YELLOW), cli_show_key(event, "bench", bench, sizeof(bench)),
		cli_show_key(event, "count", count, sizeof(count)), cli_colour_end(out));
}

/* TIME  BENCH#2049-10000  SUPPRESSED 7952 events: ... */
static void print_suppressed(FILE *out, struct json_object *event)
{
	char bench[CLI_SHORT], first[CLI_SHORT], last[CLI_SHORT], count[CLI_SHORT];

	fprintf(out, "  %s#%s-%s  %sSUPPRESSED %s events: the counters still have them%s\n",
		cli_show_key(event, "bench", bench, sizeof(bench)),
		cli_show_key(event, "first", first, sizeof(first)),
		cli_show_key(event, "last", last, sizeof(last)), cli_colour(out, COLOUR_YELLOW),
		cli_show_key(event, "count", count, sizeof(count)), cli_colour_end(out));
}

/* TIME  GRANT  CALL POST /v1/messages 200 of model, 512 out, 20480 back, 2300 ms */
static void print_call(FILE *out, struct json_object *event)
{
	char grant[CLI_SHORT], method[CLI_SHORT], path[CLI_SHOWN], status[CLI_SHORT],
		broker[CLI_SHORT], in[CLI_SHORT], back[CLI_SHORT], ms[CLI_SHORT], why[CLI_SHORT];
	const char *key = bm_json_string(event, "refused") ? "refused" : "cut";

	fprintf(out, "  %s  %sCALL%s %s %s %s of %s, %s out, %s back, %s ms",
		cli_show_key(event, "grant", grant, sizeof(grant)),
		cli_colour(out, bm_json_string(event, "refused") ? COLOUR_RED : COLOUR_GREEN),
		cli_colour_end(out), cli_show_key(event, "method", method, sizeof(method)),
		cli_show_key(event, "path", path, sizeof(path)),
		cli_show_key(event, "status", status, sizeof(status)),
		cli_show_key(event, "broker", broker, sizeof(broker)),
		cli_show_key(event, "bytes_in", in, sizeof(in)),
		cli_show_key(event, "bytes_out", back, sizeof(back)),
		cli_show_key(event, "ms", ms, sizeof(ms)));
	if (bm_json_string(event, key))
		fprintf(out, " (%s: %s)", key, cli_show_key(event, key, why, sizeof(why)));
	fputc('\n', out);
}

static void print_process(FILE *out, struct json_object *event)
{
	struct json_object *process = bm_json_get(event, "process", json_type_object);
	char comm[128], pid[CLI_SHORT];

	if (process)
		fprintf(out, " by %s[%s]", cli_show_key(process, "comm", comm, sizeof(comm)),
			cli_show_key(process, "pid", pid, sizeof(pid)));
}

/* TIME  BENCH#SEQ  DENY file_open r /etc/shadow by cat[123] (no-grant) */
void cli_event_print(FILE *out, struct json_object *event)
{
	struct json_object *object = bm_json_get(event, "object", json_type_object);
	const char *type = bm_json_string(event, "type"), *time = bm_json_string(event, "time");
	const char *verdict = bm_json_string(event, "verdict");
	const char *wanted = object ? bm_json_string(object, "wanted") : NULL;
	bool deny = !verdict || strcmp(verdict, "allow");
	bool would = verdict && !strcmp(verdict, "would-deny");
	char bench[CLI_SHORT], seq[CLI_SHORT], hook[CLI_SHORT], what[CLI_SHOWN], shown[CLI_SHOWN];

	if (type && !strcmp(type, "lost")) {
		print_lost(out, event);
		return;
	}
	/* The day is in the JSON; here UTC as there, to the millisecond. */
	if (time && strlen(time) > 23)
		fprintf(out, "%.12s", cli_show(time + 11, shown, sizeof(shown)));
	else
		fprintf(out, "%12s", "");
	if (type && !strcmp(type, "call")) {
		print_call(out, event);
		return;
	}
	if (type && !strcmp(type, "suppressed")) {
		print_suppressed(out, event);
		return;
	}
	fprintf(out, "  %s#%s  %s%s%s %s", cli_show_key(event, "bench", bench, sizeof(bench)),
		cli_show_key(event, "seq", seq, sizeof(seq)),
		cli_colour(out, would  ? COLOUR_YELLOW
				: deny ? COLOUR_RED
				       : COLOUR_GREEN),
		would  ? "LEARN (not enforced)"
		: deny ? "DENY"
		       : "ALLOW",
		cli_colour_end(out), cli_show_key(event, "hook", hook, sizeof(hook)));
	if (wanted && *wanted)
		fprintf(out, " %s", cli_show(wanted, shown, sizeof(shown)));
	if (strcmp(cli_event_object(event, what, sizeof(what)), "-"))
		fprintf(out, " %s", what);
	print_process(out, event);
	if (bm_json_string(event, "grant"))
		fprintf(out, ": the first use of %s",
			cli_show_key(event, "grant", shown, sizeof(shown)));
	if (strcmp(cli_show_key(event, "rule", shown, sizeof(shown)), "-") && strcmp(shown, "none"))
		fprintf(out, " (%s)", shown);
	fputc('\n', out);
	if (bm_json_string(event, "hint"))
		fprintf(out, "%14sallow with: %s\n", "",
			cli_show_key(event, "hint", shown, sizeof(shown)));
}
