/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/courier.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "market/client.h"

enum { STACK = 512 * 1024, CONNECT_MS = 10000, BODY_MAX = 8 << 20, PATH_MAX_TEXT = 1024, TOKEN_MAX_TEXT = 512 };

enum slot { SLOT_EMPTY, SLOT_ASKED, SLOT_UNDER_WAY, SLOT_ANSWERED };

struct courier {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t asked;
	int answers, stop;                 /* eventfds: to the loop; to a request under way */
	bool runs, ending;
	enum slot slot;
	char url[512], pin[96], token[TOKEN_MAX_TEXT], method[8], path[PATH_MAX_TEXT];
	bool plain;
	char *body;
	int64_t whole_ms;
	struct courier_reply reply;
};

/* ---- The thread --------------------------------------------------------------------------- */

/* What it keeps to itself: a connection, and for whom it was made. */
struct visit {
	struct client *client;
	char token[TOKEN_MAX_TEXT], method[8], path[PATH_MAX_TEXT];
	char *body;
	int64_t whole_ms, made_ms;
};

static int prepare(const struct courier *c, struct visit *v, bool anew, struct fail *f)
{
	struct client_setup setup = { .url = c->url, .token = *v->token ? v->token : NULL, .plain = c->plain, .connect_ms = CONNECT_MS,
		.whole_ms = v->whole_ms, .tries = 1, .stop_fd = c->stop };

	setup.pin = *c->pin ? c->pin : NULL;
	if (v->client && !anew && v->made_ms == v->whole_ms)
		return 0;
	client_free(v->client);
	v->client = NULL;
	v->made_ms = v->whole_ms;
	return client_new(&setup, &v->client, f);
}

static void carry(struct visit *v, struct courier_reply *r)
{
	struct client_call call = { .method = v->method, .path = v->path, .body = v->body, .once = true };
	struct client_answer a;

	client_answer_init(&a);
	r->rc = client_send(v->client, &call, &a, &r->fail);
	r->status = a.status;
	r->retry_after = a.retry_after;
	if (buf_add(&r->body, buf_text(&a.body), a.body.len) != 0 && !r->rc)
		r->rc = fail_set(&r->fail, CLIENT_BAD_ANSWER, "the market's answer is too large");
	client_answer_release(&a);
}

static void tell(const struct courier *c)
{
	uint64_t one = 1;

	if (write(c->answers, &one, sizeof one) != sizeof one)
		return; /* it is readable already */
}

/* With the mutex held; true where there is something to carry. */
static bool wait_for_work(struct courier *c, struct visit *v, bool *anew)
{
	while (!c->ending && c->slot != SLOT_ASKED)
		pthread_cond_wait(&c->asked, &c->mutex);
	if (c->ending)
		return false;
	c->slot = SLOT_UNDER_WAY;
	*anew = strcmp(v->token, c->token) != 0;
	memcpy(v->token, c->token, sizeof v->token);
	memcpy(v->method, c->method, sizeof v->method);
	memcpy(v->path, c->path, sizeof v->path);
	v->body = c->body;
	v->whole_ms = c->whole_ms;
	c->body = NULL;
	return true;
}

static void *work(void *arg)
{
	struct courier *c = arg;
	struct visit v = { 0 };
	bool anew;

	pthread_mutex_lock(&c->mutex);
	while (wait_for_work(c, &v, &anew)) {
		struct courier_reply r = { .retry_after = -1 };

		pthread_mutex_unlock(&c->mutex);
		buf_init(&r.body, BODY_MAX);
		r.rc = prepare(c, &v, anew, &r.fail);
		if (!r.rc)
			carry(&v, &r);
		free(v.body);
		v.body = NULL;
		pthread_mutex_lock(&c->mutex);
		c->reply = r;
		c->slot = SLOT_ANSWERED;
		tell(c);
	}
	pthread_mutex_unlock(&c->mutex);
	client_free(v.client);
	explicit_bzero(v.token, sizeof v.token);
	return NULL;
}

/* ---- The loop's side ---------------------------------------------------------------------- */

/* Signals are the loop's alone. */
static int begin(struct courier *c)
{
	pthread_attr_t how;
	sigset_t all, before;
	int rc = pthread_attr_init(&how);

	if (rc)
		return -rc;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_setstacksize(&how, STACK);
	rc = pthread_create(&c->thread, &how, work, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&how);
	c->runs = rc == 0;
	return -rc;
}

int courier_new(const struct courier_setup *setup, struct courier **out, struct fail *f)
{
	struct courier *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, -ENOMEM, "out of memory");
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->asked, NULL);
	c->answers = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	c->plain = setup->plain;
	snprintf(c->url, sizeof c->url, "%s", setup->url);
	snprintf(c->pin, sizeof c->pin, "%s", setup->pin ? setup->pin : "");
	rc = c->answers < 0 || c->stop < 0 ? -errno : begin(c);
	if (rc) {
		courier_free(c);
		return fail_errno(f, rc, -rc, "cannot start a thread");
	}
	*out = c;
	return 0;
}

void courier_free(struct courier *c)
{
	uint64_t one = 1;

	if (!c)
		return;
	pthread_mutex_lock(&c->mutex);
	c->ending = true;
	pthread_cond_signal(&c->asked);
	pthread_mutex_unlock(&c->mutex);
	if (c->stop >= 0 && write(c->stop, &one, sizeof one) != sizeof one)
		c->ending = true; /* an eventfd takes a 1 */
	if (c->runs)
		pthread_join(c->thread, NULL);
	if (c->slot == SLOT_ANSWERED)
		buf_release(&c->reply.body);
	free(c->body);
	if (c->answers >= 0)
		close(c->answers);
	if (c->stop >= 0)
		close(c->stop);
	pthread_cond_destroy(&c->asked);
	pthread_mutex_destroy(&c->mutex);
	explicit_bzero(c->token, sizeof c->token);
	free(c);
}

int courier_fd(const struct courier *c)
{
	return c->answers;
}

static enum slot slot_now(const struct courier *c)
{
	pthread_mutex_t *m = (pthread_mutex_t *)(uintptr_t)&c->mutex;
	enum slot slot;

	pthread_mutex_lock(m);
	slot = c->slot;
	pthread_mutex_unlock(m);
	return slot;
}

bool courier_idle(const struct courier *c)
{
	return slot_now(c) == SLOT_EMPTY;
}

void courier_ask(struct courier *c, const char *token, const char *method, const char *path, char *body, int64_t whole_ms)
{
	pthread_mutex_lock(&c->mutex);
	memset(c->token, 0, sizeof c->token);
	snprintf(c->token, sizeof c->token, "%s", token ? token : "");
	snprintf(c->method, sizeof c->method, "%s", method);
	snprintf(c->path, sizeof c->path, "%s", path);
	c->body = body;
	c->whole_ms = whole_ms;
	c->slot = SLOT_ASKED;
	pthread_cond_signal(&c->asked);
	pthread_mutex_unlock(&c->mutex);
}

bool courier_take(struct courier *c, struct courier_reply *out)
{
	uint64_t count;
	bool there;

	pthread_mutex_lock(&c->mutex);
	if (read(c->answers, &count, sizeof count) < 0)
		count = 0; /* nothing was told since the last time */
	there = c->slot == SLOT_ANSWERED;
	if (there) {
		*out = c->reply;
		memset(&c->reply, 0, sizeof c->reply);
		c->slot = SLOT_EMPTY;
	}
	pthread_mutex_unlock(&c->mutex);
	return there;
}
