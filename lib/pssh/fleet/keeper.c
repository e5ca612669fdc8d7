/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that outlive their process. libssh2's sessions cannot be written down, so the process
 * that made them forks at its end, and the child, the keeper, lends each to one command at a time. The
 * keeper is this fleet without its tasks, keys and questions; what it does for a command is a run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "pssh/fleet/fleet.h"
#include "pssh/keep/keepfolder.h"

enum { KEEPER_MAX = 4096, KEEPER_FDS = 4, KEEPER_START_MS = 5000, KEEPER_ALIVE_MS = 15000, KEEPER_SLEPT_MS = 1000 };

/* ---- Handing over ---- */

static bool keeper_is_idle(const struct pssh_host *h)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &h->runs)
		if (list_entry(pos, struct run, in_host)->task->started)
			return false;
	return true;
}

static bool keeper_may_keep(const struct pssh_host *h)
{
	const struct conn *c = h->conn;

	return c && c->state == CONN_READY && !c->ended && !c->dead && !conn_is_lent(c) && keeper_is_idle(h) &&
		!h->left && !h->typed && !h->forward && !c->by_hand && *h->keep_key &&
		(!c->via || keeper_may_keep(c->via->owner));
}

/* A jump host's connection and those that go through it stay in one process. */
static bool keeper_whole_way(const struct pssh_host *h)
{
	const struct conn *c = h->conn;
	struct list *pos, *tmp;

	list_each (pos, tmp, &c->riders)
		if (!((struct pssh_host *)list_entry(pos, struct conn, in_riders)->owner)->kept)
			return false;
	return !c->via || ((struct pssh_host *)c->via->owner)->kept;
}

static size_t keeper_choose(struct pssh *p)
{
	struct list *pos, *tmp;
	struct rlimit limit = { 1024, 1024 };
	size_t n = 0, most;
	bool again;

	getrlimit(RLIMIT_NOFILE, &limit);
	most = limit.rlim_cur / KEEPER_FDS < KEEPER_MAX ? limit.rlim_cur / KEEPER_FDS : KEEPER_MAX;
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		h->kept = keeper_may_keep(h) && n < most && keepfind_same(h);
		n += h->kept;
	}
	do {
		again = false;
		list_each (pos, tmp, &p->host_list) {
			struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

			if (h->kept && !keeper_whole_way(h)) {
				h->kept = false;
				again = true;
			}
		}
	} while (again);
	return n;
}

/* Closes all but what is listed and the standard three, which become /dev/null. */
static void keeper_close(const bool *wanted, int count)
{
	int null = open("/dev/null", O_RDWR);
	struct dirent *de;
	DIR *dir;

	for (int i = 0; i < 3; i++)
		if (!wanted[i])
			dup2(null, i);
	dir = opendir("/proc/self/fd"); /* now that it cannot be one of the three */
	while (dir && (de = readdir(dir))) {
		long fd;

		if (str_to_long(de->d_name, 3, INT32_MAX, &fd) == 0 && fd != dirfd(dir) && (fd >= count || !wanted[fd]))
			close((int)fd);
	}
	if (dir)
		closedir(dir);
}

static void keeper_want(bool *wanted, int count, int fd)
{
	if (fd >= 0 && fd < count)
		wanted[fd] = true;
}

/* What belongs to the process that goes on: forgets it without touching it. */
static void keeper_forget_host(struct pssh_host *h)
{
	struct conn *c = h->conn;

	list_init(&h->runs);
	list_init(&h->in_idle);
	list_init(&h->in_waiting);
	h->waiting = h->opening = false;
	h->active = 0;
	h->forward = NULL;
	if (!c)
		return;
	list_init(&c->in_ready);
	c->watch.armed = 0;
	if (h->kept)
		return;
	h->conn = NULL;
	list_remove(&c->in_riders);
	if (c->via_chan && ((struct pssh_host *)c->via->owner)->kept)
		chan_close(c->via_chan);
}

static int keeper_forget(struct pssh *p, int tell)
{
	struct rlimit limit = { 1024, 1024 };
	struct list *pos, *tmp;
	bool *wanted;
	int count, rc;

	getrlimit(RLIMIT_NOFILE, &limit);
	count = (int)(limit.rlim_cur < 1 << 20 ? limit.rlim_cur : 1 << 20);
	wanted = calloc((size_t)count, sizeof *wanted);
	rc = loop_forked(p->shared.loop);
	if (!wanted || rc) {
		free(wanted);
		return -1;
	}
	list_init(&p->tasks);
	list_init(&p->waiting);
	list_init(&p->shared.ready);
	list_init(&p->idle);
	list_init(&p->prompts_open);
	p->opening = p->open = 0;
	p->reap_count = 0;
	p->shared.log = (struct log){ 0 };
	events_init(&p->events);
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		keeper_forget_host(h);
		if (h->kept) {
			keeper_want(wanted, count, h->conn->fd);
			p->open++;
		}
	}
	unlocker_leave(p->shared.unlocker); /* its thread is not here, and its passphrases shall not be */
	unlocker_free(p->shared.unlocker);
	p->shared.unlocker = NULL;
	keyring_release(&p->shared.keyring);
	keyring_init(&p->shared.keyring);
	keeper_want(wanted, count, loop_fd(p->shared.loop));
	keeper_want(wanted, count, p->keep_folder);
	keeper_want(wanted, count, tell);
	keeper_close(wanted, count);
	free(wanted);
	return 0;
}

/* ---- The keeper ---- */

static int keeper_lend(struct pssh_task *t, struct pssh_host *h)
{
	const struct conn_plan *plan = &h->plan;
	const struct pssh_facts *facts = &h->conn->facts.now;
	char name[KEEPFOLDER_NAME], label[512], agreed[512];
	struct lend_want want = { .label = label, .agreed = agreed, .seconds = t->fleet->keep_seconds };
	struct run *r;
	int rc;

	snprintf(label, sizeof label, "%.100s@%.255s:%u", plan->user, plan->address, plan->port);
	snprintf(agreed, sizeof agreed, "%s %s %s %s", facts->kex, facts->hostkey, facts->cipher, facts->mac);
	want.hostkey = conn_hostkey(h->conn, &want.hostkey_len);
	if (keepfolder_listen(t->fleet->keep_folder, h->keep_key, name, &want.fd) != 0)
		return -1;
	r = run_new(t, h);
	rc = r ? lend_new(t->fleet->shared.loop, KIND_TUNNEL, &want, r, &r->lend) : PSSH_ENOMEM;
	if (rc) {
		unlinkat(t->fleet->keep_folder, name, 0);
		return -1;
	}
	snprintf(r->lend_name, sizeof r->lend_name, "%s", name);
	r->state = RUN_ACTIVE;
	r->begun = true;
	h->active++;
	if (!h->keepalive) /* else a dead connection is found only by the next command */
		h->keepalive = KEEPER_ALIVE_MS;
	conn_arm(h->conn);
	host_poke(h);
	return 0;
}

/* Stops lending what was unused for too long. When to look again, by clock_boot_ms(). */
static int64_t keeper_expire(struct pssh_task *t)
{
	int64_t now = clock_boot_ms(), next = now + (int64_t)t->fleet->keep_seconds * 1000;
	struct list *pos, *tmp;

	list_each (pos, tmp, &t->runs) {
		struct run *r = list_entry(pos, struct run, in_task);
		int64_t due = lend_due(r->lend);

		if (due <= now) {
			lend_stop(r->lend);
			host_poke(r->host);
		} else if (due < next) {
			next = due;
		}
	}
	return next;
}

/* How long the machine has slept. In this order what comes between the two calls makes it less, never more. */
static int64_t keeper_slept(void)
{
	int64_t boot = clock_boot_ms();

	return boot - clock_ms();
}

/* The machine slept: servers may have given up on it, and nobody told. */
static void keeper_doubt(struct pssh_task *t)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &t->runs) {
		struct run *r = list_entry(pos, struct run, in_task);

		if (!r->host->conn)
			continue;
		lend_doubt(r->lend, &r->host->conn->link);
		conn_keep_alive(r->host->conn);
		host_poke(r->host);
	}
}

/* What is lent no more, and carries no other, is closed even while the keeper has others. */
static bool keeper_close_unused(struct pssh *p)
{
	struct list *first = list_first(&p->idle);

	if (first)
		fleet_close_host(list_entry(first, struct pssh_host, in_idle), PSSH_ECLOSED, "no longer kept");
	return first;
}

static void keeper_serve(struct pssh_task *t)
{
	struct pssh *p = t->fleet;
	int clock = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	int64_t next = 0, slept = keeper_slept();

	while (!list_empty(&t->runs)) {
		struct pollfd fds[] = { { loop_fd(p->shared.loop), POLLIN, 0 }, { clock, POLLIN, 0 } };

		if (keeper_slept() > slept + KEEPER_SLEPT_MS)
			keeper_doubt(t);
		slept = slept > keeper_slept() ? slept : keeper_slept();
		if (clock_boot_ms() >= next) {
			struct itimerspec at = { 0 };

			next = keeper_expire(t);
			at.it_value.tv_sec = next / 1000;
			at.it_value.tv_nsec = next % 1000 * 1000000 + 1;
			timerfd_settime(clock, TFD_TIMER_ABSTIME, &at, NULL);
		}
		while (fleet_turn(p) || keeper_close_unused(p))
			;
		if (!list_empty(&t->runs)) /* else nothing would wake it */
			poll(fds, 2, fleet_timeout(p));
	}
}

static void keeper_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, i == SIGPIPE || i == SIGHUP ? SIG_IGN : SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* For days ps would show the words of the command that made it, and secrets may be among them. */
static void keeper_hide_words(void)
{
	enum { STATE = 3, ARG_START = 48 }; /* fields of proc(5)'s stat; a process's name may have blanks */
	char text[2048] = "", *at;
	unsigned long from, to;
	FILE *f = fopen("/proc/self/stat", "re");

	if (!f)
		return;
	at = fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL;
	fclose(f);
	for (int i = STATE; at && i <= ARG_START; i++)
		at = strchr(at + 1, ' ');
	if (at && sscanf(at, "%lu %lu", &from, &to) == 2 && from && to > from)
		memset((void *)(uintptr_t)from, 0, to - from);
}

static void keeper_main(struct pssh *p, int tell)
{
	struct pssh_task t = { .fleet = p, .kind = TASK_KEEP, .started = true, .fd = -1, .data_fd = -1 };
	struct list *pos, *tmp;

	keeper_signals();
	p->pid = getpid();
	if (chdir("/") != 0 || keeper_forget(p, tell) != 0)
		return;
	list_init(&t.runs);
	list_init(&t.in_tasks);
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (h->kept && keeper_lend(&t, h) != 0 && list_empty(&h->conn->riders))
			fleet_close_host(h, PSSH_ECLOSED, "not kept");
	}
	keeper_hide_words();
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "pssh-keeper");
	if (write(tell, "k", 1) != 1)
		return;
	close(tell);
	keeper_serve(&t);
}

/* Ours no more: whatever is done with it now sends nothing. */
static void keeper_part(struct pssh *p)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (h->kept)
			h->conn->dead = true;
	}
	list_each (pos, tmp, &p->host_list) {
		struct pssh_host *h = list_entry(pos, struct pssh_host, in_hosts);

		if (h->kept)
			fleet_close_host(h, PSSH_ECLOSED, "a keeper has it now");
		h->kept = false;
		h->keep_slot = 0;
	}
}

int keeper_hand_over(struct pssh *p)
{
	struct pollfd told = { .events = POLLIN };
	int pipe[2], status;
	char byte;
	pid_t pid;

	if (!p->keeps || !p->keep_seconds || !keeper_choose(p))
		return 0;
	if (pipe2(pipe, O_CLOEXEC) != 0)
		return fail_errno(&p->why, PSSH_ELOCAL, errno, "cannot start a keeper");
	pid = fork();
	if (pid == 0) {
		setsid();
		pid = fork(); /* so that nobody has to wait for it */
		if (pid == 0)
			keeper_main(p, pipe[1]);
		_exit(pid < 0);
	}
	close(pipe[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		; /* fails where the program ignores SIGCHLD, or waits for all children itself: the pipe tells */
	told.fd = pipe[0];
	while (pid > 0 && poll(&told, 1, KEEPER_START_MS) < 0 && errno == EINTR)
		;
	/* Without a word from it in time it may have them: two processes on a session must not be. */
	status = pid > 0 && (!told.revents || read(pipe[0], &byte, 1) == 1) ? 0 : -1;
	close(pipe[0]);
	if (status)
		return fail_set(&p->why, PSSH_ELOCAL, "cannot start a keeper");
	keeper_part(p);
	return 0;
}
