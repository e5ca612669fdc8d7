/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A doubly linked list threaded through its members. A link that is in no list points to
 * itself, so removing it twice does no harm.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *prev, *next;
};

#define list_entry(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* Safe against removal of the current member. */
#define list_each(pos, tmp, head) \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); (pos) = (tmp), (tmp) = (pos)->next)

static inline void list_init(struct list *l)
{
	l->prev = l->next = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *l)
{
	assert(head->prev->next == head);
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static inline void list_remove(struct list *l)
{
	assert(l->prev->next == l && l->next->prev == l);
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}

static inline struct list *list_first(const struct list *head)
{
	return head->next == head ? NULL : head->next;
}

#endif
