/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that know nothing of each other each have a fleet of their own, made and freed at any time. */
#include <pthread.h>

#include "drive.h"

enum { THREADS = 4, FLEETS = 25 };

static void *make_fleets(void *arg)
{
	const struct pssh_event *ev;
	unsigned *good = arg;

	for (int i = 0; i < FLEETS; i++) {
		struct pssh *p;

		if (pssh_new(&p) != 0)
			continue;
		*good += pssh_next(p, &ev) == 0;
		pssh_free(p);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned good[THREADS] = { 0 }, sum = 0;

	plan_none;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, make_fleets, &good[i]) != 0)
			exit(99);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += good[i];
	}
	is_int(sum, THREADS * FLEETS, "%d threads make and free %d fleets each, at once", THREADS, FLEETS);
	return done();
}
