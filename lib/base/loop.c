/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"

enum { BATCH = 128 };

struct loop {
	int epfd;
	struct epoll_event batch[BATCH];
	int count, next;              /* of the batch */
	struct loop_timer **heap;
	size_t used, cap;
};

int loop_new(struct loop **out)
{
	struct loop *l = calloc(1, sizeof *l);

	if (!l)
		return -ENOMEM;
	l->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (l->epfd < 0) {
		free(l);
		return -errno;
	}
	*out = l;
	return 0;
}

void loop_free(struct loop *l)
{
	if (!l)
		return;
	if (l->epfd >= 0)
		close(l->epfd);
	free(l->heap);
	free(l);
}

void loop_leave(struct loop *l)
{
	close(l->epfd);
	l->epfd = -1;
	l->count = l->next = 0;
}

int loop_forked(struct loop *l)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(l->epfd);
	l->epfd = fd;
	l->next = l->count = 0;
	while (l->used)
		loop_timer_clear(l, l->heap[0]);
	return 0;
}

int loop_fd(const struct loop *l)
{
	return l->epfd;
}

int loop_timeout(const struct loop *l)
{
	int64_t ms;

	if (l->next < l->count)
		return 0;
	if (!l->used)
		return -1;
	ms = l->heap[0]->due - clock_ms();
	return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t want)
{
	struct epoll_event ev = { .data.ptr = w };

	assert(!w->armed || w->fd == fd);
	if (w->armed && w->want == want)
		return 0;
	ev.events = (want & LOOP_READ ? EPOLLIN : 0u) | (want & LOOP_WRITE ? EPOLLOUT : 0u);
	if (epoll_ctl(l->epfd, w->armed ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev) != 0)
		return -errno;
	w->fd = fd;
	w->want = want;
	w->armed = 1;
	return 0;
}

void loop_forget(struct loop *l, struct loop_watch *w)
{
	if (!w->armed)
		return;
	epoll_ctl(l->epfd, EPOLL_CTL_DEL, w->fd, NULL);
	w->armed = 0;
	w->want = 0;
	for (int i = l->next; i < l->count; i++)
		if (l->batch[i].data.ptr == w)
			l->batch[i].data.ptr = NULL;
}

static void heap_put(struct loop *l, size_t i, struct loop_timer *t)
{
	l->heap[i] = t;
	t->at = i + 1;
}

static void heap_sift(struct loop *l, size_t i)
{
	struct loop_timer *t = l->heap[i];

	while (i && l->heap[(i - 1) / 2]->due > t->due) {
		heap_put(l, i, l->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (;;) {
		size_t c = 2 * i + 1;

		if (c + 1 < l->used && l->heap[c + 1]->due < l->heap[c]->due)
			c++;
		if (c >= l->used || l->heap[c]->due >= t->due)
			break;
		heap_put(l, i, l->heap[c]);
		i = c;
	}
	heap_put(l, i, t);
}

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due)
{
	if (!t->at) {
		if (l->used == l->cap) {
			size_t cap = l->cap ? l->cap * 2 : 64;
			struct loop_timer **heap = realloc(l->heap, cap * sizeof *heap);

			if (!heap)
				return -ENOMEM;
			l->heap = heap;
			l->cap = cap;
		}
		heap_put(l, l->used++, t);
	}
	assert(t->at <= l->used && l->heap[t->at - 1] == t);
	t->due = due;
	heap_sift(l, t->at - 1);
	return 0;
}

void loop_timer_clear(struct loop *l, struct loop_timer *t)
{
	size_t i = t->at - 1;

	if (!t->at)
		return;
	assert(i < l->used && l->heap[i] == t);
	t->at = 0;
	l->used--;
	if (i == l->used)
		return;
	heap_put(l, i, l->heap[l->used]);
	heap_sift(l, i);
}

static int loop_refill(struct loop *l, int ms)
{
	int n = epoll_wait(l->epfd, l->batch, BATCH, ms);

	l->next = 0;
	l->count = n > 0 ? n : 0;
	return n < 0 ? -errno : 0;
}

int loop_wait(struct loop *l, int ms)
{
	int due = loop_timeout(l);

	if (due >= 0 && (ms < 0 || due < ms))
		ms = due;
	return l->next < l->count ? 0 : loop_refill(l, ms);
}

static bool timer_is_due(const struct loop *l)
{
	return l->used && l->heap[0]->due <= clock_ms();
}

bool loop_has(const struct loop *l)
{
	return l->next < l->count || timer_is_due(l);
}

static int due_timer(struct loop *l, struct loop_timer **t)
{
	if (!timer_is_due(l))
		return 0;
	*t = l->heap[0];
	loop_timer_clear(l, *t);
	return 1;
}

int loop_next(struct loop *l, struct loop_watch **w, uint32_t *ready, struct loop_timer **t)
{
	*w = NULL;
	*t = NULL;
	if (l->next >= l->count) {
		if (due_timer(l, t))
			return 1;
		loop_refill(l, 0);
	}
	while (l->next < l->count) {
		struct epoll_event *ev = &l->batch[l->next++];

		if (!ev->data.ptr)
			continue;
		*w = ev->data.ptr;
		*ready = (ev->events & EPOLLIN ? LOOP_READ : 0u) | (ev->events & EPOLLOUT ? LOOP_WRITE : 0u) |
			(ev->events & (EPOLLHUP | EPOLLERR) ? LOOP_READ | LOOP_WRITE | LOOP_HANGUP : 0u);
		return 1;
	}
	return 0;
}
