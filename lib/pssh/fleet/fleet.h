/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fleet is made of: hosts, tasks, and runs (one task on one host). host.c, streamhost.c, run_own.c,
 * forwardrun.c, task.c, fleet.c, streamrun.c, question.c and fleet_turn.c work on these types; each may call
 * those before it in this list.
 */
#ifndef PSSH_FLEET_FLEET_H
#define PSSH_FLEET_FLEET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/table.h"
#include "pssh/session/conn.h"
#include "pssh/copy/copy.h"
#include "pssh/fleet/event_queue.h"
#include "pssh/fleet/forward.h"
#include "pssh/session/exec.h"
#include "pssh/pssh_types.h"
#include "pssh/session/channel.h"
#include "pssh/config/sshconfig.h"
#include "pssh/keep/keepfolder.h"
#include "pssh/keep/lend.h"
#include "pssh/session/look.h"
#include "pssh/session/kill_remote.h"
#include "base/door.h"
#include "pssh/session/tunnel.h"
#include "pssh/session/xfer.h"

/* How long ending the processes of a command may take beyond the grace. */
enum {
	KILL_REMOTE_SPARE_MS = 5000, /* on a host that is not heard */
	KILL_REMOTE_MOST_MS = 20000, /* on a busy one */
};

/* What a due watch or timer is a member of. */
enum kind {
	KIND_CONN = 1,
	KIND_HOST,
	KIND_RUN,
	KIND_RESOLVER,
	KIND_AGENT,
	KIND_TUNNEL,
	KIND_REAP,
	KIND_WAKE,
	KIND_UNLOCK,
	KIND_FORWARD
};

enum question { QUESTION_TEXT, QUESTION_SIGN, QUESTION_HOSTKEY };

struct prompt {
	uint64_t id;
	enum question kind;
	struct pssh_host *host;
	struct list link;
};

struct pssh_host {
	struct pssh *fleet;
	char *spec, *alias, *spec_user;  /* the caller's text; the name in it; the user in it, or NULL */
	unsigned spec_port;
	struct sshconfig_answer *config; /* NULL: no configuration was read */
	struct fail *config_fail;        /* why the configuration gave no answer; NULL: it did */

	/* What the caller set; wins over the configuration. */
	char *address, *user, *jump, *proxy;
	unsigned port;
	char **identities;
	size_t identity_count;
	struct knownhosts_pin *pins;
	size_t pin_count;

	/* What all this comes to; made anew before each connection. */
	struct conn_plan plan;
	char **plan_identities;
	char **env; /* name, value, …, NULL: by the configuration, for its commands */
	char *plan_proxy, *plan_user;
	char *plan_algorithms[PSSH_ALGS];
	unsigned tries, keepalive, missed; /* missed: how many unanswered keep-alives end it */
	struct pssh_host *via;           /* the jump host; NULL: none */

	struct conn *conn;
	bool busy;                       /* a run has local work to do */
	bool wanted;                     /* the caller wants a connection, though no run does */
	int given_fd;                    /* the socket of its next connection; -1: none */
	bool waiting, opening;           /* in fleet->waiting; counted in fleet->opening */
	struct list in_hosts, in_waiting, in_idle;
	struct list runs;
	unsigned active;                 /* how many runs have a channel */
	unsigned served;                 /* how many runs have begun on this connection */
	unsigned attempt;
	char keep_key[KEEPKEY_NAME];     /* who may use its connection if it is kept; "": nobody */
	unsigned keep_slot;              /* which of the kept connections of its key to ask for next */
	bool kept;                       /* its connection goes to the keeper */
	bool left;                       /* a command may still run on its connection, and nobody waits for it */
	struct forward *forward;         /* a command may use the agent over its connection, or might; NULL: none */
	bool typed;                      /* a password or the like was typed for its connection */
	unsigned depth;                  /* how many hosts jump through this one in a row; 0: a target */
	struct loop_timer timer;         /* the next try; once ready: keep-alive and idleness */
	int64_t idle_since;
	char fingerprint[64];
	struct pssh_facts *facts; /* of the connection before; NULL: none */
	char *key_text;           /* what pssh_host_key() returned */
	unsigned stream;          /* it is this further connection to another host, for copies alone; 0: none */
	struct pssh_host **streams; /* those to this one's: PSSH_STREAMS, each may be NULL; or NULL */
	struct fail why;
	void *data;
};

enum task_kind { TASK_EXEC, TASK_PUT, TASK_GET, TASK_TUNNEL, TASK_CHANNEL, TASK_LOOK, TASK_KEEP };

struct pssh_task {
	struct pssh *fleet;
	enum task_kind kind;
	char *command;                   /* or NULL */
	char *local, *remote;            /* a copy's paths; a tunnel's listen and target */
	unsigned flags;
	struct copy_source *source;
	struct exec_want want;
	enum pssh_agent_forward forward;
	char **env;                      /* name, value, …, NULL */
	size_t env_count;
	char *term;
	struct input input;
	struct list runs, in_tasks;
	size_t left;
	bool started, cancelled;
	unsigned deadline;
	bool deadline_set;
	unsigned port;                   /* where a tunnel listens */
	enum pssh_channel_kind channel;
	enum tunnel_way way;
	enum look_what look;
	size_t limit; /* of a file that is read into memory */
	int data_fd;  /* what a put from memory reads; -1: none */
	int fd;       /* our end of a channel's pair of sockets; -1: none */
	unsigned streams; /* how many connections a copy uses to each host; 0: one */
	void *data;
};

enum run_state {
	RUN_WAITING,   /* for the start, a connection, or a free channel on it */
	RUN_ACTIVE,    /* has a channel */
	RUN_KILLING,   /* has a channel, and its processes are being ended */
};

/* What one host does otherwise than the rest of its task. */
struct run_own {
	char *command; /* or NULL */
	char **env;    /* name, value, …, NULL */
	size_t env_count;
	unsigned deadline;
	bool deadline_set;
	struct exec_want want; /* what all this comes to; its env owns no text */
};

struct run {
	struct pssh_task *task;
	struct pssh_host *host;
	struct list in_task, in_host;
	enum run_state state;
	bool begun;
	unsigned order;                  /* which process of the connection it is, oldest first */
	struct exec *exec;
	struct xfer *xfer;
	struct run *first;          /* it only carries data for the copy of this run; NULL: it stands for itself */
	struct list streams;        /* the runs that do that for this one, by in_task */
	bool streamed;              /* they were started */
	struct copy_source *source; /* of a put with a file for each host, else NULL */
	struct tunnel *tunnel;
	struct channel *channel;
	struct look *look;
	struct lend *lend;               /* in a keeper: lends the connection */
	char lend_name[KEEPFOLDER_NAME]; /* its socket */
	struct input *own_input;
	struct run_own *own; /* NULL: nothing */
	struct kill_remote *kill;
	char kill_remote_signal[8];
	unsigned kill_remote_grace, kill_remote_tries;
	int64_t kill_remote_last; /* when it is over, however alive the host is */
	bool kill_over; /* `kill` has nothing more to say */
	bool timed_out, cancelled;       /* cancelled: alone, not with its task */
	bool forwards;                   /* counted by the host's forward */
	bool late;                       /* its start takes long, and it can start nowhere else */
	char said[192];                  /* what happened to the processes; "": not known yet */
	struct loop_timer timer;         /* the task's deadline; then that of ending its processes */
};

struct pssh {
	pid_t pid; /* the process that made it */
	bool left; /* this is a child of that process, and fleet_leave was called */
	struct conn_shared shared;
	struct events events;
	struct fail why;

	unsigned opening_max, open_max;
	unsigned opening, open;
	unsigned deadline[PSSH_PHASES];
	unsigned tries, first_ms, most_ms, keepalive;
	enum pssh_hostkeys policy;
	bool policy_chosen;            /* the caller chose the policy; it wins over the configuration */
	char **known_files, **identities;
	size_t known_count, identity_count;
	char **known_texts; /* lines of known hosts that are in no file */
	size_t known_text_count;
	unsigned memory_keys; /* how many keys came from memory */
	char *algorithms[PSSH_ALGS];
	bool prompts;
	unsigned told;                   /* a bit for each warning about a setting without effect that was logged */
	struct sshconfig *config;
	struct table known;              /* list of files -> struct knownhosts */

	struct table hosts;              /* spec -> struct pssh_host */
	struct list host_list, tasks;
	struct list waiting;             /* hosts that want a connection, in order */
	struct list idle;                /* hosts with a connection and nothing to do, longest first */
	struct list prompts_open;
	uint64_t next_prompt;
	struct proxy **reaping;          /* proxy commands that were told to end */
	size_t reap_count;
	struct loop_timer reap_timer;
	struct loop_watch resolver_watch, wake_watch, unlock_watch;
	int wake_fd;       /* an eventfd, which pssh_wake() raises */
	atomic_bool woken; /* until pssh_wait() has returned because of it */
	int64_t burst;     /* when the calls began that have not returned "nothing" since; 0: none */
	unsigned turns;    /* of connections, in all calls */
	bool keeps;        /* connections are looked for with keepers, and left to one */
	int keep_folder;
	unsigned keep_seconds;
	struct exec_room room;
};

/* Appends a copy of text to a NULL-terminated list. 0 or PSSH_ENOMEM. */
int strings_add(char ***list, size_t *count, const char *text);
void strings_free(char ***list, size_t *count);

/* ---- host.c ---- */

int host_find(struct pssh *p, const char *spec, struct pssh_host **out);
/* Fills h->env by its configuration, from this process's environment. In environment.c. */
int host_environment(struct pssh_host *h);
int host_new(struct pssh *p, const char *spec, struct pssh_host **out);
/* The last jump host of h's comma-separated list, reached through those before it. */
int host_find_jump(struct pssh_host *h, const char *jumps, struct pssh_host **out, struct fail *f);
void host_free(struct pssh_host *h);
/* Fills h->plan for the next connection. 0 or a code, with h->why. */
int host_make_plan(struct pssh_host *h);
bool host_is_busy(const struct pssh_host *h);
void host_plan_keepalive(struct pssh_host *h);      /* by the fleet and the configuration, for the connection too */
void host_poke(struct pssh_host *h);               /* has its connection stepped soon */

/* ---- streamhost.c ---- */

enum { STREAM_IDLE_MS = 10000 }; /* how long the connection may be idle before it is closed */

/* Whether h's server may be asked for another connection without asking a person. */
bool streamhost_may(const struct pssh_host *h);
/* h's nth further connection, a host that only the library knows. 0 or PSSH_ENOMEM. */
int streamhost_find(struct pssh_host *h, unsigned nth, struct pssh_host **out);

/* ---- task.c ---- */

struct run *run_new(struct pssh_task *t, struct pssh_host *h); /* NULL: out of memory */
void run_free(struct run *r);                      /* removes it from all lists */
/* Gives it a channel on its host's ready connection. 0 or a code. */
int run_open(struct run *r, struct fail *f);
/* Copies; all but the first set *f where they fail. */
bool copyrun_per_host(const struct pssh_task *t); /* each host has a source of its own */
int copyrun_source(struct pssh_task *t, const char *path, struct copy_source **out, struct fail *f);
int copyrun_begin(struct run *r, struct fail *f);             /* the host joins its task */
int copyrun_apart(const struct pssh_task *t, struct fail *f); /* no two hosts write one file here */
int copyrun_joins(const struct pssh_task *t, const struct pssh_host *h, struct fail *f);
int copyrun_open(struct run *r, struct fail *f);

/* Whether it takes one of the few sessions that a server grants a connection. */
bool run_takes_session(const struct run *r);
/* Makes r->own if there is none. 0 or PSSH_ENOMEM. In run_own.c, as the next three. */
int run_own_make(struct run *r);
void run_own_free(struct run_own *own);
/* What to start, until the run ends: its own, else the task's. NULL: out of memory. */
const struct exec_want *run_own_want(struct run *r);
unsigned run_own_deadline(const struct run *r);

enum { RUN_DONE = 0, RUN_BEGUN = 1, RUN_OUTPUT = 2, RUN_PROGRESS = 3, RUN_BUSY = 4 };
/* One of these (ev filled in for all but RUN_BEGUN and RUN_BUSY), PSSH_EAGAIN or a code. */
int run_step(struct run *r, struct pssh_event *ev, struct fail *f);
/* Steps the ending of its processes: PSSH_EAGAIN, 0 (r->said tells the result), or a code. */
int run_step_kill(struct run *r);
/* Whether the script that ends r's processes has found them, and will say what became of them. */
bool run_kill_has_news(struct run *r);
/* Begins to end its processes. 0; PSSH_EAGAIN: a copy, which stops by itself soon; or PSSH_ECANCEL: it has none. */
int run_cancel(struct run *r, const char *signal, unsigned grace_ms);
/* Drops the part of the task's input that every run has taken. true: writers may go on. */
bool task_trim_input(struct pssh_task *t);
/* Whether nothing was asked of the server that could not be asked again on another connection. */
bool run_may_restart(const struct run *r);
void run_restart(struct run *r); /* it waits again */
/* Whether it asks for what a keeper has no words for. */
bool run_must_own(const struct run *r);
int task_find_run(struct pssh_task *t, const struct pssh_host *h, struct run **out);
void task_free(struct pssh_task *t);

/* ---- forwardrun.c ---- */

/* The agent's socket that its command may use; NULL: it may use none. Once the host has a plan. */
const char *forwardrun_agent(const struct run *r);
/* Its connection, which a keeper lends, serves others, and they will end; then it can have one of its own. */
bool forwardrun_waits(const struct run *r);
/* Its command gets a channel, or gives it up. 0 or PSSH_ENOMEM. */
int forwardrun_begin(struct run *r);
void forwardrun_end(struct run *r);
void forwardrun_tell(struct run *r); /* it has begun: whether it may use the agent */
/* Serves those who use the agent. False: the connection is over, and conn->why says why. */
bool forwardrun_turn(struct pssh_host *h);

/* ---- fleet.c ---- */

void fleet_tell(struct pssh *p, enum pssh_event_type type, struct pssh_task *t, struct pssh_host *h, int status,
	const char *text);
void fleet_need(struct pssh_host *h);              /* queues it for a connection, as it has waiting runs */
bool fleet_has_room(const struct pssh *p);         /* a host waits and could be admitted at once */
void fleet_admit(struct pssh *p);                  /* starts the connection of one waiting host, within the window */
void fleet_not_opening(struct pssh_host *h);
/* Drops a connection that is still opening if no run waits for it. true: dropped */
bool fleet_drop_unwanted(struct pssh_host *h);
void fleet_conn_lost(struct pssh_host *h);         /* its connection is gone; conn->why says why */
void fleet_close_host(struct pssh_host *h, int code, const char *why);
void fleet_free_host(struct pssh_host *h); /* no task has it, and nothing goes through it */
void fleet_end_run(struct run *r, int type, int status, const char *text);
void fleet_cancel_run(struct run *r, const char *signal, unsigned grace_ms);
void fleet_check_done(struct pssh_task *t);
/* If its jump host is stuck with another target, uses another connection to it, if there is one. true: it moved */
bool fleet_change_lane(struct pssh_host *h);
void fleet_close_streams(struct pssh_host *h);     /* its further connections */
void fleet_reap(struct pssh *p);                   /* frees the proxy commands that have ended */
void fleet_release(struct pssh *p);

/* ---- forked.c ---- */

/*
 * True in a child that fork() made of the process that made the fleet. Descriptors, proxy commands and
 * files are the parent's: after this, nothing that frees memory or closes descriptors touches them.
 */
bool fleet_forked(struct pssh *p);
/* ---- keepfind.c ---- */

/* The socket of a keeper that may have the connection that h needs; -1: there is none to ask. */
int keepfind(struct pssh_host *h);
/* False: its key files are no longer those by which its connection was looked for. */
bool keepfind_same(struct pssh_host *h);
/* The window of the session channel that h will open first; 0: it will open none, or it is not known yet. */
unsigned keepfind_window(const struct pssh_host *h);

/* ---- keeper.c ---- */

/* Leaves the idle connections to a keeper, if the fleet has one. 0 or a code. */
int keeper_hand_over(struct pssh *p);

/* ---- streamrun.c ---- */

/* After a step of a copy: starts its further streams once it wants them, and wakes those that have work. */
void streamrun_turn(struct run *r);

/* ---- question.c ---- */

void question_pass_on(struct pssh_host *h);        /* makes the question of its sign-in an event, once */
void question_forget(struct pssh_host *h);
int question_answer(struct pssh *p, uint64_t id, const char *text);
int question_sign(struct pssh *p, uint64_t id, const void *signature, size_t len);
int question_hostkey(struct pssh *p, uint64_t id, enum pssh_hostkey_answer answer);
void question_unlocked(struct pssh *p); /* passphrases were tried: those who waited go on */

/* ---- fleet_turn.c ---- */

const struct pssh_event *fleet_turn(struct pssh *p); /* one event, or NULL: nothing to do now */
int fleet_timeout(const struct pssh *p);

#endif
