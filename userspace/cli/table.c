// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

/* Columns on the terminal: UTF-8 continuation bytes take none. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += (*text & 0xc0) != 0x80;
	return width;
}

int cli_table_row(struct cli_table *table, const char *const *cells)
{
	size_t n = (table->count + 1) * table->columns;
	char **grown = reallocarray(table->cells, n, sizeof(*grown));
	char **row;

	if (!grown)
		return -ENOMEM;
	table->cells = grown;
	row = grown + table->count * table->columns;
	table->count++;
	for (size_t i = 0; i < table->columns; i++)
		row[i] = strdup(cells[i]);
	for (size_t i = 0; i < table->columns; i++)
		if (!row[i])
			return -ENOMEM;
	return 0;
}

static enum cli_colour colour_of(const struct cli_table *table, size_t column, const char *cell)
{
	if (cell == table->titles[column])
		return COLOUR_BOLD;
	return table->colour ? table->colour(column, cell) : COLOUR_NONE;
}

static void print_row(const struct cli_table *table, FILE *out, const char *const *cells,
		      const size_t *widths)
{
	for (size_t i = 0; i < table->columns; i++) {
		int pad = (int)(widths[i] - width_of(cells[i]));
		bool right = table->right & 1u << i;
		enum cli_colour colour = colour_of(table, i, cells[i]);

		/* Nothing behind the last cell: trailing blanks would wrap a narrow terminal. */
		fprintf(out, "%s%*s%s%s%s%*s", i ? "  " : "", right ? pad : 0, "",
			cli_colour(out, colour), cells[i],
			colour == COLOUR_NONE ? "" : cli_colour_end(out),
			right || i + 1 == table->columns ? 0 : pad, "");
	}
	fputc('\n', out);
}

void cli_table_print(const struct cli_table *table, FILE *out)
{
	size_t widths[16] = {};

	for (size_t i = 0; i < table->columns; i++) {
		widths[i] = width_of(table->titles[i]);
		for (size_t row = 0; row < table->count; row++) {
			size_t width = width_of(table->cells[row * table->columns + i]);

			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
	print_row(table, out, table->titles, widths);
	for (size_t row = 0; row < table->count; row++)
		print_row(table, out, (const char *const *)(table->cells + row * table->columns),
			  widths);
}

void cli_table_done(struct cli_table *table)
{
	for (size_t i = 0; i < table->count * table->columns; i++)
		free(table->cells[i]);
	free(table->cells);
	table->cells = NULL;
	table->count = 0;
}
