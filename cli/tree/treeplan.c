/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tree/treeplan.h"

enum { SLOWER = 3, LAG_PART = 64, LAG_LEAST = 4 << 20, PROBE_NODES = 3 };

struct plan {
	struct tree_node *nodes;
	size_t count;
	uint64_t size, lag, fastest;
	unsigned fed; /* children of the source, without those that only it can reach */
};

uint64_t tree_lag(uint64_t size)
{
	return size / LAG_PART > LAG_LEAST ? size / LAG_PART : LAG_LEAST;
}

static bool plan_blamed(const struct tree_node *n, int parent)
{
	for (unsigned i = 0; i < n->fails; i++)
		if (n->failed[i] == parent)
			return true;
	return false;
}

void tree_blame(struct tree_node *n, int parent)
{
	if (n->fails < TREE_TRIES && !plan_blamed(n, parent))
		n->failed[n->fails++] = parent;
	n->direct |= n->fails == TREE_TRIES;
}

/* Gives a node another parent, and counts the children of both. */
static void plan_move(struct plan *p, int node, int parent)
{
	struct tree_node *n = &p->nodes[node];
	int old = n->next;

	n->next = parent;
	if (!n->ready || n->have >= p->size || n->direct)
		return;
	if (old == TREE_SOURCE)
		p->fed--;
	else if (old >= 0) {
		p->nodes[old].load--;
		p->nodes[old].fast -= !n->slow;
	}
	if (parent == TREE_SOURCE)
		p->fed++;
	else if (parent >= 0) {
		p->nodes[parent].load++;
		p->nodes[parent].fast += !n->slow;
	}
}

/* Whether the way from `at` up to the source comes by `node`. */
static bool plan_below(const struct plan *p, int at, int node)
{
	for (size_t steps = 0; at >= 0 && steps <= p->count; steps++) {
		if (at == node)
			return true;
		at = p->nodes[at].next;
	}
	return at >= 0;
}

static bool plan_can_serve(const struct plan *p, int at, int node)
{
	const struct tree_node *c = &p->nodes[at];

	return at != node && c->ready && (c->have >= p->size || c->next != TREE_NONE) &&
		!plan_blamed(&p->nodes[node], at) && c->load < TREE_CHILDREN &&
		!(p->nodes[node].load && plan_below(p, at, node));
}

/* In bytes of delay: until the parent has what the node has; and half of its speed for the rest, if it is shared. */
static uint64_t plan_cost(const struct plan *p, int at, int node)
{
	const struct tree_node *c = &p->nodes[at], *n = &p->nodes[node];

	return (c->have < n->have ? n->have - c->have : 0) + (c->fast && !n->slow ? p->size - n->have : 0);
}

/* The best parent with at least `least` bytes: the one that costs least; of these the one that has most. */
static int plan_pick(const struct plan *p, int node, uint64_t least, bool slow_too)
{
	int best = TREE_NONE;
	uint64_t best_cost = 0;

	for (int at = 0; at < (int)p->count; at++) {
		const struct tree_node *c = &p->nodes[at];
		uint64_t cost;

		if (c->have < least || (c->slow && c->have < p->size && !slow_too) || !plan_can_serve(p, at, node))
			continue;
		cost = plan_cost(p, at, node);
		if (best < 0 || cost < best_cost || (cost == best_cost && c->have > p->nodes[best].have)) {
			best = at;
			best_cost = cost;
		}
	}
	return best;
}

static bool plan_wants(const struct plan *p, const struct tree_node *n)
{
	return n->ready && !n->busy && n->have < p->size;
}

/* A node far behind its parent, and slow where others are fast, does that by itself. */
static void plan_judge(struct plan *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->nodes[i].ready && p->nodes[i].rate > p->fastest)
			p->fastest = p->nodes[i].rate;
	for (size_t i = 0; i < p->count; i++)
		p->nodes[i].load = p->nodes[i].fast = 0;
	/* What is known of the others is up to a second old. */
	if (p->fastest > p->lag)
		p->lag = p->fastest;
	for (size_t i = 0; i < p->count; i++) {
		struct tree_node *n = &p->nodes[i];

		n->next = TREE_NONE;
		if (n->ready && (n->parent < 0 || p->nodes[n->parent].ready))
			plan_move(p, (int)i, n->parent);
		if (n->next >= 0 && n->have < p->size && p->nodes[n->next].have > n->have + p->lag &&
			n->rate * SLOWER < p->fastest && !n->slow) {
			n->slow = true;
			p->nodes[n->next].fast--;
		}
	}
}

static bool plan_gets_nothing(const struct plan *p, const struct tree_node *n)
{
	return n->ready && n->have < p->size && n->still_ms >= TREE_STALL_MS &&
		(n->next == TREE_SOURCE || (n->next >= 0 && p->nodes[n->next].have > n->have));
}

/* All nodes below one that hangs get nothing. News from it may be older than news from those that take from it. */
static void plan_find_stuck(struct plan *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct tree_node *n = &p->nodes[i];

		n->stuck = plan_gets_nothing(p, n) && !(n->next >= 0 && plan_gets_nothing(p, &p->nodes[n->next]));
	}
}

/*
 * The source begins with two nodes, because one alone does not tell whether it is slow or the way from here is.
 * The better one stays; the other joins the chain.
 */
static void plan_probe(struct plan *p)
{
	int best = TREE_NONE, parent;

	for (int i = 0; i < (int)p->count; i++)
		if (p->nodes[i].next == TREE_SOURCE && !p->nodes[i].direct && p->nodes[i].have < p->size &&
			(best < 0 || p->nodes[i].have > p->nodes[best].have))
			best = i;
	if (best < 0 || p->nodes[best].have < p->lag)
		return;
	for (int i = 0; i < (int)p->count; i++) {
		struct tree_node *n = &p->nodes[i];

		if (i == best || n->next != TREE_SOURCE || n->direct || !plan_wants(p, n))
			continue;
		n->slow |= n->rate * SLOWER < p->nodes[best].rate;
		parent = plan_pick(p, i, 0, false);
		if (parent != TREE_NONE)
			plan_move(p, i, parent);
	}
}

/* A parent for a node without one. */
static int plan_first(const struct plan *p, int node)
{
	const struct tree_node *n = &p->nodes[node];
	unsigned begun = 0, complete = 0;
	int parent;

	for (size_t i = 0; i < p->count; i++) {
		begun += p->nodes[i].have >= p->lag;
		complete += p->nodes[i].ready && p->nodes[i].have >= p->size;
	}
	/* The source has done its part where a node has all of it. */
	if (n->direct || (p->fed == 0 && !complete))
		return TREE_SOURCE;
	if (p->fed == 1 && !begun && p->count >= PROBE_NODES)
		return TREE_SOURCE;
	parent = plan_pick(p, node, 0, false);
	if (parent == TREE_NONE)
		parent = plan_pick(p, node, 0, true);
	return parent == TREE_NONE && p->fed < TREE_CHILDREN ? TREE_SOURCE : parent;
}

/* A parent that is itself slow, or gives nothing, is left where somebody has more. */
static void plan_better(struct plan *p, int node)
{
	struct tree_node *n = &p->nodes[node];
	const struct tree_node *up = n->next >= 0 ? &p->nodes[n->next] : NULL;
	bool stalled = up && (plan_gets_nothing(p, n) || (up->stuck && n->still_ms >= TREE_STALL_MS / 2));
	int parent;

	if (!up)
		return;
	if (stalled)
		tree_blame(n, n->next);
	else if (!up->slow || up->have >= p->size || up->have > n->have + p->lag)
		return;
	parent = plan_pick(p, node, n->have + (stalled ? p->lag : 2 * p->lag), false);
	/* A parent that hangs may be the one with most: then only the source has more. */
	if (n->direct || (parent == TREE_NONE && stalled && p->fed < TREE_CHILDREN))
		parent = TREE_SOURCE;
	if (parent != TREE_NONE)
		plan_move(p, node, parent);
}

/* The one that has most goes first: the others follow it. */
static int plan_neediest(const struct plan *p)
{
	int best = TREE_NONE;

	for (int i = 0; i < (int)p->count; i++)
		if (!p->nodes[i].seen && plan_wants(p, &p->nodes[i]) && p->nodes[i].next == TREE_NONE &&
			(best < 0 || p->nodes[i].have > p->nodes[best].have))
			best = i;
	return best;
}

void tree_plan(struct tree_node *nodes, size_t count, uint64_t size)
{
	struct plan p = { .nodes = nodes, .count = count, .size = size, .lag = tree_lag(size) };
	int i;

	for (size_t k = 0; k < count; k++)
		nodes[k].seen = false;
	plan_judge(&p);
	plan_find_stuck(&p);
	plan_probe(&p);
	for (size_t k = 0; k < count; k++)
		if (plan_wants(&p, &nodes[k]))
			plan_better(&p, (int)k);
	while ((i = plan_neediest(&p)) >= 0) {
		nodes[i].seen = true;
		plan_move(&p, i, plan_first(&p, i));
	}
}
