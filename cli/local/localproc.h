/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon that was left behind, as a file remembers it: by process id and the moment it was started,
 * so that another process which has got the same id is never taken for it.
 */
#ifndef CLI_LOCAL_LOCALPROC_H
#define CLI_LOCAL_LOCALPROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

struct localproc {
	pid_t pid;
	int64_t since; /* Unix seconds */
};

/* Remembered. 0 or a negative code. */
int localproc_note(const char *path, pid_t pid, struct fail *f);

/* Does it run? *p tells which. */
bool localproc_runs(const char *path, struct localproc *p);

/*
 * TERM, and KILL where it has not ended after grace_ms. 0: it does not run any more (also: it did not),
 * or a negative code. The file goes.
 */
int localproc_end(const char *path, int64_t grace_ms, struct fail *f);

#endif
