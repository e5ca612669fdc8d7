/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the proxy share: clients' requests, who asks, and the backends that answer. */
#ifndef MARKETD_PROXY_PROXY_OWN_H
#define MARKETD_PROXY_PROXY_OWN_H

#include <jansson.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/log.h"
#include "base/loop.h"
#include "marketd/gateway/reserved.h"
#include "marketd/outward/outward.h"
#include "marketd/proxy/tokenbudget.h"
#include "marketd/proxy/proxyfile.h"
#include "marketd/proxy/spool.h"
#include "marketd/proxy/sse.h"
#include "marketd/proxy/tokens.h"

struct MHD_Connection;
struct MHD_Daemon;

enum {
	WHO_TEXT = 128,
	CALLER_KEY = 65,
	CALLERS_MAX = 10000,
	BODY_MAX = 32 << 20,    /* of a request, and of a whole answer */
	BODIES_MAX = 512 << 20, /* of all requests and whole answers that are held */
	BODIES_PER_ACCOUNT = 256 << 20,
	OUT_MAX = 256 << 10, /* of a stream, for a client that does not take it */
	WINDOW = 256 << 10,  /* the same before that, of its backend */
	RELAYS_MAX = 2048,
	RELAYS_PER_ACCOUNT = 512,
	ERRANDS_SPARE = 256, /* for the market and for checks, however many requests are under way */
	TRIES_MAX = 3,
	RELAY_ID = 48,
	RELAY_FROM = 1024,
	REFUSAL_TEXT = 400,
	RETRY_TEXT = 32,
};

/* The first member of whatever has an errand. */
enum proxy_kind { PROXY_RELAY, PROXY_CALLER, PROXY_CHECK, PROXY_FOLLOW };

/* As the market says. */
struct who {
	char account[WHO_TEXT], name[WHO_TEXT], token[WHO_TEXT], plan[WHO_TEXT], rate[WHO_TEXT];
	struct gate_limits limits;
};

/* Why a request gets no answer: status, and OpenAI's words for it. */
struct refusal {
	int status;
	const char *type, *code;
	char text[REFUSAL_TEXT], retry[RETRY_TEXT];
	bool final; /* the same request will be refused again: clients of OpenAI's need not try */
};

enum caller_state { CALLER_ASKED, CALLER_GOOD, CALLER_REFUSED };

/* A token that came, by its hash, and what the market says of it. */
struct caller {
	enum proxy_kind kind;
	struct proxy *proxy;
	struct list link, waiting; /* in proxy->callers, the oldest first; relays that wait for the market */
	char key[CALLER_KEY];
	enum caller_state state;
	struct errand *errand;
	int64_t fresh, good; /* clock_ms() until which it need not be asked again; until which it need not answer */
	struct who who;
	struct refusal refusal;
};

struct backend {
	enum proxy_kind kind;
	struct proxy *proxy;
	const struct proxyfile_backend *file; /* NULL: this place is free */
	char url[GATEWAY_TEXT + 32];
	bool up, gone; /* gone: its node has left the reservation; requests under way end */
	int active;
	struct errand *check;
	int64_t check_due;
};

struct model {
	const struct proxyfile_model *file;
	struct backend *backends; /* places for them, which stay where they are */
	size_t count;
	size_t turn;
};

/* A reservation whose nodes are backends. */
struct follow {
	enum proxy_kind kind;
	struct proxy *proxy;
	struct reserved nodes;
	struct errand *errand;
	int64_t due;
	bool failed, full; /* said so */
};

/* The file as it was read, until no request that came under it is left. */
struct served {
	struct list link; /* in proxy->olds, where a newer one is served */
	struct proxyfile file;
	struct model *models; /* file.model_count of them */
	struct follow *follows;
	size_t follow_count;
	size_t relays;
};

/* Of an account that has requests under way: what they hold, so that no one customer takes the gateway from others. */
struct underway {
	char account[WHO_TEXT];
	size_t relays, bytes;
};

enum endpoint { ENDPOINT_NONE, ENDPOINT_MODELS, ENDPOINT_CHAT, ENDPOINT_TEXT, ENDPOINT_EMBED };

enum relay_state {
	RELAY_HEAD,   /* who asks is not known yet */
	RELAY_BODY,   /* the request comes in */
	RELAY_ASKS,   /* a backend works on it, of whom the client has seen nothing */
	RELAY_STREAM, /* the client gets its answer, event by event */
	RELAY_COUNT,  /* the answer is complete; what it used is not on disk yet */
	RELAY_OVER,   /* all of it is in `out` */
};

/* How an answer ended. */
enum outcome { OUTCOME_DONE, OUTCOME_BROKEN, OUTCOME_SILENT, OUTCOME_LEFT };

/* A client's request on its way to a backend, and the answer on its way back. */
struct relay {
	enum proxy_kind kind;
	struct proxy *proxy;
	struct served *served;
	struct list link; /* in proxy->relays */
	struct list wait; /* in caller->waiting or proxy->counting */
	struct MHD_Connection *mhd;
	const char *target; /* where libmicrohttpd read it, with its query */
	size_t target_len;
	struct loop_owned gone_watch;
	enum relay_state state;
	bool suspended, gone, answered, counted, closing;
	enum endpoint endpoint;
	char id[RELAY_ID];
	struct who who;
	bool known;                /* who is filled in */
	struct underway *underway; /* of its account; NULL: it does not count yet */
	size_t held;               /* bytes of it that count */
	int64_t promised;          /* tokens, to it */
	struct buf body;           /* of the request */
	json_t *request;           /* while one is written to a backend */
	bool stream, wants_usage; /* as the client asked */
	struct model *model;
	char name[GATEWAY_TEXT]; /* of the model, as the client called it */
	struct backend *backend;
	uint64_t tried; /* bits: backends of the model */
	int tries;
	char *sent; /* the body for this backend, or the last one */
	size_t sent_len;
	struct errand *errand;
	int64_t deadline; /* clock_ms(): the backend, or the client, has said nothing for too long */
	int64_t began;    /* Unix seconds */
	struct sse sse;
	struct tokens tokens;
	enum outcome outcome;
	bool events, failed;    /* the answer is a stream; its backend said so itself in an event */
	struct buf out;         /* for the client */
	size_t taken;           /* of out */
	int status;             /* of the answer */
	struct refusal refusal; /* status 0: none */
};

struct proxy {
	const char *path; /* of the file */
	struct served *served;
	struct list olds;
	char spool_path[GATEWAY_TEXT];
	const struct log *log;
	struct loop *loop;
	struct outward *outward;
	struct list doors; /* the last one lets clients in */
	struct loop_watch signal_watch;
	int signals;
	struct spool spool;
	struct budgets budgets;
	struct list relays, callers, counting;
	struct table callers_by_key, underway; /* the latter by account */
	size_t relay_count, caller_count, body_bytes;
	uint64_t ids, boot;
	int64_t now_ms, next_sweep, retry_spool;
	bool loopback, resumed, ending;
};

/* proxydoors.c */
int doors_open(struct proxy *p, char *where, struct fail *f);                   /* where: LISTEN_TEXT bytes */
int doors_renew(struct proxy *p, const struct proxyfile *file, struct fail *f); /* its certificate as it is now */
void doors_shut(struct proxy *p);                                               /* nobody comes in any more */
void doors_sweep(struct proxy *p);                                              /* old ones that nobody uses */
/* Is it one of theirs? It stays ready until doors_run(). */
bool doors_watch(const struct proxy *p, const struct loop_watch *w);
int64_t doors_timeout(const struct proxy *p); /* in milliseconds */
void doors_run(struct proxy *p);
void doors_free(struct proxy *p);

/* underway.c */
bool underway_enter(struct relay *x);              /* false: its account has too many under way */
void underway_leave(struct relay *x);              /* it holds nothing any more */
bool underway_hold(struct relay *x, size_t bytes); /* so much in all; false: too much is held, and nothing changed */
void underway_promise(struct relay *x, int64_t tokens); /* that it will use of its budgets */

/* backends.c */
int backends_new(struct proxy *p, struct served *s); /* 0 or -ENOMEM */
void backends_free(struct served *s);
struct model *backends_model(struct served *s, const char *name);
struct backend *backends_pick(struct model *m, uint64_t tried); /* NULL: all were tried */
void backends_turn(struct proxy *p);                            /* asks those whose check is due */
void backends_take(struct backend *b);                          /* its check has ended */
void backends_failed(struct backend *b);                        /* until the next check it is asked last */

/* Of this row of the file: those at other hosts are gone, new ones come. false: there is no place for all. */
bool backends_replace(struct model *m, const struct proxyfile_backend *row, const struct reserved *nodes);

/* following.c */
int follows_new(struct proxy *p, struct served *s, const struct served *was); /* with what `was` knew; 0 or -ENOMEM */
void follows_free(struct served *s);
void follows_turn(struct proxy *p); /* asks the market where it is due */
void follows_take(struct follow *w);

/* caller.c */
enum caller_state caller_find(struct relay *x, const char *authorization, const char *path);
void caller_take(struct caller *c);
void caller_free_all(struct proxy *p);

/* asking.c */
void asking_begin(struct relay *x);   /* the whole request is there */
void asking_take(struct relay *x);    /* its backend said something */
void asking_pump(struct relay *x);    /* its client took something */
void asking_late(struct relay *x);    /* its deadline is over */
void asking_counted(struct relay *x); /* what it used is on disk */
void asking_left(struct relay *x);    /* its client is gone */

/* refusal.c */
void refusal_set(struct refusal *r, int status, const char *type, const char *code, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* 429, as too much is under way. */
void refusal_busy(struct refusal *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool refusal_answer(struct relay *x);        /* puts the refusal, if there is one, into the answer */
char *refusal_json(const struct refusal *r); /* malloc'd; NULL: out of memory */

/* parked.c */
void relay_park(struct relay *x); /* until relay_wake() */
void relay_wake(struct relay *x);
void relay_from(const struct relay *x, char out[RELAY_FROM]); /* a header: its client, as proxies say it */

/* relay.c */
struct MHD_Daemon *relay_listen(struct proxy *p, int fd, bool loopback, const char *cert, const char *key);
void relay_look(struct relay *x);  /* its watch is due */
void relay_sweep(struct proxy *p); /* clients that are gone, deadlines */
void relay_leave_all(struct proxy *p);

/* counting.c */
int counting_open(struct proxy *p, struct fail *f); /* with what earlier runs counted */
void counting_note(struct relay *x);                /* adds its event, once, and has it counted */
bool counting_sync(struct proxy *p);               /* all that was noted is on disk */
struct relay *counting_next(struct proxy *p);      /* of those whose usage is on disk; NULL: none is left */

#endif
