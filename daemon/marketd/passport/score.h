/* SPDX-License-Identifier: Apache-2.0 */
/* What Human Passport's API v2 says of an address. */
#ifndef MARKETD_PASSPORT_SCORE_H
#define MARKETD_PASSPORT_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum { SCORE_TEXT = 48 };

struct score {
	char text[SCORE_TEXT]; /* as the service wrote it: a decimal, without an exponent; "": the address has none */
	bool passing;          /* what the service itself makes of it: at its threshold, or above */
	int64_t expires;       /* Unix seconds; 0: the service does not say */
};

/* 0; -EPROTO: it is no answer about this address, and why. Unknown members are ignored. */
int score_read(const char *body, size_t len, const char *address, struct score *out, struct fail *why);

#endif
