/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals to poll for. Handlers write to a pipe; a signalfd would need blocked signals, and programs that the
 * library starts (proxy commands) would inherit the mask.
 */
#ifndef CLI_FRAME_SIGNALS_H
#define CLI_FRAME_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/* Catches INT, TERM, HUP and WINCH, and ignores PIPE, until signals_end. May be nested. 0 or -errno. */
int signals_begin(void);
void signals_end(void);

/* For a child: its signals are its own from here on, and have their default actions. */
void signals_forget(void);

int signals_fd(void);    /* readable while a signal waits; -1 where signals are not caught */
int signals_next(void);  /* a signal's number, each once; 0: none */

/*
 * Waits for up to ms. True where a signal that asks to stop came, with its number; a new size of the terminal is none.
 */
bool signals_rest(int64_t ms, int *number);

/* How many signals that ask to stop came since the outermost signals_begin(). Does not read them. */
int signals_asked(void);

#endif
