// SPDX-License-Identifier: GPL-2.0-only
#include "ask/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "protocol/protocol.h"

static const char help[] =
	"usage: benchmon request file SRC[:DEST][:ro|rw] --why TEXT [--for TIME] [--wait]\n"
	"       benchmon request net PROFILE|HOST:PORT --why TEXT [--for TIME] [--wait]\n"
	"       benchmon request listen PORT[/udp] --why TEXT [--for TIME] [--wait]\n"
	"       benchmon request broker NAME --why TEXT [--for TIME] [--wait]\n"
	"       benchmon version\n"
	"\n"
	"This is a Bench: it has what was granted to it. What else it needs, it asks for, one\n"
	"thing at a time; an operator outside sees what that is, and confirms or rejects it.\n"
	"\n"
	"options:\n"
	"      --why TEXT        what it is for; shown to the operator as your words\n"
	"      --for TIME        for so long, as 90s, 10m, 2h or 1d\n"
	"      --wait            wait until it is confirmed or rejected\n"
	"      --format text|json\n"
	"\n"
	"exit code: 0 asked, or with --wait granted; 1 rejected; 2 usage; 125 not asked\n";

static void print_json(FILE *out, struct json_object *json)
{
	fprintf(out, "%s\n",
		json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN |
							     JSON_C_TO_STRING_NOSLASHESCAPE));
}

static int report(bool json, const struct bm_error *err, int code)
{
	char line[1024], shown[2048];

	if (json) {
		autojson *report = json_object_new_object();

		bm_json_add(report, "error", bm_error_to_json(err));
		print_json(stderr, report);
	} else {
		fprintf(stderr, "benchmon: %s\n",
			bm_escape(bm_error_line(err, line, sizeof(line)), shown, sizeof(shown)));
	}
	return code;
}

static int reach(int *ret_socket, struct bm_error *err)
{
	int r = bm_connect(ASK_SOCKET, ret_socket);

	if (r == -ENOENT)
		return bm_fail(err, ENOENT, NULL, "ask whoever runs this Bench",
			       "there is no " ASK_SOCKET
			       ": this is no Bench, or one that can't ask");
	if (r == -ECONNREFUSED)
		return bm_fail(err, ECONNREFUSED, NULL, "try again later",
			       "gatekeeperd does not run, and nothing can be granted meanwhile");
	return r < 0 ? bm_fail_errno(err, -r, ASK_SOCKET) : 0;
}

static int version(const struct ask *ask, struct bm_error *err)
{
	autojson *reply = NULL;
	autoclose socket = -1;

	/* Without a daemon there is this one's all the same. */
	if (reach(&socket, NULL) == 0) {
		int r = bm_call(socket, "version", NULL, NULL, 0, &reply, err);

		if (r < 0)
			return r;
	}
	if (ask->json) {
		autojson *json = json_object_new_object();

		bm_json_add_string(json, "version", BENCHMON_VERSION);
		if (reply) {
			json_object_object_del(reply, "ok");
			bm_json_add(json, "gatekeeperd", TAKE_PTR(reply));
		}
		print_json(stdout, json);
		return 0;
	}
	printf("benchmon     " BENCHMON_VERSION "\n");
	printf("gatekeeperd  %s\n", reply ? bm_json_string(reply, "version") : "not running");
	return 0;
}

static const char *text_of(struct json_object *json, const char *key, char shown[256])
{
	return bm_escape(bm_json_string(json, key) ?: "-", shown, 256);
}

/* The exit code: 0 once it is confirmed. */
static int await(const struct ask *ask, int socket, struct bm_error *err)
{
	automessage message = {};
	struct json_object *outcome;
	const char *what;
	char id[256], word[256], got[256];
	int r = bm_receive(socket, &message, err);

	if (r < 0)
		return bm_fail_errno(err, -r, "gatekeeperd has gone; ask again");
	outcome = bm_json_get(message.json, "outcome", json_type_object);
	what = outcome ? bm_json_string(outcome, "what") : NULL;
	if (!what)
		return bm_fail(err, EPROTO, "protocol", NULL, "the reply has no \"outcome\"");
	if (ask->json) {
		print_json(stdout, outcome);
	} else {
		printf("%s %s", text_of(outcome, "request", id), text_of(outcome, "what", word));
		if (bm_json_string(outcome, "grant"))
			printf(": %s", text_of(outcome, "grant", got));
		if (bm_json_string(outcome, "why"))
			printf(": \"%s\"", text_of(outcome, "why", got));
		putchar('\n');
	}
	return strcmp(what, "confirmed") ? ASK_REFUSED : 0;
}

static int request(const struct ask *ask, struct bm_error *err)
{
	autojson *message = NULL, *reply = NULL;
	struct json_object *item;
	autoclose socket = -1;
	char id[256];
	int r = ask_request(ask, &message, err);

	/* Said before anything was asked: what was typed can't be. */
	if (r == -EINVAL)
		return report(ask->json, err, ASK_USAGE);
	if (r == 0)
		r = reach(&socket, err);
	if (r == 0)
		r = bm_call(socket, "request", message, NULL, 0, &reply, err);
	if (r < 0)
		return r;
	item = bm_json_get(reply, "request", json_type_object);
	if (!item)
		return bm_fail(err, EPROTO, "protocol", NULL, "the reply has no \"request\"");
	if (ask->json)
		print_json(stdout, item);
	else
		printf("%s awaits an operator\n", text_of(item, "request", id));
	fflush(stdout);
	return ask->wait ? await(ask, socket, err) : 0;
}

/* A full disk behind stdout must not pass for success. */
static int flush(struct bm_error *err)
{
	int failed = ferror(stdout);

	errno = 0;
	return fflush(stdout) || failed ? bm_fail_errno(err, errno ?: EIO, "standard output") : 0;
}

int main(int argc, char **argv)
{
	struct bm_error err = {};
	struct ask ask = {};
	int code;

	if (ask_parse(argc, argv, &ask, &err) < 0)
		return report(ask.json, &err, ASK_USAGE);
	if (ask.help || !ask.command || !strcmp(ask.command, "help")) {
		fputs(help, stdout);
		code = 0;
	} else {
		code = strcmp(ask.command, "version") ? request(&ask, &err) : version(&ask, &err);
	}
	if (code < 0 || flush(&err) < 0)
		return report(ask.json, &err, ASK_FAILED);
	return code;
}
