/* SPDX-License-Identifier: Apache-2.0 */
#include "floors.h"

#include <stdlib.h>

static int64_t floors_of(const struct floors *f, uint64_t host)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].host == host)
			return f->list[i].price;
	return 0;
}

static void floors_set(struct floors *f, uint64_t host, int64_t price)
{
	size_t i = 0;

	while (i < f->count && f->list[i].host != host)
		i++;
	if (i == f->count) {
		f->list = reallocarray(f->list, ++f->count, sizeof *f->list);
		if (!f->list)
			abort();
	}
	f->list[i] = (struct host_floor){ host, price };
}

const char *floors_look(struct floors *f, const struct event *ev, const struct effects *did)
{
	for (size_t i = 0; i < did->count; i++) {
		const struct lease *l = &did->list[i].u.lease.lease;
		int64_t floor;

		/* Without a parent it was its owner who sold it; a buyer may sell on at any price. */
		if (did->list[i].kind != EFFECT_LEASE || !did->list[i].u.lease.is_new || l->parent)
			continue;
		floor = floors_of(f, l->host);
		if (l->price < floor)
			return "somebody bought a host of its owner below its floor";
		f->sold += floor ? l->end - l->start : 0;
		f->dear += floor && l->price == floor ? l->end - l->start : 0;
	}
	if (ev->kind == EVENT_HOST_FLOOR) /* what it sold before may have been cheaper */
		floors_set(f, ev->subject, ev->u.host_floor.price);
	return NULL;
}

void floors_release(struct floors *f)
{
	free(f->list);
	*f = (struct floors){ 0 };
}
