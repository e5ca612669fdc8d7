/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer used, as an event on disk: once for each answer, before its end leaves. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "market/when.h"
#include "marketd/proxy/proxy_own.h"

enum { SPOOL_RETRY_MS = 1000 };

static const char *counting_outcome(enum outcome o)
{
	static const char *const words[] = { "done", "backend_failed", "backend_silent", "client_left" };

	return words[o];
}

static const char *counting_endpoint(enum endpoint e)
{
	return e == ENDPOINT_CHAT ? "chat" : e == ENDPOINT_TEXT ? "text" : "embeddings";
}

static json_t *counting_event(const struct relay *x, int64_t now)
{
	const struct tokens *t = &x->tokens;
	char when[WHEN_TEXT];
	json_t *data = json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "at", (json_int_t)now, "account",
		x->who.account, "account_name", x->who.name, "token", x->who.token, "plan", x->who.plan, "rate",
		x->who.rate, "model", x->model->file->name, "backend", x->backend->file->url, "endpoint",
		counting_endpoint(x->endpoint), "outcome", counting_outcome(x->outcome));

	if (!data)
		return NULL;
	json_object_set_new(data, "counted", json_string(t->stated ? "backend" : "estimated"));
	json_object_set_new(data, "prompt_tokens", json_integer(t->prompt));
	json_object_set_new(data, "completion_tokens", json_integer(t->completion));
	json_object_set_new(data, "total_tokens", json_integer(t->total));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o}", "specversion", "1.0", "id", x->id, "source",
		"/np/v1/gateway", "type", "batch_tokens", "subject", x->who.account, "time", when_iso(now, when),
		"data", data);
}

/* The backend read the request, as its answer has begun at least. */
static bool counting_served(const struct relay *x)
{
	return x->outcome == OUTCOME_DONE || (x->outcome == OUTCOME_LEFT && errand_look(x->errand)->status == 200);
}

void counting_note(struct relay *x)
{
	struct proxy *p = x->proxy;
	int64_t now = time(NULL);
	json_t *event;
	bool kept;

	if (x->counted)
		return;
	x->counted = true;
	tokens_settle(&x->tokens, counting_served(x));
	underway_promise(x, 0);
	event = counting_event(x, now);
	kept = event && spool_add(&p->spool, event) == 0;
	kept &= budgets_add(&p->budgets, x->who.account, x->who.token, now, x->tokens.total) == 0;
	json_decref(event);
	if (!kept)
		log_at(p->log, LOG_ERROR, "cannot count %" PRId64 " tokens of '%s': out of memory", x->tokens.total,
			x->who.account);
	list_remove(&x->wait);
	if (x->outcome != OUTCOME_LEFT)
		list_append(&p->counting, &x->wait);
}

static const char *counting_text(const json_t *data, const char *name)
{
	const char *text = json_string_value(json_object_get(data, name));

	return text && strlen(text) < WHO_TEXT ? text : "";
}

static int counting_take(void *arg, const json_t *event)
{
	struct proxy *p = arg;
	const json_t *data = json_object_get(event, "data");
	const char *account = counting_text(data, "account");

	if (!*account)
		return 0;
	return budgets_add(&p->budgets, account, counting_text(data, "token"),
		json_integer_value(json_object_get(data, "at")),
		json_integer_value(json_object_get(data, "total_tokens")));
}

static json_t *counting_sums(void *arg)
{
	return budgets_sums(&((struct proxy *)arg)->budgets);
}

static int counting_begin(void *arg, json_t *sums)
{
	return budgets_begin(&((struct proxy *)arg)->budgets, sums);
}

int counting_open(struct proxy *p, struct fail *f)
{
	const struct spool_counter counter = { p, counting_take, counting_sums, counting_begin };

	memcpy(p->spool_path, p->served->file.spool, sizeof p->spool_path);
	budgets_init(&p->budgets, &p->served->file);
	return spool_open(&p->spool, p->spool_path, &counter, (off_t)p->served->file.spool_size << 20, f);
}

bool counting_sync(struct proxy *p)
{
	bool was = p->spool.sick;
	struct fail f = { 0 };

	if (was && p->now_ms < p->retry_spool)
		return false;
	p->retry_spool = p->now_ms + SPOOL_RETRY_MS;
	if (spool_sync(&p->spool, &f) != 0) {
		if (!was)
			log_at(p->log, LOG_ERROR, "answers wait: %s", f.text);
		return false;
	}
	if (was)
		log_at(p->log, LOG_WARN, "the file of usage can be written again");
	if (spool_turn(&p->spool, &f) != 0)
		log_at(p->log, LOG_WARN, "the file of usage stays the same: %s", f.text);
	return true;
}

struct relay *counting_next(struct proxy *p)
{
	struct list *first = list_first(&p->counting);
	struct relay *x = first ? list_entry(first, struct relay, wait) : NULL;

	if (x)
		list_remove(&x->wait);
	return x;
}
