/* SPDX-License-Identifier: Apache-2.0 */
/* No process stays behind: every way in which a command can try to stay, and every way to end it. */
#include "drive.h"

static struct drive d;

/* A new word for a command line, by which the test finds its processes. */
static const char *mark(void)
{
	static char room[64];
	static unsigned n;

	snprintf(room, sizeof room, "pssh-mark-%d-%u-", (int)getpid(), ++n);
	return room;
}

/* "sleep" under a name that holds the marker, "nap" under one that no shell has; sh sees $M. */
static struct pssh_task *marked(const char *marker, const char *script)
{
	char text[1200];

	snprintf(text, sizeof text, "M=%s; nap() { perl -e 'sleep 1000' \"${M}nap\"; }; %s", marker, script);
	return command(&d, text);
}

static bool begun(struct pssh_task *t, struct pssh_host *h, const char *marker, int processes)
{
	int64_t end = now_ms() + 60000;

	drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
	/* Once is enough: between the first shell's end and the exec of its child none has a command line. */
	while (count_marked(marker) < processes) {
		if (now_ms() > end)
			return false;
		drive_for(&d, 20);
	}
	return true;
}

static const struct {
	const char *what, *script;
	int processes;             /* with the marker in their command line, the first shell too */
	const char *want;          /* NULL: any end */
	const char *text;
	unsigned grace;
} cases[] = {
	{ "a plain sleep", "exec perl -e 'sleep 1000' $M", 1, "signal TERM", "", 20000 },
	{ "a shell with children and grandchildren",
		"nap & (nap & nap; :) & bash -c 'perl -e \"sleep 1000\" '$M' & wait' & wait", 4, "signal TERM", "",
		20000 },
	{ "one that ignores TERM",
		"trap '' TERM; perl -e '$SIG{TERM}=\"IGNORE\"; sleep 1000 while 1' $M; perl -e 'sleep 1000 while 1' $M",
		2, "signal KILL", "", 500 },
	{ "one that leaves a background process", "perl -e 'sleep 1000' $M >/dev/null 2>&1 </dev/null & nap", 2,
		"signal TERM", "", 20000 },
	{ "one in another process group", "set -m; nap & nap", 2, NULL, "", 3000 },
	{ "one that handles TERM", "trap 'exit 42' TERM; nap & wait", 2, "exit 42", "ended", 20000 },
};

static void check_cancel(struct pssh_host *h)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *marker = mark();
		struct pssh_task *t = marked(marker, cases[i].script);
		struct seen *s;
		int64_t begin;
		char nap[80];

		pssh_task_add(t, h);
		pssh_task_start(t);
		ok(begun(t, h, marker, cases[i].processes), "%s: it runs", cases[i].what);
		/* A child that was just forked still catches TERM as its parent does, and forgets that it came. */
		snprintf(nap, sizeof nap, "%snap", marker);
		for (int left = 1000; strstr(cases[i].script, "nap") && !count_marked(nap) && left; left--)
			drive_for(&d, 20);
		begin = now_ms();
		is_int(pssh_task_cancel(t, "TERM", cases[i].grace), 0, "%s: it is cancelled", cases[i].what);
		drive_done(&d, 1);
		s = drive_seen(&d, t, h);
		diag("%s: %s '%s' after %d ms", cases[i].what, end_of(s), s->text, (int)(now_ms() - begin));
		if (cases[i].want)
			ends(s, cases[i].want, "%s: how it ends", cases[i].what);
		has_str(s->type == PSSH_EV_SIGNAL ? "" : s->text, cases[i].text, "%s: what is said of it",
			cases[i].what);
		is_int(s->cancelled, 1, "%s: the end is marked as asked for", cases[i].what);
		is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "%s: nothing of it is left", cases[i].what);
	}
}

/* The first process has ended, and sshd waits for one of its children that still holds the output. */
static void check_orphans(struct pssh_host *h)
{
	const char *marker = mark();
	struct pssh_task *t = marked(marker,
		"perl -e 'sleep 1000' $M & (trap '' TERM; exec perl -e 'sleep 1000' $M) & exit");
	struct seen *s;
	char first[80];

	pssh_task_add(t, h);
	pssh_task_start(t);
	snprintf(first, sizeof first, "M=%s", marker); /* in no command line but the first shell's */
	ok(begun(t, h, marker, 2) && wait_marked(first, 0, 20000) == 0, "a command whose first process has ended");
	pssh_task_cancel(t, "TERM", 500);
	drive_done(&d, 1);
	s = drive_seen(&d, t, h);
	diag("%s '%s'", end_of(s), s->text);
	ends(s, "exit 0", "ends as that one did");
	has_str(s->text, "were killed", "and its other processes end");
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "nothing of it is left");
}

/*
 * A service that a command leaves running: it writes to a pipe, as a dead first process's children do
 * to sshd. What finds it is in its own command line alone.
 */
static void start_service(struct pssh_host *h, char found[64], const char *script)
{
	const char *marker = mark();
	struct pssh_task *t = marked(marker, script);

	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 0", "a command leaves a service running");
	snprintf(found, 64, "only-%.50s", marker);
	is_int(wait_marked(found, 1, 20000), 1, "it runs");
}

/* A command whose first process has ended is cancelled beside such services. */
static struct seen *cancel_orphan(struct pssh_host *h, const char *marker)
{
	struct pssh_task *t = marked(marker, "perl -e 'sleep 1000' $M & exit");
	char first[80];

	pssh_task_add(t, h);
	pssh_task_start(t);
	snprintf(first, sizeof first, "M=%s", marker);
	ok(begun(t, h, marker, 1) && wait_marked(first, 0, 20000) == 0, "another command's first process has ended");
	pssh_task_cancel(t, "TERM", 500);
	drive_done(&d, 1);
	return drive_seen(&d, t, h);
}

static void check_services(struct pssh_host *h)
{
	char logged[64], loose[64], marker[64];
	struct pssh_task *t;
	struct seen *s;

	start_service(h, logged, "(perl -e 'sleep 1000' only-$M | cat) </dev/null >/dev/null 2>&1 &");
	snprintf(marker, sizeof marker, "%s", mark());
	s = cancel_orphan(h, marker);
	diag("%s '%s'", end_of(s), s->text);
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "cancelled, its processes end");
	is_int(count_marked(logged), 1, "the service, whose pipe another of its processes reads, goes on");

	start_service(h, loose,
		"perl -e 'pipe(R, W); open(STDOUT, \">&\", W); close R; close W; sleep 1000' only-$M "
		"</dev/null >/dev/null 2>&1 &");
	t = command(&d, "while set -- $(cat /proc/$PPID/task/$PPID/children); [ $# -lt 2 ]; do :; done; exit 7");
	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
	pssh_task_cancel(t, "TERM", 2000);
	drive_done(&d, 1);
	s = drive_seen(&d, t, h);
	diag("%s '%s'", end_of(s), s->text);
	drive_for(&d, 2000); /* a script that goes on would have found something by now */
	is_int(count_marked(loose), 1, "a command that ends as it is cancelled takes no service with it");
	snprintf(marker, sizeof marker, "%s", mark());
	s = cancel_orphan(h, marker);
	ends(s, "PSSH_ECANCEL", "where either may be the command's");
	has_str(s->text, "may still run", "the end says so: %s", s->text);
	ok(count_marked(marker) == 1 && count_marked(loose) == 1 && count_marked(logged) == 1,
		"and nothing is touched");
	kill_marked(marker);
	kill_marked(loose);
	kill_marked(logged);
}

/* One that started its own session was detached on purpose: it lives on, and the end says so. */
static void check_escaped(struct pssh_host *h)
{
	const char *marker = mark();
	struct pssh_task *t = command(&d, "exec perl -e 'sleep 1000'");
	struct pssh_task *u = marked(marker,
		"perl -MPOSIX -e 'setsid; $0 = \"away-@ARGV\"; sleep 1000' $M & exec perl -e 'sleep 1000'");
	struct seen *s;
	long pid = 0;
	char text[80];

	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
	pssh_task_add(u, h);
	pssh_task_start(u);
	drive_until(&d, &drive_seen(&d, u, h)->started, 1, DRIVE_PATIENCE_MS);
	snprintf(text, sizeof text, "away-%s", marker); /* what it is called once it has its session */
	for (int i = 0; i < 3000 && !find_marked(text, &pid); i++)
		drive_for(&d, 20);
	pssh_task_cancel(u, "TERM", 1000);
	drive_done(&d, 1);
	s = drive_seen(&d, u, h);
	diag("%s '%s'", end_of(s), s->text);
	ends(s, "PSSH_ECANCEL", "a command one of whose processes left the session and holds the output");
	snprintf(text, sizeof text, "1 process that left its session still runs (PID %ld)", pid);
	has_str(s->text, text, "its end names that process");
	ok(pid && kill((pid_t)pid, 0) == 0, "which is true");
	kill((pid_t)pid, SIGKILL);
	is_int(drive_seen(&d, t, h)->ends, 0, "another command on this connection goes on");
	pssh_task_cancel(t, "TERM", 20000);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "signal TERM", "until it is cancelled");
}

static void check_one_of_two(struct pssh_host *h)
{
	char first[64], second[64], naps[80];
	struct pssh_task *t, *u;
	int alive;

	snprintf(first, sizeof first, "%s", mark());
	snprintf(second, sizeof second, "%s", mark());
	t = marked(first, "nap & nap");
	u = marked(second, "nap & nap");
	pssh_task_add(t, h);
	pssh_task_add(u, h);
	pssh_task_start(t);
	pssh_task_start(u);
	ok(begun(t, h, first, 3) && begun(u, h, second, 3), "two tasks on one connection");
	snprintf(naps, sizeof naps, "%snap", second); /* the last that it starts */
	ok(wait_marked(naps, 2, DRIVE_PATIENCE_MS) == 2, "with all their processes");
	alive = count_marked(second);
	pssh_task_cancel(t, "TERM", 2000);
	ok(drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS), "one is cancelled and ends");
	is_int(wait_marked(first, 0, DRIVE_PATIENCE_MS), 0, "nothing of it is left");
	drive_for(&d, 100);
	is_int(drive_seen(&d, u, h)->ends, 0, "the other goes on");
	is_int(count_marked(second), alive, "with all its processes");
	pssh_task_cancel(u, "TERM", 2000);
	ok(drive_until(&d, &drive_seen(&d, u, h)->ends, 1, DRIVE_PATIENCE_MS), "until it is cancelled as well");
	is_int(wait_marked(second, 0, DRIVE_PATIENCE_MS), 0, "nothing of that is left");
	drive_until(&d, &d.done, d.done + (pssh_task_left(u) != 0), 100);
	drive_for(&d, 50);
}

static void check_not_begun(void)
{
	struct pssh_task *t = command(&d, "echo never"), *u;
	struct pssh_host *a = host(&d, "n2"), *b = host(&d, "n3");

	pssh_task_add(t, a);
	pssh_task_add(t, b);
	pssh_task_start(t);
	pssh_task_cancel(t, "INT", 1000);
	ok(drive_until(&d, &d.done, d.done + 1, 20000), "hosts that have not begun end at once");
	ends(drive_seen(&d, t, a), "PSSH_ECANCEL", "as cancelled");
	is_int(drive_seen(&d, t, a)->started, 0, "without a start");
	is_int(pssh_task_cancel(t, "INT", 1000), 0, "cancelling what is over does nothing");
	is_int(pssh_task_cancel(t, "NOSUCH", 0), PSSH_EINVAL, "a signal that does not exist");
	is_int(pssh_task_cancel(t, NULL, 0), PSSH_EINVAL, "no signal at all");
	u = command(&d, "echo never");
	pssh_task_add(u, a);
	pssh_task_cancel(u, "TERM", 0);
	pssh_task_start(u);
	ok(drive_until(&d, &d.done, d.done + 1, DRIVE_PATIENCE_MS),
		"a task that is cancelled before its start is over with it");
	is_int(pssh_task_add(u, b), PSSH_EINVAL, "no host can be added to it afterwards");
	has_str(pssh_error(d.p), "cancelled", "with the reason");
	lacks_str(drive_seen(&d, u, a)->out ? drive_seen(&d, u, a)->out : "", "never", "and has done nothing");
}

static void check_deadline(struct pssh_host *h)
{
	const char *marker = mark();
	struct pssh_task *t = marked(marker, "nap & nap");
	struct seen *s;
	int64_t begin;

	pssh_task_set_deadline(t, 3000); /* long enough for it to have begun */
	pssh_task_add(t, h);
	pssh_task_start(t);
	begin = now_ms();
	drive_done(&d, 1);
	s = drive_seen(&d, t, h);
	ends(s, "PSSH_ETIMEOUT", "a task past its deadline");
	ok(now_ms() - begin >= 3000, "not before it (%d ms)", (int)(now_ms() - begin));
	has_str(s->text, "ended", "its sentence says what became of the processes");
	is_int(s->cancelled, 1, "the end is marked as asked for");
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "nothing of it is left");
}

static void check_stop(struct pssh_host *h)
{
	struct pssh_task *t = command(&d, "sleep 60");
	int64_t begin;

	pssh_task_add(t, h);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, h)->started, 1, DRIVE_PATIENCE_MS);
	begin = now_ms();
	pssh_task_stop(t);
	ok(drive_until(&d, &d.done, d.done + 1, 30000), "a task that is stopped is over at once (%d ms)",
		(int)(now_ms() - begin));
	ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "as cancelled");
	ends(once(&d, h, "echo on"), "exit 0", "its host serves on");
}

int main(void)
{
	struct pssh_host *h;
	int fds;

	plan_none;
	fds = count_fds();
	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	h = host(&d, "n1");
	check_cancel(h);
	check_orphans(h);
	check_services(h);
	check_escaped(h);
	check_one_of_two(h);
	check_not_begun();
	check_deadline(h);
	check_stop(h);
	drive_end(&d, "cancel");
	is_int(count_fds(), fds, "no descriptor is left");
	return done();
}
