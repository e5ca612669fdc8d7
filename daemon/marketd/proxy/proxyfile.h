/* SPDX-License-Identifier: Apache-2.0 */
/* What `gateway serve` serves, as its file says it: models, the backends that run them, budgets. */
#ifndef MARKETD_PROXY_PROXYFILE_H
#define MARKETD_PROXY_PROXYFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "marketd/gateway/gatewayfile_own.h"

enum { PROXY_MODELS = 256, PROXY_MODEL_BACKENDS = 64, PROXY_ALIASES = 16, PROXY_BUDGETS = 10000 };

struct proxyfile_backend {
	char url[GATEWAY_TEXT + 16]; /* http://HOST:PORT; "": of the nodes of this reservation, at this port */
	char reservation[GATEWAY_TEXT];
	long port;
	char model[GATEWAY_TEXT];    /* what it calls the model */
	char key[GATEWAY_TEXT];      /* "": it wants none */
	long weight, priority;
};

struct proxyfile_model {
	char name[GATEWAY_TEXT], aliases[PROXY_ALIASES][GATEWAY_TEXT];
	size_t alias_count;
	struct proxyfile_backend *backends;
	size_t count;
};

/* Of one account, or of one token; of every account that has no row of its own. 0 tokens: no limit. */
struct proxyfile_budget {
	char account[GATEWAY_TEXT], token[GATEWAY_TEXT]; /* account: its id or name */
	long day, total;
};

struct proxyfile {
	char market[GATEWAY_TEXT + 16], market_ca[GATEWAY_TEXT]; /* http://HOST:PORT */
	char token[GATEWAY_TEXT]; /* of the account whose reservations these are; "": none is */
	char listen[GATEWAY_TEXT], cert[GATEWAY_TEXT], cert_key[GATEWAY_TEXT], spool[GATEWAY_TEXT];
	char health[GATEWAY_TEXT];
	long spool_size; /* MiB that make the spool full */
	long timeout;    /* seconds that a backend may say nothing */
	struct proxyfile_model *models;
	size_t model_count;
	struct proxyfile_budget *budgets;
	size_t budget_count;
};

int proxyfile_read(const char *path, struct proxyfile *out, struct fail *f); /* 0 or negative, and nothing to release */
void proxyfile_release(struct proxyfile *p);

/* NULL: no model has this name or alias. */
const struct proxyfile_model *proxyfile_model(const struct proxyfile *p, const char *name);

#endif
