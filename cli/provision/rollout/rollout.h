/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of `nanopod provision`: facts, gates, plan, apply, verify, remove, over one set of connections. It reports
 * all events as notes, which cli/provision/report/display.c prints and the journal keeps.
 */
#ifndef CLI_PROVISION_ROLLOUT_ROLLOUT_H
#define CLI_PROVISION_ROLLOUT_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/model/facts.h"
#include "cli/provision/model/gate.h"
#include "cli/provision/report/note.h"
#include "cli/provision/report/runlog.h"

struct rollout_options {
	struct nanopod *np;
	const char *const *skip_gates;   /* ends with NULL */
	unsigned max_fail;               /* start nothing more after so many nodes are lost; 0: no limit */
	unsigned uploads;                /* at a time; 0: 8 */
	const char *sudo_password;       /* NULL: ask if a node needs it and there is a terminal */
	bool logs;                       /* report NOTE_LOG */
	bool undoes;                     /* it only undoes: gates about what would be installed do not count */
	note_sink *tell;
	void *arg;
};

struct rollout;

/* Connects, reads the facts and checks the gates. An exit status; it reports failing nodes and leaves them out. */
int rollout_open(const struct rollout_options *o, struct cluster *c, struct runlog *j, struct rollout **out);
void rollout_free(struct rollout *e); /* releases the locks */

const struct facts *rollout_facts(const struct rollout *e);       /* of each member */
bool rollout_in(const struct rollout *e, size_t member);          /* reached, and not taken out since */
const struct findings *rollout_findings(const struct rollout *e);

/*
 * Reports how the nodes differ from the file. *changes: how many differences; a node that cannot be checked counts as
 * failed.
 */
int rollout_plan(struct rollout *e, size_t *changes);

int rollout_try(struct rollout *e);  /* STATUS_CHECK if the check of a step fails to run on a reached node */
int rollout_hold(struct rollout *e); /* takes the locks and keeps them across the calls that follow */

/*
 * Locks all nodes and plans again, because others may have changed something. strict: a person agreed to the plan, so a
 * change that it did not show gives STATUS_CONFLICT. rollout_apply() then carries out the plan and undoes steps that
 * the file no longer has. STATUS_PARTLY if nodes failed.
 */
int rollout_begin(struct rollout *e, bool strict);
int rollout_apply(struct rollout *e);
size_t rollout_keeps_old(struct rollout *e); /* leaves steps alone that the file no longer has; returns how many */

/*
 * Of the steps that the file no longer has, those of these stacks: reports them as a plan; *changes: how many. Then
 * rollout_take_off() undoes them, and mends what the others shared with them. stacks ends with NULL.
 */
int rollout_plan_off(struct rollout *e, char *const *stacks, size_t *changes);
int rollout_take_off(struct rollout *e);

int rollout_verify(struct rollout *e);             /* STATUS_CHECK if a check fails */
int rollout_remove(struct rollout *e, bool force); /* undoes all stacks of the cluster, last first */

/*
 * Calls a function of a step on the members that have the step: "drain", "upgrade", "kubeconfig" … It gets `words` as
 * $1 …
 */
int rollout_call(struct rollout *e, const char *stack, const char *step, const char *function, const char *const *words,
	const size_t *members, size_t count);
/* The file that the last call gave (np_give) under this name; NULL. rollout_free() wipes it. */
const char *rollout_given(const struct rollout *e, const char *name, size_t *len);

#endif
