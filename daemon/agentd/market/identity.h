/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine's identity at its market: an Ed25519 key that never leaves its folder, the name that the market gave it,
 * and the number of its latest session, which only grows.
 */
#ifndef AGENTD_MARKET_IDENTITY_H
#define AGENTD_MARKET_IDENTITY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

struct evp_pkey_st;

enum {
	IDENTITY_URL = 512,
	IDENTITY_PIN = 120,
	IDENTITY_NAME = 256,
	IDENTITY_ID = 40,
	IDENTITY_MACHINE = 65,
	IDENTITY_PREFIX = 9
};

struct identity {
	char url[IDENTITY_URL], pin[IDENTITY_PIN]; /* pin: "sha256//…", two of them with ';', or "" */
	char agent[IDENTITY_ID], name[IDENTITY_NAME], account[IDENTITY_ID];
	char machine[IDENTITY_MACHINE];              /* a hash: shows that a copy is on another machine */
	bool plain;                                  /* the owner allowed http:// to another machine */
	bool fenced;                                 /* the market knows a newer one: never reconnect by itself */
	uint64_t generation;
	struct evp_pkey_st *key;
};

/* 0, -ENOENT where this folder has not joined, -EPERM where others may read the key. */
int identity_load(const char *data, struct identity *out, struct fail *f);
int identity_save(const char *data, const struct identity *i, struct fail *f);
void identity_release(struct identity *i);

/* Reads the key of the folder, or makes one and writes it to disk. */
int identity_make_key(const char *data, struct identity *i, struct fail *f);
/* A hash of the machine's id, or of a random one kept in the folder. */
int identity_find_machine(const char *data, char room[IDENTITY_MACHINE], struct fail *f);
void identity_forget(const char *data);

/*
 * The body of a request that opens a session, signed with the next generation, which is on disk when this returns 0.
 * now: the market's time.
 */
int identity_session(const char *data, struct identity *i, int64_t now, json_t **out, struct fail *f);

/*
 * The market says which keys it shows, now and next, as pin has them: they take the place of those that i has, if they
 * are keys and one of them was pinned. Whether i changed; it is not saved.
 */
bool identity_take_pins(struct identity *i, const char *pins);

/* Splits "URL" or "URL#sha256//PIN" into its parts; refuses what cannot be trusted. */
int identity_take_url(struct identity *i, const char *given, struct fail *f);

/* Appends base64. 0 or -EIO. */
int identity_public(const struct identity *i, struct buf *out, struct fail *f);
int identity_sign(const struct identity *i, const char *text, size_t len, struct buf *out, struct fail *f);

/* Puts name, key and signature into what was measured: whoever gave the nonce sees that this machine answered it. */
struct claims;
int identity_sign_claims(const struct identity *i, struct claims *c, struct fail *f);

/* A hash that each join of a market has for itself. */
void identity_join(const struct identity *i, char room[IDENTITY_MACHINE]);

/* The prefix of all names that drivers make: letters and digits, of this agent alone. */
void identity_prefix(const struct identity *i, char room[IDENTITY_PREFIX]);

#endif
