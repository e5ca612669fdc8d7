/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nodes of a reservation are, as the market says: backends that come and go. */
#ifndef MARKETD_GATEWAY_RESERVED_H
#define MARKETD_GATEWAY_RESERVED_H

#include "marketd/gateway/gatewayfile_own.h"
#include "marketd/outward/outward.h"

enum { RESERVED_NODES = 1000, RESERVED_BYTES = 16 << 20, RESERVED_EVERY_MS = 3000 };

struct reserved_market {
	const char *url;   /* http://HOST:PORT */
	const char *ca;    /* a file of authorities in PEM; NULL or "": those that the system trusts */
	const char *token; /* of the account that has the reservations */
};

struct reserved {
	char name[GATEWAY_TEXT];
	char (*hosts)[GATEWAY_TEXT]; /* as in HOST:PORT */
	size_t count;
	bool known; /* the market has answered once */
};

/* Asks for the nodes; reserved_take() reads the answer. 0, or a negative code where nothing can be asked. */
int reserved_ask(struct outward *o, const struct reserved_market *m, const char *name, void *owner, struct errand **out,
	struct fail *f);
/* Of an errand that has ended. Where the answer is none, a negative code, and what was known stays. */
int reserved_take(struct reserved *r, const struct errand_answer *a, struct fail *f);
void reserved_release(struct reserved *r);

#endif
