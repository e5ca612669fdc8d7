/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses what a person typed, for options, environment and files alike, so that all accept the same and
 * complain in the same words.
 */
#ifndef CLI_FRAME_VALUE_H
#define CLI_FRAME_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* 0, or a negative code and a sentence like "'12x' is not a whole number". */
int value_int(const char *text, long min, long max, long *out, struct fail *f);
int value_bool(const char *text, bool *out, struct fail *f);           /* true false yes no on off 1 0 */
int value_size(const char *text, uint64_t *out, struct fail *f);       /* bytes */
int value_duration(const char *text, int64_t *out, struct fail *f);    /* milliseconds, above 0 */
int value_enum(const char *text, const char *values, size_t *out, struct fail *f); /* index in "a|b|c" */

/* Word i of "a|b|c" as (start, length); false past the end. */
bool value_word(const char *values, size_t i, const char **start, size_t *len);

/* "1d12h", "90s", "250ms": parses back to the same. */
void value_show_duration(int64_t ms, char *room, size_t size);

/* Is it near enough to suggest? */
bool value_near(const char *typed, const char *known, size_t *distance);

#endif
