/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/oidc/jwt.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "marketd/oidc/jwk.h"

struct jwt_parts {
	const char *at[3];
	size_t len[3];
};

static bool jwt_split(const char *token, struct jwt_parts *p)
{
	size_t whole = strnlen(token, JWT_BYTES + 1);
	const char *at = token;

	if (whole > JWT_BYTES)
		return false;
	for (int i = 0; i < 3; i++) {
		size_t len = strcspn(at, ".");

		p->at[i] = at;
		p->len[i] = len;
		at += len;
		if (len == 0 || (i < 2 ? *at++ != '.' : *at != '\0'))
			return false;
	}
	return true;
}

static json_t *jwt_object(const char *text, size_t len)
{
	size_t n = 0;
	unsigned char *bytes = jwk_base64url(text, len, &n);
	json_t *o = bytes ? json_loadb((const char *)bytes, n, JSON_REJECT_DUPLICATES, NULL) : NULL;

	free(bytes);
	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

static const char *jwt_text(const json_t *o, const char *name)
{
	return json_string_value(json_object_get(o, name));
}

static int jwt_refuse(struct fail *why, const char *text)
{
	return fail_set(why, -EBADMSG, "the issuer's token is not valid: %s", text);
}

/* ---- Its signature ---------------------------------------------------------------------- */

static int jwt_check_head(const json_t *head, enum jwk_alg *alg, struct fail *why)
{
	const json_t *typ = json_object_get(head, "typ"), *kid = json_object_get(head, "kid");

	*alg = jwk_alg_read(jwt_text(head, "alg"));
	if (*alg == JWK_NONE)
		return jwt_refuse(why, "it is not signed with RS256, ES256 or EdDSA");
	if (json_object_get(head, "crit"))
		return jwt_refuse(why, "it asks for an extension");
	if (typ && (!json_is_string(typ) || strcasecmp(json_string_value(typ), "JWT") != 0))
		return jwt_refuse(why, "it is of another type");
	if (kid && !json_is_string(kid))
		return jwt_refuse(why, "the name of its key is no text");
	return 0;
}

static int jwt_check_signature(const struct jwt_parts *p, const json_t *head, const json_t *keys, struct fail *why)
{
	unsigned char *signature;
	enum jwk_alg alg;
	const json_t *key;
	size_t len = 0;
	bool good;
	int rc = jwt_check_head(head, &alg, why);

	if (rc)
		return rc;
	key = jwk_find(keys, jwt_text(head, "kid"), alg);
	if (!key)
		return fail_set(why, -ENOKEY, "the issuer's token is not valid: none of the issuer's keys signed it");
	signature = jwk_base64url(p->at[2], p->len[2], &len);
	good = signature && jwk_verify(key, alg, p->at[0], (size_t)(p->at[1] + p->len[1] - p->at[0]), signature, len);
	free(signature);
	return good ? 0 : jwt_refuse(why, "its signature is wrong");
}

/* ---- What it says ----------------------------------------------------------------------- */

/* For this market, and no other program of the issuer's: aud names it, and azp where there is one. */
static int jwt_check_audience(const json_t *c, const char *audience, struct fail *why)
{
	const json_t *aud = json_object_get(c, "aud"), *azp = json_object_get(c, "azp"), *one;
	bool named = json_is_string(aud) && strcmp(json_string_value(aud), audience) == 0;
	size_t i;

	json_array_foreach(aud, i, one)
	{
		if (!json_is_string(one))
			return jwt_refuse(why, "its audience is no text");
		named = named || strcmp(json_string_value(one), audience) == 0;
	}
	if (!named)
		return jwt_refuse(why, "it is for another audience");
	if ((azp || json_array_size(aud) > 1) &&
		(!json_is_string(azp) || strcmp(json_string_value(azp), audience) != 0))
		return jwt_refuse(why, "another party was authorized by it");
	return 0;
}

/* Whole seconds, or a number with a fraction that is cut off. */
static bool jwt_seconds(const json_t *c, const char *name, int64_t *out)
{
	const json_t *v = json_object_get(c, name);

	if (json_is_integer(v))
		*out = json_integer_value(v);
	else if (json_is_real(v) && json_real_value(v) >= 0 && json_real_value(v) < 1e15)
		*out = (int64_t)json_real_value(v);
	else
		return false;
	return *out >= 0 && *out < INT64_C(1000000000000000);
}

static int jwt_check_time(const json_t *c, const struct jwt_expected *x, struct fail *why)
{
	int64_t exp, iat, nbf = 0;

	if (!jwt_seconds(c, "exp", &exp) || !jwt_seconds(c, "iat", &iat) ||
		(json_object_get(c, "nbf") && !jwt_seconds(c, "nbf", &nbf)))
		return jwt_refuse(why, "it does not say when it counts");
	if (exp <= x->now - JWT_SKEW)
		return jwt_refuse(why, "it has expired");
	if (nbf > x->now + JWT_SKEW || iat > x->now + JWT_SKEW)
		return jwt_refuse(why, "it is from the future; compare both clocks");
	if (x->age && iat < x->now - x->age - JWT_SKEW)
		return jwt_refuse(why, "it is from an earlier sign-in");
	return 0;
}

static int jwt_check_subject(const json_t *c, struct fail *why)
{
	const char *sub = jwt_text(c, "sub");
	size_t len = sub ? strlen(sub) : 0;

	if (!len || len > JWT_SUBJECT)
		return jwt_refuse(why, "its subject does not have 1 to 128 bytes");
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)sub[i] <= ' ' || sub[i] == 127)
			return jwt_refuse(why, "its subject has a blank or a control character");
	return 0;
}

static int jwt_check_claims(const json_t *c, const struct jwt_expected *x, struct fail *why)
{
	const char *iss = jwt_text(c, "iss"), *nonce = jwt_text(c, "nonce");
	int rc;

	if (!iss || strcmp(iss, x->issuer) != 0)
		return jwt_refuse(why, "another issuer made it");
	if (x->nonce && (!nonce || strcmp(nonce, x->nonce) != 0))
		return jwt_refuse(why, "it is from another sign-in");
	rc = jwt_check_audience(c, x->audience, why);
	rc = rc ? rc : jwt_check_time(c, x, why);
	return rc ? rc : jwt_check_subject(c, why);
}

int jwt_check(const char *token, const json_t *keys, const struct jwt_expected *x, json_t **claims, struct fail *why)
{
	struct jwt_parts p;
	json_t *head, *c = NULL;
	int rc;

	if (!jwt_split(token, &p))
		return jwt_refuse(why, "it does not have three parts, or is too long");
	head = jwt_object(p.at[0], p.len[0]);
	rc = head ? jwt_check_signature(&p, head, keys, why) : jwt_refuse(why, "its head is no JSON object");
	json_decref(head);
	if (rc)
		return rc;
	c = jwt_object(p.at[1], p.len[1]);
	rc = c ? jwt_check_claims(c, x, why) : jwt_refuse(why, "its claims are no JSON object");
	if (rc)
		json_decref(c);
	else
		*claims = c;
	return rc;
}
