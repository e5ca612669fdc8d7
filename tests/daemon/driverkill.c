/* SPDX-License-Identifier: Apache-2.0 */
#include "driverkill.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#include "../lib/tap.h"

enum victim { MAKE, END, VICTIMS };

/* Runs in a child, as the agent makes its calls. */
static void calls(struct way *w, struct one *o, enum victim what)
{
	struct fail f = { 0 };

	if (what == MAKE) {
		if (w->d->create(&o->n, &f) || w->d->start(&o->n, &f))
			_exit(1);
	} else if (w->d->stop(&o->n, 1000, &f) || w->d->destroy(&o->n, &f)) {
		_exit(1);
	}
	_exit(0);
}

static pid_t begin(struct way *w, struct one *o, enum victim what)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		calls(w, o, what);
	return pid;
}

/* Duration of an undisturbed call, in microseconds; -1: it fails. */
static int64_t whole_us(struct way *w, struct one *o, enum victim what)
{
	int64_t begun = clock_us();
	pid_t pid = begin(w, o, what);
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return -1;
	return clock_us() - begun;
}

static void kill_after(struct way *w, struct one *o, enum victim what, int64_t us)
{
	const struct timespec ts = { .tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000 };
	pid_t pid = begin(w, o, what);

	nanosleep(&ts, NULL);
	if (pid > 0 && kill(pid, SIGKILL) == 0)
		waitpid(pid, NULL, 0);
}

/* At once, while what the killed call had started may still be ending. false: the driver failed. */
static bool repair(struct way *w, struct one *o, bool make)
{
	struct fail f = { 0 };

	if (make && one_up(w, o))
		return false;
	if (make)
		return one_is(w, o) == NODE_RUNNING && way_lists(w, o->id);
	if (w->d->destroy(&o->n, &f)) {
		diag("destroy: %s", f.text);
		return false;
	}
	return one_is(w, o) == NODE_ABSENT && !way_lists(w, o->id);
}

static bool gone(struct way *w, struct one *o)
{
	struct fail f = { 0 };

	if (w->d->destroy(&o->n, &f) || w->d->tidy(&w->setup, &f)) {
		diag("%s", f.text);
		return false;
	}
	return way_clean(w, 60000) == 0;
}

/* It answers now, and still does after the time in which anything asked to end would have ended. */
static bool stays(struct way *w, struct one *o, int64_t boot_ms)
{
	const struct timespec ts = { .tv_nsec = 400000000 };

	if (one_wait(w, o, 0, boot_ms))
		return false;
	nanosleep(&ts, NULL);
	return one_ssh(w, o, 0, "true", NULL) == 0;
}

/* One point: kill it, repair it in one of two ways, perhaps log in, destroy it. */
static void point(struct way *w, struct one *o, unsigned i, const int64_t us[VICTIMS], int64_t boot_ms, struct kills *k)
{
	enum victim v = i % 3 == 2 ? END : MAKE;
	const char *what = v == MAKE ? "create and start" : "stop and destroy";
	bool make = i % 2;
	int64_t at;

	if (v == END && one_up(w, o))
		k->broken++;
	at = (int64_t)way_random((unsigned)us[v] + 1);
	kill_after(w, o, v, at);
	if (!repair(w, o, make)) {
		diag("point %u: '%s' killed after %lld us cannot be %s", i, what, (long long)at,
			make ? "made" : "ended");
		k->broken++;
	}
	if (make && (v == END || i % 5 == 0) && ++k->opened && !stays(w, o, boot_ms)) {
		diag("point %u: '%s' killed after %lld us, made again, does not answer", i, what, (long long)at);
		k->silent++;
	}
	if (!gone(w, o)) {
		diag("point %u: '%s' killed after %lld us left something", i, what, (long long)at);
		k->dirty++;
	}
}

void driver_kills(struct way *w, unsigned points, int64_t boot_ms, struct kills *out)
{
	struct kills k = { 0 };
	int64_t us[VICTIMS];
	struct one o;

	one_init(&o, w, 3, "acct_c", 0);
	for (enum victim v = MAKE; v < VICTIMS; v++)
		us[v] = whole_us(w, &o, v);
	k.make_ms = us[MAKE] < 0 ? -1 : us[MAKE] / 1000;
	k.end_ms = us[END] < 0 ? -1 : us[END] / 1000;
	for (unsigned i = 0; k.make_ms >= 0 && k.end_ms >= 0 && i < points; i++)
		point(w, &o, i, us, boot_ms, &k);
	*out = k;
}
