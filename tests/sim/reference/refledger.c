/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, lists and the books of the reference market. See reference.h. */
#include <stdlib.h>
#include <string.h>

#include "ref.h"

void *ref_more(void *old, size_t n, size_t size)
{
	void *p = realloc(old, n * size);

	if (!p)
		abort();
	return p;
}

char *ref_text(const char *s)
{
	size_t n = s ? strlen(s) + 1 : 1;
	char *p = ref_more(NULL, n, 1);

	memcpy(p, s ? s : "", n);
	return p;
}

void ref_list_add(struct list *l, void *thing)
{
	l->at = ref_more(l->at, l->n + 1, sizeof *l->at);
	l->at[l->n++] = thing;
}

void ref_list_drop(struct list *l, void *thing)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->at[i] != thing)
			continue;
		memmove(l->at + i, l->at + i + 1, (l->n - i - 1) * sizeof *l->at);
		l->n--;
		break;
	}
	free(thing);
}

void *ref_list_find(const struct list *l, uint64_t id)
{
	for (size_t i = 0; id && i < l->n; i++)
		if (*(const uint64_t *)l->at[i] == id)
			return l->at[i];
	return NULL;
}

bool ref_mark_has(const struct marks *m, uint64_t sku)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->at[i] == sku)
			return true;
	return false;
}

void ref_mark_add(struct marks *m, uint64_t sku)
{
	if (ref_mark_has(m, sku))
		return;
	if (m->n == sizeof m->at / sizeof m->at[0])
		abort();
	m->at[m->n++] = sku;
}

int64_t ref_book_balance(const struct reference *r, uint64_t owner, int book, uint64_t asset)
{
	for (size_t i = 0; i < r->books; i++)
		if (r->book[i].owner == owner && r->book[i].book == book && r->book[i].asset == asset)
			return r->book[i].balance;
	return 0;
}

int64_t ref_available(const struct reference *r, uint64_t account)
{
	return ref_book_balance(r, account, BOOK_AVAILABLE, 0);
}

/* The books are kept in the order in which they are told. */
void ref_post(struct reference *r, uint64_t owner, int book, uint64_t asset, int64_t amount)
{
	size_t i;

	if (amount == 0)
		return;
	r->moved = true;
	for (i = 0; i < r->books; i++) {
		struct rbook *b = &r->book[i];

		if (b->owner == owner && b->book == book && b->asset == asset) {
			b->balance += amount;
			return;
		}
		if (b->owner > owner ||
			(b->owner == owner && (b->book > book || (b->book == book && b->asset > asset))))
			break;
	}
	r->book = ref_more(r->book, r->books + 1, sizeof *r->book);
	memmove(r->book + i + 1, r->book + i, (r->books - i) * sizeof *r->book);
	r->books++;
	r->book[i] = (struct rbook){ .owner = owner, .asset = asset, .book = book, .balance = amount };
}

void ref_transfer_done(struct reference *r)
{
	if (r->moved)
		r->next_transfer++;
	r->moved = false;
}

/* Where a pool's node-minutes are counted: what it originates is issued. */
void ref_post_capacity(struct reference *r, uint64_t pool, uint64_t sku, int64_t amount)
{
	const struct rpool *p = ref_list_find(&r->pools, pool);

	if (!p)
		abort();
	ref_post(r, pool, p->kind == POOL_ORIGINATING ? BOOK_ISSUED : BOOK_CAPACITY, sku, amount);
	if (p->kind == POOL_MARKET && ref_book_balance(r, pool, BOOK_CAPACITY, sku) < 0)
		abort();
}

/* What a seller earns, less the fee, which is rounded up. */
void ref_post_income(struct reference *r, uint64_t seller, int64_t amount)
{
	int64_t fee = (int64_t)(((wide)amount * r->policy.fee_bps + 9999) / 10000);

	ref_post(r, 0, BOOK_FEES, 0, fee);
	ref_post(r, seller, BOOK_AVAILABLE, 0, amount - fee);
}
