/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine measured of itself, signed with its agent's key: one JSON object, for whoever gave the nonce.
 *
 *     {"object": "verification", "version": 1, "agent": ID, "key": BASE64, "nonce": HEX, "at": UNIX, "passed": BOOL,
 *      "checks": [{"check": TEXT, "result": "ok"|"failed"|"skipped", "at": UNIX,
 *                  "median": N, "least": N, "most": N, "runs": N, "unit": TEXT,          where something was measured
 *                  "device": PCI, "method": TEXT, "answer": TEXT, "text": TEXT, "mend": TEXT}, …],   where it says that
 *      "signature": BASE64}
 *
 * Numbers are integers. Signed (Ed25519) is the line "nanopod-claims\n" and then the object without its signature, in
 * one form: keys in the order of their bytes, no spaces, all but ASCII as \uXXXX. Unknown members are signed too. Who
 * has not joined a market has no agent, key and signature.
 */
#ifndef MARKET_CLAIMS_H
#define MARKET_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

enum { CLAIMS_MOST = 512, CLAIMS_BYTES = 1 << 20, CLAIMS_KEY = 48, CLAIMS_NONCE = 65, CLAIMS_SIGNATURE = 96 };

enum claim_is { CLAIM_OK, CLAIM_FAILED, CLAIM_SKIPPED };

struct claim {
	char check[32]; /* "disk write" */
	enum claim_is is;
	bool measured;
	int64_t value, least, most; /* median and spread of the runs, in unit */
	int64_t at;                 /* Unix seconds */
	int runs;
	char unit[16];
	char device[20];           /* PCI address of what was measured; "": the machine */
	char method[96];           /* how, in words; "": none */
	char answer[40];           /* "ROUNDS:HEX", as market/challenge.h has it; "" */
	char text[240], mend[240]; /* what was found; how to fix it */
};

struct claims {
	char agent[40], key[CLAIMS_KEY], nonce[CLAIMS_NONCE], signature[CLAIMS_SIGNATURE]; /* "": none */
	int64_t at;
	size_t count;
	struct claim *list; /* malloc'd */
};

void claims_release(struct claims *c);
int claims_add(struct claims *c, const struct claim *one); /* 0, -ENOMEM, -E2BIG */
size_t claims_number(const struct claims *c, enum claim_is is);

/* An even number of hex digits, 16 to 64. 0 or -EINVAL. */
int claims_nonce(const char *text, struct fail *f);

/* Appends the object on one line; and what its signature is of. 0 or -ENOMEM. */
int claims_write(const struct claims *c, struct buf *out);
int claims_to_sign(const struct claims *c, struct buf *out);

/* Reads what somebody else wrote. 0, or -EPROTO with a sentence; release *out. */
int claims_read(const char *text, size_t len, struct claims *out, struct fail *f);

/*
 * Was it signed by that key, for that nonce? NULL: by the key that it names; for any nonce. 0; -EPROTO: no such
 * object; -EBADMSG: no, and why.
 */
int claims_check(const char *text, size_t len, const char *key, const char *nonce, struct fail *f);

/* One result for people: a line, and another with what fixes it. 0 or -ENOMEM. */
int claim_text(const struct claim *c, struct buf *out);

#endif
