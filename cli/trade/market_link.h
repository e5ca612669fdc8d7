/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from a command to the market: URL and token from the settings, one connection, and what
 * went wrong as a sentence, an error object and an exit status. Commands that use it have
 * COMMAND_MARKET: they get --url and --explain.
 *
 *     struct market_link *m;
 *     int rc = market_sign_in(np, o, 0, &m);        0, or an exit status after saying why
 *     if (market_get(m, "/v2/orders/%s", id) || wire_order(m->doc, WIRE_WHOLE, &order, &m->fail))
 *             rc = market_fail(m, "cannot show '%s'", id);
 *     market_sign_out(m);
 */
#ifndef CLI_TRADE_MARKET_LINK_H
#define CLI_TRADE_MARKET_LINK_H

#include "base/buf.h"
#include "cli/frame/command.h"
#include "market/client.h"
#include "market/wire.h"

enum market_flags {
	MARKET_NO_TOKEN = 1,       /* the requests get a token, so none is looked for */
	MARKET_TOKEN_OPTIONAL = 2, /* a token is sent if there is one */
	MARKET_BRIEFLY = 4,        /* gives up soon on a market that does not answer */
};

struct market_link {
	struct nanopod *np;
	struct client *client;
	const char *url;
	const char *where;         /* the same for what is remembered; NULL with --account: of others nothing is */
	char *token;               /* NULL: none */
	char *token_where;         /* "NANOPOD_TOKEN", "'/home/you/.config/nanopod/token'" */
	bool catching;             /* signals, until market_sign_out() */
	bool socket;               /* over the unix socket of the operator, without a token */
	bool explain;              /* --explain: requests are printed on standard output and not sent */
	struct client_answer answer; /* to the last request */
	struct doc *doc;           /* its JSON; NULL where it had none. Until the next request */
	struct fail fail;          /* why the last one failed */
	const char *field;         /* the option or setting at fault; NULL */
	struct model_whoami who;   /* after market_whoami() */
	struct doc *who_doc;
	struct model_market about; /* after market_ours() */
	struct doc *about_doc;
	int64_t about_ms;          /* when it came, on clock_ms() */
	bool reads;                /* the last request only reads */
	int ours;                  /* -1: not asked yet */
};

/*
 * 0, or an exit status after saying what to do. Catches signals until market_sign_out(): a signal ends the
 * request that is under way with CLIENT_STOPPED. o NULL: a command that has no --explain.
 */
int market_sign_in(struct nanopod *np, const struct options *o, unsigned flags, struct market_link **out);
void market_sign_out(struct market_link *m); /* NULL too */

/* Without a URL: was the local market set up, so that starting it again sets one? */
bool market_local_stopped(void);

/* STATUS_USAGE after "cannot <what>: no market is set" and what to type. */
int market_no_url(struct nanopod *np, const char *what);

/* With a token that is not stored yet; where: what errors call it. */
int market_sign_in_by(struct nanopod *np, const struct options *o, const char *token, const char *where, unsigned flags,
	struct market_link **out);

/*
 * One request. 0, or a negative code (enum reason, client_failure, -EPROTO) with m->fail set. With
 * --explain nothing is sent, and MARKET_EXPLAINED comes back: market_fail() makes STATUS_OK of it.
 */
enum { MARKET_EXPLAINED = -4900 };
int market_get(struct market_link *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int market_send(struct market_link *m, const char *method, const char *path, const struct buf *body, const char *key);

/* Any request; its answer is m->answer, and m->doc if it is JSON. */
int market_call(struct market_link *m, const struct client_call *q);

/* The same for an answer that comes line by line: client_stream_line() reads it. With --explain use market_call(). */
int market_stream_open(struct market_link *m, const struct client_call *q);

/* True for a CLIENT_STOPPED that only the terminal's new size caused: continue. */
bool market_only_resized(int rc);

/*
 * A POST that makes something exactly once: its key is on disk before it leaves, and where no answer came,
 * the same command sends the same request again and says "replayed". what: all that makes two commands the
 * same.
 */
int market_make(struct market_link *m, const char *path, const struct buf *body, const char *what);

/*
 * "nanopod: <fmt>: <m->fail>; <hint>", or the JSON object. The exit status that goes with it.
 */
int market_fail(struct market_link *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The hint that goes with a failure, or NULL: what to type next. */
const char *market_hint(const struct market_link *m, char *room, size_t size);

/*
 * Every member of a list, page by page; path has no cursor and may have a query. fn returns 0 to go
 * on, 1 to end, or a negative code with f set. 0 or a negative code.
 */
typedef int (*market_each_fn)(void *arg, struct doc *d, long at, struct fail *f);
int market_each(struct market_link *m, const char *path, market_each_fn fn, void *arg);

/* Who is signed in: m->who. Asks once. */
int market_whoami(struct market_link *m);

/* Is it a nanopod market, which answers GET /np/v1? 1, 0, or a negative code. Asks once. */
int market_ours(struct market_link *m);

/* 0 if it is a nanopod market; else STATUS_FAILURE after saying that this command needs one. */
int market_need_ours(struct market_link *m, const char *command);

/* spend-max, the most that one command may spend: micro-dollars, 0: no limit. An exit status if it is invalid. */
int market_spend_max(struct nanopod *np, int64_t *micros);

#endif
