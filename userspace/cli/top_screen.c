// SPDX-License-Identifier: GPL-2.0-only
#include "cli/top.h"

#include <curses.h>
#include <term.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/signals.h"

#define LOOK_NS 1000000000ull
#define NAME_WIDTH 16
/* Everything before the bars. */
#define BARS_COLUMN 66

enum pair {
	PAIR_NONE,
	PAIR_GREEN,
	PAIR_YELLOW,
	PAIR_RED,
};

static bool coloured, utf8;

static void begin_colours(void)
{
	const char *no = getenv("NO_COLOR");

	coloured = (!no || !*no) && has_colors() && start_color() == OK;
	if (!coloured)
		return;
	use_default_colors();
	init_pair(PAIR_GREEN, COLOR_GREEN, -1);
	init_pair(PAIR_YELLOW, COLOR_YELLOW, -1);
	init_pair(PAIR_RED, COLOR_RED, -1);
}

static attr_t attribute(enum pair pair)
{
	return coloured ? COLOR_PAIR(pair) : A_NORMAL;
}

static enum pair pair_of(const char *state)
{
	switch (cli_state_colour(state)) {
	case COLOUR_GREEN:
		return PAIR_GREEN;
	case COLOUR_YELLOW:
		return PAIR_YELLOW;
	case COLOUR_RED:
		return PAIR_RED;
	default:
		return PAIR_NONE;
	}
}

/* No line goes on in the next: what is too long is cut at the edge. */
static void put(int row, int column, attr_t attributes, const char *text)
{
	int room = COLS - column;

	if (row >= LINES || room <= 0)
		return;
	attrset(attributes);
	mvaddnstr(row, column, text, room);
	attrset(A_NORMAL);
}

static void put_right(int row, int column, int width, attr_t attributes, const char *text)
{
	char cell[64];

	snprintf(cell, sizeof(cell), "%*.*s", width, width, text);
	put(row, column, attributes, cell);
}

/* To the last one, as long as they have room. */
static const char *count(int64_t n, char buf[TOP_RATE_LEN])
{
	if (n > 9999999)
		return top_rate((double)n, buf);
	snprintf(buf, TOP_RATE_LEN, "%d", (int)n);
	return buf;
}

static void draw_bench(const struct top_bench *b, int row)
{
	char name[NAME_WIDTH + 1], grants[24], denied[TOP_RATE_LEN], rate[TOP_RATE_LEN],
		sent[TOP_RATE_LEN], bytes[TOP_RATE_LEN], bars[TOP_HISTORY * 3 + 1];
	size_t room = COLS > BARS_COLUMN ? (size_t)(COLS - BARS_COLUMN) : 0;

	snprintf(name, sizeof(name), "%.*s", NAME_WIDTH, b->name);
	if (strlen(b->name) > NAME_WIDTH)
		name[NAME_WIDTH - 1] = '>';
	snprintf(grants, sizeof(grants), "%lld", (long long)b->grants);
	put(row, 0, A_NORMAL, name);
	put(row, 18, attribute(pair_of(b->state)), b->state);
	put_right(row, 26, 6, A_NORMAL, grants);
	put_right(row, 34, 7, A_NORMAL, count(b->denied, denied));
	put_right(row, 43, 6, b->denials > 0 ? attribute(PAIR_RED) | A_BOLD : A_NORMAL,
		  top_rate(b->denials, rate));
	put_right(row, 51, 6, A_NORMAL, top_bytes((double)b->sent, sent));
	put_right(row, 58, 6, b->bytes > 0 ? attribute(PAIR_YELLOW) : A_NORMAL,
		  top_bytes(b->bytes, bytes));
	if (room) {
		/* In bytes they are more than in columns. */
		attrset(attribute(PAIR_RED));
		mvaddstr(row, BARS_COLUMN, top_bars(b, room, utf8, bars, sizeof(bars)));
		attrset(A_NORMAL);
	}
}

static void draw_head(const struct top *top)
{
	char line[192], rate[TOP_RATE_LEN], bytes[TOP_RATE_LEN], clock[16] = "";
	double denials = 0, sent = 0;
	time_t now = time(NULL);
	long long grants = 0;
	struct tm tm;

	for (size_t i = 0; i < top->count; i++) {
		denials += top->list[i].denials;
		sent += top->list[i].bytes;
		grants += top->list[i].grants;
	}
	if (gmtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%H:%M:%SZ", &tm);
	snprintf(line, sizeof(line),
		 "benchmon %s  %zu Benches, %lld grants, %s denied/s, %s B/s out", clock,
		 top->count, grants, top_rate(denials, rate), top_bytes(sent, bytes));
	put(0, 0, A_BOLD, line);
	if (top->problem[0])
		put(1, 0, attribute(PAIR_RED) | A_BOLD, top->problem);
	snprintf(line, sizeof(line), "%-16s  %-7s %6s  %7s  %6s  %6s %6s  %s", "BENCH", "STATE",
		 "GRANTS", "DENIED", "/S", "SENT", "B/S", "DENIED BEFORE");
	put(2, 0, A_REVERSE, line);
}

static void draw(const struct top *top)
{
	char line[128];
	int row = 3;

	erase();
	draw_head(top);
	for (size_t i = 0; i < top->count && row < LINES - 1; i++)
		draw_bench(&top->list[i], row++);
	if (!top->count)
		put(row, 0, A_NORMAL, "no Benches; `benchmon help` says how to make one");
	snprintf(line, sizeof(line), "q quits  s sorts (now by %s)%s", top_orders[top->order],
		 top->count > (size_t)(row - 3) ? "  more than fit" : "");
	if (LINES > 4)
		put(LINES - 1, 0, A_DIM, line);
	refresh();
}

static void resize(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
}

#define CTRL_L ('L' & 0x1f)

/* False: that was all. */
static bool heed(struct top *top, int key)
{
	if (key == 's') {
		top->order = (top->order + 1) % TOP_ORDER_MAX;
		top_sort(top);
	}
	if (key == CTRL_L)
		clearok(curscr, TRUE);
	return key != 'q' && key != 'Q';
}

static void run(struct top *top, void (*look)(struct top *top))
{
	struct pollfd polled[] = { { STDIN_FILENO, POLLIN, 0 }, { cli_signals_fd(), POLLIN, 0 } };
	uint64_t next = bm_now_ns(CLOCK_MONOTONIC) + LOOK_NS;
	bool on = true;

	while (on && !cli_interrupted()) {
		uint64_t now = bm_now_ns(CLOCK_MONOTONIC);
		int key;

		if (now >= next) {
			look(top);
			next = now + LOOK_NS;
		}
		draw(top);
		poll(polled, 2, (int)((next - now) / 1000000 + 1));
		if (cli_signals_resized())
			resize();
		/* Who has hung up reads no more. */
		if (polled[0].revents & (POLLHUP | POLLERR))
			break;
		while (on && (key = getch()) != ERR)
			on = heed(top, key);
	}
}

int top_screen(struct top *top, void (*look)(struct top *top), struct bm_error *err)
{
	const char *term = getenv("TERM"), *move;
	SCREEN *screen;

	(void)err;
	if (!term || !*term || !strcmp(term, "dumb"))
		return -ENOTTY;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	move = tigetstr("cup");
	if (!move || move == (char *)-1) {
		endwin();
		delscreen(screen);
		return -ENOTTY;
	}
	utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	begin_colours();
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	run(top, look);
	endwin();
	delscreen(screen);
	return 0;
}
