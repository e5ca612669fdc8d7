/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent and its network side say to each other: a request or an answer of fixed size, then its body. Both are
 * the same program, but the network side meets strangers, so the agent checks each field of an answer.
 */
#ifndef AGENTD_MARKET_HTTP_WIRE_H
#define AGENTD_MARKET_HTTP_WIRE_H

#include <stdint.h>

#include "agentd/market/identity.h"
#include "base/buf.h"
#include "base/fail.h"

enum { HTTP_BODY_MAX = 8 << 20, HTTP_FD = 3 /* the network side's end */ };

struct http_request {
	char url[IDENTITY_URL], pin[IDENTITY_PIN], token[512], method[8], path[1024];
	int64_t whole_ms;
	uint64_t len;
	uint32_t plain, has_body; /* 0 or 1 */
};

struct http_answer {
	int32_t rc, status;
	int64_t retry_after, took_us;
	uint64_t len;
	char text[sizeof((struct fail *)0)->text];
};

struct http_reply {
	int rc;              /* as client_send */
	int status;          /* HTTP's; 0: none */
	int64_t retry_after; /* seconds; -1 */
	int64_t took_us;     /* from the request to the end of the answer */
	struct buf body;
	struct fail fail;
};

/*
 * 1: it is whole, and *out holds it, whose body the caller releases; 0: more has to come; -EPROTO: nobody who keeps to
 * the rules sends this; -ENOMEM.
 */
int http_wire_read(const char *data, size_t len, struct http_reply *out);

#endif
