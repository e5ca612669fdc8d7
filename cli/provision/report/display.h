/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows notes: one live line for each node on a terminal, elsewhere a line for each change, JSON Lines with -o jsonl,
 * one object at the end with -o json. The plan lists nodes with the same changes once.
 */
#ifndef CLI_PROVISION_REPORT_DISPLAY_H
#define CLI_PROVISION_REPORT_DISPLAY_H

#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/report/notelist.h"

struct display;

/* c: must live as long. results: for checks and leftovers; np->out for a command that asks for them, else np->err. */
struct display *display_new(struct nanopod *np, const struct cluster *c, FILE *results);
void display_free(struct display *d); /* NULL too */
/* Whether it shows the output of programs (rollout_options.logs). */
bool display_wants_logs(const struct display *d);
/* From now on notes are kept, not printed. */
void display_mute(struct display *d);
/* Continues with other members; notes so far stay. */
void display_of(struct display *d, const struct cluster *c);

void display_note(void *display, const struct note *n);   /* a note_sink */

/*
 * Prints the plan gathered from NOTE_DIFFERS, with or without diffs, and forgets it. With JSON output it prints
 * nothing.
 */
void display_plan(struct display *d, bool diffs, FILE *out);
/* Removes the live lines; call it before printing or asking anything else. */
void display_quiet(struct display *d);

/* Ends the output: what failed, its last lines, the likely cause and what to type next; with -o json the one object. */
void display_end(struct display *d, int status);

/* The notes so far. */
const struct notelist *display_told(const struct display *d);

#endif
