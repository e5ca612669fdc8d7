/* SPDX-License-Identifier: Apache-2.0 */
/* A request to the market by a verb: waited for, tried again where that is safe. */
#ifndef AGENTD_MARKET_VERB_HTTP_H
#define AGENTD_MARKET_VERB_HTTP_H

#include <jansson.h>

#include "agentd/market/identity.h"

enum { VERB_HTTP_TOKEN = 256 };

/* Takes the reference of body (NULL: none). *out: its JSON, or NULL. As client_send; *status: HTTP's. */
int errand(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *status, struct fail *f);

/* The market's time now. */
int verb_http_time(const struct identity *i, int64_t *now, struct fail *f);

/* A new session of this identity: its generation is on disk before. */
int verb_http_session(const char *data, struct identity *i, char token[VERB_HTTP_TOKEN], struct fail *f);

/* An exit status for what errand() returned. */
int verb_http_exit(int rc);

#endif
