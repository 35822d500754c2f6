// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_CHECK = 256, OPT_CONFIG, OPT_LEVEL, OPT_VERIFY, OPT_ACCEPT, OPT_DIR, OPT_HEAD, OPT_KEY };

static const struct option options[] = {
	{ "accept-ledger", no_argument, NULL, OPT_ACCEPT },
	{ "foreground", no_argument, NULL, 'f' },
	{ "background-fd", required_argument, NULL, 'b' },
	{ "check-config", no_argument, NULL, OPT_CHECK },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "doctor", no_argument, NULL, 'd' },
	{ "format", required_argument, NULL, 'F' },
	{ "head", required_argument, NULL, OPT_HEAD },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "log-level", required_argument, NULL, OPT_LEVEL },
	{ "socket", required_argument, NULL, 's' },
	{ "unload", no_argument, NULL, 'u' },
	{ "verify-ledger", no_argument, NULL, OPT_VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ "force", no_argument, NULL, 'k' },
	{},
};

static const char usage[] =
	"usage: gatekeeperd [--foreground] [--socket PATH] [--background-fd N] [--config FILE]\n"
	"                   [--log-level error|warning|info|debug]\n"
	"       gatekeeperd --check-config [--config FILE]\n"
	"       gatekeeperd --doctor [--format json|text]\n"
	"       gatekeeperd --unload [--force]\n"
	"       gatekeeperd --verify-ledger [--dir DIR] [--head N:HASH] [--key KEY]\n"
	"                   [--format json|text]\n"
	"       gatekeeperd --accept-ledger [--force]\n";

int arguments_parse(int argc, char **argv, struct arguments *a)
{
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			break;
		case 'b':
			a->ready = atoi(optarg);
			break;
		case 'd':
			a->doctor = true;
			break;
		case 'F':
			a->ledger.json = !strcmp(optarg, "json");
			break;
		case 's':
			a->socket = optarg;
			break;
		case 'u':
			a->unload = true;
			break;
		case 'k':
			a->force = true;
			break;
		case OPT_CHECK:
			a->check = true;
			break;
		case OPT_CONFIG:
			a->config = optarg;
			break;
		case OPT_LEVEL:
			a->level = optarg;
			break;
		case OPT_VERIFY:
			a->verify = true;
			break;
		case OPT_ACCEPT:
			a->accept = true;
			break;
		case OPT_DIR:
			a->ledger.dir = optarg;
			break;
		case OPT_HEAD:
			a->ledger.head = optarg;
			break;
		case OPT_KEY:
			a->ledger.key = optarg;
			break;
		case 'V':
			puts("gatekeeperd " BENCHMON_VERSION);
			return 0;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind == argc)
		return -1;
	fputs(usage, stderr);
	return 2;
}
