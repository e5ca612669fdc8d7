/* SPDX-License-Identifier: Apache-2.0 */
/* The hash chain: its canonical text against SHA-256 of text that is spelled out here, and that every field counts. */
#include "marketd/store/chain.h"

#include <openssl/evp.h>

#include "../../lib/tap.h"

static bool is_sha256(const uint8_t *chain, const uint8_t before[CHAIN_BYTES], const char *text)
{
	uint8_t bytes[512], digest[CHAIN_BYTES];

	memcpy(bytes, before, CHAIN_BYTES);
	memcpy(bytes + CHAIN_BYTES, text, strlen(text));
	EVP_Digest(bytes, CHAIN_BYTES + strlen(text), digest, NULL, EVP_sha256(), NULL);
	return memcmp(chain, digest, CHAIN_BYTES) == 0;
}

static const struct posting_row plain = {
	.seq = 12, .n = 3, .at = 1795162624,
	.posting = { .transfer = 99, .owner = 4, .account = 4, .asset = 0, .book = BOOK_AVAILABLE, .amount = -12500000,
		.balance = 87500000, .subject = 17 },
};

static void test_text(void)
{
	static const uint8_t zeros[CHAIN_BYTES];
	uint8_t chain[CHAIN_BYTES] = { 0 }, before[CHAIN_BYTES];
	struct posting_row extreme = { .seq = UINT64_MAX,
		.at = INT64_MIN,
		.posting = { .owner = UINT64_MAX,
			.asset = UINT64_MAX,
			.book = BOOK_USED,
			.amount = INT64_MIN,
			.balance = INT64_MAX } };

	chain_next(chain, &plain);
	ok(is_sha256(chain, zeros, "12 3 1795162624 99 4 available 0 -12500000 87500000 17\n"), "the first one's");
	memcpy(before, chain, sizeof before);
	chain_next(chain, &extreme);
	ok(is_sha256(chain, before,
		   "18446744073709551615 0 -9223372036854775808 0 18446744073709551615 used 18446744073709551615 "
		   "-9223372036854775808 9223372036854775807 0\n"),
		"the second one's, of the largest numbers");
}

static void test_every_field(void)
{
	uint8_t reference[CHAIN_BYTES] = { 0 };

	chain_next(reference, &plain);
#define BENT(member, counts) \
	do { \
		struct posting_row row = plain; \
		uint8_t chain[CHAIN_BYTES] = { 0 }; \
		row.member += 1; \
		chain_next(chain, &row); \
		ok((memcmp(chain, reference, sizeof chain) != 0) == (counts), #member "%s", \
			(counts) ? " counts" : " does not"); \
	} while (0)
	BENT(seq, true);
	BENT(n, true);
	BENT(at, true);
	BENT(posting.transfer, true);
	BENT(posting.owner, true);
	BENT(posting.asset, true);
	BENT(posting.book, true);
	BENT(posting.amount, true);
	BENT(posting.balance, true);
	BENT(posting.subject, true);
	BENT(chain[0], false);
#undef BENT
}

int main(void)
{
	uint8_t digest[CHAIN_BYTES];

	plan_none;
	test_text();
	test_every_field();
	chain_digest("abc", 3, digest);
	ok(digest[0] == 0xba && digest[1] == 0x78 && digest[31] == 0xad, "SHA-256 of 'abc' is what everybody knows");
	return done();
}
