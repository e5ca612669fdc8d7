/* SPDX-License-Identifier: Apache-2.0 */
/* How many connections exist at once, how long they live, and how often the library tries them. */
#include "light.h"

static struct drive d;
static struct light l;

static void up(struct light *which, const char *name)
{
	static char key[300];

	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(which, name, (const char *const[]){ "--authorized", key, NULL });
}

static void check_open(void)
{
	enum { HOSTS = 60, OPEN = 7 };
	struct light own;
	struct pssh_task *t;
	unsigned good = 0;
	int before, most = 0;

	up(&own, "open");
	light_fleet(&d, &own);
	before = count_fds();
	is_int(pssh_set_window(d.p, 4, OPEN), 0, "a window is set");
	t = command(&d, "hostname");
	for (unsigned i = 0; i < HOSTS; i++)
		pssh_task_add(t, light_host_number(&d, &own, 70, i));
	pssh_task_start(t);
	while (!d.done && drive_until(&d, &d.events, d.events + 1, DRIVE_PATIENCE_MS))
		most = count_fds() > most ? count_fds() : most;
	for (size_t i = 0; i < d.count; i++)
		good += strcmp(end_of(&d.seen[i]), "exit 0") == 0;
	is_int(good, HOSTS, "%d hosts through a window of %d", HOSTS, OPEN);
	ok(most - before > 1 && most - before <= OPEN, "of which at most %d were open at once", most - before);
	drive_end(&d, "open");
	light_down(&own);
}

static void check_opening(void)
{
	int before;
	struct pssh_task *t;

	light_fleet(&d, &l);
	pssh_set_window(d.p, 5, 0);
	t = command(&d, "true");
	for (unsigned i = 0; i < 30; i++)
		pssh_task_add(t, light_host_number(&d, &l, 71, i));
	before = count_fds();
	pssh_task_start(t);
	for (int i = 0; i < 3000 && count_fds() - before < 5; i++)
		drive_for(&d, 20);
	drive_for(&d, 300);
	is_int(count_fds() - before, 5, "five connections open at once where the server is silent");
	pssh_task_stop(t);
	drive_until(&d, &d.done, 1, 5000);
	ends(once(&d, light_host_number(&d, &l, 70, 0), "true"), "exit 0",
		"those that are given up leave room for others");
	drive_end(&d, "opening");
}

static void check_idle(void)
{
	struct pssh_host *h;

	light_fleet(&d, &l);
	pssh_set_deadline(d.p, PSSH_PHASE_IDLE, 250);
	h = light_host_number(&d, &l, 70, 1);
	once(&d, h, "sleep 1");
	is_int(d.down, 0, "a connection in use is not idle");
	ok(drive_until(&d, &d.down, 1, DRIVE_PATIENCE_MS), "an idle one is closed");
	ok(!pssh_host_connected(h), "the host says so");
	ends(once(&d, h, "true"), "exit 0", "and is connected to again");
	is_int(d.up, 2, "by another connection");
	drive_end(&d, "idle");
}

static void check_retries(void)
{
	struct pssh_host *h;
	struct seen *s;
	int64_t begin;

	light_fleet(&d, &l);
	pssh_set_retries(d.p, 3, 100, 1000);
	h = light_host_number(&d, &l, 72, 0); /* closes twice, then serves */
	begin = now_ms();
	ends(s = once(&d, h, "true"), "exit 0", "a server that closes twice is tried three times");
	is_int(s->retries, 2, "which is told twice");
	ok(now_ms() - begin >= 200, "with pauses (%d ms)", (int)(now_ms() - begin));
	h = light_host_number(&d, &l, 73, 0);
	ends(s = once(&d, h, "true"), "PSSH_ECLOSED", "one that always closes");
	is_int(s->retries, 2, "is tried three times as well");
	h = light_host_number(&d, &l, 74, 0);
	ends(s = once(&d, h, "true"), "PSSH_EAUTH", "one that takes no key");
	is_int(s->retries, 0, "is tried once");
	drive_end(&d, "retries");
}

/* A server that stops, seen by the keep-alive: an idle connection and one with a command on it. */
static void check_keepalive(void)
{
	struct light own;
	struct pssh_host *h, *other;
	struct pssh_task *t;

	up(&own, "keepalive");
	light_fleet(&d, &own);
	h = light_host_number(&d, &own, 70, 0);
	other = light_host_number(&d, &own, 70, 1);
	once(&d, other, "true");
	pssh_set_keepalive(d.p, 2000); /* counts for a connection that exists, too */
	t = command(&d, "hang");
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_for(&d, 3000);
	is_int(d.down, 0, "a server that lives is left alone");
	kill(own.pid, SIGSTOP);
	ok(drive_until(&d, &d.down, 2, DRIVE_PATIENCE_MS), "a stopped server is noticed");
	drive_until(&d, &d.done, 2, 20000);
	ends(drive_seen(&d, t, h), "PSSH_ETIMEOUT", "its task ends");
	drive_end(&d, "keepalive");
	light_down(&own);
}

int main(void)
{
	static char key[300];
	int fds;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "window",
		(const char *const[]){ "--authorized", key, "--fault", "hang-banner@127.71.0.0/16", "--fault",
			"close-banner:2@127.72.0.1", "--fault", "close-banner@127.73.0.1", "--fault",
			"refuse-auth@127.74.0.1", NULL });
	fds = count_fds();
	check_open();
	check_opening();
	check_idle();
	check_retries();
	check_keepalive();
	is_int(count_fds(), fds, "no descriptor is left");
	light_down(&l);
	return done();
}
