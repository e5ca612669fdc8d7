/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child that carries one request at a time to the market and brings the answer back, so that the
 * loop never waits for a network. No thread: whoever forks while another thread holds a lock, of the
 * allocator or the loader, has a child that waits for it for ever, and each of the agent's jobs is a fork.
 */
#ifndef AGENTD_MARKET_HTTP_CHILD_H
#define AGENTD_MARKET_HTTP_CHILD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

struct http_child;

struct http_child_setup {
	const char *url, *pin;     /* pin: NULL or "" for none */
	bool plain;
};

struct http_child_reply {
	int rc;                    /* as client_send */
	int status;                /* HTTP's; 0: none */
	int64_t retry_after;       /* seconds; -1 */
	struct buf body;
	struct fail fail;
};

int http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f);
void http_child_free(struct http_child *c);          /* abandons the request under way */

int http_child_fd(const struct http_child *c);       /* readable: http_child_take has something */
bool http_child_idle(const struct http_child *c);    /* ready for a request */

/* Copies token (NULL: none) and the words; takes over body (malloc'd or NULL). Only when idle. */
void http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms);

/* True: there was an answer. The caller releases out->body. */
bool http_child_take(struct http_child *c, struct http_child_reply *out);

#endif
