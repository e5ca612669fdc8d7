/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request and its answer. http/ makes requests from the wire, route.c finds the handler, the files of
 * v2/, np/ and old/ answer. None of them knows a socket.
 */
#ifndef MARKETD_API_API_H
#define MARKETD_API_API_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "marketd/api/tlskeys.h"
#include "marketd/store/market.h"

enum method { METHOD_GET = 1, METHOD_POST = 2, METHOD_PATCH = 4, METHOD_PUT = 8, METHOD_DELETE = 16 };

enum { PATH_PARTS = 3, QUERY_MAX = 64, SESSION_TEXT = 96, HEADERS_TEXT = 512 };

struct request {
	enum method method;
	const char *path;              /* decoded, without the query; "/preview/v2/…" has become "/v2/…" */
	const char *parts[PATH_PARTS]; /* what the path has for {…} in the route, decoded */
	struct { const char *name, *value; } query[QUERY_MAX];
	size_t query_count;
	json_t *body;                  /* the JSON of the request; NULL: none */
	const char *idempotency_key;   /* NULL: none */
	const char *id;                /* request_id, also in the answer's header */
	uint64_t address;              /* where it comes from, for limits */
	bool failing;                  /* and whence so many failed of late that nobody else is asked for it */

	/* Who asks. All 0 on routes that need no token. */
	uint64_t account, token;
	uint64_t person; /* whose the token is; 0: whoever has it */
	int32_t scopes;
	bool local;                    /* came through the unix socket: the operator */
	bool cookie;                   /* the token is that of the page's cookie, not of a header */
	bool page;                     /* the market's own page sent it, and no other page can have */
	const char *origin;            /* where that page is, as its browser says; NULL: not said */
	int refused;                   /* why the token was refused (enum reason); 0 */
	uint64_t joined;               /* account of a used join token, whose answer may have been lost; 0 */
	uint64_t agent, generation;    /* the session of an agent, of its account; 0: none */

	const char *authorization, *if_none_match; /* the headers; NULL */

	/* With ROUTE_RAW: the body as it came, and the header Stripe-Signature; NULL. */
	const char *raw, *signature;
	size_t raw_len;

	/* For streams. */
	const char *accept;            /* the header; NULL */
	const char *last_event_id;     /* the header; NULL */

	/* What a gateway says of the request that it asks for; NULL. Anybody may say that. */
	struct {
		const char *method, *host, *path;
	} original;
	uint64_t resume; /* asked again: continue after this seq, whatever query and headers say; 0: first time */
	uint64_t waited;               /* an agent's reply.version when it began to wait */
	int64_t dropped;               /* bytes of the body, where its route drops them */
	bool tick;                     /* a stream: what comes by time is due, as tick_ms passed, or it is new */
	bool last_ask;                 /* the wait is over: answer with what there is, even nothing */
};

struct codes;
struct gates;
struct issuer;
struct nonces;
struct opa;
struct opadoor;
struct outward;
struct passport;
struct personhood;
struct public_view;
struct rules;
struct sendings;
struct series;
struct stripe;
struct takings;
struct watch;

struct reply {
	int status;
	struct buf body;               /* JSON; empty with 204 */
	const char *type;              /* NULL: application/json */
	int retry_after;               /* seconds; 0: no header */
	char headers[HEADERS_TEXT];    /* api_header(): more of them, each "Name: value" with an LF; "" */
	bool wait; /* events stream: nothing yet; ask again after a commit or when wait_ms is over */
	bool away; /* with wait: ask again when a request that the market sent has ended, and before the commit */
	int64_t wait_ms;
	bool stream; /* stays open: send the body so far, ask again after each commit */
	bool steady; /* with stream: the next piece depends on nothing, so ask at once */
	int64_t tick_ms; /* with stream: ask again after so long, though nothing happened; 0: only after a commit */
	int64_t pace;    /* with stream: bytes per second at most; 0: as fast as its reader takes them */
	uint64_t resume;               /* seq of the last thing in body, passed back in the next request; 0: none yet */
	uint64_t version; /* with wait, for an agent: ask again when engine_agent_version() differs */
	char session[SESSION_TEXT];    /* the token that a browser keeps as its cookie */
	int64_t session_life;          /* of that, in seconds; -1: the browser forgets its cookie; 0: neither */
	bool changed;                  /* route.c: it staged something, so it must wait for the commit */
	bool replayed;                 /* route.c: this answer was stored under its key */
	int allow;                     /* route.c: methods of this path, for a 405 */
	const struct route *route;     /* route.c: the route that answered; NULL: none */
};

/* What the operator says of people's sign-in. */
struct signin_settings {
	bool accounts;      /* a first sign-in without an invitation makes an account */
	const char *groups; /* the claim that has a person's groups; NULL: none is looked at */
	const char *roles;  /* "group=role,…" */
	const char *admin;  /* the group whose people are operators; NULL: none */
	int64_t life;       /* seconds, of a person's token */
};

struct api {
	struct market *market;
	const char *name;              /* of the market, for pages and resource paths */
	bool test_clock;               /* POST /np/v1/admin/clock exists */
	struct routes *routes;         /* route.c's own: made by the first api_answer, freed by api_close */
	struct metrics *metrics;       /* for GET /metrics; NULL: none */
	struct quotas *quotas;         /* what an account may take; NULL: all */
	struct series *series;         /* what machines measured; NULL: nothing is kept */
	struct nonces *nonces;         /* what agents that measure were given; NULL: none was */
	struct public_view *public_view; /* np_public.c: what strangers see; NULL: nobody asked yet */
	bool private_book;               /* strangers see nothing of what is for sale */
	uint64_t undone;                 /* commits that failed: what was read before may not be so */
	struct rules *policy;            /* who may what at what price; NULL: all, at full price */
	struct opa *opa;                 /* a policy server that decides instead; NULL: none */
	struct opadoor *opadoor;         /* where one fetches rules and says what it decided; NULL: none comes */
	struct gates *gates;             /* may/requestgate.c: requests through gateways; NULL: none were limited */
	bool asking;                     /* route.c: a handler needs an answer of its that is on its way */
	struct takings *takings;       /* what was settled this month; NULL: nobody asked yet */
	int64_t verified_minute;       /* np_recheck.c: up to which leases were looked at */
	struct issuer *issuer;         /* who knows people; NULL: nobody does, and there are tokens alone */
	struct codes *codes;           /* of it, for the page; NULL: as above */
	struct regroup *regroup;       /* who/regroup.c: of whom it is asked again; NULL: nobody */
	const struct signin_settings *signin;
	struct outward *outward;       /* what the market asks of others; NULL: nothing */
	uint64_t errands_ended;        /* how many of those have ended */
	struct stripe *stripe;         /* who takes money from people; NULL: the operator alone */
	struct passport *passport;     /* who scores addresses; NULL: nobody does */
	struct personhood *personhood; /* who/personhood.c: what waits for a signature or a score; NULL: nothing */
	const char *listens;           /* the market's own address, for a page that leads back; NULL */
	bool sends_payouts;            /* by Stripe; else the operator sends them */
	bool payees_changed;           /* np_transfers.c: look at all payouts again */
	struct sendings *sendings;     /* np_transfers.c: payouts on their way; NULL: none yet */
	int32_t payout_hold;           /* hours that what was earned waits before it can be paid out */
	int32_t dunning[DUNNING_SUSPENDED]; /* days after which who owes is reminded, warned, suspended; 0: never */
	int64_t dunning_seen;               /* the minute of the last look at who owes */
	const char *public_url;        /* the same where the operator gave it, for texts that people sign; NULL */
	struct watch *watch;           /* which agents have called; NULL: none */
	int64_t now_ms;                /* clock_ms() of this turn */
	const struct log *log;         /* for what auditlog.c keeps; NULL: nothing */
	struct buf audited;            /* auditlog.c: lines that wait for the commit */
	uint64_t audit_lost;           /* auditlog.c: those for which there was no room */
	struct {
		uint64_t pool, procurement;
	} looked;                      /* old/: with which the last minute's look ended */
	struct tlskeys keys;           /* what agents may pin */
};

/* Agents that are not retired and have connected; of those, who have not heard of the next TLS key. */
int64_t api_agents(const struct api *api);
const char *api_agent_state(const struct api *api, const struct agent *a); /* "up", "silent", "joined" or "left" */
int64_t api_agents_unheard(const struct api *api);

/* Fills the reply and returns its status; each handler ends with one of the helpers below. */
typedef int (*api_handler)(struct api *api, const struct request *q, struct reply *r);

enum route_flags {
	ROUTE_OPEN = 1,    /* no token needed */
	ROUTE_CREATES = 2, /* takes an Idempotency-Key, as doing it twice costs twice */
	ROUTE_STREAM = 4,  /* may wait */
	ROUTE_SECRET = 8,  /* its answer is never stored, not even under a key */
	ROUTE_RAW = 32,    /* its body is any bytes: the handler checks who sent it before it reads it */
	ROUTE_DROPS = 16,  /* its body is counted while it comes, and neither kept nor read */
	ROUTE_POLICY = 64, /* for the policy server, by its own token */
};

/* A row drives routing, permission, the OpenAPI document, and the test that walks all routes as a stranger. */
struct route {
	enum method method;
	const char *path;              /* "/v2/orders/{id}" */
	api_handler handler;
	int32_t scopes;                /* any of these; 0 with ROUTE_OPEN */
	int flags;
	const char *summary;           /* one line */
	const char *query;             /* "limit:integer,status:array" ; NULL: none; others are refused */
	const char *body;              /* name of the request's schema in schema.c; NULL: takes none */
	const char *answer;            /* name of the answer's schema; NULL: 204 */
	int ok;                        /* its status when it succeeds */
};

extern const struct route *const api_tables[]; /* each ends with { 0 }; the list ends with NULL (route.c) */

/* Finds the route, checks permission and query names, handles idempotency, calls the handler. All that http/ calls. */
int api_answer(struct api *api, struct request *q, struct reply *r);

/* Whether the request's route has this flag; what it does is not decided here. */
bool api_route_is(struct api *api, const struct request *q, enum route_flags flag);
bool api_policy_server(const struct api *api, const struct request *q); /* it shows that one's token */

/* Call after each market_commit: the answers since the last one are on disk (failed: they are not). */
void api_committed(struct api *api, bool failed);
void api_close(struct api *api);  /* frees what api_answer made; leaves the market alone */

/* ---- For handlers ----------------------------------------------------------------------- */

/* {"error":{"type","message","code","details":[{field,code,message}]},"request_id":…}; field may be NULL. */
int api_refuse(const struct request *q, struct reply *r, int reason, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
int api_json(const struct request *q, struct reply *r, int status, json_t *body); /* takes body; NULL: out of memory */
const char *api_query(const struct request *q, const char *name); /* the first; NULL */
/* The i-th value of a repeated name; NULL past the end. */
const char *api_query_at(const struct request *q, const char *name, size_t i);

/* Like api_refuse with another HTTP status than the reason's, where SF Compute has another; `type` follows it. */
int api_refuse_as(const struct request *q, struct reply *r, int status, int reason, const char *field, const char *fmt,
	...) __attribute__((format(printf, 6, 7)));
/* Refuses with the sentence in why (why->text empty or why NULL: that of the reason). */
int api_failed(const struct request *q, struct reply *r, int reason, const char *field, const struct fail *why);
int api_nothing(struct reply *r);  /* 204 */
/* One more header of the answer. 0; -EINVAL: the value has no place in one; -E2BIG: there are too many. */
int api_header(struct reply *r, const char *name, const char *value);

/* A whole number in [min, max] from the query. true: *out has it (the fallback if absent). false: refused, 422. */
bool api_query_int(const struct request *q, struct reply *r, const char *name, int64_t min, int64_t max,
	int64_t fallback, int64_t *out);
/* "true" or "false". */
bool api_query_bool(const struct request *q, struct reply *r, const char *name, bool fallback, bool *out);

/* The account whose things are asked for. false: the operator named none; refused. */
bool api_whose(const struct request *q, struct reply *r, uint64_t *account);

/* The name of a browser's session, with the id of the token that made it: it ends with that. */
#define NP_SESSION_NAME "browser, signed in by "

/* For which token counts what a request buys: the one that signed in a browser, else its own. */
uint64_t api_spender(const struct engine *e, const struct request *q);

/* market_apply with this request's token, within the account's quotas. 0, or the reason (negative); no answer yet. */
int api_apply(struct api *api, const struct request *q, struct event *ev, const struct effects **did, struct fail *why);
/* The same for what the policy allowed before, with the other events of the same request. */
int api_apply_decided(struct api *api, const struct request *q, struct event *ev, const struct effects **did,
	struct fail *why);
/* The same for an event that has nothing but its subject. */
int api_apply_to(struct api *api, const struct request *q, enum event_kind kind, uint64_t account, uint64_t subject,
	struct fail *why);
/* For what the market does by itself for an account, within the account's quotas. */
struct request api_own(struct api *api, uint64_t account);
/*
 * Replaces an instance: applies EVENT_INSTANCE_STOP, then EVENT_INSTANCE, or neither. What could refuse the new one is
 * asked before the old one stops. `make` must not point into the old one. 0, or the reason; no answer yet.
 */
int api_swap(struct api *api, const struct request *q, struct event *stop, struct event *make,
	const struct effects **did, struct fail *why);

#endif
