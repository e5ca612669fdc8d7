/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script that ends a command's processes, on hosts that share one busy /proc: it ends at its
 * deadline and with its connection, and what the library says of the processes is true.
 */
#include "drive.h"

enum { HOSTS_MAX = 250 };

static struct drive d;

/* How many of the scripts run on our hosts; every host's address is in its processes' environment. */
static int count_sweeps(void)
{
	DIR *dir = opendir("/proc");
	struct dirent *de;
	char net[40], path[300], text[8192];
	int n = 0;

	snprintf(net, sizeof net, " %.30s.", env("SSHD_NET"));
	while (dir && (de = readdir(dir))) {
		FILE *f;
		size_t len = 0;

		snprintf(path, sizeof path, "/proc/%.20s/cmdline", de->d_name);
		f = de->d_name[0] >= '0' && de->d_name[0] <= '9' ? fopen(path, "r") : NULL;
		if (f) {
			len = fread(text, 1, sizeof text, f);
			fclose(f);
		}
		if (!len || !memmem(text, len, "libpssh-sweep", 13))
			continue;
		snprintf(path, sizeof path, "/proc/%.20s/environ", de->d_name);
		f = fopen(path, "r");
		len = f ? fread(text, 1, sizeof text, f) : 0;
		if (f)
			fclose(f);
		n += len && memmem(text, len, net, strlen(net));
	}
	if (dir)
		closedir(dir);
	return n;
}

static int wait_sweeps(int want, int ms)
{
	int64_t end = now_ms() + ms;
	int n;

	while ((n = count_sweeps()) != want && now_ms() < end)
		poll(NULL, 0, 50);
	return n;
}

static struct pssh_host *number(struct drive *to, unsigned i)
{
	char name[20];

	snprintf(name, sizeof name, "n%u", i + 1);
	return host(to, name);
}

/* Four processes on every third host ignore TERM. */
static struct pssh_task *start_marked(struct drive *to, const char *marker, unsigned i)
{
	char text[500];
	struct pssh_task *t;

	snprintf(text, sizeof text,
		"M=%s-%u-; %s n() { perl -e 'sleep 1000 while 1' \"$M\"; }; n & (n & n) & echo here; n; n", marker, i,
		i % 3 ? "" : "trap '' TERM;");
	t = command(to, text);
	pssh_task_add(t, number(to, i));
	pssh_task_start(t);
	return t;
}

enum told { TOLD_FALSE, TOLD_DOUBT, TOLD_TRUTH };

/* A busy machine may make the sentence careful; what it says without "may" is true. */
static enum told what_is_told(const struct seen *s, const char *marker)
{
	bool left = count_marked(marker) > 0;

	if (strstr(s->text, "may still run"))
		return TOLD_DOUBT;
	return left == (strstr(s->text, "(PID ") != NULL) ? TOLD_TRUTH : TOLD_FALSE;
}

static void check_many(unsigned hosts)
{
	static struct pssh_task *t[HOSTS_MAX];
	char marker[64], one[80];
	unsigned count[TOLD_TRUTH + 1] = { 0 };
	int64_t begin;

	snprintf(marker, sizeof marker, "sweep-mark-%dx", (int)getpid());
	for (unsigned i = 0; i < hosts; i++)
		t[i] = start_marked(&d, marker, i);
	for (unsigned i = 0; i < hosts; i++)
		drive_until(&d, &drive_seen(&d, t[i], number(&d, i))->outputs, 1, DRIVE_PATIENCE_MS);
	begin = now_ms();
	for (unsigned i = 0; i < hosts; i++)
		pssh_task_cancel(t[i], "TERM", 2000);
	drive_done(&d, hosts);
	diag("%u hosts took %d ms", hosts, (int)(now_ms() - begin));
	for (unsigned i = 0; i < hosts; i++) {
		const struct seen *s = drive_seen(&d, t[i], number(&d, i));
		enum told told;

		snprintf(one, sizeof one, "%s-%u-", marker, i);
		told = what_is_told(s, one);
		count[told]++;
		if (told != TOLD_TRUTH)
			diag("n%u: %s '%s', and %d processes are there", i + 1, end_of(s), s->text, count_marked(one));
	}
	is_int(count[TOLD_FALSE], 0, "what is said of the processes of every host is true");
	ok(count[TOLD_TRUTH] > 0 && count[TOLD_DOUBT] <= hosts / 2, "and for most without a doubt (not for %u of %u)",
		count[TOLD_DOUBT], hosts);
	is_int(wait_sweeps(0, 30000), 0, "no script is left");
	kill_marked(marker);
}

static void touch(const char *name)
{
	FILE *f = fopen(name, "w");

	if (f)
		fclose(f);
}

/* The grace is time, however few rounds of the script fit into it. */
static void check_clock(void)
{
	char marker[64];
	struct pssh_task *t;
	struct seen *s;

	touch("busy");
	snprintf(marker, sizeof marker, "sweep-clock-%dx", (int)getpid());
	t = start_marked(&d, marker, 0);
	s = drive_seen(&d, t, number(&d, 0));
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	pssh_task_cancel(t, "TERM", 3000);
	drive_done(&d, 1);
	unlink("busy");
	diag("%s '%s'", end_of(s), s->text);
	ends(s, "signal KILL", "on a machine that is slow the processes are killed after the grace");
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "and nothing is left");
}

/* However long the script needs to find the processes, it kills them before it gives up. */
static void check_late(void)
{
	char marker[64];
	struct pssh_task *t;
	struct seen *s;

	snprintf(marker, sizeof marker, "sweep-late-%dx", (int)getpid());
	t = start_marked(&d, marker, 0);
	s = drive_seen(&d, t, number(&d, 0));
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	touch("late");
	pssh_task_cancel(t, "TERM", 500);
	drive_done(&d, 1);
	diag("%s '%s'", end_of(s), s->text);
	ok(access("late", F_OK) != 0 && !strstr(s->text, "(PID "), "the first look does not use up the time to kill");
	kill_marked(marker);
}

/* A command whose first process has ended takes the longest to find; a busy host gets the time for that. */
static void check_orphan(void)
{
	char marker[64], text[300];
	struct pssh_task *t;
	struct seen *s;

	snprintf(marker, sizeof marker, "sweep-orphan-%dx", (int)getpid());
	snprintf(text, sizeof text, "perl -e 'sleep 1000' %s & echo first-%dx; exit", marker, (int)getpid());
	t = command(&d, text);
	pssh_task_add(t, number(&d, 0));
	pssh_task_start(t);
	s = drive_seen(&d, t, number(&d, 0));
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	snprintf(text, sizeof text, "echo first-%dx", (int)getpid()); /* in no command line but the first shell's */
	is_int(wait_marked(text, 0, 20000), 0, "a command whose first process has ended");
	touch("busy");
	touch("late");
	pssh_task_cancel(t, "TERM", 500);
	drive_done(&d, 1);
	unlink("busy");
	diag("%s '%s'", end_of(s), s->text);
	ok(access("late", F_OK) != 0, "on a busy host");
	ends(s, "exit 0", "ends as that process did");
	has_str(s->text, "its processes ended", "and the others end");
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "nothing is left");
	kill_marked(marker);
}

/* A host that says for ever that it still looks is not believed for ever. */
static void check_endless(void)
{
	char marker[64];
	struct pssh_task *t;
	struct seen *s;

	snprintf(marker, sizeof marker, "sweep-endless-%dx", (int)getpid());
	t = start_marked(&d, marker, 0);
	s = drive_seen(&d, t, number(&d, 0));
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	touch("endless");
	pssh_task_cancel(t, "TERM", 500);
	ok(drive_done(&d, 1), "a host that looks for the processes for ever");
	unlink("endless");
	diag("%s '%s'", end_of(s), s->text);
	ends(s, "PSSH_ECANCEL", "ends all the same");
	has_str(s->text, "may still run", "and what is not known is said so");
	kill_marked(marker);
}

/* A host whose `sh` is another program. */
static void check_hostile(void)
{
	char marker[64];
	struct pssh_task *t;
	struct seen *s;

	snprintf(marker, sizeof marker, "sweep-hostile-%dx", (int)getpid());
	t = start_marked(&d, marker, 0);
	s = drive_seen(&d, t, number(&d, 0));
	drive_until(&d, &s->outputs, 1, DRIVE_PATIENCE_MS);
	touch("hostile");
	pssh_task_cancel(t, "TERM", 500);
	drive_done(&d, 1);
	unlink("hostile");
	has_str(s->text, "its processes could not be found and may still run",
		"what is no list of processes is not shown");
	kill_marked(marker);
}

/* A program that is killed while the script waits for the end of the grace. */
static void check_killed(void)
{
	char marker[64];
	pid_t child;

	snprintf(marker, sizeof marker, "sweep-killed-%dx", (int)getpid());
	child = fork();
	if (child == 0) {
		static struct drive own;
		struct pssh_task *t;

		drive_start(&own);
		pssh_read_config(own.p, env("SSHD_CONFIG"));
		t = start_marked(&own, marker, 0);
		drive_until(&own, &drive_seen(&own, t, number(&own, 0))->outputs, 1, DRIVE_PATIENCE_MS);
		pssh_task_cancel(t, "TERM", 90000);
		drive_for(&own, 120000);
		_exit(0);
	}
	is_int(wait_sweeps(1, 60000), 1, "a script runs");
	kill(child, SIGKILL);
	is_int(wait_sweeps(0, 30000), 0, "it ends when the program that started it is killed");
	kill_marked(marker);
}

int main(void)
{
	unsigned hosts = (unsigned)strtoul(env("SWEEP_HOSTS"), NULL, 10);

	plan_none;
	hosts = hosts < HOSTS_MAX ? hosts : HOSTS_MAX;
	check_killed();
	drive_start(&d);
	pssh_read_config(d.p, env("SSHD_CONFIG"));
	check_clock();
	check_late();
	check_orphan();
	check_endless();
	check_hostile();
	check_many(hosts);
	drive_end(&d, "sweep");
	return done();
}
