/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a session: the next generation is on disk before it is signed and sent. */
#ifndef AGENTD_MARKET_SESSION_H
#define AGENTD_MARKET_SESSION_H

#include <jansson.h>

#include "agentd/market/identity.h"

/* now: the market's time. *out: the body of the request. */
int session_body(const char *data, struct identity *i, int64_t now, json_t **out, struct fail *f);

#endif
