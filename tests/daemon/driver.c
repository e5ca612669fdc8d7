/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what every driver promises (agentd/driver.h) against one driver: driver NAME, with TMP an empty folder. A
 * promise that the driver says it does not make is named and skipped. The .t files beside it run it for each driver.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "driverkill.h"
#include "driverpromise.h"
#include "driverway.h"

#include "../lib/tap.h"

enum { LINES = 20, SLOTS = 5 };

/* Time limits for a driver; the slowest one boots an emulated kernel. */
struct pace {
	const struct driver *d;
	int64_t boot_ms, stop_ms, memory;
	unsigned cpu_milli;
	const char *too_much, *little;
	unsigned kills;
	bool machine;              /* the node is this machine: there can be no second one */
	bool slow;
};

static const struct pace paces[] = {
	{ .d = &driver_process,
		.boot_ms = 60000,
		.stop_ms = 4000,
		.memory = 256 << 20,
		.cpu_milli = 500,
		.too_much = "400M",
		.little = "50M",
		.kills = 36 },
	{ .d = &driver_host, .boot_ms = 60000, .stop_ms = 4000, .kills = 36, .machine = true },
	{ .d = &driver_ns,
		.boot_ms = 120000,
		.stop_ms = 10000,
		.memory = 256 << 20,
		.cpu_milli = 500,
		.too_much = "400M",
		.little = "50M",
		.kills = 30 },
	{ .d = &driver_vm,
		.boot_ms = 240000,
		.stop_ms = 20000,
		.memory = 512 << 20,
		.cpu_milli = 1000,
		.too_much = "700M",
		.little = "50M",
		.kills = 3,
		.slow = true },
};

#define good(rc, f, ...) \
	do { \
		int rc_ = (rc); \
		ok(rc_ == 0, __VA_ARGS__); \
		if (rc_) \
			diag("%d: %s", rc_, (f)->text); \
	} while (0)

static bool holds(const struct way *w, unsigned what, const char *text)
{
	if (w->holds & what)
		return true;
	skip("%s: not held by driver '%s' as it works here", text, w->d->name);
	return false;
}

/* ---- Made and begun ----------------------------------------------------------------------------------- */

static void test_create(struct way *w, struct one *o)
{
	char path[400];
	struct fail f = { 0 };
	struct stat a, b;

	is_int(one_is(w, o), NODE_ABSENT, "before create: absent");
	good(w->d->destroy(&o->n, &f), &f, "destroy of what never was");
	good(w->d->stop(&o->n, 0, &f), &f, "stop of what never was");
	good(w->d->create(&o->n, &f), &f, "create");
	is_int(one_is(w, o), NODE_STOPPED, "after create: stopped");
	snprintf(path, sizeof path, "%s/hostkey.pub", o->dir);
	ok(stat(path, &a) == 0 && a.st_size > 60, "hostkey.pub is there");
	good(w->d->create(&o->n, &f), &f, "create again");
	ok(stat(path, &b) == 0 && a.st_size == b.st_size, "and the key is the same");
	snprintf(path, sizeof path, "%s/user", o->dir);
	ok(access(path, R_OK) == 0, "user is there");
}

static bool test_start(struct way *w, struct one *o, const struct pace *p)
{
	int64_t begun = clock_ms();
	struct fail f = { 0 };
	int rc = w->d->start(&o->n, &f);

	good(rc, &f, "start");
	if (rc) /* nothing after it can run either */
		return false;
	good(w->d->start(&o->n, &f), &f, "start again");
	is_int(one_is(w, o), NODE_RUNNING, "after start: running");
	ok(way_lists(w, o->id), "list names it");
	is_int(rc = one_wait(w, o, 0, p->boot_ms), 0, "SSH answers with the announced key");
	diag("start to SSH: %lld ms", (long long)(clock_ms() - begun));
	return rc == 0;
}

static void test_ssh(struct way *w, struct one *o)
{
	struct buf out;
	char path[400], user[64] = "";
	struct buf b;

	buf_init(&out, WAY_TEXT);
	buf_init(&b, 64);
	ok(one_ssh_wrong(w, o, "true") != 0, "with another host key it is refused");
	ok(one_ssh(w, o, 1, "true", NULL) != 0, "another person's key is refused");
	snprintf(path, sizeof path, "%s/user", o->dir);
	if (buf_read_file(&b, path) == 0)
		snprintf(user, sizeof user, "%s", buf_text(&b));
	is_int(one_ssh(w, o, 0, "id -un", &out), 0, "a command runs");
	is_str(buf_text(&out), user, "as the announced user");
	if (holds(w, HOLDS_PROCESSES, "a name of its own")) {
		one_ssh(w, o, 0, "uname -n", &out);
		ok(strncmp(buf_text(&out), o->name, strlen(o->name)) == 0, "its host name is its name");
	}
	buf_release(&out);
	buf_release(&b);
}

/* ---- Two tenants ---------------------------------------------------------------------------------------- */

static void test_processes(struct way *w, struct one *a, struct one *b)
{
	char number[16], line[200];
	struct fail f = { 0 };
	struct buf out;
	pid_t pid;

	if (!holds(w, HOLDS_PROCESSES, "tenants see no processes of others"))
		return;
	snprintf(number, sizeof number, "9%07u", way_random(10000000));
	buf_init(&out, WAY_TEXT);
	snprintf(line, sizeof line, "setsid sleep %s </dev/null >/dev/null 2>&1 &", number);
	is_int(one_ssh(w, b, 1, line, NULL), 0, "a tenant begins a process");
	snprintf(line, sizeof line, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[%c]%s'", number[0],
		number + 1);
	one_ssh(w, b, 1, line, &out);
	is_str(buf_text(&out), "1\n", "and sees it itself");
	one_ssh(w, a, 0, line, &out);
	is_str(buf_text(&out), "0\n", "the other tenant does not");
	pid = w->holds & HOLDS_KERNEL ? way_sleeper(number) : way_wait_sleeper(number, 60000);
	if (w->holds & HOLDS_KERNEL) {
		is_int(pid, 0, "nor does this machine: it is in another kernel");
	} else {
		ok(pid > 0, "this machine sees it as %d", (int)pid);
		snprintf(line, sizeof line, "kill -9 %d; true", (int)pid);
		one_ssh(w, a, 0, line, NULL);
		is_int(way_sleeper(number), pid, "the other tenant cannot end it");
		snprintf(line, sizeof line, "kill -9 %d; true", (int)getpid());
		is_int(one_ssh(w, a, 0, line, NULL), 0, "nor this test");
		if (!(w->holds & HOLDS_SYSTEM)) {
			one_ssh(w, a, 0, "kill -9 -1", NULL);
			is_int(way_sleeper(number), pid, "not even by ending all that it can");
			is_int(way_wait_is(w, a, NODE_STOPPED, 60000), 0, "which is its own node");
			good(w->d->start(&a->n, &f), &f, "it is started again");
			is_int(one_wait(w, a, 0, 120000), 0, "and answers");
		}
	}
	is_int(one_wait(w, b, 1, 120000), 0, "and the other's node goes on");
	buf_release(&out);
}

static void test_files(struct way *w, struct one *a, struct one *b)
{
	char line[2400];
	struct buf out;

	if (!holds(w, HOLDS_FILES, "tenants read no files of others, nor the agent's"))
		return;
	buf_init(&out, WAY_TEXT);
	snprintf(line, sizeof line, "umask 0; echo of-b | tee ~/%s.secret /tmp/%s.secret && chmod 755 ~", b->id, b->id);
	is_int(one_ssh(w, b, 1, line, NULL), 0, "a tenant writes files");
	snprintf(line, sizeof line,
		"cat ~/%s.secret /tmp/%s.secret %s/home/%s.secret %s/tmp/%s.secret %s/secret %s/hostkey 2>/dev/null; "
		"ls -a %s %s 2>/dev/null",
		b->id, b->id, b->dir, b->id, b->dir, b->id, w->data, b->dir, w->data, b->dir);
	one_ssh(w, a, 0, line, &out);
	lacks_str(buf_text(&out), "of-b", "the other tenant finds none of them");
	lacks_str(buf_text(&out), "secret", "nor the agent's folder");
	lacks_str(buf_text(&out), "agent", "nor what is in the agent's files");
	lacks_str(buf_text(&out), "PRIVATE", "nor the host key of a neighbour");
	if (w->holds & HOLDS_KERNEL)
		goto out; /* its files are inside a disk image, where this test cannot look */
	snprintf(line, sizeof line,
		"find / -xdev \\( -path /proc -o -path /sys \\) -prune -o -name '%s*' -print 2>/dev/null", b->id);
	one_ssh(w, a, 0, line, &out);
	lacks_str(buf_text(&out), b->id, "nor by looking everywhere");
out:
	buf_release(&out);
}

#define REACH "reach() { timeout 10 bash -c \"exec 3<>/dev/tcp/$1/$2\" 2>/dev/null && echo reached $1; }; "

static void test_network(struct way *w, struct one *a, struct one *b)
{
	char line[600], theirs[128] = "";
	unsigned port = 0;
	struct buf out;
	int fd;

	if (!holds(w, HOLDS_NETWORK, "sockets of the market and the agent are out of reach"))
		return;
	buf_init(&out, WAY_TEXT);
	fd = way_listen(&port);
	ok(fd >= 0, "(this machine listens everywhere, as a market might)");
	snprintf(line, sizeof line,
		REACH "reach 127.0.0.1 22; reach 127.0.0.1 %u; reach %s %u; for g in $(ip route 2>/dev/null | sed -n "
		      "'s/.* via \\([0-9.]*\\).*/\\1/p'); do reach $g %u; done; true",
		port, w->listen, port, port);
	one_ssh(w, a, 0, line, &out);
	is_str(buf_text(&out), "reached 127.0.0.1\n", "a node reaches its own SSH, and nothing of this machine's");
	one_ssh(w, b, 1, "hostname -I | cut -d' ' -f1", &out);
	snprintf(theirs, sizeof theirs, "%.*s", (int)strcspn(buf_text(&out), " \n"), buf_text(&out));
	ok(*theirs, "(the other tenant's address is %s)", theirs);
	snprintf(line, sizeof line, REACH "reach %s 22; true", *theirs ? theirs : "0.0.0.1");
	one_ssh(w, a, 0, line, &out);
	is_str(buf_text(&out), "", "the other tenant's node is not reached");
	if (fd >= 0)
		close(fd);
	buf_release(&out);
}

/* ---- Limits ----------------------------------------------------------------------------------------------- */

#define BURN "for i in 1 2; do timeout 3 sh -c 'while :; do :; done' & done; wait; "

static void test_limits(struct way *w, struct one *o, const struct pace *p)
{
	char line[300];
	struct buf out;
	int64_t used, may = 3 * (int64_t)p->cpu_milli;

	buf_init(&out, WAY_TEXT);
	if (holds(w, HOLDS_CPU, "its share of processors is limited")) {
		int64_t from = clock_ms();

		used = way_used_ms(o);
		is_int(one_ssh(w, o, 0, "bash -c \"" BURN "times\"", &out), 0, "two processes work for 3 s");
		used = w->holds & HOLDS_KERNEL ? way_used_ms(o) - used : way_times_ms(buf_text(&out));
		/* The whole machine was measured, its SSH included, for as long as it took. */
		if (w->holds & HOLDS_KERNEL)
			may = (clock_ms() - from) * p->cpu_milli / 1000;
		ok(used > 0 && used < may * 3 / 2, "what they had of processors: %lld ms of %lld", (long long)used,
			(long long)may);
	}
	if (holds(w, HOLDS_MEMORY, "its memory is limited")) {
		snprintf(line, sizeof line, "dd if=/dev/zero of=/dev/null bs=%s count=1", p->little);
		is_int(one_ssh(w, o, 0, line, NULL), 0, "a process takes a little memory");
		snprintf(line, sizeof line, "dd if=/dev/zero of=/dev/null bs=%s count=1", p->too_much);
		ok(one_ssh(w, o, 0, line, NULL) != 0, "and none takes more than the node has");
		is_int(one_wait(w, o, 0, 120000), 0, "the node outlives it");
	}
	buf_release(&out);
}

/* What it was promised. */
static void test_promise(struct way *w, struct one *o)
{
	struct promise_seen seen;

	if (!promise_look(w, o, &seen))
		return;
	ok(seen.size >= o->n.disk && seen.size < o->n.disk + o->n.disk / 10,
		"its disk holds what was sold: %lld of %lld bytes", (long long)seen.size, (long long)o->n.disk);
	ok(seen.files >= o->n.disk / 16384, "and a file for each 16 KiB: %lld", (long long)seen.files);
	if (o->n.disk_taken)
		ok(seen.held > o->n.disk, "all of it is taken from this machine already: %lld", (long long)seen.held);
	else
		skip("too little space is free here to take a disk's");
	is_int(seen.rates, geteuid() == 0 ? 2 : 0, "as root, its network has a rate in both directions");
	is_int(seen.refused, -ENOTSUP, "more files than its disk holds are refused: %s", seen.why);
	is_int(seen.is, NODE_ABSENT, "and nothing is made");
}

/* ---- Console, keys ------------------------------------------------------------------------------------------ */

static const char first_script[] =
	"#!/bin/sh\necho once >> ~/script-ran\n"
	"i=1\nwhile [ $i -le 20 ]; do echo \"console-line-$i.\"; i=$((i + 1)); done\n";

static void test_console(struct way *w, struct one *o, const struct pace *p)
{
	char path[400], want[32];
	struct buf b, out;
	const char *at;
	int i;

	if (p->machine) {
		skip("a machine that is handed over whole has a console of its owner's");
		return;
	}
	buf_init(&b, WAY_TEXT);
	buf_init(&out, WAY_TEXT);
	snprintf(path, sizeof path, "%s/console", o->dir);
	is_int(way_wait_text(path, "console-line-20.", p->boot_ms), 0,
		"the console says what the first boot's script said");
	buf_read_file(&b, path);
	at = buf_text(&b);
	for (i = 1; i <= LINES; i++) {
		snprintf(want, sizeof want, "console-line-%d.", i);
		at = strstr(at, want);
		if (!at)
			break;
	}
	is_int(i - 1, LINES, "all of it, in order");
	one_ssh(w, o, 0, "cat ~/script-ran", &out);
	is_str(buf_text(&out), "once\n", "the script ran once");
	buf_release(&b);
	buf_release(&out);
}

static void test_rekey(struct way *w, struct one *o, const struct pace *p)
{
	struct fail f = { 0 };

	one_keys(o, w, 1);
	good(w->d->rekey(&o->n, &f), &f, "rekey");
	good(w->d->rekey(&o->n, &f), &f, "rekey again");
	is_int(one_wait(w, o, 1, 120000), 0, "the new key opens");
	ok(one_ssh(w, o, 0, "true", NULL) != 0, "the old one does not");
	if (!p->slow) {
		o->n.keys = "";
		good(w->d->rekey(&o->n, &f), &f, "rekey to nobody");
		ok(one_ssh(w, o, 1, "true", NULL) != 0, "then nobody comes in");
	}
	one_keys(o, w, 0);
	good(w->d->rekey(&o->n, &f), &f, "rekey back");
	is_int(one_wait(w, o, 0, 120000), 0, "the first key opens again");
}

/* ---- It ends ------------------------------------------------------------------------------------------------ */

static void test_poweroff(struct way *w, struct one *o, const struct pace *p)
{
	/* A node of the process driver has no init but its first process: pid 1 if it has a PID namespace. */
	const char *off = strcmp(w->d->name, "process") != 0 ? "nohup sh -c 'sleep 0.2; poweroff' >/dev/null 2>&1 &"
		: w->holds & HOLDS_PROCESSES                 ? "kill -TERM 1"
					     : "kill -TERM $(ps -eo pid,args | awk '/[n]anopod-node --node/ && "
					       "index($0, ENVIRON[\"NANOPOD_NODE\"]) { print $1 }')";
	struct fail f = { 0 };

	if (p->machine) {
		skip("this machine is not turned off for a test");
		return;
	}
	is_int(one_ssh(w, o, 0, "echo kept > ~/kept; sync", NULL), 0, "the tenant writes a file");
	one_ssh(w, o, 0, off, NULL);
	is_int(way_wait_is(w, o, NODE_STOPPED, 60000), 0, "turned off from within: stopped");
	good(w->d->start(&o->n, &f), &f, "it is started again");
	is_int(one_wait(w, o, 0, p->boot_ms), 0, "and answers with the same key");
	is_int(one_ssh(w, o, 0, "test \"$(cat ~/kept)\" = kept && test \"$(cat ~/script-ran)\" = once", NULL), 0,
		"its files are there, and the script did not run again");
}

/* What a tenant leaves behind: a process that hides from everybody, and folders that resist removal. */
static void leave_behind(struct way *w, struct one *o, const char *number)
{
	char line[400];

	snprintf(line, sizeof line,
		"setsid env -i sleep %s </dev/null >/dev/null 2>&1 & "
		"mkdir -p ~/a/b && touch ~/a/b/c && chmod 0 ~/a/b ~/a; d=.; "
		"cd ~ && for i in $(seq 300); do mkdir dddddddddddddddddddd && cd dddddddddddddddddddd; done; true",
		number);
	is_int(one_ssh(w, o, 0, line, NULL), 0, "the tenant leaves a process and stubborn folders");
}

static void test_stop(struct way *w, struct one *o, const struct pace *p)
{
	char number[16];
	struct fail f = { 0 };

	snprintf(number, sizeof number, "8%07u", way_random(10000000));
	if (!p->machine)
		leave_behind(w, o, number);
	good(w->d->stop(&o->n, p->stop_ms, &f), &f, "stop");
	is_int(one_is(w, o), NODE_STOPPED, "after stop: stopped");
	ok(one_ssh(w, o, 0, "true", NULL) != 0, "SSH does not answer any more");
	is_int(way_sleeper(number), 0, "nothing of it runs");
	good(w->d->stop(&o->n, p->stop_ms, &f), &f, "stop again");
	one_keys(o, w, 1);
	good(w->d->rekey(&o->n, &f), &f, "rekey while it is stopped");
	if (p->slow)
		return;
	good(w->d->start(&o->n, &f), &f, "start after stop");
	is_int(one_wait(w, o, 1, p->boot_ms), 0, "the key that came meanwhile opens");
}

/* Another process has the port on which the node is announced: it must never be taken for the node. */
static void test_port(struct way *w, const struct pace *p)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)(w->setup.first_port + 5)) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct fail f = { 0 };
	struct one o;

	one_init(&o, w, 5, "acct_d", 0);
	inet_pton(AF_INET, w->listen, &at.sin_addr);
	ok(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 4) == 0,
		"(somebody takes a node's port)");
	good(w->d->create(&o.n, &f), &f, "create");
	is_int(w->d->start(&o.n, &f), -EADDRINUSE, "it does not start, and says why: %s", f.text);
	is_int(one_is(w, &o), NODE_STOPPED, "and is stopped");
	close(fd);
	good(w->d->start(&o.n, &f), &f, "the port is free: it starts");
	is_int(one_wait(w, &o, 0, p->boot_ms), 0, "and answers");
	good(w->d->destroy(&o.n, &f), &f, "destroy");
}

static void test_destroy(struct way *w, struct one *o, struct one *b)
{
	struct fail f = { 0 };
	char path[400];

	good(w->d->destroy(&o->n, &f), &f, "destroy, while it runs");
	is_int(one_is(w, o), NODE_ABSENT, "after destroy: absent");
	ok(!way_lists(w, o->id), "list does not name it");
	good(w->d->destroy(&o->n, &f), &f, "destroy again");
	if (b) {
		is_int(one_wait(w, b, 1, 120000), 0, "the other node goes on");
		good(w->d->destroy(&b->n, &f), &f, "destroy the other");
	}
	good(w->d->tidy(&w->setup, &f), &f, "tidy");
	good(w->d->tidy(&w->setup, &f), &f, "tidy again");
	is_int(way_clean(w, 60000), 0, "nothing is left on this machine");
	snprintf(path, sizeof path, "%s/node.json", o->dir);
	ok(access(path, F_OK) == 0, "but the agent's own node.json");
	snprintf(path, sizeof path, "%s/lock", o->dir);
	ok(access(path, F_OK) == 0, "and lock");
}

/* ---- All -------------------------------------------------------------------------------------------------------- */

/* The host driver: its one node is this machine. Its sessions end with it; what ran before goes on. */
static bool run_machine(struct way *w, const struct pace *p, struct one *a)
{
	char number[16], line[200];
	struct fail f = { 0 };

	test_create(w, a);
	if (!test_start(w, a, p))
		return false;
	test_ssh(w, a);
	test_rekey(w, a, p);
	snprintf(number, sizeof number, "7%07u", way_random(10000000));
	snprintf(line, sizeof line, "setsid sleep %s </dev/null >/dev/null 2>&1 &", number);
	is_int(one_ssh(w, a, 0, line, NULL), 0, "the tenant leaves a process");
	ok(way_wait_sleeper(number, 60000) > 0, "which runs");
	test_stop(w, a, p);
	is_int(way_sleeper(number), 0, "it ended with the lease");
	good(w->d->stop(&a->n, 0, &f), &f, "stop");
	good(w->d->start(&a->n, &f), &f, "start");
	test_destroy(w, a, NULL);
	return true;
}

static bool run_nodes(struct way *w, const struct pace *p, struct one *a, struct one *b)
{
	struct fail f = { 0 };

	a->n.script = first_script;
	a->n.cpu_milli = p->cpu_milli;
	a->n.memory = p->memory;
	promise_give(w, a);
	b->n.memory = p->memory;
	b->n.cpu_milli = p->cpu_milli;
	test_create(w, a);
	good(w->d->create(&b->n, &f), &f, "another tenant's node");
	good(w->d->start(&b->n, &f), &f, "is started");
	if (!test_start(w, a, p))
		return false;
	is_int(one_wait(w, b, 1, p->boot_ms), 0, "the other answers too");
	test_ssh(w, a);
	test_console(w, a, p);
	test_processes(w, a, b);
	test_files(w, a, b);
	test_network(w, a, b);
	test_limits(w, a, p);
	test_promise(w, a);
	test_rekey(w, a, p);
	test_poweroff(w, a, p);
	test_stop(w, a, p);
	if (!p->slow)
		test_port(w, p);
	test_destroy(w, a, b);
	return true;
}

static void test_kills(struct way *w, const struct pace *p)
{
	struct kills k;

	driver_kills(w, p->kills, p->boot_ms, &k);
	diag("create and start take %lld ms, stop and destroy %lld ms", (long long)k.make_ms, (long long)k.end_ms);
	ok(k.make_ms >= 0 && k.end_ms >= 0, "undisturbed, in a process of their own, the calls succeed");
	is_int(k.broken, 0, "killed at %u random points: the next call repairs each", p->kills);
	is_int(k.dirty, 0, "and after destroy nothing of any is left");
	is_int(k.silent, 0, "SSH answers in %u that were made after a kill", k.opened);
}

static int suite(struct way *w, const struct pace *p)
{
	struct fail f = { 0 };
	struct one a, b;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (p->d->probe(&w->setup, &w->holds, &f))
		skip_all("driver '%s' does not work here: %s", p->d->name, f.text);
	is_int(way_clean(w, 60000), 0, "the probe leaves nothing");
	diag("holds:%s%s%s%s%s%s%s%s", w->holds & HOLDS_PROCESSES ? " processes" : "",
		w->holds & HOLDS_FILES ? " files" : "", w->holds & HOLDS_NETWORK ? " network" : "",
		w->holds & HOLDS_CPU ? " cpu" : "", w->holds & HOLDS_MEMORY ? " memory" : "",
		w->holds & HOLDS_DISK ? " disk" : "", w->holds & HOLDS_KERNEL ? " kernel" : "",
		w->holds & HOLDS_SYSTEM ? " system" : "");
	one_init(&a, w, 1, "acct_a", 0);
	one_init(&b, w, 2, "acct_b", 1);
	if (p->machine ? run_machine(w, p, &a) : run_nodes(w, p, &a, &b))
		test_kills(w, p);
	return done();
}

/* Sets up the node in each slot. */
static const char *const tenants[SLOTS + 1] = { NULL, "acct_a", "acct_b", "acct_c", "acct_d", "acct_d" };

static volatile sig_atomic_t suite_pid;

static void give_up(int sig)
{
	(void)sig;
	kill(suite_pid, SIGKILL);
}

/* However the suite ends, by a bug or by a timeout, its nodes must not stay on the machine. */
static void clear_away(struct way *w)
{
	struct fail f = { 0 };
	struct one o;

	for (unsigned slot = 1; slot <= SLOTS; slot++) {
		one_init(&o, w, slot, tenants[slot], 0);
		if (one_is(w, &o) != NODE_ABSENT && w->d->destroy(&o.n, &f))
			diag("%s stays: %s", o.id, f.text);
	}
	w->d->tidy(&w->setup, &f);
}

int main(int argc, char **argv)
{
	const struct pace *p = NULL;
	struct way w;
	int status = 0;

	plan_none;
	for (size_t i = 0; argc > 1 && i < sizeof paces / sizeof *paces; i++)
		if (strcmp(paces[i].d->name, argv[1]) == 0)
			p = &paces[i];
	if (!p)
		return 2;
	way_init(&w, p->d);
	suite_pid = fork();
	if (suite_pid == 0)
		exit(suite(&w, p));
	for (int i = 0; i < 3; i++)
		sigaction((const int[]){ SIGTERM, SIGINT, SIGHUP }[i],
			&(struct sigaction){ .sa_handler = give_up, .sa_flags = SA_RESTART }, NULL);
	if (suite_pid < 0 || waitpid(suite_pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		clear_away(&w);
	way_release(&w);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
