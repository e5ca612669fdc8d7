/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal's modes: raw for an interactive session, without echo for a password. They are restored however
 * the program ends, also by a signal.
 */
#ifndef CLI_FRAME_TERMINAL_H
#define CLI_FRAME_TERMINAL_H

#include <stdbool.h>

int terminal_raw(int fd);      /* 0 or -errno; one terminal at a time */
int terminal_no_echo(int fd);  /* the terminal still edits lines */
int terminal_keys(int fd);     /* keys arrive at once and are not shown; Ctrl-C stays a signal */
/*
 * The same on a second screen of the terminal `out`, without a cursor. Ctrl-Z and SIGTSTP give the terminal back until
 * the program continues; then, as after SIGCONT, SIGWINCH asks to draw again. in -1: no keys. Until terminal_restore().
 */
void terminal_screen(int in, int out);
bool terminal_on_screen(void); /* between the two: a line written to the terminal would spoil the page */
void terminal_restore(void);   /* may be called at any time */
void terminal_forget(void);    /* in a child: signals do as usual, and the terminal is its parent's to restore */

/* Restores, stops this process as Ctrl-Z does, and returns when it continues. The caller sets raw mode again. */
void terminal_suspend(void);

int terminal_size(int fd, unsigned *columns, unsigned *rows); /* 0 or -errno */

#endif
