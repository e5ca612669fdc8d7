/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way to the market: a session by signature, a long poll for what to do, and a way for what
 * is told. Outbound only. A market that is away is normal: it is said once, and tried again.
 */
#ifndef AGENTD_MARKET_LINK_H
#define AGENTD_MARKET_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/market/identity.h"
#include "base/log.h"
#include "base/loop.h"

struct link;

enum link_kind {
	LINK_NOTHING,
	LINK_WORK,       /* body: the work document; answer with link_have() */
	LINK_SENT,       /* what link_send() was told came back: tag, rc, status, body */
	LINK_OPENED,     /* a new session: tell everything anew */
	LINK_FENCED,     /* another has this identity: over for ever */
};

struct link_event {
	enum link_kind kind;
	uint64_t tag;
	int rc, status;
	struct buf body;     /* the caller releases it; empty but for WORK and SENT */
	struct fail fail;
};

/* id: is changed (generation, fenced) and saved in data. All three outlive the link. watch_kind: of its watches and timer. */
int link_new(struct loop *loop, int watch_kind, const char *data, struct identity *id, const struct log *log,
	struct link **out, struct fail *f);
void link_free(struct link *l);

/* One event; LINK_NOTHING: none for now. Call it whenever something of watch_kind is due, until there is none. */
void link_next(struct link *l, struct link_event *out);

/* The document was taken in; "" where it was none: it is asked for again after a pause. */
void link_have(struct link *l, const char *version);

/* A session is open and nothing is on its way. */
bool link_can_send(const struct link *l);
/* Takes body (malloc'd, or NULL). Only where link_can_send(). */
void link_send(struct link *l, uint64_t tag, const char *method, const char *path, char *body);

/* The market answered lately. */
bool link_healthy(const struct link *l);
bool link_open(const struct link *l);

#endif
