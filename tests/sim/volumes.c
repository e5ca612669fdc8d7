/* SPDX-License-Identifier: Apache-2.0 */
#include "volumes.h"

#include <stdlib.h>
#include <string.h>

static void volumes_room(struct volumes *v, uint64_t id)
{
	size_t count = 2 * id + 64;

	if (id < v->count)
		return;
	v->by_id = reallocarray(v->by_id, count, sizeof *v->by_id);
	v->lets = reallocarray(v->lets, count, sizeof *v->lets);
	if (!v->by_id || !v->lets)
		abort();
	memset(v->by_id + v->count, 0, (count - v->count) * sizeof *v->by_id);
	memset(v->lets + v->count, 0, (count - v->count) * sizeof *v->lets);
	v->count = count;
}

static const char *volumes_ends(struct volumes *v, struct volume_row *x, const struct event *ev)
{
	bool mine = ev->kind == EVENT_VOLUME_CHANGE && ev->account == x->account && !ev->u.volume.gib;

	if (!x->there || x->asked)
		return "a volume that is gone is to be deleted";
	x->asked = true;
	if (mine)
		return NULL;
	v->ended++;
	if (x->paid > v->minute)
		return "a volume is deleted that was paid";
	return x->owes && x->until <= v->minute ? NULL : "a volume is deleted before it was said to be";
}

static const char *volumes_news(struct volumes *v, const struct notice *n, const struct event *ev)
{
	struct volume_row *x = &v->by_id[n->subject];

	switch (n->code) {
	case VOLUME_MADE:
		*x = (struct volume_row){ true, false, false, n->account, n->other, ev->u.volume.gib, n->minute, 0 };
		return NULL;
	case VOLUME_GREW:
		x->gib = ev->u.volume.gib;
		return NULL;
	case VOLUME_OWES:
		if (x->owes || x->paid > v->minute)
			return "a volume that is paid is called unpaid";
		x->owes = true;
		x->until = n->minute;
		return NULL;
	case VOLUME_BACK:
		x->owes = false;
		return NULL;
	case VOLUME_ENDS:
		return volumes_ends(v, x, ev);
	case VOLUME_ENDED:
	case VOLUME_LOST: {
		bool asked = x->asked;

		x->there = false;
		return ev->kind == EVENT_AGENT_RETIRE || (asked && ev->kind == EVENT_VOLUME_GONE)
			? NULL
			: "a volume is gone, and nobody asked for that";
	}
	default:
		return "unknown news of a volume";
	}
}

static const char *volumes_paid(struct volumes *v, const struct notice *n)
{
	struct volume_row *x = &v->by_id[n->subject];

	int64_t before = x->paid;

	v->paid++;
	x->paid = n->minute;
	if (!x->there || x->asked)
		return "somebody paid for a volume that is gone";
	if (x->account != n->account)
		return "somebody paid for a volume of another account";
	return n->minute >= before ? NULL : "somebody paid for an hour that is over";
}

/* Each machine has room for all that it keeps, also for what it has yet to delete. */
static const char *volumes_oversold(const struct volumes *v)
{
	const char *wrong = NULL;

	for (size_t g = 1; g < v->count && !wrong; g++) {
		int64_t sum = 0;

		if (!v->lets[g])
			continue;
		for (size_t i = 1; i < v->count; i++)
			sum += v->by_id[i].there && v->by_id[i].agent == g ? v->by_id[i].gib : 0;
		if (sum > v->lets[g])
			wrong = "a machine keeps more than it has room for";
	}
	return wrong;
}

const char *volumes_look(struct volumes *v, const struct event *ev, const struct effects *did)
{
	const char *wrong = NULL;

	if (ev->kind == EVENT_TICK)
		v->minute = ev->u.tick.minute;
	for (size_t i = 0; i < did->count && !wrong; i++) {
		const struct notice *n = &did->list[i].u.notice;

		if (did->list[i].kind != EFFECT_NOTICE || (n->kind != NOTICE_VOLUME && n->kind != NOTICE_VOLUME_PAID))
			continue;
		volumes_room(v, n->subject);
		wrong = n->kind == NOTICE_VOLUME ? volumes_news(v, n, ev) : volumes_paid(v, n);
	}
	if (ev->kind == EVENT_VOLUME_OFFER) {
		volumes_room(v, ev->subject);
		v->lets[ev->subject] = ev->u.volume.gib;
	}
	if (!wrong && (ev->kind == EVENT_VOLUME || ev->kind == EVENT_VOLUME_CHANGE || ev->kind == EVENT_VOLUME_OFFER))
		wrong = volumes_oversold(v);
	return wrong;
}

void volumes_release(struct volumes *v)
{
	free(v->by_id);
	free(v->lets);
	*v = (struct volumes){ 0 };
}
