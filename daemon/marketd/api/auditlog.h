/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did what with accounts, money, tokens, types and machines: a line each in the log, once it is on disk. The events
 * themselves hold all of it for ever; these lines are for whoever reads or forwards the log.
 */
#ifndef MARKETD_API_AUDITLOG_H
#define MARKETD_API_AUDITLOG_H

#include <stdbool.h>

#include "marketd/api/api.h"

enum { AUDITLOG_TEXT = 1024 };

/* Such an event in words, with what it made (0: not known). false: it is none. */
bool auditlog_what(const struct engine *e, const struct event *ev, uint64_t made, char *room, size_t size);

/* The event was applied, and made `made` (0: nothing). Other kinds of events leave no line. */
void auditlog_note(struct api *api, const struct request *q, const struct event *ev, uint64_t made);
/* What was noted since the last call is on disk, or undone. */
void auditlog_committed(struct api *api, bool failed);

#endif
