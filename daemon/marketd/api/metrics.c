/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/metrics.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "market/money.h"
#include "marketd/store/watch.h"

/* Few, as each route has a series for each. */
static const int64_t micros_bounds[METRIC_BOUNDS] = { 500, 2500, 10000, 50000, 250000, 1000000, 5000000 };
static const int64_t batch_bounds[METRIC_BOUNDS] = { 1, 4, 16, 64, 256, 1024, 4096 };

static void histogram_add(struct histogram *h, const int64_t *bounds, int64_t value)
{
	int i = 0;

	while (i < METRIC_BOUNDS && value > bounds[i])
		i++;
	h->counts[i]++;
	h->total++;
	h->sum += value > 0 ? (uint64_t)value : 0;
}

/* All tables of routes together have fewer than METRIC_ROUTES rows; the last counter takes what does not fit. */
static struct metric_route *metrics_row_of(struct metrics *m, const struct route *route)
{
	size_t at = ((uintptr_t)route / sizeof *route) % METRIC_ROUTES;

	if (!route)
		return &m->routes[METRIC_ROUTES];
	for (int tries = 0; tries < METRIC_ROUTES; tries++, at = (at + 1) % METRIC_ROUTES) {
		if (!m->routes[at].route)
			m->routes[at].route = route;
		if (m->routes[at].route == route)
			return &m->routes[at];
	}
	return &m->routes[METRIC_ROUTES];
}

void metrics_request(struct metrics *m, const struct route *route, int status, int64_t micros)
{
	struct metric_route *row = metrics_row_of(m, route);

	histogram_add(&row->micros, micros_bounds, micros);
	for (int i = 0; i < METRIC_STATUSES; i++) {
		if (!row->statuses[i].status)
			row->statuses[i].status = status;
		if (row->statuses[i].status == status) {
			row->statuses[i].count++;
			return;
		}
	}
}

void metrics_commit(struct metrics *m, int64_t micros, int64_t answers)
{
	histogram_add(&m->commit_micros, micros_bounds, micros);
	histogram_add(&m->batch, batch_bounds, answers);
}

/* ---- Telling ---------------------------------------------------------------------------- */

static void metrics_head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_addf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metrics_number(struct buf *b, const char *name, const char *type, const char *help, int64_t value)
{
	metrics_head(b, name, type, help);
	buf_addf(b, "%s %" PRId64 "\n", name, value);
}

static void metrics_dollars(struct buf *b, const char *name, const char *type, const char *help, int64_t micros)
{
	char room[MONEY_TEXT];

	metrics_head(b, name, type, help);
	buf_addf(b, "%s %s\n", name, money_wire(micros, room));
}

static void metrics_seconds(struct buf *b, int64_t micros)
{
	buf_addf(b, "%" PRId64 ".%06" PRId64, micros / 1000000, micros % 1000000);
}

/* labels: "route=\"…\"", or "" */
static void metrics_histogram(struct buf *b, const char *name, const char *labels, const struct histogram *h,
	const int64_t *bounds, bool time)
{
	const char *comma = *labels ? "," : "", *open = *labels ? "{" : "", *close = *labels ? "}" : "";
	uint64_t below = 0;

	for (int i = 0; i < METRIC_BOUNDS; i++) {
		below += h->counts[i];
		buf_addf(b, "%s_bucket{%s%sle=\"", name, labels, comma);
		if (time)
			metrics_seconds(b, bounds[i]);
		else
			buf_addf(b, "%" PRId64, bounds[i]);
		buf_addf(b, "\"} %" PRIu64 "\n", below);
	}
	buf_addf(b, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n%s_sum%s%s%s ", name, labels, comma, h->total, name, open,
		labels, close);
	if (time)
		metrics_seconds(b, (int64_t)h->sum);
	else
		buf_addf(b, "%" PRIu64, h->sum);
	buf_addf(b, "\n%s_count%s%s%s %" PRIu64 "\n", name, open, labels, close, h->total);
}

const char *metrics_method(enum method m)
{
	return m == METHOD_GET      ? "GET"
		: m == METHOD_POST  ? "POST"
		: m == METHOD_PATCH ? "PATCH"
		: m == METHOD_PUT   ? "PUT"
				    : "DELETE";
}

static void route_labels(const struct metric_route *row, struct buf *out)
{
	buf_clear(out);
	if (row->route)
		buf_addf(out, "method=\"%s\",route=\"%s\"", metrics_method(row->route->method), row->route->path);
	else
		buf_adds(out, "method=\"\",route=\"\"");
}

static void print_requests(const struct metrics *m, struct buf *b)
{
	struct buf labels;

	buf_init(&labels, 1024);
	metrics_head(b, "nanopod_http_requests_total", "counter", "Requests answered, by route and status.");
	for (int i = 0; i <= METRIC_ROUTES; i++) {
		const struct metric_route *row = &m->routes[i];

		route_labels(row, &labels);
		for (int k = 0; k < METRIC_STATUSES && row->statuses[k].status; k++)
			buf_addf(b, "nanopod_http_requests_total{%s,status=\"%d\"} %" PRIu64 "\n", buf_text(&labels),
				row->statuses[k].status, row->statuses[k].count);
	}
	metrics_head(b, "nanopod_http_request_seconds", "histogram",
		"From the request's head to its answer, including the commit.");
	for (int i = 0; i <= METRIC_ROUTES; i++)
		if (m->routes[i].micros.total) {
			route_labels(&m->routes[i], &labels);
			metrics_histogram(b, "nanopod_http_request_seconds", buf_text(&labels), &m->routes[i].micros,
				micros_bounds, true);
		}
	buf_release(&labels);
}

static void print_http(const struct metrics *m, struct buf *b)
{
	metrics_number(b, "nanopod_http_connections", "gauge", "Open connections.", m->connections);
	metrics_number(b, "nanopod_http_connections_accepted_total", "counter", "Connections accepted.",
		(int64_t)m->connections_accepted);
	metrics_number(b, "nanopod_http_connections_evicted_total", "counter", "Idle connections closed to make room.",
		(int64_t)m->connections_evicted);
	metrics_number(b, "nanopod_http_connections_timed_out_total", "counter", "Slow connections closed.",
		(int64_t)m->connections_timed_out);
	metrics_number(b, "nanopod_http_streams", "gauge", "Open event streams.", m->streams);
	metrics_number(b, "nanopod_http_waiting", "gauge", "Requests waiting for an event.", m->parked);
	metrics_number(b, "nanopod_http_polls", "gauge", "Agents waiting for work.", m->polls);
	metrics_number(b, "nanopod_http_answer_bytes", "gauge", "Bytes of answers that clients have not taken yet.",
		m->answer_bytes);
	metrics_number(b, "nanopod_http_upload_bytes", "gauge", "Bytes of large requests that are coming in.",
		m->upload_bytes);
	metrics_number(b, "nanopod_http_rate_limited_total", "counter", "Requests refused by the rate limit.",
		(int64_t)m->rate_limited);
	metrics_number(b, "nanopod_quota_refused_total", "counter", "Changes refused by a quota of an account.",
		(int64_t)m->quota_refused);
	metrics_number(b, "nanopod_http_auth_failures_total", "counter", "Requests with a refused token.",
		(int64_t)m->auth_failed);
}

static void print_store(const struct metrics *m, const struct api *api, struct buf *b)
{
	struct statvfs fs;
	struct stat st;

	metrics_head(b, "nanopod_commit_seconds", "histogram", "Time until a transaction is on disk.");
	metrics_histogram(b, "nanopod_commit_seconds", "", &m->commit_micros, micros_bounds, true);
	metrics_head(b, "nanopod_commit_answers", "histogram", "Answers per commit.");
	metrics_histogram(b, "nanopod_commit_answers", "", &m->batch, batch_bounds, false);
	metrics_number(b, "nanopod_commits_failed_total", "counter", "Commits that failed.",
		(int64_t)m->commits_failed);
	metrics_number(b, "nanopod_ready", "gauge", "1 while the market can write.", market_ready(api->market));
	metrics_number(b, "nanopod_journal_seq", "gauge", "Number of the last event on disk.",
		(int64_t)market_store(api->market)->calls->last_seq(market_store(api->market)));
	if (m->database && stat(m->database, &st) == 0)
		metrics_number(b, "nanopod_database_bytes", "gauge", "Size of the database file.", (int64_t)st.st_size);
	if (m->database && statvfs(m->database, &fs) == 0)
		metrics_number(b, "nanopod_database_free_bytes", "gauge",
			"What its file system has left for the market.", (int64_t)(fs.f_bavail * fs.f_frsize));
}

/* Counts the things of each kind that the _after calls list. */
#define COUNT(type, var, first, next) \
	for (const struct type *x = (first); x; x = (next)) \
		(var)++

static void print_hosts(const struct engine *e, struct buf *b)
{
	int64_t hosts = 0, down = 0, draining = 0, sold = 0, on_sale = 0;

	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id)) {
		const struct piece *p = h->retired ? NULL : engine_piece_at(h, engine_minute(e));

		hosts += !h->retired;
		down += !h->retired && h->down;
		draining += !h->retired && h->drain;
		sold += p && p->lease;
		on_sale += p && !p->lease && p->order && !h->down;
	}
	metrics_number(b, "nanopod_hosts", "gauge", "Hosts that are not retired.", hosts);
	metrics_number(b, "nanopod_hosts_down", "gauge", "Hosts that are down.", down);
	metrics_number(b, "nanopod_hosts_draining", "gauge", "Hosts that their owners take out of service.", draining);
	metrics_number(b, "nanopod_hosts_sold", "gauge", "Hosts that are leased now.", sold);
	metrics_number(b, "nanopod_hosts_on_sale", "gauge", "Hosts that are up and on sale now.", on_sale);
}

static void print_money(const struct engine *e, struct buf *b)
{
	int64_t accounts = 0, suspended = 0, escrow = 0, held = 0, available = 0, hourly = 0;

	for (const struct account *a = engine_account_after(e, 0); a; a = engine_account_after(e, a->id)) {
		accounts++;
		suspended += a->state == ACCOUNT_SUSPENDED;
		available += a->available; /* the sum of all money is credited less fees: it has room */
		held += a->held;
		escrow += a->escrow;
		hourly += engine_burn(e, a->id);
	}
	if (money_mul(hourly, 60, &hourly))
		hourly = INT64_MAX;
	metrics_number(b, "nanopod_accounts", "gauge", "Accounts.", accounts);
	metrics_number(b, "nanopod_accounts_suspended", "gauge", "Accounts that are suspended.", suspended);
	metrics_dollars(b, "nanopod_available_dollars", "gauge", "What all accounts may spend.", available);
	metrics_dollars(b, "nanopod_held_dollars", "gauge", "Money held for open orders.", held);
	metrics_dollars(b, "nanopod_escrow_dollars", "gauge", "Money paid for time that has not passed.", escrow);
	metrics_dollars(b, "nanopod_leases_hourly_dollars", "gauge", "What running leases cost an hour.", hourly);
	metrics_dollars(b, "nanopod_fees_dollars_total", "counter", "Fees that the market has taken.", engine_fees(e));
}

static void print_engine(const struct api *api, struct buf *b)
{
	const struct engine *e = market_engine(api->market);
	int64_t pools = 0, orders = 0, leases = 0, instances = 0, procurements = 0;

	COUNT(pool, pools, engine_pool_after(e, 0, 0), engine_pool_after(e, 0, x->id));
	COUNT(order, orders, engine_order_after(e, 0, 0), engine_order_after(e, 0, x->id));
	COUNT(lease, leases, engine_lease_after(e, 0, 0), engine_lease_after(e, 0, x->id));
	COUNT(instance, instances, engine_instance_after(e, 0, 0), engine_instance_after(e, 0, x->id));
	COUNT(procurement, procurements, engine_procurement_after(e, 0, 0), engine_procurement_after(e, 0, x->id));
	metrics_number(b, "nanopod_pools", "gauge", "Pools.", pools);
	metrics_number(b, "nanopod_orders_open", "gauge", "Open orders.", orders);
	metrics_number(b, "nanopod_leases", "gauge", "Leases that have not ended.", leases);
	metrics_number(b, "nanopod_instances", "gauge", "Instances.", instances);
	metrics_number(b, "nanopod_procurements", "gauge", "Procurements.", procurements);
	metrics_number(b, "nanopod_events_total", "counter", "Events applied.", (int64_t)engine_count(e));
	metrics_number(b, "nanopod_market_time_seconds", "gauge", "The market's minute, in Unix seconds.",
		60 * engine_minute(e));
}

enum { STATES = 3 };

/* Agents and how far behind they are: nodes that are paid for and do not run show here first. */
static void print_agents(const struct api *api, struct buf *b)
{
	static const char *const names[] = { "up", "silent", "joined" };
	const struct engine *e = market_engine(api->market);
	int64_t states[STATES] = { 0 }, silence = 0, unknown = 0, leak = 0, awaits = 0, now = market_now(api->market);

	for (const struct agent *a = engine_agent_after(e, 0, 0); a; a = engine_agent_after(e, 0, a->id)) {
		const struct watched *w = watch_agent(api->watch, a->id);
		int64_t quiet = w ? (api->now_ms - w->heard_ms) / 1000 : 0, age;

		if (a->retired)
			continue;
		for (size_t s = 0; s < STATES; s++)
			states[s] += strcmp(names[s], api_agent_state(api, a)) == 0;
		silence = quiet > silence ? quiet : silence;
		if (!w || w->silent || !w->status.unknown)
			continue;
		unknown += w->status.unknown;
		age = w->status.oldest_unknown + (api->now_ms - w->status.at_ms) / 1000;
		leak = age > leak ? age : leak;
	}
	for (const struct instance *i = engine_instance_after(e, 0, 0); i; i = engine_instance_after(e, 0, i->id)) {
		int64_t since = watch_awaits(e, i);

		if (since && now - since > awaits)
			awaits = now - since;
	}
	metrics_head(b, "nanopod_agents", "gauge", "Agents that are up, silent, or joined but never connected.");
	for (int i = 0; i < STATES; i++)
		buf_addf(b, "nanopod_agents{state=\"%s\"} %" PRId64 "\n", names[i], states[i]);
	metrics_number(b, "nanopod_agent_silent_seconds", "gauge", "How long the longest silent agent has been silent.",
		silence);
	metrics_number(b, "nanopod_agents_without_next_key", "gauge",
		"Agents that have not heard of the next TLS key; those of them that pin the key would refuse it.",
		api->keys.next[0] ? api_agents_unheard(api) : 0);
	metrics_number(b, "nanopod_nodes_unknown", "gauge", "Running nodes that the market did not order.", unknown);
	metrics_number(b, "nanopod_nodes_unknown_seconds", "gauge", "Age of the oldest such node.", leak);
	metrics_number(b, "nanopod_node_awaits_seconds", "gauge",
		"How long the most overdue node should have been running.", awaits);
}

int metrics_print(const struct metrics *m, const struct api *api, struct buf *out)
{
	print_requests(m, out);
	print_http(m, out);
	print_store(m, api, out);
	if (market_ready(api->market)) {
		print_money(market_engine(api->market), out);
		print_hosts(market_engine(api->market), out);
		print_engine(api, out);
		print_agents(api, out);
	}
	return buf_adds(out, "");
}
