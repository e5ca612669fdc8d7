/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a stack.yaml share: where they read, and checked access to values of maps. */
#ifndef CLI_PROVISION_MODEL_STACK_PART_H
#define CLI_PROVISION_MODEL_STACK_PART_H

#include "cli/provision/model/stack.h"
#include "conf/conf.h"

struct stack_reading {
	struct stack *s;
	const struct conf_file *file;
	struct fail *f;
};

/* All leave *out alone if the map lacks the key or has no value for it. 0 or -EINVAL. */
int stack_get_text(struct stack_reading *r, const struct conf *map, const char *key, char **out);
int stack_get_word(struct stack_reading *r, const struct conf *map, const char *key, char **out);
int stack_get_flag(struct stack_reading *r, const struct conf *map, const char *key, bool *out);
int stack_get_number(struct stack_reading *r, const struct conf *map, const char *key, long max, unsigned *out);
/* A list of texts, or one text. *out ends with NULL, and is NULL where there is none. */
int stack_get_words(struct stack_reading *r, const struct conf *map, const char *key, char ***out);
void stack_free_words(char **words);

int stack_unknown(struct stack_reading *r, const struct conf *at, const char *what, const char *typed,
	const char *const *words, size_t count);

int stack_read_steps(struct stack_reading *r, const struct conf *list);

#endif
