/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP for the market, in its one thread: requests of one turn of the loop are answered together,
 * made durable with one commit, and leave then. Nobody can hold the loop: every connection has a
 * deadline, every answer a bound.
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

struct http;

/* All 0: the default in brackets. */
struct http_settings {
	int connections;              /* [4096] */
	int connections_per_address;  /* [256]; those of agents are not counted among them */
	int64_t rate; /* requests a second of one account; what takes long counts as many [1000]; -1: as many as it likes */
	int64_t head_ms;              /* for a request's head [10 s] */
	int64_t request_ms;           /* for all of a request, and for taking its answer [30 s] */
	int64_t idle_ms;              /* between two requests [75 s] */
	int64_t heartbeat_ms;         /* of event streams [15 s] */
};

enum { HTTP_BODY_MAX = 1 << 20, HTTP_HEAD_MAX = 32 * 1024 };

/* loop, api, metrics and log stay the caller's, and outlive it. 0 or a negative code. */
int http_new(struct http **out, struct loop *loop, struct api *api, struct metrics *metrics, const struct log *log,
	const struct http_settings *settings, struct fail *f);
void http_free(struct http *h);

/* fd is taken. cert and key: PEM texts, both NULL without TLS. local: a unix socket, whose peers are operators. */
int http_listen(struct http *h, int fd, bool local, const char *cert, const char *key, struct fail *f);

/* From now on, new connections of TLS listeners get this; those that are open keep what they have. */
int http_new_certificate(struct http *h, const char *cert, const char *key, struct fail *f);

bool http_watches(const struct http *h, const struct loop_watch *w);  /* whether a due watch is one of its own */
int http_timeout(const struct http *h);                                 /* ms until http_turn has something to do; -1 */

/* All that is ready: answers, one commit, and the answers leave. now_ms: clock_ms(). */
void http_turn(struct http *h, int64_t now_ms);

/* No new requests; those under way and those that wait are answered. True once nobody is left. */
void http_quiesce(struct http *h);
bool http_quiet(const struct http *h);

#endif
