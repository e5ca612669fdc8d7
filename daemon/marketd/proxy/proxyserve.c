/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/proxyserve.h"

#include <microhttpd.h>

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

enum { PROXY_SWEEP_MS = 500, PROXY_DRAIN_MS = 30000, PROXY_PEM = 1 << 20 };

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

static int proxy_start(struct proxy *p, bool loopback, const char *cert, const char *key, struct fail *f)
{
	const union MHD_DaemonInfo *info;

	p->daemon = relay_listen(p, p->listener, loopback, cert, key);
	if (!p->daemon)
		return fail_set(f, -EINVAL,
			cert ? "cannot use the certificate and key; are both PEM, and do they match?"
			     : "cannot start the HTTP server");
	p->listener = -1;
	info = MHD_get_daemon_info(p->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info || loop_watch(p->loop, &p->mhd_watch, info->epoll_fd, LOOP_READ) != 0)
		return fail_set(f, -EINVAL, "cannot wait for the HTTP server");
	return 0;
}

static int proxy_open_http(struct proxy *p, char where[LISTEN_TEXT], struct fail *f)
{
	struct buf cert, key;
	bool loopback = false, tls = *p->served->file.cert;
	int rc = listen_tcp(p->served->file.listen, &p->listener, &loopback, where, f);

	if (rc)
		return rc;
	if (!loopback && !tls)
		return fail_set(f, -EPERM,
			"'%s' is a public address, and without TLS others could read every key; give 'tls-cert' and "
			"'tls-key'",
			p->served->file.listen);
	buf_init(&cert, PROXY_PEM);
	buf_init(&key, PROXY_PEM);
	rc = tls ? buf_read_file(&cert, p->served->file.cert) : 0;
	rc = rc || !tls ? rc : buf_read_file(&key, p->served->file.cert_key);
	rc = rc ? fail_errno(f, rc, -rc, "cannot read '%s' and '%s'", p->served->file.cert, p->served->file.cert_key)
		: proxy_start(p, loopback, tls ? buf_text(&cert) : NULL, tls ? buf_text(&key) : NULL, f);
	if (key.data)
		explicit_bzero(key.data, key.len);
	buf_release(&cert);
	buf_release(&key);
	return rc;
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
	if (rc == 0 && (backends_new(p, s) != 0 || follows_new(p, s, p->served) != 0))
		rc = fail_set(&f, -ENOMEM, "out of memory");
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
	return rc ? rc : proxy_open_http(p, where, f);
}

static void proxy_close(struct proxy *p)
{
	struct fail f;

	if (p->daemon)
		relay_free_all(p);
	spool_sync(&p->spool, &f);
	spool_close(&p->spool);
	caller_free_all(p);
	table_release(&p->callers_by_key);
	table_release(&p->underway);
	proxy_forget_olds(p, true);
	served_free(p->served);
	outward_free(p->outward);
	budgets_release(&p->budgets);
	if (p->listener >= 0)
		close(p->listener);
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
	int fd;

	while (read(p->signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo == SIGHUP) {
			proxy_read_again(p);
		} else if (!p->ending) {
			log_at(p->log, LOG_INFO, "stopping after the answers under way");
			p->ending = true;
			fd = MHD_quiesce_daemon(p->daemon);
			if (fd >= 0)
				close(fd);
		}
}

static int proxy_timeout(const struct proxy *p)
{
	MHD_UNSIGNED_LONG_LONG theirs;
	int64_t ms = p->next_sweep - clock_ms();
	int ours = outward_timeout(p->outward);

	if (p->resumed || (p->spool.lines.len && !p->spool.sick))
		return 0;
	if (MHD_get_timeout(p->daemon, &theirs) == MHD_YES && (int64_t)theirs < ms)
		ms = (int64_t)theirs;
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
		else if (w == &p->mhd_watch)
			break; /* it stays ready until MHD_run() */
		else if (!outward_take(p->outward, w, ready) && w->kind)
			relay_look(list_entry(w, struct loop_owned, watch)->owner);
	outward_turn(p->outward);
	proxy_take_news(p);
	if (p->now_ms >= p->next_sweep) {
		p->next_sweep = p->now_ms + PROXY_SWEEP_MS;
		relay_sweep(p);
		follows_turn(p);
		backends_turn(p);
		proxy_forget_olds(p, false);
	}
	if (counting_sync(p))
		while ((x = counting_next(p)))
			asking_counted(x);
	p->resumed = false;
	MHD_run(p->daemon);
}

int proxy_run(const char *path, const struct log *log)
{
	struct proxy p = { .path = path, .log = log, .listener = -1, .signals = -1, .spool = { .fd = -1, .lock = -1 } };
	char where[LISTEN_TEXT];
	struct fail f = { 0 };
	int64_t deadline = INT64_MAX;
	int rc;

	list_init(&p.olds);
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
