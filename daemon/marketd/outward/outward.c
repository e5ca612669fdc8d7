/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's multi handle inside our loop. Its callbacks only note what it waits for. */
#include "marketd/outward/outward_own.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"

enum { KEPT_SHARE = 4, ERRAND_SOCKETS = 2 };

int outward_new(struct outward **out, struct loop *loop)
{
	return outward_new_wide(out, loop, ERRANDS_MAX, ERRAND_BODY_MAX);
}

int outward_new_wide(struct outward **out, struct loop *loop, int errands, size_t body)
{
	struct outward *o = calloc(1, sizeof *o);

	if (!o)
		return -ENOMEM;
	o->loop = loop;
	o->due = -1;
	o->errands = errands;
	o->body = body;
	list_init(&o->running);
	list_init(&o->news);
	o->socket_count = ERRAND_SOCKETS * errands;
	o->sockets = calloc((size_t)o->socket_count, sizeof *o->sockets);
	if (!o->sockets) {
		free(o);
		return -ENOMEM;
	}
	*out = o;
	return 0;
}

void outward_free(struct outward *o)
{
	if (!o)
		return;
	assert(list_empty(&o->running));
	if (o->multi)
		o->curl.multi_cleanup(o->multi);
	for (int i = 0; i < o->socket_count; i++)
		loop_forget(o->loop, &o->sockets[i]);
	free(o->sockets);
	free(o);
}

/* ---- What libcurl calls ----------------------------------------------------------------- */

static struct loop_watch *outward_socket(struct outward *o)
{
	for (int i = 0; i < o->socket_count; i++)
		if (!o->sockets[i].armed)
			return &o->sockets[i];
	return NULL;
}

/* known: what was assigned to this socket; NULL: it is a new one. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct outward *o = arg;
	struct loop_watch *w = known || what == CURL_POLL_REMOVE ? known : outward_socket(o);
	uint32_t want = (what & CURL_POLL_IN ? LOOP_READ : 0u) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);

	(void)easy;
	if (what != CURL_POLL_REMOVE)
		return w && loop_watch(o->loop, w, fd, want) == 0 && o->curl.multi_assign(o->multi, fd, w) == CURLM_OK
			? 0
			: -1;
	if (w && w->armed)
		loop_forget(o->loop, w);
	return 0;
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
	struct outward *o = arg;

	(void)multi;
	o->due = ms < 0 ? -1 : clock_ms() + ms;
	return 0;
}

/* ---- Turns ------------------------------------------------------------------------------ */

static int outward_open(struct outward *o, struct fail *f)
{
	int rc = o->curl.easy_init ? 0 : client_load(&o->curl, f);
	int bad = 0;

	if (rc || o->multi)
		return rc;
	o->multi = o->curl.multi_init();
	if (!o->multi)
		return fail_set(f, -ENOMEM, "out of memory");
	bad |= o->curl.multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	bad |= o->curl.multi_setopt(o->multi, CURLMOPT_SOCKETDATA, (void *)o);
	bad |= o->curl.multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	bad |= o->curl.multi_setopt(o->multi, CURLMOPT_TIMERDATA, (void *)o);
	bad |= o->curl.multi_setopt(o->multi, CURLMOPT_MAXCONNECTS, (long)(o->errands / KEPT_SHARE));
	return bad ? fail_set(f, -ENOSYS, "libcurl lacks a feature that sending requests needs") : 0;
}

int errand_new(struct outward *o, const struct errand_call *call, struct errand **out, struct fail *f)
{
	struct errand *e;
	int rc = outward_open(o, f);

	if (rc)
		return rc;
	if (o->count >= o->errands)
		return fail_set(f, -EBUSY, "%d requests to others are under way", o->errands);
	if (call->max > o->body || (call->body && call->body_len > o->body) || call->timeout_ms < 1)
		return fail_set(f, -EINVAL, "a request to others is too large");
	e = errand_make(o, call);
	if (!e || o->curl.multi_add_handle(o->multi, e->easy) != CURLM_OK) {
		errand_free(e);
		return fail_set(f, -ENOMEM, "cannot set up a request: libcurl lacks a feature, or is out of memory");
	}
	list_append(&o->running, &e->link);
	o->count++;
	*out = e;
	return 0;
}

static void outward_act(struct outward *o, curl_socket_t fd, int mask)
{
	struct CURLMsg *m;
	int n;

	o->curl.multi_socket_action(o->multi, fd, mask, &n);
	while ((m = o->curl.multi_info_read(o->multi, &n))) {
		struct errand *e = NULL;
		CURLcode result = m->data.result;

		if (m->msg == CURLMSG_DONE &&
			o->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&e) == CURLE_OK && e)
			errand_end(e, result);
	}
}

bool outward_take(struct outward *o, const struct loop_watch *w, uint32_t ready)
{
	if (w < o->sockets || w >= o->sockets + o->socket_count)
		return false;
	if (w->armed)
		outward_act(o, w->fd,
			(ready & LOOP_READ ? CURL_CSELECT_IN : 0) | (ready & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
	return true;
}

int outward_timeout(const struct outward *o)
{
	int64_t ms = o->due - clock_ms();

	return o->due < 0 ? -1 : ms < 0 ? 0 : (int)ms;
}

void outward_turn(struct outward *o)
{
	if (outward_timeout(o) != 0)
		return;
	o->due = -1;
	outward_act(o, CURL_SOCKET_TIMEOUT, 0);
}

void *outward_news(struct outward *o)
{
	struct list *first = list_first(&o->news);
	struct errand *e = first ? list_entry(first, struct errand, fresh) : NULL;

	if (!e)
		return NULL;
	list_remove(&e->fresh);
	return e->owner;
}

uint64_t outward_ended(const struct outward *o)
{
	return o->ended;
}
