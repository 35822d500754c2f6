/* SPDX-License-Identifier: GPL-2.0-only */
/* What every command of benchmon is given, and what the commands use of each other. */
#ifndef BENCHMON_CLI_CLI_H
#define BENCHMON_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "protocol/protocol.h"

#ifndef BENCHMON_VERSION
#define BENCHMON_VERSION "0.1.0"
#endif

enum cli_exit {
	EXIT_REFUSED = 1, /* the operator said no; why: it is not allowed */
	EXIT_USAGE = 2,
	EXIT_OWN = 125,
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNALLED = 128,
};

struct cli {
	const struct cli_command *command;
	struct cli_args args;
	enum cli_format format;
	int failure; /* exit code of a negative return; 0: EXIT_OWN */
};

/* A usage error: exits 2 and points to the help. */
__attribute__((format(printf, 3, 4))) int cli_usage(struct cli *cli, struct bm_error *err,
						    const char *fmt, ...);
/* The one line, or the JSON object, on stderr. */
void cli_report(enum cli_format format, const struct bm_error *err);

/* daemon.c: connects, and as root starts gatekeeperd when none listens. */
int cli_connect(int *ret_socket, struct bm_error *err);
/* Only connects; the error says nothing about starting. */
int cli_connect_running(int *ret_socket);
const char *cli_socket_path(void);
/* start.c: -ENOENT when there is no gatekeeperd binary. */
int cli_daemon_find(char *ret_path, size_t size, struct bm_error *err);
int cli_daemon_start(struct bm_error *err);

/* request.c: bm_call() with a check that what was typed can be said in JSON. */
int cli_call(int socket, const char *op, struct json_object *request, const int *fds,
	     size_t fd_count, struct json_object **ret_reply, struct bm_error *err);
/* The same of an answer with an fd. */
int cli_call_fd(int socket, const char *op, struct json_object *request, int *ret_fd,
		struct json_object **ret_reply, struct bm_error *err);
/* request.c: the object under key of a reply; -EPROTO when it is not there. */
int cli_reply_object(struct json_object *reply, const char *key, struct json_object **ret,
		     struct bm_error *err);
/* request.c: checks a Bench name that was typed. */
int cli_bench_name(struct cli *cli, const char *name, struct bm_error *err);
/* request.c: follows the pages of ls or show; *ret is the first reply, its list complete. */
int cli_call_paged(int socket, const char *op, struct json_object *request,
		   struct json_object *(*list)(struct json_object *reply), struct json_object **ret,
		   struct bm_error *err);

/*
 * request.c: the whole of a list, by its key in the reply; *ret_list is *ret's. Where names are
 * asked for, no daemon is no error: *ret_list NULL. Pressing Tab must neither start one nor
 * complain.
 */
int cli_call_list(struct cli *cli, const char *op,
		  struct json_object *(*list)(struct json_object *reply), struct json_object **ret,
		  struct json_object **ret_list, struct bm_error *err);

/*
 * request.c: such a list as {what: items} or by the names that stand under key; false where text is
 * wanted.
 */
bool cli_print_list(const struct cli *cli, struct json_object *items, const char *what,
		    const char *key);

/* create.c: --exec, --allow-userns and --first-uses into a request. */
int cli_modes(struct cli *cli, struct json_object *request, struct bm_error *err);
/* create.c */
int cli_create(struct cli *cli, int socket, const char *name, struct json_object **ret_reply,
	       struct bm_error *err);
/* create.c: the Bench that id asks for, from target, shown and confirmed as a grant is. */
int cli_create_asked(struct cli *cli, int socket, const char *id, bool image, const char *target,
		     FILE *out, struct json_object **ret_reply, struct bm_error *err);
/* destroy.c */
int cli_destroy(int socket, const char *bench, struct json_object **ret_reply,
		struct bm_error *err);

struct cli_file_grant {
	const char *source, *dest; /* dest may be NULL: the daemon chooses */
	const char *rights;
	bool idmap;
	const char *on_revoke; /* NULL: kill */
};

/*
 * grant.c: asks for a grant, shows what it is, has it confirmed, makes it. The description goes
 * to the terminal that is asked, with --yes to out (NULL: nowhere). -ECANCELED: the answer was no.
 */
int cli_grant_file(struct cli *cli, int socket, const char *bench,
		   const struct cli_file_grant *grant, FILE *out, struct json_object **ret_reply,
		   struct bm_error *err);
int cli_grant_net(struct cli *cli, int socket, const char *bench, const char *destination,
		  FILE *out, struct json_object **ret_reply, struct bm_error *err);

/* grant.c: --for into a request. */
int cli_add_duration(struct cli *cli, struct json_object *request, struct bm_error *err);
/* listen.c: port as typed, and the --from among the arguments; the rest as above. */
int cli_grant_broker(struct cli *cli, int socket, const char *bench, const char *name, FILE *out,
		     struct json_object **ret_reply, struct bm_error *err);
int cli_grant_listen(struct cli *cli, int socket, const char *bench, const char *port, FILE *out,
		     struct json_object **ret_reply, struct bm_error *err);

/* grant.c: the two steps of a grant that op asks for; out and -ECANCELED as above. */
int cli_grant_ask(struct cli *cli, int socket, const char *op, struct json_object *request,
		  const int *fd, FILE *out, struct json_object **ret_reply, struct bm_error *err);
void cli_grant_print(struct json_object *grant);
/* adopt.c: asks for each of the volumes that attach detached; what came of it goes into volumes. */
int cli_adopt(struct cli *cli, int socket, const char *bench, struct json_object *volumes);

/* exec.c: runs the payload in the arguments, relays its streams; returns its exit code. */
int cli_exec(struct cli *cli, const char *bench, struct bm_error *err);

/* The commands. */
int cmd_attach(struct cli *cli, struct bm_error *err);
int cmd_completion(struct cli *cli, struct bm_error *err);
int cmd_confirm(struct cli *cli, struct bm_error *err);
int cmd_create(struct cli *cli, struct bm_error *err);
int cmd_destroy(struct cli *cli, struct bm_error *err);
int cmd_freeze(struct cli *cli, struct bm_error *err);
int cmd_thaw(struct cli *cli, struct bm_error *err);
int cmd_detach(struct cli *cli, struct bm_error *err);
int cmd_doctor(struct cli *cli, struct bm_error *err);
int cmd_events(struct cli *cli, struct bm_error *err);
int cmd_exec(struct cli *cli, struct bm_error *err);
int cmd_grant(struct cli *cli, struct bm_error *err);
int cmd_help(struct cli *cli, struct bm_error *err);
int cmd_ledger(struct cli *cli, struct bm_error *err);
int cmd_ls(struct cli *cli, struct bm_error *err);
int cmd_broker(struct cli *cli, struct bm_error *err);
int cmd_pending(struct cli *cli, struct bm_error *err);
int cmd_profile(struct cli *cli, struct bm_error *err);
int cmd_carrier(struct cli *cli, struct bm_error *err);
int cmd_receipt(struct cli *cli, struct bm_error *err);
int cmd_reject(struct cli *cli, struct bm_error *err);
int cmd_request(struct cli *cli, struct bm_error *err);
int cmd_revoke(struct cli *cli, struct bm_error *err);
int cmd_run(struct cli *cli, struct bm_error *err);
int cmd_show(struct cli *cli, struct bm_error *err);
int cmd_suggest(struct cli *cli, struct bm_error *err);
int cmd_synopsis(struct cli *cli, struct bm_error *err);
int cmd_top(struct cli *cli, struct bm_error *err);
int cmd_why(struct cli *cli, struct bm_error *err);
int cmd_version(struct cli *cli, struct bm_error *err);

#endif
