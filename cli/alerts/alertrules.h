/* SPDX-License-Identifier: Apache-2.0 */
/* From which values on rules tell something, and for how long it has to be so: what the person has set, what holds. */
#ifndef CLI_ALERTS_ALERTRULES_H
#define CLI_ALERTS_ALERTRULES_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/frame/settings.h"

/* Adds "&threshold=…&for=…" of alert-threshold and alert-for. 0, or a negative code with a sentence. */
int alertrules_query(const struct settings *s, struct buf *out, struct fail *f);

/* --rules: lists them. An exit status. */
int alertrules_list(struct nanopod *np, const struct options *o);

#endif
