/* SPDX-License-Identifier: Apache-2.0 */
/* What accounts earn by sales and volumes. */
#ifndef MARKETD_ENGINE_MONEY_INCOME_H
#define MARKETD_ENGINE_MONEY_INCOME_H

#include "marketd/engine/live/world.h"

void income_earn(struct engine *e, struct live_account *a, int64_t micros); /* in this minute */
/* What could be paid out, where each hour's income waits for `hold` whole hours. */
int64_t income_room(const struct engine *e, const struct account *a, int32_t hold);

/* At the end of an event: who has less money than was earned and not paid out has spent that. */
void income_count_spent(struct engine *e);

#endif
