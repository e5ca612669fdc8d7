/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders over HTTP as clients see them: each a POST /v2/orders that fills, answered when it is on disk.
 * 1, 64 and 512 kept connections on loopback, from the send to the answer. Before them a gateway's question, GET
 * /np/v1/authz with a policy of 20 rules, a thousand times a second. The client runs on the same machine. By hand: make
 * tests/bench/market/http && tests/bench/market/http [SECONDS]; on a busy machine with chrt -r 20 before it.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/web.h"

enum { DOOR_CONNS = 32, DOOR_PER_SECOND = 1000, DOOR_RULES = 20 };
enum { HOSTS = 64, SAMPLES = 4000000, CONNS_MAX = 512, WINDOWS = 300 * 24 };

static struct proc market;
static struct stage stage;
static int64_t *samples;
static int sample_count, orders, failed;

/* The next free window: all hosts of an hour, then the next hour. */
static char *next_order(size_t *len)
{
	int64_t start = stage.now + 86400 + (int64_t)(orders / HOSTS % WINDOWS) * 3600;
	char headers[512], body[1024];

	orders++;
	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nIdempotency-Key: bench-%d\r\n", stage.token,
		orders);
	snprintf(body, sizeof body,
		"{\"pool\":\"%s\",\"side\":\"buy\",\"allow_standing\":false,\"instance_sku\":\"%s\","
		"\"allocation_schedule_delta\":[{\"start_at\":%" PRId64 ",\"end_at\":%" PRId64 ",\"node_count\":1}],"
		"\"limit_price_dollars_per_node_hour\":\"9.000000\"}",
		stage.pool, stage.sku, start, start + 3600);
	return web_request("POST", "/v2/orders", headers, body, len);
}

static void send_on(struct web *w, int conn)
{
	size_t len;
	char *bytes = next_order(&len);

	web_send(w, conn, bytes, len);
	free(bytes);
}

/* Each connection is opened and has been answered once, before it counts. */
static void warm_up(struct web *w, int conns)
{
	struct web_answer a;
	size_t len;
	char *bytes = web_request("GET", "/healthz", NULL, NULL, &len);
	int left = conns;

	for (int i = 0; i < conns; i++)
		web_send(w, i, bytes, len);
	free(bytes);
	while (left && web_next(w, 10000, &a))
		left--;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double at(double part)
{
	return sample_count ? (double)samples[(int)(part * (sample_count - 1))] / 1000 : 0;
}

static void print_row(const char *what, int64_t took, int64_t cpu)
{
	qsort(samples, (size_t)sample_count, sizeof *samples, by_value);
	printf("%11s %10.0f %8.2f %8.2f %8.2f %12.1f\n", what, (double)sample_count * 1e6 / (double)took, at(0.5),
		at(0.99), at(1), sample_count ? (double)cpu / sample_count : 0);
	fflush(stdout);
}

static void measure(int conns, int seconds)
{
	struct web *w = web_new(market.port, conns);
	int64_t cpu, begun, end, took;
	struct web_answer a;
	char name[16];
	int busy = conns;

	warm_up(w, conns);
	cpu = proc_cpu_us(&market);
	begun = web_now_us();
	end = begun + (int64_t)seconds * 1000000;
	sample_count = 0;
	for (int i = 0; i < conns; i++)
		send_on(w, i);
	while (busy && web_now_us() < end + 10000000) {
		if (!web_next(w, 1000, &a))
			continue;
		if (a.status != 201 || !strstr(a.body, "\"status\":\"filled\"")) {
			if (failed++ < 3)
				printf("an order was answered with %d: %.300s\n", a.status, a.body ? a.body : "");
		} else if (sample_count < SAMPLES) {
			samples[sample_count++] = a.micros;
		}
		if (web_now_us() < end)
			send_on(w, a.conn);
		else
			busy--;
	}
	took = web_now_us() - begun;
	cpu = proc_cpu_us(&market) - cpu;
	snprintf(name, sizeof name, "%d", conns);
	print_row(name, took, cpu);
	web_free(w);
}

/* To these processors alone. */
static void pin(pid_t pid, int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = first; i <= last; i++)
		CPU_SET(i, &set);
	if (sched_setaffinity(pid, sizeof set, &set) != 0)
		perror("http: a processor of its own");
}

static void write_policy(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		exit(1);
	fputs("rules:\n", f);
	for (int i = 0; i < DOOR_RULES; i++)
		fprintf(f,
			"- {name: r%d, when: {account.name: {not: x%d}, account.reputation_score: {above: %d}}, rate: "
			"0}\n",
			i, i, i);
	fputs("default: {allow: true}\n", f);
	fclose(f);
}

/* Each request has its time, whenever the one before is answered: who waits for the market waits in the numbers. */
static void measure_door(const char *name, const char *path, int seconds)
{
	struct web *w = web_new(market.port, DOOR_CONNS);
	int64_t due[DOOR_CONNS], begun, cpu;
	int total = seconds * DOOR_PER_SECOND, sent = 0, answered = 0;
	struct web_answer a;
	char headers[512];
	size_t len;
	char *bytes;

	snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\nX-Original-URI: /v1/chat\r\n", stage.token);
	bytes = web_request("GET", path, headers, NULL, &len);
	warm_up(w, DOOR_CONNS);
	sample_count = 0;
	cpu = proc_cpu_us(&market);
	begun = web_now_us();
	while (answered < total && web_now_us() < begun + (seconds + 10) * (int64_t)1000000) {
		int64_t next = begun + (int64_t)sent * 1000000 / DOOR_PER_SECOND, now = web_now_us();
		int conn = 0;

		/* A client that never sleeps is held back by the kernel, most of all one of real-time priority. */
		if (sent == answered && now + 200 < next)
			nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
		while (conn < DOOR_CONNS && web_busy(w, conn))
			conn++;
		if (sent < total && now >= next && conn < DOOR_CONNS) {
			due[conn] = next;
			web_send(w, conn, bytes, len);
			sent++;
		} else if (web_next(w, now < next ? 0 : 1, &a)) {
			answered++;
			failed += a.status != 200;
			samples[sample_count++] = web_now_us() - due[a.conn];
		}
	}
	failed += total - answered;
	print_row(name, web_now_us() - begun, proc_cpu_us(&market) - cpu);
	free(bytes);
	web_free(w);
}

/* Market and client have a processor each; a route that does nothing comes first, for comparison. The p99. */
static double measure_doors(int seconds)
{
	int all = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	double p99;

	pin(market.pid, 0, 0);
	pin(0, all > 0, all);
	measure_door("healthz", "/healthz", seconds);
	measure_door("authz", "/np/v1/authz", seconds);
	p99 = at(0.99);
	printf("p99 of authz at %d a second %.2f ms: %s\n", DOOR_PER_SECOND, p99, p99 < 1 ? "below 1" : "NOT below 1");
	pin(market.pid, 0, all);
	pin(0, 0, all);
	return p99;
}

int main(int argc, char **argv)
{
	char dir[PROC_TEXT - 64], data[PROC_TEXT - 16], policy[PROC_TEXT];
	const char *const options[] = { "--test-clock=1800000000", "--rate", "0", "--connections", "2000",
		"--connections-per-address", "2000", "--quota", "journal=0", "--quota", "orders=0", "--quota",
		"leases=0", "--policy", policy, NULL };
	static const int conns[] = { 1, 64, CONNS_MAX };
	int seconds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
	const char *tmp = getenv("TMPDIR");
	double p99 = 0, door;

	snprintf(dir, sizeof dir, "%s/nanopod-bench.XXXXXX", tmp ? tmp : "/tmp");
	samples = malloc(SAMPLES * sizeof *samples);
	if (!samples || !mkdtemp(dir))
		return 1;
	snprintf(data, sizeof data, "%s/market", dir);
	snprintf(policy, sizeof policy, "%s/policy.yaml", dir);
	write_policy(policy);
	proc_init(&market, data);
	if (!proc_start(&market, options) || !stage_set(&market, HOSTS, &stage)) {
		fprintf(stderr, "http: the market does not start; '%s' says why\n", market.log);
		proc_end(&market, SIGKILL);
		return 1;
	}
	printf("durable orders over HTTP, %d s each; latency in ms\n%11s %10s %8s %8s %8s %12s\n", seconds,
		"connections", "orders/s", "p50", "p99", "max", "CPU us/order");
	door = measure_doors(seconds * 2);
	for (size_t i = 0; i < sizeof conns / sizeof *conns; i++) {
		measure(conns[i], seconds);
		if (conns[i] == 64)
			p99 = at(0.99);
	}
	printf("%d orders, %d of them not filled; p99 at 64 connections %.2f ms: %s\n", orders, failed, p99,
		p99 < 25 ? "below 25" : "NOT below 25");
	proc_end(&market, SIGTERM);
	proc_clear(&market);
	unlink(policy);
	rmdir(dir);
	free(samples);
	return p99 < 25 && door < 1 && !failed ? 0 : 1;
}
