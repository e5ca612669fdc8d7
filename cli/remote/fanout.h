/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thing done on many hosts, watched by a person: the library's events with signals, questions,
 * unknown host keys and the progress line taken care of. What is left is pulled by the command.
 */
#ifndef CLI_REMOTE_FANOUT_H
#define CLI_REMOTE_FANOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/remote/fold.h"
#include "cli/frame/progress.h"
#include "pssh/pssh.h"

enum outcome_state { OUTCOME_WAITING, OUTCOME_RUNNING, OUTCOME_EXIT, OUTCOME_SIGNAL, OUTCOME_ERROR };

/* What became of one host. */
struct outcome {
	struct pssh_host *host;
	const char *name;
	size_t index;
	enum outcome_state state;
	int status;          /* of EXIT: what the command said; of ERROR: a PSSH_E… code */
	char *text;          /* of SIGNAL its name, of ERROR a sentence, else NULL */
	bool cancelled;
	bool begun;          /* it was reached and at work when it ended */
	bool ask;            /* its key is unknown: the person is asked */
	uint64_t moved, size;             /* a copy's bytes */
	struct fold_place out, err;       /* for who gathers */
	uint64_t dropped;                 /* bytes that no ceiling had room for */
};

bool outcome_ended(const struct outcome *o);
bool outcome_ok(const struct outcome *o);
int outcome_status(const struct outcome *o); /* as ssh would exit: status, 128 + signal, 255 */
int outcome_signal(const char *name);        /* "TERM" -> 15; 0 where unknown */

/* Standard input or a text for all hosts. */
struct fanout_input {
	int fd;                /* -1: only the text */
	const char *head;      /* comes first */
	size_t head_len, head_at;
	bool open;             /* the task takes input */
	bool ended, full;      /* no more comes; the task has no room now */
	char *kept;            /* read, but not taken yet */
	size_t kept_len, kept_at;
	struct buf replay;     /* what was sent, for hosts whose keys are asked about */
	bool lost;             /* that was too much to keep */
};

struct fanout {
	struct nanopod *np;
	struct connect *connect;
	struct pssh_task *task;
	struct outcome *hosts;
	size_t count, ended;
	struct progress progress;
	struct fanout_input input;
	unsigned grace_ms;     /* between the first Ctrl-C's signal and KILL */
	const char *cancel_signal;
	int asked;             /* signals that asked to stop: 0, 1, 2 … */
	int first_signal;
	bool running;          /* a host runs, so input is wanted */
	bool broken;           /* standard output is gone: cancelled for that */
	int unheard;           /* events since signals and descriptors were looked at */
	int watch_fd;          /* the command's own, -1: none */
	bool telling;          /* the hosts whose keys were not accepted are told, then all is over */
	struct pssh_event made;

	/* Makes the task: again for hosts whose keys were accepted. An exit status. */
	int (*make)(void *arg, struct fanout *f, struct pssh_task **out);
	void *arg;
};

/* Takes the names' hosts. An exit status; on failure there is nothing to release. */
int fanout_init(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names);
void fanout_release(struct fanout *f);

/* Begins a task on all hosts that are not failed yet. An exit status. */
int fanout_start(struct fanout *f);

enum fanout_turn { FANOUT_DONE, FANOUT_EVENT, FANOUT_WATCH, FANOUT_SIGNAL };

/*
 * Sleeps for what comes next. EVENT: *ev, and *o where it is about a host; WATCH: watch_fd is
 * readable; SIGNAL: the terminal's size changed.
 */
enum fanout_turn fanout_next(struct fanout *f, const struct pssh_event **ev, struct outcome **o);

/* Stops as Ctrl-C does: the first time with a signal, the second at once. */
void fanout_cancel(struct fanout *f);

/* Before anything is printed to a terminal. */
void fanout_quiet(struct fanout *f);

#endif
