/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alerts/alertlist.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/alerts/alertrules.h"

enum { PAGES_MOST = 1000, QUERY_BYTES = 16 * 1024 };

void alerts_release(struct alerts *a)
{
	for (size_t i = 0; i < a->doc_count; i++)
		doc_free(a->docs[i]);
	free(a->docs);
	free(a->list);
	free(a->unjudged);
}

/* ---- Asking ---------------------------------------------------------------------------- */

int alerts_rank(const char *word)
{
	static const char *const severities[] = { "critical", "warning", "info" };
	int i = 0;

	while (i < 3 && strcmp(severities[i], word) != 0)
		i++;
	return i;
}

/* The most severe first, of those the oldest. */
static int alerts_order(const void *a, const void *b)
{
	const struct model_alert *x = a, *y = b;
	int rank = alerts_rank(x->severity) - alerts_rank(y->severity);

	if (rank)
		return rank;
	if (x->since != y->since)
		return !x->since ? 1 : !y->since ? -1 : x->since < y->since ? -1 : 1;
	rank = strcmp(x->name ? x->name : x->id, y->name ? y->name : y->id);
	return rank ? rank : strcmp(x->rule, y->rule);
}

static void alerts_sum(struct model_alerts_of *sum, const struct model_alerts_of *of)
{
	sum->accounts += of->accounts;
	sum->machines += of->machines;
	sum->hosts += of->hosts;
	sum->nodes += of->nodes;
	sum->unknown.unheard += of->unknown.unheard;
	sum->unknown.machines += of->unknown.machines;
	sum->unknown.machine_gpus += of->unknown.machine_gpus;
	sum->unknown.hosts += of->unknown.hosts;
	sum->unknown.nodes += of->unknown.nodes;
	sum->unknown.node_gpus += of->unknown.node_gpus;
	sum->now = of->now;
}

static void alerts_take_unjudged(struct alerts *a, const struct model_alerts_of *of)
{
	size_t n = of->unjudged_count;

	if (!n)
		return;
	a->unjudged = reallocarray(a->unjudged, a->unjudged_count + n, sizeof *a->unjudged);
	if (!a->unjudged)
		command_nomem();
	memcpy(a->unjudged + a->unjudged_count, of->unjudged, n * sizeof *a->unjudged);
	a->unjudged_count += n;
}

/* Takes the document. least: the rank of the least severe that is wanted. */
static int alerts_take(struct alerts *a, struct doc *d, int least, struct fail *f)
{
	struct model_alerts_of of;
	size_t count = doc_count(d);
	int rc = wire_alerts_of(d, &of, f);

	a->docs = reallocarray(a->docs, a->doc_count + 1, sizeof *a->docs);
	a->list = reallocarray(a->list, a->count + count + 1, sizeof *a->list);
	if (!a->docs || !a->list)
		command_nomem();
	a->docs[a->doc_count++] = d;
	if (!rc) {
		alerts_sum(&a->of, &of);
		alerts_take_unjudged(a, &of);
	}
	for (size_t i = 0; i < count && !rc; i++) {
		rc = wire_alert(d, (long)i, &a->list[a->count], f);
		a->count += !rc && alerts_rank(a->list[a->count].severity) <= least;
	}
	return rc;
}

int alerts_ask(struct market_link *m, int least, struct alerts *a)
{
	const char *cursor = NULL;
	struct buf rules;
	int rc;

	buf_init(&rules, QUERY_BYTES);
	rc = alertrules_query(m->np->settings, &rules, &m->fail);
	for (int page = 0; !rc && (!page || cursor); page++) {
		struct doc *d;

		rc = page == PAGES_MOST ? fail_set(&m->fail, CLIENT_BAD_ANSWER, "the list of alerts does not end")
			: cursor
			? market_get(m, "/np/v1/alerts?starting_after=%.64s%s", cursor, buf_text(&rules))
			: market_get(m, "/np/v1/alerts%s%s", rules.len ? "?" : "", buf_text(&rules) + !!rules.len);
		rc = rc ? rc : doc_parse(buf_text(&m->answer.body), m->answer.body.len, &d, &m->fail);
		rc = rc ? rc : alerts_take(a, d, least, &m->fail);
		rc = rc ? rc : doc_next(a->docs[a->doc_count - 1], &cursor, &m->fail);
	}
	if (!rc && a->count)
		qsort(a->list, a->count, sizeof *a->list, alerts_order);
	buf_release(&rules);
	return rc;
}

bool alerts_silenced(const struct options *o, const struct model_alert *a)
{
	const char *text;

	for (size_t i = 0; (text = option_at(o, "silence", i)); i++) {
		size_t len = strcspn(text, ":");
		char rule[64];

		if (len >= sizeof rule)
			continue;
		snprintf(rule, sizeof rule, "%.*s", (int)len, text);
		if (str_glob(rule, a->rule) &&
			(!text[len] || str_glob(text + len + 1, a->name ? a->name : a->id) ||
				str_glob(text + len + 1, a->id)))
			return true;
	}
	return false;
}
