/* SPDX-License-Identifier: Apache-2.0 */
#include "market/proof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

enum { TEXT_MAX = 512 };

void proof_init(struct proof *p)
{
	*p = (struct proof){ 0 };
	table_init(&p->balances);
}

void proof_release(struct proof *p)
{
	size_t at = 0;
	void *value;

	while (table_next(&p->balances, &at, NULL, &value))
		free(value);
	table_release(&p->balances);
}

/* Computes the chain after this posting. */
static int chain_after(const uint8_t before[MODEL_CHAIN], const struct model_posting *r, uint8_t after[MODEL_CHAIN])
{
	unsigned char text[MODEL_CHAIN + TEXT_MAX];
	int len = snprintf((char *)text + MODEL_CHAIN, TEXT_MAX,
		"%" PRIu64 " %" PRIu64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s %" PRIu64 " %" PRId64 " %" PRId64
		" %" PRIu64 "\n",
		r->seq, r->n, r->at, r->transfer, r->owner, r->book, r->asset, r->amount, r->balance, r->subject);
	unsigned got = 0;

	if (len < 0 || len >= TEXT_MAX)
		return -EBADMSG;
	memcpy(text, before, MODEL_CHAIN);
	return EVP_Digest(text, MODEL_CHAIN + (size_t)len, after, &got, EVP_sha256(), NULL) == 1 && got == MODEL_CHAIN
		? 0
		: -ENOMEM;
}

/* The balance of this book before the posting; 0 before its first. */
static int64_t *proof_balance_of(struct proof *p, const struct model_posting *r)
{
	char key[TEXT_MAX];
	int64_t *at;

	snprintf(key, sizeof key, "%" PRIu64 " %.100s %" PRIu64, r->owner, r->book, r->asset);
	at = table_get(&p->balances, key);
	if (at)
		return at;
	at = calloc(1, sizeof *at);
	if (at && table_set(&p->balances, key, at) != 0) {
		free(at);
		at = NULL;
	}
	return at;
}

int proof_add(struct proof *p, const struct model_posting *r, struct fail *f)
{
	uint8_t chain[MODEL_CHAIN];
	int64_t sum, *balance;
	int rc;

	if (p->count && (r->seq < p->seq || (r->seq == p->seq && r->n <= p->n)))
		return fail_set(f, -EBADMSG,
			"row %" PRIu64 "-%" PRIu64 " comes after %" PRIu64 "-%" PRIu64 ": the rows are out of order",
			r->seq, r->n, p->seq, p->n);
	rc = chain_after(p->chain, r, chain);
	if (rc == -ENOMEM)
		return fail_set(f, rc, "out of memory");
	if (rc || memcmp(chain, r->chain, MODEL_CHAIN) != 0)
		return fail_set(f, -EBADMSG,
			"row %" PRIu64 "-%" PRIu64 " does not match the chain: it was changed or removed, or a row "
			"before it",
			r->seq, r->n);
	balance = proof_balance_of(p, r);
	if (!balance)
		return fail_set(f, -ENOMEM, "out of memory");
	if (__builtin_add_overflow(*balance, r->amount, &sum) || sum != r->balance)
		return fail_set(f, -EBADMSG,
			"row %" PRIu64 "-%" PRIu64 " says that '%.40s' is %" PRId64 " after %+" PRId64
			", but it was %" PRId64 " before",
			r->seq, r->n, r->book, r->balance, r->amount, *balance);
	*balance = sum;
	memcpy(p->chain, chain, MODEL_CHAIN);
	p->seq = r->seq;
	p->n = r->n;
	p->count++;
	return 0;
}

const char *proof_head(const struct proof *p, char room[PROOF_TEXT])
{
	size_t at = (size_t)snprintf(room, PROOF_TEXT, "%" PRIu64 "-%" PRIu64 " ", p->seq, p->n);

	for (size_t i = 0; i < MODEL_CHAIN; i++)
		at += (size_t)snprintf(room + at, PROOF_TEXT - at, "%02x", p->chain[i]);
	return room;
}

int proof_parse_head(const char *text, uint64_t *seq, uint64_t *n, uint8_t chain[MODEL_CHAIN])
{
	uint8_t bytes[MODEL_CHAIN];
	uint64_t a, b;
	int used = 0;

	if (sscanf(text, "%20" SCNu64 "-%20" SCNu64 " %n", &a, &b, &used) != 2 || !used)
		return -EINVAL;
	text += used;
	for (size_t i = 0; i < MODEL_CHAIN; i++) {
		unsigned byte;

		if (strspn(text, "0123456789abcdef") < 2 || sscanf(text, "%2x", &byte) != 1)
			return -EINVAL;
		bytes[i] = (uint8_t)byte;
		text += 2;
	}
	if (*text && *text != '\n')
		return -EINVAL;
	*seq = a;
	*n = b;
	memcpy(chain, bytes, MODEL_CHAIN);
	return 0;
}
