/* SPDX-License-Identifier: Apache-2.0 */
/* A webhook gets each event by itself, signed; an Alertmanager gets what holds now, again and again, and what ended. */
#include "cli/alerts/alerthook.h"

#include <inttypes.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/frame/json.h"
#include "market/client.h"
#include "market/when.h"

enum {
	BODY_BYTES = 64 << 20,
	SIGNATURE = 128,
	BATCH = 500,       /* alerts in one request to an Alertmanager */
	STALE_LEAST = 300, /* seconds after which it forgets an alert that nobody repeats */
	STALE_LOOKS = 4,
};

/* ---- One request ------------------------------------------------------------------------- */

/* 2xx and a whole answer: accepted. */
static int alert_hook_post(struct alert_way *w, const char *path, const struct buf *body,
	const struct client_header *headers, struct fail *f)
{
	const struct client_call q = { .method = "POST",
		.path = path,
		.body = body->data,
		.body_len = body->len,
		.once = true,
		.headers = headers };
	struct client_answer a;
	int rc, status;

	client_answer_init(&a);
	rc = client_send(w->client, &q, &a, f);
	status = a.status;
	client_answer_release(&a);
	if (!rc || rc == CLIENT_STOPPED)
		return rc;
	if (status >= 300 && status < 400)
		return fail_set(f, rc, "it redirects (%d); give the address that it redirects to", status);
	if (status)
		return fail_set(f, rc, "it answered %d", status);
	return rc;
}

/* ---- Webhooks ----------------------------------------------------------------------------- */

static void alert_hook_number(struct json *j, const char *key, const char *number)
{
	if (*number)
		json_raw(j, key, number);
	else
		json_nothing(j, key);
}

static void alert_hook_text(struct json *j, const char *key, const char *text)
{
	json_text(j, key, *text ? text : NULL);
}

static void alert_hook_alert(struct json *j, const struct alert_book *b, const struct alarm *a)
{
	char id[ALERT_EVENT_ID], time[WHEN_TEXT];

	json_begin_object(j, "alert");
	json_text(j, "id", alert_book_id(b, a->began_seq, id));
	json_text(j, "rule", a->word[ALARM_RULE]);
	json_text(j, "severity", a->word[ALARM_SEVERITY]);
	json_begin_object(j, "subject");
	json_text(j, "kind", a->word[ALARM_KIND]);
	json_text(j, "id", a->word[ALARM_ID]);
	alert_hook_text(j, "name", a->word[ALARM_NAME]);
	alert_hook_text(j, "account", a->word[ALARM_ACCOUNT]);
	json_end(j);
	json_text(j, "began_at", when_iso(a->began, time));
	json_text(j, "ended_at", a->ended ? when_iso(a->ended, time) : NULL);
	alert_hook_number(j, "value", a->word[ALARM_VALUE]);
	alert_hook_number(j, "threshold", a->word[ALARM_THRESHOLD]);
	alert_hook_text(j, "unit", a->word[ALARM_UNIT]);
	json_text(j, "text", a->word[ALARM_TEXT]);
	alert_hook_text(j, "next", a->word[ALARM_NEXT]);
	json_end(j);
}

/* The same bytes at each attempt, whatever happened since: began_at and ended_at of the event, not of now. */
static int alert_hook_body(const struct alert_way *w, const struct alert_book *b, const struct alert_event *e,
	struct buf *out)
{
	struct json j = json_to(out);
	struct alarm then = *e->alarm;
	char id[ALERT_EVENT_ID], time[WHEN_TEXT];
	struct buf text;

	then.ended = e->ended ? then.ended : 0;
	buf_init(&text, BODY_BYTES);
	alert_event_title(e, &text);
	buf_addf(&text, ": %s", e->alarm->word[ALARM_TEXT]);
	json_begin_object(&j, NULL);
	json_text(&j, "object", "alert_event");
	json_text(&j, "id", alert_book_id(b, e->seq, id));
	json_text(&j, "event", e->ended ? "resolved" : "firing");
	json_text(&j, "at", when_iso(e->ended ? then.ended : then.began, time));
	json_text(&j, "market", w->market);
	json_text(&j, "text", buf_text(&text)); /* what receivers of chats show */
	alert_hook_alert(&j, b, &then);
	json_end(&j);
	buf_release(&text);
	return j.error;
}

/* "t=SECONDS,v1=HEX" of HMAC-SHA256 over "SECONDS.BODY". */
static int alert_hook_sign(const char *secret, int64_t now, const struct buf *body, char out[SIGNATURE])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0, at;
	struct buf all;
	int rc;

	buf_init(&all, BODY_BYTES + 64);
	rc = buf_addf(&all, "%" PRId64 ".", now);
	rc = rc ? rc : buf_add(&all, body->data, body->len);
	if (!rc &&
		!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const unsigned char *)all.data, all.len, sum, &len))
		rc = -1;
	buf_release(&all);
	at = (unsigned)snprintf(out, SIGNATURE, "t=%" PRId64 ",v1=", now);
	for (unsigned i = 0; i < len && at + 3 < SIGNATURE; i++)
		at += (unsigned)snprintf(out + at, SIGNATURE - at, "%02x", sum[i]);
	return rc;
}

static int alert_hook_one(struct alert_way *w, const struct alert_book *b, const struct alert_event *e, int64_t attempt,
	struct fail *f)
{
	char id[ALERT_EVENT_ID], number[24], signature[SIGNATURE];
	struct client_header headers[] = { { "X-Nanopod-Event", alert_book_id(b, e->seq, id) },
		{ "X-Nanopod-Attempt", number }, { w->secret ? "X-Nanopod-Signature" : NULL, signature }, { 0 } };
	struct buf body;
	int rc;

	snprintf(number, sizeof number, "%" PRId64, attempt);
	buf_init(&body, BODY_BYTES);
	rc = alert_hook_body(w, b, e, &body);
	rc = rc || !w->secret ? rc : alert_hook_sign(w->secret, time(NULL), &body, signature);
	rc = rc ? fail_set(f, CLIENT_BAD_SETUP, "out of memory") : alert_hook_post(w, w->path, &body, headers, f);
	buf_release(&body);
	return rc;
}

int alert_hook_send(struct alert_way *w, const struct alert_book *b, const struct alert_receiver *r, int64_t *upto,
	struct fail *f)
{
	struct alert_event e;
	int rc;

	if (!alert_book_next(b, r->accepted, &e))
		return 0;
	rc = alert_hook_one(w, b, &e, r->attempts + 1, f);
	if (!rc)
		*upto = e.seq;
	return rc;
}

/* ---- Alertmanager -------------------------------------------------------------------------- */

static void alert_manager_label(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_text(j, key, text);
}

/* Its clock is the one of this machine, at best: a start behind the end, or to come, would be refused. */
static void alert_manager_times(struct json *j, const struct alert_way *w, const struct alarm *a)
{
	int64_t now = time(NULL), stale = STALE_LOOKS * w->every, begin = a->began < now ? a->began : now, end;
	char text[WHEN_TEXT];

	end = now + (stale > STALE_LEAST ? stale : STALE_LEAST);
	if (a->ended_seq)
		end = a->ended < now ? a->ended : now;
	json_text(j, "startsAt", when_iso(begin < end ? begin : end, text));
	json_text(j, "endsAt", when_iso(end, text));
}

static void alert_manager_one(struct json *j, const struct alert_way *w, const struct alarm *a)
{
	json_begin_object(j, NULL);
	json_begin_object(j, "labels");
	json_text(j, "alertname", a->word[ALARM_RULE]);
	json_text(j, "severity", a->word[ALARM_SEVERITY]);
	json_text(j, "market", w->market);
	alert_manager_label(j, "kind", a->word[ALARM_KIND]);
	alert_manager_label(j, "id", a->word[ALARM_ID]);
	alert_manager_label(j, "name", a->word[ALARM_NAME]);
	alert_manager_label(j, "account", a->word[ALARM_ACCOUNT]);
	json_end(j);
	json_begin_object(j, "annotations");
	json_text(j, "summary", a->word[ALARM_TEXT]);
	alert_manager_label(j, "next", a->word[ALARM_NEXT]);
	json_end(j);
	alert_manager_times(j, w, a);
	json_end(j);
}

/* From alarm *at on, a batch of them. */
static int alert_manager_batch(struct alert_way *w, const struct alert_book *b, const char *path, size_t *at,
	struct fail *f)
{
	struct buf body;
	struct json j;
	int rc = 0;

	buf_init(&body, BODY_BYTES);
	j = json_to(&body);
	json_begin_array(&j, NULL);
	for (size_t n = 0; *at < b->count && n < BATCH; n++, (*at)++)
		alert_manager_one(&j, w, &b->alarms[*at]);
	json_end(&j);
	rc = j.error ? fail_set(f, CLIENT_BAD_SETUP, "out of memory") : alert_hook_post(w, path, &body, NULL, f);
	buf_release(&body);
	return rc;
}

int alert_manager_send(struct alert_way *w, const struct alert_book *b, int64_t *upto, struct fail *f)
{
	char *path;
	size_t at = 0;
	int rc = 0;

	if (asprintf(&path, "%s/api/v2/alerts", w->path) < 0)
		command_nomem();
	while (!rc && at < b->count)
		rc = alert_manager_batch(w, b, path, &at, f);
	free(path);
	if (!rc)
		*upto = b->last;
	return rc;
}
