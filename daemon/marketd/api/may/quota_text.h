/* SPDX-License-Identifier: Apache-2.0 */
/* How many bytes of text the market keeps: of an account, and because of an event. */
#ifndef MARKETD_API_MAY_QUOTA_TEXT_H
#define MARKETD_API_MAY_QUOTA_TEXT_H

#include "marketd/store/market.h"

int64_t quota_text_of(const struct engine *e, uint64_t account);
int64_t quota_text(const struct event *ev);
/* What the event replaces or frees. */
int64_t quota_text_before(const struct engine *e, const struct event *ev);

#endif
