/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/proxyserve.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "marketd/http/listen.h"
#include "marketd/proxy/proxy_own.h"

enum { PROXY_SWEEP_MS = 500, PROXY_DRAIN_MS = 30000 };

/* ---- Opening ------------------------------------------------------------------------------ */

static int proxy_open_signals(struct proxy *p, struct fail *f)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (p->signals < 0 || loop_watch(p->loop, &p->signal_watch, p->signals, LOOP_READ) != 0)
		return fail_errno(f, -errno, errno, "cannot wait for signals");
	return 0;
}

static void served_free(struct served *s)
{
	if (!s)
		return;
	follows_free(s);
	backends_free(s);
	proxyfile_release(&s->file);
	free(s);
}

static int proxy_read(struct proxy *p, struct served **out, struct fail *f)
{
	struct served *s = calloc(1, sizeof *s);
	int rc = s ? proxyfile_read(p->path, &s->file, f) : fail_set(f, -ENOMEM, "out of memory");

	if (rc) {
		free(s);
		return rc;
	}
	list_init(&s->link);
	*out = s;
	return 0;
}

/* SIGHUP: requests under way end as they began. Where the new file is wrong, the old one goes on. */
static void proxy_read_again(struct proxy *p)
{
	struct proxyfile *was = &p->served->file;
	struct served *s = NULL;
	struct fail f = { 0 };
	int rc = proxy_read(p, &s, &f);

	if (rc == 0 && (strcmp(s->file.listen, was->listen) != 0 || strcmp(s->file.spool, was->spool) != 0))
		rc = fail_set(&f, -EINVAL, "'listen' and 'spool' stay until a restart");
	if (rc == 0 && !*s->file.cert != !*was->cert)
		rc = fail_set(&f, -EINVAL, "with TLS or without it, that stays until a restart");
	if (rc == 0 && (backends_new(p, s) != 0 || follows_new(p, s, p->served) != 0))
		rc = fail_set(&f, -ENOMEM, "out of memory");
	rc = rc ? rc : doors_renew(p, &s->file, &f);
	if (rc) {
		log_at(p->log, LOG_ERROR, "keeping the old file: %s", f.text);
		served_free(s);
		return;
	}
	log_at(p->log, LOG_INFO, "read '%s' again", p->path);
	list_append(&p->olds, &p->served->link);
	p->served = s;
	p->budgets.file = &s->file;
	p->spool.most = (off_t)s->file.spool_size << 20;
}

static void proxy_forget_olds(struct proxy *p, bool all)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->olds) {
		struct served *s = list_entry(at, struct served, link);

		if (s->relays && !all)
			continue;
		list_remove(&s->link);
		served_free(s);
	}
}

static int proxy_open(struct proxy *p, char where[LISTEN_TEXT], struct fail *f)
{
	struct rlimit limit;
	int rc = proxy_read(p, &p->served, f);

	if (rc)
		return rc;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (getrandom(&p->boot, sizeof p->boot, 0) != sizeof p->boot)
		return fail_errno(f, -errno, errno, "cannot make ids of events");
	rc = loop_new(&p->loop);
	rc = rc ? rc : outward_new_wide(&p->outward, p->loop, RELAYS_MAX + ERRANDS_SPARE, BODY_MAX);
	rc = rc ? rc : backends_new(p, p->served);
	rc = rc ? rc : follows_new(p, p->served, NULL);
	if (rc)
		return fail_set(f, rc, "out of memory");
	rc = counting_open(p, f);
	rc = rc ? rc : proxy_open_signals(p, f);
	return rc ? rc : doors_open(p, where, f);
}

static void proxy_close(struct proxy *p)
{
	struct fail f;

	relay_leave_all(p);
	doors_free(p);
	spool_sync(&p->spool, &f);
	spool_close(&p->spool);
	caller_free_all(p);
	table_release(&p->callers_by_key);
	table_release(&p->underway);
	proxy_forget_olds(p, true);
	served_free(p->served);
	outward_free(p->outward);
	budgets_release(&p->budgets);
	if (p->signals >= 0)
		close(p->signals);
	loop_free(p->loop);
}

/* ---- Running ------------------------------------------------------------------------------- */

static void proxy_take_news(struct proxy *p)
{
	enum proxy_kind *owner;

	while ((owner = outward_news(p->outward)))
		switch (*owner) {
		case PROXY_RELAY:
			asking_take((struct relay *)(void *)owner);
			break;
		case PROXY_CALLER:
			caller_take((struct caller *)(void *)owner);
			break;
		case PROXY_FOLLOW:
			follows_take((struct follow *)(void *)owner);
			break;
		default:
			backends_take((struct backend *)(void *)owner);
		}
}

static void proxy_take_signals(struct proxy *p)
{
	struct signalfd_siginfo info;

	while (read(p->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo == SIGHUP) {
			proxy_read_again(p);
		} else if (!p->ending) {
			log_at(p->log, LOG_INFO, "stopping after the answers under way");
			p->ending = true;
			doors_shut(p);
		}
}

static int proxy_timeout(const struct proxy *p)
{
	int64_t ms = p->next_sweep - clock_ms(), theirs = doors_timeout(p);
	int ours = outward_timeout(p->outward);

	if (p->resumed || (p->spool.lines.len && !p->spool.sick))
		return 0;
	if (theirs < ms)
		ms = theirs;
	if (ours >= 0 && ours < ms)
		ms = ours;
	return ms < 0 ? 0 : (int)ms;
}

static void proxy_turn(struct proxy *p)
{
	struct loop_watch *w;
	struct loop_timer *t;
	struct relay *x;
	uint32_t ready;

	loop_wait(p->loop, proxy_timeout(p));
	p->now_ms = clock_ms();
	while (loop_next(p->loop, &w, &ready, &t) == 1 && w)
		if (w == &p->signal_watch)
			proxy_take_signals(p);
		else if (doors_watch(p, w))
			break;
		else if (!outward_take(p->outward, w, ready) && w->kind)
			relay_look(list_entry(w, struct loop_owned, watch)->owner);
	outward_turn(p->outward);
	proxy_take_news(p);
	if (p->now_ms >= p->next_sweep) {
		p->next_sweep = p->now_ms + PROXY_SWEEP_MS;
		relay_sweep(p);
		doors_sweep(p);
		follows_turn(p);
		backends_turn(p);
		proxy_forget_olds(p, false);
	}
	if (counting_sync(p))
		while ((x = counting_next(p)))
			asking_counted(x);
	p->resumed = false;
	doors_run(p);
}

int proxy_run(const char *path, const struct log *log)
{
	struct proxy p = { .path = path, .log = log, .signals = -1, .spool = { .fd = -1, .lock = -1 } };
	char where[LISTEN_TEXT];
	struct fail f = { 0 };
	int64_t deadline = INT64_MAX;
	int rc;

	list_init(&p.olds);
	list_init(&p.doors);
	list_init(&p.relays);
	list_init(&p.callers);
	list_init(&p.counting);
	table_init(&p.callers_by_key);
	table_init(&p.underway);
	rc = proxy_open(&p, where, &f);
	if (rc)
		log_at(log, LOG_ERROR, "%s", f.text);
	else
		log_at(log, LOG_INFO, "ready %s://%s", *p.served->file.cert ? "https" : "http", where);
	p.now_ms = clock_ms();
	while (rc == 0 && !(p.ending && (!p.relay_count || p.now_ms >= deadline))) {
		proxy_turn(&p);
		if (p.ending && deadline == INT64_MAX)
			deadline = p.now_ms + PROXY_DRAIN_MS;
	}
	proxy_close(&p);
	return rc != 0;
}
