// SPDX-License-Identifier: GPL-2.0-only
#include "cli/cli.h"

const struct cli_option cli_options[OPT_MAX] = {
	[OPT_ADOPT] = { "adopt", 0, NULL, "offers each of its volumes as a grant" },
	[OPT_ALL] = { "all", 0, NULL, "every grant of the Bench" },
	[OPT_ALLOW_USERNS] = { "allow-userns", 0, NULL,
			       "what runs in it may make user namespaces" },
	[OPT_BENCH] = { "bench", 'b', "BENCH", "only what happened in this Bench" },
	[OPT_CGROUP] = { "cgroup", 0, "PATH", "the container whose cgroup this is" },
	[OPT_CWD] = { "cwd", 'C', "DIR", "where in the Bench the command starts" },
	[OPT_DEST] = { "dest", 0, "PATH", "where in the Bench it appears" },
	[OPT_ENV] = { "env", 'e', "K=V", "sets an environment variable; K alone takes yours" },
	[OPT_EXCEPT] = { "except", 0, "NAME[:ro]", "leaves a name in the directory out, or ro" },
	[OPT_EXEC] = { "exec", 0, "own|image", "what it may execute: own (the default) or image" },
	[OPT_FOLLOW] = { "follow", 'f', NULL, "goes on with what happens from now" },
	[OPT_FORMAT] = { "format", 0, "FORMAT", "text or json" },
	[OPT_HELP] = { "help", 'h', NULL, "shows this" },
	[OPT_HOOK] = { "hook", 0, NULL, "the container whose createRuntime hook this is" },
	[OPT_IMAGE] = { "image", 0, "IMAGE", "an image of podman's" },
	[OPT_IN] = { "in", 'i', "DIR", "grants a directory or file, ro, as /in/NAME" },
	[OPT_KEEP] = { "keep", 0, NULL, "keeps the Bench afterwards" },
	[OPT_MEMORY] = { "memory", 'm', "SIZE", "memory limit, as 512M or 2G" },
	[OPT_NET] = { "net", 'n', "DEST",
		      "grants a profile, or one destination: HOST:PORT or ADDR:PORT, /udp if not "
		      "TCP" },
	[OPT_FOR] = { "for", 0, "TIME", "the grant ends by itself after so long: 90s, 10m, 2h" },
	[OPT_ON_REVOKE] = { "on-revoke", 0, "WHAT", "what becomes of who maps it: kill or report" },
	[OPT_NO_IDMAP] = { "no-idmap", 0, NULL, "shows the files with the owners they have" },
	[OPT_NO_TTY] = { "no-tty", 'T', NULL, "gives the command pipes, never a terminal" },
	[OPT_OUT] = { "out", 'o', "DIR", "grants a directory, rw, as /out/NAME; made if missing" },
	[OPT_PID] = { "pid", 0, "PID", "the container this process is in" },
	[OPT_PIDS] = { "pids", 0, "N", "limit of processes and threads" },
	[OPT_PRIVATE] = { "private", 0, NULL,
			  "allows a destination in a private network: that address, or those of "
			  "that host" },
	[OPT_RIGHTS] = { "rights", 0, "ro|rw", "ro (the default) or rw" },
	[OPT_ROOTFS] = { "rootfs", 0, "DIR", "root filesystem, never written to" },
	[OPT_SINCE] = { "since", 0, "SEQ", "begins behind this number (with --bench)" },
	[OPT_SOURCE] = { "source", 0, "PATH", "what is granted; may contain colons" },
	[OPT_TTY] = { "tty", 't', NULL, "gives the command a terminal of its own" },
	[OPT_YES] = { "yes", 'y', NULL, "confirms without asking; recorded as such" },
};

const char *const cli_formats[FORMAT_MAX] = {
	[FORMAT_TEXT] = "text",
	[FORMAT_JSON] = "json",
	[FORMAT_COMPACT] = "compact",
	[FORMAT_NAMES] = "names",
};

const char *const cli_sections[SECTION_MAX] = {
	[SECTION_WORK] = "Work",       [SECTION_BENCH] = "Benches", [SECTION_GRANT] = "Grants",
	[SECTION_SYSTEM] = "The rest", [SECTION_HIDDEN] = "Hidden",
};

#define LIMITS (OPT(MEMORY) | OPT(PIDS))
#define MODES (OPT(EXEC) | OPT(ALLOW_USERNS))
#define FILE_GRANT (OPT(EXCEPT) | OPT(NO_IDMAP) | OPT(FOR) | OPT(ON_REVOKE) | OPT(YES))
#define PROCESS (OPT(TTY) | OPT(NO_TTY) | OPT(ENV) | OPT(CWD))
#define RUN                                                                                        \
	(OPT(ROOTFS) | OPT(IN) | OPT(OUT) | OPT(NET) | OPT(PRIVATE) | OPT(YES) | OPT(KEEP) |       \
	 MODES | LIMITS | PROCESS)

/* clang-format off */
const struct cli_command cli_commands[] = {
	{ "run", cmd_run, SECTION_WORK,
	  "runs one command in a Bench of its own and destroys it afterwards",
	  RUN, 0, 0, 0, true,
	  { { "", RUN, "-- CMD [ARG...]" } } },
	{ "exec", cmd_exec, SECTION_WORK, "runs a command in a Bench",
	  PROCESS, 0, 1, 1, true,
	  { { "BENCH", PROCESS, "-- CMD [ARG...]" } } },
	{ "events", cmd_events, SECTION_WORK, "shows what was denied",
	  OPT(FOLLOW) | OPT(BENCH) | OPT(SINCE), 1u << FORMAT_COMPACT, 0, 0, false,
	  { { "", OPT(FOLLOW) | OPT(BENCH) | OPT(SINCE), NULL } } },
	{ "create", cmd_create, SECTION_BENCH, "makes a Bench that has nothing",
	  OPT(ROOTFS) | MODES | LIMITS, 0, 0, 1, false,
	  { { "[NAME]", OPT(ROOTFS) | MODES | LIMITS, NULL } } },
	{ "attach", cmd_attach, SECTION_BENCH, "makes a Bench of a container that exists",
	  OPT(PID) | OPT(CGROUP) | OPT(HOOK) | MODES | OPT(ADOPT) | OPT(YES), 0, 1, 2, false,
	  { { "NAME CONTAINER", MODES | OPT(ADOPT) | OPT(YES), NULL },
	    { "NAME --pid PID", OPT(ALLOW_USERNS) | OPT(ADOPT) | OPT(YES), NULL },
	    { "NAME --cgroup PATH", OPT(ALLOW_USERNS) | OPT(ADOPT) | OPT(YES), NULL },
	    { "NAME --hook", MODES | OPT(ADOPT) | OPT(YES), NULL } } },
	{ "detach", cmd_detach, SECTION_BENCH, "revokes all and lets an attached container go",
	  0, 0, 1, 1, false,
	  { { "BENCH", 0, NULL } } },
	{ "destroy", cmd_destroy, SECTION_BENCH, "ends a Bench and all that runs in it",
	  0, 0, 1, 1, false,
	  { { "BENCH", 0, NULL } } },
	{ "ls", cmd_ls, SECTION_BENCH, "lists the Benches; also without any command",
	  0, 1u << FORMAT_NAMES, 0, 0, false,
	  { { "", 0, NULL } } },
	{ "show", cmd_show, SECTION_BENCH, "shows a Bench and its grants",
	  0, 0, 1, 1, false,
	  { { "BENCH", 0, NULL } } },
	{ "grant", cmd_grant, SECTION_GRANT, "gives a Bench one file, directory or destination",
	  OPT(SOURCE) | OPT(DEST) | OPT(RIGHTS) | FILE_GRANT | OPT(PRIVATE),
	  0, 2, 3, false,
	  { { "BENCH file SRC[:DEST][:ro|rw]", FILE_GRANT, NULL },
	    { "BENCH file --source PATH", OPT(DEST) | OPT(RIGHTS) | FILE_GRANT, NULL },
	    { "BENCH net PROFILE|HOST:PORT|ADDR:PORT[/udp]", OPT(PRIVATE) | OPT(FOR) | OPT(YES), NULL } } },
	{ "revoke", cmd_revoke, SECTION_GRANT, "takes a grant back, or all of a Bench",
	  OPT(ALL), 0, 1, 2, false,
	  { { "GRANT [HOST]", 0, NULL }, { "BENCH --all", 0, NULL } } },
	{ "profile", cmd_profile, SECTION_GRANT, "shows and seals named sets of destinations",
	  OPT(IMAGE) | OPT(ROOTFS) | OPT(PRIVATE) | OPT(YES), 1u << FORMAT_NAMES, 1, 2, false,
	  { { "ls", 0, NULL },
	    { "show NAME", 0, NULL },
	    { "seal NAME", OPT(IMAGE) | OPT(ROOTFS) | OPT(PRIVATE) | OPT(YES), NULL },
	    { "verify [NAME]", 0, NULL },
	    { "refresh NAME", OPT(YES), NULL },
	    { "unseal NAME", 0, NULL } } },
	{ "doctor", cmd_doctor, SECTION_SYSTEM, "says whether this kernel can enforce, or why not",
	  0, 0, 0, 0, false,
	  { { "", 0, NULL } } },
	{ "version", cmd_version, SECTION_SYSTEM, "shows the versions of benchmon and gatekeeperd",
	  0, 0, 0, 0, false,
	  { { "", 0, NULL } } },
	{ "help", cmd_help, SECTION_SYSTEM, "explains a command",
	  0, 0, 0, 1, false,
	  { { "[COMMAND]", 0, NULL } } },
	{ "completion", cmd_completion, SECTION_SYSTEM, "prints a completion script",
	  0, 0, 1, 1, false,
	  { { "bash", 0, NULL } } },
	{ "synopsis", cmd_synopsis, SECTION_HIDDEN, "prints the man page's @SYNOPSIS@ or @OPTIONS@",
	  0, 0, 0, 1, false,
	  { { "[options]", 0, NULL } } },
	{},
};
/* clang-format on */
