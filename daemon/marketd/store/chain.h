/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash chain over an account's postings. With it the owner can prove that nobody changed a posting
 * or took one out. Canonical text: "seq n at transfer owner book asset amount balance subject\n" in
 * decimal (ids too), book by its name; chain = SHA-256(chain before it, as 32 bytes, then this text). The first has
 * zeros before it. `nanopod ledger verify` computes the same from what the API serves.
 */
#ifndef MARKETD_STORE_CHAIN_H
#define MARKETD_STORE_CHAIN_H

#include "marketd/store/store.h"

enum { CHAIN_BYTES = 32 };

/* SHA-256 of any bytes: shows whether a snapshot is whole. */
void chain_digest(const void *data, size_t len, uint8_t digest[CHAIN_BYTES]);

void chain_next(uint8_t chain[CHAIN_BYTES], const struct posting_row *row); /* row->chain is not read */

#endif
