/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/live/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct engine *world_new(void)
{
	struct engine *e = must_zalloc(sizeof *e);

	e->policy.settle_minutes = 60;
	e->next_id = e->next_transfer = 1;
	return e;
}

static void free_party(struct party *p)
{
	for (int k = 0; k < KINDS; k++)
		rank_release(&p->own[k]);
	free(p->pub.name);
}

static void free_ware(struct ware *w)
{
	free(w->pub.alias);
	free(w->pub.properties);
	free(w->slots);
	free(w->rows);
	free(w->cheap);
	free(w->keys);
	free(w->resting);
	free(w->blocks);
}

static void free_depot(struct depot *d)
{
	rank_release(&d->instances);
	rank_release(&d->orders);
	rank_release(&d->procurements);
	free(d->pub.name);
	free(d->pub.tags);
	free(d->holdings);
	free(d->stocks);
}

static void free_unit(struct unit *u)
{
	free(u->pub.name);
	free(u->room);
	free(u->ends);
}

static void free_ticket(struct ticket *t)
{
	free(t->spans);
	free(t->hosts);
}

static void free_instance(struct instance *i)
{
	free(i->name);
	free(i->tags);
	free(i->user_data);
	free(i->detail);
}

static void free_keeper(struct keeper *k)
{
	rank_release(&k->hosts);
	free(k->pub.name);
	free(k->pub.public_key);
	free(k->pub.machine);
	free(k->pub.inventory);
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
	plan_release(&e->plan);
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
	struct party *p = world_party(e, account);

	idmap_add(&e->ids[k], id, thing);
	rank_add(&e->all[k], id, thing);
	if (p)
		rank_add(&p->own[k], id, thing);
}

void world_remove(struct engine *e, enum kind k, uint64_t id, uint64_t account)
{
	struct party *p = world_party(e, account);

	idmap_remove(&e->ids[k], id);
	rank_remove(&e->all[k], id);
	if (p)
		rank_remove(&p->own[k], id);
}

void world_forget(struct engine *e, enum kind k, uint64_t id, uint64_t account, void *thing)
{
	world_remove(e, k, id, account);
	free_thing(k, thing);
}

enum { KEY = NAME_BYTES + 32 };

static const char *key(char room[KEY], uint64_t account, const char *name)
{
	snprintf(room, KEY, "%llx %s", (unsigned long long)account, name);
	return room;
}

void *world_named(const struct engine *e, enum kind k, uint64_t account, const char *name)
{
	char room[KEY];

	if (!name || strlen(name) > NAME_BYTES)
		return NULL;
	return table_get(&e->names[k], key(room, account, name));
}

void world_name(struct engine *e, enum kind k, uint64_t account, const char *name, void *thing)
{
	char room[KEY];

	ensure(table_set(&e->names[k], key(room, account, name), thing) == 0, "there is no memory left");
}

void world_unname(struct engine *e, enum kind k, uint64_t account, const char *name)
{
	char room[KEY];

	table_remove(&e->names[k], key(room, account, name));
}

struct party *world_make_party(struct engine *e, const struct account *a)
{
	struct party *p = must_zalloc(sizeof *p);

	p->pub = *a;
	p->pub.name = must_copy(a->name);
	p->pub.own = p;
	list_init(&p->sold);
	world_add(e, ACCOUNTS, a->id, 0, p);
	world_name(e, ACCOUNTS, 0, a->name, p);
	return p;
}

struct ware *world_make_ware(struct engine *e, const struct sku *s)
{
	struct ware *w = must_zalloc(sizeof *w);

	w->pub = *s;
	w->pub.alias = must_copy(s->alias);
	w->pub.properties = must_copy(s->properties);
	w->hour = (e->minute + 1) / HOUR;
	world_add(e, SKUS, s->id, 0, w);
	world_name(e, SKUS, 0, s->alias, w);
	return w;
}

struct depot *world_make_depot(struct engine *e, const struct pool *p)
{
	struct depot *d = must_zalloc(sizeof *d);

	d->pub = *p;
	d->pub.name = must_copy(p->name);
	d->pub.tags = must_copy(p->tags);
	d->pub.own = d;
	d->owner = world_party(e, p->account);
	world_add(e, POOLS, p->id, p->account, d);
	if (!p->deleted)
		world_name(e, POOLS, p->account, p->name, d);
	return d;
}

/* By name, and by its key: no account is 0. */
struct keeper *world_make_keeper(struct engine *e, const struct agent *a)
{
	struct keeper *k = must_zalloc(sizeof *k);

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

struct tenure *world_make_tenure(struct engine *e, const struct lease *l)
{
	struct tenure *t = must_zalloc(sizeof *t);

	t->pub = *l;
	t->unit = world_unit(e, l->host);
	t->begun = l->start <= e->minute;
	list_append(&world_party(e, l->seller)->sold, &t->sold);
	world_hold(world_depot(e, l->pool), t->unit, l->end);
	world_add(e, LEASES, l->id, l->buyer, t);
	return t;
}

void world_drop_tenure(struct engine *e, struct tenure *t)
{
	list_remove(&t->sold);
	due_drop(&e->leases_due, &t->due);
	world_unhold(world_depot(e, t->pub.pool), t->unit);
	world_remove(e, LEASES, t->pub.id, t->pub.buyer);
	free(t);
}

/* The place of a host among those that the pool knows, or where it would be. */
size_t world_holding(const struct depot *d, uint64_t host)
{
	size_t low = 0, high = d->holding_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (d->holdings[mid].host < host)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void world_hold(struct depot *d, struct unit *u, int64_t until)
{
	size_t i = world_holding(d, u->pub.id);

	if (i < d->holding_count && d->holdings[i].host == u->pub.id) {
		d->holdings[i].reasons++;
		if (d->holdings[i].until < until)
			d->holdings[i].until = until;
		return;
	}
	must_room(d->holdings, d->holding_count, d->holding_cap);
	memmove(&d->holdings[i + 1], &d->holdings[i], (d->holding_count - i) * sizeof *d->holdings);
	d->holdings[i] = (struct holding){ .host = u->pub.id, .unit = u, .reasons = 1, .until = until };
	d->holding_count++;
}

void world_unhold(struct depot *d, struct unit *u)
{
	size_t i = world_holding(d, u->pub.id);

	ensure(i < d->holding_count && d->holdings[i].host == u->pub.id, "a pool does not know a host of its own");
	if (--d->holdings[i].reasons)
		return;
	d->holding_count--;
	memmove(&d->holdings[i], &d->holdings[i + 1], (d->holding_count - i) * sizeof *d->holdings);
}

struct stock *world_stock(struct depot *d, uint64_t sku)
{
	size_t i = 0;

	while (i < d->stock_count && d->stocks[i].sku < sku)
		i++;
	if (i < d->stock_count && d->stocks[i].sku == sku)
		return &d->stocks[i];
	must_room(d->stocks, d->stock_count, d->stock_cap);
	memmove(&d->stocks[i + 1], &d->stocks[i], (d->stock_count - i) * sizeof *d->stocks);
	d->stocks[i] = (struct stock){ .sku = sku };
	d->stock_count++;
	return &d->stocks[i];
}

void world_stale(struct engine *e, struct depot *d)
{
	if (d->stale || !rank_live(&d->instances))
		return;
	d->stale = true;
	must_room(e->stale, e->stale_count, e->stale_cap);
	e->stale[e->stale_count++] = d;
}
