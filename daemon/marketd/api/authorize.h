/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks. The market keeps only the SHA-256 of a token and looks it up by that, so the time of a lookup
 * tells nothing about any token.
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

/* What people with these roles (enum role) may do. */
int32_t auth_role_scopes(int32_t roles);

/* Of a person's token only what the roles allow now: who lowers them need not look for tokens. */
int32_t auth_scopes(const struct engine *e, const struct token *t);

/* The id of the token for which counts what this one buys: that which signed in a browser, else itself. */
uint64_t auth_counts_for(const struct engine *e, const struct token *t);

/* Fills account, token or agent, and scopes from "Bearer npk_…" or "Bearer nps_agt_…" (NULL: none); or refused. */
void auth_header(const struct engine *e, const char *header, int64_t now, struct request *q);

/* The same for the token in a browser's cookie, which is never an agent's session. */
void auth_cookie(const struct engine *e, const char *text, int64_t now, struct request *q);

/* Whether the token or session of a request that waits is still good; else as above. The operator always is. */
void auth_again(const struct engine *e, int64_t now, struct request *q);

/* Whether a waiting agent may get a new answer. Cheap: asked for all of them after each commit. */
bool auth_moved(const struct engine *e, const struct request *q);

#endif
