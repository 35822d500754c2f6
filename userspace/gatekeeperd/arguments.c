// SPDX-License-Identifier: GPL-2.0-only
#include "gatekeeperd/arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_CHECK = 256, OPT_CONFIG, OPT_LEVEL };

static const struct option options[] = {
	{ "foreground", no_argument, NULL, 'f' },
	{ "background-fd", required_argument, NULL, 'b' },
	{ "check-config", no_argument, NULL, OPT_CHECK },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "doctor", no_argument, NULL, 'd' },
	{ "format", required_argument, NULL, 'F' },
	{ "log-level", required_argument, NULL, OPT_LEVEL },
	{ "socket", required_argument, NULL, 's' },
	{ "unload", no_argument, NULL, 'u' },
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
	"       gatekeeperd --unload [--force]\n";

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
			a->json = !strcmp(optarg, "json");
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
