/* SPDX-License-Identifier: Apache-2.0 */
/* Numeric addresses of nodes for the file of a gateway: a silent server of names takes none out of it. */
#ifndef MARKETD_GATEWAY_GATEWAYNAMES_H
#define MARKETD_GATEWAY_GATEWAYNAMES_H

#include "base/log.h"
#include "marketd/gateway/gatelook.h"
#include "marketd/gateway/reserved.h"

struct gatenames {
	struct gatename *each; /* host of one reservation, as the last look found it */
	size_t count;
	bool whole; /* once each host had an answer, or the time to wait for it was over */
};

void gatenames_ask(struct gatelooks *l, const struct reserved *r);
/*
 * Each host becomes its address; those without one are left out, and the log has them once. patient: -EAGAIN until each
 * host had an answer once; r's hosts are names still, and g keeps the addresses that came.
 */
int gatenames_take(struct gatenames *g, const struct gatelooks *l, struct reserved *r, bool patient,
	const struct log *log, struct fail *f);
bool gatenames_some(const struct gatenames *g);                         /* a host has an address */
int gatenames_copy(const struct gatenames *from, struct gatenames *to); /* what is known, not whole; 0 or -ENOMEM */
void gatenames_release(struct gatenames *g);

#endif
