// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "cli/commands.h"
#include "cli/parse.h"

const struct cli_command *cli_command_find(const char *name)
{
	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Near: at most a third of the letters wrong, or the beginning of it. */
static void consider(const char *word, const char *name, unsigned *best, const char **ret)
{
	unsigned distance = cli_distance(word, name);

	if (strlen(word) > 1 && !strncmp(word, name, strlen(word)))
		distance = 1;
	if (distance < *best && distance <= 1 + strlen(name) / 3) {
		*best = distance;
		*ret = name;
	}
}

const char *cli_command_nearest(const char *word)
{
	const char *nearest = NULL;
	unsigned best = 64;

	for (const struct cli_command *c = cli_commands; c->name; c++)
		if (c->section != SECTION_HIDDEN)
			consider(word, c->name, &best, &nearest);
	return nearest;
}

const char *cli_option_nearest(const char *word, uint64_t options)
{
	const char *nearest = NULL;
	unsigned best = 64;

	if (!strncmp(word, "--", 2))
		word += 2;
	for (int opt = 0; opt < OPT_MAX; opt++)
		if (options & 1ull << opt)
			consider(word, cli_options[opt].name, &best, &nearest);
	return nearest;
}
