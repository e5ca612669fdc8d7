/* SPDX-License-Identifier: Apache-2.0 */
/* A program's own loop has its turn: however much the hosts send, pssh_next() returns 0 soon, and no call is long. */
#include <sys/syscall.h>

#include "light.h"

static struct light l;
static int slow_ms;

static int64_t cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* What a program does with an event that takes it a while. */
static void work_for(int ms)
{
	int64_t end = now_ms() + ms;

	while (now_ms() < end)
		;
}

/*
 * Four hosts always have more to say, as the program is slower than they. "Call pssh_next() until it returns 0" must
 * not keep it from its own business all the same.
 */
static void check_flood(void)
{
	enum { HOSTS = 4, EVENTS = 200, WORK_MS = 5, BURST = 50 };
	static const char *const names[HOSTS] = { "n1", "n2", "n3", "n4" };
	struct drive d;
	struct pssh_task *t;
	unsigned events = 0, longest = 0, looks = 0;
	int64_t end = now_ms() + DRIVE_PATIENCE_MS;

	if (!drive_start(&d) || pssh_read_config(d.p, env("SSHD_CONFIG")) != 0)
		exit(99);
	d.keep = false;
	t = command(&d, "yes");
	pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, PSSH_OVERFLOW_DROP);
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, host(&d, names[i]));
	pssh_task_start(t);
	while (events < EVENTS && now_ms() < end) {
		struct pollfd pfd = { .fd = pssh_fd(d.p), .events = POLLIN };
		const struct pssh_event *ev;
		unsigned burst = 0;

		while (events < EVENTS && pssh_next(d.p, &ev) == 1) {
			drive_take(&d, ev);
			if (ev->type == PSSH_EV_STDOUT) {
				events++;
				burst++;
				work_for(WORK_MS);
			}
		}
		longest = burst > longest ? burst : longest;
		looks++;
		if (!d.done)
			poll(&pfd, 1, pssh_timeout(d.p));
	}
	is_int(events, EVENTS, "four hosts flood a slow program");
	ok(longest <= BURST, "at most %u events came before it could look at its own business (%u looks)", longest,
		looks);
	pssh_task_stop(t);
	drive_end(&d, "flood");
}

/* This program's disk: where it is slow, more of a file has always come than was written. */
__attribute__((visibility("default"))) ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	work_for(slow_ms);
	return syscall(SYS_pwrite64, fd, data, len, at);
}

/* A host that joins while another always has more to say is served meanwhile, not at the other's end. */
static void check_joins(void)
{
	enum { SLOW_MS = 3 };
	char from[4096];
	struct drive d;
	struct pssh_task *copy, *joins;
	struct seen *s;

	if (!drive_start(&d) || pssh_read_config(d.p, env("SSHD_CONFIG")) != 0)
		exit(99);
	slow_ms = SLOW_MS;
	snprintf(from, sizeof from, "%s/zeros", env("TMP"));
	if (pssh_get(d.p, from, "to/zeros", 0, &copy) != 0)
		exit(99);
	joins = command(&d, "true");
	pssh_task_add(copy, host(&d, "n1"));
	pssh_task_add(joins, host(&d, "n2"));
	pssh_task_start(copy);
	drive_until(&d, &d.up, 1, DRIVE_PATIENCE_MS);
	drive_for(&d, 500);
	pssh_task_start(joins);
	s = drive_seen(&d, joins, host(&d, "n2"));
	drive_until(&d, &d.done, 1, DRIVE_PATIENCE_MS);
	ends(s, "exit 0", "a host joins a copy that fills the disk's time, and is served");
	is_int(drive_seen(&d, copy, host(&d, "n1"))->ends, 0, "while the copy goes on");
	pssh_task_stop(copy);
	drive_done(&d, 2 - d.done);
	slow_ms = 0;
	drive_end(&d, "joins");
}

/* Many key exchanges at once, each a piece of work that cannot be divided. */
static void check_handshakes(void)
{
	enum { HOSTS = 400 };
	struct drive d;
	struct pssh_task *t;
	int64_t longest = 0, all = 0, end = now_ms() + DRIVE_PATIENCE_MS;
	unsigned good = 0;

	light_fleet(&d, &l);
	t = command(&d, "true");
	pssh_set_window(d.p, HOSTS, 0);
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&d, &l, 80, i));
	pssh_task_start(t);
	while (!d.done && now_ms() < end) {
		struct pollfd pfd = { .fd = pssh_fd(d.p), .events = POLLIN };
		const struct pssh_event *ev;
		int64_t before;
		int rc;

		do {
			before = cpu_us();
			rc = pssh_next(d.p, &ev);
			before = cpu_us() - before;
			longest = before > longest ? before : longest;
			all += before;
			if (rc == 1)
				drive_take(&d, ev);
		} while (rc == 1);
		if (!d.done)
			poll(&pfd, 1, pssh_timeout(d.p));
	}
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0;
	is_int(good, HOSTS, "%d connections at once", HOSTS);
	ok(longest * 4 < all, "no call is long: at most %d of %d ms", (int)(longest / 1000), (int)(all / 1000));
	drive_end(&d, "handshakes");
}

int main(void)
{
	char key[300];

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "fair", (const char *const[]){ "--authorized", key, NULL });
	check_flood();
	check_joins();
	check_handshakes();
	light_down(&l);
	return done();
}
