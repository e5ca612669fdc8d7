/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a snapshot: restore.c reads nodes and their trade, restore_paid.c what is money alone. */
#ifndef MARKETD_ENGINE_RESTORE_H
#define MARKETD_ENGINE_RESTORE_H

#include "marketd/engine/snapshot.h"

struct reader {
	struct codec c;
	struct engine *e;
	struct heads h;
	struct idmap seen; /* all ids, of whatever kind */
	uint64_t last;     /* of the kind being read */
	const char *what;  /* the kind, for errors */
};

/* An id is below the next one, above those before it of its kind, and names one thing only. */
bool restore_id_fits(struct reader *r, uint64_t id);
bool restore_bad(struct reader *r); /* false */

bool restore_read_payment(struct reader *r);
bool restore_read_volume(struct reader *r);
bool restore_read_tariff(struct reader *r);
bool restore_read_subscription(struct reader *r);
bool restore_read_payout(struct reader *r);

#endif
