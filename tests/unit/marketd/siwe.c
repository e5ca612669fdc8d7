/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose address signed: the vectors of EIP-55, a signature that the libraries ethers and viem made, and all that
 * somebody else may make of it; the text of EIP-4361; and scores as the service may write them, and as it may not.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/tap.h"
#include "marketd/passport/ethaddress.h"
#include "marketd/passport/score.h"
#include "marketd/passport/siwe.h"

#define WALLET "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"
#define HELLO \
	"0xa5d58782075bdf09490159d634d1aae66a8f6777c7247d2f233e9511cfd7c64c34f288cdbcea5370e4863fdbe9f4d86654c2ba1d86" \
	"589e9ebb64494c649008591b"

static void siwe_addresses(void)
{
	static const char *const good[] = { "0x52908400098527886E0F7030069857D2E4169EE7",
		"0x8617E340B3D01FA5F11F306F4090FD50E238070D", "0xde709f2102306220921060314715629080e2fb77",
		"0x27b1fdb04752bbc536007a920d24acb045561c26", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
		"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb" };
	static const char *const bad[] = { "", "0x", "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae",
		"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaedd", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg",
		"0X5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", " 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed" };
	uint8_t bytes[ETH_ADDRESS];
	char text[ETH_ADDRESS_TEXT];

	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		ok(eth_address_read(good[i], bytes), "%s is an address", good[i]);
		is_str(eth_address_text(bytes, text), good[i], "and is written so");
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(!eth_address_read(bad[i], bytes), "'%s' is none", bad[i]);
	ok(eth_address_read("0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", bytes), "without a checksum, too");
	is_str(eth_address_text(bytes, text), good[4], "which is written with one");
}

static const char *siwe_who(const char *text, const uint8_t signature[ETH_SIGNATURE], struct fail *why)
{
	static char room[ETH_ADDRESS_TEXT];
	uint8_t whose[ETH_ADDRESS];

	return eth_signer(text, strlen(text), signature, whose, why) ? "nobody" : eth_address_text(whose, room);
}

/* The other signature that holds for the same text and key: s is the group's order less s, and v the other one. */
static void siwe_upper(uint8_t signature[ETH_SIGNATURE])
{
	static const uint8_t order[32] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		0xff, 0xff, 0xfe, 0xba, 0xae, 0xdc, 0xe6, 0xaf, 0x48, 0xa0, 0x3b, 0xbf, 0xd2, 0x5e, 0x8c, 0xd0, 0x36,
		0x41, 0x41 };
	int borrow = 0;

	for (int i = 31; i >= 0; i--) {
		int d = order[i] - signature[32 + i] - borrow;

		borrow = d < 0;
		signature[32 + i] = (uint8_t)(d + 256 * borrow);
	}
	signature[64] = signature[64] == 27 ? 28 : 27;
}

static void siwe_signatures(void)
{
	uint8_t s[ETH_SIGNATURE], other[ETH_SIGNATURE];
	struct fail why = { 0 };
	int strangers = 0;

	ok(eth_signature_read(HELLO, s) && eth_signature_read(HELLO + 2, s), "a signature, with 0x and without");
	ok(!eth_signature_read(HELLO "0", other) && !eth_signature_read("0xa5d5", other), "and no other length");
	is_str(siwe_who("hello", s, &why), WALLET, "whose signature it is");
	s[64] = 0;
	is_str(siwe_who("hello", s, &why), WALLET, "v may be 0 for 27");
	s[64] = 28;
	ok(strcmp(siwe_who("hello", s, &why), WALLET) != 0, "another v is another's");
	for (int v = 0; v < 256; v++) {
		s[64] = (uint8_t)v;
		strangers += v != 0 && v != 1 && v != 27 && v != 28 &&
			strcmp(siwe_who("hello", s, &why), "nobody") != 0;
	}
	is_int(strangers, 0, "no v is taken but 0, 1, 27 and 28");
	s[64] = 27;
	ok(strcmp(siwe_who("hello!", s, &why), WALLET) != 0, "another text is not what that wallet signed");
	for (int bit = 0; bit < 512; bit++) {
		memcpy(other, s, sizeof other);
		other[bit / 8] ^= (uint8_t)(1 << bit % 8);
		strangers += strcmp(siwe_who("hello", other, &why), WALLET) == 0;
	}
	is_int(strangers, 0, "nor a signature of which a bit differs");
	memcpy(other, s, sizeof other);
	siwe_upper(other);
	is_str(siwe_who("hello", other, &why), "nobody", "the other signature that holds does not count");
	has_str(why.text, "upper half", "and it says why");
	memset(other, 0, sizeof other);
	is_str(siwe_who("hello", other, &why), "nobody", "zeros are nobody's");
	memset(other, 0xff, 64);
	is_str(siwe_who("hello", other, &why), "nobody", "nor is what is above the order");
}

static const struct siwe siwe_given = { .domain = "market.example.org:8470",
	.address = WALLET,
	.statement = "Prove that account acct_1 has this address. This costs nothing.",
	.uri = "https://market.example.org:8470/",
	.chain = 1,
	.nonce = "0123456789abcdef0123456789abcdef",
	.issued = 1795816800,
	.expires = 1795817400 };

/* As viem writes it, but for milliseconds. */
static const char siwe_want[] =
	"market.example.org:8470 wants you to sign in with your Ethereum account:\n" WALLET "\n"
	"\nProve that account acct_1 has this address. This costs nothing.\n\nURI: https://market.example.org:8470/\n"
	"Version: 1\nChain ID: 1\nNonce: 0123456789abcdef0123456789abcdef\nIssued At: 2026-11-27T22:00:00Z\n"
	"Expiration Time: 2026-11-27T22:10:00Z";

/* The text with one part replaced by another. */
static char *siwe_with(const char *part, const char *other)
{
	const char *at = strstr(siwe_want, part);
	char *made;

	if (!at || asprintf(&made, "%.*s%s%s", (int)(at - siwe_want), siwe_want, other, at + strlen(part)) < 0)
		abort();
	return made;
}

static void siwe_texts(void)
{
	static const char *const other[][3] = { { "market.example.org:8470 wants", "evil.example.org wants",
							"signed for" },
		{ WALLET, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "names the address" },
		{ "acct_1", "acct_2", "something else" },
		{ "URI: https://market", "URI: https://evil", "something else" },
		{ "Chain ID: 1", "Chain ID: 5", "something else" }, { "Nonce: 0", "Nonce: 1", "another nonce" },
		{ "22:10:00Z", "22:20:00Z", "other times" }, { "22:00:00Z", "22:00:01Z", "other times" } };
	static const char *const broken[][2] = { { "Version: 1", "Version: 2" }, { "Chain ID: 1", "Chain ID: 01" },
		{ "Chain ID: 1", "Chain ID: -1" }, { "Chain ID: 1", "Chain ID: 99999999999999999999" },
		{ "Nonce: 0123456789abcdef0123456789abcdef", "Nonce: 0123456" }, { "Nonce: 0", "Nonce: \"" },
		{ "2026-11-27T22:00:00Z", "2026-02-31T22:00:00Z" }, { "2026-11-27T22:00:00Z", "2026-11-27 22:00:00" },
		{ "22:10:00Z", "22:10:00Z\nNot Before: 2026-11-27T22:00:00Z" }, { "22:10:00Z", "22:10:00Z\n\n" },
		{ "\nIssued", "\r\nIssued" }, { "Prove", "Pr\u00f6ve" }, { " wants you", " wants  you" },
		{ "\n\nURI", "\nURI" }, { "Expiration Time: ", "Expiration: " } };
	struct siwe read;
	struct fail why;
	int cut = 0;
	struct buf b;
	char *text;

	buf_init(&b, SIWE_TEXT_MAX);
	ok(siwe_write(&siwe_given, &b) == 0, "a text is made");
	is_str(buf_text(&b), siwe_want, "as the standard has it");
	ok(siwe_read(buf_text(&b), b.len, &read, &why) == 0 && siwe_same(&siwe_given, &read, &why) == 0,
		"it says when it is read what was written");
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		text = siwe_with(other[i][0], other[i][1]);
		ok(siwe_read(text, strlen(text), &read, &why) == 0 && siwe_same(&siwe_given, &read, &why) == -EINVAL,
			"'%s' is noticed", other[i][1]);
		has_str(why.text, other[i][2], "and told");
		free(text);
	}
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		text = siwe_with(broken[i][0], broken[i][1]);
		is_int(siwe_read(text, strlen(text), &read, &why), -EINVAL, "'%s' is none", broken[i][1]);
		free(text);
	}
	for (size_t n = 0; n < b.len; n++)
		cut += siwe_read(siwe_want, n, &read, &why) == 0;
	is_int(cut, 0, "none that is cut short");
	ok(siwe_read("a\0b", 3, &read, &why) == -EINVAL, "no zero bytes");
	buf_clear(&b);
	read = siwe_given;
	read.statement[0] = '\0';
	ok(siwe_write(&read, &b) == 0 && siwe_read(buf_text(&b), b.len, &read, &why) == 0 && !*read.statement,
		"a text may have no statement");
	buf_release(&b);
}

static int siwe_score(const char *score, const char *more, struct score *out)
{
	struct fail why = { 0 };
	char *body;
	int rc;

	if (asprintf(&body, "{\"address\":\"0x2c7536e3605d9c16a7a3d7b1898e529396a65c23\",\"score\":%s%s}", score,
		    more) < 0)
		abort();
	rc = score_read(body, strlen(body), WALLET, out, &why);
	free(body);
	return rc;
}

static void siwe_scores(void)
{
	static const char *const lies[] = { "\"1e999\"", "\"NaN\"", "\"inf\"", "\"-5\"", "\"+5\"", "\"\"", "\" 5\"",
		"\"5 \"", "\"5.\"", "\".5\"", "\"0x20\"", "\"5,0\"", "33.5", "true", "[]", "{}", "\"5\\u0000\"",
		"\"1234567890\"", "\"1.00000000000000000000000000000000000000000000000000\"" };
	static const char another[] = "{\"address\":\"0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\",\"score\":\"99\"}";
	struct score s = { .text = "untouched" };
	struct fail why = { 0 };

	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
		is_int(siwe_score(lies[i], "", &s), -EPROTO, "%s is no score", lies[i]);
	is_str(s.text, "untouched", "and none is kept");
	ok(siwe_score("\"33.53800\"",
		   ",\"passing_score\":true,\"expiration_timestamp\":\"2026-11-27T22:00:00.123456+00:00\",\"error\":"
		   "null,"
		   "\"linked_score\":{},\"stamps\":{}",
		   &s) == 0,
		"a score with members that nobody knows");
	ok(strcmp(s.text, "33.53800") == 0 && s.passing && s.expires == 1795816800, "its text, its threshold, its end");
	ok(siwe_score("null", ",\"expiration_timestamp\":null", &s) == 0 && !*s.text && !s.passing && !s.expires,
		"none");
	ok(siwe_score("\"1\"", ",\"expiration_timestamp\":\"2026-11-28T00:30:00+02:30\"", &s) == 0 &&
			s.expires == 1795816800,
		"an end in another zone");
	is_int(siwe_score("\"1\"", ",\"expiration_timestamp\":\"soon\"", &s), -EPROTO, "an end that is no time");
	is_int(siwe_score("\"1\"", ",\"expiration_timestamp\":5", &s), -EPROTO, "nor a text");
	is_int(siwe_score("\"1\"", ",\"error\":\"x\"", &s), -EPROTO, "an error");
	is_int(siwe_score("\"1\"", ",\"score\":\"99\"", &s), -EPROTO, "two scores");
	is_int(score_read(another, strlen(another), WALLET, &s, &why), -EPROTO, "another's score");
	is_int(score_read("", 0, WALLET, &s, &why), -EPROTO, "nothing");
}

int main(void)
{
	siwe_addresses();
	siwe_signatures();
	siwe_texts();
	siwe_scores();
	return done();
}
