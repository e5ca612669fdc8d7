/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that are freed: a program that meets new hosts all the time stays as small as it is. */
#include "drive.h"

static void check_flat(struct drive *d)
{
	enum { HOSTS = 100000, KIB = 40 * 1024 }; /* kept, they would take 130 MB */
	long before = peak_kib();
	unsigned freed = 0;

	for (unsigned i = 0; i < HOSTS; i++) {
		char name[64];

		snprintf(name, sizeof name, "never-seen-again-%u", i);
		freed += pssh_host_free(host(d, name)) == 0;
	}
	is_int(freed, HOSTS, "hosts that nobody used are freed");
	ok(peak_kib() - before < KIB, "memory stays flat (%ld KiB more)", peak_kib() - before);
}

static void check_used(struct drive *d)
{
	struct pssh_host *h = host(d, "n1"), *again;
	struct pssh_task *t = command(d, "cat");
	int fds = count_fds();
	int marker = 7;

	pssh_task_open_input(t);
	pssh_task_add(t, h);
	is_int(pssh_host_free(h), PSSH_EINVAL, "a host of a task that has not started is refused");
	pssh_task_start(t);
	ok(drive_until(d, &drive_seen(d, t, h)->started, 1, DRIVE_PATIENCE_MS), "its task runs");
	is_int(pssh_host_free(h), PSSH_EINVAL, "a host with a running task is refused");
	has_str(pssh_error(d->p), "still in a task", "and the sentence says why");
	pssh_task_write(t, NULL, "still here\n", 11);
	pssh_task_end_input(t, NULL);
	drive_done(d, 1);
	is_str(drive_seen(d, t, h)->out, "still here\n", "the task did not notice");

	pssh_host_set_data(h, &marker);
	is_int(pssh_host_connected(h), 1, "its connection is kept");
	is_int(pssh_host_free(h), 0, "now it is freed");
	is_int(count_fds(), fds, "with its connection");
	again = host(d, "n1");
	ok(!pssh_host_data(again), "the same name is a new host");
	ends(once(d, again, "exit 3"), "exit 3", "which works");
	is_int(d->down, 0, "nothing is heard of the old one");
}

/* What the fleet still wants to tell about a host goes with it. */
static void check_events(struct drive *d)
{
	struct pssh_host *h = host(d, "n2");
	struct pssh_task *t = command(d, "true");

	pssh_task_add(t, h);
	pssh_task_start(t);
	pssh_task_stop(t); /* its end and DONE are queued */
	is_int(pssh_host_free(h), 0, "a host whose end was not pulled yet is freed");
	drive_for(d, 100);
	is_int(drive_seen(d, t, h)->ends, 0, "no event names it any more");
	is_int(pssh_host_free(NULL), 0, "no host is no work");
}

/* In the middle of a connection. */
static void check_opening(struct drive *d)
{
	int fds = count_fds();
	struct pssh_host *h = host(d, "n3");
	struct pssh_task *t = command(d, "true");
	const struct pssh_event *ev;

	pssh_task_add(t, h);
	pssh_task_start(t);
	while (count_fds() == fds && pssh_wait(d->p, &ev, 20) == 0)
		;
	drive_free(d, t);
	is_int(pssh_host_free(h), 0, "a host whose connection is being made is freed");
	drive_for(d, 50);
	is_int(count_fds(), fds, "and leaves no descriptor");
}

int main(void)
{
	struct drive d;

	if (!drive_start(&d))
		return 99;
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_flat(&d);
	check_used(&d);
	check_opening(&d);
	check_events(&d);
	drive_end(&d, "freed hosts");
	return done();
}
