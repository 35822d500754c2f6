// SPDX-License-Identifier: GPL-2.0-only
#include "ask/ask.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "cli/parse.h"

static int usage(struct bm_error *err, const char *what, const char *why)
{
	char shown[128];

	return bm_fail(err, EINVAL, NULL, "see `benchmon help`", "%s%s%s",
		       what ? bm_escape(what, shown, sizeof(shown)) : "", what ? ": " : "", why);
}

/* The value of an option, as "--why=TEXT" or the word after it. */
static int value_of(int argc, char **argv, int *at, const char **ret, struct bm_error *err)
{
	const char *equals = strchr(argv[*at], '=');

	if (equals)
		*ret = equals + 1;
	else if (*at + 1 < argc)
		*ret = argv[++*at];
	else
		return usage(err, argv[*at], "needs a value");
	return 0;
}

static bool is_option(const char *word, const char *name, bool valued)
{
	size_t len = strlen(name);

	return !strncmp(word, name, len) && (!word[len] || (valued && word[len] == '='));
}

static int take_option(int argc, char **argv, int *at, struct ask *ask, struct bm_error *err)
{
	const char *word = argv[*at], *value = NULL;
	int r = 0;

	if (is_option(word, "--wait", false)) {
		ask->wait = true;
	} else if (is_option(word, "--help", false) || !strcmp(word, "-h")) {
		ask->help = true;
	} else if (is_option(word, "--why", true)) {
		r = value_of(argc, argv, at, &ask->why, err);
	} else if (is_option(word, "--for", true)) {
		r = value_of(argc, argv, at, &value, err);
		if (r == 0)
			r = cli_parse_duration(value, &ask->seconds, err);
	} else if (is_option(word, "--format", true)) {
		r = value_of(argc, argv, at, &value, err);
		if (r == 0 && strcmp(value, "json") && strcmp(value, "text"))
			r = usage(err, value, "the formats are text and json");
		ask->json |= r == 0 && !strcmp(value, "json");
	} else {
		r = usage(err, word, "no such option inside a Bench");
	}
	return r;
}

/* Of a command that is another's, how it goes on is not judged. */
static int take_command(const char *word, struct ask *ask, struct bm_error *err)
{
	if (strcmp(word, "request") && strcmp(word, "version") && strcmp(word, "help"))
		return usage(err, word, "inside a Bench there are request, version and help alone");
	ask->command = word;
	return 0;
}

static int take_word(const char *word, struct ask *ask, struct bm_error *err)
{
	if (!ask->command)
		return take_command(word, ask, err);
	if (strcmp(ask->command, "request"))
		return strcmp(ask->command, "help") ? usage(err, word, "one word too many") : 0;
	else if (!ask->kind)
		ask->kind = word;
	else if (!ask->what)
		ask->what = word;
	else
		return usage(err, word, "one thing at a time");
	return 0;
}

static int check_request(const struct ask *ask, struct bm_error *err)
{
	if (!ask->kind)
		return usage(err, NULL, "request what? file, net, listen or broker");
	if (strcmp(ask->kind, "file") && strcmp(ask->kind, "net") && strcmp(ask->kind, "listen") &&
	    strcmp(ask->kind, "broker"))
		return usage(err, ask->kind, "only file, net, listen and broker can be asked for");
	if (!ask->what || !*ask->what)
		return usage(err, ask->kind, "which one?");
	if (!ask->why || !*ask->why)
		return usage(err, NULL, "say what it is for: --why TEXT");
	return 0;
}

static int check(const struct ask *ask, struct bm_error *err)
{
	const char *command = ask->command ?: "help";
	bool asks = !strcmp(command, "request");

	if (ask->help)
		return 0;
	if (!asks && (ask->why || ask->wait || ask->seconds))
		return usage(err, command, "takes no such option");
	return asks ? check_request(ask, err) : 0;
}

int ask_parse(int argc, char **argv, struct ask *ret, struct bm_error *err)
{
	struct ask ask = {};
	bool words = false;
	int r = 0;

	for (int i = 1; r == 0 && i < argc; i++) {
		if (!words && !strcmp(argv[i], "--"))
			words = true;
		else if (!words && argv[i][0] == '-' && argv[i][1])
			r = take_option(argc, argv, &i, &ask, err);
		else
			r = take_word(argv[i], &ask, err);
	}
	ret->json = ask.json;
	if (r == 0)
		r = check(&ask, err);
	if (r == 0)
		*ret = ask;
	return r;
}

/* JSON carries nothing else. */
static int check_text(const char *text, struct bm_error *err)
{
	char shown[128];

	return cli_is_utf8(text)
		       ? 0
		       : bm_fail(err, EILSEQ, "utf-8", "use a name in UTF-8",
				 "'%s' is not UTF-8, which is all that a request can carry",
				 bm_escape(text, shown, sizeof(shown)));
}

/* The host's name for it: a path from here would mean something else there. */
static int add_file(const char *what, struct json_object *request, struct bm_error *err)
{
	struct cli_spec spec;
	int r = cli_parse_spec(what, &spec, err);

	if (r < 0)
		return r;
	if (*spec.source != '/')
		return usage(err, spec.source, "name it as the host does, from / on");
	bm_json_add_string(request, "target", spec.source);
	if (*spec.dest)
		bm_json_add_string(request, "dest", spec.dest);
	bm_json_add_string(request, "rights", spec.rights);
	return 0;
}

int ask_request(const struct ask *ask, struct json_object **ret, struct bm_error *err)
{
	autojson *request = json_object_new_object();
	int r = check_text(ask->what, err);

	if (r == 0)
		r = check_text(ask->why, err);
	if (r < 0)
		return r;
	bm_json_add_string(request, "kind", ask->kind);
	bm_json_add_string(request, "why", ask->why);
	if (ask->seconds)
		bm_json_add_int(request, "for", ask->seconds);
	if (ask->wait)
		bm_json_add_bool(request, "wait", true);
	if (!strcmp(ask->kind, "file"))
		r = add_file(ask->what, request, err);
	else
		bm_json_add_string(request, "target", ask->what);
	if (r == 0)
		*ret = TAKE_PTR(request);
	return r;
}
