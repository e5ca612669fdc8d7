/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemons of this installation (nanopod-agentd, nanopod-marketd), run by the command line: to
 * their end, or left behind. No shell is in between.
 */
#ifndef CLI_LOCAL_DAEMONS_H
#define CLI_LOCAL_DAEMONS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

#define AGENTD "nanopod-agentd"
#define MARKETD "nanopod-marketd"

/* Beside nanopod, in ../sbin of where that is, or on PATH. malloc'd; NULL with a sentence that says where it was looked for. */
char *agentd_find(const char *name, struct fail *f);

struct agentd_call {
	const char *program;       /* by agentd_find() */
	const char *const *words;  /* what follows its name; ends with NULL */
	const char *const *env;    /* "NAME=value", beside what is there; ends with NULL; NULL: none */
	const char *in;            /* standard input; NULL: none */
	struct buf *out, *err;     /* what it said; NULL: goes where this program's own goes */
	int64_t deadline_ms;       /* then it is ended; 0: none */
};

/* 0 with its exit status (128 + a signal's number), or a negative code: it could not be run. */
int agentd_run(const struct agentd_call *c, int *status, struct fail *f);

/* Starts it in a session of its own, with all that it says appended to this file. 0 once the program runs. */
int agentd_leave(const struct agentd_call *c, const char *log, pid_t *pid, struct fail *f);

/* The last line that a program said, which is why it ended, without its name in front; "" where it said nothing. */
const char *agentd_last_line(struct buf *said);

#endif
