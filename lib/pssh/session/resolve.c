/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/resolve.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/list.h"
#include "pssh/pssh_types.h"

/* A dead name server blocks a thread for many seconds, so there are more than a healthy one needs. */
enum { THREADS = 32, STACK = 256 * 1024 };

/*
 * Shared with the threads, which may outlive the fleet: the last user frees it. The lock guards all
 * members.
 */
struct resolver {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct list asked;
	unsigned threads, idle;
	bool ending, left; /* left: this is a forked child */
	int fd;
};

/* The resolver's lock guards it while a thread works on it. */
struct resolve {
	struct resolver *r;   /* NULL: answered without a thread */
	struct list in_asked;
	char *name;
	char port[8];
	int family;
	enum { ASKED, TAKEN, ANSWERED, GIVEN_UP } state;
	int rc;
	struct addrinfo *found;
};

int resolver_new(struct resolver **out)
{
	struct resolver *r = calloc(1, sizeof *r);

	if (!r)
		return PSSH_ENOMEM;
	r->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->fd < 0) {
		free(r);
		return PSSH_ELOCAL;
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	list_init(&r->asked);
	*out = r;
	return 0;
}

static void resolver_end(struct resolver *r)
{
	pthread_cond_destroy(&r->work);
	pthread_mutex_destroy(&r->lock);
	close(r->fd);
	free(r);
}

void resolver_free(struct resolver *r)
{
	bool last;

	if (!r)
		return;
	if (r->left) {
		close(r->fd);
		free(r);
		return;
	}
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	last = r->threads == 0;
	pthread_cond_broadcast(&r->work);
	pthread_mutex_unlock(&r->lock);
	if (last)
		resolver_end(r);
}

void resolver_leave(struct resolver *r)
{
	r->left = true;
}

int resolver_fd(const struct resolver *r)
{
	return r->fd;
}

void resolver_clear(struct resolver *r)
{
	uint64_t n;

	while (read(r->fd, &n, sizeof n) < 0 && errno == EINTR)
		;
}

static void question_end(struct resolve *q)
{
	if (q->found)
		freeaddrinfo(q->found);
	free(q->name);
	free(q);
}

static int resolve_look_up(const char *name, const char *port, int family, int flags, struct addrinfo **out)
{
	struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = flags };

	return getaddrinfo(name, port, &hints, out);
}

/* Answers one question. Call with the lock; it holds the lock again on return. */
static void answer_one(struct resolver *r, struct resolve *q)
{
	struct addrinfo *found = NULL;
	uint64_t one = 1;
	int rc;

	list_remove(&q->in_asked);
	q->state = TAKEN;
	pthread_mutex_unlock(&r->lock);
	rc = resolve_look_up(q->name, q->port, q->family, AI_ADDRCONFIG, &found);
	pthread_mutex_lock(&r->lock);
	q->rc = rc;
	q->found = rc == 0 ? found : NULL;
	if (q->state == GIVEN_UP) {
		question_end(q);
		return;
	}
	q->state = ANSWERED;
	if (write(r->fd, &one, sizeof one) < 0) {
		/* A full counter is readable too, which is all that matters. */
	}
}

static void *resolver_thread(void *arg)
{
	struct resolver *r = arg;
	bool last;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct list *first = list_first(&r->asked);

		if (first) {
			answer_one(r, list_entry(first, struct resolve, in_asked));
			continue;
		}
		if (r->ending)
			break;
		r->idle++;
		pthread_cond_wait(&r->work, &r->lock);
		r->idle--;
	}
	last = --r->threads == 0;
	pthread_mutex_unlock(&r->lock);
	if (last)
		resolver_end(r);
	return NULL;
}

/* Call with the lock. Blocks all signals in the thread, so that the application's threads get them. */
static int add_thread(struct resolver *r)
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, resolver_thread, r);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		r->threads++;
	return rc;
}

static int resolve_ask(struct resolver *r, struct resolve *q)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (!r->idle && r->threads < THREADS && add_thread(r) != 0 && !r->threads)
		rc = PSSH_ELOCAL;
	if (rc == 0) {
		q->r = r;
		list_append(&r->asked, &q->in_asked);
		pthread_cond_signal(&r->work);
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

int resolve_start(struct resolver *r, const char *name, unsigned port, int family, struct resolve **out)
{
	struct resolve *q = calloc(1, sizeof *q);
	int rc = PSSH_ENOMEM;

	if (!q)
		return rc;
	list_init(&q->in_asked);
	q->family = family;
	q->name = strdup(name);
	if (!q->name)
		goto out;
	snprintf(q->port, sizeof q->port, "%u", port & 0xffff);
	rc = 0;
	q->rc = resolve_look_up(name, q->port, family, AI_NUMERICHOST | AI_NUMERICSERV, &q->found);
	if (q->rc == 0)
		q->state = ANSWERED;
	else
		rc = resolve_ask(r, q);
out:
	if (rc)
		question_end(q);
	else
		*out = q;
	return rc;
}

int resolve_result(struct resolve *q, struct addrinfo **out, const char **why)
{
	bool answered = true;

	if (q->r) {
		pthread_mutex_lock(&q->r->lock);
		answered = q->state == ANSWERED;
		pthread_mutex_unlock(&q->r->lock);
	}
	if (!answered)
		return PSSH_EAGAIN;
	if (q->rc != 0) {
		*why = gai_strerror(q->rc);
		return PSSH_ERESOLVE;
	}
	*out = q->found;
	q->found = NULL;
	return 0;
}

void resolve_free(struct resolve *q)
{
	struct resolver *r;

	if (!q)
		return;
	r = q->r;
	if (!r || r->left) {
		question_end(q);
		return;
	}
	pthread_mutex_lock(&r->lock);
	list_remove(&q->in_asked);
	if (q->state == TAKEN)
		q->state = GIVEN_UP;
	else
		question_end(q);
	pthread_mutex_unlock(&r->lock);
}
