/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operator allows, and at what price: ordered rules of a YAML file, asked with one JSON document. The first
 * rule whose conditions all hold decides. nanopod-policy(5) has the language, np.PolicyInput of /openapi.json the
 * document.
 */
#ifndef MARKETD_POLICY_RULES_H
#define MARKETD_POLICY_RULES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { RATE_FULL = 1000000 };

/* X(name, word): limits of an account's requests through gateways, and of the tokens that models use for them. */
#define GATES(X) \
	X(REQUESTS_MINUTE, "requests_minute") \
	X(REQUESTS_DAY, "requests_day") \
	X(TOKENS_MINUTE, "tokens_minute") \
	X(TOKENS_DAY, "tokens_day")

enum gate_kind {
#define GATE_X(name, word) GATE_##name,
	GATES(GATE_X)
#undef GATE_X
		GATE_KINDS
};

struct rules;

struct decision {
	bool allow;
	int32_t rate_ppm;       /* 0 … RATE_FULL: what the buyer pays of the price */
	int32_t nodes;          /* limits; 0: none of these */
	int64_t minutes, price; /* price: micro-dollars per node-minute */
	int64_t gates[GATE_KINDS];
	char rule[64];          /* letters, digits, '.', '_', '-': fit for a header; "": nobody named one */
	char reason[256];       /* one line of text; "" */
};

/* 0; -errno if the file cannot be read; -EINVAL with line, rule and field if it is wrong. */
int rules_read(struct rules **out, const char *path, struct fail *f);
int rules_parse(struct rules **out, const char *name, const char *text, size_t len, struct fail *f);
void rules_free(struct rules *r);

/* r NULL: allows at full price. A field that the input lacks makes each condition on it false. */
void rules_decide(const struct rules *r, const json_t *input, struct decision *out);

/* {"allow", "rate", "limits", "rule", "reason"}; NULL: out of memory. */
json_t *decision_json(const struct decision *d);
/* The same document from elsewhere. Anything odd fails, and *out is untouched: the caller denies. 0 or -EINVAL. */
int decision_read(const json_t *from, struct decision *out, struct fail *f);

/* Those of its limits that are of gateways: {"requests_minute": 60}. */
json_t *decision_gates(const struct decision *d);

enum { RATE_TEXT = 16 };
const char *rate_text(int32_t rate_ppm, char room[RATE_TEXT]); /* "0", "0.5", "1" */

#endif
