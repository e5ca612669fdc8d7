/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one task on many hosts for a person: handles signals, questions, unknown host keys and the progress line,
 * and passes the library's other events to the command, which pulls them.
 */
#ifndef CLI_REMOTE_FANOUT_H
#define CLI_REMOTE_FANOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/remote/inputfeed.h"
#include "cli/frame/progress.h"
#include "cli/remote/outcome.h"
#include "cli/remote/rolling.h"
#include "pssh/pssh.h"

struct fanout;

/* Where events come from if not from a task of the fleet. */
struct fanout_source {
	int (*start)(void *arg);                              /* on all hosts that have not ended; an exit status */
	int (*pull)(void *arg, const struct pssh_event **ev); /* as pssh_next(); `task` is the fanout's */
	void (*cancel)(void *arg, const char *signal, unsigned grace_ms); /* signal NULL: at once */
};

struct fanout {
	struct nanopod *np;
	struct connect *connect;
	struct pssh_task *task;
	struct outcome *hosts;
	size_t count, ended;
	struct progress progress;
	struct fanout_input input;
	struct rolling rolling; /* set before the start */
	unsigned grace_ms;     /* between the first Ctrl-C's signal and KILL */
	const char *cancel_signal;
	int asked;             /* signals that asked to stop: 0, 1, 2 … */
	int first_signal;
	bool running;          /* a host runs, so input is wanted */
	bool broken;           /* standard output cannot be written, so the task is cancelled */
	bool needs_reader;     /* output is the purpose: a pipe that its reader closed ends the work at once */
	bool reader_gone;      /* so it did */
	int unheard;           /* events since signals and descriptors were looked at */
	int watch_fd;          /* the command's own, -1: none */
	bool others;           /* passes on events of tasks that are not its own, without a host */
	bool passed;           /* sessions of hosts that have ended for it are still open */
	bool telling;          /* reports the hosts whose keys were not accepted, then ends or begins a batch */
	struct pssh_event made;

	/* Makes the task; called again for hosts whose keys were accepted. An exit status. */
	int (*make)(void *arg, struct fanout *f, struct pssh_task **out);
	/* What a host that was added to the task has of its own, or NULL. An exit status. */
	int (*each)(void *arg, struct fanout *f, struct outcome *o);
	void *arg;
	const struct fanout_source *source; /* instead of a task, or NULL */
	void *source_arg;
};

/* Adds the named hosts. An exit status; on failure there is nothing to release. */
int fanout_init(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names);

/* The same, but where some nodes of several are not up, these alone fail, and the others go on. */
int fanout_init_up(struct fanout *f, struct nanopod *np, struct connect *c, const struct pssh_list *names);
void fanout_release(struct fanout *f);

/* Begins a task on all hosts that are not failed yet. An exit status. */
int fanout_start(struct fanout *f);

enum fanout_turn { FANOUT_DONE, FANOUT_EVENT, FANOUT_WATCH, FANOUT_SIGNAL };

/*
 * Waits for the next event. EVENT: *ev, and *o where it is about a host; WATCH: watch_fd is readable; SIGNAL: the
 * terminal's size changed.
 */
enum fanout_turn fanout_next(struct fanout *f, const struct pssh_event **ev, struct outcome **o);

/* The host has done what it should, and its session stays open for the command, which takes the task in the end. */
void fanout_pass(struct fanout *f, struct outcome *o);

/* Stops like Ctrl-C: the first call sends a signal, the second stops at once. */
void fanout_cancel(struct fanout *f);

/* Hides the progress line. Call it before printing to a terminal. */
void fanout_quiet(struct fanout *f);

#endif
