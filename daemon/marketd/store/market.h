/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine and store together: an event is applied at once and is on disk with the next market_commit().
 * If the disk refuses, the market drops the engine and reads it again from disk, so that memory never
 * knows more than the disk.
 */
#ifndef MARKETD_STORE_MARKET_H
#define MARKETD_STORE_MARKET_H

#include <stdbool.h>

#include "marketd/engine/engine.h"
#include "marketd/store/store.h"

struct market;

/*
 * Loads the snapshot, replays the journal, checks the hash and takes the writer's lease. If it returns 0
 * it owns the store (market_free closes it).
 */
int market_open(struct store *store, struct market **out, struct fail *f);
void market_free(struct market *m);

const struct engine *market_engine(const struct market *m);
struct store *market_store(const struct market *m);

/* now: Unix seconds. Sends a tick if a minute began. A clock that goes back stands still. Returns 0 or a reason. */
int market_time(struct market *m, int64_t now, struct fail *f);
int64_t market_now(const struct market *m);   /* the market's now; never goes back */

/* Like engine_apply, and stages the event for the store. Sets ev->at. *did lives until the next call. */
int market_apply(struct market *m, struct event *ev, const struct effects **did, struct fail *f);

/* Puts an idempotent request's answer into the same batch. */
int market_keep_answer(struct market *m, const struct answer *a, struct fail *f);
/* Puts the next lines of an instance's console into the same batch. */
int market_log(struct market *m, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f);
bool market_dirty(const struct market *m);    /* something is staged */

/* 0: all that was staged is on disk. Else (REASON_UNAVAILABLE) nothing of it is, and the engine matches the disk. */
int market_commit(struct market *m, struct fail *f);
bool market_ready(const struct market *m);    /* false after a failed commit until market_time() could read it again */
bool market_lost(const struct market *m);     /* another marketd took over: this one stays unready and should end */

/* How many events between snapshots (default 100,000); 0: never. */
void market_snapshot_every(struct market *m, uint64_t events);

/*
 * Reads a store into a new engine, for checks: from its snapshot, or from the first event on; up to
 * this event (0: all). market_catch_up: the same with an existing engine.
 */
int market_replay(struct store *store, bool from_snapshot, uint64_t until, struct engine **out, struct fail *f);
int market_catch_up(struct store *store, struct engine *e, uint64_t until, struct fail *f);

#endif
