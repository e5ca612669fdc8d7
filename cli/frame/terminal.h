/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal's modes: raw for an interactive session, without echo for a password. It is put
 * back on every way out, also when a signal ends the program.
 */
#ifndef CLI_FRAME_TERMINAL_H
#define CLI_FRAME_TERMINAL_H

int terminal_raw(int fd);      /* 0 or -errno; one terminal at a time */
int terminal_no_echo(int fd);  /* lines are still edited by the terminal */
void terminal_restore(void);   /* nothing to do: does nothing */

/* Restores, stops this process as Ctrl-Z does, and returns when it goes on. The caller goes raw again. */
void terminal_suspend(void);

int terminal_size(int fd, unsigned *columns, unsigned *rows); /* 0 or -errno */

#endif
