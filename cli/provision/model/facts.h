/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes report about themselves at the time of asking: stacks/common/facts.sh prints key=value and lists the keys.
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
 * Reads the facts of one node. They are never trusted: keys must be [a-z0-9_], values without control bytes, numbers
 * digits, devices plain words; else -EPROTO.
 */
struct facts {
	bool known; /* it was reached and its answer was complete */
	char *why;  /* if not known: a sentence */
	struct pairs pairs;
	int64_t skew_us; /* its clock minus ours, less half of the round trip; error at most skew_error_us */
	int64_t skew_error_us;
};

int facts_parse(const char *text, size_t len, struct facts *out, struct fail *f);
void facts_release(struct facts *f);
const char *facts_get(const struct facts *f, const char *key); /* "" without that fact */
long facts_number(const struct facts *f, const char *key, long fallback);
/* Whether it is a host name: letters, digits and '-' in labels of at most 63, separated by dots. */
bool facts_hostname(const char *text);
bool facts_address(const char *text);

/*
 * The table that every script gets in $NP_TABLE: a line for each known member of the cluster,
 * "NAME<TAB>HOSTNAME<TAB>ADDRESS<TAB>stack.role,stack.role<TAB>key=value<TAB>…", with the facts whose keys begin with
 * one of the words in `keys` (ends with NULL). A missing or invalid name or address is "-".
 */
int facts_table(const struct cluster *c, const struct facts *all, const char *const *keys, struct buf *out);

#endif
