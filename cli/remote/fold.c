/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A radix tree whose leaves may grow: the host that is ahead appends, the others compare. A
 * branch leaves its parent at a byte that differs, so each text has exactly one place.
 */
#include "cli/remote/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct fold_node {
	struct fold_node *parent;
	size_t from;             /* bytes of the parent that come before */
	uint64_t before;         /* bytes of all ancestors that come before */
	uint64_t id;
	struct buf text;
	struct fold_node *chain; /* of its slot in the index */
	struct fold_node *older; /* the node made before it, for freeing */
};

struct fold {
	struct fold_node *root, *newest;
	struct fold_node **index; /* by parent, place and first byte */
	size_t slots;             /* a power of two */
	uint64_t nodes;
	size_t used, max;
};

static struct fold_node *node_new(struct fold *f, struct fold_node *parent, size_t from)
{
	struct fold_node *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->parent = parent;
	n->from = from;
	n->before = parent ? parent->before + from : 0;
	n->id = f->nodes++;
	buf_init(&n->text, f->max);
	n->older = f->newest;
	f->newest = n;
	return n;
}

int fold_new(size_t max, struct fold **out)
{
	struct fold *f = calloc(1, sizeof *f);

	if (!f)
		return -ENOMEM;
	f->max = max;
	f->slots = 64;
	f->index = calloc(f->slots, sizeof(struct fold_node *));
	if (f->index)
		f->root = node_new(f, NULL, 0);
	if (!f->root) {
		fold_free(f);
		return -ENOMEM;
	}
	*out = f;
	return 0;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	while (f->newest) {
		struct fold_node *n = f->newest;

		f->newest = n->older;
		buf_release(&n->text);
		free(n);
	}
	free(f->index);
	free(f);
}

static size_t fold_slot_of(const struct fold *f, uint64_t parent, size_t from, unsigned char first)
{
	uint64_t h = (parent * 1000003u + from) * 257u + first;

	h = (h ^ (h >> 31)) * 0x9e3779b97f4a7c15u;
	return (size_t)(h >> 32) & (f->slots - 1);
}

static size_t slot_of_node(const struct fold *f, const struct fold_node *n)
{
	return fold_slot_of(f, n->parent->id, n->from, (unsigned char)n->text.data[0]);
}

/* Doubles the slots. Without memory for them the chains just grow longer. */
static void index_grow(struct fold *f)
{
	size_t old = f->slots;
	struct fold_node **from = f->index, **to = calloc(old * 2, sizeof(struct fold_node *));

	if (!to)
		return;
	f->index = to;
	f->slots = old * 2;
	for (size_t i = 0; i < old; i++) {
		struct fold_node *next;

		for (struct fold_node *n = from[i]; n; n = next) {
			size_t s = slot_of_node(f, n);

			next = n->chain;
			n->chain = to[s];
			to[s] = n;
		}
	}
	free(from);
}

static struct fold_node *branch_find(const struct fold *f, const struct fold_node *parent, size_t from, char first)
{
	struct fold_node *n = f->index[fold_slot_of(f, parent->id, from, (unsigned char)first)];

	while (n && !(n->parent == parent && n->from == from && n->text.data[0] == first))
		n = n->chain;
	return n;
}

static int fold_append(struct fold *f, struct fold_node *n, const char *data, size_t len)
{
	int rc = buf_add(&n->text, data, len);

	if (!rc)
		f->used += len;
	return rc;
}

static int branch_add(struct fold *f, struct fold_place *place, const char *data, size_t len)
{
	struct fold_node *n = node_new(f, place->node, place->at);
	size_t s;

	if (!n || fold_append(f, n, data, len) != 0) {
		if (n) {
			f->newest = n->older;
			free(n);
		}
		return -ENOMEM;
	}
	if (f->nodes > f->slots)
		index_grow(f);
	s = slot_of_node(f, n);
	n->chain = f->index[s];
	f->index[s] = n;
	*place = (struct fold_place){ n, len };
	return 0;
}

static size_t same_bytes(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	while (n - i >= 64 && memcmp(a + i, b + i, 64) == 0)
		i += 64;
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

int fold_add(struct fold *f, struct fold_place *place, const void *data, size_t len)
{
	struct fold_place p = place->node ? *place : (struct fold_place){ f->root, 0 };
	const char *s = data;
	int rc = 0;

	while (len > 0 && rc == 0) {
		size_t room = p.node->text.len - p.at;
		size_t same = room ? same_bytes(p.node->text.data + p.at, s, room < len ? room : len) : 0;
		struct fold_node *next;

		p.at += same;
		s += same;
		len -= same;
		if (!len)
			break;
		next = p.at < p.node->text.len ? branch_find(f, p.node, p.at, *s) : NULL;
		if (next) {
			p = (struct fold_place){ next, 0 };
			continue;
		}
		if (len > f->max - f->used)
			return -EFBIG;
		if (p.at < p.node->text.len) {
			rc = branch_add(f, &p, s, len);
		} else {
			rc = fold_append(f, p.node, s, len);
			p.at += rc ? 0 : len;
		}
		len = 0;
	}
	if (rc == 0)
		*place = p;
	return rc;
}

uint64_t fold_length(struct fold_place place)
{
	return place.node ? place.node->before + place.at : 0;
}

int fold_compare(struct fold_place a, struct fold_place b)
{
	uint64_t x = fold_length(a), y = fold_length(b);

	if (x != y)
		return x < y ? -1 : 1;
	if (x == 0 || a.node == b.node)
		return 0;
	return a.node->id < b.node->id ? -1 : 1;
}

int fold_read(struct fold_place place, int (*each)(void *arg, const char *data, size_t len), void *arg)
{
	size_t depth = 0;
	struct fold_place *path;
	int rc = 0;

	for (const struct fold_node *n = place.node; n; n = n->parent)
		depth++;
	if (!depth)
		return 0;
	path = calloc(depth, sizeof *path);
	if (!path)
		return -ENOMEM;
	for (size_t i = depth; i-- > 0;) {
		path[i] = place;
		place = (struct fold_place){ place.node->parent, place.node->from };
	}
	for (size_t i = 0; i < depth && rc == 0; i++)
		if (path[i].at)
			rc = each(arg, path[i].node->text.data, path[i].at);
	free(path);
	return rc;
}

static int fold_add_piece(void *arg, const char *data, size_t len)
{
	return buf_add(arg, data, len);
}

int fold_text(struct fold_place place, struct buf *out)
{
	return fold_read(place, fold_add_piece, out);
}
