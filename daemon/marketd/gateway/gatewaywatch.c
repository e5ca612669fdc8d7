/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the file of a gateway; with --watch again whenever nodes of its reservations came or went, and has the gateway
 * read it. A market that does not answer changes nothing, and what did not change is neither written nor read again.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"
#include "marketd/gateway/gatewayfile.h"
#include "marketd/gateway/gatewaynames.h"
#include "marketd/gateway/reserved.h"

extern char **environ;

enum { RELOAD_LOOK_MS = 50, NAMES_MS = 2000 };

/* A file, and what is known of it. */
struct followed {
	struct gateway g;
	struct reserved *nodes; /* of each reservation once */
	struct gatenames *names;
	bool *failing, *fresh; /* the market did not answer; it did, just now */
	size_t count;
	int64_t until; /* names of nodes are waited for; 0: none was asked yet */
};

struct watched {
	const struct gateway_job *job;
	struct followed on, next; /* next: read by SIGHUP, until all of it is known; nodes NULL: none */
	struct gatelooks looks;
	struct loop *loop;
	struct outward *outward;
	struct buf last;      /* what the file has */
	bool unread, told;    /* the gateway has not read it yet; the log says so */
	bool again;           /* SIGHUP came */
	struct fail next_why; /* why next is not followed yet, as the log has it */
};

/* ---- The market ------------------------------------------------------------------------- */

static bool followed_has(const struct followed *on, const char *name)
{
	for (size_t i = 0; i < on->count; i++)
		if (strcmp(on->nodes[i].name, name) == 0)
			return true;
	return false;
}

static void followed_release(struct followed *on)
{
	for (size_t i = 0; i < on->count; i++) {
		reserved_release(&on->nodes[i]);
		gatenames_release(&on->names[i]);
	}
	free(on->nodes);
	free(on->names);
	free(on->failing);
	free(on->fresh);
	gateway_release(&on->g);
	*on = (struct followed){ 0 };
}

static int followed_list(struct followed *on)
{
	size_t rows = 1;

	for (size_t i = 0; i < on->g.count; i++)
		rows += on->g.routes[i].count;
	on->nodes = calloc(rows, sizeof *on->nodes);
	on->names = calloc(rows, sizeof *on->names);
	on->failing = calloc(rows, sizeof *on->failing);
	on->fresh = calloc(rows, sizeof *on->fresh);
	if (!on->nodes || !on->names || !on->failing || !on->fresh)
		return -ENOMEM;
	for (size_t i = 0; i < on->g.count; i++)
		for (size_t k = 0; k < on->g.routes[i].count; k++) {
			const char *name = on->g.routes[i].backends[k].reservation;

			if (*name && !followed_has(on, name))
				memcpy(on->nodes[on->count++].name, name, strlen(name) + 1);
		}
	return 0;
}

/* 0, or negative and nothing to release. */
static int followed_read(const struct gateway_job *job, struct followed *on, struct fail *f)
{
	int rc = gateway_read(job->path, &on->g, f);

	if (rc)
		return rc;
	if (job->watch && !gateway_follows(&on->g))
		rc = fail_set(f, -EINVAL, "'%s' has no backends of a reservation, which --watch follows", job->path);
	else if (followed_list(on))
		rc = fail_set(f, -ENOMEM, "out of memory");
	if (rc)
		followed_release(on);
	return rc;
}

/* Addresses of names stay known, reservations do not: the new file may be of another account. 0 or -ENOMEM. */
static int followed_inherit(struct followed *on, const struct followed *old)
{
	int rc = 0;

	for (size_t i = 0; i < on->count; i++)
		for (size_t k = 0; rc == 0 && k < old->count; k++)
			if (strcmp(on->nodes[i].name, old->nodes[k].name) == 0)
				rc = gatenames_copy(&old->names[k], &on->names[i]);
	return rc;
}

static bool followed_serves(const struct followed *on)
{
	for (size_t i = 0; i < on->count; i++)
		if (gatenames_some(&on->names[i]))
			return true;
	for (size_t i = 0; i < on->g.count; i++)
		for (size_t k = 0; k < on->g.routes[i].count; k++)
			if (*on->g.routes[i].backends[k].address)
				return true;
	return false;
}

static void watched_wait(struct watched *w, const struct errand *e)
{
	struct loop_watch *ready;
	struct loop_timer *timer;
	uint32_t what;

	while (errand_look(e)->state == ERRAND_RUNNING) {
		loop_wait(w->loop, outward_timeout(w->outward));
		while (loop_next(w->loop, &ready, &what, &timer) == 1 && ready)
			outward_take(w->outward, ready, what);
		outward_turn(w->outward);
	}
}

static int watched_ask_one(struct watched *w, const struct gateway *g, struct reserved *r, struct fail *f)
{
	char url[GATEWAY_TEXT + 16];
	struct reserved_market m = { url, g->market_ca, g->token };
	struct errand *e;
	int rc;

	snprintf(url, sizeof url, "%s://%s", g->tls ? "https" : "http", g->market);
	rc = reserved_ask(w->outward, &m, r->name, w, &e, f);
	if (rc)
		return rc;
	watched_wait(w, e);
	rc = reserved_take(r, errand_look(e), f);
	errand_free(e);
	while (outward_news(w->outward))
		;
	return rc;
}

/* Of those that the market just told. Names are waited for, then left out, so that one never holds up the others. */
static int watched_resolve(struct watched *w, struct followed *on, struct fail *f)
{
	bool patient;
	int rc = 0, one;

	for (size_t i = 0; i < on->count; i++) {
		if (on->fresh[i])
			gatenames_ask(&w->looks, &on->nodes[i]);
		if (on->fresh[i] && !on->until)
			on->until = clock_ms() + on->g.names_s * 1000;
	}
	patient = clock_ms() < on->until || !followed_serves(on);
	gatelooks_wait(&w->looks, clock_ms() + NAMES_MS);
	for (size_t i = 0; i < on->count; i++) {
		one = on->fresh[i] ? gatenames_take(&on->names[i], &w->looks, &on->nodes[i], patient, w->job->log, f)
				   : 0;
		on->nodes[i].known = on->nodes[i].known && one == 0;
		rc = one ? one : rc;
	}
	return rc;
}

/* 0, or negative where nothing is known of one of them yet; -EAGAIN: only addresses of names lack. */
static int watched_ask(struct watched *w, struct followed *on, struct fail *f)
{
	struct fail names = { 0 };
	int rc = 0, one;

	for (size_t i = 0; i < on->count; i++) {
		struct fail why = { 0 };

		one = watched_ask_one(w, &on->g, &on->nodes[i], &why);
		on->fresh[i] = one == 0;
		if (one && on->nodes[i].known && !on->failing[i])
			log_at(w->job->log, LOG_WARN, "%s; the backends of '%s' stay as they are", why.text,
				on->nodes[i].name);
		on->failing[i] = one != 0;
		if (one && !on->nodes[i].known)
			rc = fail_set(f, one, "%s", why.text);
	}
	one = watched_resolve(w, on, &names);
	return rc || one == 0 ? rc : fail_set(f, one, "%s", names.text);
}

/* ---- The file --------------------------------------------------------------------------- */

/* Only root and the file's owner read keys of backends. */
static mode_t watched_mode(const struct gateway *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (*g->routes[i].key)
			return 0600;
	return 0644;
}

static int watched_put(struct watched *w, const struct buf *text, struct fail *f)
{
	const struct gateway_job *job = w->job;
	int rc;

	if (!job->to)
		return fwrite(buf_text(text), 1, text->len, job->out) == text->len && fflush(job->out) == 0
			? 0
			: fail_errno(f, -EIO, errno, "cannot print the file");
	rc = file_replace(job->to, buf_text(text), text->len, watched_mode(&w->on.g));
	rc = rc ? rc : file_sync_folder(job->to);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", job->to) : 0;
}

/* Without --watch it is written in any case, and whoever runs this has the gateway read it. */
static int watched_write(struct watched *w, struct fail *f)
{
	struct buf text;
	int rc = gateway_serve_from(&w->on.g, w->on.nodes, w->on.count);

	buf_init(&text, GATEWAY_BYTES);
	if (rc == 0)
		rc = strcmp(w->job->kind, "nginx") == 0 ? gateway_nginx(&w->on.g, &text)
							: gateway_apisix(&w->on.g, &text);
	if (rc)
		rc = fail_set(f, rc, "out of memory");
	else if (!w->job->watch || text.len != w->last.len || memcmp(text.data, w->last.data, text.len) != 0)
		rc = watched_put(w, &text, f);
	else
		goto out;
	if (rc || !w->job->watch)
		goto out;
	gateway_wipe(&w->last);
	w->last = text;
	w->unread = *w->on.g.reload;
	w->told = false;
	log_at(w->job->log, LOG_INFO, "wrote '%s'", w->job->to);
	return 0;
out:
	gateway_wipe(&text);
	return rc;
}

/* ---- Who reads it ----------------------------------------------------------------------- */

static sigset_t watched_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	return set;
}

/* Sleeps, but not on after a signal; true: it ends it all. */
static bool watched_ended(struct watched *w, int64_t ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	sigset_t set = watched_signals();
	int got = sigtimedwait(&set, NULL, &time);

	while (got == SIGHUP) {
		w->again = true;
		time = (struct timespec){ 0 };
		got = sigtimedwait(&set, NULL, &time);
	}
	return got > 0;
}

/* 0 or negative. Whoever waits for it kills its whole group. */
static int watched_spawn(const char *command, pid_t *pid)
{
	const char *argv[] = { "sh", "-c", command, NULL };
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	rc = posix_spawn(pid, "/bin/sh", NULL, &attr, (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

/* Its status; of a command that takes too long, or that a signal ends, not 0. */
static int watched_command(struct watched *w, bool *ended)
{
	int64_t until = clock_ms() + w->on.g.reload_s * 1000;
	int status = -1;
	pid_t pid, got = 0;

	if (watched_spawn(w->on.g.reload, &pid))
		return -1;
	while (got == 0 && clock_ms() < until && !*ended) {
		got = waitpid(pid, &status, WNOHANG);
		*ended = got == 0 && watched_ended(w, RELOAD_LOOK_MS);
	}
	if (got)
		return got == pid ? status : -1;
	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return -1;
}

/* Tried again each time until it succeeds. True: a signal ends it all. */
static bool watched_reload(struct watched *w)
{
	bool ended = false;

	if (!w->unread)
		return false;
	w->unread = watched_command(w, &ended) != 0;
	if (w->unread && !w->told && !ended)
		log_at(w->job->log, LOG_ERROR,
			"'%s' failed, and is tried again: the gateway may serve from an older file", w->on.g.reload);
	w->told = w->unread;
	return ended;
}

static void watched_read_again(struct watched *w)
{
	struct fail f = { 0 };
	int rc;

	w->again = false;
	followed_release(&w->next);
	rc = followed_read(w->job, &w->next, &f);
	if (rc == 0 && followed_inherit(&w->next, &w->on))
		rc = fail_set(&f, -ENOMEM, "out of memory");
	if (rc) {
		log_at(w->job->log, LOG_ERROR, "keeping the old file: %s", f.text);
		followed_release(&w->next);
	}
	w->next_why = (struct fail){ 0 };
}

/* Until all of the new file is known the old one goes on. True: from now on the new one does, and it was just asked. */
static bool watched_follow_next(struct watched *w)
{
	struct fail f = { 0 };

	if (!w->next.nodes)
		return false;
	if (watched_ask(w, &w->next, &f)) {
		if (strcmp(f.text, w->next_why.text) != 0)
			log_at(w->job->log, LOG_ERROR, "keeping the old file: %s", f.text);
		w->next_why = f;
		return false;
	}
	log_at(w->job->log, LOG_INFO, "read '%s' again", w->job->path);
	followed_release(&w->on);
	w->on = w->next;
	w->next = (struct followed){ 0 };
	w->unread = *w->on.g.reload;
	w->told = false;
	return true;
}

static void watched_go_on(struct watched *w)
{
	struct fail f = { 0 }, last = { 0 };
	bool known;

	/* Of an earlier run, if it is there: whether that had it read, nobody knows. */
	w->unread = buf_read_file(&w->last, w->job->to) == 0 && *w->on.g.reload;
	while (!watched_ended(w, 0)) {
		if (w->again)
			watched_read_again(w);
		f.text[0] = '\0';
		known = watched_follow_next(w) || watched_ask(w, &w->on, &f) == 0;
		gatelooks_forget(&w->looks);
		if (watched_ended(w, 0)) /* then it did not wait for all names */
			return;
		if (known)
			watched_write(w, &f);
		if (f.text[0] && strcmp(f.text, last.text) != 0)
			log_at(w->job->log, LOG_ERROR, "%s; '%s' stays as it is", f.text, w->job->to);
		last = f;
		if (watched_reload(w) || watched_ended(w, RESERVED_EVERY_MS))
			return;
	}
}

/* Waits for names as --watch does. */
static int watched_once(struct watched *w, struct fail *f)
{
	struct timespec time = { .tv_sec = RESERVED_EVERY_MS / 1000 };
	int64_t begun = clock_ms();
	int rc = watched_ask(w, &w->on, f);

	while (rc == -EAGAIN && begun < w->on.until) {
		gatelooks_forget(&w->looks); /* before it sleeps: what is answered meanwhile counts */
		nanosleep(&time, NULL);
		begun = clock_ms();
		rc = watched_ask(w, &w->on, f);
	}
	return rc ? rc : watched_write(w, f);
}

static int watched_open(struct watched *w, struct fail *f)
{
	sigset_t set = watched_signals();
	int rc;

	gatelooks_init(&w->looks);
	buf_init(&w->last, GATEWAY_BYTES);
	if (w->job->watch)
		sigprocmask(SIG_BLOCK, &set, NULL);
	rc = followed_read(w->job, &w->on, f);
	if (rc)
		return rc;
	rc = loop_new(&w->loop);
	rc = rc ? rc : outward_new_wide(&w->outward, w->loop, 1, RESERVED_BYTES);
	return rc ? fail_set(f, rc, "out of memory") : 0;
}

int gateway_run(const struct gateway_job *job)
{
	struct watched w = { .job = job };
	struct fail f = { 0 };
	int rc = watched_open(&w, &f);

	if (rc == 0 && job->watch)
		watched_go_on(&w);
	else if (rc == 0)
		rc = watched_once(&w, &f);
	if (rc)
		log_at(job->log, LOG_ERROR, "%s", f.text);
	followed_release(&w.on);
	followed_release(&w.next);
	gatelooks_release(&w.looks);
	outward_free(w.outward);
	loop_free(w.loop);
	gateway_wipe(&w.last);
	return rc != 0;
}
