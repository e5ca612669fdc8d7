/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What buyers expect of a market that asks for proof, looked at from outside: nobody ever pays for a minute of a host
 * of which nobody had shown what it is, unless they wanted such hosts, too. It knows no rule: only what was said of
 * hosts, what buyers asked for, and where their money went.
 */
#ifndef TESTS_SIM_PROVEN_H
#define TESTS_SIM_PROVEN_H

#include "marketd/engine/engine.h"

struct proven;

struct proven *proven_new(void);
void proven_free(struct proven *p);

/* Call after each event that was done. NULL, or what is wrong. */
const char *proven_look(struct proven *p, const struct engine *e, const struct event *ev, const struct effects *did);

/* How many minutes were paid with a proof, and how many cost nothing for want of one. */
long proven_paid(const struct proven *p);
long proven_free_of_charge(const struct proven *p);

#endif
