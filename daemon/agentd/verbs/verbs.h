/* SPDX-License-Identifier: Apache-2.0 */
/* The one-shot commands of nanopod-agentd. Each returns the exit status. */
#ifndef AGENTD_VERBS_VERBS_H
#define AGENTD_VERBS_VERBS_H

#include "agentd/drivers.h"
#include "agentd/flags.h"
#include "base/buf.h"
#include "base/fail.h"

struct claims;

int verb_join(const struct flags *o, drivers all);
int verb_leave(const struct flags *o);
int verb_status(const struct flags *o);
int verb_power(const struct flags *o);
int verb_gpus(const struct flags *o);
int verb_halt(const struct flags *o, drivers all);
int verb_verify(const struct flags *o, drivers all);

/* The latest verification, as text and read. -ENOENT: none. Both are the caller's to release. */
int verb_verify_kept(const char *data, struct buf *text, struct claims *out, struct fail *f);
/* "12 passed, 0 failed, 3 skipped, 2026-11-23T02:17:04Z" */
void verb_verify_when(const struct claims *c, char *room, size_t size);

/* Prints "nanopod-agentd: TEXT" on standard error; returns status. */
int verb_fail(int status, const char *text);

/* Waits a little for a turn to open the GPUs. 0 with a descriptor to close, or -1; else the exit status. */
int verb_turn(const struct flags *o, int *turn);

#endif
