/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP to a market: keeps one connection, sends one request at a time, and says for every failure what
 * matters with money: may the request have reached the market? Only these files know libcurl.
 */
#ifndef MARKET_CLIENT_H
#define MARKET_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "market/reason.h"

/*
 * Failures that come from no market: codes besides those of enum reason.
 * X(name, code in JSON errors, exit status of nanopod, retryable)
 */
#define CLIENT_FAILURES(X) \
	X(UNREACHABLE, "unreachable", 8, 1) /* not sent: no connection, or not in time */ \
	X(LOST, "lost", 8, 1)               /* sent, but no whole answer came back */ \
	X(UNTRUSTED, "untrusted", 4, 0)     /* the certificate or key does not prove who the market is */ \
	X(BAD_ANSWER, "bad_answer", 1, 0)   /* an answer that makes no sense */ \
	X(BAD_SETUP, "bad_setup", 2, 0)     /* URL, token or file of certificates is unusable */ \
	X(STOPPED, "interrupted", 130, 1)   /* stop_fd became readable */ \
	X(NO_HTTP, "no_http", 1, 0)         /* no libcurl, or too old; an agent cannot give up root */

enum client_failure {
	CLIENT_BASE = -4000,
#define CLIENT_X(name, code, status, retryable) CLIENT_##name,
	CLIENT_FAILURES(CLIENT_X)
#undef CLIENT_X
	CLIENT_END
};

/* The code of an enum reason or client_failure. */
const char *client_code(int code);
int client_status(int code);       /* an exit status of nanopod */
bool client_retryable(int code);

struct client;

#define CLIENT_PIN 1       /* client_setup has `pin` */

/* client_new() copies it. NULL and 0: the default. */
struct client_setup {
	const char *url;           /* https://host[:port][/prefix], http://…, unix:/path */
	const char *token;         /* NULL: none (unix socket, open paths) */
	const char *ca;            /* file of certificates to trust instead of the system's */
	const char *pin; /* "sha256//BASE64", more of them with ';': https only with such a public key, whoever */
			 /* signed its certificate; NULL */
	bool secret;     /* requests carry what signs somebody in, though there is no token yet */
	bool plain;      /* the token, or that, may also go over http:// to other machines */
	int64_t connect_ms, whole_ms; /* 10 s and 60 s */
	int64_t reads_ms; /* a GET whose answer has not begun by then, all tries together, has none; 0: no such limit */
	int64_t slow_ms;  /* after so long without an answer slow(arg, true), after it slow(arg, false) */
	void (*slow)(void *arg, bool waits); /* NULL: none */
	void *slow_arg;
	int tries;                 /* up to, if repeating is safe; 4 */
	int stop_fd;               /* readable: give up; below 1: none */
};

/* 0, or CLIENT_BAD_SETUP. Touches no network and loads no library yet. */
int client_new(const struct client_setup *setup, struct client **out, struct fail *f);
void client_free(struct client *c);

/* Is this token, this URL, this `pin` valid? 0 or CLIENT_BAD_SETUP. */
int client_check_token_text(const char *token, struct fail *f);
int client_check_url(const char *url, struct fail *f);
int client_check_pin(const char *pin, struct fail *f);

struct client_header {
	const char *name, *value;
};

struct client_call {
	const char *method;        /* "GET" */
	const char *path;          /* "/v2/orders?limit=50", appended to the URL; it is checked */
	const char *body;          /* JSON; NULL: none */
	size_t body_len;           /* 0: strlen(body) */
	const char *key;           /* Idempotency-Key: makes a POST repeatable; NULL: none */
	const char *accept;        /* NULL: application/json */
	const char *type;          /* of the body; NULL: application/json */
	bool once;                 /* no second try, whatever happens */
	const struct client_header *headers; /* further ones, ends with { 0 }; NULL: none */
};

/*
 * The market says this before it looks at the request and its key: it holds for that try alone. An earlier one may have
 * been done.
 */
bool client_refused_try(int code);

enum client_sent {
	CLIENT_NOT_SENT,           /* it cannot have reached the market */
	CLIENT_MAYBE,              /* it may have reached the market and may have been done */
	CLIENT_ANSWERED,
};

struct client_answer {
	int status;                /* HTTP's; 0: no answer */
	enum client_sent sent;
	int tries;                 /* how many it took */
	int64_t retry_after;       /* seconds; -1: no header */
	int64_t date;              /* the market's time when it answered (Date); 0: no header */
	bool ours;                 /* it came from a nanopod market (Nanopod-Market) */
	bool replayed;             /* the market repeated its earlier answer for this key */
	char request_id[128];      /* "" if none */
	char type[64];             /* Content-Type without its parameters */
	char field[64];            /* what of the request the market refused; "" where it names nothing */
	struct buf headers;        /* as they came */
	struct buf body;
};

void client_answer_init(struct client_answer *a);
void client_answer_release(struct client_answer *a);

/*
 * 0: the status is 2xx; a negative enum reason: the market refused; else a client_failure. The sentence
 * says what, why and what to do. *a is cleared first and filled in every case.
 */
int client_send(struct client *c, const struct client_call *q, struct client_answer *a, struct fail *f);

/* What client_send would send, as text, the token masked. 0 or -ENOMEM / CLIENT_BAD_SETUP. */
int client_explain(const struct client *c, const struct client_call *q, struct buf *out, struct fail *f);

/* Appends text with all but letters, digits and -._~ as %XX. */
int client_quote(struct buf *out, const char *text);

/* ---- Streams of lines: one at a time, on a connection of their own ----------------------- */

/* 0: the market began to answer with 2xx; else as client_send. a: status and headers (with the body of a refusal). */
int client_stream_open(struct client *c, const struct client_call *q, struct client_answer *a, struct fail *f);

/*
 * 1: *line (without the newline, ends with NUL, valid until the next call); 0: it ended properly;
 * -EAGAIN: nothing came for timeout_ms (-1: for ever); CLIENT_LOST: open it again from where you are.
 */
int client_stream_line(struct client *c, const char **line, size_t *len, int64_t timeout_ms, struct fail *f);
void client_stream_close(struct client *c);

#endif
