/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what failed where and why, in few lines, and what to type next. */
#ifndef CLI_REMOTE_SUMMARY_H
#define CLI_REMOTE_SUMMARY_H

#include "cli/remote/fanout.h"
#include "cli/remote/select.h"

/*
 * Prints to standard error. again: the command that repeats it for the failed hosts, or NULL. Prints nothing where
 * nothing failed, nor for a single host whose command failed with its own message.
 */
void summary_show(struct fanout *f, const char *again);

/* 0 where all did; one host: its status; many: STATUS_PARTLY, or with `largest` the largest. */
int summary_status(const struct fanout *f, bool largest);

/* The hint for a PSSH_E… code; NULL: none. */
const char *summary_hint(int code);

/* The same for what became of a host, as typed: a name that is not there may be a node that ended, or a slip. */
const char *summary_hint_about(struct nanopod *np, const char *host, int code, char room[SELECT_HINT]);

#endif
