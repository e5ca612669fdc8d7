/* SPDX-License-Identifier: Apache-2.0 */
/* Random volumes: few machines that let room, at prices that some cannot pay for long. See stream.h. */
#include "stream.h"

enum { VOLUMES_MOST = 12 };

/* lets: one that lets room, where one is soon found. */
static const struct ragent *volume_agent(struct stream *s, bool lets)
{
	const struct ragent *g = NULL;

	for (int i = 0; i < 8 && s->r->agents.n && (!g || g->retired || (lets && !g->lets)); i++)
		g = s->r->agents.at[rng_below(&s->volumes, (int64_t)s->r->agents.n)];
	return g;
}

static int64_t volume_price(struct stream *s)
{
	return rng_percent(&s->volumes, 5)    ? 0
		: rng_percent(&s->volumes, 8) ? 1000000000000
					      : 730 * s->profile->price * rng_below(&s->volumes, 400);
}

static bool do_offer(struct stream *s, struct event *ev)
{
	const struct ragent *g = volume_agent(s, false);

	if (!g)
		return false;
	ev->kind = EVENT_VOLUME_OFFER;
	ev->account = g->account;
	ev->subject = g->id;
	ev->u.volume.gib = (int32_t)rng_below(&s->volumes, rng_percent(&s->volumes, 70) ? 20 : 3);
	ev->u.volume.price = volume_price(s);
	return true;
}

static bool do_new(struct stream *s, struct event *ev)
{
	static const char *const names[] = { "data", "home", "logs", "runs", "tmp" };
	const struct ragent *g = volume_agent(s, rng_percent(&s->volumes, 80));
	const struct raccount *a = s->r->accounts.at[rng_below(&s->volumes, (int64_t)s->r->accounts.n)];

	if (!g || s->r->volumes.n >= VOLUMES_MOST)
		return false;
	ev->kind = EVENT_VOLUME;
	ev->account = a->id;
	ev->subject = g->id;
	ev->name = names[rng_below(&s->volumes, 5)];
	ev->u.volume.gib = (int32_t)(1 + rng_below(&s->volumes, 6));
	ev->u.volume.price = rng_percent(&s->volumes, 85) ? g->asks : volume_price(s);
	return true;
}

static bool do_old(struct stream *s, struct event *ev)
{
	const struct rvolume *v = s->r->volumes.n ? s->r->volumes.at[rng_below(&s->volumes, (int64_t)s->r->volumes.n)]
						  : NULL;
	const struct ragent *g = v ? ref_list_find(&s->r->agents, v->agent) : NULL;

	if (!v)
		return false;
	ev->subject = rng_percent(&s->volumes, 6) ? UINT32_MAX : v->id; /* or one that nobody made */
	if (v->state == VOLUME_DELETING ? rng_percent(&s->volumes, 80) : rng_percent(&s->volumes, 10)) {
		ev->kind = EVENT_VOLUME_GONE;
		ev->account = g->account;
		return true;
	}
	ev->kind = EVENT_VOLUME_CHANGE;
	ev->account = v->account;
	ev->u.volume.price = rng_percent(&s->volumes, 80) ? g->asks : volume_price(s);
	if (rng_percent(&s->volumes, 90))
		ev->u.volume.gib = (int32_t)(v->gib + rng_below(&s->volumes, 4));
	return true;
}

void stream_volumes(struct stream *s, struct event *ev)
{
	struct event other = { .at = ev->at };
	int64_t which;

	if (ev->kind == EVENT_POLICY)
		ev->u.policy.volume_grace_minutes = rng_percent(&s->volumes, 90)
			? (int32_t)(1 + rng_below(&s->volumes, 90))
			: 0;
	if (ev->kind == EVENT_RULES || s->step <= 26 || !s->r->accounts.n || !rng_percent(&s->volumes, 6))
		return;
	which = rng_below(&s->volumes, 6);
	if (which < 2 ? do_offer(s, &other) : which < 4 ? do_new(s, &other) : do_old(s, &other))
		*ev = other;
}

bool stream_volumes_spoil(struct stream *s, struct event *ev)
{
	if (ev->kind == EVENT_POLICY && rng_percent(&s->volumes, 20)) {
		ev->u.policy.volume_grace_minutes = rng_percent(&s->volumes, 50) ? -1 : VOLUME_GRACE_MAX + 1;
		return true;
	}
	if (ev->kind == EVENT_VOLUME_GONE) {
		ev->at = s->at - 1;
		return true;
	}
	if (ev->kind != EVENT_VOLUME_OFFER && ev->kind != EVENT_VOLUME && ev->kind != EVENT_VOLUME_CHANGE)
		return false;
	if (rng_percent(&s->volumes, 50))
		ev->u.volume.gib = rng_percent(&s->volumes, 50) ? -1 : VOLUME_GIB_MAX + 1;
	else
		ev->u.volume.price = rng_percent(&s->volumes, 50) ? -1 : 1000000000001;
	return true;
}
