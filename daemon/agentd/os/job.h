/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs work that may block or die in a child with a deadline; its output and its failure come back through a pipe.
 * The child is killed with its parent.
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
	pid_t pid;                   /* 0: no child runs */
	int fd;
	int64_t began_ms, due_ms;
	struct loop_watch watch;
	struct buf heard;            /* what the pipe brought so far */
	/* Set when the child has ended. */
	int rc;
	struct fail fail;
	struct buf said;             /* what `work` added to out */
	bool complete;               /* `work` came to its end: rc is its own, and said is all of it */
};

/*
 * Forks: work(arg, out, f) runs in the child, with arg as it was at the fork. Of its descriptors only its pipe is
 * meant for it. The loop watches the pipe as watch_kind. 0 or -errno.
 */
int job_begin(struct job *j, struct loop *loop, int watch_kind, int64_t deadline_ms,
	int (*work)(void *arg, struct buf *out, struct fail *f), void *arg, struct fail *f);

/*
 * Reads what came and kills the child after its deadline. True once the child has ended: then rc, fail and said are
 * set, and job_release is due.
 */
bool job_ended(struct job *j, struct loop *loop);

/* Kills the child if it still runs. */
void job_release(struct job *j, struct loop *loop);

#endif
