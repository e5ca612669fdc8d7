/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/auth.h"

#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "market/reason.h"

static void take(const struct token *t, int64_t now, struct request *q)
{
	q->account = q->token = 0;
	q->scopes = 0;
	q->refused = 0;
	if (!t || t->revoked)
		q->refused = REASON_UNAUTHENTICATED;
	else if (t->expires && t->expires <= now)
		q->refused = REASON_TOKEN_EXPIRED;
	if (q->refused)
		return;
	q->account = t->account;
	q->token = t->id;
	q->scopes = t->scopes;
}

void auth_header(const struct engine *e, const char *header, int64_t now, struct request *q)
{
	uint8_t hash[TOKEN_HASH];
	const char *text;
	unsigned len = 0;

	q->refused = REASON_UNAUTHENTICATED;
	if (!header || strncasecmp(header, "bearer ", 7) != 0)
		return;
	for (text = header + 7; *text == ' '; text++)
		;
	if (!str_starts(text, AUTH_PREFIX) || strlen(text) > AUTH_TEXT_MAX)
		return;
	if (EVP_Digest(text, strlen(text), hash, &len, EVP_sha256(), NULL) != 1 || len != TOKEN_HASH)
		return;
	take(engine_token_hashed(e, hash), now, q);
}

void auth_again(const struct engine *e, int64_t now, struct request *q)
{
	if (!q->local)
		take(engine_token(e, q->token), now, q);
}
