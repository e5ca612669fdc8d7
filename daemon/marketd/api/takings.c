/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/takings.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "market/reason.h"

/* A piece takes some milliseconds, in which nobody else is answered. */
enum { PIECE = 5000, DAY_SECONDS = 86400, DAYS_MOST = 31 };

struct takings_place {
	uint64_t seq, n;
};

struct takings {
	int64_t month;                        /* its first second */
	struct takings_place notices, market; /* how far was read: settlements, and the market's own postings */
	uint64_t until;                       /* the last event on disk: what is only staged may be undone */
	size_t read;                          /* rows of this piece */
	struct takings_sum days[DAYS_MOST];
};

void takings_free(struct takings *t)
{
	free(t);
}

static int64_t takings_month_of(int64_t now)
{
	time_t at = (time_t)now;
	struct tm tm;

	gmtime_r(&at, &tm);
	tm.tm_mday = 1;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	return (int64_t)timegm(&tm);
}

/* NULL: not of this month. */
static struct takings_sum *takings_day(struct takings *t, int64_t at)
{
	return at < t->month || at - t->month >= DAYS_MOST * DAY_SECONDS ? NULL
									 : &t->days[(at - t->month) / DAY_SECONDS];
}

/* ---- Where the month begins ------------------------------------------------------------- */

static int takings_take_at(void *arg, uint64_t seq, const struct event *ev)
{
	(void)seq;
	*(int64_t *)arg = ev->at;
	return 1;
}

/* The last event from before the month. */
static int takings_before(struct store *s, int64_t month, uint64_t *seq, struct fail *f)
{
	uint64_t low = 0, high = s->calls->last_seq(s);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2; /* is the event behind it from before the month? */
		int64_t at = INT64_MAX;
		int rc = s->calls->events(s, middle, takings_take_at, &at, f);

		if (rc < 0)
			return rc;
		if (at < month)
			low = middle + 1;
		else
			high = middle;
	}
	*seq = low;
	return 0;
}

static int takings_begin(struct takings *t, struct store *s, int64_t month, struct fail *f)
{
	uint64_t seq;
	int rc;

	if (t->month == month)
		return 0;
	rc = takings_before(s, month, &seq, f);
	if (rc)
		return rc;
	memset(t->days, 0, sizeof t->days);
	t->month = month;
	t->notices = t->market = (struct takings_place){ seq, INT64_MAX };
	return 0;
}

/* ---- A piece ---------------------------------------------------------------------------- */

/* The same money can go round: a sum without room stays as it is. */
static void takings_add(int64_t *sum, int64_t n)
{
	int64_t out;

	if (!__builtin_add_overflow(*sum, n, &out))
		*sum = out;
}

/* Sellers hear what they get after the fee, which the market's own postings have. */
static int takings_take_notice(void *arg, const struct notice_row *row)
{
	struct takings *t = arg;
	struct takings_sum *day = takings_day(t, row->at);

	if (row->seq > t->until)
		return 1;
	if (day && row->notice.kind == NOTICE_SETTLED)
		takings_add(&day->turnover, row->notice.amount);
	t->notices = (struct takings_place){ row->seq, row->n };
	t->read++;
	return 0;
}

static int takings_take_posting(void *arg, const struct posting_row *row)
{
	struct takings *t = arg;
	struct takings_sum *day = takings_day(t, row->at);
	const struct posting *x = &row->posting;

	if (row->seq > t->until)
		return 1;
	if (day && x->book == BOOK_FEES) {
		takings_add(&day->fees, x->amount);
		takings_add(&day->turnover, x->amount);
	} else if (day && x->book == BOOK_ISSUED && !x->asset) {
		takings_add(&day->credited, -x->amount);
	} else if (day && x->book == BOOK_USED) {
		takings_add(&day->minutes, x->amount);
	}
	t->market = (struct takings_place){ row->seq, row->n };
	t->read++;
	return 0;
}

static int takings_piece(struct takings *t, struct store *s, bool *counted, struct fail *f)
{
	int rc;

	t->read = 0;
	t->until = s->calls->last_seq(s);
	rc = s->calls->notices(s, 0, t->notices.seq, t->notices.n, PIECE, takings_take_notice, t, f);
	*counted = t->read < PIECE;
	t->read = 0;
	if (rc >= 0)
		rc = s->calls->postings(s, 0, t->market.seq, t->market.n, PIECE, takings_take_posting, t, f);
	*counted = *counted && t->read < PIECE;
	return rc < 0 ? rc : 0;
}

int takings_read(struct api *api, struct takings_sum *today, struct takings_sum *month, bool *counted, struct fail *f)
{
	struct store *s = market_store(api->market);
	int64_t now = market_now(api->market);
	struct takings *t = api->takings;
	int rc;

	if (!t)
		t = api->takings = calloc(1, sizeof *t);
	if (!t)
		return fail_set(f, REASON_UNAVAILABLE, "the market is out of memory");
	rc = takings_begin(t, s, takings_month_of(now), f);
	rc = rc ? rc : takings_piece(t, s, counted, f);
	if (rc)
		return rc;
	*today = *takings_day(t, now);
	*month = (struct takings_sum){ 0 };
	for (int i = 0; i < DAYS_MOST; i++) {
		takings_add(&month->turnover, t->days[i].turnover);
		takings_add(&month->fees, t->days[i].fees);
		takings_add(&month->credited, t->days[i].credited);
		takings_add(&month->minutes, t->days[i].minutes);
	}
	return 0;
}
