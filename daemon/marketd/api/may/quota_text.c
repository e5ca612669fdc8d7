/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/may/quota_text.h"

#include <string.h>

static int64_t text_size(const char *text)
{
	return text ? (int64_t)strlen(text) : 0;
}

int64_t quota_text_of(const struct engine *e, uint64_t account)
{
	int64_t sum = 0;

	for (const struct token *t = NULL; (t = engine_token_after(e, account, t ? t->id : 0));)
		sum += text_size(t->name);
	for (const struct pool *p = NULL; (p = engine_pool_after(e, account, p ? p->id : 0));)
		sum += text_size(p->name) + text_size(p->tags);
	for (const struct host *h = NULL; (h = engine_host_after(e, account, h ? h->id : 0));)
		sum += text_size(h->name) + text_size(h->claims) + text_size(h->proof_why);
	for (const struct instance *i = NULL; (i = engine_instance_after(e, account, i ? i->id : 0));)
		sum += text_size(i->name) + text_size(i->tags) + text_size(i->user_data);
	for (const struct procurement *p = NULL; (p = engine_procurement_after(e, account, p ? p->id : 0));)
		sum += text_size(p->name);
	for (const struct agent *a = NULL; (a = engine_agent_after(e, account, a ? a->id : 0));)
		sum += text_size(a->name) + text_size(a->public_key) + text_size(a->machine) + text_size(a->inventory);
	return sum;
}

int64_t quota_text(const struct event *ev)
{
	int64_t sum = text_size(ev->name) + text_size(ev->text);

	if (ev->kind == EVENT_REPORT || ev->kind == EVENT_HOST_DRAIN || ev->kind == EVENT_HOST_STATE)
		return 0; /* replaces what the last one said */
	if (ev->kind == EVENT_INSTANCE)
		sum += text_size(ev->u.instance.user_data);
	if (ev->kind == EVENT_INSTANCE_CHANGE)
		sum += text_size(ev->u.instance_change.user_data);
	if (ev->kind == EVENT_AGENT)
		sum += text_size(ev->u.agent.machine);
	if (ev->kind == EVENT_HOST_VERIFIED)
		sum += text_size(ev->u.host_verified.why);
	return sum;
}

static int64_t pool_text_before(const struct pool *p, const struct event *ev)
{
	bool deleted = ev->kind == EVENT_POOL_DELETE; /* its name stays */

	return (ev->name ? text_size(p->name) : 0) + (ev->text || deleted ? text_size(p->tags) : 0);
}

static int64_t instance_text_before(const struct instance *i, const struct event *ev)
{
	bool deleted = ev->kind == EVENT_INSTANCE_DELETE;

	return (ev->name || deleted ? text_size(i->name) : 0) + (ev->text || deleted ? text_size(i->tags) : 0) +
		(deleted || ev->u.instance_change.user_data ? text_size(i->user_data) : 0);
}

/* Without a text it keeps what was measured, but where it failed. */
static int64_t verified_text_before(const struct host *h, const struct event *ev)
{
	bool keeps = !ev->text && ev->u.host_verified.result != PROOF_FAILED;

	return (keeps ? 0 : text_size(h->claims)) + text_size(h->proof_why);
}

int64_t quota_text_before(const struct engine *e, const struct event *ev)
{
	const struct pool *p;
	const struct instance *i;
	const struct procurement *r;
	const struct agent *a;
	const struct host *h;

	switch (ev->kind) {
	case EVENT_POOL_CHANGE:
	case EVENT_POOL_DELETE:
		p = engine_pool(e, ev->subject);
		return p ? pool_text_before(p, ev) : 0;
	case EVENT_INSTANCE_CHANGE:
	case EVENT_INSTANCE_DELETE:
		i = engine_instance(e, ev->subject);
		return i ? instance_text_before(i, ev) : 0;
	case EVENT_PROCUREMENT_DELETE:
	case EVENT_PROCUREMENT_CHANGE:
		r = engine_procurement(e, ev->subject);
		return r && (ev->name || ev->kind == EVENT_PROCUREMENT_DELETE) ? text_size(r->name) : 0;
	case EVENT_AGENT_INVENTORY:
		a = engine_agent(e, ev->subject);
		return a ? text_size(a->inventory) : 0;
	case EVENT_HOST_VERIFIED:
		h = engine_host(e, ev->subject);
		return h ? verified_text_before(h, ev) : 0;
	case EVENT_HOST_RETIRE: /* its name stays */
		h = engine_host(e, ev->subject);
		return h ? text_size(h->claims) + text_size(h->proof_why) : 0;
	default:
		return 0;
	}
}
