/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the text of a setting by its type and turns it into what scripts see. */
#ifndef CLI_PROVISION_MODEL_STACK_VALUE_H
#define CLI_PROVISION_MODEL_STACK_VALUE_H

#include <stdbool.h>

#include "base/fail.h"
#include "cli/provision/model/stack.h"

enum { STACK_VALUE_MAX = 64 * 1024 };

const char *stack_type_name(enum stack_type type);

/*
 * Refuses control bytes (newlines and tabs pass with `lines`) and long text. f lacks its subject: "is longer than …".
 */
int stack_text_check(const char *text, bool lines, struct fail *f);

/*
 * 0 with *out as scripts see it (flags "yes" and "no", numbers without leading zeros), or -EINVAL with a sentence.
 * STACK_WORDS: words separated by spaces or commas. "" means unset, for all but flags and enums. Not for maps.
 */
int stack_value(const struct stack_setting *s, const char *text, char **out, struct fail *f);

#endif
