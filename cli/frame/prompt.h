/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions for the person, on /dev/tty and never on standard input, one at a time, while the connections
 * continue. The same question is asked once: its answer serves all hosts.
 */
#ifndef CLI_FRAME_PROMPT_H
#define CLI_FRAME_PROMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pssh/pssh.h"

struct nanopod;
struct prompt;

/* 0 or -ENOMEM. Without a terminal every question is declined. */
int prompt_new(struct nanopod *np, struct prompt **out);
void prompt_free(struct prompt *p); /* wipes the answers */
bool prompt_possible(const struct prompt *p);

/* Takes a PSSH_EV_PROMPT. Answers it at once, or later by prompt_step(). */
void prompt_add(struct prompt *p, struct pssh *fleet, const struct pssh_event *ev);

/* The descriptor to poll for reading; -1 where no question is open. */
int prompt_fd(const struct prompt *p);
void prompt_step(struct prompt *p, struct pssh *fleet); /* when it is readable */
const char *prompt_text(const struct prompt *p);        /* of the open question, or NULL */
void prompt_redraw(const struct prompt *p);             /* after other output covered it */
void prompt_decline(struct prompt *p, struct pssh *fleet); /* on Ctrl-C: declines all that wait */

/*
 * Asks on the terminal for one line that is not shown, of up to `most` bytes, and waits for it. 0 with *out,
 * which prompt_hidden_free() wipes and frees; -ENOTTY without a terminal; -EINTR where a signal or the end of
 * input came before anything was typed. Where signals are not caught, Ctrl-C ends the program as usual.
 */
int prompt_hidden(const char *question, size_t most, char **out);
void prompt_hidden_free(char *text);

/* The same for a line that may be seen; free() it. */
int prompt_shown(const char *question, size_t most, char **out);

/* Asks a question of our own and waits for the answer. True for yes. False without a terminal. */
bool prompt_yes(struct prompt *p, const char *question, int *signal);

#endif
