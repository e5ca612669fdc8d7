/* SPDX-License-Identifier: Apache-2.0 */
/* The promises of the public functions, in whatever order a program calls them. */
#include "light.h"

static struct drive d;
static struct light l;

static struct pssh_host *at(unsigned i)
{
	return light_host_number(&d, &l, 60, i);
}

static void check_misuse(void)
{
	static const char *const bad[] = { "", "-oProxyCommand=x", "a b", "host:0", "host:70000", "host:x", "[::1",
		"@host", "user@", "a;b", "ssh://" };
	struct pssh_host *h = at(0), *kept = h, *foreign;
	struct pssh_task *t = command(&d, "true"), *kept_task = t;
	struct drive e;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		is_int(pssh_host(d.p, bad[i], &h), PSSH_ESYNTAX, "'%s' is no host", bad[i]);
		ok(h == kept && *pssh_error(d.p), "with a sentence, and the result is untouched");
	}
	ok(host(&d, "127.60.0.1") == kept, "the same name gives the same host");
	is_int(pssh_task_add(t, kept), 0, "a host is added");
	is_int(pssh_task_add(t, kept), PSSH_EINVAL, "but once");
	drive_start(&e);
	foreign = host(&e, "elsewhere");
	is_int(pssh_task_add(t, foreign), PSSH_EINVAL, "a host of another fleet");
	pssh_free(e.p);
	is_int(pssh_set_window(d.p, 0, 0), PSSH_EINVAL, "a window of nothing");
	is_int(pssh_set_deadline(d.p, PSSH_PHASES, 1), PSSH_EINVAL, "a phase that does not exist");
	is_int(pssh_set_retries(d.p, 0, 1, 1), PSSH_EINVAL, "no try at all");
	is_int(pssh_set_hostkeys(d.p, (enum pssh_hostkeys)7), PSSH_EINVAL, "a policy that does not exist");
	is_int(pssh_set_algorithms(d.p, PSSH_ALGS, "x"), PSSH_EINVAL, "a kind of algorithm that does not exist");
	is_int(pssh_host_set_port(kept, 70000), PSSH_EINVAL, "a port that does not exist");
	is_int(pssh_task_set_output(t, (enum pssh_output)9, 0, 0), PSSH_EINVAL, "an output mode that does not exist");
	is_int(pssh_task_set_env(t, "", "x"), PSSH_EINVAL, "a variable without a name");
	is_int(pssh_put(d.p, "", "x", 0, &t), PSSH_EINVAL, "a copy of nothing");
	is_int(pssh_put(d.p, "/dev/null", "x", 0x40000000 | PSSH_COPY_RESUME, &t), PSSH_EINVAL,
		"a put with an unknown flag");
	has_str(pssh_error(d.p), "0x40000000", "the sentence names the flag");
	is_int(pssh_get(d.p, "x", "y", 1u << 30, &t), PSSH_EINVAL, "a get with a later version's flag");
	is_int(pssh_tunnel(d.p, NULL, "a:1", &t), PSSH_EINVAL, "a tunnel from nowhere");
	ok(t == kept_task, "what failed left its result alone");
	if (pssh_get(d.p, "x", "y", 31, &t) != 0)
		exit(99);
	is_int(pssh_task_set_env(t, "A", "x"), PSSH_EINVAL, "a copy has no variables");
	is_int(pssh_task_set_pty(t, "x", 1, 1), PSSH_EINVAL, "no terminal");
	is_int(pssh_task_open_input(t), PSSH_EINVAL, "no input");
	is_int(pssh_task_set_output(t, PSSH_OUTPUT_CHUNKS, 0, PSSH_OVERFLOW_DROP), PSSH_EINVAL, "and no output");
	has_str(pssh_error(d.p), "only a command", "which the sentence says");
	pssh_task_free(t);
	t = kept_task;
	is_int(pssh_host_pin(kept, "nonsense"), PSSH_ESYNTAX, "a pin that is no key");
	is_int(pssh_answer(d.p, 1, "x"), PSSH_ENOENT, "an answer without a question");
	is_int(pssh_task_start(t), 0, "a start");
	is_int(pssh_task_start(t), PSSH_EINVAL, "but once");
	is_int(pssh_task_open_input(t), PSSH_EINVAL, "input is opened before it");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, kept), "exit 0", "none of which has done any harm");
	pssh_task_free(NULL);
	pssh_free(NULL);
	pssh_list_free(NULL);
	is_int(pssh_task_cancel(t, "TERM", 0), 0, "what is over may be cancelled");
	is_int(pssh_task_stop(t), 0, "and stopped");
	drive_for(&d, 50);
	drive_free(&d, t);
}

static void check_none_and_late(void)
{
	struct pssh_task *t = command(&d, "true");

	pssh_task_start(t);
	ok(drive_until(&d, &d.done, d.done + 1, 20000), "a task without hosts is done at once");
	drive_for(&d, 50);
	t = command(&d, "sleep 5");
	pssh_task_add(t, at(1));
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, at(1))->started, 1, DRIVE_PATIENCE_MS);
	is_int(pssh_task_add(t, at(2)), 0, "a host comes after the start");
	is_int(pssh_task_left(t), 2, "and is counted");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, at(2)), "exit 0", "it runs as well");
	is_int(pssh_task_left(t), 0, "none is left");
	drive_for(&d, 50);
}

static void check_free_task(void)
{
	struct pssh_task *t = command(&d, "flood"), *u = command(&d, "sleep 1; echo whole");
	unsigned before;

	d.keep = false;
	for (unsigned i = 0; i < 10; i++) {
		pssh_task_add(t, at(i));
		pssh_task_add(u, at(i));
	}
	pssh_task_start(t);
	pssh_task_start(u);
	drive_until(&d, &d.events, d.events + 200, DRIVE_PATIENCE_MS);
	drive_free(&d, t);
	before = d.done;
	ok(drive_until(&d, &d.done, before + 1, DRIVE_PATIENCE_MS), "a task is freed in the middle, the other goes on");
	for (unsigned i = 0; i < 10; i++)
		before += strcmp(end_of(drive_seen(&d, u, at(i))), "exit 0") == 0 &&
			drive_seen(&d, u, at(i))->out_len == 6;
	is_int(before, d.done - 1 + 10, "to its end on every host");
	t = command(&d, "true");
	pssh_task_add(t, at(0));
	drive_free(&d, t);
	d.keep = true;
	ends(once(&d, at(0), "true"), "exit 0", "one that never started is freed, too");
}

static void check_close_host(void)
{
	struct pssh_task *t = command(&d, "hang"), *u = command(&d, "hang"), *v = command(&d, "true");
	struct pssh_host *h = at(20), *far = light_host_number(&d, &l, 61, 1);
	unsigned up;

	pssh_task_add(t, h);
	pssh_task_add(u, h);
	pssh_task_start(t);
	pssh_task_start(u);
	drive_until(&d, &drive_seen(&d, u, h)->started, 1, DRIVE_PATIENCE_MS);
	ok(pssh_host_connected(h), "a host is connected");
	up = d.up;
	pssh_host_close(h);
	ok(!pssh_host_connected(h), "and closed");
	drive_done(&d, 2);
	ends(drive_seen(&d, t, h), "PSSH_ECLOSED", "its task ends");
	ends(drive_seen(&d, u, h), "PSSH_ECLOSED", "so does the other");
	pssh_host_close(h);
	ends(once(&d, h, "true"), "exit 0", "the next task connects again");
	is_int(d.up, up + 1, "once");
	pssh_task_add(v, far); /* the server never speaks there */
	pssh_task_start(v);
	drive_for(&d, 100);
	pssh_host_close(far);
	ok(drive_until(&d, &d.done, d.done + 1, 20000), "a host is closed while it connects");
	ends(drive_seen(&d, v, far), "PSSH_ECLOSED", "its task ends at once");
}

/* Random calls between two events, the same in every run. */
static void check_jumble(void)
{
	struct pssh_task *t[40] = { 0 };
	uint32_t x = 7;

	d.keep = false;
	for (int i = 0; i < 400; i++) {
		unsigned n, at_host;

		x = x * 1664525u + 1013904223u;
		n = (x >> 24) % 40;
		at_host = (x >> 16) % 12;
		switch ((x >> 8) % 8) {
		case 0:
		case 1:
		case 2:
			if (t[n])
				break;
			t[n] = command(&d, (x & 64) ? "yes-bytes 300000; echo x" : "true");
			for (unsigned k = 0; k < 4; k++)
				pssh_task_add(t[n], at(30 + (at_host + k) % 12));
			pssh_task_start(t[n]);
			break;
		case 3: pssh_host_close(at(30 + at_host)); break;
		case 4:
			if (t[n])
				pssh_task_stop(t[n]);
			break;
		case 5:
			if (t[n])
				pssh_task_cancel(t[n], "KILL", 100);
			break;
		case 6:
			drive_free(&d, t[n]);
			t[n] = NULL;
			break;
		default: drive_for(&d, 5); break;
		}
	}
	drive_for(&d, 300);
	for (int i = 0; i < 40; i++)
		drive_free(&d, t[i]);
	d.count = 0;
	d.keep = true;
	ends(once(&d, at(30), "echo sane"), "exit 0", "after 400 things at random it still works");
}

int main(void)
{
	char key[300];
	int fds;

	plan_none;
	snprintf(key, sizeof key, "%.280s.pub", env("SSHD_KEY"));
	light_up(&l, "order",
		(const char *const[]){ "--authorized", key, "--fault", "hang-banner@127.61.0.0/16", NULL });
	fds = count_fds();
	light_fleet(&d, &l);
	check_misuse();
	check_none_and_late();
	check_free_task();
	check_close_host();
	check_jumble();
	drive_end(&d, "order");
	is_int(count_fds(), fds, "no descriptor is left");
	light_down(&l);
	return done();
}
