/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids on the wire: SF Compute's prefix and thirteen letters for 64 bits, mixed so that neighbours look
 * different and nobody can read the market's volume from them.
 */
#ifndef MARKET_IDENT_H
#define MARKET_IDENT_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, prefix, legacy prefix or NULL) */
#define IDENTS(X) \
	X(ORDER, "ordr", NULL) \
	X(POOL, "pool", "cap") \
	X(SKU, "isku", "clus") \
	X(INSTANCE, "inst", "vm") \
	X(PROCUREMENT, "proc", NULL) \
	X(CONTRACT, "cont", NULL) \
	X(HOST, "host", NULL) \
	X(IMAGE, "image", "vmi") \
	X(TOKEN, "tok", NULL) \
	X(ACCOUNT, "acct", NULL) \
	X(WORKSPACE, "wksp", NULL) \
	X(NODE, "n", NULL) \
	X(AGENT, "agt", NULL) \
	X(ANNOUNCEMENT, "ann", NULL) \
	X(GRANT, "grant", NULL) \
	X(PERSON, "pers", NULL) \
	X(INVITATION, "invt", NULL) \
	X(PAYMENT, "pay", NULL) \
	X(VOLUME, "vol", NULL) \
	X(PLAN, "plan", NULL) \
	X(PAYOUT, "po", NULL)

enum ident {
#define IDENT_X(name, prefix, legacy) IDENT_##name,
	IDENTS(IDENT_X)
#undef IDENT_X
	IDENT_KINDS
};

enum { IDENT_TEXT = 32 };

const char *ident_text(enum ident kind, uint64_t id, char room[IDENT_TEXT]);
bool ident_parse(enum ident kind, const char *text, uint64_t *id); /* the legacy prefix too */
bool ident_looks(enum ident kind, const char *text);                /* has the prefix */

#endif
