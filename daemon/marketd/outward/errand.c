/* SPDX-License-Identifier: Apache-2.0 */
/* One request: what libcurl may do for it, and what became of it. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "marketd/outward/outward_own.h"

#define SET(option, value) (bad |= c->easy_setopt(e->easy, (option), (value)) != CURLE_OK)

static void errand_take_field(const char *line, size_t len, const char *name, char room[ERRAND_FIELD])
{
	size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0)
		return;
	while (n < len && (line[n] == ' ' || line[n] == '\t'))
		n++;
	while (len > n && isspace((unsigned char)line[len - 1]))
		len--;
	if (len - n >= ERRAND_FIELD)
		return; /* half of a tag is none */
	memcpy(room, line + n, len - n);
	room[len - n] = '\0';
}

static void errand_tell(struct errand *e)
{
	if (e->owner && list_empty(&e->fresh))
		list_append(&e->outward->news, &e->fresh);
}

/* A block that begins with "HTTP/" replaces the one before (100 Continue). */
static size_t errand_on_header(char *data, size_t size, size_t count, void *arg)
{
	struct errand *e = arg;
	size_t len = size * count;

	e->header_bytes += len;
	if (e->header_bytes > ERRAND_HEADERS_MAX) {
		e->too_large = true;
		return 0;
	}
	if (len > 5 && strncmp(data, "HTTP/", 5) == 0)
		e->answer.etag[0] = e->answer.cache_control[0] = e->answer.content_type[0] = e->answer.retry_after[0] =
			'\0';
	errand_take_field(data, len, "etag:", e->answer.etag);
	errand_take_field(data, len, "cache-control:", e->answer.cache_control);
	errand_take_field(data, len, "content-type:", e->answer.content_type);
	errand_take_field(data, len, "retry-after:", e->answer.retry_after);
	return len;
}

static size_t errand_on_body(char *data, size_t size, size_t count, void *arg)
{
	struct errand *e = arg;
	size_t len = size * count;

	if (e->stream) {
		long status = 0;

		e->outward->curl.easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
		e->answer.status = (int)status;
		errand_tell(e);
		e->paused = e->answer.body.len && e->answer.body.len + len > e->answer.body.max;
		if (e->paused)
			return CURL_WRITEFUNC_PAUSE;
	}
	if (buf_add(&e->answer.body, data, len) == 0)
		return len;
	e->too_large = true;
	return 0;
}

/*
 * Where it goes and whom it trusts. It never follows a redirect and knows no proxy of the environment: the market sends
 * secrets to the server that its operator named, and to no other.
 */
static int errand_set_way(struct errand *e, const struct errand_call *call)
{
	const struct curl_calls *c = &e->outward->curl;
	int bad = 0;

	SET(CURLOPT_URL, call->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (call->ca)
		SET(CURLOPT_CAINFO, call->ca);
	if (call->socket)
		SET(CURLOPT_UNIX_SOCKET_PATH, call->socket);
	SET(CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
	if (call->connect_ms)
		SET(CURLOPT_CONNECTTIMEOUT_MS, (long)call->connect_ms);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_QUICK_EXIT, 1L); /* else its end would wait for a resolver that hangs, and the ledger with it */
	SET(CURLOPT_FRESH_CONNECT, (long)!call->repeatable); /* libcurl repeats what met a closing connection */
	return bad;
}

static int errand_add_header(struct errand *e, const char *line)
{
	struct curl_slist *grown = e->outward->curl.slist_append(e->headers, line);

	if (!grown)
		return -1;
	e->headers = grown;
	return 0;
}

static int errand_set_request(struct errand *e, const struct errand_call *call)
{
	const struct curl_calls *c = &e->outward->curl;
	int bad = errand_add_header(e, "User-Agent: " PACKAGE_NAME "/" PACKAGE_VERSION) |
		errand_add_header(e, "Expect:");

	for (size_t i = 0; call->headers && call->headers[i]; i++)
		bad |= errand_add_header(e, call->headers[i]);
	if (call->body) {
		if (!call->lent)
			bad |= buf_add(&e->sent, call->body, call->body_len) != 0;
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_len);
		SET(CURLOPT_POSTFIELDS, call->lent ? call->body : buf_text(&e->sent));
	}
	SET(CURLOPT_CUSTOMREQUEST, call->method);
	SET(CURLOPT_HTTPHEADER, e->headers);
	SET(CURLOPT_HEADERFUNCTION, errand_on_header);
	SET(CURLOPT_HEADERDATA, (void *)e);
	SET(CURLOPT_WRITEFUNCTION, errand_on_body);
	SET(CURLOPT_WRITEDATA, (void *)e);
	SET(CURLOPT_ERRORBUFFER, e->detail);
	SET(CURLOPT_PRIVATE, (void *)e);
	return bad;
}

struct errand *errand_make(struct outward *o, const struct errand_call *call)
{
	struct errand *e = calloc(1, sizeof *e);

	if (!e)
		return NULL;
	list_init(&e->link);
	list_init(&e->fresh);
	e->outward = o;
	e->owner = call->owner;
	e->stream = call->stream;
	buf_init(&e->sent, o->body);
	buf_init(&e->answer.body, call->max);
	e->where = strndup(call->url, strcspn(call->url, "?#"));
	e->easy = o->curl.easy_init();
	if (e->where && e->easy && !errand_set_way(e, call) && !errand_set_request(e, call))
		return e;
	errand_free(e);
	return NULL;
}

const struct errand_answer *errand_look(const struct errand *e)
{
	return &e->answer;
}

/* It runs no longer. */
static void errand_leave(struct errand *e)
{
	struct outward *o = e->outward;

	if (list_empty(&e->link))
		return;
	o->curl.multi_remove_handle(o->multi, e->easy);
	list_remove(&e->link);
	o->count--;
}

void errand_end(struct errand *e, CURLcode result)
{
	struct outward *o = e->outward;
	long status = 0;

	o->curl.easy_getinfo(e->easy, CURLINFO_RESPONSE_CODE, &status);
	e->answer.status = (int)status;
	e->answer.state = result == CURLE_OK && !e->too_large ? ERRAND_DONE : ERRAND_FAILED;
	if (e->too_large)
		fail_set(&e->why, -EFBIG, "'%.300s' answered with more than fits", e->where);
	else if (result != CURLE_OK)
		fail_set(&e->why, -EIO, "'%.300s' gave no answer: %.150s", e->where,
			e->detail[0] ? e->detail : o->curl.easy_strerror(result));
	e->answer.why = e->why.text;
	if (e->answer.state == ERRAND_FAILED && !e->stream)
		buf_release(&e->answer.body);
	errand_leave(e);
	o->ended++;
	errand_tell(e);
}

void errand_taken(struct errand *e, size_t n)
{
	buf_drop(&e->answer.body, n);
	if (!e->paused || e->answer.body.len > e->answer.body.max / 2 || e->answer.state != ERRAND_RUNNING)
		return;
	e->paused = false;
	e->outward->curl.easy_pause(e->easy, CURLPAUSE_CONT);
}

void errand_free(struct errand *e)
{
	if (!e)
		return;
	errand_leave(e);
	list_remove(&e->fresh);
	if (e->easy)
		e->outward->curl.easy_cleanup(e->easy);
	if (e->headers)
		e->outward->curl.slist_free_all(e->headers);
	if (e->sent.data)
		explicit_bzero(e->sent.data, e->sent.len);
	buf_release(&e->sent);
	if (e->answer.body.data)
		explicit_bzero(e->answer.body.data, e->answer.body.len);
	buf_release(&e->answer.body);
	free(e->where);
	free(e);
}
