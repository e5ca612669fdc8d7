/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns an address proves that by a signature. The address serves one account; its score comes from Human Passport,
 * as facts that the policy asks for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "market/ident.h"
#include "market/reason.h"
#include "marketd/api/may/decide.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/api/who/personhood.h"
#include "marketd/passport/ethaddress.h"
#include "marketd/passport/passport.h"

/* ---- What is known ----------------------------------------------------------------------- */

/* A text, whatever the operator wrote down under that name; null. */
static json_t *personhood_value(const json_t *facts, const char *name)
{
	json_t *value = json_object_get(facts, name), *made;
	char *text;

	if (!value || json_is_string(value))
		return value ? json_incref(value) : json_null();
	text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
	made = render_text(text);
	free(text);
	return made;
}

static json_t *personhood_passing(const json_t *facts)
{
	const json_t *value = json_object_get(facts, PERSONHOOD_PASSING);

	return json_is_boolean(value) ? json_boolean(json_is_true(value)) : json_null();
}

static const char *personhood_word(const json_t *facts, const struct personhood_state *s)
{
	bool score = json_object_get(facts, PERSONHOOD_SCORE) != NULL;

	if (!json_object_get(facts, PERSONHOOD_ADDRESS))
		return score ? "attested" : "none";
	if (s->asking && !score)
		return "asking";
	return score ? "scored" : *s->failed ? "failed" : "unscored";
}

static json_t *personhood_json(const struct account *a, const json_t *facts, const struct personhood_state *s)
{
	json_t *kept = a->facts ? json_loads(a->facts, 0, NULL) : NULL, *o;
	const json_t *end = json_object_get(json_object_get(kept, PERSONHOOD_SCORE), "end_at");
	bool score = json_object_get(facts, PERSONHOOD_SCORE) != NULL;

	o = json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "object", "personhood", "account",
		render_id(IDENT_ACCOUNT, a->id), "account_name", render_text(a->name), "state",
		personhood_word(facts, s), "address", personhood_value(facts, PERSONHOOD_ADDRESS), "person",
		personhood_value(facts, PERSONHOOD_PERSON), "score", personhood_value(facts, PERSONHOOD_SCORE),
		"passing", personhood_passing(facts), "checked_at", personhood_value(facts, PERSONHOOD_CHECKED),
		"end_at", score && end ? json_integer(json_integer_value(end)) : json_null(), "problem",
		render_text(*s->failed ? s->failed : NULL));
	json_decref(kept);
	return o;
}

static int personhood_answer(struct api *api, const struct request *q, struct reply *r, uint64_t account, int status)
{
	const struct account *a = engine_account(market_engine(api->market), account);
	json_t *facts = decide_facts(a, market_now(api->market));
	struct personhood_state s;
	json_t *o;

	personhood_look(api, account, &s);
	o = facts ? personhood_json(a, facts, &s) : NULL;
	json_decref(facts);
	return api_json(q, r, status, o);
}

static int get_personhood(struct api *api, const struct request *q, struct reply *r)
{
	struct personhood_state s;
	uint64_t account;
	bool wait;

	if (!api_whose(q, r, &account) || !api_query_bool(q, r, "wait", false, &wait))
		return r->status;
	personhood_look(api, account, &s);
	if (wait && s.soon && !q->last_ask) {
		r->wait = r->away = true;
		r->wait_ms = PASSPORT_WAIT_MS;
		return r->status = 200;
	}
	return personhood_answer(api, q, r, account, 200);
}

/* ---- A text to sign ----------------------------------------------------------------------- */

static int post_challenge(struct api *api, const struct request *q, struct reply *r)
{
	const char *given = body_text(q->body, "address");
	uint8_t bytes[ETH_ADDRESS];
	char address[ETH_ADDRESS_TEXT];
	struct siwe text;
	struct buf b;
	uint64_t account;
	json_t *o = NULL;

	if (!api_whose(q, r, &account))
		return r->status;
	if (!eth_address_read(given, bytes))
		return api_refuse(q, r, REASON_INVALID, "address",
			"'%.60s' is no address: 0x and 40 digits, whose upper and lower case is a checksum", given);
	if (!api->public_url)
		return api_refuse(q, r, REASON_NOT_IMPLEMENTED, NULL,
			"this market proves no addresses: its operator starts it with --public-url URL");
	if (personhood_text(api, q, account, eth_address_text(bytes, address), &text))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	buf_init(&b, SIWE_TEXT_MAX);
	if (siwe_write(&text, &b) == 0)
		o = json_pack("{s:s, s:s, s:s, s:I}", "object", "personhood_challenge", "address", text.address,
			"message", buf_text(&b), "expires_at", (json_int_t)text.expires);
	buf_release(&b);
	return api_json(q, r, 201, o);
}

/* ---- The signature ------------------------------------------------------------------------ */

/* A file that has the text may have one more line's end, which the wallet signed or did not. */
static int personhood_signer(const char *message, const uint8_t signature[ETH_SIGNATURE],
	const uint8_t want[ETH_ADDRESS], struct fail *why)
{
	uint8_t whose[ETH_ADDRESS];
	size_t len = strlen(message);
	int rc = eth_signer(message, len, signature, whose, why);

	if (!rc && memcmp(whose, want, ETH_ADDRESS) != 0 && len && message[len - 1] == '\n')
		rc = eth_signer(message, len - 1, signature, whose, why);
	if (!rc && memcmp(whose, want, ETH_ADDRESS) != 0)
		rc = fail_set(why, -EINVAL,
			"another address signed, or another text: sign all of it, as it is, with personal_sign");
	return rc;
}

/* The address of this text, which its owner signed for this account now. NULL: refused. */
static const char *personhood_checked(struct api *api, const struct request *q, struct reply *r, uint64_t account)
{
	const char *message = body_text(q->body, "message"), *text = body_text(q->body, "signature");
	uint8_t signature[ETH_SIGNATURE], want[ETH_ADDRESS];
	const struct siwe *given;
	struct fail why = { 0 };
	struct siwe read;

	if (!eth_signature_read(text, signature)) {
		api_refuse(q, r, REASON_INVALID, "signature", "a signature is 0x and 130 hexadecimal digits");
		return NULL;
	}
	if (siwe_read(message, strlen(message), &read, &why)) {
		api_refuse(q, r, REASON_INVALID, "message", "%s", why.text);
		return NULL;
	}
	given = personhood_given(api, account, q->person, read.nonce);
	if (!given) {
		api_refuse(q, r, REASON_WRONG_STATE, "message",
			"this text was not given to you, was used, or is over; get a new one: "
			"'nanopod personhood message %.60s'",
			read.address);
		return NULL;
	}
	if (siwe_same(given, &read, &why)) {
		api_refuse(q, r, REASON_INVALID, "message", "%s", why.text);
		return NULL;
	}
	if (!eth_address_read(given->address, want) || personhood_signer(message, signature, want, &why)) {
		api_refuse(q, r, REASON_INVALID, "signature", "%s", why.text);
		return NULL;
	}
	return given->address;
}

/* 0: nobody else has it, and the account no other. *has: the account has this one. */
static int personhood_free(struct api *api, const struct request *q, struct reply *r, uint64_t account,
	const char *address, bool *has)
{
	const struct account *a = engine_account(market_engine(api->market), account);
	uint64_t whose = personhood_whose(api, address, account);
	json_t *facts = decide_facts(a, market_now(api->market));
	const char *own = json_string_value(json_object_get(facts, PERSONHOOD_ADDRESS));
	int rc = 0;

	*has = own && strcmp(own, address) == 0; /* one that is written in lower case gets its checksum */
	if (whose)
		rc = api_refuse(q, r, REASON_WRONG_STATE, "message",
			"this address serves another account, or did until lately");
	else if (own && strcasecmp(own, address) != 0)
		rc = api_refuse(q, r, REASON_WRONG_STATE, "message",
			"the account has the address '%.60s'; let it go first: 'nanopod personhood release'", own);
	json_decref(facts);
	return rc;
}

/* Writes down that the account has the address, and has its score asked for. */
static int personhood_take_on(struct api *api, const struct request *q, struct reply *r, uint64_t account,
	const char *address)
{
	json_t *given = json_pack("{s:{s:s}, s:o}", PERSONHOOD_ADDRESS, "value", address, PERSONHOOD_PERSON,
		q->person ? json_pack("{s:o}", "value", render_id(IDENT_PERSON, q->person)) : json_null());
	struct fail why = { 0 };
	int rc;

	if (!given)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	rc = np_facts_change(api, q, engine_account(market_engine(api->market), account), given, &why);
	json_decref(given);
	if (rc)
		return api_failed(q, r, rc, NULL, &why);
	personhood_proven(api, account);
	return 0;
}

static int post_personhood(struct api *api, const struct request *q, struct reply *r)
{
	const char *address;
	uint64_t account;
	bool has;

	if (!api_whose(q, r, &account))
		return r->status;
	address = personhood_checked(api, q, r, account);
	if (!address || personhood_free(api, q, r, account, address, &has))
		return r->status;
	if (!has && personhood_take_on(api, q, r, account, address))
		return r->status;
	personhood_used(api, account);
	return personhood_answer(api, q, r, account, 200);
}

/* ---- Letting it go ------------------------------------------------------------------------ */

/* NULL: out of memory. */
static json_t *personhood_hold(const json_t *facts, const char *address, int64_t until)
{
	const json_t *held = json_object_get(facts, PERSONHOOD_HELD);
	json_t *list = json_is_array(held) ? json_copy((json_t *)held) : json_array();

	for (size_t i = json_array_size(list); i-- > 0;)
		if (strcasecmp(json_string_value(json_array_get(list, i)), address) == 0)
			json_array_remove(list, i);
	if (json_array_append_new(list, json_string(address))) {
		json_decref(list);
		return NULL;
	}
	return json_pack("{s:o, s:I}", "value", list, "end_at", (json_int_t)until);
}

static int delete_personhood(struct api *api, const struct request *q, struct reply *r)
{
	const struct account *a;
	const char *address;
	struct fail why = { 0 };
	json_t *facts, *given;
	uint64_t account;
	int rc = 0;

	if (!api_whose(q, r, &account))
		return r->status;
	a = engine_account(market_engine(api->market), account);
	facts = decide_facts(a, market_now(api->market));
	if (!facts)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	address = json_string_value(json_object_get(facts, PERSONHOOD_ADDRESS));
	if (!address) {
		json_decref(facts);
		return api_refuse(q, r, REASON_NOT_FOUND, NULL, "the account has no address");
	}
	given = json_pack("{s:n, s:n, s:n, s:n, s:n, s:o}", PERSONHOOD_ADDRESS, PERSONHOOD_PERSON, PERSONHOOD_SCORE,
		PERSONHOOD_PASSING, PERSONHOOD_CHECKED, PERSONHOOD_HELD,
		personhood_hold(facts, address, market_now(api->market) + PERSONHOOD_HOLD));
	if (json_array_size(json_object_get(facts, PERSONHOOD_HELD)) >= PERSONHOOD_HELD_MOST)
		rc = fail_set(&why, REASON_LIMIT, "the account let go of %d addresses lately; ask the operator",
			PERSONHOOD_HELD_MOST);
	else if (!given)
		rc = fail_set(&why, REASON_UNAVAILABLE, "the market is out of memory; nothing was done");
	rc = rc ? rc : np_facts_change(api, q, a, given, &why);
	json_decref(given);
	json_decref(facts);
	return rc ? api_failed(q, r, rc, NULL, &why) : api_nothing(r);
}

/* ---- Shapes ------------------------------------------------------------------------------- */

static const struct schema_field challenge_request[] = {
	{ "address", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 64, "0x and 40 hexadecimal digits" },
	{ 0 },
};

static const struct schema_field challenge_fields[] = {
	OBJECT_IS("personhood_challenge"),
	{ "address", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "with its checksum" },
	{ "message", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, "what the wallet signs, by personal_sign" },
	TIME("expires_at", FIELD_REQUIRED),
	{ 0 },
};

static const struct schema_field personhood_request[] = {
	{ "message", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, SIWE_TEXT_MAX + 1, "the text that was signed" },
	{ "signature", SCHEMA_STRING, FIELD_REQUIRED, NULL, 1, 160, "0x and 130 hexadecimal digits: r, s and v" },
	{ 0 },
};

static const struct schema_field personhood_fields[] = {
	OBJECT_IS("personhood"),
	{ "account", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "account_name", SCHEMA_STRING, FIELD_REQUIRED, NULL, 0, 0, NULL },
	{ "state", SCHEMA_ENUM, FIELD_REQUIRED, "none|attested|asking|scored|failed|unscored", 0, 0, NULL },
	{ "address", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "which the account has proven" },
	{ "person", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"who proved it; null: a token of the account" },
	{ "score", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"a decimal, or what the operator wrote down" },
	{ "passing", SCHEMA_BOOLEAN, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0,
		"what Human Passport makes of the score" },
	{ "checked_at", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "when Human Passport answered" },
	TIME("end_at", FIELD_REQUIRED | FIELD_NULL),
	{ "problem", SCHEMA_STRING, FIELD_REQUIRED | FIELD_NULL, NULL, 0, 0, "why the last try to ask failed" },
	{ 0 },
};

const struct schema schema_np_personhood[] = {
	OBJECT("np.PersonhoodChallengeRequest", challenge_request),
	OBJECT("np.PersonhoodChallenge", challenge_fields),
	OBJECT("np.PersonhoodRequest", personhood_request),
	OBJECT("np.Personhood", personhood_fields),
	{ 0 },
};

const struct route api_np_personhood_routes[] = {
	{ METHOD_GET, "/np/v1/personhood", get_personhood, SCOPE_READ, 0,
		"Get the account's proven address and its score", "wait:boolean", NULL, "np.Personhood", 200 },
	{ METHOD_POST, "/np/v1/personhood", post_personhood, SCOPE_TOKENS, ROUTE_CREATES,
		"Prove an address by the signature of its text", NULL, "np.PersonhoodRequest", "np.Personhood", 200 },
	{ METHOD_DELETE, "/np/v1/personhood", delete_personhood, SCOPE_TOKENS, 0,
		"Let the account's address go; it serves no other account for 30 days", NULL, NULL, NULL, 204 },
	{ METHOD_POST, "/np/v1/personhood/challenge", post_challenge, SCOPE_TOKENS, 0,
		"Get a text that the owner of an address signs", NULL, "np.PersonhoodChallengeRequest",
		"np.PersonhoodChallenge", 201 },
	{ 0 },
};
