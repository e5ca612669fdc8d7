/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/money/income.h"

#include <stdlib.h>
#include <string.h>

void income_earn(struct engine *e, struct live_account *a, int64_t micros)
{
	struct income *in = &a->pub.income;
	int64_t hour = e->minute / HOUR;
	size_t old = 0;

	if (e->rules < 4 || micros <= 0)
		return;
	in->earned = sure_add(in->earned, micros);
	while (old < in->count && in->hours[old].hour + PAYOUT_HOLD_MAX < hour)
		old++;
	in->count -= old;
	if (old)
		memmove(in->hours, in->hours + old, in->count * sizeof *in->hours);
	if (!in->count || in->hours[in->count - 1].hour != hour) {
		if (in->count == in->cap) {
			in->cap = in->cap ? 2 * in->cap : 4;
			in->hours = reallocarray(in->hours, in->cap, sizeof *in->hours);
			ensure(in->hours != NULL, "out of memory");
		}
		in->hours[in->count++] = (struct income_hour){ .hour = hour };
	}
	in->hours[in->count - 1].micros = sure_add(in->hours[in->count - 1].micros, micros);
}

int64_t income_room(const struct engine *e, const struct account *a, int32_t hold)
{
	int64_t room = a->income.earned - a->income.paid;

	for (size_t i = a->income.count; hold && i-- > 0 && a->income.hours[i].hour + hold >= e->minute / HOUR;)
		room -= a->income.hours[i].micros;
	room = room < a->available ? room : a->available;
	return room > 0 ? room : 0;
}

void income_count_spent(struct engine *e)
{
	for (size_t i = 0; i < e->mover_count; i++) {
		struct account *a = &e->movers[i]->pub;
		int64_t has = sure_add(sure_add(a->available, a->held), a->escrow);

		has = has > 0 ? has : 0;
		if (a->income.earned - a->income.paid > has)
			a->income.earned = a->income.paid + has;
	}
	e->mover_count = e->mover_seen = 0;
}
