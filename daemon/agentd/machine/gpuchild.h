/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls into a vendor's library, made in a child that is killed at a deadline: such calls hang on dying GPUs, and a
 * crash must not end the agent. The child's output comes back; "no answer" is an answer too.
 */
#ifndef AGENTD_MACHINE_GPUCHILD_H
#define AGENTD_MACHINE_GPUCHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

/*
 * work writes to fd and returns 0; its standard output and error are dropped. 0, -ETIMEDOUT (killed; one that cannot
 * even be killed is left to the kernel), -EIO (it crashed or returned something else).
 */
int gpuchild_run(int (*work)(void *arg, int fd), void *arg, int64_t deadline_ms, struct buf *out, struct fail *f);

/* A child that nobody listens to: it runs until gpuchild_end(), at the latest until its parent ends. -1: none. */
pid_t gpuchild_begin(int (*work)(void *arg, int fd), void *arg);
void gpuchild_end(pid_t pid);

/* For work: writes all of it, or returns -1. */
int gpuchild_write(int fd, const void *data, size_t len);

#endif
