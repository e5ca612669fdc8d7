/* SPDX-License-Identifier: Apache-2.0 */
/* The market as a process: opens it, listens, and runs turn by turn until a signal stops it. */
#ifndef MARKETD_SERVE_H
#define MARKETD_SERVE_H

#include "marketd/options.h"

/* Returns an exit status; the log says what went wrong. */
int serve(const struct options *o, const struct log *log);

#endif
