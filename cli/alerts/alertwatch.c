/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event is on disk before it is told, and what a receiver accepted is on disk before the next one is told: killed
 * between any two steps, the next command tells the last event once more, with the same id, and loses none.
 */
#include "cli/alerts/alertwatch.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "cli/alerts/alerthook.h"
#include "cli/alerts/alertlist.h"
#include "cli/alerts/alertmail.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "base/kept.h"
#include "cli/trade/tokenfile.h"

enum {
	WAYS_MOST = 16,
	AWAY_LOOKS = 10, /* so many without an answer are an alert by themselves */
	RETRY_FIRST_MS = 1000,
	RETRY_MOST_MS = 300000,
	TURN_EVENTS = 50, /* told to one receiver before the next one's turn */
	LEVEL_ANY = 3,
};

struct watch {
	struct nanopod *np;
	const struct options *o;
	struct market_link *m;
	struct alert_book book;
	struct alert_way ways[WAYS_MOST];
	size_t way_count;
	char *secret;
	int64_t every_ms, look_ms; /* look_ms: when the next look is due */
	int failed_looks;
	char trouble[400]; /* why the last look failed; "" it did not */
	int number;        /* of the signal that ended it; 0: none */
	int status;
};

/* ---- What is said ------------------------------------------------------------------------- */

static void alertwatch_trouble(struct watch *w, char *room, size_t size, const char *what, const char *why)
{
	char text[400];

	snprintf(text, sizeof text, "%.100s: %.280s", what, why);
	if (strncmp(text, room, size - 1) == 0)
		return;
	snprintf(room, size, "%s", text);
	print_warn(w->np, "%s; trying again", text);
}

static void alertwatch_say_events(struct watch *w, int64_t before)
{
	struct alert_event e;
	struct buf title;

	while (!option_given(w->o, "quiet") && alert_book_next(&w->book, before, &e)) {
		buf_init(&title, 8192);
		alert_event_title(&e, &title);
		print_note(w->np, "%s%s%s", buf_text(&title), e.ended ? "" : ": ",
			e.ended ? "" : e.alarm->word[ALARM_TEXT]);
		buf_release(&title);
		before = e.seq;
	}
}

/* ---- Looking ------------------------------------------------------------------------------ */

static bool alertwatch_wants(const struct watch *w, const struct model_alert *a)
{
	return alerts_rank(a->severity) <= alerts_rank(option_text(w->o, "severity")) && !alerts_silenced(w->o, a);
}

static void alertwatch_take(struct watch *w, const struct alerts *a)
{
	int64_t now = a->of.now ? a->of.now : time(NULL);

	alert_book_begin(&w->book);
	for (size_t i = 0; i < a->count; i++)
		alert_book_holds(&w->book, &a->list[i], alertwatch_wants(w, &a->list[i]), now);
	alert_book_end(&w->book, a->unjudged, a->unjudged_count, now);
	if (w->book.full)
		print_warn(w->np, "more alerts hold than can be told at once; the others follow when some have ended");
}

/* Nothing is known of any alert then, and none has ended. */
static void alertwatch_away(struct watch *w)
{
	struct model_alert away = { .rule = "market_away",
		.severity = "critical",
		.unit = "none",
		.kind = "market",
		.id = w->m->url,
		.name = w->m->url,
		.text = "the market does not answer, so nothing is known of any other alert",
		.next = "nanopod doctor",
		.value = NAN,
		.threshold = NAN };

	if (++w->failed_looks >= AWAY_LOOKS)
		alert_book_holds(&w->book, &away, alertwatch_wants(w, &away), time(NULL));
}

/* Another token may be in its file since. */
static void alertwatch_sign_in(struct watch *w, int rc)
{
	struct market_link *fresh;

	if (rc != REASON_UNAUTHENTICATED && rc != REASON_TOKEN_EXPIRED)
		return;
	if (market_sign_in(w->np, w->o, MARKET_BRIEFLY, &fresh))
		return;
	market_sign_out(w->m);
	w->m = fresh;
}

/* 0, an exit status where there is no sense in going on, or -1 after a failure that may pass. */
static int alertwatch_look(struct watch *w)
{
	struct alerts a = { .count = 0 };
	int64_t before = w->book.last;
	int rc = alerts_ask(w->m, LEVEL_ANY, &a), status = -1;
	bool first = !w->look_ms;

	w->look_ms = clock_ms() + w->every_ms;
	if (!rc) {
		w->failed_looks = 0;
		w->trouble[0] = '\0';
		alertwatch_take(w, &a);
		status = 0;
	} else if (rc == MARKET_EXPLAINED || !option_given(w->o, "watch") || (first && !client_retryable(rc))) {
		status = market_fail(w->m, "cannot ask for alerts");
	} else if (rc != CLIENT_STOPPED) {
		alertwatch_trouble(w, w->trouble, sizeof w->trouble, "cannot ask for alerts", w->m->fail.text);
		alertwatch_away(w);
		alertwatch_sign_in(w, rc);
	}
	alerts_release(&a);
	alertwatch_say_events(w, before);
	return status;
}

/* ---- Telling ------------------------------------------------------------------------------ */

/* 1 s, 2 s, 4 s … 5 min. */
static int64_t alertwatch_pause(int64_t attempts)
{
	int64_t ms = RETRY_FIRST_MS;

	for (; attempts > 1 && ms < RETRY_MOST_MS; attempts--)
		ms *= 2;
	return ms < RETRY_MOST_MS ? ms : RETRY_MOST_MS;
}

static bool alertwatch_due(const struct watch *w, size_t i)
{
	const struct alert_receiver *r = &w->book.receivers[i];
	const struct alert_way *way = &w->ways[i];
	struct alert_event e;

	if (clock_ms() < way->retry_ms)
		return false;
	return alert_book_next(&w->book, r->accepted, &e) ||
		(alert_way_refreshes(way) && w->book.count && clock_ms() >= way->refresh_ms);
}

static int alertwatch_send(struct alert_way *way, const struct alert_book *b, const struct alert_receiver *r,
	int64_t *upto, struct fail *f)
{
	switch (way->kind) {
	case ALERT_MAIL:
		return alert_mail_send(way, b, r, upto, f);
	case ALERT_MANAGER:
		return alert_manager_send(way, b, upto, f);
	default:
		return alert_hook_send(way, b, r, upto, f);
	}
}

/* One request or letter to one receiver. 0, or a negative code. */
static int alertwatch_tell(struct watch *w, size_t i)
{
	struct alert_receiver *r = &w->book.receivers[i];
	struct alert_way *way = &w->ways[i];
	int64_t upto = r->accepted;
	struct fail f = { 0 };
	int rc = alertwatch_send(way, &w->book, r, &upto, &f);

	if (rc == CLIENT_STOPPED)
		return rc;
	if (rc) {
		r->attempts++;
		way->retry_ms = clock_ms() + alertwatch_pause(r->attempts);
		alertwatch_trouble(w, way->trouble, sizeof way->trouble, way->label, f.text);
	} else {
		if (*way->trouble)
			print_note(w->np, "%s: accepts alerts again", way->label);
		way->trouble[0] = '\0';
		way->refresh_ms = clock_ms() + w->every_ms;
		r->accepted = upto;
		r->attempts = 0;
	}
	if (alert_book_save_sent(&w->book, &f)) {
		alertwatch_trouble(w, w->trouble, sizeof w->trouble, "cannot keep what was told", f.text);
		way->retry_ms = clock_ms() + RETRY_FIRST_MS;
		return -EIO;
	}
	return rc;
}

/* What is due, each receiver in turn. False: an alert that is not on disk must not be told. */
static bool alertwatch_tell_all(struct watch *w)
{
	struct fail f;

	if (alert_book_save(&w->book, &f)) {
		alertwatch_trouble(w, w->trouble, sizeof w->trouble, "cannot keep alerts", f.text);
		return false;
	}
	for (size_t i = 0; i < w->way_count; i++)
		for (int n = 0; n < TURN_EVENTS && alertwatch_due(w, i); n++)
			if (alertwatch_tell(w, i))
				break;
	alert_book_prune(&w->book);
	return true;
}

static size_t alertwatch_waiting(const struct watch *w)
{
	size_t n = 0;
	struct alert_event e;

	for (size_t i = 0; i < w->way_count; i++)
		for (int64_t at = w->book.receivers[i].accepted; alert_book_next(&w->book, at, &e); at = e.seq)
			n++;
	return n;
}

static bool alertwatch_any_due(const struct watch *w)
{
	for (size_t i = 0; i < w->way_count; i++)
		if (alertwatch_due(w, i))
			return true;
	return false;
}

/* Until the next look or the next try, whichever is first. False: a signal asked to stop. */
static bool alertwatch_rest(struct watch *w)
{
	int64_t until = w->look_ms, left;

	for (size_t i = 0; i < w->way_count; i++)
		if (w->ways[i].retry_ms > clock_ms() && w->ways[i].retry_ms < until)
			until = w->ways[i].retry_ms;
	do {
		left = alertwatch_any_due(w) ? 0 : until - clock_ms();
		if (signals_rest(left > 0 ? left : 0, &w->number))
			return false;
	} while (clock_ms() < until && !alertwatch_any_due(w));
	return true;
}

static int alertwatch_for_ever(struct watch *w)
{
	int rc;

	for (;;) {
		rc = clock_ms() >= w->look_ms ? alertwatch_look(w) : 0;
		if (rc > 0 || w->m->explain)
			return rc;
		if (!alertwatch_tell_all(w))
			w->look_ms = clock_ms() + RETRY_FIRST_MS;
		if (!alertwatch_rest(w))
			return w->number == SIGTERM ? STATUS_TERM : STATUS_INT;
	}
}

/* Each receiver until nothing is left for it, or it failed. */
static int alertwatch_once(struct watch *w)
{
	int rc = alertwatch_look(w);
	size_t waiting;
	struct fail f;

	if (rc || w->m->explain)
		return rc;
	do {
		if (!alertwatch_tell_all(w))
			return print_fail(w->np, STATUS_FAILURE, NULL, "%s", w->trouble);
	} while (alertwatch_any_due(w) && !signals_rest(0, &w->number));
	waiting = alertwatch_waiting(w);
	if (alert_book_save(&w->book, &f))
		return print_fail(w->np, STATUS_FAILURE, NULL, "%s", f.text);
	if (w->number)
		return w->number == SIGTERM ? STATUS_TERM : STATUS_INT;
	if (waiting)
		return print_fail(w->np, STATUS_UNREACHABLE, "the same command tells them again",
			"%zu event%s not accepted yet", waiting, waiting > 1 ? "s are" : " is");
	return STATUS_OK;
}

/* ---- The beginning and the end ---------------------------------------------------------------- */

/* One file for each market, profile and account, unless --state names one. malloc'd. */
static char *alertwatch_path(const struct watch *w)
{
	const char *typed = option_text(w->o, "state"), *profile = settings_profile(w->np->settings);
	char *path, *key;
	uint64_t name;

	if (typed)
		return asprintf(&path, "%s%s", strchr(typed, '/') ? "" : "./", typed) < 0 ? NULL : path;
	if (asprintf(&key, "%s\n%s\n%s", w->m->url, profile ? profile : "", w->np->account ? w->np->account : "") < 0)
		return NULL;
	name = hash_more(HASH_BEGIN, key, strlen(key));
	free(key);
	return kept_path("alerts/%016" PRIx64, name);
}

static int alertwatch_secret(struct watch *w)
{
	const char *file = option_text(w->o, "secret-file"), *env = getenv("NANOPOD_ALERT_SECRET");
	struct fail f;

	if (file && token_read_file(file, &w->secret, &f))
		return print_fail_field(w->np, STATUS_USAGE, "--secret-file", NULL, "%s", f.text);
	if (!file && env && *env && !(w->secret = strdup(env)))
		command_nomem();
	return 0;
}

static int alertwatch_open_ways(struct watch *w, uint64_t keys[WAYS_MOST])
{
	const char *text;
	struct fail f;

	for (size_t i = 0; (text = option_at(w->o, "to", i)); i++) {
		struct alert_way *way = &w->ways[w->way_count];

		if (w->way_count == WAYS_MOST)
			return print_fail_field(w->np, STATUS_USAGE, "--to", NULL, "no more than %d receivers",
				WAYS_MOST);
		w->way_count++;
		if (alert_way_open(way, text, &f))
			return print_fail_field(w->np, STATUS_USAGE, "--to", NULL, "%s", f.text);
		way->secret = w->secret;
		way->market = w->m->url;
		way->every = w->every_ms / 1000;
		keys[i] = way->key;
		for (size_t k = 0; k < i; k++)
			if (keys[k] == way->key)
				return print_fail_field(w->np, STATUS_USAGE, "--to", NULL, "'%s' stands there twice",
					way->label);
	}
	return 0;
}

static int alertwatch_begin(struct watch *w)
{
	uint64_t keys[WAYS_MOST];
	char *path;
	struct fail f;
	int rc = alertwatch_secret(w);

	rc = rc ? rc : alertwatch_open_ways(w, keys);
	if (rc || w->m->explain)
		return rc;
	path = alertwatch_path(w);
	if (!path)
		return print_fail(w->np, STATUS_USAGE, "use --state FILE",
			"cannot find your state folder: HOME is not set");
	rc = alert_book_open(&w->book, path, &f);
	free(path);
	if (rc)
		return print_fail(w->np, rc == -EBUSY ? STATUS_CONFLICT : STATUS_FAILURE,
			rc == -EBUSY ? "stop it, or use --state FILE for another set of receivers" : NULL, "%s",
			f.text);
	alert_book_receivers(&w->book, keys, w->way_count);
	return 0;
}

int alert_watch(struct nanopod *np, const struct options *o)
{
	struct watch w = { .np = np, .o = o, .every_ms = option_ms(o, "every"), .book = { .lock = -1 } };
	int rc = market_sign_in(np, o, MARKET_BRIEFLY, &w.m);

	if (rc)
		return rc;
	rc = alertwatch_begin(&w);
	if (!rc)
		rc = option_given(o, "watch") ? alertwatch_for_ever(&w) : alertwatch_once(&w);
	for (size_t i = 0; i < w.way_count; i++)
		alert_way_close(&w.ways[i]);
	alert_book_close(&w.book);
	token_free(w.secret);
	market_sign_out(w.m);
	return rc < 0 ? STATUS_OK : rc;
}
