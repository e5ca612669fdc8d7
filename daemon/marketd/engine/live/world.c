/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine *world_new(void)
{
	struct engine *e = must_zalloc(sizeof *e);

	e->policy.settle_minutes = 60;
	e->rules = 1;
	e->next_id = e->next_transfer = 1;
	return e;
}

static void free_party(struct live_account *a)
{
	for (int k = 0; k < KINDS; k++)
		rank_release(&a->own[k]);
	rank_release(&a->given);
	free(a->pub.name);
	free(a->pub.facts);
	free(a->pub.income.hours);
}

static void free_ware(struct live_sku *s)
{
	free(s->pub.alias);
	free(s->pub.properties);
	free(s->slots);
	free(s->rows);
	free(s->cheap);
	free(s->keys);
	free(s->resting);
	free(s->blocks);
}

static void free_depot(struct live_pool *p)
{
	rank_release(&p->instances);
	rank_release(&p->orders);
	rank_release(&p->procurements);
	free(p->pub.name);
	free(p->pub.tags);
	free(p->holdings);
	for (size_t i = 0; i < p->stock_count; i++)
		free(p->stocks[i].waiting);
	free(p->stocks);
}

static void free_unit(struct live_host *h)
{
	free(h->pub.name);
	free(h->pub.why);
	free(h->pub.drain_why);
	free(h->pub.proof_why);
	free(h->pub.claims);
	free(h->room);
	free(h->ends);
}

static void free_ticket(struct live_order *o)
{
	free(o->spans);
	free(o->hosts);
}

static void free_instance(struct instance *i)
{
	free(i->name);
	free(i->tags);
	free(i->user_data);
	free(i->detail);
}

static void free_keeper(struct live_agent *a)
{
	rank_release(&a->hosts);
	rank_release(&a->volumes);
	free(a->pub.name);
	free(a->pub.public_key);
	free(a->pub.machine);
	free(a->pub.inventory);
}

static void free_person(struct person *x)
{
	free(x->identity);
	free(x->name);
	free(x->email);
}

static void free_payout(struct payout *p)
{
	free(p->reference);
	free(p->why);
}

void payment_free(struct payment *p)
{
	for (size_t i = 0; i < p->part_count; i++)
		free(p->parts[i].reference);
	free(p->reference);
	free(p);
}

static void free_thing(enum kind k, void *thing)
{
	if (k == ACCOUNTS)
		free_party(thing);
	else if (k == TOKENS)
		free(((struct token *)thing)->name);
	else if (k == SKUS)
		free_ware(thing);
	else if (k == HOSTS)
		free_unit(thing);
	else if (k == POOLS)
		free_depot(thing);
	else if (k == ORDERS)
		free_ticket(thing);
	else if (k == INSTANCES)
		free_instance(thing);
	else if (k == PROCUREMENTS)
		free(((struct procurement *)thing)->name);
	else if (k == AGENTS)
		free_keeper(thing);
	else if (k == ANNOUNCEMENTS)
		free(((struct announcement *)thing)->text);
	else if (k == GRANTS)
		free(((struct grant *)thing)->name);
	else if (k == PEOPLE)
		free_person(thing);
	else if (k == INVITATIONS)
		free(((struct invitation *)thing)->name);
	else if (k == VOLUMES)
		free(((struct live_volume *)thing)->pub.name);
	else if (k == TARIFFS)
		free(((struct tariff *)thing)->name);
	else if (k == PAYOUTS)
		free_payout(thing);
	if (k == PAYMENTS)
		payment_free(thing);
	else
		free(thing);
}

void world_free(struct engine *e)
{
	if (!e)
		return;
	for (int k = 0; k < KINDS; k++) {
		void *thing;

		for (size_t at = 0; (thing = rank_next(&e->all[k], &at));)
			free_thing((enum kind)k, thing);
		rank_release(&e->all[k]);
		idmap_release(&e->ids[k]);
		table_release(&e->names[k]);
	}
	due_release(&e->orders_due);
	due_release(&e->leases_due);
	due_release(&e->hosts_due);
	due_release(&e->volumes_due);
	plan_release(&e->plan);
	free(e->movers);
	free(e->stale);
	free(e->touched);
	free(e);
}

void plan_release(struct plan *p)
{
	free(p->list);
	free(p->rest);
	free(p->fits);
	free(p->offers);
	free(p->bits);
	free(p->queue);
	*p = (struct plan){ 0 };
}

uint64_t world_id(struct engine *e)
{
	return e->next_id++;
}

void world_add(struct engine *e, enum kind k, uint64_t id, uint64_t account, void *thing)
{
	struct live_account *a = world_account(e, account);

	idmap_add(&e->ids[k], id, thing);
	rank_add(&e->all[k], id, thing);
	if (a)
		rank_add(&a->own[k], id, thing);
}

void world_remove(struct engine *e, enum kind k, uint64_t id, uint64_t account)
{
	struct live_account *a = world_account(e, account);

	idmap_remove(&e->ids[k], id);
	rank_remove(&e->all[k], id);
	if (a)
		rank_remove(&a->own[k], id);
}

void world_forget(struct engine *e, enum kind k, uint64_t id, uint64_t account, void *thing)
{
	world_remove(e, k, id, account);
	free_thing(k, thing);
}

enum { KEY = NAME_BYTES + 32 };

static const char *world_key(char room[KEY], uint64_t account, const char *name)
{
	snprintf(room, KEY, "%llx %s", (unsigned long long)account, name);
	return room;
}

void *world_named(const struct engine *e, enum kind k, uint64_t account, const char *name)
{
	char room[KEY];

	if (!name || strlen(name) > NAME_BYTES)
		return NULL;
	return table_get(&e->names[k], world_key(room, account, name));
}

void world_name(struct engine *e, enum kind k, uint64_t account, const char *name, void *thing)
{
	char room[KEY];

	ensure(table_set(&e->names[k], world_key(room, account, name), thing) == 0, "out of memory");
}

void world_unname(struct engine *e, enum kind k, uint64_t account, const char *name)
{
	char room[KEY];

	table_remove(&e->names[k], world_key(room, account, name));
}

struct live_account *world_make_account(struct engine *e, const struct account *a)
{
	struct live_account *p = must_zalloc(sizeof *p);

	p->pub = *a;
	p->pub.name = must_copy(a->name);
	p->pub.facts = must_copy(a->facts);
	p->pub.own = p;
	list_init(&p->sold);
	world_add(e, ACCOUNTS, a->id, 0, p);
	world_name(e, ACCOUNTS, 0, a->name, p);
	return p;
}

struct live_sku *world_make_sku(struct engine *e, const struct sku *s)
{
	struct live_sku *w = must_zalloc(sizeof *w);

	w->pub = *s;
	w->pub.alias = must_copy(s->alias);
	w->pub.properties = must_copy(s->properties);
	w->hour = (e->minute + 1) / HOUR;
	world_add(e, SKUS, s->id, 0, w);
	world_name(e, SKUS, 0, s->alias, w);
	return w;
}

struct live_pool *world_make_pool(struct engine *e, const struct pool *p)
{
	struct live_pool *d = must_zalloc(sizeof *d);

	d->pub = *p;
	d->pub.name = must_copy(p->name);
	d->pub.tags = must_copy(p->tags);
	d->pub.own = d;
	d->owner = world_account(e, p->account);
	world_add(e, POOLS, p->id, p->account, d);
	if (p->deleted)
		d->owner->gone[POOLS]++;
	else
		world_name(e, POOLS, p->account, p->name, d);
	return d;
}

/* An agent is found by name under its account, by key under account 0, which nobody has. */
struct live_agent *world_make_agent(struct engine *e, const struct agent *a)
{
	struct live_agent *k = must_zalloc(sizeof *k);

	k->pub = *a;
	k->pub.name = must_copy(a->name);
	k->pub.public_key = must_copy(a->public_key);
	k->pub.machine = must_copy(a->machine);
	k->pub.inventory = must_copy(a->inventory);
	k->world = e;
	k->version = e->count;
	world_add(e, AGENTS, a->id, a->account, k);
	if (a->retired)
		return k;
	world_name(e, AGENTS, a->account, a->name, k);
	world_name(e, AGENTS, 0, a->public_key, k);
	return k;
}

struct live_lease *world_make_lease(struct engine *e, const struct lease *l)
{
	struct live_lease *t = must_zalloc(sizeof *t);

	t->pub = *l;
	t->host = world_host(e, l->host);
	t->begun = l->start <= e->minute;
	list_append(&world_account(e, l->seller)->sold, &t->sold);
	world_hold(world_pool(e, l->pool), t->host, l->end);
	world_add(e, LEASES, l->id, l->buyer, t);
	return t;
}

void world_drop_lease(struct engine *e, struct live_lease *l)
{
	list_remove(&l->sold);
	due_drop(&e->leases_due, &l->due);
	world_unhold(world_pool(e, l->pub.pool), l->host);
	world_remove(e, LEASES, l->pub.id, l->pub.buyer);
	free(l);
}

/* Where a host is among those that the pool knows, or where it would go. */
size_t world_holding(const struct live_pool *p, uint64_t host)
{
	size_t low = 0, high = p->holding_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->holdings[mid].host < host)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void world_hold(struct live_pool *p, struct live_host *h, int64_t until)
{
	size_t i = world_holding(p, h->pub.id);

	if (i < p->holding_count && p->holdings[i].host == h->pub.id) {
		p->holdings[i].reasons++;
		if (p->holdings[i].until < until)
			p->holdings[i].until = until;
		return;
	}
	must_room(p->holdings, p->holding_count, p->holding_cap);
	memmove(&p->holdings[i + 1], &p->holdings[i], (p->holding_count - i) * sizeof *p->holdings);
	p->holdings[i] = (struct holding){ .host = h->pub.id, .live = h, .reasons = 1, .until = until };
	p->holding_count++;
}

void world_unhold(struct live_pool *p, struct live_host *h)
{
	size_t i = world_holding(p, h->pub.id);

	ensure(i < p->holding_count && p->holdings[i].host == h->pub.id, "a pool does not know its own host");
	if (--p->holdings[i].reasons)
		return;
	p->holding_count--;
	memmove(&p->holdings[i], &p->holdings[i + 1], (p->holding_count - i) * sizeof *p->holdings);
}

static size_t stock_place(const struct live_pool *p, uint64_t sku)
{
	size_t i = 0;

	while (i < p->stock_count && p->stocks[i].sku < sku)
		i++;
	return i;
}

struct stock *world_stocked(const struct live_pool *p, uint64_t sku)
{
	size_t i = stock_place(p, sku);

	return i < p->stock_count && p->stocks[i].sku == sku ? &p->stocks[i] : NULL;
}

struct stock *world_stock(struct live_pool *p, uint64_t sku)
{
	size_t i = stock_place(p, sku);

	if (i < p->stock_count && p->stocks[i].sku == sku)
		return &p->stocks[i];
	must_room(p->stocks, p->stock_count, p->stock_cap);
	memmove(&p->stocks[i + 1], &p->stocks[i], (p->stock_count - i) * sizeof *p->stocks);
	p->stocks[i] = (struct stock){ .sku = sku };
	p->stock_count++;
	return &p->stocks[i];
}

void world_instance_begin(struct live_pool *p, struct instance *x)
{
	rank_add(&p->instances, x->id, x);
	world_stock(p, x->sku)->instances++;
}

void world_instance_end(struct live_pool *p, const struct instance *x)
{
	rank_remove(&p->instances, x->id);
	world_stock(p, x->sku)->instances--;
}

int32_t world_instances(const struct live_pool *p, uint64_t sku)
{
	const struct stock *s = world_stocked(p, sku);

	return s ? s->instances : 0;
}

/* How many of those that wait come after this one: its place in the list, or where it would go. */
static size_t waiting_place(const struct stock *s, const struct instance *x)
{
	size_t low = 0, high = s->waiting_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (instance_sooner(x, s->waiting[mid]))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void world_wait(struct live_pool *p, struct instance *x)
{
	struct stock *s = world_stock(p, x->sku);
	size_t i = waiting_place(s, x);

	must_room(s->waiting, s->waiting_count, s->waiting_cap);
	memmove(&s->waiting[i + 1], &s->waiting[i], (s->waiting_count - i) * sizeof(struct instance *));
	s->waiting[i] = x;
	s->waiting_count++;
}

void world_unwait(struct live_pool *p, struct instance *x)
{
	struct stock *s = world_stock(p, x->sku);
	size_t i = waiting_place(s, x);

	ensure(i < s->waiting_count && s->waiting[i] == x, "an instance that waits is not among those that do");
	s->waiting_count--;
	memmove(&s->waiting[i], &s->waiting[i + 1], (s->waiting_count - i) * sizeof(struct instance *));
}

size_t world_waiting_before(const struct live_pool *p, const struct instance *x)
{
	const struct stock *s = world_stocked(p, x->sku);
	size_t after = s ? waiting_place(s, x) : 0;

	return s && after < s->waiting_count ? s->waiting_count - 1 - after : 0;
}

void world_unplaced(struct engine *e, struct live_pool *p)
{
	if (p->stale || !rank_live(&p->instances))
		return;
	p->stale = true;
	must_room(e->stale, e->stale_count, e->stale_cap);
	e->stale[e->stale_count++] = p;
}

void world_stale(struct engine *e, struct live_pool *p)
{
	for (size_t i = 0; i < p->stock_count; i++)
		p->stocks[i].free_from = 0;
	p->moved = true;
	world_unplaced(e, p);
}
