/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines at the bottom of a terminal, one for each node where a step runs: which, for how long, and what it did last.
 * Drawn on standard error only where that is a terminal that can; taken away before anything else is printed.
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
void liverows_draw(struct liverows *l);  /* where it is due */
void liverows_hide(struct liverows *l);

/* One line as it would be drawn, cut to the columns; for the tests. */
void liverows_text(const struct liverows *l, size_t row, int64_t now, unsigned columns, char *room, size_t size);

#endif
