/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "marketd/api/np/np.h"
#include "marketd/certificate.h"
#include "marketd/http/http.h"
#include "marketd/http/listen.h"
#include "marketd/notify.h"
#include "marketd/oidc/codes.h"
#include "marketd/oidc/issuer.h"
#include "marketd/outward/outward.h"
#include "marketd/passport/passport.h"
#include "marketd/policy/opa.h"
#include "marketd/policy/opadoor.h"
#include "marketd/policy/rules.h"
#include "marketd/series/series.h"
#include "marketd/store/watch.h"

enum {
	DRAIN_MS = 10000,
	RETRY_MS = 1000,
	WATCH_MS = 1000,
	PAUSE_MS = 3000,
	WHERE_MAX = 1024,
	AUDIT_MAX = 1 << 20,
	SWEEP_MINUTES = 1440
};

struct server {
	const struct options *o;
	const struct log *log;
	struct loop *loop;
	struct market *market;
	struct metrics *metrics;
	struct api api;
	struct http *http;
	int sockets[OPTIONS_LISTEN_MAX], socket_count, local;
	int signals;
	struct loop_watch signal_watch;
	char where[WHERE_MAX], first[LISTEN_TEXT + 16]; /* all addresses; the first, as one types it */
	int64_t next_retry, turned, watched, minute;
	bool ending, lost, told; /* told: the log says that all agents have heard of the next key */
};

/* ---- Opening ---------------------------------------------------------------------------- */

static int open_data(const struct server *s, struct fail *f)
{
	struct stat st;

	if (mkdir(s->o->data, 0700) != 0 && errno != EEXIST)
		return fail_errno(f, -errno, errno, "cannot make the folder '%s'", s->o->data);
	if (stat(s->o->data, &st) != 0)
		return fail_errno(f, -errno, errno, "cannot look at '%s'", s->o->data);
	if (!S_ISDIR(st.st_mode))
		return fail_set(f, -ENOTDIR, "'%s' is not a folder", s->o->data);
	if (st.st_mode & 077)
		return fail_set(f, -EPERM, "other users can read '%s'; close it with 'chmod 700 %s'", s->o->data,
			s->o->data);
	return 0;
}

static void add_where(struct server *s, const char *prefix, const char *text)
{
	size_t at = strlen(s->where);

	snprintf(s->where + at, sizeof s->where - at, " %s%s", prefix, text);
}

static int open_socket(struct server *s, const char *text, struct fail *f)
{
	char where[LISTEN_TEXT];
	bool loopback = false;
	int fd, rc = listen_tcp(text, &fd, &loopback, where, f);

	if (rc != 0)
		return rc;
	s->sockets[s->socket_count++] = fd;
	if (!loopback && !s->o->tls_cert && !s->o->insecure)
		return fail_set(f, -EPERM,
			"'%s' is a public address, and without TLS others could read every token; "
			"give --tls-cert and --tls-key, or --insecure behind a proxy with TLS",
			text);
	add_where(s, s->o->tls_cert ? "https://" : "http://", where);
	if (!s->first[0])
		snprintf(s->first, sizeof s->first, "%s%s/", s->o->tls_cert ? "https://" : "http://", where);
	return 0;
}

static int open_sockets(struct server *s, struct fail *f)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < s->o->listen_count; i++)
		rc = open_socket(s, s->o->listen[i], f);
	if (rc == 0)
		rc = listen_unix(s->o->socket, &s->local, f);
	if (rc == 0)
		add_where(s, "unix:", s->o->socket);
	return rc;
}

static int64_t wall_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts.tv_sec;
}

/* With a test clock, time passes only by POST /np/v1/admin/clock. */
static int64_t clock_of(const struct server *s)
{
	if (!s->o->test_clock)
		return wall_clock();
	if (engine_minute(market_engine(s->market)) > 0)
		return market_now(s->market);
	return s->o->test_start ? s->o->test_start : wall_clock();
}

/* Beside the database: a market without samples is one all the same. */
static int open_series(struct server *s, struct fail *f)
{
	char folder[OPTIONS_PATH_MAX];

	snprintf(folder, sizeof folder, "%s/series", s->o->data);
	return series_open(&s->api.series, folder, f);
}

static int open_issuer(struct server *s, struct fail *f)
{
	int rc = issuer_new(&s->api.issuer, &s->o->issuer, s->api.outward, f);

	if (rc == 0 && codes_new(&s->api.codes, s->api.issuer, s->api.outward) != 0)
		rc = fail_set(f, -ENOMEM, "out of memory");
	return rc;
}

static int open_market(struct server *s, struct fail *f)
{
	struct store *store = NULL;
	int rc = store_open(s->o->database, &store, f);

	if (rc != 0)
		return rc;
	rc = market_open(store, &s->market, f);
	if (rc != 0) {
		store->calls->close(store);
		return rc;
	}
	if (s->o->snapshot_every >= 0)
		market_snapshot_every(s->market, (uint64_t)s->o->snapshot_every);
	s->api = (struct api){ .market = s->market,
		.name = s->o->name,
		.test_clock = s->o->test_clock,
		.private_book = s->o->private_book,
		.signin = &s->o->signin,
		.listens = s->o->public_url ? s->o->public_url : s->first,
		.public_url = s->o->public_url,
		.sends_payouts = s->o->stripe.payouts,
		.payout_hold = (int32_t)s->o->payout_hold,
		.dunning = { s->o->dunning[0], s->o->dunning[1], s->o->dunning[2] },
		.metrics = s->metrics };
	s->metrics->database = s->o->database;
	s->api.now_ms = clock_ms();
	s->api.log = s->log;
	buf_init(&s->api.audited, AUDIT_MAX);
	rc = watch_new(&s->api.watch,
		&(struct watch_settings){ .silent_ms = s->o->agent_silent * 1000, .await_seconds = s->o->node_wait },
		s->api.now_ms);
	rc = rc ? rc : outward_new(&s->api.outward, s->loop);
	rc = rc ? rc : quotas_new(&s->api.quotas, s->o->quotas, s->o->quota_count);
	if (rc != 0)
		return fail_set(f, rc, "out of memory");
	if (s->o->issuer.url)
		rc = open_issuer(s, f);
	if (rc != 0)
		return rc;
	np_recheck_begin(&s->api);
	rc = watch_time(s->api.watch, s->market, s->api.now_ms, clock_of(s), f);
	return rc == 0 ? market_commit(s->market, f) : rc;
}

/* Where the new rules are wrong, the old ones go on. */
static int serve_read_policy(struct server *s, struct fail *f)
{
	struct rules *rules = NULL;
	int rc = s->o->policy ? rules_read(&rules, s->o->policy, f) : 0;

	if (rc == 0) {
		rules_free(s->api.policy);
		s->api.policy = rules;
	}
	return rc;
}

static void serve_new_policy(struct server *s)
{
	struct fail f = { 0 };

	if (serve_read_policy(s, &f) != 0)
		log_at(s->log, LOG_ERROR, "keeping the old policy: %s", f.text);
	else if (s->o->policy)
		log_at(s->log, LOG_INFO, "read the policy again");
}

static void serve_new_secrets(struct server *s)
{
	struct fail f = { 0 };

	if (s->api.stripe && stripe_reload(s->api.stripe, &f) != 0)
		log_at(s->log, LOG_ERROR, "keeping the old secrets of Stripe: %s", f.text);
	else if (s->api.stripe)
		log_at(s->log, LOG_INFO, "read the secrets of Stripe again");
	if (s->api.passport && passport_reload(s->api.passport, &f) != 0)
		log_at(s->log, LOG_ERROR, "keeping the old key of Human Passport: %s", f.text);
	if (s->api.opa && opa_reload(s->api.opa, &f) != 0)
		log_at(s->log, LOG_ERROR, "keeping the old token of the policy server: %s", f.text);
	if (s->api.opadoor && opadoor_reload(s->api.opadoor, &f) != 0)
		log_at(s->log, LOG_ERROR, "keeping the old rules for the policy server: %s", f.text);
}

static void serve_take_keys(struct server *s, const struct certificate *c)
{
	if (c->next[0] && strcmp(s->api.keys.next, c->next) != 0) {
		log_at(s->log, LOG_INFO, "announcing the next key to agents: %s", c->next);
		s->told = false;
	}
	tlskeys_set(&s->api.keys, c->pin, c->next);
}

static int open_http(struct server *s, struct fail *f)
{
	struct http_settings set = {
		.connections = (int)s->o->connections,
		.connections_per_address = (int)s->o->connections_per_address,
		.rate = s->o->rate,
		.trusted = s->o->trusted,
		.no_pages = s->o->private_book,
	};
	const char *cert = NULL, *key = NULL;
	struct certificate c;
	int rc = certificate_read(s->o, &c, f);

	if (s->o->tls_cert) {
		cert = buf_text(&c.cert);
		key = buf_text(&c.key);
		serve_take_keys(s, &c);
	}
	if (rc == 0)
		rc = http_new(&s->http, s->loop, &s->api, s->metrics, s->log, &set, f);
	for (int i = 0; rc == 0 && i < s->socket_count; i++) {
		rc = http_listen(s->http, s->sockets[i], false, cert, key, f);
		if (rc == 0)
			s->sockets[i] = -1;
	}
	if (rc == 0)
		rc = http_listen(s->http, s->local, true, NULL, NULL, f);
	if (rc == 0)
		s->local = -1;
	certificate_release(&c);
	return rc;
}

static int serve_open_signals(struct server *s, struct fail *f)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a database over its size limit fails the write, it does not kill us */
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (s->signals < 0 || loop_watch(s->loop, &s->signal_watch, s->signals, LOOP_READ) != 0)
		return fail_errno(f, -errno, errno, "cannot wait for signals");
	return 0;
}

static void serve_raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* ---- Running ---------------------------------------------------------------------------- */

/* Agents that pin the old key do not come back under a key that they never heard of. */
static void serve_say_key(struct server *s, const struct certificate *c)
{
	const struct tlskeys *k = &s->api.keys;
	bool same = strcmp(c->pin, k->now) == 0, announced = strcmp(c->pin, k->next) == 0;
	int64_t agents = api_agents(&s->api), unheard = same ? 0 : announced ? api_agents_unheard(&s->api) : agents;

	log_at(s->log, LOG_INFO, "read the certificate again%s", same ? "" : "; it has another key");
	if (unheard)
		log_at(s->log, LOG_ERROR,
			"%" PRId64 " of %" PRId64
			" agents have not heard of this key; those that pin the old one cannot "
			"connect until it is back: announce the new one first with --tls-next-key",
			unheard, agents);
}

static void new_certificate(struct server *s)
{
	struct fail f = { 0 };
	struct certificate c;
	int rc = certificate_read(s->o, &c, &f);

	if (rc == 0 && s->o->tls_cert)
		rc = http_new_certificate(s->http, buf_text(&c.cert), buf_text(&c.key), &f);
	if (rc != 0) {
		log_at(s->log, LOG_ERROR, "keeping the old certificate: %s", f.text);
	} else if (s->o->tls_cert) {
		serve_say_key(s, &c);
		serve_take_keys(s, &c);
	}
	certificate_release(&c);
}

/* Says once when the next key may be used. */
static void serve_say_all_heard(struct server *s)
{
	if (s->told || !s->api.keys.next[0] || api_agents_unheard(&s->api))
		return;
	s->told = true;
	log_at(s->log, LOG_INFO,
		"all agents (%" PRId64 ") have heard of the next key; the certificate may change to it",
		api_agents(&s->api));
}

static void serve_take_signals(struct server *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (info.ssi_signo == SIGHUP) {
			new_certificate(s);
			serve_new_policy(s);
			serve_new_secrets(s);
		} else if (info.ssi_signo == SIGUSR1) {
			http_tell_requests(s->http);
		} else {
			s->ending = true;
		}
	}
}

static int min_timeout(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Until just after the next minute begins. */
static int until_minute(const struct server *s)
{
	struct timespec ts;

	if (s->o->test_clock)
		return -1;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (int)(60000 - (ts.tv_sec % 60 * 1000 + ts.tv_nsec / 1000000)) + 2;
}

/* This process may have been stopped, and its machine too: then only the time of day has gone on. */
static void keep_pause(struct server *s)
{
	int64_t now_ms = clock_ms(), ms = s->turned ? now_ms - s->turned : 0;
	int64_t was = market_now(s->market), now = clock_of(s);

	if (s->turned && (ms > PAUSE_MS || 1000 * (now - was) > ms + PAUSE_MS))
		watch_paused(s->api.watch, ms > PAUSE_MS ? ms : 0, now_ms, was, now);
	s->turned = now_ms;
}

static void keep_time(struct server *s)
{
	bool was = market_ready(s->market);
	int64_t now_ms = clock_ms();
	struct fail f = { 0 };

	if (!was && now_ms < s->next_retry)
		return;
	s->next_retry = now_ms + RETRY_MS;
	if (watch_time(s->api.watch, s->market, now_ms, clock_of(s), &f) != 0)
		log_at(s->log, LOG_ERROR, "%s", f.text);
	if (!was && market_ready(s->market)) {
		log_at(s->log, LOG_WARN, "the store is writable again");
		np_personhood_again(&s->api);
		s->api.payees_changed = true;
	}
}

/* Takes down the hosts of silent agents and of nodes that do not start. */
static void keep_watch(struct server *s)
{
	int64_t now_ms = clock_ms();
	struct fail f = { 0 };

	if (now_ms < s->watched + WATCH_MS)
		return;
	s->watched = now_ms;
	if (watch_turn(s->api.watch, s->market, now_ms, market_now(s->market), &f) != 0)
		log_at(s->log, LOG_WARN, "cannot take a host down or up: %s", f.text);
	serve_say_all_heard(s);
}

/* What the older APIs promise to do by themselves. */
static void keep_promises(struct server *s)
{
	int64_t minute = engine_minute(market_engine(s->market));
	struct fail f = { 0 };

	if (minute == s->minute || !market_ready(s->market))
		return;
	s->minute = minute;
	if (old_minute(&s->api, &f) != 0)
		log_at(s->log, LOG_WARN, "cannot make the nodes of an order yet: %s", f.text);
	np_recheck_minute(&s->api);
	np_dunning_minute(&s->api);
	if (minute % SWEEP_MINUTES == 0)
		series_sweep(s->api.series, time(NULL));
}

/* One turn: sleeps until something is due, moves the clock, answers all that is ready with one commit. */
static void serve_turn(struct server *s)
{
	int ms = min_timeout(http_timeout(s->http), until_minute(s));
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	ms = min_timeout(ms, outward_timeout(s->api.outward));
	s->api.now_ms = clock_ms();
	ms = min_timeout(ms, np_transfers_timeout(&s->api));
	if (!market_ready(s->market))
		ms = min_timeout(ms, RETRY_MS);
	loop_wait(s->loop, ms);
	while (loop_next(s->loop, &w, &ready, &t) == 1 && w)
		if (w == &s->signal_watch)
			serve_take_signals(s);
		else if (!outward_take(s->api.outward, w, ready) && http_watches(s->http, w))
			break; /* they stay ready until http_turn() handles them */
	keep_pause(s);
	keep_time(s);
	keep_watch(s);
	keep_promises(s);
	outward_turn(s->api.outward);
	if (s->api.issuer)
		issuer_turn(s->api.issuer, clock_ms());
	s->api.now_ms = clock_ms();
	np_transfers_turn(&s->api);
	np_personhood_turn(&s->api);
	np_regroup_turn(&s->api);
	s->api.errands_ended = outward_ended(s->api.outward);
	http_turn(s->http, clock_ms());
	if (market_lost(s->market) && !s->ending) {
		log_at(s->log, LOG_ERROR, "another nanopod-marketd has taken over this market; stopping");
		s->ending = s->lost = true;
	}
}

static void serve_drain(struct server *s)
{
	int64_t deadline = clock_ms() + DRAIN_MS;

	log_at(s->log, LOG_INFO, "stopping after the answers under way");
	http_quiesce(s->http);
	while (!http_quiet(s->http) && clock_ms() < deadline)
		serve_turn(s);
}

static void close_all(struct server *s)
{
	http_free(s->http);
	np_public_close(&s->api);
	api_close(&s->api);
	opa_free(s->api.opa);
	opadoor_free(s->api.opadoor);
	np_regroup_close(&s->api);
	codes_free(s->api.codes);
	np_personhood_close(&s->api);
	passport_free(s->api.passport);
	np_transfers_close(&s->api);
	stripe_free(s->api.stripe);
	issuer_free(s->api.issuer);
	outward_free(s->api.outward);
	quotas_free(s->api.quotas);
	series_close(s->api.series);
	rules_free(s->api.policy);
	watch_free(s->api.watch);
	market_free(s->market);
	for (int i = 0; i < s->socket_count; i++)
		if (s->sockets[i] >= 0)
			close(s->sockets[i]);
	if (s->local >= 0)
		close(s->local);
	if (s->signals >= 0)
		close(s->signals);
	loop_free(s->loop);
	free(s->metrics);
}

int serve(const struct options *o, const struct log *log)
{
	struct server s = { .o = o, .log = log, .local = -1, .signals = -1 };
	struct fail f = { 0 };
	int rc;

	serve_raise_descriptors();
	s.metrics = calloc(1, sizeof *s.metrics);
	rc = s.metrics ? loop_new(&s.loop) : -ENOMEM;
	if (rc != 0)
		fail_errno(&f, rc, -rc, "cannot start");
	rc = rc ? rc : open_data(&s, &f);
	rc = rc ? rc : open_sockets(&s, &f);
	rc = rc ? rc : serve_open_signals(&s, &f);
	rc = rc ? rc : open_market(&s, &f);
	rc = rc ? rc : serve_read_policy(&s, &f);
	if (rc == 0 && o->opa.where)
		rc = opa_new(&s.api.opa, &o->opa, s.api.outward, log, &f);
	if (rc == 0 && (o->opa.where || o->opa.bundle))
		rc = opadoor_new(&s.api.opadoor, &o->opa, &f);
	if (rc == 0 && o->stripe.key_file)
		rc = stripe_new(&s.api.stripe, &o->stripe, s.api.outward, log, &f);
	if (rc == 0 && o->passport.key_file)
		rc = passport_new(&s.api.passport, &o->passport, s.api.outward, &f);
	rc = rc ? rc : open_series(&s, &f);
	rc = rc ? rc : open_http(&s, &f);
	if (rc == 0) {
		log_at(log, LOG_ERROR, "ready%s", s.where);
		notify_ready();
		while (!s.ending)
			serve_turn(&s);
		notify_stopping();
		serve_drain(&s);
		unlink(o->socket);
	} else {
		log_at(log, LOG_ERROR, "%s", f.text);
	}
	close_all(&s);
	return rc != 0 || s.lost;
}
