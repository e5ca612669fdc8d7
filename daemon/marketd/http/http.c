/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd inside our loop: its listeners, and the turn with its one commit. */
#include "marketd/http/http.h"

#include <microhttpd.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "market/reason.h"
#include "marketd/http/http_hooks.h"
#include "marketd/http/listen.h"

enum { SWEEP_MS = 1000, FAILURES_PER_SECOND = 1, FAILURES_BURST = 20, SPARE = 64, ACCEPTS = 10, RUNS_MAX = 16 };

#define TLS_PRIORITIES "NORMAL:-VERS-TLS1.0:-VERS-TLS1.1"

/* Leaves targets as they came: uri.c takes them apart. */
static size_t hook_unescape(void *cls, struct MHD_Connection *mhd, char *text)
{
	(void)cls, (void)mhd;
	return strlen(text);
}

static void hook_log(void *cls, const char *fmt, va_list ap)
{
	struct listener *l = cls;
	char text[512];

	if (!l->http->log || l->http->log->level < LOG_DEBUG)
		return;
	vsnprintf(text, sizeof text, fmt, ap);
	text[strcspn(text, "\r\n")] = '\0';
	log_at(l->http->log, LOG_DEBUG, "http: %s", text);
}

/* ---- Listeners -------------------------------------------------------------------------- */

/* The logger comes first, so that it hears about the other options. */
static struct MHD_Daemon *start_daemon(struct listener *l, const char *cert, const char *key)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (cert ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(flags, 0, NULL, NULL, hook_request, l,
		MHD_OPTION_EXTERNAL_LOGGER, hook_log, l,
		MHD_OPTION_LISTEN_SOCKET, l->fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)(l->http->set.connections + SPARE),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, 0u,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_NOTIFY_CONNECTION, hook_connection, l,
		MHD_OPTION_NOTIFY_COMPLETED, hook_completed, NULL,
		MHD_OPTION_URI_LOG_CALLBACK, exchange_begin, NULL,
		MHD_OPTION_UNESCAPE_CALLBACK, hook_unescape, NULL,
		MHD_OPTION_ARRAY, cert ? tls : none,
		MHD_OPTION_END);
}

int http_listen(struct http *h, int fd, bool local, const char *cert, const char *key, struct fail *f)
{
	const union MHD_DaemonInfo *info;
	struct listener *l;

	if (h->listener_count == LISTENERS_MAX)
		return fail_set(f, -EMFILE, "a market listens on up to %d addresses", LISTENERS_MAX);
	l = calloc(1, sizeof *l);
	if (!l)
		return fail_set(f, -ENOMEM, "out of memory");
	l->http = h;
	l->fd = fd;
	l->local = local;
	l->tls = cert != NULL;
	l->daemon = start_daemon(l, cert, key);
	if (!l->daemon) {
		free(l);
		return fail_set(f, -EINVAL,
			cert ? "cannot use the certificate and key; are both PEM, and do they match?"
			     : "cannot start the HTTP server");
	}
	info = MHD_get_daemon_info(l->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || loop_watch(h->loop, &l->watch, info->epoll_fd, LOOP_READ) != 0) {
		MHD_quiesce_daemon(l->daemon);
		MHD_stop_daemon(l->daemon);
		free(l);
		return fail_set(f, -EINVAL, "cannot wait for the HTTP server");
	}
	h->listeners[h->listener_count++] = l;
	return 0;
}

/* Takes no new connections. Closes the socket here; other processes' copies of it stay open. */
static void listener_quiesce(struct listener *l)
{
	int fd;

	if (l->fd < 0)
		return;
	fd = MHD_quiesce_daemon(l->daemon);
	if (fd >= 0)
		close(fd);
	l->fd = -1;
}

static void listener_free(struct http *h, size_t i)
{
	struct listener *l = h->listeners[i];

	listener_quiesce(l);
	loop_forget(h->loop, &l->watch);
	MHD_stop_daemon(l->daemon);
	free(l);
	h->listeners[i] = h->listeners[--h->listener_count];
}

void http_tell_requests(struct http *h)
{
	h->tells = !h->tells;
	log_at(h->log, LOG_ERROR, "%s",
		h->tells ? "logging each request; SIGUSR1 ends it" : "no longer logging requests");
}

int http_new_certificate(struct http *h, const char *cert, const char *key, struct fail *f)
{
	size_t count = h->listener_count;

	for (size_t i = 0; i < count; i++) {
		struct listener *l = h->listeners[i];
		struct listen_id id = listen_id(l->fd);
		int fd, rc;

		if (!l->tls || l->fd < 0)
			continue;
		fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return fail_errno(f, -errno, errno, "cannot listen again");
		rc = http_listen(h, fd, l->local, cert, key, f);
		if (rc != 0) {
			listen_drop(fd, id);
			return rc;
		}
		listener_quiesce(l);
	}
	return 0;
}

bool http_watches(const struct http *h, const struct loop_watch *w)
{
	for (size_t i = 0; i < h->listener_count; i++)
		if (&h->listeners[i]->watch == w)
			return true;
	return false;
}

/* ---- The whole -------------------------------------------------------------------------- */

static void or_default(int64_t *value, int64_t fallback)
{
	if (*value == 0)
		*value = fallback;
}

static void fill_settings(struct http_settings *set)
{
	set->connections = set->connections ? set->connections : 4096;
	set->connections_per_address = set->connections_per_address ? set->connections_per_address : 256;
	or_default(&set->rate, 1000);
	or_default(&set->head_ms, 10000);
	or_default(&set->request_ms, 30000);
	or_default(&set->idle_ms, 75000);
	or_default(&set->heartbeat_ms, 15000);
}

int http_new(struct http **out, struct loop *loop, struct api *api, struct metrics *metrics, const struct log *log,
	const struct http_settings *settings, struct fail *f)
{
	struct http *h = calloc(1, sizeof *h);

	if (!h)
		return fail_set(f, -ENOMEM, "out of memory");
	h->loop = loop;
	h->api = api;
	h->metrics = metrics;
	h->log = log;
	h->tells = log->level >= LOG_DEBUG;
	h->set = *settings;
	fill_settings(&h->set);
	list_init(&h->conns);
	list_init(&h->turn);
	list_init(&h->parked);
	list_init(&h->strangers);
	list_init(&h->polls);
	h->poll_due = INT64_MAX;
	list_init(&h->streams);
	h->now_ms = clock_ms();
	if (getrandom(&h->ids, sizeof h->ids, GRND_NONBLOCK) < 0)
		h->ids = (uint64_t)clock_us();
	if (getrandom(&h->uploads_factor, sizeof h->uploads_factor, GRND_NONBLOCK) < 0)
		h->uploads_factor = h->ids * 0x9e3779b97f4a7c15u;
	h->uploads_factor |= 1;
	if (limit_new(&h->rate, h->set.rate, 2 * h->set.rate) != 0 ||
		limit_new(&h->failures, FAILURES_PER_SECOND, FAILURES_BURST) != 0) {
		http_free(h);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	*out = h;
	return 0;
}

/* No connection may be suspended when libmicrohttpd stops. */
void http_free(struct http *h)
{
	struct list *at, *tmp;

	if (!h)
		return;
	h->quiet = true;
	waiting_end(h);
	list_each(at, tmp, &h->turn) {
		struct exchange *x = list_entry(at, struct exchange, link);

		exchange_refuse(x, REASON_UNAVAILABLE, NULL);
		exchange_ready(x);
	}
	while (h->listener_count)
		listener_free(h, h->listener_count - 1);
	limit_free(h->rate);
	limit_free(h->failures);
	free(h);
}

int http_timeout(const struct http *h)
{
	int64_t due = h->next_sweep, waiting = waiting_deadline(h), ms;

	if (h->resumed || !list_empty(&h->turn))
		return 0;
	due = waiting < due ? waiting : due;
	ms = due - clock_ms();
	for (size_t i = 0; i < h->listener_count; i++) {
		MHD_UNSIGNED_LONG_LONG theirs;

		if (MHD_get_timeout(h->listeners[i]->daemon, &theirs) == MHD_YES && (int64_t)theirs < ms)
			ms = (int64_t)theirs;
	}
	return ms < 0 ? 0 : (int)ms;
}

/*
 * libmicrohttpd accepts ten connections per run. Many new ones would wait for a commit per ten, so this
 * accepts them all first.
 */
static void run_all(struct http *h)
{
	h->resumed = false;
	for (size_t i = 0; i < h->listener_count; i++) {
		uint64_t before;
		int runs = 0;

		do {
			before = h->metrics->connections_accepted;
			MHD_run(h->listeners[i]->daemon);
		} while (h->metrics->connections_accepted - before >= ACCEPTS && ++runs < RUNS_MAX);
	}
}

/* One transaction for all that this turn did. Its answers leave after that, or none does. */
static void http_commit(struct http *h)
{
	int64_t started = clock_us(), answers = 0;
	struct list *at, *tmp;
	struct fail f = { 0 };
	int rc = 0;

	if (list_empty(&h->turn) && !market_dirty(h->api->market))
		return;
	rc = market_commit(h->api->market, &f);
	api_committed(h->api, rc != 0);
	if (rc != 0) {
		h->metrics->commits_failed++;
		log_at(h->log, LOG_ERROR, "nothing of this turn was saved: %s", f.text);
	}
	list_each(at, tmp, &h->turn) {
		struct exchange *x = list_entry(at, struct exchange, link);

		if (rc != 0)
			exchange_refuse(x, REASON_UNAVAILABLE, NULL);
		exchange_ready(x);
		answers++;
	}
	if (rc == 0) {
		h->commits++;
		metrics_commit(h->metrics, clock_us() - started, answers);
	}
}

static void http_sweep(struct http *h)
{
	struct list *at, *tmp;

	h->next_sweep = h->now_ms + SWEEP_MS;
	upload_trim(h);
	list_each(at, tmp, &h->conns) {
		struct conn *c = list_entry(at, struct conn, link);

		if (c->closing || c->deadline > h->now_ms)
			continue;
		if (c->state != CONN_IDLE)
			h->metrics->connections_timed_out++;
		conn_shut(c);
	}
	for (size_t i = h->listener_count; i-- > 0;) {
		const union MHD_DaemonInfo *info;

		if (h->listeners[i]->fd >= 0 || h->quiet)
			continue;
		info = MHD_get_daemon_info(h->listeners[i]->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
		if (info && info->num_connections == 0)
			listener_free(h, i);
	}
}

void http_turn(struct http *h, int64_t now_ms)
{
	h->now_ms = h->api->now_ms = now_ms;
	if (now_ms >= h->next_sweep)
		http_sweep(h);
	run_all(h);
	waiting_errands(h);
	http_commit(h);
	waiting_turn(h);
	if (h->resumed)
		run_all(h);
}

void http_quiesce(struct http *h)
{
	struct list *at, *tmp;

	h->quiet = true;
	for (size_t i = 0; i < h->listener_count; i++)
		listener_quiesce(h->listeners[i]);
	waiting_end(h);
	list_each(at, tmp, &h->conns) {
		struct conn *c = list_entry(at, struct conn, link);

		if (c->state == CONN_IDLE)
			conn_shut(c);
	}
}

bool http_quiet(const struct http *h)
{
	return h->conn_count == 0;
}
