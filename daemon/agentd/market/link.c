/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/link.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agentd/market/http_child.h"
#include "agentd/market/work.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"
#include "market/client.h"
#include "market/reason.h"

enum {
	POLL_SECONDS = 25, POLL_SLACK_MS = 15000, SEND_MS = 30000,
	PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 30000, REFUSED_PAUSE_MS = 60000,
	HEALTHY_MS = 45000, TOKEN_MAX = 256, VERSION_MAX = 128,
};

enum link_state {
	STATE_DOWN,      /* no session */
	STATE_TIME,      /* asks for the market's time */
	STATE_OPENING,   /* has sent its signature */
	STATE_OPEN,
	STATE_FENCED,
};

struct link {
	struct loop *loop;
	const struct log *log;
	const char *data;
	struct identity *id;
	struct http_child *poller, *sender;
	struct loop_timer timer;
	enum link_state state;
	char token[TOKEN_MAX], have[VERSION_MAX];
	bool reading;                          /* the caller has a document and has not answered yet */
	bool sending;                          /* the sender carries a request of the caller */
	bool away;                             /* the log says that the market is away */
	bool keyed;                            /* the market tells its keys, and wants to hear that they came */
	bool opened, lost;                     /* link_next() will report it */
	uint64_t tag;
	int64_t pause_ms, unusable_ms; /* the next pause after a failure; after an unusable document */
	int64_t poll_at, send_at, open_at, heard_ms;
};

/* ---- Pauses ------------------------------------------------------------------------------- */

static int64_t link_jitter(int64_t ms)
{
	uint32_t r = 0;

	if (getrandom(&r, sizeof r, GRND_NONBLOCK) != sizeof r)
		r = (uint32_t)clock_us();
	return ms / 2 + (int64_t)(r % (uint32_t)(ms / 2 + 1));
}

/* A part of the pause, which is twice as long the next time. */
static int64_t link_pause(int64_t *pause_ms)
{
	int64_t ms = link_jitter(*pause_ms);

	*pause_ms = *pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : *pause_ms * 2;
	return ms;
}

static int64_t link_after_failure(struct link *l, int64_t retry_after)
{
	int64_t ms = link_pause(&l->pause_ms);

	if (retry_after > 0 && retry_after * 1000 > ms)
		ms = retry_after * 1000 > 10 * PAUSE_MAX_MS ? 10 * PAUSE_MAX_MS
							    : retry_after * 1000 + link_jitter(1000);
	return clock_ms() + ms;
}

static void link_heard(struct link *l)
{
	l->heard_ms = clock_ms();
	l->pause_ms = PAUSE_FIRST_MS;
	if (l->away)
		log_at(l->log, LOG_INFO, "the market answers again");
	l->away = false;
}

static void link_not_heard(struct link *l, const char *why)
{
	if (!l->away)
		log_at(l->log, LOG_WARN, "cannot reach the market (%s); nodes keep running; retrying", why);
	l->away = true;
}

static bool link_is_silence(int rc)
{
	return rc == CLIENT_UNREACHABLE || rc == CLIENT_LOST || rc == REASON_UNAVAILABLE || rc == REASON_RATE;
}

static bool link_is_fence(int rc)
{
	return strcmp(client_code(rc), "fenced") == 0;
}

/* ---- A session ---------------------------------------------------------------------------- */

static void link_fence(struct link *l, const char *why)
{
	struct fail f = { 0 };

	l->state = STATE_FENCED;
	l->lost = true;
	l->id->fenced = true;
	log_at(l->log, LOG_ERROR, "FENCED: the market says: %s", why);
	log_at(l->log, LOG_ERROR,
		"this identity (%s) is in use elsewhere, or its folder was restored from a copy: this agent makes no "
		"new nodes and reports nothing any more; nodes run until their leases end; 'nanopod-agentd join' with "
		"a new token makes a new identity",
		l->id->agent);
	if (identity_save(l->data, l->id, &f) != 0)
		log_at(l->log, LOG_ERROR, "%s", f.text);
}

static void link_ask_time(struct link *l)
{
	l->state = STATE_TIME;
	http_child_ask(l->sender, NULL, "GET", "/np/v1", NULL, SEND_MS);
}

static void link_open_session(struct link *l, int64_t now)
{
	char path[128], *body = NULL;
	struct fail f = { 0 };
	json_t *j = NULL;

	if (identity_session(l->data, l->id, now, &j, &f) == 0)
		body = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	if (body) {
		snprintf(path, sizeof path, "/np/v1/agents/%s/session", l->id->agent);
		l->state = STATE_OPENING;
		http_child_ask(l->sender, NULL, "POST", path, body, SEND_MS);
	} else {
		log_at(l->log, LOG_ERROR, "cannot open a session: %s", *f.text ? f.text : "out of memory");
		l->state = STATE_DOWN;
		l->open_at = link_after_failure(l, -1);
	}
}

static void link_session_failed(struct link *l, const struct http_reply *r)
{
	l->state = STATE_DOWN;
	if (link_is_fence(r->rc)) {
		link_fence(l, r->fail.text);
		return;
	}
	l->open_at = link_after_failure(l, r->retry_after);
	if (link_is_silence(r->rc)) {
		link_not_heard(l, r->fail.text);
		return;
	}
	if (r->status) {
		link_heard(l);
		log_at(l->log, LOG_ERROR, "the market refuses a session: %s", r->fail.text);
	} else {
		log_at(l->log, LOG_ERROR, "cannot talk to the market: %s", r->fail.text);
	}
	l->open_at = clock_ms() + link_jitter(REFUSED_PAUSE_MS);
}

/* Handles the answers to link_ask_time and open_session. */
static void link_on_session(struct link *l, struct http_reply *r)
{
	json_t *j = r->rc ? NULL : json_loadb(buf_text(&r->body), r->body.len, 0, NULL);
	int64_t now = statefile_int(j, "now", -1);

	if (r->rc) {
		link_session_failed(l, r);
	} else if (l->state == STATE_TIME && now > 0 && work_is_time(now)) {
		link_heard(l);
		link_open_session(l, now);
	} else if (l->state == STATE_OPENING) {
		statefile_text(j, "token", l->token, sizeof l->token);
		link_heard(l);
		l->state = *l->token ? STATE_OPEN : STATE_DOWN;
		l->opened = *l->token != '\0';
		l->have[0] = '\0';
		l->poll_at = l->send_at = 0;
	} else {
		l->state = STATE_DOWN;
	}
	if (l->state == STATE_DOWN && !r->rc) {
		log_at(l->log, LOG_ERROR, "the server at '%s' is not a market that supports agents", l->id->url);
		l->open_at = clock_ms() + link_jitter(REFUSED_PAUSE_MS);
	}
	json_decref(j);
}

/* ---- In a session ------------------------------------------------------------------------- */

/* Handles what every answer in a session may report. True where the session is over. */
static bool link_session_over(struct link *l, const struct http_reply *r)
{
	if (l->state != STATE_OPEN)
		return true;
	if (link_is_fence(r->rc)) {
		link_fence(l, r->fail.text);
		return true;
	}
	if (r->status != 401)
		return false;
	log_at(l->log, LOG_WARN, "the market no longer knows the session (%s); opening a new one", r->fail.text);
	l->state = STATE_DOWN;
	l->open_at = link_after_failure(l, r->retry_after);
	return true;
}

static void link_poll_work(struct link *l)
{
	struct buf path;

	buf_init(&path, 1024);
	buf_adds(&path, "/np/v1/agent/work?have=");
	client_quote(&path, l->have);
	buf_addf(&path, "&wait=%d%s", *l->have ? POLL_SECONDS : 0, l->keyed ? "&keys=true" : "");
	http_child_ask(l->poller, l->token, "GET", buf_text(&path), NULL, POLL_SECONDS * 1000 + POLL_SLACK_MS);
	buf_release(&path);
}

/* Does *out have an event now? */
static bool link_on_poll(struct link *l, struct http_reply *r, struct link_event *out)
{
	if (link_session_over(l, r))
		return false;
	if (r->rc) {
		l->poll_at = link_after_failure(l, r->retry_after);
		if (link_is_silence(r->rc))
			link_not_heard(l, r->fail.text);
		else
			log_at(l->log, LOG_ERROR, "cannot read what the market wants: %s", r->fail.text);
		return false;
	}
	link_heard(l);
	l->reading = true;
	out->kind = LINK_WORK;
	out->body = r->body;
	buf_init(&r->body, 1);
	return true;
}

static bool link_on_sent(struct link *l, struct http_reply *r, struct link_event *out)
{
	bool over = link_session_over(l, r);

	l->sending = false;
	if (!over && link_is_silence(r->rc)) {
		l->send_at = link_after_failure(l, r->retry_after);
		link_not_heard(l, r->fail.text);
	} else if (!over) {
		link_heard(l);
	}
	*out = (struct link_event){ .kind = LINK_SENT,
		.tag = l->tag,
		.rc = r->rc,
		.status = r->status,
		.body = r->body,
		.fail = r->fail };
	buf_init(&r->body, 1);
	return true;
}

static bool link_take(struct link *l, struct link_event *out)
{
	struct http_reply r;
	bool told = false;

	if (http_child_take(l->poller, &r)) {
		told = link_on_poll(l, &r, out);
		buf_release(&r.body);
	}
	if (!told && http_child_take(l->sender, &r)) {
		if (l->sending)
			told = link_on_sent(l, &r, out);
		else
			link_on_session(l, &r);
		buf_release(&r.body);
	}
	return told;
}

static bool link_due(int64_t at, int64_t *next)
{
	if (at <= clock_ms())
		return true;
	if (at < *next)
		*next = at;
	return false;
}

/* Sends the requests that can be sent now; sets the timer for the later ones. */
static void link_go_on(struct link *l)
{
	int64_t next = INT64_MAX;

	if (l->state == STATE_DOWN && http_child_idle(l->sender) && link_due(l->open_at, &next))
		link_ask_time(l);
	if (l->state == STATE_OPEN && !l->reading && http_child_idle(l->poller) && link_due(l->poll_at, &next))
		link_poll_work(l);
	if (l->state == STATE_OPEN && !l->sending)
		link_due(l->send_at, &next);
	loop_timer_clear(l->loop, &l->timer);
	if (next != INT64_MAX)
		loop_timer_set(l->loop, &l->timer, next);
}

void link_next(struct link *l, struct link_event *out)
{
	*out = (struct link_event){ .kind = LINK_NOTHING };
	if (link_take(l, out))
		return;
	if (l->lost || l->opened) {
		out->kind = l->lost ? LINK_FENCED : LINK_OPENED;
		l->lost = l->opened = false;
		return;
	}
	link_go_on(l);
}

void link_have(struct link *l, const char *version)
{
	l->reading = false;
	snprintf(l->have, sizeof l->have, "%s", version);
	l->unusable_ms = PAUSE_FIRST_MS;
	link_go_on(l);
}

bool link_keys(struct link *l, const char *pins)
{
	struct identity was = *l->id;
	struct fail f = { 0 };

	l->keyed = *pins;
	if (!identity_take_pins(l->id, pins))
		return true;
	if (identity_save(l->data, l->id, &f) != 0) {
		log_at(l->log, LOG_ERROR, "cannot keep the market's next key: %s; trying again", f.text);
		*l->id = was;
		return false;
	}
	log_at(l->log, LOG_INFO, "%s",
		strchr(l->id->pin, ';') ? "the market has announced its next key"
					: "the market shows one key, which is pinned");
	http_child_pin(l->poller, l->id->pin);
	http_child_pin(l->sender, l->id->pin);
	return true;
}

void link_unusable(struct link *l)
{
	l->reading = false;
	l->poll_at = clock_ms() + link_pause(&l->unusable_ms);
	link_go_on(l);
}

bool link_can_send(const struct link *l)
{
	return l->state == STATE_OPEN && !l->sending && l->send_at <= clock_ms() && http_child_idle(l->sender);
}

void link_send(struct link *l, uint64_t tag, const char *method, const char *path, char *body)
{
	assert(link_can_send(l));
	l->sending = true;
	l->tag = tag;
	http_child_ask(l->sender, l->token, method, path, body, SEND_MS);
}

bool link_open(const struct link *l)
{
	return l->state == STATE_OPEN;
}

bool link_later(int rc)
{
	return rc == CLIENT_UNREACHABLE || rc == CLIENT_LOST || rc == REASON_UNAVAILABLE || rc == REASON_RATE;
}

bool link_healthy(const struct link *l)
{
	return l->state == STATE_OPEN && !l->away && clock_ms() - l->heard_ms < HEALTHY_MS;
}

/* ---- Its life cycle ------------------------------------------------------------------------ */

int link_new(struct loop *loop, int watch_kind, const char *data, struct identity *id, const struct log *log,
	struct link **out, struct fail *f)
{
	struct http_child_setup setup = { .url = id->url,
		.pin = id->pin,
		.plain = id->plain,
		.loop = loop,
		.watch_kind = watch_kind };
	struct link *l = calloc(1, sizeof *l);
	int rc = l ? 0 : fail_set(f, -ENOMEM, "out of memory");

	if (!rc) {
		l->loop = loop;
		l->log = log;
		l->data = data;
		l->id = id;
		l->pause_ms = l->unusable_ms = PAUSE_FIRST_MS;
		l->state = id->fenced ? STATE_FENCED : STATE_DOWN;
		l->lost = id->fenced;
		l->timer.kind = watch_kind;
		rc = http_child_new(&setup, &l->poller, f);
	}
	rc = rc ? rc : http_child_new(&setup, &l->sender, f);
	if (rc) {
		link_free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void link_free(struct link *l)
{
	if (!l)
		return;
	loop_timer_clear(l->loop, &l->timer);
	http_child_free(l->poller);
	http_child_free(l->sender);
	explicit_bzero(l->token, sizeof l->token);
	free(l);
}
