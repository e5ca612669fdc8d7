/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a setting of a stack, checked by its type and made what scripts see. */
#ifndef CLI_PROVISION_MODEL_STACK_VALUE_H
#define CLI_PROVISION_MODEL_STACK_VALUE_H

#include <stdbool.h>

#include "base/fail.h"
#include "cli/provision/model/stack.h"

enum { STACK_VALUE_MAX = 64 * 1024 };

const char *stack_type_name(enum stack_type type);

/* No control bytes, but newlines and tabs where `lines`; not too long. A sentence without its subject: "is longer than …". */
int stack_text_check(const char *text, bool lines, struct fail *f);

/*
 * 0 with *out as scripts see it (flags "yes" and "no", numbers without zeros before them), or -EINVAL with a sentence.
 * Of STACK_WORDS: words parted by blanks or commas. "" is taken for all but flags and enums: nothing was said. Not for maps.
 */
int stack_value(const struct stack_setting *s, const char *text, char **out, struct fail *f);

#endif
