/* SPDX-License-Identifier: Apache-2.0 */
/* Procuring by edition 2 of the rules: hosts that are in use first, then whole hosts, by the hour. */
#ifndef MARKETD_ENGINE_PROCURE_RENEW_H
#define MARKETD_ENGINE_PROCURE_RENEW_H

#include "marketd/engine/live/world.h"

/* Buys the next minutes of the hosts that the pool has. True: the pool has what it shall have, no less and no more. */
bool renew_hosts(struct engine *e, struct procurement *p);

/* Buys what is missing still, on other hosts, and sells what is too much. */
void renew_rest(struct engine *e, struct procurement *p);

#endif
