/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/frame/terminal.h"

enum { SCREEN_BYTES = 4 << 20 };

static void screen_need(int rc)
{
	if (rc)
		command_nomem();
}

void screen_init(struct screen *s, struct nanopod *np)
{
	*s = (struct screen){ .np = np, .tty = -1 };
	buf_init(&s->shown, SCREEN_BYTES);
}

void screen_close(struct screen *s)
{
	if (!s->open)
		return;
	fflush(s->np->out);
	s->open = false;
	terminal_restore();
}

void screen_release(struct screen *s)
{
	screen_close(s);
	if (s->tty >= 0)
		close(s->tty);
	s->tty = -1;
	buf_release(&s->shown);
}

static void screen_measure(unsigned *columns, unsigned *rows)
{
	*columns = 80;
	*rows = 24;
	terminal_size(STDOUT_FILENO, columns, rows);
}

void screen_size(size_t *columns, size_t *rows)
{
	unsigned wide, high;

	screen_measure(&wide, &high);
	*columns = wide > 1 ? wide - 1 : 1;
	*rows = high;
}

static void screen_put(struct nanopod *np, const struct page *p, const char *end, struct buf *out)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct page_piece *piece = &p->pieces[i];

		if (piece->color && *piece->text)
			screen_need(buf_addf(out, "%s%s%s", print_color(np, np->out, piece->color), piece->text,
				print_color(np, np->out, COLOR_NONE)));
		else
			screen_need(buf_adds(out, piece->text));
		if (piece->ends)
			screen_need(buf_adds(out, end));
	}
}

void screen_print(struct nanopod *np, const struct page *p)
{
	struct buf text;

	buf_init(&text, SCREEN_BYTES);
	screen_put(np, p, "\n", &text);
	fwrite(buf_text(&text), 1, text.len, np->out);
	buf_release(&text);
}

void screen_draw(struct screen *s, const struct page *p, bool again)
{
	unsigned columns, rows;
	struct buf text;

	screen_measure(&columns, &rows);
	buf_init(&text, SCREEN_BYTES);
	/* Top left; each line clears what is behind it, and the end what is below. */
	screen_need(buf_adds(&text, "\033[H"));
	screen_put(s->np, p, "\033[K\r\n", &text);
	screen_need(buf_addf(&text, "\033[J\033[%u;1H", rows));
	if (!s->open) {
		s->tty = s->np->tty_in ? dup(STDIN_FILENO) : open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
		fflush(s->np->out);
		terminal_screen(s->tty, STDOUT_FILENO);
		s->open = again = true;
	}
	again |= columns != s->columns || rows != s->rows || text.len != s->shown.len ||
		memcmp(buf_text(&text), buf_text(&s->shown), text.len) != 0;
	if (again) {
		fwrite(buf_text(&text), 1, text.len, s->np->out);
		fflush(s->np->out);
	}
	buf_release(&s->shown);
	s->shown = text;
	s->columns = columns;
	s->rows = rows;
}

/* ---- Keys ------------------------------------------------------------------------------ */

/*
 * The arrows send ESC [ A to D, or ESC O A to D, others a number and ~ there. True: c was a part of such a key; *key is
 * it at its end, else 0.
 */
static bool screen_escaped(struct screen *s, unsigned char c, int *key)
{
	static const struct {
		int digit, end, key;
	} known[] = {
		{ 0, 'A', SCREEN_UP },
		{ 0, 'B', SCREEN_DOWN },
		{ 0, 'C', SCREEN_RIGHT },
		{ 0, 'D', SCREEN_LEFT },
		{ 0, 'H', SCREEN_HOME },
		{ 0, 'F', SCREEN_END },
		{ '1', '~', SCREEN_HOME },
		{ '4', '~', SCREEN_END },
		{ '5', '~', SCREEN_PAGE_UP },
		{ '6', '~', SCREEN_PAGE_DOWN },
	};
	int digit = s->escape > 2 ? s->escape : 0;

	*key = 0;
	if (s->escape == 1) {
		s->escape = c == '[' || c == 'O' ? 2 : 0;
		return s->escape != 0;
	}
	if (c >= '0' && c <= '?') {
		s->escape = c;
		return true;
	}
	s->escape = 0;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].end == c && (c != '~' || known[i].digit == digit))
			*key = known[i].key;
	return true;
}

int screen_keys(struct screen *s, int keys[SCREEN_KEYS])
{
	unsigned char bytes[SCREEN_KEYS - 1];
	ssize_t n = read(s->tty, bytes, sizeof bytes);
	int count = 0, key;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return -1;
	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\033') {
			s->escape = 1;
			continue;
		}
		if (!s->escape || !screen_escaped(s, bytes[i], &key))
			key = bytes[i];
		if (key)
			keys[count++] = key;
	}
	/* Alone it is the key Escape. Of a longer key that comes in parts the rest still counts. */
	if (s->escape == 1)
		keys[count++] = SCREEN_ESCAPE;
	return count;
}
