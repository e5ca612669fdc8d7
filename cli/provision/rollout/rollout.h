/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod provision` does: facts, gates, plan, apply, verify, remove, one after the other over one set of connections.
 * What happens is told as notes, which cli/provision/show.c prints; the journal keeps them too.
 */
#ifndef CLI_PROVISION_ROLLOUT_ROLLOUT_H
#define CLI_PROVISION_ROLLOUT_ROLLOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/frame/command.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/model/facts.h"
#include "cli/provision/model/gate.h"
#include "cli/provision/report/runlog.h"

/* X(name, word): `event` of -o jsonl */
#define NOTES(X) \
	X(NOTE_PHASE, "phase")       /* text: "facts", "plan", "apply", "verify", "remove" */ \
	X(NOTE_NODE, "node")         /* a node was reached, or not: ok, text */ \
	X(NOTE_FINDING, "finding")   /* of a gate: what is its word, ok false where it stops */ \
	X(NOTE_DIFFERS, "differs")   /* plan: one thing that a step would change; text, diff */ \
	X(NOTE_BEGIN, "begin")       /* of a step */ \
	X(NOTE_DID, "did")           /* one thing that was changed */ \
	X(NOTE_CHECK, "check")       /* verify: ok or not, text, hint */ \
	X(NOTE_SAID, "said")         /* a note of a step for people; hint */ \
	X(NOTE_RESTS, "rests")       /* verify: a node takes no work, on purpose; hint */ \
	X(NOTE_LOG, "log")           /* a line of a program, with -v */ \
	X(NOTE_END, "end")           /* of a step: ok, text (why not), hint, log (its file), ms */ \
	X(NOTE_LOST, "lost")         /* a node is out: text */ \
	X(NOTE_LEFT, "left")         /* remove: what stays, and why */ \
	X(NOTE_TICK, "tick")         /* nothing happened: about five times a second while steps run, for what shows time */

enum note_kind {
#define NOTE_X(name, word) name,
	NOTES(NOTE_X)
#undef NOTE_X
};

struct note {
	enum note_kind kind;
	const char *node, *stack, *step; /* NULL where it is about none */
	const char *what, *text, *hint, *diff, *log;
	bool ok;
	long ms;
};

typedef void engine_tell(void *arg, const struct note *n);

struct engine_options {
	struct nanopod *np;
	const char *const *skip_gates;   /* ends with NULL */
	unsigned max_fail;               /* nothing more is begun when so many nodes are lost; 0: any number */
	unsigned uploads;                /* at a time; 0: 8 */
	const char *sudo_password;       /* NULL: asked for where it is needed and there is a terminal */
	bool logs;                       /* NOTE_LOG is told */
	engine_tell *tell;
	void *arg;
};

struct engine;

/* Connects, takes the facts, looks through the gates. An exit status; nodes that fail are told and left out. */
int engine_open(const struct engine_options *o, struct cluster *c, struct journal *j, struct engine **out);
void engine_free(struct engine *e);   /* lets the locks go */

const struct facts *engine_facts(const struct engine *e);       /* of each member */
bool engine_in(const struct engine *e, size_t member);   /* it was reached, and nothing took it out */
const struct findings *engine_findings(const struct engine *e);

/* How the nodes differ from the file. *changes: how many things; nodes that cannot be looked at are no changes, but failed. */
int engine_plan(struct engine *e, size_t *changes);

int engine_try(struct engine *e);                        /* STATUS_CHECK where a step of a node that is there cannot be looked at */
int engine_hold(struct engine *e);                       /* the locks are taken and kept, whatever is done meanwhile */

/*
 * Takes the locks of all nodes and plans again what others may have changed since. strict: somebody said yes to the plan: where
 * it did not show all, STATUS_CONFLICT. Then engine_apply() does it, and undoes what the file has no more. STATUS_PARTLY where
 * some failed.
 */
int engine_begin(struct engine *e, bool strict);
int engine_apply(struct engine *e);
size_t engine_keeps_old(struct engine *e);               /* what the file has no more stays this time: so many steps */

int engine_verify(struct engine *e);                     /* STATUS_CHECK where something is not as it should be */
int engine_remove(struct engine *e, bool force);         /* all stacks of the cluster, backwards, on its members */

/* One function of one step of one stack on the members that have it: "drain", "upgrade", "kubeconfig" … words go to it as $1 … */
int engine_call(struct engine *e, const char *stack, const char *step, const char *function, const char *const *words,
	const size_t *members, size_t count);
/* What the last call gave (`np_give`), by name; NULL. Wiped with the engine. */
const char *engine_given(const struct engine *e, const char *name, size_t *len);

#endif
