/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/uplink_speed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/market/http_child.h"
#include "base/clock.h"
#include "market/client.h"

enum {
	EMPTY = 20, /* requests without bytes */
	LOST_IN_A_ROW = 3,
	PIECES = 32, /* requests with bytes, each way */
	PIECE_FIRST = 50 * 1000,
	PIECE_MOST = 1000 * 1000,
	LONG_PIECE_US = 100 * 1000, /* a request of a fast line is made longer until it takes this */
	BYTES_MOST = 16 << 20,
	EACH_WAY_MS = 5000,
	ANSWER_MS = 5000,
};

static int uplink_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

struct uplink_series uplink_series_of(int64_t *values, int count)
{
	if (count <= 0)
		return (struct uplink_series){ .runs = 0 };
	qsort(values, (size_t)count, sizeof *values, uplink_compare);
	return (struct uplink_series){ .median = values[count / 2],
		.least = values[0],
		.most = values[count - 1],
		.runs = count };
}

struct uplink {
	struct http_child *child;
	const char *token;
};

/* One request, whose body it takes over; *us: how long it took. As client_send. */
static int uplink_ask(const struct uplink *u, const char *path, char *body, int64_t *us, struct fail *f)
{
	struct http_reply r;
	int rc;

	http_child_ask(u->child, u->token, body ? "POST" : "GET", path, body, ANSWER_MS);
	http_child_wait(u->child, &r);
	*us = r.took_us;
	rc = r.rc ? fail_set(f, r.rc, "%s", r.fail.text) : 0;
	if (rc && (r.status == 404 || r.status == 405))
		rc = -ENOTSUP;
	buf_release(&r.body);
	return rc;
}

static bool uplink_is_loss(int rc)
{
	return rc == CLIENT_UNREACHABLE || rc == CLIENT_LOST;
}

/* Lost is a request, not a packet: TCP repeats those, which shows as jitter. */
static int uplink_empty(const struct uplink *u, struct uplink_speed *out, struct fail *f)
{
	int64_t took[EMPTY], apart[EMPTY], us, last = -1, until = clock_ms() + EACH_WAY_MS;
	int n = 0, differ = 0, in_a_row = 0;
	int rc = uplink_ask(u, "/np/v1/speed?bytes=0", NULL, &us, f); /* opens the connection */

	while (!rc && out->sent < EMPTY && clock_ms() < until) {
		rc = uplink_ask(u, "/np/v1/speed?bytes=0", NULL, &us, f);
		out->sent++;
		if (uplink_is_loss(rc)) {
			out->lost++;
			last = -1;
			rc = ++in_a_row < LOST_IN_A_ROW ? 0 : rc;
		} else if (!rc) {
			in_a_row = 0;
			took[n++] = us;
			if (last >= 0)
				apart[differ++] = llabs(us - last);
			last = us;
		}
	}
	out->latency = uplink_series_of(took, n);
	out->jitter = uplink_series_of(apart, differ);
	return rc;
}

/* A round trip is no transfer: a far market is not a thin line. */
static int64_t uplink_kilobits(int64_t bytes, int64_t us, int64_t trip)
{
	int64_t net = us - trip > us / 10 ? us - trip : us / 10;

	return bytes * 8 * 1000 / (net > 0 ? net : 1);
}

/* {"data":"…"} with so many letters that nothing on the way can make much smaller. */
static void uplink_fill(char *body, size_t bytes, uint64_t x)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t at = (size_t)snprintf(body, 16, "{\"data\":\"");

	for (size_t i = 0; i < bytes; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		body[at++] = digits[x & 63];
	}
	memcpy(body + at, "\"}", 3);
}

static int uplink_bytes(const struct uplink *u, bool up, int64_t trip, struct uplink_series *out, struct fail *f)
{
	int64_t rates[PIECES], us, sum = 0, piece = PIECE_FIRST, until = clock_ms() + EACH_WAY_MS;
	char path[64];
	int n = 0, rc = 0;

	while (!rc && n < PIECES && sum + piece <= BYTES_MOST && clock_ms() < until) {
		char *body = up ? malloc((size_t)piece + 32) : NULL;

		if (up && !body)
			return fail_set(f, -ENOMEM, "out of memory");
		if (up)
			uplink_fill(body, (size_t)piece, (uint64_t)clock_us() | 1);
		snprintf(path, sizeof path, "/np/v1/speed");
		if (!up)
			snprintf(path, sizeof path, "/np/v1/speed?bytes=%d", (int)piece);
		rc = uplink_ask(u, path, body, &us, f);
		sum += piece;
		if (rc)
			break;
		rates[n++] = uplink_kilobits(piece, us, trip);
		if (us < LONG_PIECE_US && piece < PIECE_MOST) {
			piece = piece * 4 < PIECE_MOST ? piece * 4 : PIECE_MOST;
			n = 0; /* what was too short to measure does not count */
		}
	}
	*out = uplink_series_of(rates, n);
	return rc;
}

int uplink_speed(const struct identity *i, const char *token, struct uplink_speed *out, struct fail *f)
{
	struct http_child_setup setup = { .url = i->url, .pin = i->pin, .plain = i->plain };
	struct uplink u = { .token = token };
	int rc = http_child_new(&setup, &u.child, f);

	*out = (struct uplink_speed){ .sent = 0 };
	rc = rc ? rc : uplink_empty(&u, out, f);
	rc = rc ? rc : uplink_bytes(&u, false, out->latency.median, &out->down, f);
	rc = rc ? rc : uplink_bytes(&u, true, out->latency.median, &out->up, f);
	http_child_free(u.child);
	return rc;
}
