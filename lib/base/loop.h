/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epoll and timers behind one descriptor, so that another loop can wait for all of them at once.
 * Nothing calls back: loop_next() hands out what is due, one thing at a time.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

/* A member of whatever waits for a descriptor. Zeroed memory is a watch that watches nothing. */
struct loop_watch {
	int fd;
	uint32_t want;    /* LOOP_READ | LOOP_WRITE */
	uint8_t armed;    /* is in the epoll set */
	int kind;         /* for the owner: which struct this is a member of */
};

/* A watch whose owner the loop's user can find. */
struct loop_owned {
	struct loop_watch watch;
	void *owner;
	bool due; /* the loop's user found it ready; whoever takes all that there is clears it */
};

struct loop_timer {
	int64_t due;      /* clock_ms() */
	size_t at;        /* place in the heap + 1; 0: not set */
	int kind;
};

struct loop;

int loop_new(struct loop **out); /* 0 or -errno */
void loop_free(struct loop *l);
/* In a forked child, which shares the epoll set with its parent: later calls change nothing in it. */
void loop_leave(struct loop *l);
/*
 * In a forked child: gives it an epoll set of its own, and removes all timers. The watches of the
 * parent count no more; zero `armed` of those to use again. 0 or -errno.
 */
int loop_forked(struct loop *l);
int loop_fd(const struct loop *l);
int loop_timeout(const struct loop *l); /* ms until something is due, 0 now, -1 never */

/* want 0 reports hang-ups only. Call loop_forget before watching another fd. 0 or -errno. */
int loop_watch(struct loop *l, struct loop_watch *w, int fd, uint32_t want);
void loop_forget(struct loop *l, struct loop_watch *w); /* call before closing the fd */

int loop_timer_set(struct loop *l, struct loop_timer *t, int64_t due); /* 0 or -ENOMEM */
void loop_timer_clear(struct loop *l, struct loop_timer *t);

/* Sleeps until something is due, at most ms (-1: for ever). 0, or -errno (-EINTR too). */
int loop_wait(struct loop *l, int ms);

/* Whether loop_next() has something without asking the kernel. */
bool loop_has(const struct loop *l);

/*
 * Hands out one due thing: 1 with *w and *ready set, or 1 with *t set (this clears the timer);
 * 0 when nothing is due. Never sleeps.
 */
int loop_next(struct loop *l, struct loop_watch **w, uint32_t *ready, struct loop_timer **t);

#endif
