/* SPDX-License-Identifier: Apache-2.0 */
/* A verb's request to the market: waits for the answer, and retries where that is safe. */
#ifndef AGENTD_MARKET_VERB_HTTP_H
#define AGENTD_MARKET_VERB_HTTP_H

#include <jansson.h>

#include "agentd/market/identity.h"

enum { VERB_HTTP_TOKEN = 256 };

/* Takes over the reference of body (NULL: none). *out: its JSON, or NULL. As client_send; *status: HTTP's. */
int verb_http(const struct identity *i, const char *token, const char *method, const char *path, json_t *body,
	json_t **out, int *status, struct fail *f);

/* The market's time now. */
int verb_http_time(const struct identity *i, int64_t *now, struct fail *f);

/* Opens a new session of this identity, whose generation is on disk before. */
int verb_http_session(const char *data, struct identity *i, char token[VERB_HTTP_TOKEN], struct fail *f);

/* The exit status for a result of verb_http(). */
int verb_http_exit(int rc);

#endif
