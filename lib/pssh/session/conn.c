/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/conn.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/session/conn_lent.h"
#include "pssh/session/transport.h"

enum { BARRED_MS = 1000 };

static int step_new(struct conn *c);
static int step_resolve(struct conn *c);
static int step_dial(struct conn *c);
static int step_via(struct conn *c);
static int step_proxy(struct conn *c);
static int start_session(struct conn *c);
static int step_hello(struct conn *c);
static int step_hostkey(struct conn *c);
static int step_auth(struct conn *c);

/* The states: what each does, the deadline that it starts, and which states may follow it. */
static const struct {
	const char *name, *doing;
	int (*step)(struct conn *c); /* 0: moved on; PSSH_EAGAIN; or a code */
	int phase;                   /* its deadline; -1: the earlier one goes on; PSSH_PHASES: none */
	unsigned next;               /* bits of the states that may follow; CONN_GONE always may */
} states[CONN_STATES] = {
	[CONN_NEW] = { "new", "asking a keeper for its connection", step_new, PSSH_PHASES,
		1u << CONN_READY | 1u << CONN_VIA | 1u << CONN_PROXY | 1u << CONN_GIVEN | 1u << CONN_RESOLVE },
	[CONN_RESOLVE] = { "resolve", "looking up its name", step_resolve, PSSH_PHASE_RESOLVE, 1u << CONN_DIAL },
	[CONN_DIAL] = { "dial", "connecting", step_dial, PSSH_PHASE_CONNECT, 1u << CONN_HELLO },
	[CONN_VIA] = { "via", "opening a channel through the jump host", step_via, PSSH_PHASE_CONNECT,
		1u << CONN_VIA | 1u << CONN_HELLO },
	[CONN_PROXY] = { "proxy", "starting the proxy command", step_proxy, PSSH_PHASE_CONNECT, 1u << CONN_HELLO },
	[CONN_GIVEN] = { "given", "using its socket", start_session, PSSH_PHASE_CONNECT, 1u << CONN_HELLO },
	[CONN_HELLO] = { "hello", "exchanging keys", step_hello, PSSH_PHASE_HANDSHAKE, 1u << CONN_HOSTKEY },
	[CONN_HOSTKEY] = { "hostkey", "checking its key", step_hostkey, -1, 1u << CONN_AUTH },
	[CONN_AUTH] = { "auth", "signing in", step_auth, PSSH_PHASE_AUTH, 1u << CONN_READY },
	[CONN_READY] = { "ready", "being ready", NULL, PSSH_PHASES, 0 },
	[CONN_GONE] = { "gone", "being gone", NULL, PSSH_PHASES, 0 },
};

/* The only function that changes the state. */
static void conn_move(struct conn *c, enum conn_state state)
{
	int phase = states[state].phase;

	assert(state == CONN_GONE || states[c->state].next & 1u << state);
	log_at(&c->shared->log, LOG_DEBUG, "%s: %s", c->plan->name, states[state].name);
	c->state = state;
	if (phase < 0)
		return;
	connfacts_phase(&c->facts, (enum pssh_phase)phase);
	loop_timer_clear(c->shared->loop, &c->timer);
	if (phase < PSSH_PHASES && c->plan->deadline[phase])
		loop_timer_set(c->shared->loop, &c->timer, clock_ms() + c->plan->deadline[phase]);
}

void conn_fail(struct conn *c, int code, const char *fmt, ...)
{
	va_list ap;

	if (c->state == CONN_GONE)
		return;
	va_start(ap, fmt);
	fail_vset(&c->why, code, fmt, ap);
	va_end(ap);
	conn_move(c, CONN_GONE);
}

static int conn_prefer(struct conn *c)
{
	struct buf order;
	int rc = 0;

	buf_init(&order, 4096);
	for (int i = 0; i < PSSH_ALGS && !rc; i++) {
		const char *list = c->plan->algorithms[i];

		if (i == PSSH_ALG_HOSTKEY && hostkey_order(&c->plan->hostkey, list, &order) == 0)
			list = buf_text(&order);
		rc = algorithms_prefer(&c->shared->algorithms, c->link.session, (enum pssh_algorithm)i, list);
		if (rc)
			fail_set(&c->why, rc, "libssh2 supports none of the algorithms '%s'", list);
	}
	buf_release(&order);
	return rc;
}

/* Before it is ready nothing but its own steps, which go on until nothing comes, reads from it. */
static void conn_has_news(void *io)
{
	struct conn *c = io;

	if (c->state == CONN_READY)
		conn_wake(c);
}

static int start_session(struct conn *c)
{
	int rc = link_init(&c->link);

	if (rc)
		return fail_set(&c->why, rc, "out of memory");
	libssh2_session_set_blocking(c->link.session, 0);
	transport_attach(c);
	rc = conn_prefer(c);
	if (rc)
		return rc;
	conn_move(c, CONN_HELLO);
	return 0;
}

/* ---- States ---- */

static int step_new(struct conn *c)
{
	enum conn_state next = c->via ? CONN_VIA
		: c->plan->fd >= 0    ? CONN_GIVEN
		: c->plan->proxy      ? CONN_PROXY
				      : CONN_RESOLVE;
	int rc = 0;

	if (conn_is_lent(c)) {
		rc = conn_lent_ask(c);
		next = CONN_READY;
	}
	if (!rc)
		conn_move(c, next);
	return rc;
}

static int step_resolve(struct conn *c)
{
	struct addrinfo *found;
	const char *why;
	int rc;

	if (!c->question) {
		rc = resolve_start(c->shared->resolver, c->plan->address, c->plan->port, c->plan->family, &c->question);
		if (rc)
			return fail_set(&c->why, rc, "cannot look up '%s': %s", c->plan->address, pssh_strerror(rc));
	}
	rc = resolve_result(c->question, &found, &why);
	if (rc == PSSH_EAGAIN)
		return rc;
	resolve_free(c->question);
	c->question = NULL;
	if (rc)
		return fail_set(&c->why, rc, "cannot resolve '%s': %s", c->plan->address, why);
	conn_move(c, CONN_DIAL);
	dial_init(&c->dial, found, c->plan->bind, c->timer.at ? c->timer.due : 0);
	return 0;
}

static int step_dial(struct conn *c)
{
	struct fail f;
	int fd, was = c->dial.fd, rc = dial_step(&c->dial, &fd, &f);
	int64_t due;

	if (c->dial.fd != was || rc != PSSH_EAGAIN)
		loop_forget(c->shared->loop, &c->watch);
	if (rc == PSSH_EAGAIN) {
		due = dial_due(&c->dial);
		if (due)
			loop_timer_set(c->shared->loop, &c->timer, due);
		else if (c->dial.due)
			loop_timer_set(c->shared->loop, &c->timer, c->dial.due);
		return rc;
	}
	if (rc)
		return fail_set(&c->why, rc, "cannot reach '%s' port %u: %s", c->plan->address, c->plan->port,
			rc == PSSH_ECONNECT ? strchr(f.text, ':') + 2 : f.text);
	dial_release(&c->dial);
	c->fd = fd;
	return start_session(c);
}

static int step_via(struct conn *c)
{
	struct fail f = { 0 };
	int rc;

	if (!c->via || c->via->state == CONN_GONE)
		return fail_set(&c->why, PSSH_EPROXY, "the jump host failed: %s",
			c->via ? c->via->why.text : "it is gone");
	if (c->via->state != CONN_READY) {
		/* Its own deadlines hold; ours begins when it is ready. */
		loop_timer_clear(c->shared->loop, &c->timer);
		return PSSH_EAGAIN;
	}
	if (!c->via_chan) {
		c->via_chan = chan_new(&c->via->link);
		if (!c->via_chan)
			return fail_set(&c->why, PSSH_ENOMEM, "out of memory");
		conn_move(c, CONN_VIA);
	}
	rc = chan_open_direct(c->via_chan, c->plan->address, c->plan->port, CHAN_WINDOW_DIRECT, &f);
	if (rc == PSSH_EAGAIN) {
		/* Channels open one at a time: the deadline is for ours, not for those before it. */
		bool was_barred = c->barred;

		c->barred = c->via->link.opener && c->via->link.opener != c->via_chan;
		if (c->barred)
			loop_timer_set(c->shared->loop, &c->timer, clock_ms() + BARRED_MS);
		else if (was_barred)
			conn_move(c, CONN_VIA);
		return rc;
	}
	if (rc)
		return fail_set(&c->why, rc == PSSH_EREFUSED ? PSSH_ECONNECT : PSSH_EPROXY,
			"cannot reach '%s' port %u through '%s': %s", c->plan->address, c->plan->port,
			c->via->plan->name, f.text);
	return start_session(c);
}

static int step_proxy(struct conn *c)
{
	int rc = proxy_start(c->plan->proxy, &c->proxy, &c->fd, &c->why);

	return rc ? rc : start_session(c);
}

/* Why the transport ended: what the proxy command said, else what libssh2 says. */
static const char *conn_reason(struct conn *c)
{
	const char *said = c->proxy ? proxy_said(c->proxy) : "";

	return *said ? said : link_error(&c->link);
}

/* libssh2 wants a real descriptor, whose flags it changes, even if callbacks do the transport. */
static int root_fd(const struct conn *c)
{
	while (c->via)
		c = c->via;
	return c->fd;
}

/* How the server calls itself. */
static const char *hello_banner(const struct conn *c)
{
	const char *banner = libssh2_session_banner_get(c->link.session);

	return banner ? banner : "no banner";
}

/* True, and why, if its offer has nothing in common with ours. A server that sees that first just leaves. */
static bool hello_unlike(struct conn *c)
{
	struct kexinit theirs = { 0 };
	struct buf text;
	char who[200];
	bool unlike;

	buf_init(&text, 4096);
	snprintf(who, sizeof who, "'%.100s' (%.60s)", c->plan->name, hello_banner(c));
	if (kexinit_parse(buf_text(&c->hello), c->hello.len, &theirs) == 0)
		algorithms_missing(&c->shared->algorithms, c->link.session, c->plan->algorithms, &theirs, who, &text);
	unlike = text.len;
	if (unlike)
		fail_set(&c->why, PSSH_EALGORITHM, "%s", buf_text(&text));
	kexinit_release(&theirs);
	buf_release(&text);
	return unlike;
}

/* Continues libssh2's handshake. 0: it is over; PSSH_EAGAIN; or a code. */
static int conn_greet(struct conn *c)
{
	int rc = c->greeted ? 0 : libssh2_session_handshake(c->link.session, root_fd(c));

	if (rc == LIBSSH2_ERROR_EAGAIN)
		return PSSH_EAGAIN;
	c->greeted = rc == 0;
	if (rc && hello_unlike(c))
		return PSSH_EALGORITHM;
	if (rc && c->chatter >= TRANSPORT_CHATTER)
		return fail_set(&c->why, PSSH_EPROTO, "'%s' does not speak SSH as expected: it never stops sending",
			c->plan->name);
	if (rc &&
		(c->ended || rc == LIBSSH2_ERROR_SOCKET_DISCONNECT || rc == LIBSSH2_ERROR_SOCKET_RECV ||
			rc == LIBSSH2_ERROR_SOCKET_SEND))
		return fail_set(&c->why, c->proxy ? PSSH_EPROXY : PSSH_ECLOSED,
			"'%s' closed the connection before it was set up: %s", c->plan->name, conn_reason(c));
	if ((rc == LIBSSH2_ERROR_KEX_FAILURE || rc == LIBSSH2_ERROR_METHOD_NONE) &&
		kexinit_there(buf_text(&c->hello), c->hello.len))
		return fail_set(&c->why, PSSH_EALGORITHM, "the key exchange with '%s' (%s) failed: %s", c->plan->name,
			hello_banner(c), conn_reason(c));
	if (rc)
		return fail_set(&c->why, rc == LIBSSH2_ERROR_ALLOC ? PSSH_ENOMEM : PSSH_EPROTO,
			"'%s' does not speak SSH as expected: %s", c->plan->name, conn_reason(c));
	return 0;
}

/* Says once for all connections that this one could be safe from quantum computers and is not. */
static void hello_warn(struct conn *c, const char *agreed)
{
	struct kexinit theirs = { 0 };
	char name[128];

	if (!c->shared->warn_weak || !c->plan->warn_weak || algorithms_quantum_safe(agreed, name) ||
		kexinit_parse(buf_text(&c->hello), c->hello.len, &theirs) != 0)
		return;
	if (algorithms_quantum_safe(theirs.lists[PSSH_ALG_KEX][0], name)) {
		c->shared->warn_weak = false;
		log_at(&c->shared->log, LOG_WARN,
			"a recording of the connection to '%s' can be decrypted once there are quantum computers: "
			"libssh2 %s lacks %.*s ('nanopod ssh --openssh' has it; 'WarnWeakCrypto no' in ssh_config: no "
			"warning)",
			c->plan->name, libssh2_version(0), (int)strcspn(name, "@"), name);
	}
	kexinit_release(&theirs);
}

static void hello_agreed(struct conn *c)
{
	const struct pssh_facts *now = &c->facts.now;

	connfacts_agreed(&c->facts, c->link.session);
	log_at(&c->shared->log, LOG_INFO, "'%s': key exchange %s, host key %s, cipher %s, MAC %s", c->plan->name,
		now->kex, now->hostkey, now->cipher, now->mac);
	hello_warn(c, now->kex);
}

static int step_hello(struct conn *c)
{
	int rc = conn_greet(c);

	/* Over a long way it is worth a round trip to ask for the service and to sign in without waiting in between. */
	if (rc && (rc != PSSH_EAGAIN || c->sent != SENT_SERVICE))
		return rc;
	hello_agreed(c);
	buf_release(&c->hello);
	conn_move(c, CONN_HOSTKEY);
	return 0;
}

static int step_hostkey(struct conn *c)
{
	struct fail f = { 0 };
	bool learnt;
	size_t len = 0;
	const uint8_t *key = conn_hostkey(c, &len);
	int rc = hostkey_decide(&c->doubt, key, len, &c->plan->hostkey, c->fingerprint, &learnt, &f);

	if (rc == PSSH_EAGAIN) /* the program may take its time */
		loop_timer_clear(c->shared->loop, &c->timer);
	if (rc)
		return rc == PSSH_EAGAIN ? rc : fail_set(&c->why, rc, "%s", f.text);
	if (learnt)
		log_at(&c->shared->log, LOG_INFO, "'%s' is new; remembered its key %s", c->plan->name, c->fingerprint);
	if (f.code)
		log_at(&c->shared->log, LOG_WARN, "%s", f.text);
	rc = auth_new(&c->link, &c->shared->keyring, &c->plan->auth, c, &c->auth);
	if (rc)
		return fail_set(&c->why, rc, "out of memory");
	conn_move(c, CONN_AUTH);
	return 0;
}

static int step_auth(struct conn *c)
{
	bool echo;
	int rc = conn_greet(c);
	size_t room = c->room;

	if (rc && rc != PSSH_EAGAIN)
		return rc;
	if (rc) /* libssh2's handshake has to read the answer that it waits for itself: signing in only sends */
		c->room = 0;
	rc = auth_step(c->auth, &c->why);
	if (!c->greeted)
		c->room = room;
	if (rc == PSSH_EAGAIN) {
		if (auth_question(c->auth, &echo)) /* a person may take all day */
			loop_timer_clear(c->shared->loop, &c->timer);
		else if (!c->timer.at && c->plan->deadline[PSSH_PHASE_AUTH])
			loop_timer_set(c->shared->loop, &c->timer, clock_ms() + c->plan->deadline[PSSH_PHASE_AUTH]);
		return rc;
	}
	c->by_hand = auth_by_hand(c->auth);
	auth_free(c->auth);
	c->auth = NULL;
	if (rc)
		return rc;
	conn_move(c, CONN_READY);
	libssh2_keepalive_config(c->link.session, 1, 1);
	c->kept = clock_ms();
	return 0;
}

void conn_keep_alive(struct conn *c)
{
	int next;

	c->kept = clock_ms();
	if (conn_is_lent(c)) /* its keeper does that */
		c->heard = c->kept;
	else if (!c->link.out.len) /* bytes that wait to be sent serve as well */
		libssh2_keepalive_send(c->link.session, &next);
}

/* ---- What the owner calls ---- */

int conn_new(struct conn_shared *shared, const struct conn_plan *plan, struct conn *via, void *owner, struct conn **out)
{
	struct conn *c = calloc(1, sizeof *c);

	if (!c)
		return PSSH_ENOMEM;
	c->shared = shared;
	c->plan = plan;
	c->owner = owner;
	c->fd = plan->fd;
	c->link.io = c;
	c->link.wake = conn_has_news;
	c->dial.fd = -1;
	buf_init(&c->hello, KEXINIT_MAX);
	buf_init(&c->ahead, TRANSPORT_AHEAD);
	c->watch.kind = c->timer.kind = shared->kind;
	list_init(&c->riders);
	list_init(&c->in_riders);
	list_init(&c->in_ready);
	c->via = via;
	if (via)
		list_append(&via->riders, &c->in_riders);
	*out = c;
	return 0;
}

/* libssh2 would send goodbyes and wait; marking the transport dead stops that. */
static void end_session(struct conn *c)
{
	LIBSSH2_SESSION *s = c->link.session;

	if (conn_is_lent(c))
		c->link.calls->release(&c->link);
	if (!s)
		return;
	if (c->state == CONN_READY && !c->link.out.len && !c->dead)
		libssh2_session_disconnect(s, "done");
	c->dead = true;
	if (!*c->fingerprint && root_fd(c) >= 0) /* only a key exchange that reaches its end frees its memory */
		libssh2_session_handshake(s, root_fd(c));
	link_release(&c->link);
	for (int i = 0; i < 1000 && libssh2_session_free(s) == LIBSSH2_ERROR_EAGAIN; i++)
		;
	c->link.session = NULL;
	buf_release(&c->link.out);
}

struct proxy *conn_take_proxy(struct conn *c)
{
	struct proxy *px = c->proxy;

	c->proxy = NULL;
	return px;
}

void conn_leave(struct conn *c)
{
	c->dead = true;
	if (conn_is_lent(c))
		c->link.calls->leave(&c->link);
	proxy_leave(conn_take_proxy(c));
}

void conn_free(struct conn *c)
{
	struct list *pos, *tmp;

	if (!c)
		return;
	list_each (pos, tmp, &c->riders) {
		struct conn *r = list_entry(pos, struct conn, in_riders);

		if (c->why.code && r->state < CONN_READY) {
			conn_fail(r, PSSH_EPROXY, "the jump host failed: %s", c->why.text);
			r->hopeless = c->hopeless || !pssh_retryable(c->why.code);
		}
		r->dead = true;
		r->via = NULL;
		chan_drop(r->via_chan);
		r->via_chan = NULL;
		list_remove(&r->in_riders);
	}
	loop_forget(c->shared->loop, &c->watch);
	loop_timer_clear(c->shared->loop, &c->timer);
	auth_free(c->auth);
	end_session(c);
	list_remove(&c->in_ready);
	resolve_free(c->question);
	dial_release(&c->dial);
	if (c->fd >= 0)
		close(c->fd);
	chan_close(c->via_chan);
	buf_release(&c->hello);
	buf_release(&c->ahead);
	list_remove(&c->in_riders);
	free(c);
}

void conn_wake(struct conn *c)
{
	if (list_empty(&c->in_ready))
		list_append(&c->shared->ready, &c->in_ready);
}

int conn_step(struct conn *c)
{
	int rc;

	c->room = TRANSPORT_TURN;
	if (conn_is_lent(c))
		conn_lent_turn(c);
	rc = transport_flush(c);
	if (rc && rc != -EAGAIN) /* go on reading what has come; the end shows up then */
		buf_clear(&c->link.out);
	while (c->state < CONN_READY) {
		rc = states[c->state].step(c);
		if (rc == PSSH_EAGAIN)
			return rc;
		if (rc) {
			conn_move(c, CONN_GONE);
			return rc;
		}
	}
	return c->state == CONN_READY ? 0 : c->why.code;
}

/* While it waits for an agent, a person or the program, only the end of the socket matters. */
static uint32_t session_want(const struct conn *c)
{
	bool outside = (c->state == CONN_AUTH && auth_outside(c->auth)) || hostkey_doubtful(&c->doubt);

	return (outside ? 0u : LOOP_READ) | (link_wants_write(&c->link) ? LOOP_WRITE : 0u);
}

void conn_arm(struct conn *c)
{
	uint32_t want = 0;
	int fd = c->fd, rc;

	if (conn_is_lent(c))
		c->link.calls->flush(&c->link);
	if (c->state == CONN_DIAL && c->dial.fd >= 0) {
		fd = c->dial.fd;
		want = LOOP_WRITE;
	} else if (fd < 0 || c->state == CONN_GONE) {
		return;
	} else {
		want = session_want(c);
	}
	rc = loop_watch(c->shared->loop, &c->watch, fd, want);
	if (rc)
		conn_fail(c, PSSH_ELOCAL, "cannot wait for '%s': %s", c->plan->name, strerror(-rc));
}

int conn_due(struct conn *c)
{
	enum conn_state was = c->state;
	int rc;

	if (was == CONN_DIAL) { /* perhaps only one address's share of the time is over */
		rc = conn_step(c);
		if (rc != PSSH_EAGAIN || (c->dial.due && clock_ms() < c->dial.due))
			return rc;
	}
	if (was == CONN_VIA && c->barred)
		return PSSH_EAGAIN;
	if (conn_is_lent(c)) {
		rc = conn_lent_due(c);
		if (rc)
			conn_move(c, CONN_GONE);
		return rc;
	}
	if (was >= CONN_READY)
		return 0;
	conn_fail(c, PSSH_ETIMEOUT, "'%s' took too long: no answer for %u s while %s", c->plan->name,
		(c->plan->deadline[states[was].phase < 0 ? PSSH_PHASE_HANDSHAKE : states[was].phase] + 999) / 1000,
		states[was].doing);
	return PSSH_ETIMEOUT;
}
