/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/volume_ends.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { VOLUMES_AGAIN_MS = 5000 };

static void volumes_say_stray(void *arg, const struct stray_volume *s)
{
	const struct volumes *v = arg;

	if (s->aside)
		log_at(v->log, LOG_WARN,
			"'%s' holds a volume of %s%s%s: no node sees it, and its room is not sold; if nobody "
			"needs it, remove the folder",
			s->path, *s->home.url ? "the market " : "an unknown market", s->home.url,
			strcmp(s->home.url, v->home.url) == 0 ? ", as this machine joined it before" : "");
}

void volumes_begin(struct volumes *v, const struct identity *i)
{
	struct fail f = { 0 };

	identity_join(i, v->home.join);
	snprintf(v->home.agent, sizeof v->home.agent, "%s", i->agent);
	snprintf(v->home.url, sizeof v->home.url, "%s", i->url);
	if (volumes_settle(v->data, &v->home, &f) != 0)
		log_at(v->log, LOG_ERROR, "volumes: %s", f.text);
	volumes_stray(v->data, volumes_say_stray, v);
}

/* 0; -EBUSY: later. */
static int volumes_try_keep(struct volumes *v, const struct kept_volume *k)
{
	char aside[VOLUME_PATH];
	struct fail f = { 0 };
	int rc = volumes_keep(v->data, k, aside, &f);

	if (*aside)
		log_at(v->log, LOG_WARN,
			"volume %s: what this machine had of that name is another account's or another market's; it "
			"is in '%s' now, and no node sees it",
			k->id, aside);
	if (rc && rc != -EBUSY)
		log_at(v->log, LOG_ERROR, "volume %s: %s", k->id, f.text);
	return rc;
}

static int volumes_try_delete(struct volumes *v, const struct kept_volume *k)
{
	struct fail f = { 0 };
	int rc = volumes_hide(v->data, k->id, true, &f); /* from nodes that start now */

	rc = rc ? rc : volumes_delete(v->data, k, &f);
	if (rc == 0)
		log_at(v->log, LOG_INFO, "volume %s is deleted", k->id);
	else if (rc != -EBUSY)
		log_at(v->log, LOG_ERROR, "volume %s: %s", k->id, f.text);
	return rc;
}

static void volumes_take_one(struct volumes *v, const struct work_volume *x)
{
	struct kept_volume *k = &v->all[v->count];
	struct volume_end *e = &v->ends[v->count++];
	struct fail f = { 0 };

	*k = (struct kept_volume){ .bytes = x->bytes, .mounted = x->mounted, .named = true, .home = v->home };
	snprintf(k->id, sizeof k->id, "%s", x->id);
	snprintf(k->tenant, sizeof k->tenant, "%s", x->tenant);
	snprintf(k->name, sizeof k->name, "%s", x->name);
	*e = (struct volume_end){ .deleted = x->deleted };
	if (!x->deleted)
		e->done = volumes_try_keep(v, k) == 0;
	else if (volumes_hide(v->data, k->id, true, &f) != 0)
		log_at(v->log, LOG_ERROR, "volume %s: %s", k->id, f.text);
}

/* What nobody names belongs to another time of this market: no node sees it. */
static int volumes_hide_unnamed(void *arg, const struct kept_volume *k)
{
	struct volumes *v = arg;
	struct fail f = { 0 };

	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->all[i].id, k->id) == 0)
			return 0;
	if (volumes_hide(v->data, k->id, false, &f) != 0) {
		log_at(v->log, LOG_ERROR, "volume %s: %s", k->id, f.text);
		v->hidden = false;
	}
	return 0;
}

static void volumes_hide_others(struct volumes *v)
{
	struct fail f = { 0 };

	v->hidden = true;
	if (volumes_each(v->data, volumes_hide_unnamed, v, &f) == 0)
		return;
	log_at(v->log, LOG_ERROR, "volumes: %s", f.text);
	v->hidden = false;
}

int volumes_take(struct volumes *v, const struct work *w)
{
	struct kept_volume *all = calloc(w->volume_count + 1, sizeof *all);
	struct volume_end *ends = calloc(w->volume_count + 1, sizeof *ends);
	struct kept_volume *had;
	size_t count;

	if (!all || !ends) {
		free(all);
		free(ends);
		return -ENOMEM;
	}
	free(v->ends);
	had = v->all;
	count = v->count;
	v->count = 0;
	v->all = all;
	v->ends = ends;
	for (size_t i = 0; i < w->volume_count; i++)
		volumes_take_one(v, &w->volumes[i]);
	v->fresh = !had || count != v->count || memcmp(had, all, count * sizeof *all) != 0;
	free(had);
	volumes_hide_others(v);
	v->due_ms = 0;
	return 0;
}

const char *volumes_gone(struct volumes *v)
{
	if (v->due_ms <= clock_ms()) {
		for (size_t i = 0; i < v->count; i++) {
			struct volume_end *e = &v->ends[i];

			if (!e->done)
				e->done = (e->deleted ? volumes_try_delete : volumes_try_keep)(v, &v->all[i]) == 0;
		}
		if (v->all && !v->hidden)
			volumes_hide_others(v);
		v->due_ms = clock_ms() + VOLUMES_AGAIN_MS;
	}
	for (size_t i = 0; i < v->count; i++)
		if (v->ends[i].deleted && v->ends[i].done && !v->ends[i].told)
			return v->all[i].id;
	return NULL;
}

void volumes_told(struct volumes *v, const char *id)
{
	for (size_t i = 0; i < v->count; i++)
		if (strcmp(v->all[i].id, id) == 0)
			v->ends[i].told = true;
}

int64_t volumes_due(const struct volumes *v)
{
	if (v->all && !v->hidden)
		return v->due_ms;
	for (size_t i = 0; i < v->count; i++)
		if (!v->ends[i].done || (v->ends[i].deleted && !v->ends[i].told))
			return v->due_ms;
	return INT64_MAX;
}

void volumes_release(struct volumes *v)
{
	free(v->all);
	free(v->ends);
	v->all = NULL;
	v->ends = NULL;
	v->count = 0;
}
