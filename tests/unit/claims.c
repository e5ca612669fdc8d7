/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine measured is written, signed, read and checked; who changes a byte, a key or a nonce is found. */
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/tap.h"
#include "market/challenge.h"
#include "market/claims.h"

static EVP_PKEY *key;
static char public[CLAIMS_KEY];

static void make_key(void)
{
	unsigned char bytes[32];
	size_t size = sizeof bytes;
	struct buf text;

	key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	EVP_PKEY_get_raw_public_key(key, bytes, &size);
	buf_init(&text, 64);
	buf_add_base64(&text, bytes, size);
	snprintf(public, sizeof public, "%s", buf_text(&text));
	buf_release(&text);
}

static void sign(const struct buf *text, char room[CLAIMS_SIGNATURE])
{
	unsigned char bytes[64];
	size_t size = sizeof bytes;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	struct buf out;

	EVP_DigestSignInit(ctx, NULL, NULL, NULL, key);
	EVP_DigestSign(ctx, bytes, &size, (const unsigned char *)text->data, text->len);
	EVP_MD_CTX_free(ctx);
	buf_init(&out, 128);
	buf_add_base64(&out, bytes, size);
	snprintf(room, CLAIMS_SIGNATURE, "%s", buf_text(&out));
	buf_release(&out);
}

static void make(struct buf *out)
{
	struct claims c = { .agent = "agent_1", .nonce = "00112233445566778899", .at = 1700000000 };
	struct claim disk = { .check = "disk write",
		.measured = true,
		.value = 1617,
		.least = 1095,
		.most = 1678,
		.runs = 3,
		.unit = "MB/s",
		.at = 1700000001,
		.method = "one file",
		.text = "caf\303\251" },
		     gpu = { .check = "gpu", .is = CLAIM_FAILED, .text = "none", .mend = "lspci" };
	struct buf text;

	snprintf(c.key, sizeof c.key, "%s", public);
	claims_add(&c, &disk);
	claims_add(&c, &gpu);
	buf_init(&text, CLAIMS_BYTES);
	claims_to_sign(&c, &text);
	sign(&text, c.signature);
	buf_release(&text);
	claims_write(&c, out);
	claims_release(&c);
}

static void test_round(const struct buf *doc)
{
	struct fail f = { 0 };
	struct buf again, line;
	struct claims c;

	is_int(claims_read(doc->data, doc->len, &c, &f), 0, "what was written is read");
	is_int(c.count, 2, "with its checks");
	ok(c.list[0].measured && c.list[0].value == 1617 && c.list[0].least == 1095 && c.list[0].runs == 3,
		"and their values");
	is_str(c.list[0].text, "caf\303\251", "and texts");
	is_int(claims_number(&c, CLAIM_FAILED), 1, "one failed");
	buf_init(&again, CLAIMS_BYTES);
	claims_write(&c, &again);
	is_str(buf_text(&again), doc->data, "and written the same");
	buf_init(&line, 4096);
	claim_text(&c.list[0], &line);
	is_str(buf_text(&line), "ok       disk write       1617 MB/s (1095 to 1678 in 3 runs); caf\303\251\n",
		"for people");
	buf_release(&line);
	buf_release(&again);
	claims_release(&c);
}

/* The document with one part replaced. */
static void changed(const struct buf *doc, const char *part, const char *by, int want, const char *why,
	const char *what)
{
	const char *at = strstr(doc->data, part);
	struct fail f = { 0 };
	struct buf b;

	if (!ok(at != NULL, "it has %s", part))
		return;
	buf_init(&b, CLAIMS_BYTES);
	buf_add(&b, doc->data, (size_t)(at - doc->data));
	buf_adds(&b, by);
	buf_adds(&b, at + strlen(part));
	is_int(claims_check(b.data, b.len, NULL, NULL, &f), want, "%s", what);
	has_str(f.text, why, "and why");
	buf_release(&b);
}

static void test_signature(const struct buf *doc)
{
	struct fail f = { 0 };
	struct buf spaced;

	is_int(claims_check(doc->data, doc->len, public, "00112233445566778899", &f), 0, "signed, for that nonce");
	is_int(claims_check(doc->data, doc->len, NULL, NULL, &f), 0, "by the key that it names");
	is_int(claims_check(doc->data, doc->len, public, "0011223344556677", &f), -EBADMSG, "not for another nonce");
	has_str(f.text, "answers the nonce", "which is said");
	is_int(claims_check(doc->data, doc->len, "AAAA", NULL, &f), -EBADMSG, "not by another key");
	changed(doc, "1617", "1618", -EBADMSG, "somebody changed it", "a value that was changed");
	changed(doc, "\"failed\"", "\"ok\"", -EBADMSG, "somebody changed it", "a result that was changed");
	changed(doc, "\"agent_1\"", "\"agent_2\"", -EBADMSG, "somebody changed it", "another agent");
	changed(doc, "\"checks\"", "\"more\":1,\"checks\"", -EBADMSG, "somebody changed it", "a member that was added");
	changed(doc, "\"signature\"", "\"other\"", -EBADMSG, "nobody signed it", "no signature");
	buf_init(&spaced, CLAIMS_BYTES);
	for (size_t i = 0; i < doc->len; i++) {
		buf_addc(&spaced, doc->data[i]);
		if (doc->data[i] == ',' && doc->data[i + 1] == '"')
			buf_adds(&spaced, "\n  ");
	}
	is_int(claims_check(spaced.data, spaced.len, public, NULL, &f), 0, "spaces do not matter");
	buf_release(&spaced);
}

static void refused(const char *text, const char *why)
{
	struct fail f = { 0 };
	struct claims c;

	is_int(claims_read(text, strlen(text), &c, &f), -EPROTO, "refused: %.60s", text);
	has_str(f.text, why, "and why");
}

#define ONE(check) "{\"object\":\"verification\",\"version\":1,\"at\":1,\"checks\":[" check "]}"

static void test_refused(const struct buf *doc)
{
	struct fail f = { 0 };

	refused("", "no JSON");
	refused("[]", "no verification");
	refused("{\"object\":\"verification\",\"version\":2}", "version 1");
	refused("{\"object\":\"verification\",\"version\":1}", "'at'");
	refused(ONE("1"), "'at'");
	refused(ONE("{\"check\":\"a\",\"result\":\"great\",\"at\":1}"), "none of ok");
	refused(ONE("{\"check\":\"a\",\"result\":\"ok\",\"at\":1,\"median\":1.5}"), "'median'");
	refused(ONE("{\"check\":\"a\",\"result\":\"ok\",\"at\":1,\"median\":1,\"least\":2,\"most\":3,\"runs\":3}"),
		"spread");
	refused(ONE("{\"check\":\"a\",\"result\":\"ok\",\"at\":-1}"), "'at'");
	refused(ONE("{\"check\":\"a\\u001b[2J\",\"result\":\"ok\",\"at\":1}"), "control");
	changed(doc, "\"version\":1", "\"version\":1,\"version\":1", -EPROTO, "duplicate", "a member twice");
	is_int(claims_nonce("0011223344556677", &f), 0, "a nonce");
	is_int(claims_nonce("0011", &f), -EINVAL, "one too short");
	is_int(claims_nonce("001122334455667X", &f), -EINVAL, "no hex");
	has_str(f.text, "openssl rand -hex 16", "what to type");
}

static void test_challenge(void)
{
	uint64_t seed = challenge_seed("00ff", "opencl 0");

	ok(seed != challenge_seed("00fe", "opencl 0") && seed != challenge_seed("00ff", "opencl 1"),
		"each nonce and test has its seed");
	ok(challenge_answer(seed, 16) != challenge_answer(seed + 1, 16) &&
			challenge_answer(seed, 16) != challenge_answer(seed, 17),
		"each seed and number of rounds its answer");
	ok(challenge_answer(seed, 16) == 0xb0cf440172178e2fULL,
		"all compared lanes are one number, the same in each version");
	is_int(challenge_sum(1, 2, 1), (3 ^ 3 >> 29) * CHALLENGE_MULTIPLIER + CHALLENGE_INCREMENT, "one round");
}

int main(void)
{
	struct buf doc;

	plan_none;
	make_key();
	buf_init(&doc, CLAIMS_BYTES);
	make(&doc);
	test_round(&doc);
	test_signature(&doc);
	test_refused(&doc);
	test_challenge();
	buf_release(&doc);
	EVP_PKEY_free(key);
	return done();
}
