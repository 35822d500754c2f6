/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one table of commands: dispatch, usage, completion and the man page's synopsis are all
 * made from it.
 */
#ifndef BENCHMON_CLI_COMMANDS_H
#define BENCHMON_CLI_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum cli_opt {
	OPT_ADOPT,
	OPT_ALL,
	OPT_ALLOW_USERNS,
	OPT_APPLY,
	OPT_BENCH,
	OPT_BROKER,
	OPT_CGROUP,
	OPT_CPUS,
	OPT_CWD,
	OPT_DEST,
	OPT_DIR,
	OPT_DISK,
	OPT_ENV,
	OPT_EXCEPT,
	OPT_EXCEPT_SECRETS,
	OPT_EXEC,
	OPT_FIRST_USES,
	OPT_FOLLOW,
	OPT_FOR,
	OPT_FORMAT,
	OPT_FROM,
	OPT_HEAD,
	OPT_HELP,
	OPT_HOOK,
	OPT_IMAGE,
	OPT_IN,
	OPT_JSON_STATUS_FD,
	OPT_KEEP,
	OPT_KEY,
	OPT_LEARN,
	OPT_LIMIT,
	OPT_MEMORY,
	OPT_NAME,
	OPT_NET,
	OPT_NO_IDMAP,
	OPT_NO_TTY,
	OPT_NOT_FOUND,
	OPT_ONCE,
	OPT_ON_REVOKE,
	OPT_OUT,
	OPT_PID,
	OPT_PIDS,
	OPT_PRIVATE,
	OPT_RIGHTS,
	OPT_ROOTFS,
	OPT_SECRET,
	OPT_SINCE,
	OPT_SOURCE,
	OPT_TEMPLATE,
	OPT_TIMEOUT,
	OPT_TTY,
	OPT_UNSCANNED,
	OPT_UPSTREAM,
	OPT_WITH_SECRET,
	OPT_WAIT,
	OPT_WHY,
	OPT_YES,
	OPT_MAX,
};
#define OPT(name) (1ull << OPT_##name)
/* What every command takes. */
#define OPT_COMMON (OPT(FORMAT) | OPT(HELP))

struct cli_option {
	const char *name;
	char key;        /* short form, 0: none */
	const char *arg; /* NULL: a switch */
	const char *doc;
};

enum cli_format {
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_COMPACT, /* events: the same as text */
	FORMAT_OCSF,    /* events */
	FORMAT_NAMES,   /* ls, for the completion; never starts a daemon */
	FORMAT_MERMAID, /* show: a diagram */
	FORMAT_MAX,
};

enum cli_section {
	SECTION_WORK,
	SECTION_BENCH,
	SECTION_GRANT,
	SECTION_SYSTEM,
	SECTION_HIDDEN,
	SECTION_MAX,
};

/* One way to write a command: args, then these options in brackets, then tail. */
struct cli_form {
	const char *args;
	uint64_t options;
	const char *tail;
};
#define CLI_FORMS 6

struct cli;

struct cli_command {
	const char *name;
	/* 0 or above: the exit code; below: -errno, with err filled. */
	int (*fn)(struct cli *cli, struct bm_error *err);
	enum cli_section section;
	const char *doc;
	uint64_t options; /* taken beside OPT_COMMON */
	uint32_t formats; /* 1 << enum cli_format, beside text and json */
	unsigned operands_min, operands_max;
	bool payload; /* a command line follows the operands */
	struct cli_form forms[CLI_FORMS];
};

extern const struct cli_option cli_options[OPT_MAX];
extern const struct cli_command cli_commands[]; /* ended by a NULL name */
extern const char *const cli_formats[FORMAT_MAX];
extern const char *const cli_sections[SECTION_MAX];

const struct cli_command *cli_command_find(const char *name);
/* The name in the tables that is nearest to word; NULL when none is near. */
const char *cli_command_nearest(const char *word);
const char *cli_option_nearest(const char *word, uint64_t options);

#endif
