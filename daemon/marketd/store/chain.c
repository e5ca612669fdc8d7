/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/store/chain.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

enum { TEXT_MAX = 256 }; /* nine numbers of at most twenty characters, a book's name, blanks */

/* Written by hand: printf would be most of the cost of a posting. */
static char *add_u64(char *to, uint64_t v, char after)
{
	char digits[20];
	int n = 0;

	do {
		digits[n++] = (char)('0' + v % 10);
	} while (v /= 10);
	while (n)
		*to++ = digits[--n];
	*to++ = after;
	return to;
}

static char *add_s64(char *to, int64_t v, char after)
{
	if (v < 0)
		*to++ = '-';
	return add_u64(to, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, after);
}

static size_t chain_canonical(char room[TEXT_MAX], const struct posting_row *row)
{
	const struct posting *p = &row->posting;
	const char *book = book_name(p->book);
	size_t len = strlen(book);
	char *to = room;

	to = add_u64(to, row->seq, ' ');
	to = add_u64(to, row->n, ' ');
	to = add_s64(to, row->at, ' ');
	to = add_u64(to, p->transfer, ' ');
	to = add_u64(to, p->owner, ' ');
	memcpy(to, book, len);
	to += len;
	*to++ = ' ';
	to = add_u64(to, p->asset, ' ');
	to = add_s64(to, p->amount, ' ');
	to = add_s64(to, p->balance, ' ');
	to = add_u64(to, p->subject, '\n');
	return (size_t)(to - room);
}

/* SHA-256 of two pieces. Keeps its context, as making one costs more than hashing; a market has one thread. */
static void digest_of(const void *a, size_t a_len, const void *b, size_t b_len, uint8_t digest[CHAIN_BYTES])
{
	static EVP_MD_CTX *ctx;
	bool good;

	if (!ctx) {
		ctx = EVP_MD_CTX_new();
		good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1;
	} else {
		good = EVP_DigestInit_ex(ctx, NULL, NULL) == 1;
	}
	good = good && EVP_DigestUpdate(ctx, a, a_len) == 1 && EVP_DigestUpdate(ctx, b, b_len) == 1 &&
		EVP_DigestFinal_ex(ctx, digest, NULL) == 1;
	if (!good)
		abort(); /* no memory, or no SHA-256: no ledger without its chain */
}

void chain_digest(const void *data, size_t len, uint8_t digest[CHAIN_BYTES])
{
	digest_of(data, len, "", 0, digest);
}

void chain_next(uint8_t chain[CHAIN_BYTES], const struct posting_row *row)
{
	char text[TEXT_MAX];
	size_t len = chain_canonical(text, row);

	digest_of(chain, CHAIN_BYTES, text, len, chain);
}
