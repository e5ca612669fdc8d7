/* SPDX-License-Identifier: Apache-2.0 */
/* Inside another event loop: it never misses work, never wakes for nothing, and runs beside other fleets. */
#include <sys/time.h>

#include "light.h"

static struct light l;

/* Uses poll() as any program would. Returns how often it woke. */
static unsigned foreign_loop(struct drive *d, unsigned dones, int ms, int *longest)
{
	int64_t end = now_ms() + ms;
	unsigned wakeups = 0;

	*longest = 0;
	while (d->done < dones && now_ms() < end) {
		const struct pssh_event *ev;
		struct pollfd pfd = { .fd = pssh_fd(d->p), .events = POLLIN };
		int64_t before = now_ms(), left = end - before;
		int wait = pssh_timeout(d->p);

		if (wait < 0 || wait > left)
			wait = (int)left;
		poll(&pfd, 1, wait);
		wakeups++;
		if (now_ms() - before > *longest)
			*longest = (int)(now_ms() - before);
		while (pssh_next(d->p, &ev) == 1)
			drive_take(d, ev);
	}
	return wakeups;
}

/* How often it woke in a second of those in which what the hosts still had to say is over. */
static unsigned quiet_loop(struct drive *d)
{
	unsigned wakeups = 0;
	int longest;

	for (int i = 0; i < 60; i++)
		if ((wakeups = foreign_loop(d, 99, 1000, &longest)) <= 3)
			break;
	return wakeups;
}

static void check_foreign(void)
{
	enum { HOSTS = 40 };
	struct drive d;
	struct pssh_task *t;
	unsigned good = 0, wakeups;
	int longest;

	light_fleet(&d, &l);
	pssh_set_window(d.p, 10, HOSTS);
	t = command(&d, "yes-bytes 400000; sleep 1; hostname");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&d, &l, 80, i));
	pssh_task_start(t);
	wakeups = foreign_loop(&d, 1, DRIVE_PATIENCE_MS, &longest);
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0 && d.seen[i].out_len > 400000;
	is_int(good, HOSTS, "%d hosts in a loop that knows only pssh_fd() and pssh_timeout()", HOSTS);
	ok(longest < 20000, "it never slept past work (at most %d ms, %u wakeups)", longest, wakeups);

	wakeups = quiet_loop(&d);
	ok(wakeups <= 3, "with nothing to do it sleeps (%u wakeups in a second)", wakeups);
	t = command(&d, "hang");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&d, &l, 80, i));
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, light_host_number(&d, &l, 80, HOSTS - 1))->started, 1, DRIVE_PATIENCE_MS);
	foreign_loop(&d, 99, 300, &longest);
	wakeups = quiet_loop(&d);
	ok(wakeups <= 3, "with silent commands it sleeps (%u wakeups in a second)", wakeups);
	drive_end(&d, "foreign loop");

	light_fleet(&d, &l);
	t = command(&d, "true");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&d, &l, 81, i)); /* these stay silent */
	pssh_set_window(d.p, HOSTS / 2, 0);
	pssh_task_start(t);
	foreign_loop(&d, 99, 300, &longest);
	wakeups = quiet_loop(&d);
	ok(wakeups <= 3, "with silent servers and hosts that wait for them it sleeps (%u wakeups in a second)",
		wakeups);
	pssh_set_window(d.p, 128, HOSTS);
	foreign_loop(&d, 99, 300, &longest);
	pssh_task_add(t, light_host_number(&d, &l, 80, 0)); /* one more than the window has room for */
	wakeups = quiet_loop(&d);
	ok(wakeups <= 3, "with a full window it sleeps (%u wakeups in a second)", wakeups);
	drive_end(&d, "silent servers");
}

static void check_two_fleets(void)
{
	struct drive a, b;
	struct pssh_task *t, *u;

	light_fleet(&a, &l);
	light_fleet(&b, &l);
	t = command(&a, "yes-bytes 1000000");
	u = command(&b, "yes-bytes 1000000");
	for (unsigned i = 0; i < 5; i++) {
		pssh_task_add(t, light_host_number(&a, &l, 80, i));
		pssh_task_add(u, light_host_number(&b, &l, 80, i));
	}
	pssh_task_start(t);
	pssh_task_start(u);
	for (int64_t end = now_ms() + DRIVE_PATIENCE_MS; now_ms() < end && !(a.done && b.done);) {
		drive_for(&a, 1);
		drive_for(&b, 1);
	}
	ok(a.done == 1 && b.done == 1, "two fleets in one thread");
	is_int(drive_seen(&a, t, light_host_number(&a, &l, 80, 0))->out_len, 1000000, "the one");
	is_int(drive_seen(&b, u, light_host_number(&b, &l, 80, 4))->out_len, 1000000, "and the other");
	drive_end(&a, "one fleet");
	ends(once(&b, light_host_number(&b, &l, 80, 1), "true"), "exit 0", "the other outlives it");
	drive_end(&b, "another fleet");
}

static void on_alarm(int signal)
{
	(void)signal;
}

static void check_waiting(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	/* Again and again: the first may come before the wait. */
	struct itimerval soon = { .it_value.tv_usec = 200000, .it_interval.tv_usec = 200000 };
	const struct pssh_event *ev = NULL;
	struct drive d;
	int64_t begin;

	drive_start(&d);
	begin = now_ms();
	is_int(pssh_wait(d.p, &ev, 0), 0, "nothing, without waiting");
	ok(now_ms() - begin < 10000, "at once");
	begin = now_ms();
	is_int(pssh_wait(d.p, &ev, 300), 0, "nothing, after a while");
	ok(now_ms() - begin >= 300 && now_ms() - begin < 20000, "not before and not long after (%d ms)",
		(int)(now_ms() - begin));
	ok(ev == NULL, "the result is untouched");
	is_int(pssh_timeout(d.p), -1, "with nothing to do there is no timeout");
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	begin = now_ms();
	is_int(pssh_wait(d.p, &ev, DRIVE_PATIENCE_MS), 0, "a signal ends the waiting");
	ok(now_ms() - begin < 30000, "soon (%d ms)", (int)(now_ms() - begin));
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	drive_end(&d, "waiting");
}

static unsigned logged;

static void on_log(void *arg, enum pssh_log_level level, const char *text)
{
	logged += arg == &l && level <= PSSH_LOG_DEBUG && *text;
}

static void check_log(void)
{
	struct drive d;

	light_fleet(&d, &l);
	pssh_set_log(d.p, PSSH_LOG_DEBUG, on_log, &l);
	once(&d, light_host_number(&d, &l, 80, 1), "true");
	ok(logged > 3, "the log hook hears what happens (%u lines)", logged);
	pssh_set_log(d.p, PSSH_LOG_DEBUG, NULL, NULL);
	logged = 0;
	once(&d, light_host_number(&d, &l, 80, 2), "true");
	is_int(logged, 0, "until it is taken away");
	drive_end(&d, "log");
}

/* The header that this was built with, and the library that runs: here they are one. */
static void check_version(void)
{
	char text[32];

	snprintf(text, sizeof text, "%d.%d.%d", PSSH_VERSION_NUM >> 16, PSSH_VERSION_NUM >> 8 & 0xff,
		PSSH_VERSION_NUM & 0xff);
	is_str(pssh_version(), text, "PSSH_VERSION_NUM is the version of the library");
}

int main(void)
{
	char key[300];
	int fds;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "embed",
		(const char *const[]){ "--authorized", key, "--fault", "hang-banner@127.81.0.0/16", NULL });
	fds = count_fds();
	check_version();
	check_foreign();
	check_two_fleets();
	check_waiting();
	check_log();
	is_int(count_fds(), fds, "no descriptor is left");
	light_down(&l);
	return done();
}
