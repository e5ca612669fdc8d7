/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something that may block or die, done in a child with a deadline: what it wrote and how it
 * failed come back by a pipe. The child is killed with its parent.
 */
#ifndef AGENTD_OS_JOB_H
#define AGENTD_OS_JOB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/loop.h"

enum { JOB_SAID_MAX = 1 << 20 };

struct job {
	pid_t pid;                   /* 0: none is under way */
	int fd;
	int64_t began_ms, due_ms;
	struct loop_watch watch;
	struct buf heard;            /* as it comes */
	/* After its end. */
	int rc;
	struct fail fail;
	struct buf said;             /* what `work` added to out */
};

/*
 * Forks: work(arg, out, f) runs in the child. No other descriptor than its pipe is meant for it; arg is
 * as it was at the fork. watch_kind: the loop's, of the pipe. 0 or -errno.
 */
int job_begin(struct job *j, struct loop *loop, int watch_kind, int64_t deadline_ms,
	int (*work)(void *arg, struct buf *out, struct fail *f), void *arg, struct fail *f);

/* Takes what came; true once it has ended (then rc, fail and said are set, and job_release is due). Kills it after its deadline. */
bool job_ended(struct job *j, struct loop *loop);

/* Killed where it still runs. */
void job_release(struct job *j, struct loop *loop);

#endif
