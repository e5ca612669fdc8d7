/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idempotency keys: a request repeated under its key gets the same answer again, whether that is on disk
 * or from this turn. Another request under the key is refused.
 */
#ifndef MARKETD_API_IDEMPOTENCY_H
#define MARKETD_API_IDEMPOTENCY_H

#include "marketd/api/routes.h"

enum { KEY_MAX = 255, DIGEST = 32 };

/* 1 to 255 printable bytes. */
bool idempotency_valid(const char *key);

/* Of method, path and body. 0 or -ENOMEM. */
int idempotency_digest(const struct request *q, uint8_t digest[DIGEST]);

/* 1: r is answered (again, or refused); 0: the key is new; negative: the store failed. */
int idempotency_find(struct api *api, const struct request *q, const uint8_t digest[DIGEST], struct reply *r,
	struct fail *f);

/* With the next commit the answer is on disk. 0, or a negative code. */
int idempotency_keep(struct api *api, const struct request *q, const uint8_t digest[DIGEST], const struct reply *r,
	struct fail *f);

void idempotency_forget(struct routes *rs);  /* drops what is pending: it is committed, or lost */

#endif
