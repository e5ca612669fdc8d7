/* SPDX-License-Identifier: Apache-2.0 */
/* What the http*.c files know of each other, and nobody else. Each uses those that are named before it. */
#ifndef MARKETD_HTTP_HTTP_OWN_H
#define MARKETD_HTTP_HTTP_OWN_H

#include "base/list.h"
#include "marketd/http/http.h"
#include "marketd/http/limit.h"
#include "marketd/http/uri.h"

struct MHD_Connection;
struct MHD_Daemon;

enum {
	LISTENERS_MAX = 16,
	ADDRESS_SLOTS = 4096,
	WAITING_MAX = 256,               /* requests that wait for an event, streams among them */
	WAITING_PER_ACCOUNT = 16,
	WAITING_PER_AGENT = 4,           /* agents are not counted among those */
	ANSWER_MAX = 16 << 20,           /* one answer */
	ANSWERS_MAX = 128 << 20,         /* all that clients have not taken yet; small ones leave all the same */
	ANSWER_SMALL = 16 << 10,
	WAKE_MS = 100,                   /* waiting requests are asked again this often at most */
	WAKE_POLL_MS = 10,               /* agents: which of them a commit concerns is known without asking */
	REQUEST_ID = 24,
};

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	int fd;                          /* what is listened on; -1: it only ends what it has */
	bool tls, local;
};

/* What a connection does, and so what its deadline is for. */
enum conn_state { CONN_IDLE, CONN_HEAD, CONN_BODY, CONN_ANSWER, CONN_WAIT, CONN_STREAM };

struct conn {
	struct list link;                /* in http->conns, the one that was busy last at the end */
	struct http *http;
	struct listener *listener;
	struct MHD_Connection *mhd;
	int fd;
	uint64_t address;
	enum conn_state state;
	int64_t deadline;                /* clock_ms(); INT64_MAX: none */
	bool refused, closing;           /* a stranger on the unix socket; it was shut down */
	bool used;                       /* had a request */
	bool known; /* of an agent that showed its session: it does not count as one of its address */
};

enum exchange_state {
	EXCHANGE_HEAD,                   /* its target is known */
	EXCHANGE_BODY,
	EXCHANGE_COMMIT,                 /* answered; the commit is outstanding */
	EXCHANGE_WAIT,                   /* parked until something happens */
	EXCHANGE_READY,                  /* may leave */
	EXCHANGE_SENT,
};

enum { COUNTED_PARKED = 1, COUNTED_STREAM, COUNTED_POLL };

/* A request and its answer. */
struct exchange {
	struct list link;                /* in http->turn, ->parked, ->polls or ->streams */
	struct conn *conn;
	struct http *http;
	enum exchange_state state;
	char *target;                    /* as it came */
	struct uri uri;
	struct buf upload;
	bool too_large, head, suspended;
	int fault;                       /* what was wrong before the API could be asked (enum reason); 0 */
	const char *fault_text;
	char id[REQUEST_ID];
	struct request q;
	struct reply r;
	int64_t started_us, deadline;
	int counted;                     /* as one that waits, until it is gone: COUNTED_… */

	/* Streams */
	size_t taken;                    /* of r.body */
	uint64_t seen;                   /* http->commits when the API was asked last */
	int64_t beat;                    /* when a heartbeat is due */
	bool over;
};

struct http {
	struct loop *loop;
	struct api *api;
	struct metrics *metrics;
	const struct log *log;
	struct http_settings set;
	struct limit *rate, *failures;
	struct listener *listeners[LISTENERS_MAX];
	size_t listener_count;
	struct list conns, turn, parked, streams;
	struct list polls;               /* parked requests of agents: many, and few of them are meant */
	int64_t poll_due;                /* none of them is over before */
	int64_t now_ms, next_sweep, last_wake, last_poll;
	uint64_t commits;                /* how many there were; parked ones look for this to move */
	uint64_t woken, polled;          /* what it was when they were asked last; agents */
	uint64_t ids;
	uint16_t addresses[ADDRESS_SLOTS];
	int conn_count;
	bool resumed, quiet;
};

/* http_conn.c */
void conn_state_set(struct conn *c, enum conn_state state);
void conn_shut(struct conn *c);
void conn_known(struct conn *c);                                 /* an agent's */

/* http_exchange.c */
void *exchange_begin(void *cls, const char *target, struct MHD_Connection *mhd);
void exchange_free(struct exchange *x);                          /* after waiting_release */
const char *exchange_header(const struct exchange *x, const char *name);
void exchange_ask(struct exchange *x);                           /* fills r, by the API */
void exchange_ready(struct exchange *x);                         /* may leave: takes it from its list and wakes it */
void exchange_refuse(struct exchange *x, int reason, const char *text);

/* http_stream.c */
bool waiting_admit(struct exchange *x);                          /* there is room for one more that waits */
void waiting_release(struct exchange *x);
struct list *waiting_place(struct exchange *x);                  /* where it waits from now on, until x->deadline */
void waiting_turn(struct http *h); /* asks those again that a commit or their deadline concerns */
void waiting_end(struct http *h);                                /* all of them are over */
int64_t waiting_deadline(const struct http *h);                  /* INT64_MAX: none */
struct MHD_Response *stream_response(struct exchange *x);

#endif
