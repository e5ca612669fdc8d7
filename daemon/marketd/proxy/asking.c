/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's way to a backend and its answer's way back. Until the client has seen the first byte, another backend may
 * take over; from then on the answer is this backend's, and ends with an error where the backend fails.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/str.h"
#include "marketd/http/jsonbounds.h"
#include "marketd/proxy/proxy_own.h"

enum { CONNECT_MS = 3000, ASKING_MOST_MS = 6 * 3600 * 1000, REFUSAL_BODY = 64 << 10, ASKING_HEADER = 400 };
enum { ASKING_DEPTH = 128, ASKING_VALUES = 200000 }; /* of a request: a parsed value takes up to 300 bytes */

#define EVENT_STREAM "text/event-stream"

/* The backend has no more to do for it. */
static void asking_leave(struct relay *x)
{
	errand_free(x->errand);
	x->errand = NULL;
	if (x->backend)
		x->backend->active--;
	x->backend = NULL;
}

/* No other backend will be asked: the request is no longer needed. */
static void asking_forget(struct relay *x)
{
	asking_leave(x);
	free(x->sent);
	x->sent = NULL;
	x->sent_len = 0;
	json_decref(x->request);
	x->request = NULL;
	buf_release(&x->body);
	if (!x->underway)
		return;
	underway_hold(x, x->out.len);
	underway_promise(x, 0);
}

static void asking_refuse(struct relay *x)
{
	x->state = RELAY_OVER;
	refusal_answer(x);
	asking_forget(x);
	relay_wake(x);
}

/* ---- To a backend --------------------------------------------------------------------------- */

static const char *asking_path(const struct relay *x)
{
	return x->endpoint == ENDPOINT_CHAT    ? "/v1/chat/completions"
		: x->endpoint == ENDPOINT_TEXT ? "/v1/completions"
					       : "/v1/embeddings";
}

static int asking_reword(struct relay *x, const struct backend *b)
{
	json_t *options = json_object_get(x->request, "stream_options");

	if (json_object_set_new(x->request, "model", json_string(b->file->model)) != 0)
		return -ENOMEM;
	if (x->stream && !json_is_object(options)) {
		options = json_object();
		if (json_object_set_new(x->request, "stream_options", options) != 0)
			return -ENOMEM;
	}
	if (x->stream && json_object_set_new(options, "include_usage", json_true()) != 0)
		return -ENOMEM;
	free(x->sent);
	x->sent = json_dumps(x->request, JSON_COMPACT);
	x->sent_len = x->sent ? strlen(x->sent) : 0;
	return x->sent ? 0 : -ENOMEM;
}

/*
 * The client's request in the backend's words: its name of the model, and a stream that says what it used. Text alone
 * is kept, which the next backend's is made of: parsed it is many times as large.
 */
static int asking_write(struct relay *x, const struct backend *b, struct fail *f)
{
	int rc;

	if (!x->request)
		x->request = json_loads(x->sent, 0, NULL);
	rc = asking_reword(x, b);
	json_decref(x->request);
	x->request = NULL;
	if (rc)
		return fail_set(f, rc, "out of memory");
	return underway_hold(x, x->sent_len) ? 0 : fail_set(f, -EBUSY, "too many large requests are under way");
}

static int asking_send(struct relay *x, struct backend *b, struct fail *f)
{
	char url[GATEWAY_TEXT + 64], key[ASKING_HEADER], account[ASKING_HEADER], id[ASKING_HEADER];
	const char *headers[] = { "Content-Type: application/json", account, id, *b->file->key ? key : NULL, NULL };
	struct errand_call call = { .method = "POST",
		.url = url,
		.headers = headers,
		.timeout_ms = ASKING_MOST_MS,
		.connect_ms = CONNECT_MS,
		.max = WINDOW,
		.lent = true,
		.stream = true,
		.repeatable = true,
		.owner = x };
	int rc = asking_write(x, b, f);

	if (rc)
		return rc;
	snprintf(url, sizeof url, "%s%s", b->url, asking_path(x));
	snprintf(key, sizeof key, "Authorization: Bearer %s", b->file->key);
	snprintf(account, sizeof account, "X-Nanopod-Account: %s", x->who.account);
	snprintf(id, sizeof id, "X-Request-Id: %s", x->id);
	call.body = x->sent;
	call.body_len = x->sent_len;
	rc = errand_new(x->proxy->outward, &call, &x->errand, f);
	explicit_bzero(key, sizeof key);
	if (rc)
		x->errand = NULL;
	return rc;
}

/* Asks the next backend, or says that there is none; then the refusal tells what the last one did. */
static void asking_next(struct relay *x)
{
	struct backend *b = x->tries < TRIES_MAX ? backends_pick(x->model, x->tried) : NULL;
	struct fail f = { 0 };

	if (!b) {
		asking_refuse(x);
		return;
	}
	x->tries++;
	x->tried |= UINT64_C(1) << (b - x->model->backends);
	x->backend = b;
	b->active++;
	x->state = RELAY_ASKS;
	x->deadline = x->proxy->now_ms + x->proxy->served->file.timeout * 1000;
	sse_release(&x->sse);
	sse_init(&x->sse);
	x->tokens = (struct tokens){ .asked = x->tokens.asked };
	x->events = x->failed = false;
	if (asking_send(x, b, &f) == 0)
		return;
	refusal_set(&x->refusal, 503, "server_error", "overloaded", "the gateway cannot ask a backend: %.200s", f.text);
	asking_refuse(x);
}

/* ---- The request ---------------------------------------------------------------------------- */

static bool asking_read(struct relay *x)
{
	json_error_t why;
	const char *name;
	json_t *stream;

	if (!json_bounded(buf_text(&x->body), x->body.len, ASKING_DEPTH, ASKING_VALUES)) {
		refusal_set(&x->refusal, 400, "invalid_request_error", "too_many_values",
			"the request has more than %d values, or is nested deeper than %d; send it in parts",
			ASKING_VALUES, ASKING_DEPTH);
		return false;
	}
	x->request = json_loadb(buf_text(&x->body), x->body.len, JSON_REJECT_DUPLICATES, &why);
	buf_release(&x->body);
	if (!json_is_object(x->request)) {
		refusal_set(&x->refusal, 400, "invalid_request_error", "invalid_json",
			"the request is no JSON object: %.150s", x->request ? "it is another value" : why.text);
		return false;
	}
	name = json_string_value(json_object_get(x->request, "model"));
	x->model = name ? backends_model(x->served, name) : NULL;
	if (!x->model) {
		refusal_set(&x->refusal, name ? 404 : 400, "invalid_request_error",
			name ? "model_not_found" : "missing_required_parameter",
			name ? "there is no model '%.100s'; GET /v1/models lists all" : "'model' is required%.0s",
			name ? name : "");
		return false;
	}
	snprintf(x->name, sizeof x->name, "%s", name);
	stream = json_object_get(x->request, "stream");
	if (stream && !json_is_boolean(stream) && !json_is_null(stream)) {
		refusal_set(&x->refusal, 400, "invalid_request_error", "invalid_type",
			"'stream' must be true or false");
		return false;
	}
	x->stream = json_is_true(stream) && x->endpoint != ENDPOINT_EMBED;
	x->wants_usage = json_is_true(json_object_get(json_object_get(x->request, "stream_options"), "include_usage"));
	tokens_asked(&x->tokens, x->request);
	return true;
}

/* The policy's limits, which count this request if they let it through. */
static bool asking_passes(struct relay *x)
{
	int64_t limit = 0, retry = 0;
	const char *what = budgets_gate(&x->proxy->budgets, x->who.account, &x->who.limits, time(NULL), &limit, &retry);

	if (!what) {
		underway_promise(x, x->tokens.asked);
		return true;
	}
	refusal_set(&x->refusal, 429, "rate_limit_error", "rate_limit_exceeded",
		"the market's policy '%s' allows this account %lld %s", x->who.plan, (long long)limit, what);
	snprintf(x->refusal.retry, sizeof x->refusal.retry, "%lld", (long long)retry);
	return false;
}

static bool asking_affords(struct relay *x)
{
	int64_t retry = 0;
	const struct proxyfile_budget *b = budgets_over(&x->proxy->budgets, x->who.account, x->who.name, x->who.token,
		time(NULL), &retry);

	if (!b)
		return asking_passes(x);
	if (!retry) {
		refusal_busy(&x->refusal, "requests under way may use up the budget of this %s",
			*b->token ? "key" : "account");
		return false;
	}
	refusal_set(&x->refusal, 429, "insufficient_quota", "insufficient_quota",
		"the budget of this %s is used up: %ld tokens%s", *b->token ? "key" : "account",
		b->day ? b->day : b->total, b->day ? " a day" : "");
	snprintf(x->refusal.retry, sizeof x->refusal.retry, "%lld", (long long)retry);
	x->refusal.final = true;
	return false;
}

void asking_begin(struct relay *x)
{
	if (!asking_read(x) || !asking_affords(x)) {
		asking_refuse(x);
		return;
	}
	if (x->proxy->spool.sick) {
		refusal_set(&x->refusal, 503, "server_error", "unavailable",
			"the gateway cannot write down what is used; try again");
		asking_refuse(x);
		return;
	}
	refusal_set(&x->refusal, 502, "server_error", "backend_failed", "no backend of '%s' answers; try again",
		x->name);
	asking_next(x);
}

/* ---- The answer's end -------------------------------------------------------------------------- */

static void asking_end(struct relay *x, enum outcome outcome)
{
	x->outcome = outcome;
	counting_note(x);
	asking_forget(x);
	x->state = RELAY_COUNT;
	x->refusal.status = 0;
}

/* What it said is of no use. status 0: it gave no answer. */
static void asking_fails(struct relay *x, int status, const char *why)
{
	log_at(x->proxy->log, LOG_INFO, "%s: '%s' failed: %s", x->id, x->backend->file->url, why);
	if (x->state == RELAY_STREAM) {
		asking_end(x, OUTCOME_BROKEN);
		return;
	}
	if (status == 0 || status >= 500)
		backends_failed(x->backend);
	asking_leave(x);
	buf_release(&x->out);
	asking_next(x);
}

void asking_counted(struct relay *x)
{
	struct refusal r;
	char *text;

	x->state = RELAY_OVER;
	x->deadline = x->proxy->now_ms + x->proxy->served->file.timeout * 1000;
	if (!x->events) {
		x->status = 200;
	} else if (x->outcome == OUTCOME_DONE) {
		buf_adds(&x->out, "data: [DONE]\n\n");
	} else if (!x->failed) {
		refusal_set(&r, 502, "server_error", x->outcome == OUTCOME_SILENT ? "timeout" : "backend_failed",
			x->outcome == OUTCOME_SILENT ? "the backend said nothing more for too long"
						     : "the backend failed within its answer");
		text = refusal_json(&r);
		buf_addf(&x->out, "data: %s\n\n", text ? text : "{\"error\":{}}");
		free(text);
	}
	relay_wake(x);
}

/* ---- A stream --------------------------------------------------------------------------------- */

static void asking_event(struct relay *x)
{
	const struct buf *data = &x->sse.data;
	enum tokens_chunk kind;
	json_t *chunk;

	if (str_starts(buf_text(data), "[DONE]")) {
		asking_end(x, OUTCOME_DONE);
		return;
	}
	chunk = json_loadb(buf_text(data), data->len, 0, NULL);
	if (!json_is_object(chunk)) {
		json_decref(chunk);
		asking_fails(x, 500, "an event is no JSON object");
		return;
	}
	kind = tokens_chunk(&x->tokens, chunk);
	json_decref(chunk);
	if (kind == TOKENS_ERROR && x->state == RELAY_ASKS) {
		asking_fails(x, 500, "its first event is an error");
		return;
	}
	if (kind == TOKENS_USAGE_ALONE && !x->wants_usage)
		return;
	if (buf_reserve(&x->out, data->len + sizeof "data: \n\n") != 0) {
		asking_fails(x, 500, "out of memory");
		return;
	}
	buf_adds(&x->out, "data: ");
	buf_add(&x->out, data->data, data->len);
	buf_adds(&x->out, "\n\n");
	x->state = RELAY_STREAM;
	x->refusal.status = 0;
	x->failed = kind == TOKENS_ERROR;
	if (x->failed)
		asking_end(x, OUTCOME_BROKEN);
}

static bool asking_open(const struct relay *x)
{
	return x->events && (x->state == RELAY_ASKS || x->state == RELAY_STREAM);
}

/* Moves events on while the client has room for them. */
void asking_pump(struct relay *x)
{
	const struct errand *began = x->errand;

	while (asking_open(x) && x->errand == began && x->out.len - x->taken < OUT_MAX) {
		const struct errand_answer *a = errand_look(x->errand);
		int rc = sse_next(&x->sse);

		if (rc == 1) {
			asking_event(x);
			continue;
		}
		if (rc == 0 && a->body.len) {
			rc = sse_add(&x->sse, a->body.data, a->body.len);
			errand_taken(x->errand, a->body.len);
			x->deadline = x->proxy->now_ms + x->proxy->served->file.timeout * 1000;
			if (rc == 0)
				continue;
		}
		if (rc)
			asking_fails(x, 500, "an event is too large");
		else if (a->state != ERRAND_RUNNING)
			asking_fails(x, 0, a->state == ERRAND_FAILED ? a->why : "its stream ended without [DONE]");
		break;
	}
	if (x->state == RELAY_STREAM || (x->state == RELAY_COUNT && x->out.len > x->taken))
		relay_wake(x);
}

/* ---- A whole answer ------------------------------------------------------------------------------ */

static void asking_whole(struct relay *x, const struct errand_answer *a)
{
	struct proxy *p = x->proxy;
	json_t *answer;

	if (!underway_hold(x, x->sent_len + x->out.len + a->body.len) ||
		buf_add(&x->out, a->body.data, a->body.len) != 0) {
		asking_fails(x, 200, "its answer is too large");
		return;
	}
	if (a->body.len)
		x->deadline = p->now_ms + p->served->file.timeout * 1000;
	errand_taken(x->errand, a->body.len);
	if (a->state == ERRAND_RUNNING || a->body.len)
		return;
	if (a->state == ERRAND_FAILED) {
		asking_fails(x, 0, a->why);
		return;
	}
	answer = json_loadb(buf_text(&x->out), x->out.len, 0, NULL);
	if (json_is_object(answer)) {
		tokens_whole(&x->tokens, answer);
		asking_end(x, OUTCOME_DONE);
	} else {
		asking_fails(x, 500, "its answer is no JSON object");
	}
	json_decref(answer);
}

/* What another backend may do better; one that knows neither our key nor the model is not the client's fault. */
static bool asking_elsewhere(int status)
{
	return status < 400 || status == 401 || status == 403 || status == 404 || status == 407 || status == 408 ||
		status == 429 || status >= 500;
}

/* The last word of the backends, if no other one answers. */
static void asking_remember(struct relay *x, const struct errand_answer *a)
{
	if (a->status == 429) {
		refusal_set(&x->refusal, 429, "rate_limit_error", "rate_limit_exceeded",
			"all backends of '%s' are busy; try again", x->name);
		if (strlen(a->retry_after) < RETRY_TEXT)
			memcpy(x->refusal.retry, a->retry_after, strlen(a->retry_after) + 1);
	} else {
		refusal_set(&x->refusal, 502, "server_error", "backend_failed",
			"the backend of '%s' failed with status %d; try again", x->name, a->status);
	}
}

static void asking_status(struct relay *x, const struct errand_answer *a)
{
	json_t *answer;
	char why[64];

	if (a->state == ERRAND_RUNNING && a->body.len < REFUSAL_BODY)
		return;
	if (asking_elsewhere(a->status)) {
		snprintf(why, sizeof why, "status %d", a->status);
		asking_remember(x, a);
		asking_fails(x, a->status, why);
		return;
	}
	answer = json_loadb(buf_text(&a->body), a->body.len, 0, NULL);
	refusal_set(&x->refusal, a->status, "invalid_request_error", "refused", "the backend refuses the request");
	if (json_is_object(json_object_get(answer, "error")) && buf_add(&x->out, a->body.data, a->body.len) == 0) {
		x->status = a->status;
		x->refusal.status = 0;
	}
	json_decref(answer);
	asking_refuse(x);
}

void asking_take(struct relay *x)
{
	const struct errand_answer *a = x->errand ? errand_look(x->errand) : NULL;

	if (!a)
		return;
	if (!a->status && a->state == ERRAND_FAILED) {
		asking_fails(x, 0, a->why);
	} else if (a->status && a->status != 200) {
		asking_status(x, a);
	} else if (a->status) {
		x->events = strncasecmp(a->content_type, EVENT_STREAM, sizeof EVENT_STREAM - 1) == 0;
		if (!x->events)
			asking_whole(x, a);
		else if (x->stream)
			asking_pump(x);
		else
			asking_fails(x, 500, "it sent a stream that nobody asked for");
	}
}

/* ---- The client, and time --------------------------------------------------------------------------- */

void asking_late(struct relay *x)
{
	if (x->state == RELAY_ASKS) {
		log_at(x->proxy->log, LOG_INFO, "%s: '%s' says nothing", x->id, x->backend->file->url);
		backends_failed(x->backend);
		refusal_set(&x->refusal, 504, "server_error", "timeout", "the backend of '%s' gave no answer in time",
			x->name);
		asking_refuse(x);
	} else if (x->state == RELAY_STREAM && x->out.len == x->taken) {
		asking_end(x, OUTCOME_SILENT);
	} else {
		asking_left(x);
	}
}

void asking_left(struct relay *x)
{
	x->gone = true;
	if (x->errand) {
		x->outcome = OUTCOME_LEFT;
		counting_note(x);
	}
	asking_forget(x);
	x->state = RELAY_OVER;
	relay_wake(x);
}
