/* SPDX-License-Identifier: Apache-2.0 */
#include "market/client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "market/client_part.h"

enum { CONNECT_MS = 10000, WHOLE_MS = 60000, TRIES = 4, TRIES_MAX = 20, FIRST_PAUSE_MS = 200, PAUSE_MAX_MS = 10000 };

/* ---- Making ---------------------------------------------------------------------------- */

int client_new(const struct client_setup *setup, struct client **out, struct fail *f)
{
	struct client *c = calloc(1, sizeof *c);
	int rc = c ? 0 : fail_set(f, CLIENT_BAD_SETUP, "out of memory");

	if (rc)
		return rc;
	rc = client_take_url(c, setup->url, f);
	if (!rc && setup->token)
		rc = client_check_token_text(setup->token, f);
	if (!rc && setup->pin)
		rc = client_check_pin(setup->pin, f);
	if (!rc && setup->pin && !c->secure)
		rc = fail_set(f, CLIENT_BAD_SETUP, "a pinned key needs a URL that starts with https://");
	if (!rc && (setup->token || setup->secret) && !c->secure && !c->loopback && !setup->plain)
		rc = fail_set(f, CLIENT_BAD_SETUP,
			"not sending what signs you in to '%.100s', as others on the way could read it; use "
			"https://, an ssh tunnel, or set 'market-plain: yes' in your settings",
			setup->url);
	c->url = strdup(setup->url);
	c->token = setup->token ? strdup(setup->token) : NULL;
	c->ca = setup->ca ? strdup(setup->ca) : NULL;
	c->pin = setup->pin ? strdup(setup->pin) : NULL;
	c->connect_ms = setup->connect_ms > 0 ? setup->connect_ms : CONNECT_MS;
	c->whole_ms = setup->whole_ms > 0 ? setup->whole_ms : WHOLE_MS;
	c->reads_ms = setup->reads_ms;
	c->slow_ms = setup->slow_ms;
	c->slow = setup->slow;
	c->slow_arg = setup->slow_arg;
	c->tries = setup->tries > 0 && setup->tries <= TRIES_MAX ? setup->tries : TRIES;
	c->stop_fd = setup->stop_fd > 0 ? setup->stop_fd : -1;
	if (!rc && (!c->url || (setup->token && !c->token) || (setup->ca && !c->ca) || (setup->pin && !c->pin)))
		rc = fail_set(f, CLIENT_BAD_SETUP, "out of memory");
	if (rc) {
		client_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	client_stream_close(c);
	if (c->easy)
		c->curl.easy_cleanup(c->easy);
	if (c->multi)
		c->curl.multi_cleanup(c->multi);
	if (c->token)
		explicit_bzero(c->token, strlen(c->token));
	free(c->token);
	free(c->url);
	free(c->base);
	free(c->socket);
	free(c->ca);
	free(c->pin);
	free(c);
}

/* ---- Sending --------------------------------------------------------------------------- */

static int send_once(struct client *c, const struct client_call *q, struct client_answer *a, struct fail *f)
{
	struct transfer t = { .answer = a };
	int64_t patience;
	int rc;

	client_clear(a);
	c->easy = c->easy ? c->easy : c->curl.easy_init();
	if (!c->easy)
		return fail_set(f, CLIENT_NO_HTTP, "out of memory");
	t.easy = c->easy;
	rc = client_begin(c, &t, q, f);
	if (!rc)
		c->curl.easy_setopt(t.easy, CURLOPT_PRIVATE, (void *)&t);
	while (!rc && !t.done && (patience = client_patience(c, &t)))
		rc = client_turn(c, &t, patience, f);
	if (rc == CLIENT_STOPPED && client_was_sent(c, &t))
		a->sent = CLIENT_MAYBE;
	if (!rc)
		rc = client_verdict(c, &t, q, f);
	client_end(c, &t);
	return rc;
}

/* How long to wait before the next try; -1: no more tries. */
static int64_t pause_before_next(const struct client_call *q, const struct client_answer *a, int rc, int tries)
{
	int64_t ms = (int64_t)FIRST_PAUSE_MS << (tries - 1);
	bool busy = a->status == 502 || a->status == 503 || a->status == 429;

	if (q->once || (a->sent != CLIENT_NOT_SENT && !client_repeatable(q)))
		return -1;
	if (rc != CLIENT_UNREACHABLE && rc != CLIENT_LOST && !busy)
		return -1;
	if (busy && a->retry_after >= 0)
		ms = a->retry_after * 1000 > ms ? a->retry_after * 1000 : ms;
	return ms <= PAUSE_MAX_MS ? ms : -1;
}

static int client_rest(struct client *c, int64_t ms, struct fail *f)
{
	struct pollfd stop = { .fd = c->stop_fd, .events = POLLIN };
	int64_t until = clock_ms() + ms, left, slow;

	while ((left = until - clock_ms()) > 0) {
		slow = client_slow(c);
		if (poll(&stop, c->stop_fd > 0, (int)(slow > 0 && slow < left ? slow : left)) > 0)
			return fail_set(f, CLIENT_STOPPED, "interrupted");
	}
	return 0;
}

int client_send(struct client *c, const struct client_call *q, struct client_answer *a, struct fail *f)
{
	enum client_sent sent = CLIENT_NOT_SENT;
	struct fail stopped = { 0 };
	int64_t ms = 0;
	int rc;

	client_clear(a);
	a->tries = 0;
	client_patience_begin(c, q);
	rc = client_check_path(q->path, f);
	rc = rc ? rc : client_ready(c, f);
	while (!rc && ms >= 0) {
		rc = send_once(c, q, a, f);
		a->tries++;
		/* An earlier try may have got through, whatever happened to this one. */
		if (a->sent == CLIENT_MAYBE)
			sent = CLIENT_MAYBE;
		ms = rc && a->tries < c->tries ? pause_before_next(q, a, rc, a->tries) : -1;
		if (c->give_up_at && clock_ms() + ms >= c->give_up_at)
			ms = -1;
		if (ms >= 0 && client_rest(c, ms, &stopped) == 0)
			rc = 0;
		else
			ms = -1;
	}
	client_patience_end(c);
	if (a->sent == CLIENT_NOT_SENT)
		a->sent = sent;
	if (rc && sent == CLIENT_MAYBE && a->sent == CLIENT_ANSWERED && client_refused_try(rc) &&
		strcmp(q->method, "GET") != 0) {
		a->sent = CLIENT_MAYBE;
		rc = fail_set(f, CLIENT_LOST, "'%.200s' gave no answer to an earlier try, and it may have been done",
			c->url);
	}
	return rc;
}
