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

enum rollout_phase { ENGINE_FACTS, ENGINE_PLAN, ENGINE_APPLY, ENGINE_VERIFY, ENGINE_REMOVE, ENGINE_CALL };

/* Of a work: what its check said, and what was done since. */
struct rollout_work {
	size_t differs;
	bool looked, failed;   /* its check was made; it could not be */
	bool touched, forced;  /* what it needs will change; it gives what another needs */
	bool applied;
};

enum rollout_stage { STAGE_STEP, STAGE_ROOM, STAGE_COPY, STAGE_AWAY };

struct rollout_task;
typedef void rollout_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev);
typedef void rollout_record(struct rollout *e, struct rollout_task *t, const struct remote_event *ev);

/* One script that runs on one node. */
struct rollout_task {
	struct list link;
	size_t member;
	struct work *work;            /* the one that it is about; NULL: several */
	struct remote_job *job;
	rollout_ended *ended;
	rollout_record *record;        /* sees what is not common; may be NULL */

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

	int stage;                    /* enum rollout_stage */
	struct buf *gather;           /* lines of standard output, where they are no log */
	char upload[256];             /* where it was brought */
	int64_t again_at, give_up_at; /* its connection was lost */
	bool was_lost;
};

struct rollout_node {
	bool out;
	char *why;
	struct rollout_task *lock;
	int64_t lock_at;              /* not tried again before */
	bool locked;
	char holder[256], lock_why[256];
};

/* What a step gave for others (np_give in stacks/common/lib.sh): its base64 text, its hash, its bytes. */
struct rollout_file {
	struct list link;
	char *name, *text, *hash;
	char *bytes;
	size_t len;
};

struct rollout {
	struct nanopod *np;
	struct rollout_options o;
	struct cluster *c;
	struct runlog *j;
	struct remote *r;
	struct facts *facts;
	struct findings findings;
	struct rollout_node *nodes;
	struct graph *g;
	struct rollout_work *works;
	struct list tasks, files;
	size_t task_count;            /* without locks */
	enum rollout_phase phase;
	bool force;                   /* remove: failures are told, and that is all */
	bool moved;                   /* a task ended: others may begin */
	struct graph *staying;        /* what is undone leaves those behind */
	bool begun;                   /* locked and looked at: rollout_apply() may change things */
	bool holds;                   /* the locks: rollout_apply() leaves them to whoever took them */
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

/* ---- rollout_core.c: notes, tasks, and the loop ---- */
void rollout_say(struct rollout *e, const struct note *n);
void rollout_phase(struct rollout *e, enum rollout_phase phase, const char *word);
void rollout_lose(struct rollout *e, size_t member, const char *why);
struct rollout_task *rollout_task_new(struct rollout *e, size_t member, struct work *w, rollout_ended *ended);
void rollout_task_run(struct rollout *e, struct rollout_task *t, const struct buf *script, unsigned flags,
	int64_t limit_ms);
void rollout_task_free(struct rollout *e, struct rollout_task *t);
int64_t rollout_task_ms(const struct work *w, const char *function);   /* how long one may take */
/* Why it broke off, with what ran when it did. Why one function failed, where it did not say. */
const char *rollout_task_why(const struct rollout_task *t, const struct remote_event *ev, char room[600]);
const char *rollout_task_cause(const struct rollout_task *t, const char *fallback, char room[80]);
void rollout_task_flush(struct rollout *e, struct rollout_task *t);
struct work *rollout_find(struct rollout *e, size_t member, const char *stack, const char *step);
void rollout_turn(struct rollout *e);       /* sleeps for one thing and takes it */
void rollout_run(struct rollout *e);        /* until no task is left */
void rollout_cancel(struct rollout *e);
int rollout_status(const struct rollout *e);
void rollout_graph(struct rollout *e);      /* a new one */
void rollout_graph_is(struct rollout *e, struct graph *g);

/* ---- rollout_files.c ---- */
struct rollout_file *rollout_file_find(const struct rollout *e, const char *name);
void rollout_file_set(struct rollout *e, const char *name, const char *text, const char *hash);
void rollout_file_forget(struct rollout *e, const char *name);   /* NULL: all */

/* ---- rollout_script.c: what is sent ---- */
void rollout_script_facts(const struct rollout *e, struct buf *b);
void rollout_script_head(const struct rollout *e, size_t member, struct buf *b);
void rollout_script_step(const struct rollout *e, const struct work *w, const char *upload, bool secrets,
	struct buf *b);
void rollout_script_call(const char *function, const char *const *words, struct buf *b);   /* after a step */
void rollout_script_apply(const struct rollout *e, const struct work *w, bool force, const char *upload, struct buf *b);
void rollout_script_undo(struct rollout *e, const struct work *w, const struct graph *staying, struct buf *b);
void rollout_script_lock(const struct rollout *e, struct buf *b);
void rollout_script_room(const struct work *w, struct buf *b);

/* ---- rollout_lock.c ---- */
int rollout_lock(struct rollout *e);        /* on all nodes; an exit status */
void rollout_lock_again(struct rollout *e, size_t member);
void rollout_unlock(struct rollout *e);

/* ---- rollout_old.c: what the file has no more ---- */
void rollout_old_find(struct rollout *e, const struct graph *g);
size_t rollout_old_count(const struct rollout *e);   /* of nodes that can be worked on */
void rollout_old_say(struct rollout *e);
int rollout_old_check(struct rollout *e);             /* an exit status; it was said why not */
void rollout_old_undo(struct rollout *e, bool leaving);   /* leaving: others go on here, and data stays */
void rollout_old_free(struct rollout *e);

/* ---- rollout_plan.c ---- */
void rollout_look(struct rollout *e);       /* checks of all works on all nodes */

/* ---- rollout_step.c: one work on its node, with its upload, and again after a lost connection ---- */
void rollout_step(struct rollout *e, struct work *w);
void rollout_step_again(struct rollout *e);   /* those whose connection was lost */
void rollout_backwards(struct rollout *e);    /* undoes the graph as it is */

#endif
