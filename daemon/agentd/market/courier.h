/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that carries one request at a time to the market and brings the answer back, so that the
 * loop never waits for a network. No thread: whoever forks while another thread holds a lock, of the
 * allocator or the loader, has a child that waits for it for ever, and each of the agent's jobs is a fork.
 */
#ifndef AGENTD_MARKET_COURIER_H
#define AGENTD_MARKET_COURIER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

struct courier;

struct courier_setup {
	const char *url, *pin;     /* pin: NULL or "" for none */
	bool plain;
};

struct courier_reply {
	int rc;                    /* as client_send */
	int status;                /* HTTP's; 0: none */
	int64_t retry_after;       /* seconds; -1 */
	struct buf body;
	struct fail fail;
};

int courier_new(const struct courier_setup *setup, struct courier **out, struct fail *f);
void courier_free(struct courier *c);          /* what is under way is given up */

int courier_fd(const struct courier *c);       /* readable: courier_take has something */
bool courier_idle(const struct courier *c);    /* may be asked */

/* Copies token (NULL: none) and the words; takes body (malloc'd or NULL). Only when idle. */
void courier_ask(struct courier *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms);

/* Whether there was an answer. The caller releases out->body. */
bool courier_take(struct courier *c, struct courier_reply *out);

#endif
