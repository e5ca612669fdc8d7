/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP for the market, in its one thread. It handles the requests of one turn of the loop together,
 * commits once, and then sends the answers. No client can block the loop: every connection has a
 * deadline, every answer a size limit.
 */
#ifndef MARKETD_HTTP_HTTP_H
#define MARKETD_HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/log.h"
#include "base/loop.h"
#include "marketd/api/api.h"
#include "marketd/api/metrics.h"
#include "marketd/http/trusted.h"

struct http;

/* All 0: the default in brackets. */
struct http_settings {
	int connections;              /* [4096] */
	int connections_per_address;  /* [256]; agents' connections do not count */
	int64_t rate; /* requests per second and account; a slow one counts as many [1000]; -1: no limit */
	int64_t head_ms;              /* for a request's head [10 s] */
	int64_t request_ms;           /* for a whole request, and for the client to take its answer [30 s] */
	int64_t idle_ms;              /* between two requests [75 s] */
	int64_t heartbeat_ms;         /* of event streams [15 s] */
	struct trusted trusted;       /* proxies before the market [none] */
	bool no_pages;                /* the API alone, no page for people */
};

enum { HTTP_BODY_MAX = 1 << 20, HTTP_HEAD_MAX = 32 * 1024 };

/* The caller keeps loop, api, metrics and log, which must outlive this. 0 or a negative code. */
int http_new(struct http **out, struct loop *loop, struct api *api, struct metrics *metrics, const struct log *log,
	const struct http_settings *settings, struct fail *f);
void http_free(struct http *h);

/* Takes fd. cert and key: PEM texts, both NULL without TLS. local: a unix socket, whose clients are the operator. */
int http_listen(struct http *h, int fd, bool local, const char *cert, const char *key, struct fail *f);

/* Logs each request from now on, or no longer. With the level debug it does from the start. */
void http_tell_requests(struct http *h);
/* New connections of TLS listeners get this certificate; open ones keep the old one. */
int http_new_certificate(struct http *h, const char *cert, const char *key, struct fail *f);

bool http_watches(const struct http *h, const struct loop_watch *w);  /* is this due watch one of ours? */
int http_timeout(const struct http *h);                                 /* ms until http_turn has something to do; -1 */

/* Handles all that is ready: makes the answers, commits once, sends them. now_ms: clock_ms(). */
void http_turn(struct http *h, int64_t now_ms);

/* Takes no new requests and answers those under way or waiting. True once no connection is left. */
void http_quiesce(struct http *h);
bool http_quiet(const struct http *h);

#endif
