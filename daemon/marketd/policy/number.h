/* SPDX-License-Identifier: Apache-2.0 */
/* Decimals of any length, compared exactly: 20.00001 is above 20, however many zeros stand between. */
#ifndef MARKETD_POLICY_NUMBER_H
#define MARKETD_POLICY_NUMBER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct number {
	bool negative;
	const char *whole,
		*part; /* digits before and after the point, without zeros that change nothing; in the text */
	size_t whole_len, part_len;
};

/* "-12.50", as JSON writes a number, without an exponent. The text must outlive *out. */
bool number_read(const char *text, struct number *out);
int number_compare(const struct number *a, const struct number *b); /* below 0, 0, above 0 */

enum { NUMBER_TEXT = 400 };

/*
 * A text, number or boolean of JSON as a text; NULL: it is something else. A number with a fraction is the shortest
 * decimal that reads back as it. The result is in the value or in the room.
 */
const char *number_scalar(const json_t *value, char room[NUMBER_TEXT]);

#endif
