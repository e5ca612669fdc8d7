/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/toplook.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { PATH_MOST = 4096, PAGES_MOST = 100 };

struct toplook *toplook_new(void)
{
	struct toplook *l = calloc(1, sizeof *l);

	if (!l)
		command_nomem();
	l->balance.available = l->balance.burn = MODEL_NONE;
	return l;
}

void toplook_free(struct toplook *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->doc_count; i++)
		doc_free(l->docs[i]);
	free(l->docs);
	free(l->nodes);
	free(l->agents);
	free(l->samples);
	free(l);
}

/* ---- Asking ---------------------------------------------------------------------------- */

/* All pages of a list. */
static int toplook_ask_pages(struct market_link *m, const char *path, enum top_part part, top_take_fn take, void *arg)
{
	const char *cursor = "";
	struct buf at;
	int rc = 0;

	buf_init(&at, PATH_MOST);
	for (int page = 0; !rc && cursor; page++) {
		buf_clear(&at);
		if (buf_adds(&at, path) ||
			(*cursor && (buf_adds(&at, "&starting_after=") || client_quote(&at, cursor))))
			command_nomem();
		rc = page == PAGES_MOST ? fail_set(&m->fail, CLIENT_BAD_ANSWER, "the list '%.100s' does not end", path)
					: market_get(m, "%s", buf_text(&at));
		rc = rc ? rc : take(arg, part, buf_text(&m->answer.body), m->answer.body.len, &m->fail);
		rc = rc ? rc : doc_next(m->doc, &cursor, &m->fail);
	}
	buf_release(&at);
	return rc;
}

int toplook_ask(struct market_link *m, bool machines, top_take_fn take, void *arg)
{
	char samples[100];
	int rc;

	snprintf(samples, sizeof samples, "/np/v1/samples?minutes=%d%s", TOP_MINUTES, machines ? "&machines=true" : "");
	rc = toplook_ask_pages(m, machines ? "/np/v1/agents?limit=1000" : "/np/v1/nodes?limit=1000",
		machines ? TOP_AGENTS : TOP_NODES, take, arg);
	if (rc)
		return rc;
	rc = toplook_ask_pages(m, samples, TOP_SAMPLES, take, arg);
	if (rc == REASON_NOT_FOUND || rc == REASON_NOT_IMPLEMENTED)
		rc = take(arg, TOP_UNSAMPLED, "", 0, &m->fail);
	if (rc || machines)
		return rc;
	rc = market_get(m, "/np/v1/balance");
	return rc ? rc : take(arg, TOP_BALANCE, buf_text(&m->answer.body), m->answer.body.len, &m->fail);
}

/* ---- Taking ---------------------------------------------------------------------------- */

/* Room for `more` members after `count` of them. */
static void *toplook_grow(void *list, size_t count, size_t more, size_t size)
{
	void *grown = reallocarray(list, count + more + 1, size);

	if (!grown)
		command_nomem();
	return grown;
}

static int toplook_take_list(struct toplook *l, enum top_part part, struct doc *d, struct fail *f)
{
	size_t count = doc_count(d);
	int rc = 0;

	if (part == TOP_NODES)
		l->nodes = toplook_grow(l->nodes, l->node_count, count, sizeof *l->nodes);
	else if (part == TOP_AGENTS)
		l->agents = toplook_grow(l->agents, l->agent_count, count, sizeof *l->agents);
	else
		l->samples = toplook_grow(l->samples, l->sample_count, count, sizeof *l->samples);
	for (size_t i = 0; i < count && !rc; i++) {
		if (part == TOP_NODES)
			rc = wire_node(d, (long)i, &l->nodes[l->node_count++], f);
		else if (part == TOP_AGENTS)
			rc = wire_agent(d, (long)i, &l->agents[l->agent_count++], f);
		else
			rc = wire_sample(d, (long)i, &l->samples[l->sample_count++], f);
	}
	return rc || part != TOP_SAMPLES ? rc : wire_samples_now(d, &l->now, f);
}

int toplook_take(void *look, enum top_part part, const char *text, size_t len, struct fail *f)
{
	struct toplook *l = look;
	struct doc *d;
	int rc;

	if (part == TOP_UNSAMPLED) {
		l->unsampled = true;
		return 0;
	}
	rc = doc_parse(text, len, &d, f);
	if (rc)
		return rc;
	l->docs = toplook_grow(l->docs, l->doc_count, 1, sizeof *l->docs);
	l->docs[l->doc_count++] = d;
	return part == TOP_BALANCE ? wire_balance(d, WIRE_WHOLE, &l->balance, f) : toplook_take_list(l, part, d, f);
}

static bool toplook_is(const struct model_sample *s, const char *id)
{
	const char *of = s->node ? s->node : s->agent;

	return of && strcmp(of, id) == 0;
}

/* The market lists both in the same order. */
const struct model_sample *toplook_sample(const struct toplook *l, const char *id, size_t i)
{
	if (i < l->sample_count && toplook_is(&l->samples[i], id))
		return &l->samples[i];
	for (size_t k = 0; k < l->sample_count; k++)
		if (toplook_is(&l->samples[k], id))
			return &l->samples[k];
	return NULL;
}
