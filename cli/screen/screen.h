/* SPDX-License-Identifier: Apache-2.0 */
/* A full screen that is drawn again and again, without flicker, and the keys that are pressed on it. */
#ifndef CLI_FRAME_SCREEN_H
#define CLI_FRAME_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cli/screen/page.h"

struct screen {
	struct nanopod *np;
	int tty;          /* where keys come from; -1: nowhere, or not open */
	bool open;        /* the screen is ours */
	int escape;       /* how far a key of several bytes has come */
	struct buf shown; /* what the screen has */
	unsigned columns, rows;
};

void screen_init(struct screen *s, struct nanopod *np);
void screen_close(struct screen *s); /* gives the terminal back */
void screen_release(struct screen *s);

/* The room for a page: no line reaches the last cell, where terminals differ. */
void screen_size(size_t *columns, size_t *rows);

/*
 * Shows the page from the top; opens the screen the first time. again: also what is there already, because the terminal
 * was somebody else's. The cursor is left in the bottom line.
 */
void screen_draw(struct screen *s, const struct page *p, bool again);

/* The page as ordinary output. */
void screen_print(struct nanopod *np, const struct page *p);

/* Keys that are no character. */
enum screen_key {
	SCREEN_UP = 256,
	SCREEN_DOWN,
	SCREEN_RIGHT,
	SCREEN_LEFT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ESCAPE,
};

/*
 * What was pressed, when s->tty is readable: characters as bytes, or an enum screen_key. How many; -1: the terminal is
 * gone.
 */
enum { SCREEN_KEYS = 128 };
int screen_keys(struct screen *s, int keys[SCREEN_KEYS]);

#endif
