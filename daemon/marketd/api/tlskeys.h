/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key that the market's TLS certificate shows, the one that it will show next, and which agents have heard of that:
 * an agent that pins the key refuses every other. In memory only: agents ask anew after a restart.
 */
#ifndef MARKETD_API_TLSKEYS_H
#define MARKETD_API_TLSKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TLSKEYS_TEXT = 64, TLSKEYS_VERSION = 24 };

struct tlskeys {
	char now[TLSKEYS_TEXT], next[TLSKEYS_TEXT]; /* "sha256//…"; "": no TLS; none is announced */
	uint64_t *known;                            /* sorted: the agents that have heard of both */
	size_t count, cap;
};

void tlskeys_release(struct tlskeys *k);
/* Both are copied. Where either changes, nobody has heard of it yet. */
void tlskeys_set(struct tlskeys *k, const char *now, const char *next);
/* A word that differs for other keys: a part of the version of what agents are told. "": no TLS. */
void tlskeys_version(const struct tlskeys *k, char out[TLSKEYS_VERSION]);
void tlskeys_heard(struct tlskeys *k, uint64_t agent);
bool tlskeys_known(const struct tlskeys *k, uint64_t agent);

#endif
