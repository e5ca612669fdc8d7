/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the engine share: the nodes, what runs on them now, and what steps gave. Of engine*.c alone. */
#ifndef CLI_PROVISION_ROLLOUT_ROLLOUT_PART_H
#define CLI_PROVISION_ROLLOUT_ROLLOUT_PART_H

#include "base/buf.h"
#include "base/list.h"
#include "base/table.h"
#include "cli/provision/rollout/rollout.h"
#include "cli/provision/model/graph.h"
#include "cli/provision/rollout/remote.h"

enum { ENGINE_WORD = 64, ENGINE_TICK_MS = 200, ENGINE_BEGIN_MS = 600000, ENGINE_SCRIPT = 48 << 20 };

enum engine_phase { ENGINE_FACTS, ENGINE_PLAN, ENGINE_APPLY, ENGINE_VERIFY, ENGINE_REMOVE, ENGINE_CALL };

/* Of a work: what its check said, and what was done since. */
struct engine_work {
	size_t differs;
	bool looked, failed;   /* its check was made; it could not be */
	bool touched, forced;  /* what it needs will change; it gives what another needs */
	bool applied;
};

enum engine_stage { STAGE_STEP, STAGE_ROOM, STAGE_COPY, STAGE_AWAY };

struct engine_task;
typedef void engine_ended(struct engine *e, struct engine_task *t, const struct remote_event *ev);
typedef void engine_record(struct engine *e, struct engine_task *t, const struct remote_event *ev);

/* One script that runs on one node. */
struct engine_task {
	struct list link;
	size_t member;
	struct work *work;            /* the one that it is about; NULL: several */
	struct remote_job *job;
	engine_ended *ended;
	engine_record *record;        /* sees what is not common; may be NULL */

	/* Of the function that runs there now. */
	struct work *now;
	char function[ENGINE_WORD];
	unsigned checks;              /* of this work: the second comes after apply */
	size_t differs, dids, bads, open;   /* open: begun and not done */
	char *cause, *hint, *still;
	int done;                     /* the worst that a function said */

	/* A note that its hint or diff may still follow. */
	struct note held;
	bool holding;
	char *held_text, *held_hint, *held_diff;

	int log;
	size_t log_left;
	size_t records, record_bytes;
	bool flooded;                 /* it said more than it may */
	bool each;                    /* each of its functions has its own time */
	char log_path[512];
	int64_t began, limit_ms;

	int stage;                    /* enum engine_stage */
	struct buf *gather;           /* lines of standard output, where they are no log */
	char upload[256];             /* where it was brought */
	int64_t again_at, give_up_at; /* its connection was lost */
	bool was_lost;
};

struct engine_node {
	bool out;
	char *why;
	struct engine_task *lock;
	int64_t lock_at;              /* not tried again before */
	bool locked;
	char holder[256], lock_why[256];
};

/* What a step gave: base64 and its hash. */
struct engine_gift {
	struct list link;
	char *name, *text, *hash;
	char *bytes;
	size_t len;
};

struct engine {
	struct nanopod *np;
	struct engine_options o;
	struct cluster *c;
	struct journal *j;
	struct remote *r;
	struct facts *facts;
	struct findings findings;
	struct engine_node *nodes;
	struct graph *g;
	struct engine_work *works;
	struct list tasks, gifts;
	size_t task_count;            /* without locks */
	enum engine_phase phase;
	bool force;                   /* remove: failures are told, and that is all */
	bool moved;                   /* a task ended: others may begin */
	struct graph *staying;        /* what is undone leaves those behind */
	bool begun;                   /* locked and looked at: engine_apply() may change things */
	bool holds;                   /* the locks: engine_apply() leaves them to whoever took them */
	bool quiet;                   /* a plan that is for the engine alone */
	size_t changes, lost, bads;
	struct table shown;           /* what a plan said that differs */
	size_t fresh;                 /* so much differs since */
	struct work *old;             /* what the file has no more: to be undone, in this order */
	size_t old_count;
	struct use **old_uses;
	struct stack_step **old_steps;
	size_t old_use_count, old_step_count;
	int stops;
	char *lib, *facts_script;
	struct buf table;
	char token[40], owner[128];
	int64_t beat_at, tick_at, planned_at;
};

/* ---- engine_core.c: notes, tasks, and the loop ---- */
void engine_say(struct engine *e, const struct note *n);
void engine_phase(struct engine *e, enum engine_phase phase, const char *word);
void engine_lose(struct engine *e, size_t member, const char *why);
struct engine_task *engine_task_new(struct engine *e, size_t member, struct work *w, engine_ended *ended);
void engine_task_run(struct engine *e, struct engine_task *t, const struct buf *script, unsigned flags, int64_t limit_ms);
void engine_task_free(struct engine *e, struct engine_task *t);
int64_t engine_task_ms(const struct work *w, const char *function);   /* how long one may take */
/* Why it broke off, with what ran when it did. Why one function failed, where it did not say. */
const char *engine_task_why(const struct engine_task *t, const struct remote_event *ev, char room[600]);
const char *engine_task_cause(const struct engine_task *t, const char *fallback, char room[80]);
void engine_task_flush(struct engine *e, struct engine_task *t);
struct work *engine_find(struct engine *e, size_t member, const char *stack, const char *step);
void engine_turn(struct engine *e);       /* sleeps for one thing and takes it */
void engine_run(struct engine *e);        /* until no task is left */
void engine_cancel(struct engine *e);
int engine_status(const struct engine *e);
void engine_graph(struct engine *e);      /* a new one */
void engine_graph_is(struct engine *e, struct graph *g);

/* ---- engine_gift.c ---- */
struct engine_gift *engine_gift_find(const struct engine *e, const char *name);
void engine_gift_set(struct engine *e, const char *name, const char *text, const char *hash);
void engine_gift_forget(struct engine *e, const char *name);   /* NULL: all */

/* ---- engine_script.c: what is sent ---- */
void engine_script_facts(const struct engine *e, struct buf *b);
void engine_script_head(const struct engine *e, size_t member, struct buf *b);
void engine_script_step(const struct engine *e, const struct work *w, const char *upload, bool secrets, struct buf *b);
void engine_script_call(const char *function, const char *const *words, struct buf *b);   /* after a step */
void engine_script_apply(const struct engine *e, const struct work *w, bool force, const char *upload, struct buf *b);
void engine_script_undo(struct engine *e, const struct work *w, const struct graph *staying, struct buf *b);
void engine_script_lock(const struct engine *e, struct buf *b);
void engine_script_room(const struct work *w, struct buf *b);

/* ---- engine_lock.c ---- */
int engine_lock(struct engine *e);        /* on all nodes; an exit status */
void engine_lock_again(struct engine *e, size_t member);
void engine_unlock(struct engine *e);

/* ---- engine_old.c: what the file has no more ---- */
void engine_old_find(struct engine *e, const struct graph *g);
size_t engine_old_count(const struct engine *e);   /* of nodes that can be worked on */
void engine_old_say(struct engine *e);
int engine_old_check(struct engine *e);             /* an exit status; it was said why not */
void engine_old_undo(struct engine *e, bool leaving);   /* leaving: others go on here, and data stays */
void engine_old_free(struct engine *e);

/* ---- engine_plan.c ---- */
void engine_look(struct engine *e);       /* checks of all works on all nodes */

/* ---- engine_step.c: one work on its node, with its upload, and again after a lost connection ---- */
void engine_step(struct engine *e, struct work *w);
void engine_step_again(struct engine *e);   /* those whose connection was lost */
void engine_backwards(struct engine *e);    /* undoes the graph as it is */

#endif
