/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second market, written from daemon/marketd/engine/rules.md alone and slow on purpose: lists that are
 * searched from end to end, one minute at a time. What it and engine.c disagree about is wrong in
 * one of them.
 */
#ifndef TESTS_SIM_REFERENCE_H
#define TESTS_SIM_REFERENCE_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/engine/event.h"

struct reference;

struct reference *reference_new(void);
void reference_free(struct reference *r);

/* 0, or a negative enum reason and nothing changed. */
int reference_apply(struct reference *r, const struct event *ev, struct fail *why);

/* The text of rules.md, section "State". */
void reference_dump(const struct reference *r, struct buf *out);

/* The orders that the last event closed, "ID STATUS REASON MINUTES COST" a line, in order of id. */
void reference_closed(const struct reference *r, struct buf *out);

#endif
