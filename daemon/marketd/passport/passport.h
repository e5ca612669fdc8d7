/* SPDX-License-Identifier: Apache-2.0 */
/* Human Passport (once Gitcoin Passport), as far as this market asks it: the score of one address at a time. */
#ifndef MARKETD_PASSPORT_PASSPORT_H
#define MARKETD_PASSPORT_PASSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "marketd/passport/score.h"

#define PASSPORT_URL "https://api.passport.xyz"

enum { PASSPORT_WAIT_MS = 15000 };

struct outward;
struct passport;

/* Paths and texts as options have them. */
struct passport_settings {
	const char *url, *key_file, *scorer; /* key_file NULL: none is asked */
};

bool passport_scorer_valid(const char *text);

int passport_new(struct passport **out, const struct passport_settings *set, struct outward *o, struct fail *f);
void passport_free(struct passport *p);
int passport_reload(struct passport *p, struct fail *f); /* reads the key again. 0, or the old one goes on */

/* Asks about "0x…"; what was asked before is forgotten. 0, or why it cannot be asked. */
int passport_ask(struct passport *p, const char *address, struct fail *why);

/*
 * What came of it, once. 0; -EAGAIN: it is under way; -EBUSY: ask nothing for *rest_s seconds; -ENODATA: it gave no
 * answer, and `why` names the URL, which is the operator's; another code: it failed.
 */
int passport_take(struct passport *p, struct score *out, int *rest_s, struct fail *why);

#endif
