/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/idempotency.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "market/reason.h"

struct kept_answer {
	uint8_t digest[DIGEST];
	int status;
	struct buf body;
};

enum { NAME_MAX_TEXT = KEY_MAX + 32 };

/* Each account has its own keys. */
static const char *idempotency_name_of(const struct request *q, char room[NAME_MAX_TEXT])
{
	snprintf(room, NAME_MAX_TEXT, "%" PRIu64 " %s", q->account, q->idempotency_key);
	return room;
}

bool idempotency_valid(const char *key)
{
	size_t len = strlen(key);

	for (size_t i = 0; i < len; i++)
		if (key[i] < ' ' || key[i] > '~')
			return false;
	return len > 0 && len <= KEY_MAX;
}

/* Digests what the body means, not its bytes: a retry may write the fields in another order. */
int idempotency_digest(const struct request *q, uint8_t digest[DIGEST])
{
	char *body = q->body ? json_dumps(q->body, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	char head[24];
	int rc = -ENOMEM;

	snprintf(head, sizeof head, "%d ", (int)q->method);
	if (md && (body || !q->body) && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
		EVP_DigestUpdate(md, head, strlen(head)) == 1 &&
		EVP_DigestUpdate(md, q->path, strlen(q->path) + 1) == 1 &&
		EVP_DigestUpdate(md, body ? body : "", body ? strlen(body) : 0) == 1 &&
		EVP_DigestFinal_ex(md, digest, NULL) == 1)
		rc = 0;
	EVP_MD_CTX_free(md);
	free(body);
	return rc;
}

static int idempotency_again(const struct request *q, struct reply *r, bool same, int status, const void *body,
	size_t len)
{
	if (!same) {
		api_refuse(q, r, REASON_KEY_REUSED, NULL, "the idempotency key '%s' was used for another request",
			q->idempotency_key);
		return 1;
	}
	buf_clear(&r->body);
	if (buf_add(&r->body, body, len) != 0)
		return -ENOMEM;
	r->status = status;
	r->replayed = true;
	return 1;
}

int idempotency_find(struct api *api, const struct request *q, const uint8_t digest[DIGEST], struct reply *r,
	struct fail *f)
{
	struct store *store = market_store(api->market);
	char name[NAME_MAX_TEXT];
	const struct kept_answer *k = table_get(&api->routes->pending, idempotency_name_of(q, name));
	struct answer a = { 0 };
	struct buf body;
	int rc;

	if (k) {
		r->changed = true; /* what it says is not on disk yet */
		return idempotency_again(q, r, memcmp(k->digest, digest, DIGEST) == 0, k->status, buf_text(&k->body),
			k->body.len);
	}
	buf_init(&body, 16u << 20);
	rc = store->calls->find_answer(store, q->account, q->idempotency_key, &a, &body, f);
	if (rc == 1)
		rc = idempotency_again(q, r, memcmp(a.digest, digest, DIGEST) == 0, a.status, buf_text(&body),
			body.len);
	buf_release(&body);
	return rc;
}

int idempotency_keep(struct api *api, const struct request *q, const uint8_t digest[DIGEST], const struct reply *r,
	struct fail *f)
{
	struct answer a = {
		.account = q->account, .key = q->idempotency_key, .at = market_now(api->market), .status = r->status,
		.body = buf_text(&r->body), .body_len = r->body.len,
	};
	struct kept_answer *k = calloc(1, sizeof *k);
	char name[NAME_MAX_TEXT];
	int rc = -ENOMEM;

	if (!k)
		return fail_set(f, -ENOMEM, "out of memory");
	memcpy(a.digest, digest, DIGEST);
	memcpy(k->digest, digest, DIGEST);
	k->status = r->status;
	buf_init(&k->body, r->body.len + 1);
	if (buf_add(&k->body, a.body, a.body_len) == 0)
		rc = market_keep_answer(api->market, &a, f);
	if (rc == 0)
		rc = table_set(&api->routes->pending, idempotency_name_of(q, name), k);
	if (rc != 0) {
		buf_release(&k->body);
		free(k);
	}
	return rc;
}

void idempotency_forget(struct routes *rs)
{
	const char *key;
	void *value;

	if (!rs->pending.count)
		return;
	for (size_t at = 0; table_next(&rs->pending, &at, &key, &value);) {
		struct kept_answer *k = value;

		buf_release(&k->body);
		free(k);
	}
	table_release(&rs->pending);
	table_init(&rs->pending);
}
