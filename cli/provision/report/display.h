/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How notes are shown: one live line a node on a terminal, a line a change elsewhere, JSON Lines with -o jsonl, one object
 * at the end with -o json. The plan is shown node by node, nodes with the same changes once.
 */
#ifndef CLI_PROVISION_REPORT_DISPLAY_H
#define CLI_PROVISION_REPORT_DISPLAY_H

#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/report/notelist.h"

struct display;

/* c: whose members they are; it must live as long. results: of checks and of what stays; np->err, or np->out where they are asked for. */
struct display *display_new(struct nanopod *np, const struct cluster *c, FILE *results);
void display_free(struct display *d); /* NULL too */
/* Has it a use for what programs say (rollout_options.logs)? */
bool display_wants_logs(const struct display *d);
/* Nothing is printed any more: it is only kept. */
void display_mute(struct display *d);
/* Other members from now on; what was told stays. */
void display_of(struct display *d, const struct cluster *c);

void display_note(void *display, const struct note *n);   /* a note_sink */

/* The plan that was gathered from NOTE_DIFFERS, with or without its diffs; then it is forgotten. Nothing where the output is JSON. */
void display_plan(struct display *d, bool diffs, FILE *out);
/* Before anything else is printed, or asked. */
void display_quiet(struct display *d);

/* At the end: what failed, the failing lines, the likely cause, what to type next; with -o json the one object. */
void display_end(struct display *d, int status);

/* What was told so far. */
const struct notelist *display_told(const struct display *d);

#endif
