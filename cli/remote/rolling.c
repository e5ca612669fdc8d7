/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/rolling.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/remote/fanout.h"

enum { BATCH_INPUT_MAX = 1 << 30 };

int rolling_share_read(const char *text, bool may_be_zero, struct rolling_share *out, struct fail *f)
{
	unsigned long n = 0, most = 1000000;
	const char *p = text;

	while (*p >= '0' && *p <= '9' && n <= most)
		n = n * 10 + (unsigned long)(*p++ - '0');
	if (*p == '%')
		most = 100;
	if (p == text || strcmp(p + (*p == '%'), "") != 0 || n > most || (!n && !may_be_zero))
		return fail_set(f, -EINVAL, "'%s' is neither a number of hosts nor a share like 25%%", text);
	*out = (struct rolling_share){ .given = true, .percent = *p == '%', .n = n };
	return 0;
}

static void rolling_release(struct fanout *f)
{
	size_t left = f->rolling.size;

	f->rolling.number++;
	for (size_t i = 0; left && i < f->count; i++)
		if (f->hosts[i].held) {
			f->hosts[i].held = false;
			left--;
		}
}

void rolling_begin(struct fanout *f)
{
	struct rolling *r = &f->rolling;

	if (!r->batch.given || r->number)
		return;
	/* Each batch gets the same input. */
	buf_init(&f->input.replay, BATCH_INPUT_MAX);
	r->size = r->batch.percent ? f->count * r->batch.n / 100 : r->batch.n;
	r->size = r->size ? r->size : 1;
	for (size_t i = 0; i < f->count; i++)
		f->hosts[i].held = f->hosts[i].state == OUTCOME_WAITING;
	rolling_release(f);
}

static bool rolling_too_many(const struct fanout *f)
{
	const struct rolling_share *most = &f->rolling.max_fail;
	size_t failed = f->progress.failed;

	if (!most->given)
		return false;
	return most->percent ? failed * 100 > most->n * f->count : failed > most->n;
}

void rolling_failed(struct fanout *f)
{
	struct rolling *r = &f->rolling;

	if (r->stopped || !rolling_too_many(f))
		return;
	r->stopped = true;
	r->failures = f->progress.failed;
	for (size_t i = 0; i < f->count; i++) {
		struct outcome *o = &f->hosts[i];

		/* The cancelled ones end by their own events, maybe at once. */
		if (o->state == OUTCOME_WAITING && !o->held && !o->ask) {
			o->unbegun = true;
			pssh_task_cancel_host(f->task, o->host, f->cancel_signal, f->grace_ms);
		}
	}
}

void rolling_not_begun(const struct fanout *f, struct outcome *o)
{
	int rc = 0;

	free(o->text);
	o->text = NULL;
	o->status = PSSH_ECANCEL;
	o->cancelled = o->unbegun = true;
	if (f->rolling.stopped)
		rc = asprintf(&o->text, "not begun, because %zu host%s failed (--max-fail)", f->rolling.failures,
			f->rolling.failures == 1 ? "" : "s");
	else
		o->text = strdup(f->input.lost ? "not begun, because standard input is longer than 1 GiB"
					       : "not begun when you stopped it");
	if (rc < 0 || !o->text)
		command_nomem();
}

int rolling_timeout(const struct rolling *r)
{
	int64_t left = r->until ? r->until - clock_ms() : -1;

	return !r->until ? -1 : left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

enum rolling_turn rolling_next(struct fanout *f)
{
	struct rolling *r = &f->rolling;
	size_t held = 0;

	for (size_t i = 0; i < f->count; i++)
		held += f->hosts[i].held;
	if (!r->stopped && rolling_too_many(f)) {
		r->stopped = true;
		r->failures = f->progress.failed;
	}
	if (!held || r->stopped || f->asked || f->broken || f->input.lost)
		return ROLLING_OVER;
	if (r->pause_ms && !r->until) {
		r->until = clock_ms() + r->pause_ms;
		snprintf(r->phase, sizeof r->phase, "pause before batch %zu of %zu", r->number + 1,
			r->number + (held + r->size - 1) / r->size);
		f->progress.phase = r->phase;
	}
	if (rolling_timeout(r) > 0)
		return ROLLING_WAIT;
	r->until = 0;
	f->progress.phase = NULL;
	rolling_release(f);
	return ROLLING_BATCH;
}
