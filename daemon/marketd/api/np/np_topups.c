/* SPDX-License-Identifier: Apache-2.0 */
/* Who has no money left makes a page of the payment service and pays there; its webhook tells what came of that. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/ident.h"
#include "market/money.h"
#include "market/reason.h"
#include "marketd/api/np/market_id.h"
#include "marketd/api/np/np_schemas.h"
#include "marketd/api/render.h"
#include "marketd/stripe/checkout.h"

enum { CENT_MICROS = 10000, TOPUP_TEXT = 600 };

/* The same request again, also after a crash, gets the same page. */
static bool topup_key(const struct request *q, uint64_t account, const char *back, char key[CHECKOUT_KEY + 1])
{
	const char *again = q->idempotency_key ? q->idempotency_key : q->id;
	const char *amount = body_text(q->body, "amount_dollars");
	unsigned char sum[EVP_MAX_MD_SIZE];
	char id[IDENT_TEXT], *text;
	unsigned len = 0;
	bool made;

	if (asprintf(&text, "topup %s %s %s %s", ident_text(IDENT_ACCOUNT, account, id), again, amount,
		    back ? back : "") < 0)
		return false;
	made = EVP_Digest(text, strlen(text), sum, &len, EVP_sha256(), NULL) == 1 && 2 * len == CHECKOUT_KEY;
	free(text);
	for (unsigned i = 0; made && i < len; i++)
		snprintf(key + 2 * i, 3, "%02x", sum[i]);
	return made;
}

static bool topup_cents(const struct request *q, struct reply *r, int64_t *cents)
{
	int64_t micros = 0;

	if (!body_money(q, r, q->body, "amount_dollars", &micros))
		return false;
	*cents = micros / CENT_MICROS;
	if (micros % CENT_MICROS == 0 && *cents >= CHECKOUT_CENTS_MIN && *cents <= CHECKOUT_CENTS_MAX)
		return true;
	api_refuse(q, r, REASON_INVALID, "amount_dollars",
		"'amount_dollars' is whole cents, from \"0.50\" to \"999999.99\"");
	return false;
}

static bool topup_address(const char *text)
{
	return (str_starts(text, "https://") || str_starts(text, "http://")) && !text[strcspn(text, " \"<>\\\r\n\t")];
}

bool np_stripe_answered(const struct request *q, struct reply *r, int rc, const struct fail *why)
{
	if (rc == -EAGAIN && !q->last_ask) {
		r->wait = r->away = true;
		r->wait_ms = CHECKOUT_WAIT_MS;
		r->status = 200;
		return true;
	}
	if (rc != -EINVAL && rc != -EBUSY)
		return false;
	api_refuse(q, r, rc == -EBUSY ? REASON_RATE : REASON_INVALID, NULL, "%s", why->text);
	return true;
}

/* The market may be behind a proxy: then only the page knows where people find it. */
bool np_return_url(const struct api *api, const struct request *q, struct reply *r, const char **back)
{
	const char *given = body_text(q->body, "return_url");

	*back = given ? given : q->origin && topup_address(q->origin) ? q->origin : api->listens;
	if (!given || topup_address(given))
		return true;
	api_refuse(q, r, REASON_INVALID, "return_url", "'return_url' is an address with https:// or http://");
	return false;
}

int np_topup(struct api *api, const struct request *q, struct reply *r)
{
	const struct engine *e = market_engine(api->market);
	struct checkout_wish w = { .key = "" };
	char id[IDENT_TEXT], market[MARKET_TEXT], what[TOPUP_TEXT];
	struct checkout_page page;
	struct fail why = { 0 };
	uint64_t account;
	json_t *o;
	int rc;

	if (!api_whose(q, r, &account) || !topup_cents(q, r, &w.cents) || !np_return_url(api, q, r, &w.back))
		return r->status;
	if (!stripe_sells(api->stripe))
		return api_refuse(q, r, REASON_NOT_IMPLEMENTED, NULL,
			"this market takes no payments; ask its operator for a credit");
	if (!topup_key(q, account, w.back, w.key))
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory; nothing was done");
	w.market = market_id(e, market);
	if (!*w.market)
		return api_refuse(q, r, REASON_WRONG_STATE, NULL,
			"no token was made yet; make one with 'nanopod admin token ACCOUNT'");
	w.account = ident_text(IDENT_ACCOUNT, account, id);
	snprintf(what, sizeof what, "Balance of account %.250s at %.100s", engine_account(e, account)->name,
		api->name ? api->name : "nanopod");
	w.what = what;
	rc = stripe_checkout(api->stripe, &w, &page, &why);
	if (np_stripe_answered(q, r, rc, &why))
		return r->status;
	if (rc)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL,
			"the payment service does not answer, so nothing was paid; try again later");
	o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "object", "topup", "id", page.id, "state", "open", "url",
		page.url, "account", render_id(IDENT_ACCOUNT, account), "expires_at",
		page.expires ? json_integer(page.expires) : json_null());
	render_money(o, "amount", w.cents * CENT_MICROS);
	return api_json(q, r, 201, o);
}
