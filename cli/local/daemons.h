/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the daemons of this installation (nanopod-agentd, nanopod-marketd) without a shell: to their end, or in
 * the background.
 */
#ifndef CLI_LOCAL_DAEMONS_H
#define CLI_LOCAL_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

#define AGENTD "nanopod-agentd"
#define MARKETD "nanopod-marketd"

/*
 * Finds a program beside nanopod, in ../sbin of that, or on PATH. malloc'd; NULL with a sentence that tells where it
 * looked.
 */
char *agentd_find(const char *name, struct fail *f);

struct agentd_call {
	const char *program;       /* by agentd_find() */
	const char *const *words;  /* arguments; ends with NULL */
	const char *const *env;    /* "NAME=value" to add to the environment; ends with NULL; NULL: none */
	const char *in;            /* standard input; NULL: none */
	struct buf *out, *err;     /* get its output; NULL: goes where this program's goes */
	int64_t deadline_ms;       /* kills it after so long; 0: never */
	bool mortal;               /* it is killed where this program dies */
};

/* Runs it to its end. 0 with its exit status (128 + a signal's number), or a negative code where it could not run. */
int agentd_run(const struct agentd_call *c, int *status, struct fail *f);

struct agentd_going {
	pid_t pid; /* 0: none */
	int said;  /* a file with its standard error */
};

/* Starts it and goes on; in, out, err and the deadline do not count, and its output is dropped. 0 once it runs. */
int agentd_begin(const struct agentd_call *c, struct agentd_going *g, struct fail *f);

/* Whether it has ended, with its exit status and standard error. wait: until then. */
bool agentd_over(struct agentd_going *g, bool wait, int *status, struct buf *err);

/* Starts it in its own session and appends its output to this file. 0 once the program runs. */
int agentd_leave(const struct agentd_call *c, const char *log, pid_t *pid, struct fail *f);

/* The last line of a program's output, which tells why it ended, without the program's name; "" for none. */
const char *agentd_last_line(struct buf *said);

#endif
