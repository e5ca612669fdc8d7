/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of the market's memory and journal one account may take. A request is checked before it becomes an event,
 * so a replay never depends on what the operator allows today. What reduces is never refused. A request of several
 * events asks for all of them before its first one, so that it is done whole or not at all.
 */
#ifndef MARKETD_API_MAY_QUOTA_H
#define MARKETD_API_MAY_QUOTA_H

#include "marketd/api/api.h"

enum {
	QUOTA_ROWS = 64,    /* --quota on one command line */
	QUOTA_ANSWER = 256, /* what an answer kept under a key needs beside its bytes */
};

/* X(name, word, default, what people call it). The first ones count things that the market keeps of the account. */
#define QUOTAS(X) \
	X(TOKENS, "tokens", 100000, "tokens") \
	X(POOLS, "pools", 100000, "pools") \
	X(HOSTS, "hosts", 100000, "hosts") \
	X(AGENTS, "agents", 20000, "agents") \
	X(ORDERS, "orders", 20000, "open orders") \
	X(LEASES, "leases", 200000, "leases") \
	X(INSTANCES, "instances", 100000, "nodes") \
	X(PROCUREMENTS, "procurements", 1000, "procurements") \
	X(VOLUMES, "volumes", 1000, "volumes") \
	X(TEXT, "text", 128, "MiB of names, tags, user data and measurements") \
	X(JOURNAL, "journal", 512, "MiB of changes within a day") \
	X(AGENT_JOURNAL, "agent-journal", 2048, "MiB of reports by agents within a day") \
	X(SPEED, "speed", 1024, "MiB of speed tests within a day")

enum quota_kind {
#define QUOTA_X(name, word, fallback, text) QUOTA_##name,
	QUOTAS(QUOTA_X)
#undef QUOTA_X
		QUOTA_KINDS,
	QUOTA_COUNTS = QUOTA_TEXT
};

/* What the operator set. */
struct quota_row {
	const char *account; /* name or id, not terminated; NULL: of every account */
	size_t account_len;
	enum quota_kind kind;
	int64_t limit; /* 0: none */
};

/* "pools=5000" or "acme:pools=5000", which must stay as long as the row. */
bool quota_read(const char *text, struct quota_row *out);

/* What the events of one request add. Starts as zeroes. */
struct quota_need {
	uint64_t account;
	int64_t made[QUOTA_COUNTS];
	int64_t text; /* bytes */
	bool makes;   /* something that waits for room, also where an agent asks */
};

struct quotas;
/* rows: a later one of the same account and kind counts. 0 or -ENOMEM. */
int quotas_new(struct quotas **out, const struct quota_row *rows, size_t count);
void quotas_free(struct quotas *all);

void quotas_begin(struct quotas *all);  /* a new request */
void quotas_undone(struct quotas *all); /* a commit failed: the market is as it was before */
void quota_need_add(const struct api *api, struct quota_need *need, const struct event *ev);
/* 0: there is room, and no event of this request will be refused. Else REASON_QUOTA or REASON_RATE, as quota_check. */
int quota_grant(struct api *api, const struct request *q, const struct quota_need *need, struct fail *why);
/* The request ends or gives back: none of its events will be refused. */
void quota_reduces(struct quotas *all);
/* 0, REASON_QUOTA or, where waiting helps, REASON_RATE. The operator has no quotas. */
int quota_check(struct api *api, const struct request *q, const struct event *ev, struct fail *why);
/* So many bytes to or from an agent that measures, which nobody keeps. All of an account: as ten. 0 or REASON_RATE. */
int quota_speed(struct api *api, const struct request *q, int64_t bytes, struct fail *why);
/* The event was done; or, without one, so many bytes were kept. */
void quota_charge(struct api *api, const struct request *q, const struct event *ev, size_t effects, size_t bytes);

#endif
