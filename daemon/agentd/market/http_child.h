/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a network side (http_main.h), which carries one request at a time to the market, so that the loop never waits
 * for a network. It may die, hang or lie: then the next request starts another, and its own counts as lost. No thread:
 * whoever forks while another thread holds a lock, of the allocator or the loader, has a child that waits for it for
 * ever, and each of the agent's jobs is a fork.
 */
#ifndef AGENTD_MARKET_HTTP_CHILD_H
#define AGENTD_MARKET_HTTP_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "agentd/market/http_wire.h"
#include "base/loop.h"

#define HTTP_VERB "http" /* the first argument of the program where it is the network side */

struct http_child;

struct http_child_setup {
	const char *url, *pin;     /* pin: NULL or "" for none */
	bool plain;
	struct loop
		*loop; /* wakes with watch_kind when http_child_take is to be called; NULL: http_child_wait alone is */
	int watch_kind;
	int64_t late_ms; /* how much later than a request's own time the answer may come; 0: 15 s */
};

int http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f);
void http_child_free(struct http_child *c);          /* abandons the request under way */

bool http_child_idle(const struct http_child *c);    /* ready for a request */

/* What to pin from the next request on; NULL or "" for none. */
void http_child_pin(struct http_child *c, const char *pin);

/* Copies token (NULL: none) and the words; takes over body (malloc'd or NULL). Only when idle. */
void http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms);

/* True: there was an answer, whose body the caller releases. Call it now and then, too: it notices one that hangs. */
bool http_child_take(struct http_child *c, struct http_reply *out);

/* Waits for the answer. Only when not idle. */
void http_child_wait(struct http_child *c, struct http_reply *out);

#endif
