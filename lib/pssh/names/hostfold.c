/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds names back to ranges. Names that differ only in their numbers form a family, in which each
 * name is a box with one value on each side. Two boxes that differ on one side only become one box,
 * until none can join. Boxes never overlap, so the result expands to exactly the same names.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/table.h"
#include "base/arena.h"
#include "pssh/pssh.h"

enum { SIDES_MAX = 6, DIGITS_MAX = 18, TEXT_MAX = 1 << 30 };

struct span {
	uint64_t lo, hi;
	unsigned width;             /* 0: not padded */
};

/* The values on a side of a box. Equal sides are one object, so comparing pointers is enough. */
struct side {
	char *text;                 /* "1-3,7" */
	struct span *spans;
	size_t count;
	bool single;
	uint32_t rank;              /* for sorting: by first value, then by creation */
};

struct box {
	const struct side *sides[SIDES_MAX];
};

/* Names that differ only in their numbers. */
struct family {
	struct family *next;
	const char *form;           /* the name with MARK for each number */
	unsigned sides;
	unsigned widths[SIDES_MAX]; /* a bit for each padded width that it has */
	size_t count, first;        /* how many names; where its boxes begin */
};

struct number {
	uint64_t value;
	unsigned digits;
	bool padded;
};

struct fold {
	const struct pssh_list *list;
	struct arena *arena;
	struct table forms, texts;
	struct family *families, **tail;
	struct box *boxes, *spare;
	struct buf scratch;
	uint32_t ranks;
};

#define MARK '\001'

/* ---- Names ----------------------------------------------------------------------------- */

/* Which part may be folded: after "user@" and "ssh://", before ":port"; never in an IPv6 address. */
static void hostfold_foldable(const char *name, const char **from, const char **to)
{
	const char *s = strstr(name, "://"), *at, *colon;

	*from = s ? s + 3 : name;
	at = strrchr(*from, '@');
	if (at)
		*from = at + 1;
	colon = strchr(*from, ':');
	*to = colon ? colon : *from + strlen(*from);
	if (strchr(name, '[') || (colon && strchr(colon + 1, ':')))
		*to = *from;
}

/* Writes the name's form into f->scratch and its numbers into n. Returns how many, or a code. */
static int hostfold_take_apart(struct fold *f, const char *name, struct number *n)
{
	const char *from, *to, *s = name;
	int count = 0, rc = 0;

	hostfold_foldable(name, &from, &to);
	buf_clear(&f->scratch);
	while (!rc && *s) {
		const char *end = s;

		while (s >= from && end < to && isdigit((unsigned char)*end))
			end++;
		if (end == s || end - s > DIGITS_MAX || count == SIDES_MAX) {
			size_t len = end == s ? 1 : (size_t)(end - s);

			rc = buf_add(&f->scratch, s, len);
			s += len;
			continue;
		}
		n[count] = (struct number){ .digits = (unsigned)(end - s), .padded = *s == '0' && end - s > 1 };
		for (; s < end; s++)
			n[count].value = n[count].value * 10 + (uint64_t)(*s - '0');
		count++;
		rc = buf_addc(&f->scratch, MARK);
	}
	return rc ? PSSH_ENOMEM : count;
}

static struct family *family_of(struct fold *f, unsigned sides)
{
	struct family *one = table_get(&f->forms, buf_text(&f->scratch));

	if (one)
		return one;
	one = arena_get(f->arena, sizeof *one);
	if (!one || !(one->form = arena_text(f->arena, buf_text(&f->scratch), f->scratch.len)) ||
	    table_set(&f->forms, one->form, one) != 0)
		return NULL;
	one->sides = sides;
	*f->tail = one;
	f->tail = &one->next;
	return one;
}

/*
 * "10" beside "08" and "09" counts as padded too, though one cannot see it: a number belongs to the
 * widest padding of its family that it fills.
 */
static unsigned width_of(const struct family *one, int side, const struct number *n)
{
	if (n->padded)
		return n->digits;
	for (unsigned w = n->digits; w > 1; w--)
		if (one->widths[side] & (1u << w))
			return w;
	return 0;
}

/* ---- Sides ----------------------------------------------------------------------------- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Sorts spans and joins neighbours. Returns how many are left. */
static size_t join_spans(struct span *s, size_t count)
{
	size_t kept = 0;

	qsort(s, count, sizeof *s, compare_spans);
	for (size_t i = 1; i < count; i++) {
		if (s[i].width == s[kept].width && s[i].lo == s[kept].hi + 1)
			s[kept].hi = s[i].hi;
		else
			s[++kept] = s[i];
	}
	return kept + 1;
}

static bool power_of_ten(uint64_t n)
{
	while (n > 9 && n % 10 == 0)
		n /= 10;
	return n == 1;
}

/* Whether its numbers read the same without padding. */
static bool span_plain(const struct span *s)
{
	uint64_t least = 1;

	for (unsigned i = 1; i < s->width; i++)
		least *= 10;
	return !s->width || s->lo >= least;
}

/* The plain span that ends or begins with n; NULL: none. */
static const struct span *span_beside(const struct span *s, size_t count, uint64_t n, bool ends)
{
	for (size_t i = 0; i < count; i++)
		if ((ends ? s[i].hi : s[i].lo) == n && span_plain(&s[i]))
			return &s[i];
	return NULL;
}

/*
 * Writes the text of a side and, after it, what the text does not tell: the padding of numbers that fill it. 85-99 and
 * 100-115 read 85-115, though other numbers of three digits are padded.
 */
static int side_text(struct buf *b, const struct span *spans, size_t count, size_t *len)
{
	int rc = 0;

	buf_clear(b);
	for (size_t i = 0; !rc && i < count; i++) {
		const struct span *s = &spans[i], *last = s, *next = s;

		if (s->lo > 1 && power_of_ten(s->lo) && span_plain(s) && span_beside(spans, count, s->lo - 1, true))
			continue;
		while (next && span_plain(s) && power_of_ten(last->hi + 1))
			if ((next = span_beside(spans, count, last->hi + 1, false)) != NULL)
				last = next;
		rc = b->len ? buf_addc(b, ',') : 0;
		rc = rc ? rc : buf_addf(b, "%0*llu", (int)s->width, (unsigned long long)s->lo);
		if (!rc && s->lo < last->hi)
			rc = buf_addf(b, "-%0*llu", (int)s->width, (unsigned long long)last->hi);
	}
	*len = b->len;
	for (size_t i = 0; !rc && i < count; i++)
		rc = spans[i].width ? buf_addf(b, " %u", spans[i].width) : 0;
	return rc;
}

/* The side with these spans, which it sorts and joins first. NULL: out of memory. */
static const struct side *side_of(struct fold *f, struct span *spans, size_t count)
{
	struct side *side;
	char *key;
	size_t len;

	count = join_spans(spans, count);
	if (side_text(&f->scratch, spans, count, &len) != 0)
		return NULL;
	side = table_get(&f->texts, buf_text(&f->scratch));
	if (side)
		return side;
	side = arena_get(f->arena, sizeof *side);
	key = arena_text(f->arena, buf_text(&f->scratch), f->scratch.len);
	if (!side || !key || !(side->text = arena_text(f->arena, key, len)) ||
		!(side->spans = arena_get(f->arena, count * sizeof *spans)) || table_set(&f->texts, key, side) != 0)
		return NULL;
	memcpy(side->spans, spans, count * sizeof *spans);
	side->count = count;
	side->single = count == 1 && spans[0].lo == spans[0].hi;
	side->rank = f->ranks++;
	return side;
}

static int compare_sides(const struct side *a, const struct side *b)
{
	int order = a == b ? 0 : compare_spans(&a->spans[0], &b->spans[0]);

	return order ? order : a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* ---- Boxes ----------------------------------------------------------------------------- */

struct order {
	unsigned sides, last;       /* `last`: the side to compare after all others; SIDES_MAX: none */
};

static int compare_boxes(const void *a, const void *b, void *arg)
{
	const struct box *x = a, *y = b;
	const struct order *o = arg;
	int order = 0;

	for (unsigned i = 0; !order && i < o->sides; i++)
		if (i != o->last)
			order = compare_sides(x->sides[i], y->sides[i]);
	return order || o->last == SIDES_MAX ? order : compare_sides(x->sides[o->last], y->sides[o->last]);
}

static bool equal_but(const struct box *a, const struct box *b, unsigned sides, unsigned but)
{
	for (unsigned i = 0; i < sides; i++)
		if (i != but && a->sides[i] != b->sides[i])
			return false;
	return true;
}

/* Joins boxes[from..to), which are equal on all sides but one. */
static int join_run(struct fold *f, struct box *boxes, size_t from, size_t to, unsigned side, struct box *out)
{
	size_t count = 0, used = 0;
	struct span *spans;

	*out = boxes[from];
	if (to - from == 1)
		return 0;
	for (size_t i = from; i < to; i++)
		count += boxes[i].sides[side]->count;
	spans = malloc(count * sizeof *spans);
	if (!spans)
		return PSSH_ENOMEM;
	for (size_t i = from; i < to; i++) {
		const struct side *s = boxes[i].sides[side];

		memcpy(spans + used, s->spans, s->count * sizeof *spans);
		used += s->count;
	}
	out->sides[side] = side_of(f, spans, count);
	free(spans);
	return out->sides[side] ? 0 : PSSH_ENOMEM;
}

static int join_side(struct fold *f, struct box *boxes, size_t *count, unsigned sides, unsigned side)
{
	struct order o = { .sides = sides, .last = side };
	size_t kept = 0, to;
	int rc = 0;

	qsort_r(boxes, *count, sizeof *boxes, compare_boxes, &o);
	for (size_t from = 0; !rc && from < *count; from = to) {
		for (to = from + 1; to < *count && equal_but(&boxes[from], &boxes[to], sides, side); to++)
			;
		rc = join_run(f, boxes, from, to, side, &boxes[kept++]);
	}
	*count = kept;
	return rc;
}

/* Joins on all sides, beginning with the last or the first, until none can join. */
static int join_all(struct fold *f, struct box *boxes, size_t *count, unsigned sides, bool last_first)
{
	size_t before;
	int rc = 0;

	do {
		before = *count;
		for (unsigned i = 0; !rc && i < sides; i++)
			rc = join_side(f, boxes, count, sides, last_first ? sides - 1 - i : i);
	} while (!rc && *count < before && sides > 1);
	return rc;
}

static size_t boxes_cost(const struct box *boxes, size_t count, const struct family *one)
{
	size_t cost = count * (strlen(one->form) + 1);

	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < one->sides; k++)
			cost += strlen(boxes[i].sides[k]->text) + (boxes[i].sides[k]->single ? 0 : 2);
	return cost;
}

static int join_family(struct fold *f, struct family *one)
{
	struct box *boxes = f->boxes + one->first;
	struct order plain = { .sides = one->sides, .last = SIDES_MAX };
	size_t count = one->count, other = one->count;
	int rc;

	if (one->sides > 1)
		memcpy(f->spare, boxes, count * sizeof *boxes);
	rc = join_all(f, boxes, &count, one->sides, true);
	if (!rc && one->sides > 1 && count > 1) {
		rc = join_all(f, f->spare, &other, one->sides, false);
		if (!rc && boxes_cost(f->spare, other, one) < boxes_cost(boxes, count, one)) {
			memcpy(boxes, f->spare, other * sizeof *boxes);
			count = other;
		}
	}
	if (!rc && one->sides > 1)
		qsort_r(boxes, count, sizeof *boxes, compare_boxes, &plain);
	one->count = count;
	return rc;
}

/* ---- Together -------------------------------------------------------------------------- */

static int box_text(struct buf *b, const struct family *one, const struct box *box)
{
	unsigned side = 0;
	int rc = b->len ? buf_addc(b, ',') : 0;

	for (const char *s = one->form; !rc && *s; s++) {
		const struct side *x;

		if (*s != MARK) {
			rc = buf_addc(b, *s);
			continue;
		}
		x = box->sides[side++];
		rc = x->single ? buf_adds(b, x->text) : buf_addf(b, "[%s]", x->text);
	}
	return rc;
}

/* First pass: finds the families, their sizes and paddings. */
static int count_names(struct fold *f)
{
	size_t names = pssh_list_count(f->list), first = 0;

	for (size_t i = 0; i < names; i++) {
		struct number n[SIDES_MAX];
		int sides = hostfold_take_apart(f, pssh_list_get(f->list, i), n);
		struct family *one = sides < 0 ? NULL : family_of(f, (unsigned)sides);

		if (!one)
			return PSSH_ENOMEM;
		one->count++;
		for (int k = 0; k < sides; k++)
			if (n[k].padded)
				one->widths[k] |= 1u << n[k].digits;
	}
	for (struct family *one = f->families; one; one = one->next) {
		one->first = first;
		first += one->count;
		one->count = 0;
	}
	return 0;
}

/* Second pass: makes a box for each name. */
static int make_boxes(struct fold *f)
{
	size_t names = pssh_list_count(f->list);

	for (size_t i = 0; i < names; i++) {
		struct number n[SIDES_MAX];
		int sides = hostfold_take_apart(f, pssh_list_get(f->list, i), n);
		struct family *one = sides < 0 ? NULL : table_get(&f->forms, buf_text(&f->scratch));
		struct box *box;

		if (!one)
			return PSSH_ENOMEM;
		box = &f->boxes[one->first + one->count++];
		for (int k = 0; k < sides; k++) {
			struct span span = { .lo = n[k].value, .hi = n[k].value, .width = width_of(one, k, &n[k]) };

			box->sides[k] = side_of(f, &span, 1);
			if (!box->sides[k])
				return PSSH_ENOMEM;
		}
	}
	return 0;
}

static int fold_all(struct fold *f, struct buf *out)
{
	size_t names = pssh_list_count(f->list);
	int rc;

	f->boxes = calloc(names + 1, sizeof *f->boxes);
	f->spare = calloc(names + 1, sizeof *f->spare);
	f->arena = arena_new();
	if (!f->boxes || !f->spare || !f->arena)
		return PSSH_ENOMEM;
	rc = count_names(f);
	if (!rc)
		rc = make_boxes(f);
	for (struct family *one = f->families; !rc && one; one = one->next) {
		rc = join_family(f, one);
		for (size_t i = 0; !rc && i < one->count; i++)
			rc = box_text(out, one, &f->boxes[one->first + i]) ? PSSH_ENOMEM : 0;
	}
	return rc;
}

int pssh_list_fold(const struct pssh_list *l, char **out)
{
	struct fold f = { .list = l };
	struct buf text;
	char *folded;
	int rc;

	f.tail = &f.families;
	buf_init(&f.scratch, TEXT_MAX);
	buf_init(&text, TEXT_MAX);
	table_init(&f.forms);
	table_init(&f.texts);
	rc = fold_all(&f, &text);
	folded = rc ? NULL : buf_steal(&text);
	table_release(&f.forms);
	table_release(&f.texts);
	buf_release(&f.scratch);
	buf_release(&text);
	arena_free(f.arena);
	free(f.boxes);
	free(f.spare);
	if (!folded)
		return PSSH_ENOMEM;
	*out = folded;
	return 0;
}
