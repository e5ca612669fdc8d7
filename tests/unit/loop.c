/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base/loop.c: descriptors and timers become due, once each, and in order. */
#include "base/loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "base/clock.h"

static struct loop *loop_make(void)
{
	struct loop *l;

	if (loop_new(&l) != 0)
		abort();
	return l;
}

static void test_watches(void)
{
	struct loop *l = loop_make();
	struct loop_watch a = { 0 }, *w;
	struct loop_timer *t;
	uint32_t ready = 0;
	int pair[2];
	struct pollfd p = { .fd = loop_fd(l), .events = POLLIN };

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
		abort();
	is_int(loop_watch(l, &a, pair[0], LOOP_READ), 0, "a descriptor is watched");
	is_int(loop_timeout(l), -1, "nothing is due, ever");
	is_int(loop_next(l, &w, &ready, &t), 0, "nothing is due now");
	if (write(pair[1], "x", 1) != 1)
		abort();
	is_int(poll(&p, 1, 60000), 1, "the loop's own descriptor wakes a foreign loop");
	is_int(loop_wait(l, 60000), 0, "waits");
	ok(loop_next(l, &w, &ready, &t) == 1 && w == &a && !t && ready == LOOP_READ, "ready to read");
	is_int(loop_watch(l, &a, pair[0], LOOP_READ | LOOP_WRITE), 0, "watched for both");
	ok(loop_next(l, &w, &ready, &t) == 1 && ready == (LOOP_READ | LOOP_WRITE), "ready for both");
	is_int(loop_watch(l, &a, pair[0], 0), 0, "watched for nothing");
	is_int(loop_next(l, &w, &ready, &t), 0, "is not ready");
	close(pair[1]);
	ok(loop_next(l, &w, &ready, &t) == 1 && (ready & LOOP_HANGUP), "but a hang-up is told");
	loop_forget(l, &a);
	is_int(loop_next(l, &w, &ready, &t), 0, "forgotten");
	loop_forget(l, &a);
	ok(1, "forgetting twice does no harm");
	is_int(loop_watch(l, &a, 9999, LOOP_READ), -9, "a bad descriptor is refused");
	close(pair[0]);
	loop_free(l);
}

/* Two are ready; the owner of the first closes the second before the loop hands it out. */
static void test_forget_pending(void)
{
	struct loop *l = loop_make();
	struct loop_watch watches[2] = { 0 }, *w;
	struct loop_timer *t;
	uint32_t ready;
	int pairs[2][2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(pairs[i], O_CLOEXEC) != 0 || write(pairs[i][1], "x", 1) != 1)
			abort();
		loop_watch(l, &watches[i], pairs[i][0], LOOP_READ);
	}
	ok(loop_next(l, &w, &ready, &t) == 1 && w, "one of two");
	loop_forget(l, w == &watches[0] ? &watches[1] : &watches[0]);
	loop_forget(l, w);
	is_int(loop_next(l, &w, &ready, &t), 0, "the other was forgotten in time");
	for (int i = 0; i < 2; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
	loop_free(l);
}

static void test_timers(void)
{
	enum { TIMERS = 1000 };
	static struct loop_timer timers[TIMERS];
	struct loop *l = loop_make();
	struct loop_watch *w;
	struct loop_timer *t;
	int64_t now = clock_ms(), last = INT64_MIN;
	uint32_t ready;
	int wrong = 0, met = 0;
	unsigned seed = 3;

	for (int i = 0; i < TIMERS; i++) {
		seed = seed * 1103515245 + 12345;
		wrong += loop_timer_set(l, &timers[i], now - 5 - (int64_t)((seed >> 8) % 5000)) != 0;
	}
	for (int i = 0; i < TIMERS; i += 3)
		loop_timer_clear(l, &timers[i]);
	for (int i = 1; i < TIMERS; i += 3) {
		seed = seed * 1103515245 + 12345;
		wrong += loop_timer_set(l, &timers[i], now - 5 - (int64_t)((seed >> 8) % 5000)) != 0;
	}
	is_int(loop_timeout(l), 0, "what is due makes the wait short");
	while (loop_next(l, &w, &ready, &t)) {
		wrong += w || !t || t->due < last || t->at || (t - timers) % 3 == 0;
		last = t->due;
		met++;
	}
	is_int(met, TIMERS - (TIMERS + 2) / 3, "timers set, moved and cleared: each left comes once");
	is_int(wrong, 0, "in order, and no cleared one");
	loop_timer_clear(l, &timers[0]);
	ok(1, "clearing one that is not set does no harm");

	loop_timer_set(l, &timers[0], clock_ms() + 1000);
	ok(loop_timeout(l) > 0 && loop_timeout(l) <= 1000, "a timer to come bounds the wait");
	is_int(loop_next(l, &w, &ready, &t), 0, "and is not due yet");
	now = clock_ms();
	is_int(loop_wait(l, 60000), 0, "waits for it");
	while (clock_ms() < timers[0].due)
		loop_wait(l, 60000);
	ok(loop_next(l, &w, &ready, &t) == 1 && t == &timers[0], "and it comes");
	ok(clock_ms() - now < 30000, "long before the wait's own end");
	loop_free(l);
}

int main(void)
{
	plan_none;
	test_watches();
	test_forget_pending();
	test_timers();
	return done();
}
