/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where usage events are sent. A receiver is a table of calls: meterlago.c has Lago's, meterfile.c a file's; another
 * one is a file with its table, and its row in meterway.c.
 */
#ifndef CLI_METER_METERWAY_H
#define CLI_METER_METERWAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "market/wire.h"

/* Events in the order of the ledger or spool, with the document that they stand in: each is a CloudEvent there. */
struct meter_batch {
	struct doc *doc;
	const struct model_usage *list;
	size_t count;
};

/* What a receiver counted of one account and tier since `from` (ISO 8601; NULL: it knows none), in its last answer. */
struct meter_counted {
	const char *from;
	const struct model_metered *list;
	size_t count;
};

/* All events of a document; free *list. 0 or -EPROTO. */
int meter_events(struct doc *d, struct model_usage **list, size_t *count, struct fail *f);

struct meter_way;

struct meter_calls {
	const char *scheme; /* "lago:" */
	bool keyed;         /* it needs a key */
	/* The rest of the address. 0 or a negative code with a sentence. */
	int (*open)(struct meter_way *w, const char *where, const char *key, struct fail *f);
	void (*close)(struct meter_way *w);
	/*
	 * 0: it has all of them, each once, however often they were sent. Else a negative code: it may have some; the
	 * sentence goes on from the receiver's name. CLIENT_STOPPED: a signal came.
	 */
	int (*send)(struct meter_way *w, const struct meter_batch *b, struct fail *f);
	int (*counted)(struct meter_way *w, const char *account, const char *tier, struct meter_counted *out,
		struct fail *f); /* NULL: it cannot be asked */
};

struct meter_way {
	const struct meter_calls *calls;
	char *label;  /* its address */
	uint64_t key; /* of its address */
	void *own;
};

/* 0 or a negative code with a sentence; *w is to be closed in both cases. */
int meter_way_open(struct meter_way *w, const char *text, const char *key, struct fail *f);
void meter_way_close(struct meter_way *w);

extern const struct meter_calls meter_lago, meter_file;

#endif
