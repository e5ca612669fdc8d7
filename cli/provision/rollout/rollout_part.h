/* SPDX-License-Identifier: Apache-2.0 */
/* What the rollout_*.c files share: the nodes, their running tasks, and the files that steps gave. */
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

/* State of a work: the result of its check, and what happened since. */
struct rollout_work {
	size_t differs;
	bool looked, failed;  /* its check ran; its check could not run */
	char guessed[132];    /* nothing differs if the file that it takes has this checksum; "": not known */
	bool touched, forced; /* a step it needs will change; it gives a file that another step takes */
	bool applied;
};

enum rollout_stage { STAGE_STEP, STAGE_ROOM, STAGE_COPY, STAGE_AWAY };

struct rollout_task;
typedef void rollout_ended(struct rollout *e, struct rollout_task *t, const struct remote_event *ev);
typedef void rollout_record(struct rollout *e, struct rollout_task *t, const struct remote_event *ev);

/* A script running on a node. */
struct rollout_task {
	struct list link;
	size_t member;
	struct work *work; /* its work; NULL: several */
	struct remote_job *job;
	rollout_ended *ended;
	rollout_record *record; /* gets records that the table in rollout_core.c lacks; may be NULL */

	/* The function running there now. */
	struct work *now;
	char function[ENGINE_WORD];
	bool guesses;                     /* a check that nobody hears of */
	unsigned checks;                  /* of this work: the second check comes after apply */
	size_t differs, dids, bads, open; /* open: started and not done */
	char *cause, *hint, *still;
	int done; /* the status of the last function */

	/* A note whose hint or diff may still follow. */
	struct note held;
	bool holding;
	char *held_text, *held_hint, *held_diff;

	int log;
	size_t log_left;
	size_t records, record_bytes;
	bool flooded; /* it sent more than it may */
	bool each;    /* each of its functions has its own time limit */
	char log_path[512];
	int64_t began, limit_ms;

	int stage;                    /* enum rollout_stage */
	struct buf *gather;           /* collects standard output, if it is not a log */
	char upload[256];             /* path of its upload on the node */
	int64_t again_at, give_up_at; /* after its connection was lost */
	bool was_lost;
	bool waits; /* for another step on its node: it said so last */
};

struct rollout_node {
	bool out;
	char *why;
	struct rollout_task *lock;
	int64_t lock_at; /* time of the next attempt */
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
	size_t task_count; /* not counting locks */
	enum rollout_phase phase;
	bool force;            /* remove: report failures and continue */
	bool moved;            /* a task ended, so others may start */
	struct graph *staying; /* works that stay on the nodes while others are undone */
	bool begun;            /* locked and planned: rollout_apply() may change things */
	bool holds;            /* rollout_hold() took the locks, so rollout_apply() keeps them */
	bool quiet;            /* plan without reporting what was shown */
	size_t changes, lost, bads;
	struct table shown; /* differences that the plan showed */
	size_t fresh;       /* how many differences came since */
	struct work *old;   /* works that the file no longer has, in the order of undoing */
	size_t old_count;
	struct use **old_uses;
	struct stack_step **old_steps;
	size_t old_use_count, old_step_count;
	int stops, first_signal; /* how many signals came, and the first of them */
	char *lib, *facts_script;
	struct buf table;
	char token[40], owner[128];
	int64_t tick_at, said_at, planned_at; /* said_at: when it reported something last */
};

/* ---- rollout_core.c: notes, tasks, and the loop ---- */
void rollout_say(struct rollout *e, const struct note *n);
void rollout_phase(struct rollout *e, enum rollout_phase phase, const char *word);
void rollout_lose(struct rollout *e, size_t member, const char *why);
struct rollout_task *rollout_task_new(struct rollout *e, size_t member, struct work *w, rollout_ended *ended);
void rollout_task_run(struct rollout *e, struct rollout_task *t, const struct buf *script, unsigned flags,
	int64_t limit_ms);
void rollout_task_free(struct rollout *e, struct rollout_task *t);
int64_t rollout_task_ms(const struct work *w, const char *function); /* its time limit */
/*
 * Why a script stopped, with the function that ran. Why a function failed: its own cause, else a timeout or the
 * fallback.
 */
const char *rollout_task_why(const struct rollout_task *t, const struct remote_event *ev, char room[600]);
const char *rollout_task_cause(const struct rollout_task *t, const char *fallback, char room[80]);
void rollout_task_flush(struct rollout *e, struct rollout_task *t);
struct work *rollout_find(struct rollout *e, size_t member, const char *stack, const char *step);
void rollout_turn(struct rollout *e);       /* sleeps for one event and handles it */
void rollout_run(struct rollout *e);        /* until no task is left */
int rollout_stopped(const struct rollout *e); /* the status of the first signal, 0: none came */
int rollout_status(const struct rollout *e);
void rollout_graph(struct rollout *e);      /* a new one */
void rollout_graph_is(struct rollout *e, struct graph *g);

/* ---- rollout_files.c ---- */
struct rollout_file *rollout_file_find(const struct rollout *e, const char *name);
void rollout_file_set(struct rollout *e, const char *name, const char *text, const char *hash);
void rollout_file_forget(struct rollout *e, const char *name);   /* NULL: all */

/* ---- rollout_script.c: what is sent ---- */
void rollout_script_facts(const struct rollout *e, struct buf *b);
/* The table of all nodes, with the facts whose keys begin with one of `more` too. 0, or a negative code. */
int rollout_script_table(const struct rollout *e, char *const *more, struct buf *out);
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

/* ---- rollout_old.c: steps that the file no longer has ---- */
void rollout_old_find(struct rollout *e, const struct graph *g);
size_t rollout_old_count(const struct rollout *e); /* on usable nodes */
void rollout_old_say(struct rollout *e);
int rollout_old_check(struct rollout *e);               /* an exit status, after its error message */
void rollout_old_undo(struct rollout *e, bool leaving); /* leaving: other steps stay on the nodes, and so does data */
void rollout_old_only(struct rollout *e, char *const *stacks); /* forgets those of others */
void rollout_old_free(struct rollout *e);

/* ---- rollout_wait.c ---- */
enum { ROLLOUT_WAIT = 1200 };
const char *rollout_wait(const struct rollout *e, int64_t now, char text[ROLLOUT_WAIT]); /* NULL: nothing to say yet */

/* ---- rollout_plan.c ---- */
void rollout_look(struct rollout *e); /* checks all works on all nodes */
/* Takes out the node of a script that stopped, as one that is away if its connection did. */
void rollout_lose_task(struct rollout *e, const struct rollout_task *t, const struct remote_event *ev);

/* ---- rollout_step.c: one work on its node, with its upload, and again after a lost connection ---- */
void rollout_step(struct rollout *e, struct work *w);
void rollout_step_again(struct rollout *e); /* restarts those whose connection was lost */
void rollout_backwards(struct rollout *e);  /* undoes the current graph */

#endif
