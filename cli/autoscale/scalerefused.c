/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager that starts at once whatever fits leaves a job waiting beside a free node only for a reason that nodes do
 * not mend. Jobs of that kind are refused for an hour, then for two, and so on, or nodes would be bought for them again
 * and again: who made one makes the next under another name.
 */
#include "cli/autoscale/scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	REFUSED_AFTER_MS = 30 * 1000,
	REFUSED_GPU_AFTER_MS = 15 * 60 * 1000, /* its driver may still start */
	REFUSED_S = 3600,
	REFUSED_DAY_S = 24 * 3600,
	REFUSED_TIMES = 6, /* no longer than for a day or two */
};

/* Who it belongs to and what it asks for. */
static void refused_kind(const struct scale_job *j, char kind[SCALE_ID])
{
	snprintf(kind, SCALE_ID, "%" PRId64 "m %" PRId64 "M %" PRId64 " %.*s", j->cpus, j->memory_mb, j->gpus,
		(int)strcspn(j->id, "/"), j->id);
}

bool scale_refusals_read(struct scale_refusals *r, const char *word, const char *line)
{
	struct scale_refusal x = { .times = 0 };
	size_t len = strlen(word);
	int at = 0;

	if (strncmp(line, word, len) != 0 || sscanf(line + len, " %" SCNd64 " %u %n", &x.until, &x.times, &at) != 2 ||
		!at)
		return false;
	snprintf(x.kind, sizeof x.kind, "%s", line + len + at);
	if (r->count < SCALE_REFUSALS && x.times <= REFUSED_TIMES)
		r->list[r->count++] = x;
	return true;
}

int scale_refusals_write(const struct scale_refusals *r, const char *word, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; i < r->count; i++)
		rc = rc ? rc
			: buf_addf(out, "%s %" PRId64 " %u %s\n", word, r->list[i].until, r->list[i].times,
				  r->list[i].kind);
	return rc;
}

static struct scale_refusal *refused_find(struct scale_refusals *r, const char *kind)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->list[i].kind, kind) == 0)
			return &r->list[i];
	return NULL;
}

/* Those that have not been refused again for a day. */
void scale_refusals_forget(struct scale_refusals *r, int64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->count; i++)
		if (now < r->list[i].until + REFUSED_DAY_S)
			r->list[kept++] = r->list[i];
	r->count = kept;
}

bool scale_refusals_has(struct scale_refusals *r, const struct scale_job *j, int64_t now)
{
	const struct scale_refusal *x;
	char kind[SCALE_ID];

	refused_kind(j, kind);
	x = refused_find(r, kind);
	return x && now < x->until;
}

void scale_refusals_add(struct scale_refusals *r, const struct scale_job *j, int64_t now)
{
	struct scale_refusal *x;
	char kind[SCALE_ID];

	refused_kind(j, kind);
	x = refused_find(r, kind);
	if (!x && r->count < SCALE_REFUSALS) {
		x = &r->list[r->count++];
		*x = (struct scale_refusal){ .times = 0 };
		memcpy(x->kind, kind, sizeof kind);
	}
	if (x) {
		x->until = now + ((int64_t)REFUSED_S << x->times);
		x->times += x->times < REFUSED_TIMES;
	}
}

/* Whether a bought node could have taken the job for a while. */
static bool refused_beside(const struct scale_world *w, const struct scale_shape *shape, const struct scale_job *j)
{
	int64_t after = j->gpus ? REFUSED_GPU_AFTER_MS : REFUSED_AFTER_MS;

	for (size_t i = 0; i < w->count; i++) {
		const struct scale_node *n = &w->nodes[i];

		if (n->place == SCALE_SERVES && !n->drained && !n->busy && n->quiet_ms >= after)
			return scale_fits_shape(j, shape);
	}
	return false;
}

/* With too many kinds none is bought for: that is the cheaper mistake. */
bool scale_refuses(struct scale_refusals *r, const struct scale_world *w, const struct scale_shape *shape,
	const struct scale_job *j, int64_t now)
{
	char kind[SCALE_ID];

	if (scale_refusals_has(r, j, now))
		return true;
	if (!refused_beside(w, shape, j)) {
		refused_kind(j, kind);
		return r->count == SCALE_REFUSALS && !refused_find(r, kind);
	}
	scale_refusals_add(r, j, now);
	return true;
}
