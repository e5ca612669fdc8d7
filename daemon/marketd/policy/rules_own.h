/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the policy share: rules as they were read, and how a decision's parts are written. */
#ifndef MARKETD_POLICY_RULES_OWN_H
#define MARKETD_POLICY_RULES_OWN_H

#include "conf/conf.h"
#include "marketd/policy/rules.h"

/* X(name, word): what a condition asks of a field. */
#define CONDITIONS(X) \
	X(IS, "is") \
	X(NOT, "not") \
	X(IN, "in") \
	X(NOT_IN, "not-in") \
	X(ABOVE, "above") \
	X(BELOW, "below") \
	X(AT_LEAST, "at-least") \
	X(AT_MOST, "at-most") \
	X(HAS, "has") \
	X(LACKS, "lacks")

enum condition_kind {
#define CONDITION_X(name, word) CONDITION_##name,
	CONDITIONS(CONDITION_X)
#undef CONDITION_X
		CONDITION_KINDS
};

struct condition {
	enum condition_kind kind;
	const char *field;        /* "account.reputation_score"; in the file, as is the value */
	const struct conf *value; /* a text; a list of texts for in and not-in */
};

struct rule {
	struct condition *conditions;
	size_t count;
	struct decision gives;
};

struct rules {
	struct conf_file *file;
	struct rule *rules;
	size_t count;
	struct decision otherwise;
};

enum { FIELD_PART = 64 };

/* Of an open file, which becomes the rules' own where it is right. */
int rules_take(struct rules **out, struct conf_file *file, struct fail *f);
/* The next part of "account.groups" goes into the room; returns what is left, NULL: it has no such part. */
const char *field_part(const char *field, char part[FIELD_PART]);

/*
 * Sets a member of a decision (limit: of its limits) to what a person wrote. NULL: done; else what to write. number: it
 * may be a number of JSON, too; NULL: no matter.
 */
const char *decision_set(struct decision *d, const char *name, bool limit, const char *text, bool *number);

#endif
