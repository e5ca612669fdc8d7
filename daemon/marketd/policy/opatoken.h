/* SPDX-License-Identifier: Apache-2.0 */
/* The secret that the market and a policy server show each other: the first line of a file. */
#ifndef MARKETD_POLICY_OPATOKEN_H
#define MARKETD_POLICY_OPATOKEN_H

#include "base/fail.h"

enum { OPATOKEN = 1024 };

/* path NULL: there is none, "". 0 or a negative code; room is untouched then. */
int opatoken_read(const char *path, char room[OPATOKEN], struct fail *f);

#endif
