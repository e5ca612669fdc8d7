/* SPDX-License-Identifier: Apache-2.0 */
/* What outward.c and errand.c share: the errands under way, and libcurl's handle for all of them. */
#ifndef MARKETD_OUTWARD_OUTWARD_OWN_H
#define MARKETD_OUTWARD_OUTWARD_OWN_H

#include "base/list.h"
#include "market/curl_calls.h"
#include "marketd/outward/outward.h"

struct outward {
	struct loop *loop;
	struct curl_calls curl; /* all NULL until the first errand */
	CURLM *multi;
	struct loop_watch *sockets; /* not armed: free */
	int socket_count, errands;  /* errands: the most at once */
	size_t body;                /* the most of one */
	int64_t due;                /* clock_ms() when libcurl wants a turn; -1: it does not */
	struct list running, news;
	int count; /* of those that run */
	uint64_t ended;
};

struct errand {
	struct list link;  /* in outward->running */
	struct list fresh; /* in outward->news */
	void *owner;
	bool stream, paused;
	struct outward *outward;
	CURL *easy;
	struct curl_slist *headers;
	struct buf sent; /* the body; wiped at the end, as it may hold secrets */
	struct errand_answer answer;
	size_t header_bytes;
	bool too_large;
	char *where; /* its URL without the query, for people */
	struct fail why;
	char detail[CURL_ERROR_SIZE];
};

/* Ready to run; NULL: libcurl lacks a feature, or is out of memory. */
struct errand *errand_make(struct outward *o, const struct errand_call *call);
void errand_end(struct errand *e, CURLcode result); /* libcurl has done with it */

#endif
