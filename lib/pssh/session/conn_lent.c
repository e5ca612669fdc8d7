/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/conn_lent.h"

#include "base/clock.h"

/* How long a keeper may take to answer at first; how often it is asked for a sign of life, and how many it may miss. */
enum { LENT_MS = 2000, LENT_ALIVE_MS = 2000, LENT_MISSED = 5 };

bool conn_is_lent(const struct conn *c)
{
	return c->link.lent != NULL;
}

const uint8_t *conn_hostkey(const struct conn *c, size_t *len)
{
	const void *key = NULL;
	int type;

	if (conn_is_lent(c))
		return c->link.calls->lend(&c->link, &key, len) == 0 ? key : NULL;
	return (const uint8_t *)libssh2_session_hostkey(c->link.session, len, &type);
}

int conn_borrow(struct conn *c, int fd, unsigned window, int (*borrow)(struct link *l, int fd, unsigned window))
{
	int rc;

	c->fd = fd;
	c->dry = true;
	rc = borrow(&c->link, fd, window);
	if (!rc)
		loop_timer_set(c->shared->loop, &c->timer, clock_ms() + LENT_MS);
	return rc;
}

/* The keeper's connection counts only if its server's key passes this command's own rule. */
int conn_lent_ask(struct conn *c)
{
	struct fail f = { 0 };
	const void *key = NULL;
	size_t len = 0;
	bool learnt;
	int rc = c->link.calls->lend(&c->link, &key, &len);

	if (rc == PSSH_EAGAIN)
		return rc;
	if (rc)
		return fail_set(&c->why, rc, "%s", link_error(&c->link));
	rc = hostkey_check(key, len, &c->plan->hostkey, c->fingerprint, &learnt, &f);
	if (rc)
		return fail_set(&c->why, rc, "%s", f.text);
	c->kept = c->heard = clock_ms();
	return 0;
}

void conn_lent_turn(struct conn *c)
{
	bool heard = false;

	if (!c->dry)
		c->ended = c->link.calls->turn(&c->link, &heard) != 0;
	c->dry = true;
	if (heard) {
		c->heard = clock_ms();
		c->reads++;
	}
	if (c->state == CONN_READY && !c->timer.at)
		loop_timer_set(c->shared->loop, &c->timer, clock_ms() + LENT_ALIVE_MS);
}

/* A keeper that was stopped answers nothing, and its socket stays open. */
int conn_lent_due(struct conn *c)
{
	int64_t now = clock_ms();
	bool stood = c->state == CONN_READY && now >= c->kept + 2 * LENT_ALIVE_MS;

	if (stood) /* this process did, so it could not hear */
		c->heard = now;
	if (c->state == CONN_NEW || now - c->heard > LENT_MISSED * LENT_ALIVE_MS)
		return fail_set(&c->why, PSSH_ECLOSED, "the keeper of its connection does not answer");
	c->kept = now;
	c->link.calls->alive(&c->link);
	loop_timer_set(c->shared->loop, &c->timer, now + LENT_ALIVE_MS);
	return 0;
}
