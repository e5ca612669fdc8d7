/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics for the market's operator: counted where they happen, written as Prometheus reads them. */
#ifndef MARKETD_API_METRICS_H
#define MARKETD_API_METRICS_H

#include <stdint.h>

#include "base/buf.h"
#include "marketd/api/api.h"

enum { METRIC_BOUNDS = 7, METRIC_STATUSES = 24, METRIC_ROUTES = 512 };

struct histogram {
	uint64_t counts[METRIC_BOUNDS + 1];  /* of each bound, and above the last */
	uint64_t total, sum;
};

struct metric_route {
	const struct route *route;
	struct { int status; uint64_t count; } statuses[METRIC_STATUSES];
	struct histogram micros;
};

struct metrics {
	struct metric_route routes[METRIC_ROUTES + 1];  /* the last: requests without a route */
	struct histogram commit_micros, batch;          /* batch: answers per commit */
	uint64_t commits_failed, snapshots;
	uint64_t rate_limited, auth_failed, quota_refused;
	uint64_t connections_accepted, connections_evicted, connections_timed_out;
	int64_t connections, streams, parked, polls, answer_bytes, upload_bytes;
	const char *database;                           /* path of the file, for its size; NULL */
};

void metrics_request(struct metrics *m, const struct route *route, int status, int64_t micros);
const char *metrics_method(enum method m); /* "GET" */
void metrics_commit(struct metrics *m, int64_t micros, int64_t answers);
int metrics_print(const struct metrics *m, const struct api *api, struct buf *out);

#endif
