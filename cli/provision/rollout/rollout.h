/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod provision` does: facts, gates, plan, apply, verify, remove, one after the other over one set of connections.
 * What happens is told as notes, which cli/provision/report/display.c prints; the journal keeps them too.
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
	unsigned max_fail;               /* nothing more is begun when so many nodes are lost; 0: any number */
	unsigned uploads;                /* at a time; 0: 8 */
	const char *sudo_password;       /* NULL: asked for where it is needed and there is a terminal */
	bool logs;                       /* NOTE_LOG is told */
	note_sink *tell;
	void *arg;
};

struct rollout;

/* Connects, takes the facts, looks through the gates. An exit status; nodes that fail are told and left out. */
int rollout_open(const struct rollout_options *o, struct cluster *c, struct runlog *j, struct rollout **out);
void rollout_free(struct rollout *e);   /* lets the locks go */

const struct facts *rollout_facts(const struct rollout *e);       /* of each member */
bool rollout_in(const struct rollout *e, size_t member);   /* it was reached, and nothing took it out */
const struct findings *rollout_findings(const struct rollout *e);

/* How the nodes differ from the file. *changes: how many things; nodes that cannot be looked at are no changes, but failed. */
int rollout_plan(struct rollout *e, size_t *changes);

int rollout_try(struct rollout *e);  /* STATUS_CHECK where a step of a node that is there cannot be looked at */
int rollout_hold(struct rollout *e); /* the locks are taken and kept, whatever is done meanwhile */

/*
 * Takes the locks of all nodes and plans again what others may have changed since. strict: somebody said yes to the plan: where
 * it did not show all, STATUS_CONFLICT. Then rollout_apply() does it, and undoes what the file has no more. STATUS_PARTLY where
 * some failed.
 */
int rollout_begin(struct rollout *e, bool strict);
int rollout_apply(struct rollout *e);
size_t rollout_keeps_old(struct rollout *e); /* what the file has no more stays this time: so many steps */

int rollout_verify(struct rollout *e);                     /* STATUS_CHECK where something is not as it should be */
int rollout_remove(struct rollout *e, bool force);         /* all stacks of the cluster, backwards, on its members */

/* One function of one step of one stack on the members that have it: "drain", "upgrade", "kubeconfig" … words go to it as $1 … */
int rollout_call(struct rollout *e, const char *stack, const char *step, const char *function, const char *const *words,
	const size_t *members, size_t count);
/* What the last call gave (`np_give`), by name; NULL. Wiped with the engine. */
const char *rollout_given(const struct rollout *e, const char *name, size_t *len);

#endif
