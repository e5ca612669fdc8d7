/* SPDX-License-Identifier: Apache-2.0 */
/* The market as a process: opened, listened to, run turn by turn until it is told to end. */
#ifndef MARKETD_SERVE_H
#define MARKETD_SERVE_H

#include "marketd/options.h"

/* An exit status; what went wrong is in the log. */
int serve(const struct options *o, const struct log *log);

#endif
