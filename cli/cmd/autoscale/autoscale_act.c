/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod autoscale` does, by commands that can be typed, too. Each can be cut off anywhere: the next round sees
 * what came of it. A purchase is on disk before it is made, so that exactly the same command can go on with it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cmd/autoscale/autoscale.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/trade/resume_file.h"
#include "market/money.h"
#include "market/reason.h"

enum { ACT_WORDS = 1 << 16 };

/* ---- Buying ------------------------------------------------------------------------------------ */

static void act_record(const struct autoscale *a, char room[AUTOSCALE_PATH + 32])
{
	snprintf(room, AUTOSCALE_PATH + 32, "%s/purchase", a->room);
}

static bool act_record_read(const struct autoscale *a, struct buf *text)
{
	char path[AUTOSCALE_PATH + 32];

	act_record(a, path);
	return buf_read_file(text, path) == 0 && text->len;
}

static void act_record_end(const struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32];

	act_record(a, path);
	(void)unlink(path);
	(void)file_sync_folder(path);
}

/* Runs the purchase that is on disk, whose first line is its nodes' name. */
static int act_purchase(struct autoscale *a, char *why)
{
	struct autoscale_words w = { .count = 0 };
	struct buf text;
	int status;

	buf_init(&text, ACT_WORDS);
	if (!act_record_read(a, &text)) {
		buf_release(&text);
		snprintf(why, SCALE_TEXT, "the purchase is not known here");
		return STATUS_NOTFOUND;
	}
	autoscale_word(&w, "buy");
	for (char *rest = text.data, *line; (line = strsep(&rest, "\n"));)
		if (*line)
			autoscale_word(&w, "%s", line);
	autoscale_words_ways(a, &w, false);
	status = autoscale_call(a, &w, NULL, why);
	buf_release(&text);
	return status;
}

static int act_record_write(const struct autoscale *a, int64_t left, char *why)
{
	char path[AUTOSCALE_PATH + 32], price[MONEY_TEXT], total[MONEY_TEXT];
	struct buf b;
	int rc;

	buf_init(&b, ACT_WORDS);
	act_record(a, path);
	rc = buf_addf(&b,
		"--node-name=%s-auto\n--into=%s\n--type=%s\n--duration=%" PRId64
		"m\n--price=%s\n--per=node\n--max-total=%s\n--yes\n",
		a->cluster, a->reservation.name, a->sku->id, a->p.c->autoscale.ahead_ms / 60000,
		price_text(a->best, 0, price), money_wire(left, total));
	for (size_t i = 0; i < option_count(a->o, "ssh-key"); i++)
		rc = rc ? rc : buf_addf(&b, "--ssh-key=%s\n", option_at(a->o, "ssh-key", i));
	if (option_text(a->o, "image"))
		rc = rc ? rc : buf_addf(&b, "--image=%s\n", option_text(a->o, "image"));
	rc = rc ? rc : file_replace(path, b.data, b.len, 0600);
	buf_release(&b);
	if (rc)
		snprintf(why, SCALE_TEXT, "cannot write '%.120s': %s", path, strerror(-rc));
	return rc;
}

static bool act_take_unfinished(void *arg, const struct resume_file *i)
{
	struct autoscale *a = arg;
	char mark[SCALE_TEXT];

	snprintf(mark, sizeof mark, "\n--node-name=%.100s-auto\n", a->cluster);
	a->unfinished |= strstr(resume_file_get(i, "match"), mark) != NULL;
	return !a->unfinished;
}

/*
 * A purchase that was cut off goes on by the same words, with the keys of its requests: what the market did already is
 * not done twice. One that is not among the unfinished is done, or was never begun.
 */
static void act_resume(struct autoscale *a)
{
	char *prefix, why[SCALE_TEXT] = "";
	struct buf text;
	bool known;

	buf_init(&text, ACT_WORDS);
	known = act_record_read(a, &text);
	buf_release(&text);
	if (!known)
		return;
	if (asprintf(&prefix, "buy\n%s\n", a->m->url) < 0)
		command_nomem();
	a->unfinished = false;
	resume_file_each(prefix, act_take_unfinished, a);
	free(prefix);
	if (a->unfinished && act_purchase(a, why))
		autoscale_say(a, true, "cannot go on with a purchase that was cut off: %s", why);
	else if (a->unfinished)
		autoscale_say(a, false, "went on with a purchase that was cut off");
	if (!a->unfinished)
		act_record_end(a);
	a->plan.count = 0; /* it was made without that node: look again */
}

static void act_buy(struct autoscale *a, const struct scale_step *s)
{
	char why[SCALE_TEXT] = "", cost[MONEY_TEXT];

	for (int64_t i = 0; i < s->nodes && !signals_asked(); i++) {
		int64_t spent = a->w.spent, left = a->w.limits.budget - spent;

		if (left < a->w.price.cost)
			return;
		if (act_record_write(a, left, why) || act_purchase(a, why)) {
			autoscale_say(a, true, "cannot buy a node now: %s", why);
			return;
		}
		act_record_end(a);
		if (autoscale_spent(a))
			return;
		print_note(a->np, "bought a node for %s: %s", money_cents(a->w.spent - spent, cost), s->why);
		if (i + 1 < s->nodes && (autoscale_ask_price(a) || !a->w.price.fills))
			return;
	}
}

/* ---- No new jobs ------------------------------------------------------------------- */

/* Asks the controller for something about a node; the answer is its last line. */
static void act_control(struct autoscale *a, const char *verb, const struct scale_node *n, char *answer)
{
	char why[SCALE_TEXT] = "";
	struct autoscale_words w = { .count = 0 };
	struct buf out;

	snprintf(answer, SCALE_TEXT, "no such script");
	if (!autoscale_words_manager(a, &w))
		return;
	autoscale_word(&w, "%s", verb);
	autoscale_word(&w, "%s", n->name);
	buf_init(&out, ACT_WORDS);
	if (autoscale_call(a, &w, &out, why) || !out.len)
		snprintf(answer, SCALE_TEXT, "%s cannot be asked: %.150s", a->manager->name, why);
	else
		snprintf(answer, SCALE_TEXT, "%.*s", (int)strcspn(out.data, "\n"), out.data);
	buf_release(&out);
}

static void act_drain(struct autoscale *a, const struct scale_step *s)
{
	const struct scale_node *n = &a->w.nodes[s->node];
	char answer[SCALE_TEXT];

	act_control(a, "rest", n, answer);
	if (strcmp(answer, "held") == 0)
		autoscale_say(a, true, "no new %ss on %s: %s", a->manager->work, n->name, s->why);
	else
		autoscale_say(a, true, "cannot drain %s: %s", n->name, answer);
}

static void act_let_end(struct autoscale *a, const struct scale_step *s)
{
	const struct scale_node *n = &a->w.nodes[s->node];

	if (n->place == SCALE_SERVES && !n->drained)
		act_drain(a, s);
	autoscale_say(a, true, "%s is not extended, and ends with its time: %s", n->name, s->why);
}

/* The budget does not cover what ends then: no job may begin that would be cut off. */
static void act_drain_end(struct autoscale *a, int64_t end)
{
	for (size_t i = 0; i < a->plan.count; i++) {
		const struct scale_step *s = &a->plan.steps[i];
		const struct scale_node *n = &a->w.nodes[s->node];

		if (s->verb == SCALE_EXTEND && n->end == end && n->place == SCALE_SERVES && !n->drained)
			act_drain(a, s);
	}
}

/* ---- Giving back ------------------------------------------------------------------------------- */

/* Runs `verb` of provision for the nodes that are marked, by their steps. False: it failed, or there are none. */
static bool act_on(struct autoscale *a, const char *verb, const bool *which, bool force, struct buf *hosts, char *why)
{
	struct autoscale_words w = { .count = 0 };

	buf_clear(hosts);
	for (size_t i = 0; i < a->plan.count; i++)
		if (which[i] && buf_addf(hosts, "%s%s", hosts->len ? "," : "", a->w.nodes[a->plan.steps[i].node].name))
			command_nomem();
	if (!hosts->len)
		return false;
	if (force)
		autoscale_word(&w, "--force");
	autoscale_words_provision(a, &w, verb, buf_text(hosts));
	return autoscale_call(a, &w, NULL, why) == STATUS_OK;
}

/*
 * From here on no job can begin on it; and nobody who came since the last look is thrown out. An unmarked step is not
 * done in this round.
 */
static void act_hold(struct autoscale *a, bool *which)
{
	size_t asked[SCALE_NODES], count = 0;
	bool ours[SCALE_STEPS] = { false };
	char answer[SCALE_TEXT];

	for (size_t i = 0; i < a->plan.count; i++) {
		struct scale_node *n = &a->w.nodes[a->plan.steps[i].node];

		if (!which[i] || (n->place != SCALE_SERVES && n->place != SCALE_UP))
			continue;
		if (n->place == SCALE_SERVES && !n->drained) {
			act_control(a, "hold", n, answer);
			ours[i] = which[i] = strcmp(answer, "held") == 0;
			if (!which[i])
				autoscale_say(a, false, "%s stays: %s", n->name, answer);
		}
		if (which[i])
			asked[count++] = a->plan.steps[i].node;
	}
	autoscale_ask_quiet(a, asked, count);
	for (size_t i = 0; i < a->plan.count; i++) {
		struct scale_node *n = &a->w.nodes[a->plan.steps[i].node];

		if (!which[i] || !*n->used)
			continue;
		if (n->blind && (n->place != SCALE_SERVES || a->plan.steps[i].verb == SCALE_LET_END))
			continue;
		which[i] = false;
		autoscale_say(a, false, "%s stays: %s", n->name, n->used);
		if (ours[i])
			act_control(a, "work", n, answer);
	}
}

static bool act_release(struct autoscale *a, const struct scale_step *s)
{
	struct autoscale_words w = { .count = 0 };
	const char *name = a->w.nodes[s->node].name;
	char why[SCALE_TEXT] = "";
	int status;

	autoscale_word(&w, "release");
	autoscale_word(&w, "%s", name);
	autoscale_word(&w, "--yes");
	autoscale_words_ways(a, &w, false);
	status = autoscale_call(a, &w, NULL, why);
	if (status)
		autoscale_say(a, true, "cannot give %s back: %s", name, why);
	else
		autoscale_say(a, false, "gave %s back: %s", name, s->why);
	if (!status)
		scale_moved(&a->w, s->node, &a->moved, (int64_t)time(NULL));
	return status == STATUS_OK;
}

/* Others that end with them are extended now. They stay members until no join goes on: then they are forgotten. */
static void act_give_back_at_once(struct autoscale *a, int64_t end)
{
	bool which[SCALE_STEPS] = { false };

	for (size_t i = 0; i < a->plan.count; i++)
		which[i] = scale_at_once(&a->w, &a->plan, i, end);
	act_hold(a, which);
	for (size_t i = 0; i < a->plan.count; i++)
		if (which[i] && act_release(a, &a->plan.steps[i]))
			a->w.nodes[a->plan.steps[i].node].place = SCALE_OVER;
}

static void act_give_back(struct autoscale *a)
{
	bool all[SCALE_STEPS] = { false }, which[SCALE_STEPS] = { false };
	char why[SCALE_TEXT] = "";
	struct buf hosts;

	for (size_t i = 0; i < a->plan.count; i++)
		all[i] = a->plan.steps[i].verb == SCALE_GIVE_BACK &&
			a->w.nodes[a->plan.steps[i].node].place != SCALE_OVER;
	act_hold(a, all);
	buf_init(&hosts, ACT_WORDS);
	for (int broken = 0; broken < 2; broken++) {
		bool some = false;

		for (size_t i = 0; i < a->plan.count; i++) {
			const struct scale_node *n = &a->w.nodes[a->plan.steps[i].node];

			which[i] = all[i] && n->member && (n->place != SCALE_SERVES) == broken;
			some |= which[i];
		}
		if (!some || act_on(a, "drop", which, broken, &hosts, why))
			continue;
		autoscale_say(a, true, "cannot take %.60s out of '%s': %s", buf_text(&hosts), a->cluster, why);
		for (size_t i = 0; i < a->plan.count; i++)
			all[i] &= !which[i];
	}
	for (size_t i = 0; i < a->plan.count; i++)
		if (all[i])
			(void)act_release(a, &a->plan.steps[i]);
	buf_release(&hosts);
}

static void act_forget(struct autoscale *a)
{
	bool which[SCALE_STEPS] = { false };
	char why[SCALE_TEXT] = "";
	struct buf hosts;

	for (size_t i = 0; i < a->plan.count; i++)
		which[i] = a->plan.steps[i].verb == SCALE_FORGET;
	buf_init(&hosts, ACT_WORDS);
	if (act_on(a, "drop", which, true, &hosts, why))
		autoscale_say(a, false, "'%s' forgets %.100s: their time has ended", a->cluster, buf_text(&hosts));
	else
		autoscale_say(a, true, "'%s' cannot forget %.60s: %s", a->cluster, buf_text(&hosts), why);
	buf_release(&hosts);
}

/* ---- Going on --------------------------------------------------------------------------------- */

/*
 * Each request names the end that it extends from, and the newest order that the budget counted: it does no harm when
 * it is sent twice, or comes so late that a loop after this one has spent what was left.
 */
static void act_extend(struct autoscale *a, const struct scale_step *s, int64_t nodes)
{
	const struct scale_node *n = &a->w.nodes[s->node];
	int64_t spent = a->w.spent, left = a->w.limits.budget - spent;
	struct model_extend ask = { .sku = a->sku->id,
		.start = n->end,
		.end = n->end + a->p.c->autoscale.ahead_ms / 1000,
		.last_order = *a->last ? a->last : NULL,
		.nodes = nodes,
		.price = a->limit,
		.max_total = left };
	char path[160], key[256], cost[MONEY_TEXT];
	struct buf body;
	int rc;

	if (left <= 0)
		return;
	snprintf(path, sizeof path, "/np/v1/pools/%s/extend", a->reservation.id);
	snprintf(key, sizeof key, "np-autoscale-%.60s-%.60s-%" PRId64 "-%" PRId64 "-%" PRId64, a->reservation.id,
		a->sku->id, n->end, spent, nodes);
	buf_init(&body, ACT_WORDS);
	if (wire_put_extend(&body, &ask))
		command_nomem();
	rc = market_send(a->m, "POST", path, &body, key);
	buf_release(&body);
	if (rc)
		autoscale_say(a, true, "cannot extend %s: %.120s", n->name, a->m->fail.text);
	if (rc == REASON_OVER_MAX_TOTAL)
		act_drain_end(a, n->end);
	if (rc)
		return;
	autoscale_seen_extended(a, n->end);
	if (!autoscale_spent(a))
		print_note(a->np, "extended %s, and what ends with it, for %s: %s", n->name,
			money_cents(a->w.spent - spent, cost), s->why);
}

static void act_extend_end(struct autoscale *a, const struct scale_step *s)
{
	int64_t end = a->w.nodes[s->node].end, nodes = scale_extension(&a->w, &a->plan, end);

	if (nodes < 0)
		return;
	act_give_back_at_once(a, end);
	act_extend(a, s, nodes);
}

/* ---- A round ----------------------------------------------------------------------------------- */

/*
 * One command at a time changes the cluster. What is near its end goes before others join: a join can take longer than
 * is left.
 */
static void act_one_long(struct autoscale *a, const size_t count[SCALE_FORGET + 1])
{
	if (autoscale_joins(a))
		return;
	if (count[SCALE_JOIN] && !scale_hurries(&a->w, &a->plan))
		autoscale_join(a);
	else if (count[SCALE_GIVE_BACK])
		act_give_back(a);
	else if (count[SCALE_FORGET])
		act_forget(a);
}

void autoscale_act(struct autoscale *a)
{
	size_t count[SCALE_FORGET + 1] = { 0 };
	int64_t extended = 0;

	act_resume(a);
	for (size_t i = 0; i < a->plan.count && !signals_asked(); i++) {
		const struct scale_step *s = &a->plan.steps[i];
		int64_t end = a->w.nodes[s->node].end;

		count[s->verb]++;
		if (s->verb == SCALE_EXTEND && end != extended) {
			act_extend_end(a, s);
			extended = end;
		} else if (s->verb == SCALE_BUY) {
			act_buy(a, s);
		} else if (s->verb == SCALE_DRAIN) {
			act_drain(a, s);
		} else if (s->verb == SCALE_LET_END) {
			act_let_end(a, s);
		}
	}
	if (!signals_asked())
		act_one_long(a, count);
}
