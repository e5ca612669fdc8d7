/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand machines on one market: they join, wait for work, are sold, and are all cut off at once.
 * Each has a key, a session, a host on sale and a long poll of its own; one thread plays them all, on
 * the same machine. By hand: make bench-nodes, or tests/bench/nodes/agents [MACHINES [IDLE SECONDS]]
 */
#include <inttypes.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/web.h"

enum {
	MACHINES_MAX = 20000, BUYERS = 8, JOINING = 32, POLL = 25, RATE_SECONDS = 20, SAMPLES = 100000,
	PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 30000, WINDOWS = 8000, KEY = 64, SHOWN = 3,
};

/* What is asked next. */
enum step { STEP_REST, STEP_JOIN, STEP_TIME, STEP_SESSION, STEP_HOST, STEP_WORK };

struct machine {
	EVP_PKEY *key;
	enum step step;
	unsigned long generation;
	char public[KEY], token[PROC_TEXT], id[PROC_TEXT], session[PROC_TEXT], host[PROC_TEXT], version[32];
	int64_t retry_us, pause_ms, sold_us;
};

struct samples {
	const char *name;
	int64_t us[SAMPLES];
	int count;
};

static struct proc market;
static struct stage stage;
static struct machine *machines;
static struct web *web;
static int count = 1000, errors, waiting_retry, polls, orders, orders_failed, orders_open, woken_idle;
static int64_t sent_us[BUYERS];
static int sold_to[BUYERS];
static unsigned seed = 1;
static struct samples answered = { .name = "order answered" }, woken = { .name = "its agent woken" };

/* ---- Numbers ------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void sample(struct samples *s, int64_t us)
{
	if (s->count < SAMPLES)
		s->us[s->count++] = us;
}

/* In ms; sorted before. */
static double at(const struct samples *s, double part)
{
	return s->count ? (double)s->us[(int)(part * (s->count - 1))] / 1000 : 0;
}

static void tell(struct samples *s)
{
	qsort(s->us, (size_t)s->count, sizeof *s->us, by_value);
	printf("    %-16s %6d   p50 %7.2f ms   p99 %7.2f ms   max %7.2f ms\n", s->name, s->count, at(s, 0.5),
		at(s, 0.99), at(s, 1));
}

static double load(void)
{
	double now = 0;

	return getloadavg(&now, 1) == 1 ? now : -1;
}

/* Of a file of lines "Name: NUMBER kB"; MiB. */
static double memory(const char *file, const char *name)
{
	char path[64], line[256];
	double kib = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)market.pid, file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, name, strlen(name)) == 0)
			kib = strtod(line + strlen(name), NULL);
	if (f)
		fclose(f);
	return kib / 1024;
}

static double seconds_since(int64_t us)
{
	return (double)(web_now_us() - us) / 1e6;
}

/* ---- What machines ask ------------------------------------------------------------------------ */

static void ask(int i, const char *method, const char *path, const char *token, const char *body)
{
	char header[PROC_TEXT + 32] = "", *bytes;
	size_t len;

	if (token)
		snprintf(header, sizeof header, "Authorization: Bearer %s\r\n", token);
	bytes = web_request(method, path, header, body, &len);
	web_send(web, i, bytes, len);
	free(bytes);
}

static void ask_join(int i)
{
	struct machine *m = &machines[i];
	char body[512];

	snprintf(body, sizeof body, "{\"name\":\"machine-%d\",\"public_key\":\"%s\",\"machine\":\"m%d\"}", i, m->public,
		i);
	ask(i, "POST", "/np/v1/agents/join", m->token, body);
}

static void ask_session(int i)
{
	struct machine *m = &machines[i];
	unsigned char bytes[64], base64[96];
	char text[256], body[512], path[PROC_TEXT + 64];
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	size_t len = sizeof bytes;
	long now = (long)time(NULL);
	int n;

	m->generation++;
	n = snprintf(text, sizeof text, "nanopod-agent-session\n%s\n%lu\n%ld\nm%d\n", m->id, m->generation, now, i);
	if (!md || EVP_DigestSignInit(md, NULL, NULL, NULL, m->key) != 1 ||
		EVP_DigestSign(md, bytes, &len, (const unsigned char *)text, (size_t)n) != 1)
		abort();
	EVP_MD_CTX_free(md);
	EVP_EncodeBlock(base64, bytes, (int)len);
	snprintf(body, sizeof body, "{\"generation\":%lu,\"at\":%ld,\"machine\":\"m%d\",\"signature\":\"%s\"}",
		m->generation, now, i, base64);
	snprintf(path, sizeof path, "/np/v1/agents/%s/session", m->id);
	ask(i, "POST", path, NULL, body);
}

static void ask_host(int i)
{
	char body[256];

	snprintf(body, sizeof body, "{\"name\":\"host-%d\",\"instance_sku\":\"h100\"}", i);
	ask(i, "POST", "/np/v1/agent/hosts", machines[i].session, body);
}

static void ask_work(int i)
{
	char path[128];

	snprintf(path, sizeof path, "/np/v1/agent/work?have=%s&wait=%d", machines[i].version,
		*machines[i].version ? POLL : 0);
	ask(i, "GET", path, machines[i].session, NULL);
}

static void ask_next(int i)
{
	switch (machines[i].step) {
	case STEP_REST: break;
	case STEP_JOIN: ask_join(i); break;
	case STEP_TIME: ask(i, "GET", "/np/v1", NULL, NULL); break;
	case STEP_SESSION: ask_session(i); break;
	case STEP_HOST: ask_host(i); break;
	case STEP_WORK: ask_work(i); break;
	}
}

/* ---- What they hear --------------------------------------------------------------------------- */

/* As the agent does it: a pause that doubles, and no two alike. */
static void try_later(int i, const struct web_answer *a)
{
	struct machine *m = &machines[i];

	if (errors++ < SHOWN)
		printf("    machine %d, step %d: %d %.200s\n", i, m->step, a->status,
			a->status ? a->body : "the connection broke");
	m->retry_us = web_now_us() + m->pause_ms * 500 + rand_r(&seed) % (m->pause_ms * 500);
	m->pause_ms = m->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : m->pause_ms * 2;
	waiting_retry++;
}

static void on_work(struct machine *m, const char *body)
{
	char version[PROC_TEXT] = "";

	json_field(body, "version", version);
	polls++;
	if (*m->version && strcmp(m->version, version) != 0) {
		if (m->sold_us)
			sample(&woken, web_now_us() - m->sold_us);
		else
			woken_idle++;
		m->sold_us = 0;
	}
	snprintf(m->version, sizeof m->version, "%.*s", (int)sizeof m->version - 1, version);
}

static void on_machine(const struct web_answer *a)
{
	struct machine *m = &machines[a->conn];

	if (a->status < 200 || a->status > 299) {
		try_later(a->conn, a);
		return;
	}
	m->pause_ms = PAUSE_FIRST_MS;
	switch (m->step) {
	case STEP_JOIN: json_field(a->body, "id", m->id); m->step = STEP_SESSION; break;
	case STEP_TIME: m->step = STEP_SESSION; break;
	case STEP_SESSION: json_field(a->body, "token", m->session); m->step = *m->host ? STEP_WORK : STEP_HOST; break;
	case STEP_HOST: json_field(a->body, "id", m->host); m->step = STEP_REST; break;
	case STEP_WORK: on_work(m, a->body); break;
	case STEP_REST: break;
	}
	ask_next(a->conn);
}

static void on_buyer(const struct web_answer *a)
{
	int b = a->conn - count;

	orders_open--;
	if (a->status != 201 || !strstr(a->body, "\"status\":\"filled\"")) {
		if (orders_failed++ < SHOWN)
			printf("    an order was answered with %d: %.300s\n", a->status, a->body ? a->body : "");
		machines[sold_to[b]].sold_us = 0;
		return;
	}
	sample(&answered, web_now_us() - sent_us[b]);
}

static void retry(void)
{
	int64_t now = web_now_us();

	for (int i = 0; waiting_retry && i < count; i++)
		if (machines[i].retry_us && machines[i].retry_us <= now) {
			machines[i].retry_us = 0;
			waiting_retry--;
			ask_next(i);
		}
}

/* One answer, or none in so many ms. */
static void turn(int ms)
{
	struct web_answer a;

	retry();
	if (!web_next(web, waiting_retry && ms > 10 ? 10 : ms, &a))
		return;
	if (a.conn < count)
		on_machine(&a);
	else
		on_buyer(&a);
}

static void turns(double seconds)
{
	int64_t end = web_now_us() + (int64_t)(seconds * 1e6);

	while (web_now_us() < end)
		turn(5);
}

/* By the market's own count of agents that wait. */
static int market_polls(void)
{
	int status, n = -1;
	char *text = proc_call(&market, "GET", "/metrics", NULL, &status),
	     *line = text ? strstr(text, "\nnanopod_http_polls ") : NULL;

	if (line)
		n = (int)strtol(line + 20, NULL, 10);
	free(text);
	return n;
}

/* Seconds from then until all wait; -1: they do not. */
static double until_all_wait(int64_t from, int limit)
{
	int64_t looked = 0;

	while (seconds_since(from) < limit) {
		turn(1);
		if (waiting_retry || web_now_us() - looked < 20000)
			continue;
		if (market_polls() >= count)
			return seconds_since(from);
		looked = web_now_us();
	}
	return -1;
}

/* ---- Phases ----------------------------------------------------------------------------------- */

static bool made(const char *path, const char *body, const char *field, char room[PROC_TEXT])
{
	int status;
	char *text = proc_call(&market, "POST", path, body, &status);
	bool good = text && status >= 200 && status < 300 && (!field || json_field(text, field, room));

	if (!good)
		fprintf(stderr, "agents: POST %s: %d %s\n", path, status, text ? text : "no answer");
	free(text);
	return good;
}

static bool prepare(void)
{
	unsigned char raw[32];

	for (int i = 0; i < count; i++) {
		struct machine *m = &machines[i];
		size_t len = sizeof raw;

		m->key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
		if (!m->key || EVP_PKEY_get_raw_public_key(m->key, raw, &len) != 1)
			return false;
		EVP_EncodeBlock((unsigned char *)m->public, raw, (int)len);
		m->pause_ms = PAUSE_FIRST_MS;
		if (!made("/np/v1/accounts/seller/tokens", "{\"scopes\":[\"join\"]}", "token", m->token))
			return false;
	}
	return true;
}

/* Each at its own price, so that it is known whom an order wakes. */
static bool offer(void)
{
	char path[PROC_TEXT + 64], body[256];

	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof path, "/np/v1/hosts/%s/offers?account=seller", machines[i].host);
		snprintf(body, sizeof body, "{\"price_dollars_per_node_hour\":\"%d.%06d\",\"end_at\":%ld}",
			6 + i * 600 / 1000000, i * 600 % 1000000, stage.now + 365L * 86400);
		if (!made(path, body, NULL, NULL))
			return false;
	}
	return true;
}

static bool join(void)
{
	int64_t begun = web_now_us(), cpu = proc_cpu_us(&market);
	int next = 0, busy = JOINING;

	web = web_new(market.port, count + BUYERS);
	while (busy && seconds_since(begun) < 300) {
		for (busy = 0; next < count && next < JOINING; next++) {
			machines[next].step = STEP_JOIN;
			ask_next(next);
		}
		turn(5);
		for (int i = 0; i < next; i++)
			busy += machines[i].step != STEP_REST;
		for (; next < count && busy < JOINING; next++, busy++) {
			machines[next].step = STEP_JOIN;
			ask_next(next);
		}
	}
	printf("joined           %.1f s: %d machines, each a token, a session and a host; %.2f ms CPU of the market "
	       "each; %d errors\n",
		seconds_since(begun), count, (double)(proc_cpu_us(&market) - cpu) / 1000 / count, errors);
	return !busy && offer();
}

static bool idle(int seconds)
{
	int64_t begun = web_now_us(), cpu;
	double took, used;

	errors = 0;
	for (int i = 0; i < count; i++) {
		machines[i].step = STEP_WORK;
		ask_next(i);
	}
	took = until_all_wait(begun, 60);
	if (took < 0)
		return false;
	printf("all wait         %.2f s; RSS of the market %.1f MiB, its own %.1f MiB\n", took,
		memory("status", "VmRSS:"), memory("status", "RssAnon:"));
	polls = 0;
	begun = web_now_us();
	cpu = proc_cpu_us(&market);
	turns(seconds);
	used = (double)(proc_cpu_us(&market) - cpu) / 1e4 / seconds_since(begun);
	printf("idle             %d s: %.2f %% of a core, %d polls begun anew, %d errors: %s\n", seconds, used, polls,
		errors, used < 5 && !errors ? "below 5 %" : "NOT below 5 % without errors");
	return used < 5 && !errors;
}

static void buy(int b)
{
	int k = orders++, i = k % count;
	int64_t start = (int64_t)time(NULL) / 3600 * 3600 + 86400 + (int64_t)(k / count % WINDOWS) * 7200;
	char headers[512], body[1024], *bytes;
	size_t len;

	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", stage.token);
	snprintf(body, sizeof body,
		"{\"pool\":\"%s\",\"side\":\"buy\",\"allow_standing\":false,\"instance_sku\":\"%s\","
		"\"allocation_schedule_delta\":[{\"start_at\":%" PRId64 ",\"end_at\":%" PRId64 ",\"node_count\":1}],"
		"\"limit_price_dollars_per_node_hour\":\"90.000000\"}",
		stage.pool, stage.sku, start, start + 3600);
	bytes = web_request("POST", "/v2/orders", headers, body, &len);
	sold_to[b] = i;
	sent_us[b] = machines[i].sold_us = web_now_us();
	orders_open++;
	web_send(web, count + b, bytes, len);
	free(bytes);
}

static bool buying(int rate)
{
	int64_t begun = web_now_us(), cpu = proc_cpu_us(&market);
	int due = rate * RATE_SECONDS, bought = 0, late = 0, failed = orders_failed;

	answered.count = woken.count = woken_idle = 0;
	while (bought < due) {
		if (seconds_since(begun) * rate < bought) {
			turn(1);
			continue;
		}
		for (int b = 0; b < BUYERS; b++)
			if (!web_busy(web, count + b)) {
				buy(b);
				bought++;
				break;
			} else if (b == BUYERS - 1) {
				late++;
				turn(1);
			}
	}
	printf("%3d orders/s     %d s: %.1f %% of a core for the market; %d times all buyers waited, %d failed; load "
	       "%.1f\n",
		rate, RATE_SECONDS, (double)(proc_cpu_us(&market) - cpu) / 1e4 / seconds_since(begun), late,
		orders_failed - failed, load());
	for (int i = 0; i < 200 && (orders_open || woken.count < answered.count); i++)
		turns(0.02);
	tell(&answered);
	tell(&woken);
	if (woken.count != answered.count || woken_idle)
		printf("    %d were not woken, %d for nothing\n", answered.count - woken.count, woken_idle);
	return woken.count == answered.count && orders_failed == failed;
}

/* All cut off at once. They come back at once, too: worse than agents do it, whose pauses differ. */
static bool storm(const char *name, int limit, enum step step)
{
	int64_t begun, cpu = proc_cpu_us(&market);
	double took;

	web_free(web);
	web = web_new(market.port, count + BUYERS);
	errors = waiting_retry = 0;
	begun = web_now_us();
	for (int i = 0; i < count; i++) {
		machines[i].step = step;
		machines[i].retry_us = 0;
		ask_next(i);
	}
	took = until_all_wait(begun, limit);
	printf("%-16s all wait again after %.2f s; %.2f s CPU of the market; %d tries failed: %s\n", name, took,
		(double)(proc_cpu_us(&market) - cpu) / 1e6, errors, took >= 0 ? "done" : "NOT done");
	return took >= 0;
}

static bool restart(const char *const *options)
{
	int64_t begun = web_now_us();

	errors = SHOWN; /* that they break is no news */
	proc_end(&market, SIGKILL);
	turns(0.01);
	if (!proc_start(&market, options))
		return false;
	printf("kill -9          the market is there again after %.2f s\n", seconds_since(begun));
	return storm("  and then", 120, STEP_WORK);
}

int main(int argc, char **argv)
{
	static const char *const options[] = { "--rate", "0", NULL };
	const char *tmp = getenv("TMPDIR");
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16];
	struct rlimit files;
	int seconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 60;
	bool good;

	count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : count;
	snprintf(dir, sizeof dir, "%s/nanopod-bench.XXXXXX", tmp ? tmp : "/tmp");
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (count < 1 || count > MACHINES_MAX || !(machines = calloc((size_t)count, sizeof *machines)) || !mkdtemp(dir))
		return 2;
	snprintf(data, sizeof data, "%s/market", dir);
	proc_init(&market, data);
	if (!proc_start(&market, options) || !stage_set(&market, 0, &stage)) {
		fprintf(stderr, "agents: the market does not start; '%s' says why\n", market.log);
		proc_end(&market, SIGKILL);
		return 1;
	}
	printf("%d machines on one market, load %.1f; RSS of the market before them %.1f MiB\n", count, load(),
		memory("status", "VmRSS:"));
	setvbuf(stdout, NULL, _IOLBF, 0);
	good = prepare() && join() && idle(seconds);
	good &= buying(20);
	good &= buying(200);
	good &= storm("all cut off", 120, STEP_WORK);
	good &= storm("and signed anew", 120, STEP_TIME);
	good &= restart(options);
	printf("%d machines: %s\n", count, good ? "all as it should be" : "NOT as it should be");
	proc_end(&market, SIGTERM);
	proc_clear(&market);
	rmdir(dir);
	return good ? 0 : 1;
}
