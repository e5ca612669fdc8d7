/* SPDX-License-Identifier: Apache-2.0 */
/* The lines about one host as text, for another program that judges the host's key in our place. */
#ifndef PSSH_KNOWN_KNOWNWRITE_H
#define PSSH_KNOWN_KNOWNWRITE_H

#include "base/buf.h"
#include "pssh/known/knownlines.h"

/* Adds the lines about `name`, which must be lower case, under the name `as`. 0 or PSSH_ENOMEM. */
int knownwrite_lines(struct knownlines *k, const char *name, const char *as, struct buf *out);

#endif
