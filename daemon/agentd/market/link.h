/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection to the market: a session opened by signature, a long poll for what to do, and a sender for reports.
 * Outbound only. The market may well be unreachable: the link logs that once, and keeps trying.
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
	LINK_WORK,   /* body: the work document; answer with link_have() or link_unusable() */
	LINK_SENT,   /* the answer to a link_send(): tag, rc, status, body */
	LINK_OPENED, /* a new session: report everything again */
	LINK_FENCED, /* another machine has this identity: over for ever */
};

struct link_event {
	enum link_kind kind;
	uint64_t tag;
	int rc, status;
	struct buf body;     /* the caller releases it; empty but for WORK and SENT */
	struct fail fail;
};

/*
 * Changes id (generation, fenced) and saves it in data. All three must outlive the link. watch_kind: of its watches and
 * timer.
 */
int link_new(struct loop *loop, int watch_kind, const char *data, struct identity *id, const struct log *log,
	struct link **out, struct fail *f);
void link_free(struct link *l);

/* One event, or LINK_NOTHING for now. When something of watch_kind is due, call it until it returns LINK_NOTHING. */
void link_next(struct link *l, struct link_event *out);

/* The caller took the document in. */
void link_have(struct link *l, const char *version);
/*
 * The keys that the market shows, as identity_take_pins has them. false: they could not be kept on disk, and nothing
 * goes by them.
 */
bool link_keys(struct link *l, const char *pins);
/* It was unusable: the link asks again after a pause, a longer one each time. */
void link_unusable(struct link *l);

/* A session is open and no request of the caller is on its way. */
bool link_can_send(const struct link *l);
/* Takes over body (malloc'd, or NULL). Only when link_can_send(). */
void link_send(struct link *l, uint64_t tag, const char *method, const char *path, char *body);

/* Of what was sent: it did not arrive, or the market has no time for it now. */
bool link_later(int rc);

/* The market answered lately. */
bool link_healthy(const struct link *l);
bool link_open(const struct link *l);

#endif
