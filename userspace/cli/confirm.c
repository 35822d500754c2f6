// SPDX-License-Identifier: GPL-2.0-only
#include "cli/confirm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/broker.h"
#include "cli/ask.h"
#include "cli/profile.h"
#include "cli/signals.h"
#include "cli/text.h"

static void row(FILE *out, const char *what, const char *text)
{
	fprintf(out, "  %-8s  %s\n", what, text);
}

static void print_object(FILE *out, struct json_object *c)
{
	char a[CLI_SHOWN], b[CLI_SHORT], line[CLI_SHOWN + 256], size[CLI_SIZE_LEN];
	char uid[CLI_SHORT], gid[CLI_SHORT], mode[CLI_SHORT], fstype[CLI_SHORT];
	const char *type = bm_json_string(c, "type");
	int64_t bytes;

	snprintf(line, sizeof(line), "%s, mode %s, owned by %s (%s:%s)",
		 cli_show_key(c, "type", b, sizeof(b)), cli_show_key(c, "mode", mode, sizeof(mode)),
		 cli_show_key(c, "owner", a, sizeof(a)), cli_show_key(c, "uid", uid, sizeof(uid)),
		 cli_show_key(c, "gid", gid, sizeof(gid)));
	row(out, "what", line);
	row(out, "path", cli_show_key(c, "path", a, sizeof(a)));
	/* What stat says of a directory's size says nothing about what is in it. */
	if (type && !strcmp(type, "file") && bm_json_int(c, "size", &bytes) == 0) {
		snprintf(line, sizeof(line), "%s", cli_size(bytes, size));
		row(out, "size", line);
	}
	snprintf(line, sizeof(line), "inode %s of device %s, %s",
		 cli_show_key(c, "inode", a, sizeof(a)), cli_show_key(c, "device", b, sizeof(b)),
		 cli_show_key(c, "fstype", fstype, sizeof(fstype)));
	row(out, "object", line);
}

static void print_file(FILE *out, struct json_object *c)
{
	const char *rights = bm_json_string(c, "rights");
	const char *on_revoke = bm_json_string(c, "on_revoke");
	char a[CLI_SHOWN];

	print_object(out, c);
	row(out, "appears", cli_show_key(c, "dest", a, sizeof(a)));
	row(out, "rights",
	    bm_json_bool(c, "learn") ? "LEARNING: what is read and written is told, and not refused"
	    : rights && !strcmp(rights, "rw") ? "rw: read and write; never execute (noexec)"
					      : "ro: read only; never execute (noexec)");
	if (on_revoke && !strcmp(on_revoke, "report"))
		row(out, "mapped",
		    "processes that map it when it is revoked keep what they mapped");
	cli_print_excepts(out, c, "  except    ");
	if (bm_json_bool(c, "unscanned"))
		row(out, "secrets", "it was not searched for secrets to its end");
	if (bm_json_bool(c, "secret"))
		row(out, "secret", "yes: the Bench never gets egress, for its life");
	row(out, "owners",
	    bm_json_bool(c, "idmap")     ? "mapped: yours are the Bench's user's"
	    : bm_json_bool(c, "adopted") ? "as the container had them"
					 : "as they are, not mapped");
}

void cli_print_hosts(FILE *out, struct json_object *grant, const char *before)
{
	struct json_object *hosts = bm_json_get(grant, "hosts", json_type_array);
	char shown[CLI_SHOWN];

	for (size_t i = 0; hosts && i < json_object_array_length(hosts); i++) {
		struct json_object *host = json_object_array_get_idx(hosts, i);
		const char *name = bm_json_string(host, "host");
		int64_t count = 0;

		if (bm_json_int(host, "left_out", &count) == 0) {
			fprintf(out, "%sand %lld more\n", before, (long long)count);
			continue;
		}
		bm_json_int(host, "addresses", &count);
		fprintf(out, "%s%s, addresses: %lld%s\n", before,
			name && *name ? cli_show(name, shown, sizeof(shown)) : "no name",
			(long long)count, bm_json_bool(host, "revoked") ? " (revoked)" : "");
	}
}

static void print_profile(FILE *out, struct json_object *c)
{
	char shown[CLI_SHOWN];

	row(out, "profile", cli_show_key(c, "profile", shown, sizeof(shown)));
	cli_print_hosts(out, c, "  host      ");
	fprintf(out, "  %-8s  %.19sZ\n", "sealed to",
		cli_show_key(c, "expires", shown, sizeof(shown)));
	if (bm_json_bool(c, "uploads"))
		row(out, "uploads", "yes: data can leave by it");
	row(out, "rights", "these hosts' addresses and ports alone; no DNS, nothing incoming");
}

static void print_net(FILE *out, struct json_object *c)
{
	char shown[CLI_SHOWN];

	if (bm_json_bool(c, "seals")) {
		cli_host_confirm_print(out, c);
		return;
	}
	if (bm_json_string(c, "profile")) {
		print_profile(out, c);
		return;
	}
	row(out, "to", cli_show_key(c, "destination", shown, sizeof(shown)));
	if (bm_json_bool(c, "private"))
		row(out, "private", "yes: an address of a private network");
	row(out, "rights", "this address and port alone; no DNS, nothing incoming");
}

static void print_listen(FILE *out, struct json_object *c)
{
	char shown[CLI_SHOWN];

	row(out, "port", cli_show_port(c, shown, sizeof(shown)));
	cli_print_peers(out, c, "  from      ");
	row(out, "rights", "they may connect to it; nothing is opened from inside");
	row(out, "egress", "yes: data can leave to them");
}

/* What could leave, where that is confirmed apart. */
static void print_leaves(FILE *out, struct json_object *c)
{
	struct json_object *list = bm_json_get(c, "leaves", json_type_array);
	const char *kind = bm_json_string(c, "kind");
	char line[CLI_SHOWN + 64], shown[CLI_SHOWN];

	if (!list)
		return;
	for (size_t i = 0; i < json_object_array_length(list); i++) {
		cli_show(json_object_get_string(json_object_array_get_idx(list, i)), shown,
			 sizeof(shown));
		snprintf(line, sizeof(line),
			 kind && !strcmp(kind, "file") ? "by %s what is in this could leave"
						       : "by this could leave: %s",
			 shown);
		row(out, "leaves", line);
	}
}

/* What it is made of is read, and never written to. */
static void print_bench(FILE *out, struct json_object *c)
{
	const char *mode = bm_json_string(c, "exec");

	print_object(out, c);
	row(out, "executes",
	    mode && !strcmp(mode, "image") ? "what is in that image alone"
					   : "its own files, and what it makes");
	if (bm_json_bool(c, "first_uses"))
		row(out, "events", "the first use of each grant too");
	if (bm_json_bool(c, "userns"))
		row(out, "userns", "yes: it may make user namespaces");
}

static void print_ends(FILE *out, struct json_object *c)
{
	char line[64];
	int64_t seconds;

	if (bm_json_int(c, "for", &seconds) < 0)
		return;
	snprintf(line, sizeof(line), "by itself, %lld s after it was confirmed",
		 (long long)seconds);
	row(out, "ends", line);
}

static bool is_profile(struct json_object *confirm)
{
	const char *kind = bm_json_string(confirm, "kind");

	return kind && !strcmp(kind, "profile");
}

static bool is_bench(struct json_object *confirm)
{
	const char *kind = bm_json_string(confirm, "kind");

	return kind && !strcmp(kind, "bench");
}

void cli_confirm_print(FILE *out, struct json_object *confirm)
{
	struct json_object *request = bm_json_get(confirm, "request", json_type_object);
	const char *kind = bm_json_string(confirm, "kind");
	char bench[CLI_SHORT], shown[CLI_SHORT];

	if (is_profile(confirm)) {
		cli_profile_confirm_print(out, confirm);
		return;
	}
	cli_show_key(confirm, "bench", bench, sizeof(bench));
	if (is_bench(confirm))
		fprintf(out, "a Bench, %s:\n", bench);
	else
		fprintf(out, "%s grant for %s:\n",
			cli_show_key(confirm, "kind", shown, sizeof(shown)), bench);
	if (is_bench(confirm))
		print_bench(out, confirm);
	else if (kind && !strcmp(kind, "net"))
		print_net(out, confirm);
	else if (kind && !strcmp(kind, "listen"))
		print_listen(out, confirm);
	else if (kind && !strcmp(kind, "broker"))
		cli_broker_confirm_print(out, confirm);
	else
		print_file(out, confirm);
	print_leaves(out, confirm);
	print_ends(out, confirm);
	if (request)
		cli_ask_print(out, request);
}

/* One line; -ECANCELED at a signal that ends us. */
static int answer(int tty, char *buf, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		ssize_t n = read(tty, buf + len, 1);

		if (n < 0 && errno == EINTR && !cli_interrupted())
			continue;
		if (n < 0)
			return errno == EINTR ? -ECANCELED : -errno;
		if (n == 0 || buf[len] == '\n')
			break;
		len++;
	}
	buf[len] = '\0';
	return 0;
}

static int ask(struct json_object *confirm, struct bm_error *err)
{
	autoclose tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	autofclose FILE *out = NULL;
	const char *done = is_profile(confirm) ? "sealed" : is_bench(confirm) ? "made" : "granted";
	char said[32], bench[CLI_SHORT];
	int copy, r;

	if (tty < 0)
		return bm_fail(err, ENOTTY, "confirmation",
			       "run it in a terminal, or confirm with --yes",
			       "there is no terminal to ask on");
	copy = fcntl(tty, F_DUPFD_CLOEXEC, 3);
	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out) {
		bm_close(copy);
		return bm_fail_errno(err, errno, "/dev/tty");
	}
	cli_confirm_print(out, confirm);
	if (is_profile(confirm))
		fprintf(out, "Seal this? [y/N] ");
	else if (is_bench(confirm))
		fprintf(out, "Make this Bench? [y/N] ");
	else
		fprintf(out, "Grant this to %s? [y/N] ",
			cli_show_key(confirm, "bench", bench, sizeof(bench)));
	/* What was typed before it could be read is no answer to it. */
	tcflush(tty, TCIFLUSH);
	fflush(out);
	r = answer(tty, said, sizeof(said));
	if (r == 0 && (!strcasecmp(said, "y") || !strcasecmp(said, "yes")))
		return 0;
	if (r < 0) {
		fputc('\n', out);
		return bm_fail(err, ECANCELED, NULL, NULL, "not %s: interrupted", done);
	}
	return bm_fail(err, ECANCELED, NULL, NULL, "not %s", done);
}

int cli_confirm(struct json_object *confirm, bool yes, FILE *out, const char **ret_how,
		struct bm_error *err)
{
	int r;

	if (yes) {
		if (out)
			cli_confirm_print(out, confirm);
		*ret_how = "yes";
		return 0;
	}
	r = ask(confirm, err);
	if (r == 0)
		*ret_how = "tty";
	return r;
}
