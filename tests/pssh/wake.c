/* SPDX-License-Identifier: Apache-2.0 */
/* pssh_wake(): another thread and a signal handler get a waiting program out of its wait. */
#include <pthread.h>

#include "drive.h"

static struct drive d;

static void *from_thread(void *arg)
{
	poll(NULL, 0, *(int *)arg);
	pssh_wake(d.p);
	return NULL;
}

/* Whether a wait without end returns 0, for a thread that wakes it after ms. */
static bool woken_after(int ms)
{
	const struct pssh_event *ev;
	pthread_t thread;
	int rc;

	if (pthread_create(&thread, NULL, from_thread, &ms) != 0)
		return false;
	rc = pssh_wait(d.p, &ev, -1);
	pthread_join(thread, NULL);
	return rc == 0;
}

static bool readable(void)
{
	struct pollfd pfd = { .fd = pssh_fd(d.p), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void on_signal(int signal)
{
	(void)signal;
	errno = 77;
	pssh_wake(d.p);
	if (errno != 77)
		_exit(98);
}

static void check_quiet(void)
{
	const struct pssh_event *ev;
	int64_t begin;

	ok(woken_after(0), "a wait that begins about now returns");
	ok(woken_after(100), "one that sleeps returns");
	for (int i = 0; i < 1000; i++)
		pssh_wake(d.p);
	is_int(pssh_wait(d.p, &ev, -1), 0, "the next wait returns at once");
	begin = now_ms();
	is_int(pssh_wait(d.p, &ev, 200), 0, "a thousand wakes count once:");
	ok(now_ms() - begin >= 200, "the wait after it sleeps (%d ms)", (int)(now_ms() - begin));

	signal(SIGUSR1, on_signal);
	ok(!readable(), "the descriptor is quiet");
	raise(SIGUSR1);
	ok(readable(), "a signal handler makes it readable");
	is_int(pssh_next(d.p, &ev), 0, "for a loop that pulls events");
	ok(!readable(), "and then it is quiet again");
}

/* Events come all the time: the caller hears of the wake all the same. */
static void check_busy(struct pssh_host *h)
{
	const struct pssh_event *ev;
	struct pssh_task *t = command(&d, "exec yes");

	pssh_wait(d.p, &ev, 0); /* the handler's wake */
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, h)->outputs, 5, 20000);
	pssh_wake(d.p);
	is_int(pssh_wait(d.p, &ev, -1), 0, "the next wait returns 0 although a host never stops writing");
	is_int(pssh_wait(d.p, &ev, 20000), 1, "and the one after it has an event again");
	drive_free(&d, t);
}

int main(void)
{
	if (!drive_start(&d))
		return 99;
	d.keep = false;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_quiet();
	check_busy(host(&d, "n1"));
	drive_end(&d, "wake");
	return done();
}
