/* SPDX-License-Identifier: Apache-2.0 */
/* The one-shot commands of nanopod-agentd. Each returns the exit status. */
#ifndef AGENTD_VERBS_H
#define AGENTD_VERBS_H

#include "agentd/drivers.h"
#include "agentd/flags.h"

int verb_join(const struct flags *o);
int verb_leave(const struct flags *o);
int verb_status(const struct flags *o);
int verb_halt(const struct flags *o, drivers all);

/* Prints "nanopod-agentd: TEXT" on standard error; returns status. */
int verb_fail(int status, const char *text);

#endif
