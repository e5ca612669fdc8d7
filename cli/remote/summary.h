/* SPDX-License-Identifier: Apache-2.0 */
/* What failed where and why, in as few lines as that takes, and what to type next. */
#ifndef CLI_REMOTE_SUMMARY_H
#define CLI_REMOTE_SUMMARY_H

#include "cli/remote/fanout.h"

/*
 * To standard error. again: the command that repeats it for the failed hosts, or NULL. Says
 * nothing where nothing failed, nor of one host whose command said itself that it failed.
 */
void summary_show(struct fanout *f, const char *again);

/* 0 where all did; one host: its status; many: STATUS_PARTLY, or with `largest` the largest. */
int summary_status(const struct fanout *f, bool largest);

/* What to do about a PSSH_E… code; NULL where nothing is known. */
const char *summary_hint(int code);

#endif
