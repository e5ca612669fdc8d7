/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll and timers behind one descriptor, so that the whole can sleep inside another loop.
 * Nothing is called back: loop_next() hands out what is due, one at a time.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stddef.h>
#include <stdint.h>

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

/* A member of whatever waits. Zeroed memory is a watch that watches nothing. */
struct loop_watch {
	int fd;
	uint32_t want;    /* LOOP_READ | LOOP_WRITE */
	uint8_t armed;    /* is in the epoll set */
	int kind;         /* the owner's: what is this a member of */
};

struct loop_timer {
	int64_t due;      /* clock_ms() */
	size_t at;        /* place in the heap + 1; 0: not set */
	int kind;
};

struct loop;

int loop_new(struct loop **out); /* 0 or -errno */
void loop_free(struct loop *l);
int loop_fd(const struct loop *l);
int loop_timeout(const struct loop *l); /* ms until something is due, 0 now, -1 never */

/* want = 0 keeps only hang-ups; the fd may change only after loop_forget. 0 or -errno. */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t want);
void loop_forget(struct loop *l, struct loop_watch *w); /* before the fd is closed */

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due); /* 0 or -ENOMEM */
void loop_timer_clear(struct loop *l, struct loop_timer *t);

/* Sleeps at most ms (-1: for ever) for something to become due. 0, or -errno (-EINTR too). */
int loop_wait(struct loop *l, int ms);

/*
 * One due thing: 1 with *w and *ready set, or with *t set (the timer is then no longer set);
 * 0 when nothing is due. Never sleeps.
 */
int loop_next(struct loop *l, struct loop_watch **w, uint32_t *ready, struct loop_timer **t);

#endif
