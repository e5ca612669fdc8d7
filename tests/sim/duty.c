/* SPDX-License-Identifier: Apache-2.0 */
/* What agents have to do, and that whenever it changes its version has grown. See world.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static bool duty_wrong(struct world *w, const char *what, uint64_t id, uint64_t version)
{
	snprintf(w->wrong, sizeof w->wrong, "what agents have to do: %s %" PRIu64 " (version %" PRIu64 ")", what, id,
		version);
	return false;
}

static void mix(uint64_t *sum, uint64_t v)
{
	*sum = (*sum ^ v) * UINT64_C(1099511628211);
	*sum ^= *sum >> 29;
}

static void mix_text(uint64_t *sum, const char *s)
{
	mix(sum, s ? strlen(s) + 1 : 0);
	for (; s && *s; s++)
		mix(sum, (unsigned char)*s);
}

/* Of a host: the instance that is on it, how long, and whether it is up. */
static uint64_t host_sum(const struct engine *e, const struct host *h)
{
	const struct instance *x = engine_host_instance(e, h->id);
	uint64_t sum = h->id;

	mix(&sum, h->down);
	mix(&sum, h->retired);
	mix(&sum, x ? x->id : 0);
	if (!x)
		return sum;
	mix(&sum, x->image);
	mix_text(&sum, x->name);
	mix_text(&sum, x->tags);
	mix_text(&sum, x->user_data);
	mix(&sum, (uint64_t)engine_owned_until(e, h->id, x->pool, engine_minute(e)));
	return sum;
}

static uint64_t agent_sum(const struct engine *e, const struct agent *a)
{
	uint64_t sum = a->retired;

	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id))
		mix(&sum, host_sum(e, h));
	return sum;
}

static struct duty *duty_of(struct world *w, uint64_t id)
{
	for (size_t i = 0; i < w->duty_count; i++)
		if (w->duties[i].id == id)
			return &w->duties[i];
	w->duties = realloc(w->duties, (w->duty_count + 1) * sizeof *w->duties);
	if (!w->duties)
		abort();
	w->duties[w->duty_count] = (struct duty){ .id = id };
	return &w->duties[w->duty_count++];
}

static bool duty_look(struct world *w, uint64_t id, uint64_t sum, uint64_t version, struct coverage *c)
{
	struct duty *d = duty_of(w, id);

	if (version < d->version || version > engine_count(w->eng))
		return duty_wrong(w, "the version went back, or is of the future:", id, version);
	if (d->version && sum != d->sum && version == d->version)
		return duty_wrong(w, "the version did not grow:", id, version);
	if (c) {
		c->duty_changed += sum != d->sum;
		c->duty_grown += version != d->version;
	}
	d->sum = sum;
	d->version = version;
	return true;
}

/* The instance on a host says that it is there, and the pool owns the minutes up to the one that is told. */
static bool host_good(struct world *w, const struct host *h)
{
	const struct instance *x = engine_host_instance(w->eng, h->id);
	const struct rhost *theirs = ref_list_find(&w->ref->hosts, h->id);
	int64_t until = x ? engine_owned_until(w->eng, h->id, x->pool, engine_minute(w->eng)) : 0;

	if (!theirs != h->retired || (theirs && theirs->agent != h->agent))
		return duty_wrong(w, "another agent has host", h->id, h->agent);
	if (!x)
		return true;
	if (x->host != h->id || until <= engine_minute(w->eng))
		return duty_wrong(w, "the instance is not there on host", h->id, x->id);
	for (int64_t m = engine_minute(w->eng); m < until && m < engine_minute(w->eng) + 200; m++)
		if (!ref_owns(theirs, m, x->pool))
			return duty_wrong(w, "the pool does not own so much of host", h->id, x->id);
	if (until < h->end && ref_owns(theirs, until, x->pool))
		return duty_wrong(w, "the pool owns more of host", h->id, x->id);
	return true;
}

bool duty_check(struct world *w, struct coverage *c)
{
	const struct engine *e = w->eng;

	for (const struct host *h = engine_host_after(e, 0, 0); h; h = engine_host_after(e, 0, h->id)) {
		if (!host_good(w, h))
			return false;
		if (h->agent && !duty_look(w, h->id, host_sum(e, h), engine_host_version(e, h->id), c))
			return false;
		if (h->agent && engine_host_version(e, h->id) > engine_agent_version(e, h->agent))
			return duty_wrong(w, "the agent's version is behind that of host", h->id,
				engine_host_version(e, h->id));
	}
	for (const struct agent *a = engine_agent_after(e, 0, 0); a; a = engine_agent_after(e, 0, a->id))
		if (!duty_look(w, a->id, agent_sum(e, a), engine_agent_version(e, a->id), c))
			return false;
	return true;
}
