/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of a rollout: takes records of running scripts and sends out notes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/provision/rollout/notetext.h"
#include "cli/provision/rollout/rollout_part.h"

enum { LOG_BYTES = 1 << 26, RECORDS = 20000, RECORD_BYTES = 1 << 24, TIMEOUT_S = 600, CHECK_S = 300 };

static const char flooded[] = "its output is too long, so nanopod ended its script";

void rollout_say(struct rollout *e, const struct note *n)
{
	if (n->kind != NOTE_TICK && n->kind != NOTE_LOG && n->kind != NOTE_BEGIN)
		e->said_at = clock_ms();
	if (e->j)
		runlog_note(e->j, n);
	if (e->o.tell)
		e->o.tell(e->o.arg, n);
}

void rollout_phase(struct rollout *e, enum rollout_phase phase, const char *word)
{
	e->phase = phase;
	if (word)
		rollout_say(e, &(struct note){ .kind = NOTE_PHASE, .text = word, .ok = true });
}

bool rollout_in(const struct rollout *e, size_t member)
{
	return !e->nodes[member].out;
}

void rollout_lose(struct rollout *e, size_t member, const char *why)
{
	struct rollout_node *n = &e->nodes[member];

	if (n->out)
		return;
	n->out = true;
	n->why = strdup(why);
	if (!n->why)
		command_nomem();
	e->lost++;
	if (e->g)
		graph_lose(e->g, member);
	rollout_say(e, &(struct note){ .kind = NOTE_LOST, .node = e->c->members[member], .text = n->why });
}

struct work *rollout_find(struct rollout *e, size_t member, const char *stack, const char *step)
{
	for (size_t i = 0; e->g && i < e->g->count; i++) {
		struct work *w = &e->g->at[i];

		if (w->member == member && strcmp(w->use->stack->name, stack) == 0 && strcmp(w->step->name, step) == 0)
			return w;
	}
	return NULL;
}

void rollout_graph_is(struct rollout *e, struct graph *g)
{
	graph_free(e->g);
	free(e->works);
	e->g = g;
	e->works = calloc(e->g->count + 1, sizeof *e->works);
	if (!e->works)
		command_nomem();
	for (size_t i = 0; i < e->g->count; i++)
		e->g->at[i].data = &e->works[i];
	for (size_t m = 0; m < e->c->count; m++)
		if (!rollout_in(e, m))
			graph_lose(e->g, m);
}

void rollout_graph(struct rollout *e)
{
	struct fail f = { 0 };
	struct graph *g;

	/* A circle was an error at the start, so this can only be out of memory. */
	if (graph_new(e->c, &g, &f) != 0)
		command_nomem();
	rollout_graph_is(e, g);
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

struct rollout_task *rollout_task_new(struct rollout *e, size_t member, struct work *w, rollout_ended *ended)
{
	struct rollout_task *t = calloc(1, sizeof *t);

	if (!t)
		command_nomem();
	list_init(&t->link);
	list_append(&e->tasks, &t->link);
	e->task_count++;
	t->member = member;
	t->work = w;
	t->ended = ended;
	t->log = -1;
	t->log_left = LOG_BYTES;
	t->began = clock_ms();
	return t;
}

void rollout_task_run(struct rollout *e, struct rollout_task *t, const struct buf *script, unsigned flags,
	int64_t limit_ms)
{
	t->now = NULL;
	t->checks = 0;
	t->differs = t->dids = t->bads = t->open = 0;
	t->done = 0;
	*t->function = '\0';
	notetext_drop(&t->cause);
	notetext_drop(&t->hint);
	notetext_drop(&t->still);
	remote_begin(e->r, t->member, buf_text(script), script->len, flags, limit_ms, t, &t->job);
}

void rollout_task_free(struct rollout *e, struct rollout_task *t)
{
	rollout_task_flush(e, t);
	if (t->log >= 0)
		close(t->log);
	notetext_drop(&t->cause);
	notetext_drop(&t->hint);
	notetext_drop(&t->still);
	list_remove(&t->link);
	e->task_count--;
	e->moved = true;
	free(t);
}

/* Sends the note that waited for its hint. */
void rollout_task_flush(struct rollout *e, struct rollout_task *t)
{
	if (!t->holding)
		return;
	t->holding = false;
	t->held.text = t->held_text;
	t->held.hint = t->held_hint;
	t->held.diff = t->held_diff;
	rollout_say(e, &t->held);
	notetext_drop(&t->held_text);
	notetext_drop(&t->held_hint);
	notetext_drop(&t->held_diff);
}

static void rollout_core_hold(struct rollout *e, struct rollout_task *t, enum note_kind kind, const char *text, bool ok)
{
	const struct work *w = t->now ? t->now : t->work;

	rollout_task_flush(e, t);
	t->held = (struct note){
		.kind = kind, .node = e->c->members[t->member], .stack = w ? w->use->stack->name : NULL,
		.step = w ? w->step->name : NULL, .ok = ok,
	};
	notetext_put(&t->held_text, text, false);
	t->holding = true;
}

int64_t rollout_task_ms(const struct work *w, const char *function)
{
	int64_t s = w->step->timeout_s ? w->step->timeout_s : TIMEOUT_S;
	bool looks = strcmp(function, "check") == 0 || strcmp(function, "guess") == 0 ||
		strcmp(function, "at_work") == 0;

	return 1000 * (looks && s > CHECK_S ? CHECK_S : s);
}

const char *rollout_task_why(const struct rollout_task *t, const struct remote_event *ev, char room[600])
{
	if (!t->open || !t->now)
		return ev->text;
	snprintf(room, 600, "%.40s of step '%s' of '%s': %.400s", t->function, t->now->step->name,
		t->now->use->stack->name, ev->text);
	return room;
}

const char *rollout_task_cause(const struct rollout_task *t, const char *fallback, char room[80])
{
	int64_t late = t->job ? remote_late_ms(t->job) : 0;

	if (!late)
		return t->cause ? t->cause : fallback;
	snprintf(room, 80, "it took longer than %lld s, so nanopod ended it", (long long)late / 1000);
	return room;
}

/* ---- Records -------------------------------------------------------------------------------- */

static void record_work(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct work *w = ev->count == 4 ? rollout_find(e, t->member, ev->words[1], ev->words[2]) : NULL;

	rollout_task_flush(e, t);
	if (w != t->now)
		t->checks = 0;
	if (w != t->now && !t->work) {
		t->differs = t->bads = 0;
		notetext_drop(&t->cause);
		notetext_drop(&t->hint);
	}
	t->now = w;
	snprintf(t->function, sizeof t->function, "%.60s", ev->count == 4 ? ev->words[3] : "");
	t->guesses = strcmp(t->function, "guess") == 0;
	if (strcmp(t->function, "check") == 0)
		t->checks++;
	if (t->each && t->job && w)
		remote_allow(t->job, rollout_task_ms(w, t->function));
	t->open++;
}

/* Whether the shown plan lacked this difference. */
static bool is_news(struct rollout *e, const struct rollout_task *t, const char *text)
{
	const struct work *w = t->now ? t->now : t->work;
	bool news;
	char *key;

	if (asprintf(&key, "%zu %s.%s %s", t->member, w ? w->use->stack->name : "", w ? w->step->name : "", text) < 0)
		command_nomem();
	news = !e->quiet || (e->planned_at && !table_get(&e->shown, key));
	e->fresh += news && e->quiet;
	if (news && table_set(&e->shown, key, e) != 0)
		command_nomem();
	free(key);
	return news;
}

static const char *record_text(const struct remote_event *ev)
{
	return ev->count > 1 ? ev->words[1] : "";
}

static void record_differs(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	t->differs++;
	if (t->checks > 1) {
		notetext_put(&t->still, record_text(ev), true);
		return;
	}
	if ((e->phase == ENGINE_PLAN || e->phase == ENGINE_CALL) && is_news(e, t, record_text(ev)))
		rollout_core_hold(e, t, NOTE_DIFFERS, record_text(ev), true);
}

static void record_diff(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	(void)e;
	if (t->holding)
		notetext_put(&t->held_diff, record_text(ev), true);
}

static void record_did(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	t->dids++;
	rollout_core_hold(e, t, NOTE_DID, record_text(ev), true);
}

static void record_say(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	rollout_core_hold(e, t, NOTE_SAID, record_text(ev), true);
}

/* Says it at once: no other record may follow for long. */
static void record_waits(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	rollout_core_hold(e, t, NOTE_SAID, record_text(ev), true);
	rollout_task_flush(e, t);
	t->waits = true;
}

/* One node speaks of another by its host name; a name that no member has is told as text. */
static void record_rests(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	char whole[900];

	for (size_t m = 0; m < e->c->count; m++) {
		if (strcmp(facts_get(&e->facts[m], "hostname"), ev->words[1]) != 0)
			continue;
		rollout_core_hold(e, t, NOTE_RESTS, ev->words[2], true);
		t->held.node = e->c->members[m];
		return;
	}
	snprintf(whole, sizeof whole, "%.64s: %.800s", ev->words[1], ev->words[2]);
	rollout_core_hold(e, t, NOTE_SAID, whole, true);
}

static void record_left(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	rollout_core_hold(e, t, NOTE_LEFT, record_text(ev), true);
}

/* Scripts give it before the failure that it is about, or just after: a second one is about the next failure. */
static void record_hint(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	bool failed = t->holding && t->held.kind == NOTE_CHECK && !t->held.ok,
	     remark = t->holding && (t->held.kind == NOTE_SAID || t->held.kind == NOTE_RESTS);

	(void)e;
	if ((failed || remark) && !t->held_hint)
		notetext_put(&t->held_hint, record_text(ev), false);
	else
		notetext_add(&t->hint, record_text(ev));
}

static void record_cause(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	rollout_task_flush(e, t);
	notetext_put(&t->cause, record_text(ev), true);
}

static void record_ok(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (e->phase == ENGINE_VERIFY)
		rollout_core_hold(e, t, NOTE_CHECK, record_text(ev), true);
}

static void record_bad(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	t->bads++;
	if (e->phase != ENGINE_VERIFY) {
		record_cause(e, t, ev);
		return;
	}
	rollout_core_hold(e, t, NOTE_CHECK, record_text(ev), false);
	t->held_hint = t->hint;
	t->hint = NULL;
}

/* A step may hand over only the file that its stack.yaml names; a call may hand over any. */
static bool may_hand_over(const struct rollout *e, const struct rollout_task *t, const char *name)
{
	const struct work *w = t->now;

	return w && e->phase != ENGINE_REMOVE &&
		(e->phase == ENGINE_CALL || (w->step->gives && strcmp(w->step->gives, name) == 0));
}

static void record_give(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (may_hand_over(e, t, ev->words[1]))
		rollout_file_set(e, ev->words[1], ev->words[2], NULL);
}

static void record_hash(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (may_hand_over(e, t, ev->words[1]) && (e->phase == ENGINE_PLAN || e->phase == ENGINE_APPLY))
		rollout_file_set(e, ev->words[1], NULL, ev->words[2]);
}

static void record_done(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	rollout_task_flush(e, t);
	if (t->open)
		t->open--;
	t->done = (int)strtol(ev->words[1], NULL, 10) & 255;
	if (t->record)
		t->record(e, t, ev);
}

/* Records are kept in memory and in the journal, so a node may send only so many. */
static bool rollout_core_too_much(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (t->flooded)
		return true;
	t->records++;
	for (size_t i = 0; i < ev->count; i++)
		t->record_bytes += strlen(ev->words[i]);
	t->flooded = t->records > RECORDS + 16 * e->c->count || t->record_bytes > RECORD_BYTES;
	if (t->flooded && t->job)
		remote_cancel(e->r, t->job);
	return t->flooded;
}

/* What stacks/common/lib.sh may say. words: how many it has with its name; 0: any number. */
static const struct {
	const char *name;
	size_t words;
	rollout_record *take;
} records[] = {
	{ "work", 0, record_work },
	{ "differs", 0, record_differs },
	{ "diff", 0, record_diff },
	{ "did", 0, record_did },
	{ "say", 0, record_say },
	{ "waits", 2, record_waits },
	{ "rests", 3, record_rests },
	{ "left", 0, record_left },
	{ "ok", 0, record_ok },
	{ "bad", 0, record_bad },
	{ "hint", 0, record_hint },
	{ "cause", 0, record_cause },
	{ "give", 3, record_give },
	{ "hash", 3, record_hash },
	{ "done", 2, record_done },
};

static bool is_remark(const char *name)
{
	return strcmp(name, "work") != 0 && strcmp(name, "done") != 0 && strcmp(name, "took") != 0;
}

static void rollout_core_take_record(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (rollout_core_too_much(e, t, ev))
		return;
	t->waits = false;
	if (t->guesses && is_remark(ev->words[0])) {
		t->differs++;
		return;
	}
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		if (strcmp(records[i].name, ev->words[0]) != 0 || (records[i].words && records[i].words != ev->count))
			continue;
		records[i].take(e, t, ev);
		return;
	}
	if (t->record)
		t->record(e, t, ev);
}

static const char *const phase_words[] = {
	[ENGINE_FACTS] = "facts", [ENGINE_PLAN] = "plan", [ENGINE_APPLY] = "apply",
	[ENGINE_VERIFY] = "verify", [ENGINE_REMOVE] = "remove", [ENGINE_CALL] = "call",
};

static void open_log(struct rollout *e, struct rollout_task *t)
{
	const struct work *w = t->work;

	t->log = e->j ? runlog_log(e->j, w ? w->use->stack->name : "all", w ? w->step->name : phase_words[e->phase],
		e->c->members[t->member], t->log_path, sizeof t->log_path) : -1;
	if (t->log < 0) {
		t->log_left = 0;
		*t->log_path = '\0';
	}
}

static void rollout_core_take_line(struct rollout *e, struct rollout_task *t, const char *line)
{
	const struct work *w = t->now ? t->now : t->work;
	size_t n = strlen(line);

	if (t->log < 0 && t->log_left)
		open_log(e, t);
	if (t->log >= 0 && t->log_left > n + 1) {
		t->log_left -= n + 1;
		if (dprintf(t->log, "%s\n", line) < 0)
			t->log_left = 1;
		if (t->log_left <= n + 1)
			dprintf(t->log, "(the rest was not saved)\n");
	}
	if (e->o.logs)
		rollout_say(e,
			&(struct note){ .kind = NOTE_LOG,
				.node = e->c->members[t->member],
				.text = line,
				.ok = true,
				.stack = w ? w->use->stack->name : NULL,
				.step = w ? w->step->name : NULL });
}

static void rollout_core_gather(struct rollout *e, struct rollout_task *t, const char *line)
{
	int rc = buf_addf(t->gather, "%s\n", line);

	if (rc == -ENOMEM)
		command_nomem();
	if (rc && !t->cause) {
		notetext_put(&t->cause, "its output is too long", false);
		remote_cancel(e->r, t->job);
	}
}

/* ---- The loop ------------------------------------------------------------------------------- */

static void rollout_cancel(struct rollout *e, bool waiting)
{
	struct list *at, *tmp;

	list_each(at, tmp, &e->tasks) {
		struct rollout_task *t = list_entry(at, struct rollout_task, link);

		if (waiting && !t->waits)
			continue;
		t->give_up_at = 0;
		if (t->job)
			remote_cancel(e->r, t->job);
	}
}

/* The first Ctrl-C lets running steps end, so that nothing is half done, but no waits; the second and TERM end all. */
static void take_signal(struct rollout *e, int signal)
{
	bool gently = (e->phase == ENGINE_APPLY || e->phase == ENGINE_REMOVE) && signal == SIGINT && !e->stops;

	if (!e->stops++)
		e->first_signal = signal;
	if (e->g)
		graph_stop(e->g);
	rollout_cancel(e, gently);
	if (gently && e->task_count)
		rollout_say(e,
			&(struct note){ .kind = NOTE_SAID,
				.ok = true,
				.text = "stopping after the running steps; Ctrl-C again cancels them" });
}

static void rollout_core_tick(struct rollout *e)
{
	char room[ROLLOUT_WAIT];
	const char *text;
	int64_t now = clock_ms();

	if (now < e->tick_at)
		return;
	e->tick_at = now + ENGINE_TICK_MS;
	text = rollout_wait(e, now, room);
	if (text)
		rollout_say(e, &(struct note){ .kind = NOTE_WAITS, .text = text, .ok = true });
	rollout_say(e, &(struct note){ .kind = NOTE_TICK, .ok = true });
}

void rollout_turn(struct rollout *e)
{
	struct remote_event ev;
	struct rollout_task *t;

	remote_next(e->r, ENGINE_TICK_MS, &ev);
	rollout_core_tick(e);
	t = ev.data;
	switch (ev.kind) {
	case REMOTE_RECORD:
		if (t)
			rollout_core_take_record(e, t, &ev);
		break;
	case REMOTE_LOG:
		if (t && t->gather && ev.out)
			rollout_core_gather(e, t, ev.line);
		else if (t)
			rollout_core_take_line(e, t, ev.line);
		break;
	case REMOTE_END:
		if (!t)
			break;
		rollout_task_flush(e, t);
		if (t->flooded) {
			ev.ok = ev.lost = false;
			ev.status = -1;
			ev.text = flooded;
		}
		t->job = NULL;
		t->ended(e, t, &ev);
		break;
	case REMOTE_SIGNAL:
		take_signal(e, ev.status);
		break;
	case REMOTE_DOWN:
	case REMOTE_TICK:
		break;
	}
}

void rollout_run(struct rollout *e)
{
	while (e->task_count)
		rollout_turn(e);
}

int rollout_stopped(const struct rollout *e)
{
	return !e->stops ? STATUS_OK : e->first_signal == SIGTERM ? STATUS_TERM : STATUS_INT;
}

int rollout_status(const struct rollout *e)
{
	if (e->stops)
		return rollout_stopped(e);
	for (size_t m = 0; m < e->c->count; m++)
		if (!rollout_in(e, m))
			return STATUS_PARTLY;
	return STATUS_OK;
}
