/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values in order of arrival: settings of a stack, facts of a node. */
#ifndef CLI_PROVISION_MODEL_PAIRS_H
#define CLI_PROVISION_MODEL_PAIRS_H

#include <stddef.h>

struct pair {
	char *key, *value;
};

struct pairs {
	struct pair *at;
	size_t count;
};

void pairs_release(struct pairs *p);

/* Replaces the key's old value. Out of memory ends the program, as everywhere in cli/. */
void pairs_set(struct pairs *p, const char *key, const char *value);
void pairs_drop(struct pairs *p, const char *key);
const char *pairs_get(const struct pairs *p, const char *key);           /* NULL: not there */
const char *pairs_or(const struct pairs *p, const char *key, const char *fallback);

#endif
