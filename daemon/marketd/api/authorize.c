/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/authorize.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "market/ident.h"
#include "market/reason.h"

int32_t auth_role_scopes(int32_t roles)
{
	static const int32_t scopes[] = {
		SCOPE_READ | SCOPE_TRADE | SCOPE_NODES | SCOPE_TOKENS | SCOPE_HOST, /* owner */
		SCOPE_READ | SCOPE_TRADE | SCOPE_NODES,                             /* buyer */
		SCOPE_READ | SCOPE_HOST,                                            /* provider */
		SCOPE_READ,                                                         /* viewer */
		SCOPE_READ,                                                         /* billing */
	};
	int32_t all = 0;

	for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
		all |= roles & (1 << i) ? scopes[i] : 0;
	return all;
}

int32_t auth_scopes(const struct engine *e, const struct token *t)
{
	const struct person *x = engine_person(e, t->person);
	int32_t may = x ? auth_role_scopes(x->roles) | SCOPE_ADMIN : 0;

	if (!t->person)
		return t->scopes;
	return t->scopes & (may & SCOPE_HOST ? may | SCOPE_JOIN : may); /* the owner of hosts lets machines join */
}

uint64_t auth_counts_for(const struct engine *e, const struct token *t)
{
	const struct token *by;
	uint64_t id;

	if (!t->name || !str_starts(t->name, NP_SESSION_NAME) ||
		!ident_parse(IDENT_TOKEN, t->name + strlen(NP_SESSION_NAME), &id))
		return t->id;
	by = engine_token(e, id);
	return by && by->account == t->account && by->person == t->person ? id : t->id;
}

uint64_t api_spender(const struct engine *e, const struct request *q)
{
	const struct token *t = engine_token(e, q->token);

	return t ? auth_counts_for(e, t) : q->token;
}

static void take_nobody(struct request *q)
{
	q->account = q->token = q->person = q->joined = q->agent = q->generation = 0;
	q->scopes = 0;
	q->refused = REASON_UNAUTHENTICATED;
}

static void auth_take(const struct engine *e, const struct token *t, int64_t now, struct request *q)
{
	take_nobody(q);
	if (t && t->revoked && (t->scopes & SCOPE_JOIN))
		q->joined = t->account;
	if (!t || t->revoked)
		return;
	if (t->expires && t->expires <= now) {
		q->refused = REASON_TOKEN_EXPIRED;
		return;
	}
	q->scopes = auth_scopes(e, t);
	q->refused = q->scopes ? 0 : REASON_FORBIDDEN;
	q->account = t->account;
	q->token = t->id;
	q->person = t->person;
}

static void take_agent(const struct agent *a, struct request *q)
{
	q->refused = 0;
	q->account = a->account;
	q->agent = a->id;
	q->generation = a->generation;
	q->scopes = SCOPE_AGENT;
}

/* "nps_agt_…_SECRET". An agent's ended sessions are not unknown: they hear that a newer one took over. */
static void take_session(const struct engine *e, const char *text, const uint8_t hash[TOKEN_HASH], struct request *q)
{
	const char *id = text + strlen(AUTH_SESSION), *prefix = strchr(id, '_'),
		   *end = prefix ? strchr(prefix + 1, '_') : NULL;
	const struct agent *a = NULL;
	char room[IDENT_TEXT];
	uint64_t number;

	take_nobody(q);
	if (!end || (size_t)(end - id) >= sizeof room)
		return;
	memcpy(room, id, (size_t)(end - id));
	room[end - id] = '\0';
	if (ident_parse(IDENT_AGENT, room, &number))
		a = engine_agent(e, number);
	if (!a || a->retired || !a->generation)
		return;
	if (CRYPTO_memcmp(a->session, hash, TOKEN_HASH) == 0)
		take_agent(a, q);
	else
		q->refused = REASON_FENCED;
}

static bool auth_hash(const char *text, uint8_t hash[TOKEN_HASH])
{
	unsigned len = 0;

	return strlen(text) <= AUTH_TEXT_MAX && EVP_Digest(text, strlen(text), hash, &len, EVP_sha256(), NULL) == 1 &&
		len == TOKEN_HASH;
}

void auth_header(const struct engine *e, const char *header, int64_t now, struct request *q)
{
	uint8_t hash[TOKEN_HASH];
	const char *text;
	bool session;

	q->refused = REASON_UNAUTHENTICATED;
	if (!header || strncasecmp(header, "bearer ", 7) != 0)
		return;
	for (text = header + 7; *text == ' '; text++)
		;
	session = str_starts(text, AUTH_SESSION);
	if ((!session && !str_starts(text, AUTH_PREFIX)) || !auth_hash(text, hash))
		return;
	if (session)
		take_session(e, text, hash, q);
	else
		auth_take(e, engine_token_hashed(e, hash), now, q);
}

void auth_cookie(const struct engine *e, const char *text, int64_t now, struct request *q)
{
	uint8_t hash[TOKEN_HASH];

	q->cookie = true;
	q->refused = REASON_UNAUTHENTICATED;
	if (str_starts(text, AUTH_PREFIX) && auth_hash(text, hash))
		auth_take(e, engine_token_hashed(e, hash), now, q);
}

static void agent_again(const struct engine *e, struct request *q)
{
	const struct agent *a = engine_agent(e, q->agent);
	uint64_t generation = q->generation;

	take_nobody(q);
	if (!a || a->retired)
		return;
	if (a->generation != generation)
		q->refused = REASON_FENCED;
	else
		take_agent(a, q);
}

void auth_again(const struct engine *e, int64_t now, struct request *q)
{
	if (q->agent)
		agent_again(e, q);
	else if (!q->local)
		auth_take(e, engine_token(e, q->token), now, q);
}

bool auth_moved(const struct engine *e, const struct request *q)
{
	const struct agent *a = engine_agent(e, q->agent);

	return !a || a->retired || a->generation != q->generation || engine_agent_version(e, q->agent) != q->waited;
}
