/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which backend is next: of those that answer, those first in the file's priority, and of these the one with the fewest
 * requests under way for its weight. Each is asked now and then whether it answers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "marketd/proxy/proxy_own.h"

enum { CHECK_MS = 5000, CHECK_DOWN_MS = 1000, CHECK_TIMEOUT_MS = 3000, CHECK_BYTES = 256 << 10, CHECK_URL = 600 };

/* With places for nodes that come, as long as a relay's bits can name them. */
static int backends_of(struct proxy *p, struct model *m)
{
	m->count = m->file->count;
	for (size_t k = 0; k < m->file->count; k++)
		if (*m->file->backends[k].reservation)
			m->count = PROXY_MODEL_BACKENDS;
	m->backends = calloc(m->count, sizeof *m->backends);
	for (size_t k = 0; m->backends && k < m->count; k++) {
		const struct proxyfile_backend *row = k < m->file->count ? &m->file->backends[k] : NULL;

		m->backends[k] = (struct backend){ .kind = PROXY_CHECK, .proxy = p, .up = true };
		if (!row || *row->reservation)
			continue;
		m->backends[k].file = row;
		memcpy(m->backends[k].url, row->url, sizeof row->url);
	}
	return m->backends ? 0 : -ENOMEM;
}

int backends_new(struct proxy *p, struct served *s)
{
	s->models = calloc(s->file.model_count, sizeof *s->models);
	for (size_t i = 0; s->models && i < s->file.model_count; i++) {
		struct model *m = &s->models[i];

		m->file = &s->file.models[i];
		if (backends_of(p, m) != 0)
			return -ENOMEM;
	}
	return s->models ? 0 : -ENOMEM;
}

void backends_free(struct served *s)
{
	for (size_t i = 0; s->models && i < s->file.model_count; i++) {
		struct model *m = &s->models[i];

		for (size_t k = 0; m->backends && k < m->count; k++)
			errand_free(m->backends[k].check);
		free(m->backends);
	}
	free(s->models);
	s->models = NULL;
}

struct model *backends_model(struct served *s, const char *name)
{
	const struct proxyfile_model *m = proxyfile_model(&s->file, name);

	return m ? &s->models[m - s->file.models] : NULL;
}

static bool backend_before(const struct backend *a, const struct backend *b)
{
	if (!b || a->up != b->up)
		return !b || a->up;
	if (a->file->priority != b->file->priority)
		return a->file->priority < b->file->priority;
	return (a->active + 1) * b->file->weight < (b->active + 1) * a->file->weight;
}

struct backend *backends_pick(struct model *m, uint64_t tried)
{
	struct backend *best = NULL;
	size_t first = m->turn++ % m->count; /* equals take turns */

	for (size_t i = 0; i < m->count; i++) {
		size_t at = (first + i) % m->count;
		struct backend *b = &m->backends[at];

		if (!(tried >> at & 1) && b->file && !b->gone && backend_before(b, best))
			best = b;
	}
	return best;
}

/* ---- Nodes that come and go ---------------------------------------------------------------- */

static void backend_leave(struct backend *b)
{
	log_at(b->proxy->log, LOG_INFO, "backend '%s' has left reservation '%s'", b->url, b->file->reservation);
	errand_free(b->check);
	b->check = NULL;
	b->gone = true;
}

static bool backend_come(struct model *m, const struct proxyfile_backend *row, const char *url)
{
	struct backend *place = NULL;

	for (size_t i = 0; i < m->count; i++) {
		struct backend *b = &m->backends[i];

		if (b->file == row && strcmp(b->url, url) == 0 && !b->gone)
			return true;
		if (!place && (!b->file || (b->gone && !b->active)))
			place = b;
	}
	if (!place)
		return false;
	*place = (struct backend){ .kind = PROXY_CHECK, .proxy = place->proxy, .file = row, .up = true };
	memcpy(place->url, url, strlen(url) + 1);
	log_at(place->proxy->log, LOG_INFO, "backend '%s' is in reservation '%s'", url, row->reservation);
	return true;
}

static void backend_url(const struct proxyfile_backend *row, const char *host, char out[GATEWAY_TEXT + 32])
{
	snprintf(out, GATEWAY_TEXT + 32, "http://%s:%ld", host, row->port);
}

bool backends_replace(struct model *m, const struct proxyfile_backend *row, const struct reserved *nodes)
{
	char url[GATEWAY_TEXT + 32];
	bool all = true;

	for (size_t i = 0; i < m->count; i++) {
		bool stays = m->backends[i].file != row || m->backends[i].gone;

		for (size_t k = 0; !stays && k < nodes->count; k++) {
			backend_url(row, nodes->hosts[k], url);
			stays = strcmp(m->backends[i].url, url) == 0;
		}
		if (!stays)
			backend_leave(&m->backends[i]);
	}
	for (size_t k = 0; k < nodes->count; k++) {
		backend_url(row, nodes->hosts[k], url);
		all = backend_come(m, row, url) && all;
	}
	return all;
}

/* ---- Checks ------------------------------------------------------------------------------- */

static void backend_check(struct backend *b)
{
	char url[CHECK_URL], key[GATEWAY_TEXT + 32];
	const char *headers[] = { NULL, NULL };
	struct errand_call call = { .method = "GET",
		.url = url,
		.headers = headers,
		.timeout_ms = CHECK_TIMEOUT_MS,
		.max = CHECK_BYTES,
		.repeatable = true,
		.owner = b };
	struct fail f = { 0 };

	snprintf(url, sizeof url, "%s%s", b->url, b->proxy->served->file.health);
	snprintf(key, sizeof key, "Authorization: Bearer %s", b->file->key);
	headers[0] = *b->file->key ? key : NULL;
	b->check_due = INT64_MAX;
	if (errand_new(b->proxy->outward, &call, &b->check, &f) != 0) {
		b->check = NULL; /* busy with requests: they say whether it answers */
		b->check_due = b->proxy->now_ms + CHECK_MS;
	}
	explicit_bzero(key, sizeof key);
}

static void backend_set(struct backend *b, bool up, const char *why)
{
	if (b->up != up)
		log_at(b->proxy->log, up ? LOG_INFO : LOG_WARN, "backend '%s' %s%s", b->url,
			up ? "answers again" : "does not answer: ", up ? "" : why);
	b->up = up;
	if (!b->check)
		b->check_due = b->proxy->now_ms + (up ? CHECK_MS : CHECK_DOWN_MS);
}

void backends_take(struct backend *b)
{
	const struct errand_answer *a = errand_look(b->check);
	bool up = a->state == ERRAND_DONE && a->status >= 200 && a->status < 300;
	char why[64];

	snprintf(why, sizeof why, "status %d", a->status);
	if (a->state == ERRAND_RUNNING)
		return;
	backend_set(b, up, a->state == ERRAND_DONE ? why : a->why);
	errand_free(b->check);
	b->check = NULL;
	b->check_due = b->proxy->now_ms + (up ? CHECK_MS : CHECK_DOWN_MS);
}

void backends_failed(struct backend *b)
{
	backend_set(b, false, "a request to it failed");
}

void backends_turn(struct proxy *p)
{
	for (size_t i = 0; i < p->served->file.model_count; i++)
		for (size_t k = 0; k < p->served->models[i].count; k++) {
			struct backend *b = &p->served->models[i].backends[k];

			if (b->file && !b->gone && !b->check && b->check_due <= p->now_ms)
				backend_check(b);
		}
}
