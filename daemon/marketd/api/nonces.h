/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market waits for from agents that measure: the nonce that each was given last, good once and for a while;
 * and leases that were drawn as they began: their machine has to measure again before a new node starts on it.
 * In memory only: after a restart an agent asks anew, and no lease that began before is looked at.
 */
#ifndef MARKETD_API_NONCES_H
#define MARKETD_API_NONCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marketd/store/market.h"

enum { NONCE_TEXT = 33, NONCE_SECONDS = 900, RECHECK_MINUTES = 10 };

struct nonces;

struct recheck {
	uint64_t host;
	int64_t since;           /* the minute in which the lease began */
	int64_t asked;           /* Unix seconds */
	int left;                /* minutes: of RECHECK_MINUTES, those that the market listened are over */
	char why[WHY_BYTES + 1]; /* what its last answer misses; "": there was none */
};

void nonces_free(struct nonces *n);
/* Makes *n where it is NULL. The agent's earlier one is void. 0 or -ENOMEM, -EIO. */
int nonces_give(struct nonces **n, uint64_t agent, uint64_t generation, int64_t now, char room[NONCE_TEXT]);
/* False: none was given to this session, or too long ago. It is void from then on. *since: when it was given. */
bool nonces_take(struct nonces *n, uint64_t agent, uint64_t generation, int64_t now, char room[NONCE_TEXT],
	int64_t *since);

/* An earlier one that the host has not answered stays: the next lease puts nothing off. 0 or -ENOMEM. */
int nonces_recheck(struct nonces **n, const struct recheck *add);
const struct recheck *nonces_rechecked(const struct nonces *n, uint64_t host); /* NULL: nothing is asked of it */
/* What a measurement answers whose nonce was given at that time, not before; or NULL. */
const struct recheck *nonces_answered(const struct nonces *n, uint64_t host, int64_t given);
/* Its answer misses that; another one may come. */
void nonces_missed(struct nonces *n, uint64_t host, const char *why);
void nonces_checked(struct nonces *n, uint64_t host);
void nonces_minute(struct nonces *n);                             /* call when the market listened for one more */
bool nonces_overdue(const struct nonces *n, struct recheck *out); /* one that was not answered */

/* Below a number from 1 on, by chance. */
uint32_t nonces_chance(uint32_t below);

#endif
