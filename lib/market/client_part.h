/* SPDX-License-Identifier: Apache-2.0 */
/* What client*.c share: the state of one transfer. */
#ifndef MARKET_CLIENT_PART_H
#define MARKET_CLIENT_PART_H

#include "market/client.h"
#include "market/curl_calls.h"

enum {
	HEADERS_MAX = 64 * 1024,
	BODY_MAX = 32 << 20,
	LINE_MAX_BYTES = 4 << 20,   /* of a stream */
	STREAM_FULL = 1 << 20,      /* above this the market waits for the reader */
};

/* One request under way. */
struct transfer {
	CURL *easy;
	struct curl_slist *headers;
	struct client_answer *answer;
	const struct curl_calls *curl;
	struct buf lines;           /* of a stream, not handed out yet */
	size_t taken;               /* bytes of it that were handed out */
	bool stream, begun;         /* a stream's answer is 2xx: its body is lines */
	bool added, done, paused, too_large;
	bool cut;                   /* what follows is not the last header block's body */
	CURLcode result;
	int64_t limit_ms; /* what ended it, where that was not whole_ms; 0 */
	char why[CURL_ERROR_SIZE];
};

struct client {
	char *url, *base;           /* as given; the part before the path */
	char *socket;               /* unix:/path; NULL */
	char *token, *ca, *pin;
	bool secure, loopback;      /* https; this machine */
	int64_t connect_ms, whole_ms;
	int64_t reads_ms, slow_ms;
	void (*slow)(void *arg, bool waits);
	void *slow_arg;
	bool slow_said;
	int64_t slow_at, give_up_at; /* of the request under way, on clock_ms(); 0: never */
	int tries, stop_fd;
	struct curl_calls curl;     /* all NULL until the first request */
	CURLM *multi;
	CURL *easy;                 /* kept, with its connection */
	struct transfer stream;
};

/* client_transfer.c: one request, for client.c and for streams. */
void client_clear(struct client_answer *a);
bool client_repeatable(const struct client_call *q); /* may it be sent twice without doing more? */
bool client_was_sent(const struct client *c, const struct transfer *t); /* did a byte of the request leave? */
int client_ready(struct client *c, struct fail *f);
int client_begin(struct client *c, struct transfer *t, const struct client_call *q, struct fail *f);
void client_end(struct client *c, struct transfer *t);
/* Runs until something happened, up to so many ms (-1: no limit). 0 or CLIENT_STOPPED. */
int client_turn(struct client *c, struct transfer *t, int64_t ms, struct fail *f);
/*
 * Around a request with all its tries: says that the market is slow, and says so no more. Between them
 * client_patience() is the longest time to wait at once (-1: any), 0 after it ended *t because the market gave no
 * answer in time.
 */
void client_patience_begin(struct client *c, const struct client_call *q);
int64_t client_patience(struct client *c, struct transfer *t);
void client_patience_end(struct client *c);
int64_t client_slow(struct client *c); /* says it when it is due; ms until then, -1: it is said, or never will be */
/* The result after the end: 0, a reason or a client_failure. */
int client_verdict(const struct client *c, struct transfer *t, const struct client_call *q, struct fail *f);

/* client_text.c: URLs, tokens and paths. */
int client_take_url(struct client *c, const char *url, struct fail *f);
int client_check_path(const char *path, struct fail *f);

#endif
