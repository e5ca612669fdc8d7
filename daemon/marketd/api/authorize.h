/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks. Only the SHA-256 of a token is kept, and it is looked up by that: how long the look takes
 * says nothing about any token.
 */
#ifndef MARKETD_API_AUTHORIZE_H
#define MARKETD_API_AUTHORIZE_H

#include "marketd/api/api.h"

#define AUTH_PREFIX "npk_"
#define AUTH_SESSION "nps_"
enum {
	AUTH_TEXT_MAX = 256,
	AUTH_ALL = SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST | SCOPE_ADMIN | SCOPE_JOIN,
};

/* Fills who asks from the header "Bearer npk_…", "Bearer nps_agt_…" (NULL: none): account, token or agent, scopes; or refused. */
void auth_header(const struct engine *e, const char *header, int64_t now, struct request *q);

/* Whether the token or session of a request that waits is still good; else as above. The operator always is. */
void auth_again(const struct engine *e, int64_t now, struct request *q);

/* Whether there may be another answer for an agent that waits. Cheap: asked of all of them after each commit. */
bool auth_moved(const struct engine *e, const struct request *q);

#endif
