/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much the agent moves to measure its way to the market: bytes, requests and time, each way. The network side and
 * the clock are played, so that lines of all speeds take no time.
 */
#include "agentd/market/uplink_speed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../lib/tap.h"
#include "agentd/market/http_child.h"
#include "market/client.h"
#include "market/reason.h"

enum { MEGABYTE = 1000 * 1000, MOST = 16 << 20 };

/* A line: how long an empty request takes, and each KiB in it; what happens to its requests. */
static struct line {
	int64_t trip_us, kilobyte_us;
	int lost_from, lost_to; /* of these requests there is no answer */
	int status;             /* of a market without such a test; 0: it has one */
} line;

static int64_t now_us;
static struct way {
	int requests;
	int64_t bytes, largest, us;
} empty, down, up;
static int asked;
static int64_t bytes_now;
static struct way *way_now;

int __wrap_http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f);
void __wrap_http_child_free(struct http_child *c);
void __wrap_http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms);
void __wrap_http_child_wait(struct http_child *c, struct http_reply *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f)
{
	(void)setup;
	(void)f;
	*out = NULL;
	return 0;
}

void __wrap_http_child_free(struct http_child *c)
{
	(void)c;
}

void __wrap_http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms)
{
	(void)c;
	(void)token;
	(void)whole_ms;
	bytes_now = body ? (int64_t)strlen(body) : strtoll(strchr(path, '=') + 1, NULL, 10);
	way_now = strcmp(method, "POST") == 0 ? &up : bytes_now ? &down : &empty;
	way_now->requests++;
	way_now->bytes += bytes_now;
	way_now->largest = bytes_now > way_now->largest ? bytes_now : way_now->largest;
	free(body);
}

void __wrap_http_child_wait(struct http_child *c, struct http_reply *out)
{
	(void)c;
	*out = (struct http_reply){ .took_us = line.trip_us + bytes_now * line.kilobyte_us / 1000 };
	now_us += out->took_us;
	way_now->us += out->took_us;
	asked++;
	if (line.status) {
		out->rc = REASON_NOT_FOUND;
		out->status = line.status;
	} else if (asked >= line.lost_from && asked < line.lost_to) {
		out->rc = CLIENT_LOST;
	}
	buf_init(&out->body, 16);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){ .tv_sec = now_us / 1000000, .tv_nsec = now_us % 1000000 * 1000 };
	return 0;
}

static int measured(struct line l, struct uplink_speed *out)
{
	const struct identity i = { .plain = true };
	struct fail f = { 0 };

	line = l;
	empty = down = up = (struct way){ 0 };
	asked = 0;
	return uplink_speed(&i, "token", out, &f);
}

/* Both ways: a megabyte at a time, 16 MiB and 5 s in all. */
static void is_bounded(const char *name)
{
	static const int64_t most_us = 5 * 1000 * 1000;

	ok(down.largest <= MEGABYTE && up.largest <= MEGABYTE + 32, "%s: at most a megabyte at a time (%lld, %lld)",
		name, (long long)down.largest, (long long)up.largest);
	ok(down.bytes <= MOST && up.bytes <= MOST + 32LL * 32, "at most 16 MiB each way (%lld, %lld)",
		(long long)down.bytes, (long long)up.bytes);
	ok(empty.us < most_us + line.trip_us, "empty requests begin within 5 s");
	ok(down.us < most_us + line.trip_us + line.kilobyte_us * 1000, "those down, too (%lld)", (long long)down.us);
	ok(up.us < most_us + line.trip_us + line.kilobyte_us * 1001, "and up (%lld)", (long long)up.us);
	ok(empty.requests <= 1 + 20 && down.requests <= 32 + 4 && up.requests <= 32 + 4, "and no more than so many");
}

static void lines(void)
{
	struct uplink_speed s;

	is_int(measured((struct line){ .trip_us = 200, .kilobyte_us = 1 }, &s), 0, "a fast line");
	is_bounded("8 Gbit/s");
	ok(down.bytes > MOST - MEGABYTE && up.bytes > MOST - MEGABYTE, "moves nearly all that it may");
	is_int(down.largest, MEGABYTE, "by the largest pieces");
	is_int(s.down.median, 8000000, "and its speed is known down");
	ok(s.up.median > 7990000 && s.up.median <= 8000000, "and up (%lld)", (long long)s.up.median);

	is_int(measured((struct line){ .trip_us = 20000, .kilobyte_us = 2500 }, &s), 0, "a line of 3.2 Mbit/s");
	is_bounded("3.2 Mbit/s");
	is_int(down.largest, 50000, "keeps to small pieces");
	is_int(s.down.median, 3200, "and is measured");
	ok(down.requests > 30 && up.requests > 30, "as often as its time allows");

	is_int(measured((struct line){ .trip_us = 100000, .kilobyte_us = 0 }, &s), 0, "a fast line from afar");
	is_bounded("100 ms away");
	is_int(down.requests, 32, "is asked so many times");
	is_int(s.latency.median, 100000, "its round trip is told by itself");

	is_int(measured((struct line){ .trip_us = 50000, .kilobyte_us = 80000 }, &s), 0, "a line of 100 kbit/s");
	is_bounded("100 kbit/s");
	ok(down.requests == 2 && up.requests == 2 && s.down.runs == 2, "has time for two pieces");

	is_int(measured((struct line){ .trip_us = 3000000 }, &s), 0, "one that takes seconds for nothing");
	is_bounded("3 s away");
	is_int(s.sent, 1, "is asked once, when the connection is open");
}

static void faults(void)
{
	struct uplink_speed s;

	is_int(measured((struct line){ .trip_us = 1000, .kilobyte_us = 10, .lost_from = 4, .lost_to = 6 }, &s), 0,
		"two lost requests");
	ok(s.lost == 2 && s.sent == 20 && s.latency.runs == 18, "are counted");
	is_int(measured((struct line){ .trip_us = 1000, .lost_from = 4, .lost_to = 99 }, &s), CLIENT_LOST,
		"three in a row end it");
	ok(s.lost == 3 && !down.requests && !up.requests, "before anything is moved");
	is_int(measured((struct line){ .trip_us = 1000, .status = 404 }, &s), -ENOTSUP, "a market without such a test");
	is_int(asked, 1, "is asked once");
}

int main(void)
{
	plan_none;
	lines();
	faults();
	return done();
}
