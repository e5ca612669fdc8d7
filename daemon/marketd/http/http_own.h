/* SPDX-License-Identifier: Apache-2.0 */
/* What the http*.c files share with each other alone. Each uses only those named before it. */
#ifndef MARKETD_HTTP_HTTP_OWN_H
#define MARKETD_HTTP_HTTP_OWN_H

#include "base/list.h"
#include "marketd/http/http.h"
#include "marketd/http/limit.h"
#include "marketd/http/uri.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;
struct web_file;

enum {
	LISTENERS_MAX = 16,
	ADDRESS_SLOTS = 4096,
	WAITING_MAX = 256,        /* requests that wait for an event, including streams */
	WAITING_PER_ACCOUNT = 16, /* and of strangers, per address */
	WAITING_STRANGERS = 128,  /* all of them: customers find room, however many addresses somebody has */
	WAITING_PER_AGENT = 4,    /* agents do not count there */
	ANSWER_MAX = 16 << 20,    /* one answer */
	ANSWERS_MAX = 128 << 20,  /* all answers that clients have not taken yet; small ones still leave */
	ANSWER_SMALL = 16 << 10,
	WAKE_MS = 100,     /* waiting requests are asked again no more often */
	WAKE_POLL_MS = 10, /* agents: the market knows which of them a commit concerns */
	REQUEST_ID = 24,
};

struct listener {
	struct http *http;
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	int fd;                          /* the listening socket; -1: it only finishes what it has */
	bool tls, local;
};

/* What a connection is doing, which sets its deadline. */
enum conn_state { CONN_IDLE, CONN_HEAD, CONN_BODY, CONN_ANSWER, CONN_WAIT, CONN_STREAM };

struct conn {
	struct list link;                /* in http->conns, the last busy one at the end */
	struct http *http;
	struct listener *listener;
	struct MHD_Connection *mhd;
	int fd;
	uint64_t address; /* of the peer; a request behind a proxy has its own */
	enum conn_state state;
	int64_t deadline;                /* clock_ms(); INT64_MAX: none */
	bool refused, closing;           /* another user on the unix socket; it was shut down */
	bool used;                       /* had a request */
	bool proxied; /* of a proxy that the operator trusts: it does not count for its address, either */
	bool known; /* of an agent with its session: it does not count for its address */
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
	const char *target_at;           /* where libmicrohttpd has it */
	struct uri uri;
	struct buf upload;
	size_t room;                   /* of the body so much is kept; 0: nothing */
	uint32_t counted_bytes, *slot; /* in http->uploads_of; NULL: a stranger's */
	struct list older;             /* in http->strangers while such a body comes in */
	bool head, suspended;
	struct sockaddr_storage client;  /* behind a trusted proxy; family 0: it is the connection's peer */
	int fault;                       /* an error before the API could be asked (enum reason); 0 */
	const char *fault_text;
	char id[REQUEST_ID];
	struct request q;
	struct reply r;
	const struct web_file *file; /* a file of the page instead of an answer of the API; NULL */
	bool packed;                 /* its compressed form */
	int64_t started_us, deadline;
	int counted;                     /* counts as waiting until it is gone: COUNTED_… */

	bool raw;                        /* its handler reads the body */
	bool drops;                      /* the route wants the size of the body alone */
	size_t taken;                    /* bytes of the request's body that came; streams: of r.body that left */
	uint64_t seen;                   /* http->commits at the last ask */
	int64_t beat;                    /* when a heartbeat is due */
	int64_t tick;                    /* when r.tick_ms is over; INT64_MAX: never */
	int64_t paced;                   /* no next piece before this; 0: at any time */
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
	struct list polls;               /* parked requests of agents: many, of which a commit concerns few */
	int64_t poll_due;                /* none of them ends before this */
	int64_t now_ms, next_sweep, last_wake, last_poll;
	uint64_t commits;                /* how many so far; parked requests wait for this to grow */
	uint64_t woken, polled;          /* its value when they were last asked; agents */
	uint64_t errands;                /* the same of api->errands_ended */
	uint64_t ids;
	uint16_t addresses[ADDRESS_SLOTS];
	uint32_t uploads_of[ADDRESS_SLOTS]; /* bytes of large bodies under way, by account or address */
	uint32_t strangers_of[ADDRESS_SLOTS]; /* the same of strangers, by address */
	struct list strangers;                /* whose large bodies are under way, the oldest first */
	int64_t strangers_bytes;              /* of them */
	uint64_t uploads_factor;            /* odd, by chance: nobody can choose whose counter he shares */
	int64_t freed_bytes, next_trim;
	int conn_count;
	bool resumed, quiet, tells; /* tells: the log gets each request */
};

/* http_conn.c */
void conn_state_set(struct conn *c, enum conn_state state);
void conn_shut(struct conn *c);
void conn_known(struct conn *c);                                 /* an agent's */

/* http_page.c */
bool webpage_answer(struct exchange *x); /* false: the request is for the API */
struct MHD_Response *webpage_response(const struct exchange *x);
void webpage_headers(const struct exchange *x, struct MHD_Response *response);

/* http_exchange.c */
void *exchange_begin(void *cls, const char *target, struct MHD_Connection *mhd);
void exchange_free(struct exchange *x);                          /* after waiting_release */
bool exchange_head(struct exchange *x);                          /* target, headers, token; false: refused */
uint64_t exchange_owner(const struct exchange *x);               /* account, agent or address, for limits */
const char *exchange_header(const struct exchange *x, const char *name);
void exchange_ask(struct exchange *x);                           /* lets the API fill r */
void exchange_ready(struct exchange *x);                         /* it may leave: takes it off its list and wakes it */
void exchange_refuse(struct exchange *x, int reason, const char *text);

/* http_cookie.c */
bool cookie_take(
	struct exchange *x); /* who asks, by its header or its cookie; false: another page made its browser ask */
void cookie_header(const struct exchange *x, struct MHD_Response *response);

/* http_upload.c */
void upload_begin(struct exchange *x, uint64_t owner); /* sets room; without it nothing is kept */
void upload_take(struct exchange *x, const char *data, size_t len);
void upload_end(struct exchange *x); /* all of it is there: it gives way to no other */
void upload_release(struct exchange *x);
void upload_trim(struct http *h);

/* http_stream.c */
bool waiting_admit(struct exchange *x);                          /* is there room for one more that waits? */
void waiting_release(struct exchange *x);
struct list *waiting_place(struct exchange *x);                  /* the list where it waits until x->deadline */
void waiting_errands(struct http *h); /* asks again those for whom the market asked somebody else */
void waiting_turn(struct http *h); /* asks again those that a commit or their deadline concerns */
void waiting_end(struct http *h);                                /* ends all of them */
int64_t waiting_deadline(const struct http *h);                  /* INT64_MAX: none */
struct MHD_Response *stream_response(struct exchange *x);

#endif
