/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backends by reservation: the market is asked every few seconds where the nodes of each are. A market that does not
 * answer changes nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/proxy/proxy_own.h"

static struct follow *follow_find(const struct served *s, const char *name)
{
	for (size_t i = 0; i < s->follow_count; i++)
		if (strcmp(s->follows[i].nodes.name, name) == 0)
			return &s->follows[i];
	return NULL;
}

/* Room for one of each row, though several may name one reservation. */
static int follows_list(struct proxy *p, struct served *s)
{
	size_t rows = 0;

	for (size_t i = 0; i < s->file.model_count; i++)
		rows += s->file.models[i].count;
	s->follows = calloc(rows, sizeof *s->follows);
	if (!s->follows)
		return -ENOMEM;
	for (size_t i = 0; i < s->file.model_count; i++)
		for (size_t k = 0; k < s->file.models[i].count; k++) {
			const char *name = s->file.models[i].backends[k].reservation;
			struct follow *w = &s->follows[s->follow_count];

			if (!*name || follow_find(s, name))
				continue;
			*w = (struct follow){ .kind = PROXY_FOLLOW, .proxy = p };
			memcpy(w->nodes.name, name, strlen(name) + 1);
			s->follow_count++;
		}
	return 0;
}

/* Tells the models that have it. */
static void follow_spread(struct served *s, struct follow *w)
{
	for (size_t i = 0; i < s->file.model_count; i++)
		for (size_t k = 0; k < s->file.models[i].count; k++) {
			const struct proxyfile_backend *row = &s->file.models[i].backends[k];

			if (strcmp(row->reservation, w->nodes.name) != 0 ||
				backends_replace(&s->models[i], row, &w->nodes) || w->full)
				continue;
			w->full = true;
			log_at(w->proxy->log, LOG_WARN, "model '%s' has up to %d backends; other nodes of '%s' wait",
				s->file.models[i].name, PROXY_MODEL_BACKENDS, w->nodes.name);
		}
}

int follows_new(struct proxy *p, struct served *s, const struct served *was)
{
	int rc = follows_list(p, s);

	for (size_t i = 0; rc == 0 && was && i < s->follow_count; i++) {
		struct reserved *to = &s->follows[i].nodes;
		const struct follow *old = follow_find(was, to->name);

		if (!old || !old->nodes.known)
			continue;
		to->hosts = calloc(old->nodes.count ? old->nodes.count : 1, sizeof *to->hosts);
		if (!to->hosts)
			return -ENOMEM;
		memcpy(to->hosts, old->nodes.hosts, old->nodes.count * sizeof *to->hosts);
		to->count = old->nodes.count;
		to->known = true;
		follow_spread(s, &s->follows[i]);
	}
	return rc;
}

void follows_free(struct served *s)
{
	for (size_t i = 0; i < s->follow_count; i++) {
		errand_free(s->follows[i].errand);
		reserved_release(&s->follows[i].nodes);
	}
	free(s->follows);
	s->follows = NULL;
	s->follow_count = 0;
}

static void follow_failed(struct follow *w, const char *why)
{
	if (!w->failed)
		log_at(w->proxy->log, LOG_WARN, "%s; the backends of '%s' stay as they are", why, w->nodes.name);
	w->failed = true;
}

void follows_take(struct follow *w)
{
	struct served *s = w->proxy->served;
	struct fail f = { 0 };
	const struct errand_answer *a = errand_look(w->errand);

	if (a->state == ERRAND_RUNNING)
		return;
	if (reserved_take(&w->nodes, a, &f) != 0) {
		follow_failed(w, f.text);
	} else {
		w->failed = false;
		/* One of an older file, whose requests are still under way, has no more say. */
		if (w >= s->follows && w < s->follows + s->follow_count)
			follow_spread(s, w);
	}
	errand_free(w->errand);
	w->errand = NULL;
	w->due = w->proxy->now_ms + RESERVED_EVERY_MS;
}

void follows_turn(struct proxy *p)
{
	struct served *s = p->served;
	struct reserved_market m = { s->file.market, s->file.market_ca, s->file.token };

	for (size_t i = 0; i < s->follow_count; i++) {
		struct follow *w = &s->follows[i];
		struct fail f = { 0 };

		if (w->errand || w->due > p->now_ms)
			continue;
		if (reserved_ask(p->outward, &m, w->nodes.name, w, &w->errand, &f) != 0) {
			follow_failed(w, f.text);
			w->due = p->now_ms + RESERVED_EVERY_MS;
		}
	}
}
