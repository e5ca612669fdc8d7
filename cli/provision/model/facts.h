/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the nodes say of themselves, live: stacks/common/facts.sh prints key=value. The keys are listed in that file.
 */
#ifndef CLI_PROVISION_MODEL_FACTS_H
#define CLI_PROVISION_MODEL_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/model/pairs.h"

enum { FACTS_BYTES = 256 * 1024, FACTS_KEYS = 2000, FACTS_VALUE = 4096 };

/*
 * Of one node. What a node says is never trusted: keys are [a-z0-9_], values have no control bytes, numbers are digits, devices
 * plain words; else -EPROTO.
 */
struct facts {
	bool known;             /* it was reached and answered whole */
	char *why;              /* not known: a sentence */
	struct pairs pairs;
	int64_t skew_us; /* its clock minus ours, half of the round trip taken off; error at most skew_error_us */
	int64_t skew_error_us;
};

int facts_parse(const char *text, size_t len, struct facts *out, struct fail *f);
void facts_release(struct facts *f);
const char *facts_get(const struct facts *f, const char *key); /* "" where it was not said */
long facts_number(const struct facts *f, const char *key, long fallback);
/* Is it a host's name? Letters, digits and '-' in parts of at most 63, parted by dots. */
bool facts_hostname(const char *text);
bool facts_address(const char *text);

/*
 * The table that every script gets in $NP_TABLE: a line for each member of the cluster that is known,
 * "NAME<TAB>HOSTNAME<TAB>ADDRESS<TAB>stack.role,stack.role<TAB>key=value<TAB>…", with the facts whose keys begin with one
 * of the words in `keys` (ends with NULL). What a node does not say, or what is no name or address at all, is "-".
 */
int facts_table(const struct cluster *c, const struct facts *all, const char *const *keys, struct buf *out);

#endif
