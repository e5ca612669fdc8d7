/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live lines at the bottom of the terminal, one for each node where a step runs: the step, its time, and its last
 * action. Only on standard error, if that is a capable terminal; hidden before anything else is printed.
 */
#ifndef CLI_PROVISION_REPORT_LIVEROWS_H
#define CLI_PROVISION_REPORT_LIVEROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/frame/command.h"

struct liverows;

struct liverows *liverows_new(struct nanopod *np);
void liverows_free(struct liverows *l); /* hides them; NULL too */

void liverows_begin(struct liverows *l, const char *node, const char *stack, const char *step);
void liverows_say(struct liverows *l, const char *node, const char *text);
void liverows_end(struct liverows *l, const char *node);
/* The last line: "applying: 12 steps done, 1 failed". */
void liverows_phase(struct liverows *l, const char *phase);
void liverows_count(struct liverows *l, size_t done, size_t failed);

bool liverows_on(const struct liverows *l);
void liverows_draw(struct liverows *l); /* if it is time to */
void liverows_hide(struct liverows *l);

/* One line as drawn, cut to the columns; for tests. */
void liverows_text(const struct liverows *l, size_t row, int64_t now, unsigned columns, char *room, size_t size);

#endif
