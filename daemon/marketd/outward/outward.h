/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that the market itself sends: to an issuer of identities, to a policy server. They run beside the ledger in
 * its loop, which never waits for them: each has a deadline and a ceiling, and all together have theirs.
 */
#ifndef MARKETD_OUTWARD_OUTWARD_H
#define MARKETD_OUTWARD_OUTWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/loop.h"

enum {
	ERRANDS_MAX = 64,          /* under way at once */
	ERRAND_BODY_MAX = 1 << 20, /* the most that `max` may be, and of a body that is sent */
	ERRAND_HEADERS_MAX = 32 * 1024,
	ERRAND_FIELD = 128,
};

struct outward;
struct errand;

enum errand_state { ERRAND_RUNNING, ERRAND_DONE, ERRAND_FAILED };

/* All of it is copied, but a body that is lent. */
struct errand_call {
	const char *method;         /* "GET", "POST" */
	const char *url;            /* http:// or https:// */
	const char *socket;         /* a unix socket that takes it instead of the URL's host; NULL */
	const char *const *headers; /* "Name: value", NULL at the end; NULL: none */
	const char *body;           /* NULL: none */
	size_t body_len;
	const char *ca;  /* a file of authorities in PEM; NULL: those that the system trusts */
	int timeout_ms;  /* for the whole, at least 1 */
	int connect_ms;  /* for the connection; 0: libcurl's default */
	size_t max;      /* bytes of the answer's body, up to the ceiling; streams: that wait to be taken */
	bool lent;       /* the body stays where it is until errand_free() */
	bool stream;     /* its answer is taken in pieces; while `max` of it wait, no more is read */
	void *owner;     /* not NULL: outward_news() tells of it, when it ended and when a stream came further */
	bool repeatable; /* doing it twice does no harm, so a kept connection may be used */
};

/*
 * What came of it. Redirects are not followed and count as done, with their status. `why` is a sentence for a person,
 * as in struct fail, which names the URL without its query.
 */
struct errand_answer {
	enum errand_state state;
	int status; /* of a stream: known with its headers; before: 0 */
	struct buf body;
	char etag[ERRAND_FIELD], cache_control[ERRAND_FIELD]; /* of headers; "": none */
	char content_type[ERRAND_FIELD], retry_after[ERRAND_FIELD];
	const char *why;
};

/* The caller keeps the loop, which must outlive this, and frees its errands before. 0 or -ENOMEM. */
int outward_new(struct outward **out, struct loop *loop);
/* The same with other ceilings than ERRANDS_MAX and ERRAND_BODY_MAX. */
int outward_new_wide(struct outward **out, struct loop *loop, int errands, size_t body);
void outward_free(struct outward *o);

/* Starts it; never sleeps. 0, or a negative code where it cannot be sent at all (too many are under way). */
int errand_new(struct outward *o, const struct errand_call *call, struct errand **out, struct fail *f);
const struct errand_answer *errand_look(const struct errand *e);
void errand_free(struct errand *e); /* ends it where it runs */

/* The owner of one that has something new, each time once; NULL: none has. */
void *outward_news(struct outward *o);
void errand_taken(struct errand *e, size_t n); /* of a stream: the first n bytes of its body are no longer needed */

/* For whoever turns the loop: hands over what is due of ours, then lets time pass. */
bool outward_take(struct outward *o, const struct loop_watch *w, uint32_t ready); /* false: it is not ours */
int outward_timeout(const struct outward *o); /* ms until outward_turn has something to do; -1 */
void outward_turn(struct outward *o);

uint64_t outward_ended(const struct outward *o); /* how many have ended so far */

#endif
