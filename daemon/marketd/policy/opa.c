/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/opa.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "marketd/outward/outward.h"
#include "marketd/policy/inputkey.h"
#include "marketd/policy/opatoken.h"

enum {
	OPA_SLOTS = 1024,
	OPA_WAYS = 8,          /* slots that one input may have */
	OPA_TIMEOUT_MS = 1000, /* for one question */
	OPA_KEPT_MS = 5000,    /* how long a decision counts */
	OPA_FAILED_MS = 500,   /* and a failure, so that all who wait for one question are answered by it */
	OPA_FAILURES = 5,      /* one after another: */
	OPA_PAUSE_MS = 5000,   /* so long nothing is asked; then one question is tried */
	OPA_ANSWER_MAX = 64 * 1024
};

/* One input: a question under way, or what came of it. */
struct opa_slot {
	uint8_t key[INPUTKEY];
	struct errand *errand; /* NULL: none */
	int64_t until;         /* the decision counts; 0: there is none */
	struct decision decision;
};

struct opa {
	const struct opa_settings *set;
	char *url, *socket;   /* socket NULL: the URL's host */
	char token[OPATOKEN]; /* "": it wants none */
	struct outward *outward;
	const struct log *log;
	int failures;           /* one after another */
	int64_t paused;         /* nothing is asked until then */
	struct opa_slot *trial; /* the question that is tried after a pause */
	struct opa_slot slots[OPA_SLOTS];
};

static void opa_deny(struct decision *d, const char *why)
{
	*d = (struct decision){ .rate_ppm = RATE_FULL, .rule = "opa" };
	snprintf(d->reason, sizeof d->reason, "%s", why);
}

int opa_reload(struct opa *o, struct fail *f)
{
	return opatoken_read(o->set->token_file, o->token, f);
}

int opa_new(struct opa **out, const struct opa_settings *set, struct outward *outward, const struct log *log,
	struct fail *f)
{
	const char *where = set->where, *host = strstr(where, "://");
	bool local = str_starts(where, "unix:/");
	size_t size = strlen(where) + sizeof "http://localhost" OPA_PATH;
	struct opa *o;
	int rc;

	if (!local && (!host || (!str_starts(where, "http://") && !str_starts(where, "https://")) || !host[3]))
		return fail_set(f, -EINVAL, "invalid --opa '%.200s'; give http://HOST:PORT or unix:/PATH", where);
	o = calloc(1, sizeof *o);
	if (o) {
		o->url = malloc(size);
		o->socket = local ? strdup(where + strlen("unix:")) : NULL;
	}
	if (!o || !o->url || (local && !o->socket)) {
		opa_free(o);
		return fail_set(f, -ENOMEM, "out of memory");
	}
	snprintf(o->url, size, "%s%s", local ? "http://localhost" : where,
		local || !strchr(host + 3, '/') ? OPA_PATH : "");
	o->set = set;
	o->outward = outward;
	o->log = log;
	rc = opa_reload(o, f);
	if (rc)
		opa_free(o);
	else
		*out = o;
	return rc;
}

void opa_free(struct opa *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < OPA_SLOTS; i++)
		errand_free(o->slots[i].errand);
	explicit_bzero(o->token, sizeof o->token);
	free(o->url);
	free(o->socket);
	free(o);
}

/* ---- What came of a question ------------------------------------------------------------ */

static void opa_failed(struct opa *o, struct opa_slot *s, int64_t now_ms, const char *why)
{
	opa_deny(&s->decision, "the market's policy server does not answer; try again in a minute");
	s->until = now_ms + OPA_FAILED_MS;
	if (++o->failures >= OPA_FAILURES)
		o->paused = now_ms + OPA_PAUSE_MS;
	if (o->failures <= OPA_FAILURES)
		log_at(o->log, LOG_WARN, "the policy server failed, and the market denies: %s%s", why,
			o->failures == OPA_FAILURES ? "; asking it again only now and then" : "");
}

/* An undefined decision is an answer without a result: no policy decides, so nothing is allowed. */
static void opa_answered(struct opa *o, struct opa_slot *s, int64_t now_ms, const json_t *answer)
{
	const json_t *result = json_object_get(answer, "result");
	struct fail why = { 0 };

	if (o->failures >= OPA_FAILURES)
		log_at(o->log, LOG_WARN, "the policy server answers again");
	o->failures = 0;
	s->until = now_ms + OPA_KEPT_MS;
	if (!result) {
		opa_deny(&s->decision, "the market's policy does not decide this");
	} else if (decision_read(result, &s->decision, &why) != 0) {
		opa_deny(&s->decision, "the market's policy has an error; tell the operator");
		log_at(o->log, LOG_WARN, "the market denies what the policy server decides: %s", why.text);
	}
}

/* Takes what came of the slot's question, if it is over. */
static void opa_settle(struct opa *o, struct opa_slot *s, int64_t now_ms)
{
	const struct errand_answer *a = s->errand ? errand_look(s->errand) : NULL;
	char status[64];
	json_t *answer;

	if (!a || a->state == ERRAND_RUNNING)
		return;
	answer = a->state == ERRAND_DONE && a->status == 200
		? json_loadb(buf_text(&a->body), a->body.len, JSON_REJECT_DUPLICATES, NULL)
		: NULL;
	snprintf(status, sizeof status, "HTTP status %d without a JSON object", a->status);
	if (json_is_object(answer))
		opa_answered(o, s, now_ms, answer);
	else
		opa_failed(o, s, now_ms, a->state == ERRAND_DONE ? status : a->why);
	json_decref(answer);
	errand_free(s->errand);
	s->errand = NULL;
	if (o->trial == s)
		o->trial = NULL;
}

/* ---- Asking ----------------------------------------------------------------------------- */

/* The slot of this key, or one that may become it; NULL: all that it may have wait for an answer. */
static struct opa_slot *opa_slot(struct opa *o, const uint8_t key[INPUTKEY], int64_t now_ms)
{
	struct opa_slot *from, *s, *oldest = NULL;
	uint32_t n;

	memcpy(&n, key, sizeof n);
	from = &o->slots[n % (OPA_SLOTS / OPA_WAYS) * OPA_WAYS];
	for (s = from; s < from + OPA_WAYS; s++) {
		opa_settle(o, s, now_ms);
		if ((s->errand || s->until) && memcmp(s->key, key, INPUTKEY) == 0)
			return s;
		if (!s->errand && (!oldest || s->until < oldest->until))
			oldest = s;
	}
	if (oldest) {
		memcpy(oldest->key, key, INPUTKEY);
		oldest->until = 0;
	}
	return oldest;
}

static int opa_send(struct opa *o, struct opa_slot *s, json_t *input, struct fail *f)
{
	char bearer[OPATOKEN + sizeof "Authorization: Bearer "];
	const char *const headers[] = { "Content-Type: application/json", *o->token ? bearer : NULL, NULL };
	json_t *doc = json_pack("{s:O}", "input", input);
	char *body = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	struct errand_call call = {
		.method = "POST",
		.url = o->url,
		.socket = o->socket,
		.headers = headers,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.timeout_ms = OPA_TIMEOUT_MS,
		.max = OPA_ANSWER_MAX,
		.repeatable = true,
	};
	int rc;

	snprintf(bearer, sizeof bearer, "Authorization: Bearer %s", o->token);
	rc = body ? errand_new(o->outward, &call, &s->errand, f) : fail_set(f, -ENOMEM, "out of memory");
	explicit_bzero(bearer, sizeof bearer);
	json_decref(doc);
	free(body);
	return rc;
}

bool opa_ask(struct opa *o, json_t *input, int64_t now_ms, struct decision *out)
{
	uint8_t key[INPUTKEY];
	struct opa_slot *s;
	struct fail why = { 0 };

	if (o->trial)
		opa_settle(o, o->trial, now_ms);
	s = inputkey(input, key) ? opa_slot(o, key, now_ms) : NULL;
	if (s && s->errand)
		return false;
	if (s && now_ms < s->until) {
		*out = s->decision;
		return true;
	}
	if (!s || now_ms < o->paused || (o->failures >= OPA_FAILURES && o->trial)) {
		opa_deny(out, "the market's policy server does not answer; try again in a minute");
		return true;
	}
	if (opa_send(o, s, input, &why) != 0) {
		opa_failed(o, s, now_ms, why.text);
		*out = s->decision;
		return true;
	}
	if (o->failures >= OPA_FAILURES)
		o->trial = s;
	return false;
}
