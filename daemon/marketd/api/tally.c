/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/tally.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "market/reason.h"

/* ---- Sums ------------------------------------------------------------------------------------------ */

static int64_t tally_sum(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* Parts of cores that the node's vCPUs need. */
static int64_t tally_cores(const struct promise *p)
{
	int64_t part = p->overcommit ? TALLY_CORE / p->overcommit : 0;

	return part && p->vcpus > INT64_MAX / part ? INT64_MAX : p->vcpus * part;
}

/* How many such slices a GPU of this kind holds. */
static int64_t gpu_slices_of(const struct capacity_gpu *g, const char *profile)
{
	for (size_t i = 0; i < g->slice_count; i++)
		if (strcmp(g->slices[i].profile, profile) == 0)
			return g->slices[i].count;
	return 0;
}

static bool gpu_fits(const struct capacity *c, const struct capacity_gpu *g, const struct promise *p)
{
	return (!p->gpu_parts || (*c->shares && strcasecmp(c->shares, g->vendor) == 0)) &&
		(!*p->gpu_vendor || strcasecmp(p->gpu_vendor, g->vendor) == 0) &&
		(!*p->gpu_model || strcasecmp(p->gpu_model, g->model) == 0) &&
		(!*p->gpu_slice || gpu_slices_of(g, p->gpu_slice)) &&
		g->memory >= p->gpu_memory - p->gpu_memory / TALLY_GPU_PART;
}

/* The kinds of GPU that would do, as bits. */
static unsigned tally_set(const struct capacity *c, const struct promise *p)
{
	unsigned set = 0;

	for (size_t i = 0; i < c->kinds && c->devices; i++)
		if (gpu_fits(c, &c->gpus[i], p))
			set |= 1U << i;
	return set;
}

static int64_t gpus_in(const struct capacity *c, unsigned set)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->kinds; i++)
		if (set & (1U << i))
			sum += c->gpus[i].count;
	return sum;
}

/* Promised to nodes that cannot do with a GPU out of the set. */
static int64_t gpus_bound(const struct tally *r, unsigned set)
{
	int64_t sum = set ? 0 : r->gpus[0];

	for (unsigned s = set; s; s = (s - 1) & set)
		sum = tally_sum(sum, r->gpus[s]);
	return sum;
}

int64_t tally_per_gpu(const struct capacity *has, const struct promise *p)
{
	int64_t least = 0;

	if (!*p->gpu_slice)
		return p->gpu_parts ? p->gpu_parts : 1;
	for (size_t i = 0; i < has->kinds; i++) {
		int64_t count = gpu_fits(has, &has->gpus[i], p) ? gpu_slices_of(&has->gpus[i], p->gpu_slice) : 0;

		least = count && (!least || count < least) ? count : least;
	}
	return least;
}

/* Where the slices of this profile and set are counted; TALLY_SORTS: nowhere. */
static size_t tally_sort(const struct tally *r, unsigned set, const struct promise *p)
{
	size_t i = 0;

	while (i < r->sorts && (r->slices[i].set != set || strcmp(r->slices[i].profile, p->gpu_slice) != 0))
		i++;
	return i;
}

static int64_t gpus_more_slices(const struct tally *r, unsigned set, const struct promise *p)
{
	int64_t per = tally_per_gpu(&r->has, p);
	size_t i = tally_sort(r, set, p);

	if (i == TALLY_SORTS)
		return INT32_MAX;
	return !per || i == r->sorts || r->slices[i].count % per == 0;
}

/*
 * Whole GPUs that one more node takes: a GPU is cut into shares or slices of one size, so the first of each few takes
 * one. Shares of different types may be promised more GPUs than they could do with, never fewer.
 */
static int64_t gpus_more(const struct tally *r, unsigned set, const struct promise *p)
{
	if (*p->gpu_slice)
		return gpus_more_slices(r, set, p);
	return p->gpu_parts ? r->shares[set][p->gpu_parts] % p->gpu_parts == 0 : p->gpus;
}

/* By Hall's theorem all nodes get GPUs that do, if no set of kinds has fewer than the nodes bound to it need. */
static bool gpus_fit(const struct tally *r, const struct promise *p)
{
	unsigned own = tally_set(&r->has, p), all = (1U << r->has.kinds) - 1;
	int64_t more = gpus_more(r, own, p);

	for (unsigned set = own; set <= all; set = (set + 1) | own)
		if (tally_sum(gpus_bound(r, set), more) > gpus_in(&r->has, set))
			return false;
	return true;
}

static int64_t tally_memory(const struct tally *r, const struct promise *p)
{
	return p->memory ? tally_sum(p->memory, r->has.node_memory) : 0;
}

void tally_init(struct tally *r, const struct capacity *has)
{
	memset(r, 0, sizeof *r);
	r->has = *has;
}

enum tally_part tally_lacks(const struct tally *r, const struct promise *p)
{
	if (p->gpus && !gpus_fit(r, p))
		return TALLY_GPUS;
	if (p->network_mbps && r->has.no_rate)
		return TALLY_RATE;
	if (p->shared && !r->has.shared)
		return TALLY_SHARED;
	if (p->vcpus && tally_sum(r->cores, tally_cores(p)) > r->has.vcpus * TALLY_CORE)
		return TALLY_VCPUS;
	if (p->memory && tally_sum(r->memory, tally_memory(r, p)) > r->has.memory)
		return TALLY_MEMORY;
	if (promise_disk(p) && tally_sum(r->disk, promise_disk(p)) > r->has.disk)
		return TALLY_DISK;
	return TALLY_PARTS;
}

static void tally_take_slice(struct tally *r, unsigned set, const struct promise *p)
{
	size_t i = tally_sort(r, set, p);

	if (i == TALLY_SORTS)
		return;
	if (i == r->sorts) {
		r->slices[i] = (struct tally_slices){ .set = set };
		memcpy(r->slices[i].profile, p->gpu_slice, sizeof r->slices[i].profile);
		r->sorts++;
	}
	r->slices[i].count++;
}

void tally_take(struct tally *r, const struct promise *p, const char *host)
{
	const int64_t needs[TALLY_PARTS] = { p->gpus, p->network_mbps, p->shared, p->vcpus, p->memory,
		promise_disk(p) };
	unsigned set = tally_set(&r->has, p);

	for (int i = 0; i < TALLY_PARTS; i++)
		if (needs[i] && r->hosts[i]++ == 0)
			r->first[i] = host;
	r->gpus[set] = tally_sum(r->gpus[set], gpus_more(r, set, p));
	if (*p->gpu_slice)
		tally_take_slice(r, set, p);
	else
		r->shares[set][p->gpu_parts]++;
	r->cores = tally_sum(r->cores, tally_cores(p));
	r->memory = tally_sum(r->memory, tally_memory(r, p));
	r->disk = tally_sum(r->disk, promise_disk(p));
}

int64_t tally_count(const struct capacity *has, const struct promise *p)
{
	struct tally r;
	int64_t n = 0;

	for (tally_init(&r, has); n < NODES_MAX && tally_lacks(&r, p) == TALLY_PARTS; n++)
		tally_take(&r, p, "");
	return n;
}

/* ---- Why not ------------------------------------------------------------------------------------------ */

/* "8 h100" or, where there are several kinds, "2 h100 and 6 a100". */
static void tally_gpus_text(const struct capacity *c, char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0, n = 0; i < c->kinds && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%" PRId64 " %s%s%s", i ? " and " : "", c->gpus[i].count,
			c->gpus[i].vendor, *c->gpus[i].vendor ? " " : "", c->gpus[i].model);
}

/* "2 nvidia h100, which can be cut into mig:1g.10gb, mig:2g.20gb" */
static void tally_slices_text(const struct capacity *c, char *out, size_t size)
{
	size_t n, told = 0;

	tally_gpus_text(c, out, size);
	n = strlen(out);
	for (size_t i = 0; i < c->kinds; i++)
		for (size_t k = 0; k < c->gpus[i].slice_count && n < size; k++)
			n += (size_t)snprintf(out + n, size - n, "%s" SHARE_MIG "%s",
				told++ ? ", " : ", which can be cut into ", c->gpus[i].slices[k].profile);
	if (!told && n < size)
		snprintf(out + n, size - n, "%s", n ? ", without slices (MIG)" : "no GPU");
}

/* "it has 2 vCPUs, and 2 of them are promised to host 'a'" */
static void tally_told(const struct tally *r, const struct promise *p, enum tally_part part, char *out, size_t size)
{
	unsigned set = tally_set(&r->has, p);
	int64_t has = part == TALLY_GPUS ? gpus_in(&r->has, set) : r->has.vcpus,
		taken = part == TALLY_GPUS ? gpus_bound(r, set) : r->cores / TALLY_CORE + (r->cores % TALLY_CORE != 0);
	int64_t bytes = part == TALLY_MEMORY ? r->has.memory : r->has.disk;
	char a[32], b[32], gpus[200];
	size_t n;

	if (part == TALLY_GPUS && p->gpu_parts && !*r->has.shares) {
		snprintf(out, size, "its nodes cannot share a GPU, which needs driver ns, NVIDIA's GPUs and library");
		return;
	}
	if (part == TALLY_GPUS && !set && *p->gpu_slice) {
		tally_slices_text(&r->has, gpus, sizeof gpus);
		snprintf(out, size, "it has %s", gpus);
		return;
	}
	if (part == TALLY_GPUS && !set) {
		tally_gpus_text(&r->has, gpus, sizeof gpus);
		snprintf(out, size, "it has %s", *gpus ? gpus : "no GPU");
		return;
	}
	if (part == TALLY_GPUS || part == TALLY_VCPUS)
		n = (size_t)snprintf(out, size, "it has %" PRId64 " %s%s", has,
			part == TALLY_GPUS ? "such GPU" : "vCPU", has == 1 ? "" : "s");
	else
		n = (size_t)snprintf(out, size, "it has %s of %s for nodes", promise_bytes(bytes, a),
			part == TALLY_MEMORY ? "memory" : "disk");
	if (!r->hosts[part] || n >= size)
		return;
	if (part == TALLY_GPUS || part == TALLY_VCPUS)
		snprintf(b, sizeof b, "%" PRId64, taken);
	else
		promise_bytes(part == TALLY_MEMORY ? r->memory : r->disk, b);
	if (r->hosts[part] == 1)
		snprintf(out + n, size - n, ", and %s of %s promised to host '%.60s'", b,
			part == TALLY_GPUS || part == TALLY_VCPUS ? "them are" : "it is", r->first[part]);
	else
		snprintf(out + n, size - n, ", and %s of %s promised to '%.60s' and %zu more host%s", b,
			part == TALLY_GPUS || part == TALLY_VCPUS ? "them are" : "it is", r->first[part],
			r->hosts[part] - 1, r->hosts[part] == 2 ? "" : "s");
}

static int tally_refuse(const struct tally *r, const struct promise *p, const struct sku *s, const char *whose,
	struct fail *why)
{
	enum tally_part part = tally_lacks(r, p);
	int64_t count = tally_count(&r->has, p);
	char promised[PROMISE_TEXT], told[256];

	promise_text(p, promised);
	if (p->gpus && !r->has.devices)
		return fail_set(why, REASON_NO_ROOM,
			"%s cannot hold a node of type '%.100s' (%s): its driver%s%s gives nodes no GPUs%s%s", whose,
			s->alias, promised, *r->has.driver ? " " : "", r->has.driver, *r->has.no_gpus ? ": " : "; run ",
			*r->has.no_gpus ? r->has.no_gpus : "nanopod-agentd with a driver that does");
	if (part == TALLY_RATE)
		return fail_set(why, REASON_NO_ROOM,
			"%s cannot hold a node of type '%.100s' (%s): its driver%s%s limits no network; run "
			"nanopod-agentd as "
			"root, with driver ns or vm",
			whose, s->alias, promised, *r->has.driver ? " " : "", r->has.driver);
	if (part == TALLY_SHARED)
		return fail_set(why, REASON_NO_ROOM,
			"%s cannot hold a node of type '%.100s' (%s): its driver%s%s gives nodes no folder to share; "
			"run nanopod-agentd as root, with driver ns, where there are loop devices",
			whose, s->alias, promised, *r->has.driver ? " " : "", r->has.driver);
	tally_told(r, p, part, told, sizeof told);
	if (!count)
		return fail_set(why, REASON_NO_ROOM, "%s has no room for a node of type '%.100s' (%s): %s", whose,
			s->alias, promised, told);
	return fail_set(why, REASON_NO_ROOM, "%s has room for %" PRId64 " node%s of type '%.100s' (%s): %s", whose,
		count, count == 1 ? "" : "s", s->alias, promised, told);
}

/* ---- The hosts of an agent ------------------------------------------------------------------------------- */

bool tally_sold(const struct engine *e, const struct host *h)
{
	for (size_t i = 0; i < h->piece_count; i++)
		if (h->pieces[i].lease && h->pieces[i].end > engine_minute(e))
			return true;
	return false;
}

bool tally_offered(const struct engine *e, const struct host *h)
{
	for (size_t i = 0; i < h->piece_count; i++)
		if (h->pieces[i].order && h->pieces[i].end > engine_minute(e))
			return true;
	return false;
}

/* The promise of a host's type. Many hosts in a row are of one type: it is read once. */
struct tally_types {
	const struct engine *e;
	uint64_t sku, changed; /* changed: this type is to promise `next` */
	struct promise last, next;
};

static const struct promise *tally_promise(struct tally_types *t, uint64_t sku)
{
	if (sku != t->sku || !sku) {
		t->last = sku == t->changed ? t->next : promise_of(engine_sku(t->e, sku));
		t->sku = sku;
	}
	return &t->last;
}

/* ---- New hosts and offers ------------------------------------------------------------------------------------ */

static int tally_check_host(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct agent *a = engine_agent(e, ev->u.host.agent);
	const struct sku *s = engine_sku(e, ev->u.host.sku);
	struct promise p = promise_of(s);
	struct tally_types types = { .e = e };
	char promised[PROMISE_TEXT];
	struct capacity has;
	struct tally r;

	if (!a || !s || !promise_any(&p))
		return 0;
	if (!tally_capacity_of(a, &has))
		return fail_set(why, REASON_NO_ROOM,
			"nobody knows whether this machine holds a node of type '%.100s' (%s): its agent does not "
			"report its capacity; update nanopod-agentd",
			s->alias, promise_text(&p, promised));
	tally_init(&r, &has);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id))
		tally_take(&r, tally_promise(&types, h->sku), h->name);
	return tally_lacks(&r, &p) == TALLY_PARTS ? 0 : tally_refuse(&r, &p, s, "this machine", why);
}

/* With all others that are sold or on sale. */
static int tally_holds(const struct engine *e, const struct host *h, struct fail *why)
{
	const struct agent *a = h->agent && !h->retired ? engine_agent(e, h->agent) : NULL;
	const struct sku *s = engine_sku(e, h->sku);
	struct promise p = promise_of(s);
	struct tally_types types = { .e = e };
	struct capacity has;
	char whose[128];
	struct tally r;

	if (!a || !s || !promise_any(&p) || !tally_capacity_of(a, &has))
		return 0;
	tally_init(&r, &has);
	for (const struct host *o = engine_host_of_agent(e, a->id, 0); o; o = engine_host_of_agent(e, a->id, o->id))
		if (o->id != h->id && (tally_sold(e, o) || tally_offered(e, o)))
			tally_take(&r, tally_promise(&types, o->sku), o->name);
	snprintf(whose, sizeof whose, "the machine of host '%.80s'", h->name);
	return tally_lacks(&r, &p) == TALLY_PARTS ? 0 : tally_refuse(&r, &p, s, whose, why);
}

/* Where one order offers the hosts of a pool, all that may be taken have to fit, with all that is promised already. */
static int tally_check_pool(const struct engine *e, const struct agent *a, const struct event *ev, struct fail *why)
{
	struct tally_types types = { .e = e };
	bool mine = false, known = false;
	struct capacity has;
	char whose[128];
	struct tally r;

	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		const struct promise *p = tally_promise(&types, h->sku);

		mine = h->pool == ev->u.order.pool && h->sku == ev->u.order.sku;
		if (!promise_any(p) || (!mine && !tally_sold(e, h) && !tally_offered(e, h)))
			continue;
		if (!known && !tally_capacity_of(a, &has))
			return 0;
		if (!known)
			tally_init(&r, &has);
		known = true;
		snprintf(whose, sizeof whose, "the machine of host '%.80s'", h->name);
		if (mine && tally_lacks(&r, p) != TALLY_PARTS)
			return tally_refuse(&r, p, engine_sku(e, h->sku), whose, why);
		tally_take(&r, p, h->name);
	}
	return 0;
}

static int tally_check_offer(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct pool *pool = engine_pool(e, ev->u.order.pool);
	const struct host *h = ev->u.order.host ? engine_host(e, ev->u.order.host) : NULL;
	int rc = 0;

	if (ev->u.order.side != SIDE_SELL || !pool || pool->kind != POOL_ORIGINATING)
		return 0;
	if (ev->u.order.host)
		return h ? tally_holds(e, h, why) : 0;
	for (const struct agent *a = NULL; !rc && (a = engine_agent_after(e, ev->account, a ? a->id : 0));)
		rc = a->retired ? 0 : tally_check_pool(e, a, ev, why);
	return rc;
}

/* ---- Another promise ------------------------------------------------------------------------------------------ */

/* The hosts of the type that are on sale with the new promise; nothing of it is sold. */
static int tally_check_types(const struct engine *e, const struct agent *a, struct tally_types types, struct fail *why)
{
	struct capacity has;
	char whose[128];
	struct tally r;

	if (!tally_capacity_of(a, &has))
		return 0;
	tally_init(&r, &has);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id)) {
		const struct promise *p = tally_promise(&types, h->sku);

		if (!tally_sold(e, h) && !tally_offered(e, h))
			continue;
		snprintf(whose, sizeof whose, "the machine of host '%.80s'", h->name);
		if (h->sku == types.changed && tally_lacks(&r, p) != TALLY_PARTS)
			return tally_refuse(&r, p, engine_sku(e, h->sku), whose, why);
		tally_take(&r, p, h->name);
	}
	return 0;
}

static int tally_check_sku(const struct engine *e, const struct event *ev, struct fail *why)
{
	const struct sku *s = engine_sku(e, ev->subject);
	json_t *properties = ev->text ? json_loads(ev->text, 0, NULL) : NULL;
	struct tally_types types = { .e = e,
		.changed = ev->subject,
		.next = promise_read(s ? s->gpus : 0, properties) };
	struct promise before = promise_of(s);
	uint64_t looked = 0;
	int rc = 0;

	json_decref(properties);
	if (!s || promise_same(&before, &types.next))
		return 0;
	for (const struct host *h = NULL; (h = engine_host_after(e, 0, h ? h->id : 0));)
		if (h->sku == s->id && !h->retired && tally_sold(e, h))
			return fail_set(why, REASON_HAS_DEPENDENTS,
				"type '%.100s' has sold time that is not over, so its promise cannot change; make "
				"another type",
				s->alias);
	for (const struct host *h = NULL; !rc && (h = engine_host_after(e, 0, h ? h->id : 0));)
		if (h->sku == s->id && !h->retired && h->agent && h->agent != looked)
			rc = tally_check_types(e, engine_agent(e, looked = h->agent), types, why);
	return rc;
}

int tally_check(const struct api *api, const struct event *ev, struct fail *why)
{
	const struct engine *e = market_engine(api->market);

	switch (ev->kind) {
	case EVENT_HOST:
		return ev->u.host.agent ? tally_check_host(e, ev, why) : 0;
	case EVENT_ORDER:
		return tally_check_offer(e, ev, why);
	case EVENT_SKU:
		return ev->subject ? tally_check_sku(e, ev, why) : 0;
	default:
		return 0;
	}
}

/* ---- A machine that has less than before ------------------------------------------------------------------------ */

static int tally_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

bool tally_among(const uint64_t *ids, size_t count, uint64_t id)
{
	return count && bsearch(&id, ids, count, sizeof id, tally_compare);
}

static int tally_misfit_add(uint64_t **ids, size_t *count, uint64_t id)
{
	/* grows at powers of two */
	uint64_t *more = *count & (*count - 1) ? *ids : reallocarray(*ids, *count ? 2 * *count : 1, sizeof *more);

	if (!more)
		return -ENOMEM;
	*ids = more;
	more[(*count)++] = id;
	return 0;
}

int tally_misfits(const struct engine *e, const struct agent *a, uint64_t **ids, size_t *count)
{
	struct tally_types types = { .e = e };
	struct capacity has;
	struct tally r;
	int rc = 0;

	*ids = NULL;
	*count = 0;
	if (!tally_capacity_of(a, &has))
		return 0;
	tally_init(&r, &has);
	for (int rank = 0; rank < 3; rank++) {
		const struct host *h = engine_host_of_agent(e, a->id, 0);

		for (; !rc && h; h = engine_host_of_agent(e, a->id, h->id)) {
			const struct promise *p = tally_promise(&types, h->sku);
			bool sold = tally_sold(e, h), fits;

			if (!promise_any(p) || (sold ? 0 : tally_offered(e, h) ? 1 : 2) != rank)
				continue;
			fits = tally_lacks(&r, p) == TALLY_PARTS;
			if (!fits)
				rc = tally_misfit_add(ids, count, h->id);
			if (fits || sold)
				tally_take(&r, p, h->name);
		}
	}
	if (*count)
		qsort(*ids, *count, sizeof **ids, tally_compare);
	return rc;
}

/* ---- Told to the owner ------------------------------------------------------------------------------------------ */

static json_t *tally_sizes(int64_t vcpus, int64_t memory, int64_t disk, int64_t gpus)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "vcpus", (json_int_t)vcpus, "memory_bytes", (json_int_t)memory,
		"disk_bytes", (json_int_t)disk, "gpus", (json_int_t)gpus);
}

static int64_t tally_rest(int64_t has, int64_t promised)
{
	return has > promised ? has - promised : 0;
}

json_t *tally_json(const struct engine *e, const struct agent *a)
{
	struct tally_types types = { .e = e };
	int64_t gpus, promised, cores;
	struct capacity has;
	struct tally r;

	if (!tally_capacity_of(a, &has))
		return json_null();
	tally_init(&r, &has);
	for (const struct host *h = engine_host_of_agent(e, a->id, 0); h; h = engine_host_of_agent(e, a->id, h->id))
		tally_take(&r, tally_promise(&types, h->sku), h->name);
	gpus = has.devices ? gpus_in(&has, (1U << has.kinds) - 1) : 0;
	promised = tally_sum(has.kinds ? r.gpus[0] : 0, gpus_bound(&r, (1U << has.kinds) - 1));
	cores = r.cores / TALLY_CORE + (r.cores % TALLY_CORE != 0);
	return json_pack("{s:o, s:o, s:o}", "has", tally_sizes(has.vcpus, has.memory, has.disk, gpus), "promised",
		tally_sizes(cores, r.memory, r.disk, promised), "left",
		tally_sizes(tally_rest(has.vcpus, cores), tally_rest(has.memory, r.memory),
			tally_rest(has.disk, r.disk), tally_rest(gpus, promised)));
}
