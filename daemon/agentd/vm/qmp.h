/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU's monitor, in its machine protocol: one command at a time, each with a deadline. */
#ifndef AGENTD_VM_QMP_H
#define AGENTD_VM_QMP_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/fail.h"

struct qmp;

/* Connects to the monitor at folder/name of process pid and does the handshake. */
int qmp_open(struct qmp **out, const char *folder, const char *name, pid_t pid, int64_t deadline_ms, struct fail *f);
/* The same over an open connection: the monitor takes over its descriptor, also on failure. */
int qmp_over(struct qmp **out, int fd, int64_t deadline_ms, struct fail *f);
void qmp_close(struct qmp *q);

/*
 * Takes over arguments (NULL: none). The caller owns *answer (NULL: not wanted). -EREMOTEIO: QEMU refused, with its
 * reason in the sentence; -ETIMEDOUT, -EPIPE, -EPROTO.
 */
int qmp_do(struct qmp *q, const char *command, json_t *arguments, int64_t deadline_ms, json_t **answer, struct fail *f);

/* Gives QEMU a descriptor under a name, for "fd:NAME". */
int qmp_give(struct qmp *q, int fd, const char *name, int64_t deadline_ms, struct fail *f);

/* Repeats `query` until the text `key` of its answer is one of the words (NULL-ended): its index in *which. */
int qmp_until(struct qmp *q, const char *query, const char *key, const char *const *words, int64_t deadline_ms,
	int *which, struct fail *f);

#endif
