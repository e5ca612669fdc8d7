/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a page of the ledger or the spool, has it accepted, notes that on disk, reads the next. Killed anywhere, the
 * next command sends the last page again with the same ids, which the receiver knows.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "base/kept.h"
#include "cli/meter/meter.h"
#include "cli/trade/tokenfile.h"

enum { METER_RETRY_MS = 1000, METER_RETRIES = 300, METER_PATH = 512 };

/* ---- The beginning and the end ----------------------------------------------------------- */

/* One file for each receiver and market and profile or spool, unless --state names one. malloc'd. */
static char *meter_path(const struct meter *x)
{
	const char *typed = option_text(x->o, "state"), *profile = settings_profile(x->np->settings);
	char *path;
	uint64_t name;

	if (typed)
		return asprintf(&path, "%s%s", strchr(typed, '/') ? "" : "./", typed) < 0 ? NULL : path;
	if (!x->m)
		return kept_path("meter/%016" PRIx64, x->way.key);
	name = hash_more(x->way.key, x->m->url, strlen(x->m->url));
	name = profile ? hash_more(name, profile, strlen(profile)) : name;
	return kept_path("meter/%016" PRIx64, name);
}

static int meter_key(struct meter *x)
{
	const char *file = option_text(x->o, "key-file"), *env = getenv("NANOPOD_METER_KEY");
	struct fail f;

	if (file && token_read_file(file, &x->key, &f))
		return print_fail_field(x->np, STATUS_USAGE, "--key-file", NULL, "%s", f.text);
	if (!file && env && *env && !(x->key = strdup(env)))
		command_nomem();
	return 0;
}

/* 0 or an exit status. */
static int meter_open_spool(struct meter *x, const char *path)
{
	struct fail f;

	if (x->from || option_given(x->o, "explain"))
		return print_fail_field(x->np, STATUS_USAGE, x->from ? "--from" : "--explain", NULL,
			"--from-file reads all of a gateway's file and asks no market: leave out %s",
			x->from ? "--from" : "--explain");
	if (meter_spool_open(&x->spool, path, &f))
		return print_fail_field(x->np, STATUS_USAGE, "--from-file", NULL, "%s", f.text);
	x->catching = signals_begin() == 0;
	return 0;
}

static int meter_open_market(struct meter *x)
{
	int rc = market_sign_in(x->np, x->o, MARKET_BRIEFLY, &x->m);

	return rc ? rc : market_need_ours(x->m, "admin meter");
}

int meter_open(struct meter *x, struct nanopod *np, const struct options *o, int64_t from)
{
	const char *file = option_text(o, "from-file");
	struct fail f;
	char *path;
	int rc;

	*x = (struct meter){ .np = np, .o = o, .book = { .lock = -1 }, .from = from };
	if (!option_given(o, "to"))
		return print_fail_field(np, STATUS_USAGE, "--to", NULL,
			"--to is required, e.g. --to lago:https://api.getlago.com or --to file:usage.jsonl");
	rc = meter_key(x);
	rc = rc ? rc : file ? meter_open_spool(x, file) : meter_open_market(x);
	if (rc || (x->m && x->m->explain))
		return rc;
	if (meter_way_open(&x->way, option_text(o, "to"), x->key, &f))
		return print_fail_field(np, STATUS_USAGE, "--to", NULL, "%s", f.text);
	if (file)
		x->way.key = hash_more(x->way.key, x->spool.path, strlen(x->spool.path) + 1);
	path = meter_path(x);
	if (!path)
		return print_fail(np, STATUS_USAGE, "use --state FILE",
			"cannot find your state folder: HOME is not set");
	rc = meter_book_open(&x->book, path, x->way.key, &f);
	free(path);
	if (rc)
		return print_fail(np, rc == -EBUSY ? STATUS_CONFLICT : STATUS_FAILURE, NULL, "%s", f.text);
	return 0;
}

void meter_close(struct meter *x)
{
	meter_book_close(&x->book);
	meter_way_close(&x->way);
	meter_spool_close(&x->spool);
	token_free(x->key);
	market_sign_out(x->m);
	if (x->catching)
		signals_end();
}

/* ---- A page ---------------------------------------------------------------------------------- */

int meter_page(struct meter *x, const char *after, size_t limit, struct model_usage **list, size_t *count)
{
	struct market_link *m = x->m;
	int rc = *after ? market_get(m, "/np/v1/usage?account=*&limit=%zu&after=%s", limit, after)
			: market_get(m, "/np/v1/usage?account=*&limit=%zu&from=%" PRId64, limit, x->from);
	const char *cursor = rc ? NULL : doc_text(m->doc, "cursor");

	if (rc)
		return rc;
	if (!cursor || strlen(cursor) >= METER_CURSOR || strspn(cursor, "0123456789abcdef-") != strlen(cursor))
		return fail_set(&m->fail, -EPROTO, "the market sent a page of usage without a cursor");
	return meter_events(m->doc, list, count, &m->fail);
}

/* ---- Sending ---------------------------------------------------------------------------------- */

struct meter_run {
	struct meter *x;
	int64_t every_ms;
	size_t limit;
	struct model_usage
		*list; /* a page of the ledger, its market's last answer, or of the spool; NULL: it is accepted */
	size_t count;
	char cursor[METER_CURSOR]; /* behind it */
	bool more;
	int64_t failures; /* one after the other */
	int64_t sent;
	char trouble[400]; /* why the last try failed; "" it did not */
	int status;        /* that the failure has without --watch */
	int number;        /* of a signal; 0: none */
};

/* Said once, until it changes. status: for who does not watch. */
static int meter_trouble(struct meter_run *r, int status, const char *who, const char *why)
{
	char text[400];

	snprintf(text, sizeof text, "%.100s: %.280s", who, why);
	r->failures++;
	r->status = status;
	if (option_given(r->x->o, "watch") && strcmp(text, r->trouble) != 0)
		print_warn(r->x->np, "%s; trying again", text);
	snprintf(r->trouble, sizeof r->trouble, "%s", text);
	return -1;
}

static void meter_fine(struct meter_run *r)
{
	if (*r->trouble && option_given(r->x->o, "watch"))
		print_note(r->x->np, "%.100s: accepts usage again", r->x->way.label);
	r->trouble[0] = '\0';
	r->failures = 0;
}

/* The next page, unless the one before still waits to be accepted. 0, or as meter_step(). */
static int meter_fetch(struct meter_run *r)
{
	struct meter *x = r->x;
	struct fail f;
	const char *next = NULL;
	int rc;

	if (r->list)
		return 0;
	if (!x->m) {
		rc = meter_spool_page(&x->spool, x->book.cursor, r->limit, &r->list, &r->count, r->cursor, &r->more,
			&f);
		return rc ? meter_trouble(r, rc == -EINVAL ? STATUS_USAGE : STATUS_FAILURE, "cannot read usage", f.text)
			  : 0;
	}
	rc = meter_page(x, x->book.cursor, r->limit, &r->list, &r->count);
	if (rc == CLIENT_STOPPED || rc == MARKET_EXPLAINED)
		return rc;
	if (rc)
		return meter_trouble(r, client_status(rc), "cannot ask for usage", x->m->fail.text);
	snprintf(r->cursor, sizeof r->cursor, "%s", doc_text(x->m->doc, "cursor"));
	r->more = doc_next(x->m->doc, &next, &f) == 0 && next;
	return 0;
}

/* 1: there is more; 0: that was all; -1: it failed; CLIENT_STOPPED, MARKET_EXPLAINED. */
static int meter_step(struct meter_run *r)
{
	struct meter *x = r->x;
	struct meter_batch b;
	struct fail f = { 0 };
	int rc = meter_fetch(r);

	if (rc)
		return rc;
	b = (struct meter_batch){ x->m ? x->m->doc : x->spool.doc, r->list, r->count };
	rc = r->count ? x->way.calls->send(&x->way, &b, &f) : 0;
	if (rc == CLIENT_STOPPED)
		return rc;
	if (rc)
		return meter_trouble(r, STATUS_UNREACHABLE, x->way.label, f.text);
	if (strcmp(r->cursor, x->book.cursor) != 0 && meter_book_move(&x->book, r->cursor, (int64_t)r->count, &f))
		return meter_trouble(r, STATUS_FAILURE, "cannot note what was accepted", f.text);
	meter_fine(r);
	r->sent += (int64_t)r->count;
	free(r->list);
	r->list = NULL;
	return r->more;
}

/* From --every, but no more than a second, doubled with each failure, up to 5 minutes or 10 times --every. */
static int64_t meter_pause(const struct meter_run *r)
{
	int64_t first = r->every_ms < METER_RETRY_MS ? r->every_ms : METER_RETRY_MS,
		most = METER_RETRIES * METER_RETRY_MS;

	most = 10 * r->every_ms < most ? 10 * r->every_ms : most;
	for (int64_t n = r->failures; n > 1 && first < most; n--)
		first *= 2;
	return r->failures ? (first < most ? first : most) : r->every_ms;
}

static int meter_stopped(const struct meter_run *r)
{
	return r->number == SIGTERM ? STATUS_TERM : STATUS_INT;
}

/* The signal that ended a request waits to be read. */
static bool meter_rest(struct meter_run *r, int64_t ms)
{
	return signals_rest(ms, &r->number);
}

static int meter_watch(struct meter_run *r)
{
	for (;;) {
		int rc = meter_step(r);

		if (rc == MARKET_EXPLAINED)
			return STATUS_OK;
		if (meter_rest(r, rc == 1 || rc == CLIENT_STOPPED ? 0 : meter_pause(r)))
			return meter_stopped(r);
	}
}

static int meter_once(struct meter_run *r)
{
	int rc;

	do
		rc = meter_step(r);
	while ((rc == 1 || rc == CLIENT_STOPPED) && !meter_rest(r, 0));
	if (r->number)
		return meter_stopped(r);
	if (rc == MARKET_EXPLAINED)
		return STATUS_OK;
	if (rc)
		return print_fail(r->x->np, r->status,
			r->status == STATUS_USAGE ? NULL : "the same command goes on from there", "%s", r->trouble);
	if (!option_given(r->x->o, "quiet"))
		print_note(r->x->np, "%" PRId64 " event%s accepted, %" PRId64 " in all", r->sent,
			r->sent == 1 ? "" : "s", r->x->book.events);
	return STATUS_OK;
}

int meter_send(struct meter *x)
{
	struct meter_run r = { .x = x,
		.every_ms = option_ms(x->o, "every"),
		.limit = (size_t)option_int(x->o, "batch") };
	int rc = option_given(x->o, "watch") ? meter_watch(&r) : meter_once(&r);

	free(r.list);
	return rc;
}
