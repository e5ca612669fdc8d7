/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine and store together: events go in, are applied at once and are on disk with the next
 * market_commit(). Where the disk refuses, the engine is thrown away and read again from what is
 * on disk, so that memory never knows more than the disk does.
 */
#ifndef MARKETD_STORE_MARKET_H
#define MARKETD_STORE_MARKET_H

#include <stdbool.h>

#include "marketd/engine/engine.h"
#include "marketd/store/store.h"

struct market;

/*
 * Takes the store where it returns 0 (closes it with market_free). Loads the snapshot, replays, checks
 * the hash, takes the writer's lease.
 */
int market_open(struct store *store, struct market **out, struct fail *f);
void market_free(struct market *m);

const struct engine *market_engine(const struct market *m);
struct store *market_store(const struct market *m);

/* now: Unix seconds; ticks are sent where a minute began. A clock that goes back stands still. Returns 0 or a reason. */
int market_time(struct market *m, int64_t now, struct fail *f);
int64_t market_now(const struct market *m);   /* what counts as now: never goes back */

/* As engine_apply, and staged for the store. ev->at is set here. *did lives until the next call. */
int market_apply(struct market *m, struct event *ev, const struct effects **did, struct fail *f);

/* An idempotent request's answer goes into the same batch. */
int market_keep_answer(struct market *m, const struct answer *a, struct fail *f);
/* Lines of an instance's console, which follow those that are there, into the same batch. */
int market_log(struct market *m, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f);
bool market_dirty(const struct market *m);    /* something is staged */

/* 0: all that was staged is on disk. Else nothing of it is: REASON_UNAVAILABLE; the engine is as the disk. */
int market_commit(struct market *m, struct fail *f);
bool market_ready(const struct market *m);    /* false after a failed commit until market_time() could read it again */
bool market_lost(const struct market *m);     /* another marketd took over: never ready again, the process should end */

/* How many events between snapshots (default 100,000); 0: never. */
void market_snapshot_every(struct market *m, uint64_t events);

/*
 * Reads a store into a new engine, for checks: from its snapshot, or from the first event on; up to
 * this event (0: all). market_catch_up: the same with an engine that is there.
 */
int market_replay(struct store *store, bool from_snapshot, uint64_t until, struct engine **out, struct fail *f);
int market_catch_up(struct store *store, struct engine *e, uint64_t until, struct fail *f);

#endif
