/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer: sets libcurl's options, and judges how the request ended. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "market/client_part.h"
#include "market/wire.h"

int client_ready(struct client *c, struct fail *f)
{
	int rc = c->curl.easy_init ? 0 : client_load(&c->curl, f);

	if (!rc && !c->multi)
		c->multi = c->curl.multi_init();
	if (!rc && !c->multi)
		rc = fail_set(f, CLIENT_NO_HTTP, "out of memory");
	return rc;
}

/* ---- One transfer ---------------------------------------------------------------------- */

/* The value of the header "Name: value" if it has this name, without its end of line; else NULL. */
static size_t header_value(const char *line, size_t len, const char *name, const char **value)
{
	size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return 0;
	for (n++; n < len && (line[n] == ' ' || line[n] == '\t'); n++)
		;
	while (len > n && isspace((unsigned char)line[len - 1]))
		len--;
	*value = line + n;
	return len - n;
}

static void copy_value(char *room, size_t size, const char *value, size_t len)
{
	snprintf(room, size, "%.*s", (int)(len < size ? len : size - 1), value);
}

static void take_header(struct client_answer *a, const char *line, size_t len)
{
	const char *value;
	char text[40];
	struct tm date = { 0 };
	size_t n;
	long seconds;

	if ((n = header_value(line, len, "X-Request-Id", &value)))
		copy_value(a->request_id, sizeof a->request_id, value, n);
	if ((n = header_value(line, len, "Content-Type", &value)))
		copy_value(a->type, sizeof a->type, value, strcspn(value, ";\r\n") < n ? strcspn(value, ";\r\n") : n);
	if ((n = header_value(line, len, "Date", &value))) {
		copy_value(text, sizeof text, value, n);
		if (strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &date))
			a->date = (int64_t)timegm(&date);
	}
	if (header_value(line, len, "Nanopod-Market", &value))
		a->ours = true;
	if ((n = header_value(line, len, "Idempotent-Replayed", &value)))
		a->replayed = n == 4 && strncasecmp(value, "true", 4) == 0;
	if ((n = header_value(line, len, "Retry-After", &value))) {
		copy_value(text, sizeof text, value, n);
		if (str_to_long(text, 0, 86400, &seconds) == 0)
			a->retry_after = seconds;
	}
}

static void forget_headers(struct client_answer *a)
{
	buf_clear(&a->headers);
	a->request_id[0] = a->type[0] = '\0';
	a->ours = a->replayed = false;
	a->date = 0;
	a->retry_after = -1;
}

void client_clear(struct client_answer *a)
{
	forget_headers(a);
	buf_clear(&a->body);
	a->status = 0;
	a->sent = CLIENT_NOT_SENT;
}

/* libcurl passes each line with its end. A block that begins with "HTTP/" replaces the one before (100 Continue). */
static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	size_t len = size * count;

	if (len > 5 && strncmp(data, "HTTP/", 5) == 0)
		forget_headers(t->answer);
	if (buf_add(&t->answer->headers, data, len)) {
		t->too_large = true;
		return 0;
	}
	take_header(t->answer, data, len);
	return len;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	struct buf *to = &t->answer->body;
	size_t len = size * count;
	long status = 0;

	if (t->stream) {
		t->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
		t->begun = status >= 200 && status < 300;
		if (t->begun)
			to = &t->lines;
		if (t->begun && to->len - t->taken > STREAM_FULL) {
			t->paused = true;
			return CURL_WRITEFUNC_PAUSE;
		}
	}
	if (buf_add(to, data, len)) {
		t->too_large = true;
		return 0;
	}
	return len;
}

#define SET(option, value) (bad |= c->curl.easy_setopt(e, (option), (value)) != CURLE_OK)

/* Where it goes and whom to trust. */
static int set_way(struct client *c, CURL *e, const struct client_call *q)
{
	char *url = NULL;
	int bad = asprintf(&url, "%s%s", c->base, q->path) < 0;

	if (bad)
		return bad;
	SET(CURLOPT_URL, url);
	free(url);
	SET(CURLOPT_PATH_AS_IS, 1L);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L); /* never send the token to another server */
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	if (c->socket)
		SET(CURLOPT_UNIX_SOCKET_PATH, c->socket);
	if (!c->secure || c->loopback) /* a proxy would see the token, or makes no sense */
		SET(CURLOPT_NOPROXY, "*");
	if (c->ca)
		SET(CURLOPT_CAINFO, c->ca);
	if (c->pin) { /* the key is known: no authority need confirm it */
		SET(CURLOPT_PINNEDPUBLICKEY, c->pin);
		SET(CURLOPT_SSL_VERIFYPEER, 0L);
		SET(CURLOPT_SSL_VERIFYHOST, 0L);
	}
	return bad;
}

static int client_transfer_add_header(struct client *c, struct transfer *t, const char *name, const char *value)
{
	struct curl_slist *grown;
	char *line;

	if (asprintf(&line, "%s: %s", name, value) < 0)
		return -1;
	grown = c->curl.slist_append(t->headers, line);
	explicit_bzero(line, strlen(line));
	free(line);
	if (!grown)
		return -1;
	t->headers = grown;
	return 0;
}

bool client_repeatable(const struct client_call *q)
{
	return !q->once && (q->key || strcmp(q->method, "GET") == 0);
}

static int set_request(struct client *c, struct transfer *t, CURL *e, const struct client_call *q)
{
	char *bearer = NULL;
	int bad = c->token && asprintf(&bearer, "Bearer %s", c->token) < 0;

	bad |= client_transfer_add_header(c, t, "Accept", q->accept ? q->accept : "application/json");
	bad |= client_transfer_add_header(c, t, "User-Agent", PACKAGE_NAME "/" PACKAGE_VERSION);
	bad |= bearer ? client_transfer_add_header(c, t, "Authorization", bearer) : 0;
	bad |= q->key ? client_transfer_add_header(c, t, "Idempotency-Key", q->key) : 0;
	bad |= client_transfer_add_header(c, t, "Expect", "") ||
		(q->body && client_transfer_add_header(c, t, "Content-Type", q->type ? q->type : "application/json"));
	for (const struct client_header *h = q->headers; h && h->name; h++)
		bad |= client_transfer_add_header(c, t, h->name, h->value);
	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	free(bearer);
	if (q->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)(q->body_len ? q->body_len : strlen(q->body)));
		SET(CURLOPT_POSTFIELDS, q->body);
	} else if (strcmp(q->method, "POST") == 0) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)0);
		SET(CURLOPT_POSTFIELDS, "");
	}
	SET(CURLOPT_CUSTOMREQUEST, q->method);
	SET(CURLOPT_HTTPHEADER, t->headers);
	/* libcurl repeats a request that met a closing connection; allow that only where it does no harm. */
	SET(CURLOPT_FRESH_CONNECT, (long)!client_repeatable(q));
	return bad;
}

int client_begin(struct client *c, struct transfer *t, const struct client_call *q, struct fail *f)
{
	CURL *e = t->easy;
	int bad = 0;

	t->curl = &c->curl;
	c->curl.easy_reset(e);
	bad |= set_way(c, e, q) | set_request(c, t, e, q);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, (void *)t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, (void *)t);
	SET(CURLOPT_ERRORBUFFER, t->why);
	if (!t->stream)
		SET(CURLOPT_TIMEOUT_MS, (long)c->whole_ms);
	if (bad || c->curl.multi_add_handle(c->multi, e) != CURLM_OK)
		return fail_set(f, CLIENT_NO_HTTP,
			"cannot set up the request: libcurl lacks a feature, or is out of memory");
	t->added = true;
	return 0;
}

void client_end(struct client *c, struct transfer *t)
{
	if (t->added)
		c->curl.multi_remove_handle(c->multi, t->easy);
	if (t->headers)
		c->curl.slist_free_all(t->headers);
	if (t->easy)
		c->curl.easy_reset(t->easy); /* it points to memory that goes away */
	t->headers = NULL;
	t->added = false;
}

static void client_transfer_collect(struct client *c)
{
	struct CURLMsg *m;
	int left;

	while ((m = c->curl.multi_info_read(c->multi, &left))) {
		struct transfer *t = m->msg == CURLMSG_DONE && m->easy_handle == c->stream.easy ? &c->stream : NULL;

		if (m->msg != CURLMSG_DONE)
			continue;
		if (!t)
			c->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (void *)&t);
		if (t) {
			t->done = true;
			t->result = m->data.result;
		}
	}
}

int client_turn(struct client *c, struct transfer *t, int64_t ms, struct fail *f)
{
	struct curl_waitfd stop = { .fd = c->stop_fd, .events = CURL_WAIT_POLLIN };
	unsigned extra = c->stop_fd > 0;
	int running, ready;

	c->curl.multi_perform(c->multi, &running);
	client_transfer_collect(c);
	if (t->done || !ms)
		return 0;
	c->curl.multi_poll(c->multi, extra ? &stop : NULL, extra, ms < 0 || ms > 60000 ? 60000 : (int)ms, &ready);
	if (extra && stop.revents)
		return fail_set(f, CLIENT_STOPPED, "interrupted");
	c->curl.multi_perform(c->multi, &running);
	client_transfer_collect(c);
	return 0;
}

/* ---- Patience -------------------------------------------------------------------------- */

void client_patience_begin(struct client *c, const struct client_call *q)
{
	bool polls = strstr(q->path, "?wait=") || strstr(q->path, "&wait="); /* the market answers late on purpose */

	c->slow_said = false;
	c->slow_at = c->slow && !polls ? clock_ms() + c->slow_ms : 0;
	c->give_up_at = c->reads_ms > 0 && !polls && strcmp(q->method, "GET") == 0 ? clock_ms() + c->reads_ms : 0;
}

int64_t client_slow(struct client *c)
{
	if (!c->slow_at || c->slow_said)
		return -1;
	if (clock_ms() < c->slow_at)
		return c->slow_at - clock_ms() + 1;
	c->slow_said = true;
	c->slow(c->slow_arg, true);
	return -1;
}

int64_t client_patience(struct client *c, struct transfer *t)
{
	int64_t ms = client_slow(c), left = c->give_up_at - clock_ms();

	if (!c->give_up_at || t->answer->headers.len)
		return ms;
	if (left > 0)
		return ms < 0 || left < ms ? left : ms;
	t->done = true;
	t->result = CURLE_OPERATION_TIMEDOUT;
	t->limit_ms = c->reads_ms;
	return 0;
}

void client_patience_end(struct client *c)
{
	if (c->slow_said)
		c->slow(c->slow_arg, false);
	c->slow_said = false;
	c->slow_at = c->give_up_at = 0;
}

/* ---- What came of it ------------------------------------------------------------------- */

bool client_was_sent(const struct client *c, const struct transfer *t)
{
	long bytes = 0;

	c->curl.easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &bytes);
	return bytes > 0;
}

static int client_transfer_not_reached(const struct client *c, const struct transfer *t, struct fail *f)
{
	long why = 0;

	c->curl.easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &why);
	if (t->result == CURLE_OPERATION_TIMEDOUT)
		return fail_set(f, CLIENT_UNREACHABLE, "cannot connect to '%.200s' in time", c->url);
	if (t->result == CURLE_COULDNT_CONNECT && why)
		return fail_errno(f, CLIENT_UNREACHABLE, (int)why, "cannot reach '%.200s'", c->url);
	return fail_set(f, CLIENT_UNREACHABLE, "cannot reach '%.200s': %.200s", c->url,
		*t->why ? t->why : c->curl.easy_strerror(t->result));
}

static const char *client_transfer_harm(const struct client_call *q)
{
	return strcmp(q->method, "GET") == 0 ? "" : ", and it may have been done";
}

static int client_transfer_lost(const struct client *c, struct transfer *t, const struct client_call *q, struct fail *f)
{
	const char *harm = client_transfer_harm(q);

	t->answer->sent = CLIENT_MAYBE;
	if (t->result == CURLE_OPERATION_TIMEDOUT)
		return fail_set(f, CLIENT_LOST, "'%.200s' got the request but did not answer within %lld s%s", c->url,
			(long long)((t->limit_ms ? t->limit_ms : c->whole_ms) / 1000), harm);
	return fail_set(f, CLIENT_LOST, "the connection to '%.200s' was lost before the answer%s", c->url, harm);
}

/* No answer, or only part of one. */
static int client_transfer_failed(const struct client *c, struct transfer *t, const struct client_call *q,
	struct fail *f)
{
	bool sent = client_was_sent(c, t);

	if (t->too_large) {
		t->answer->sent = CLIENT_ANSWERED;
		return fail_set(f, CLIENT_BAD_ANSWER, "the answer is larger than %d MiB", BODY_MAX >> 20);
	}
	switch (t->result) {
	case CURLE_PEER_FAILED_VERIFICATION: case CURLE_SSL_ISSUER_ERROR: case CURLE_SSL_INVALIDCERTSTATUS:
		return fail_set(f, CLIENT_UNTRUSTED, "cannot verify the certificate of '%.200s': %.200s", c->url,
			t->why);
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
		return fail_set(f, CLIENT_UNTRUSTED,
			"the key of '%.200s' is not the pinned one; nothing was sent; ask its "
			"operator whether it changed before you trust it",
			c->url);
	case CURLE_SSL_CACERT_BADFILE:
		return fail_set(f, CLIENT_BAD_SETUP, "cannot read the certificates in '%.200s'",
			c->ca ? c->ca : "the system's file");
	case CURLE_NOT_BUILT_IN: case CURLE_FAILED_INIT: case CURLE_OUT_OF_MEMORY:
		return fail_set(f, CLIENT_NO_HTTP, "libcurl cannot do it: %.200s",
			*t->why ? t->why : c->curl.easy_strerror(t->result));
	case CURLE_WEIRD_SERVER_REPLY: case CURLE_UNSUPPORTED_PROTOCOL: case CURLE_HTTP2: /* the second: HTTP/0.9 */
		t->answer->sent = CLIENT_MAYBE;
		return fail_set(f, CLIENT_BAD_ANSWER, "the server at '%.200s' does not speak HTTP", c->url);
	default:
		return sent ? client_transfer_lost(c, t, q, f) : client_transfer_not_reached(c, t, f);
	}
}

/* The market's own sentence, with the field if the sentence does not name it. */
static int client_transfer_refused(const struct client *c, struct client_answer *a, const struct client_call *q,
	struct fail *f)
{
	struct model_error e = { 0 };
	struct doc *d = NULL;
	int rc;

	if (a->status >= 300 && a->status < 400)
		return fail_set(f, CLIENT_BAD_ANSWER,
			"'%.200s' redirects (%d), but the token is not sent elsewhere; check the URL", c->url,
			a->status);
	if (doc_parse(buf_text(&a->body), a->body.len, &d, NULL) != 0)
		d = NULL;
	wire_error(d, a->status, &e);
	if (a->status == 502 || a->status == 504 || (a->status >= 500 && !(e.message && (e.code || e.type)))) {
		/* Not the market's word: a proxy that gave up does not know what became of the request. */
		doc_free(d);
		a->sent = CLIENT_MAYBE;
		return fail_set(f, CLIENT_LOST, "a proxy answered %d for '%.200s'%s", a->status, c->url,
			client_transfer_harm(q));
	}
	if (e.detail_count && e.details[0].field)
		snprintf(a->field, sizeof a->field, "%s", e.details[0].field);
	if (e.message && a->status != 404 && e.detail_count && e.details[0].field &&
		!strstr(e.message, e.details[0].field))
		rc = fail_set(f, e.reason, "%.350s ('%.80s')", e.message, e.details[0].field);
	else if (e.message)
		rc = fail_set(f, e.reason, "%.400s", e.message);
	else
		rc = fail_set(f, e.reason, "%s (the market answered %d without details)", reason_row(e.reason)->text,
			a->status);
	doc_free(d);
	return rc;
}

int client_verdict(const struct client *c, struct transfer *t, const struct client_call *q, struct fail *f)
{
	struct client_answer *a = t->answer;
	long status = 0;

	if (t->result != CURLE_OK)
		return client_transfer_failed(c, t, q, f);
	c->curl.easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	a->status = (int)status;
	a->sent = CLIENT_ANSWERED;
	return status >= 200 && status < 300 ? 0 : client_transfer_refused(c, a, q, f);
}
