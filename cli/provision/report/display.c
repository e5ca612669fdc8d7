/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/display.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/provision/report/liverows.h"
#include "cli/provision/report/note.h"
#include "cli/remote/select.h"

enum { NAMES_WIDTH = 60, LINE_BYTES = 1 << 20, ALL_BYTES = 256 << 20, TAIL_LINES = 8, TAIL_BYTES = 16384 };

struct display {
	struct nanopod *np;
	const struct cluster *c;
	FILE *results;
	struct liverows *live;
	struct notelist told;
	bool planned;            /* the plan was shown */
	size_t done, failed, held, broken;
	bool mute;
	uint64_t seq;
	struct buf line;
};

struct display *display_new(struct nanopod *np, const struct cluster *c, FILE *results)
{
	struct display *d = calloc(1, sizeof *d);

	if (!d)
		command_nomem();
	d->np = np;
	d->c = c;
	d->results = results;
	d->live = liverows_new(np);
	buf_init(&d->line, LINE_BYTES);
	return d;
}

void display_free(struct display *d)
{
	if (!d)
		return;
	liverows_free(d->live);
	notelist_release(&d->told);
	buf_release(&d->line);
	free(d);
}

void display_mute(struct display *d)
{
	d->mute = true;
}

void display_of(struct display *d, const struct cluster *c)
{
	d->c = c;
}

void display_quiet(struct display *d)
{
	liverows_hide(d->live);
}

/* Whether it prints for people, rather than one JSON object at the end. */
static bool for_people(const struct display *d)
{
	return !d->mute && d->np->format != FORMAT_JSON && d->np->format != FORMAT_JSONL;
}

bool display_wants_logs(const struct display *d)
{
	return d->np->verbose || (liverows_on(d->live) && for_people(d));
}

const struct notelist *display_told(const struct display *d)
{
	return &d->told;
}

/* ---- A line a note --------------------------------------------------------------------------- */

/* "c1 slurm/packages: " */
static void put_where(struct display *d, FILE *out, const struct note *n)
{
	if (n->node)
		print_safe_line(out, n->node);
	if (n->stack && n->step)
		fprintf(out, "%s%s/%s", n->node ? " " : "", n->stack, n->step);
	if (n->node || n->stack)
		fputs(": ", out);
	(void)d;
}

static void display_put_line(struct display *d, FILE *out, enum color color, const struct note *n, const char *before)
{
	display_quiet(d);
	fputs(print_color(d->np, out, color), out);
	put_where(d, out, n);
	fputs(before, out);
	print_safe_line(out, n->text ? n->text : "");
	fputs(print_color(d->np, out, COLOR_NONE), out);
	fputc('\n', out);
	if (n->hint) {
		fputs("    ", out);
		print_safe_line(out, n->hint);
		fputc('\n', out);
	}
	fflush(out);
}

static void tell_end(struct display *d, const struct note *n)
{
	if (n->node)
		liverows_end(d->live, n->node);
	d->done += n->ok;
	d->failed += !n->ok;
	liverows_count(d->live, d->done, d->failed);
	if (!n->ok)
		display_put_line(d, d->np->err, COLOR_RED,
			&(struct note){ .node = n->node, .stack = n->stack, .step = n->step, .text = n->text },
			"failed: ");
	else if (d->np->verbose)
		display_put_line(d, d->np->err, COLOR_DIM,
			&(struct note){ .node = n->node, .stack = n->stack, .step = n->step, .text = "done" }, "");
}

static void tell_phase(struct display *d, const char *phase)
{
	static const struct {
		const char *phase, *text;
	} rows[] = {
		{ "facts", "looking at the nodes" },
		{ "plan", "comparing" },
		{ "apply", "applying" },
		{ "verify", "verifying" },
		{ "remove", "removing" },
		{ "call", "calling" },
	};
	const char *text = "working";

	d->done = d->failed = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (phase && strcmp(rows[i].phase, phase) == 0)
			text = rows[i].text;
	liverows_phase(d->live, text);
	if (!liverows_on(d->live) &&
		(d->np->verbose || (phase && (strcmp(phase, "apply") == 0 || strcmp(phase, "remove") == 0))))
		print_note(d->np, "%s", text);
}

static void tell_check(struct display *d, const struct note *n)
{
	d->held += n->ok;
	d->broken += !n->ok;
	if (!n->ok)
		display_put_line(d, d->results, COLOR_RED, n, "check failed: ");
	else if (d->np->verbose)
		display_put_line(d, d->results, COLOR_GREEN, n, "ok: ");
}

static void tell_did(struct display *d, const struct note *n)
{
	if (n->node && n->text)
		liverows_say(d->live, n->node, n->text);
	if (!liverows_on(d->live) || d->np->verbose)
		display_put_line(d, d->np->err, COLOR_NONE, n, "");
}

static void display_tell(struct display *d, const struct note *n)
{
	switch (n->kind) {
	case NOTE_PHASE:
		tell_phase(d, n->text ? n->text : n->what);
		break;
	case NOTE_NODE:
		if (!n->ok)
			display_put_line(d, d->np->err, COLOR_RED, n, "not reached: ");
		break;
	case NOTE_FINDING:
		display_put_line(d, d->np->err, n->ok ? COLOR_YELLOW : COLOR_RED, n, n->ok ? "warning: " : "");
		break;
	case NOTE_BEGIN:
		if (n->node)
			liverows_begin(d->live, n->node, n->stack ? n->stack : "", n->step ? n->step : "");
		break;
	case NOTE_DID:
		tell_did(d, n);
		break;
	case NOTE_CHECK:
		tell_check(d, n);
		break;
	case NOTE_SAID:
	case NOTE_RESTS:
		display_put_line(d, d->np->err, COLOR_NONE, n, "");
		break;
	case NOTE_LOG:
		if (n->node && n->text)
			liverows_say(d->live, n->node, n->text);
		if (d->np->verbose)
			display_put_line(d, d->np->err, COLOR_DIM, &(struct note){ .node = n->node, .text = n->text },
				"| ");
		break;
	case NOTE_END:
		tell_end(d, n);
		break;
	case NOTE_LOST:
		if (!n->node ||
			!(notelist_bad(&d->told, NOTE_END, n->node) || notelist_bad(&d->told, NOTE_NODE, n->node) ||
				notelist_bad(&d->told, NOTE_FINDING, n->node))) /* else that line told it */
			display_put_line(d, d->np->err, COLOR_RED, n, "");
		break;
	case NOTE_LEFT:
		display_put_line(d, d->results, COLOR_NONE, n, "left: ");
		break;
	case NOTE_DIFFERS: /* found after the plan was shown */
		if (d->planned)
			display_put_line(d, d->np->err, COLOR_YELLOW, n, "also differs: ");
		break;
	case NOTE_WAITS: /* on a terminal the rows show it */
		if (!liverows_on(d->live))
			display_put_line(d, d->np->err, COLOR_NONE, n, "waiting for ");
		break;
	case NOTE_TICK:
		break;
	}
	liverows_draw(d->live);
}

static bool display_is_kept(const struct note *n)
{
	return n->kind != NOTE_TICK && n->kind != NOTE_WAITS && n->kind != NOTE_LOG && n->kind != NOTE_BEGIN &&
		n->kind != NOTE_PHASE;
}

void display_note(void *display, const struct note *n)
{
	struct display *d = display;

	if (display_is_kept(n))
		notelist_add(&d->told, n);
	if (for_people(d)) {
		display_tell(d, n);
		return;
	}
	if (d->mute || d->np->format != FORMAT_JSONL || n->kind == NOTE_TICK)
		return;
	buf_clear(&d->line);
	if (note_line(n, ++d->seq, &d->line) == -ENOMEM)
		command_nomem();
	fwrite(buf_text(&d->line), 1, d->line.len, d->np->out);
	fflush(d->np->out);
}

static bool display_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* ---- The plan ---------------------------------------------------------------------------------- */

static void put_diff(struct display *d, FILE *out, const char *diff)
{
	while (*diff) {
		size_t len = strcspn(diff, "\n");
		enum color color = *diff == '+' ? COLOR_GREEN : *diff == '-' ? COLOR_RED : COLOR_DIM;

		fprintf(out, "      %s", print_color(d->np, out, color));
		print_safe(out, diff, len);
		fprintf(out, "%s\n", print_color(d->np, out, COLOR_NONE));
		diff += len + (diff[len] == '\n');
	}
}

static void put_group(struct display *d, const struct notegroup *g, bool diffs, FILE *out)
{
	char *names = select_fold_names(g->names, g->count, NAMES_WIDTH), where[80];
	size_t width = 0;

	fputs(print_color(d->np, out, COLOR_BOLD), out);
	print_safe_line(out, names);
	fprintf(out, "%s%s\n", print_color(d->np, out, COLOR_NONE), "");
	free(names);
	for (size_t i = 0; i < g->note_count; i++) {
		size_t len = strlen(g->notes[i]->stack ? g->notes[i]->stack : "") + 1 +
			strlen(g->notes[i]->step ? g->notes[i]->step : "");

		width = len > width && len < 32 ? len : width;
	}
	for (size_t i = 0; i < g->note_count; i++) {
		const struct note *n = g->notes[i];

		if (i && display_same(n->stack, g->notes[i - 1]->stack) && display_same(n->step, g->notes[i - 1]->step))
			where[0] = '\0'; /* of the same step as the line above */
		else
			snprintf(where, sizeof where, "%.30s/%.40s", n->stack ? n->stack : "", n->step ? n->step : "");
		fprintf(out, "  %-*s  ", (int)width, where);
		print_safe_line(out, n->text ? n->text : "");
		fputc('\n', out);
		if (diffs && n->diff)
			put_diff(d, out, n->diff);
	}
}

void display_plan(struct display *d, bool diffs, FILE *out)
{
	size_t changes = notelist_count(&d->told, NOTE_DIFFERS, NULL), count, nodes = 0;
	struct notegroup *groups;

	display_quiet(d);
	d->planned = true;
	if (!for_people(d))
		return;
	notelist_groups(&d->told, NOTE_DIFFERS, diffs, d->c->members, d->c->count, &groups, &count);
	for (size_t i = 0; i < count; i++) {
		put_group(d, &groups[i], diffs, out);
		nodes += groups[i].count;
	}
	notelist_groups_free(groups, count);
	if (changes)
		fprintf(out, "%zu %s to make on %zu of %zu %s of '%s'\n", changes, changes == 1 ? "change" : "changes",
			nodes, d->c->count, d->c->count == 1 ? "node" : "nodes", d->c->name);
	fflush(out);
}

/* ---- The end ------------------------------------------------------------------------------------ */

/* Prints the last lines of a step's log. */
static void put_tail(struct display *d, const char *path)
{
	char text[TAIL_BYTES + 1], *from;
	FILE *log = fopen(path, "re");
	size_t n, lines = 0;

	if (!log)
		return;
	if (fseek(log, -TAIL_BYTES, SEEK_END) < 0)
		rewind(log);
	n = fread(text, 1, TAIL_BYTES, log);
	fclose(log);
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	for (from = text + n; from > text && lines < TAIL_LINES; from--)
		lines += from[-1] == '\n';
	from += lines == TAIL_LINES && from > text ? 1 : 0;
	while (*from) {
		size_t len = strcspn(from, "\n");

		fprintf(d->np->err, "    %s| ", print_color(d->np, d->np->err, COLOR_DIM));
		print_safe(d->np->err, from, len);
		fprintf(d->np->err, "%s\n", print_color(d->np, d->np->err, COLOR_NONE));
		from += len + (from[len] == '\n');
	}
}

static void put_failure(struct display *d, const struct note *n, const char *const *names, size_t count)
{
	char *nodes = select_fold_names(names, count, NAMES_WIDTH);
	FILE *err = d->np->err;

	fprintf(err, "\n%s%s/%s failed on ", print_color(d->np, err, COLOR_BOLD), n->stack ? n->stack : "",
		n->step ? n->step : "");
	print_safe_line(err, nodes);
	fprintf(err, "%s\n", print_color(d->np, err, COLOR_NONE));
	free(nodes);
	if (n->log)
		put_tail(d, n->log);
	fputs("  cause  ", err);
	print_safe_line(err, n->text && *n->text ? n->text : "unknown");
	if (n->hint && *n->hint) {
		fputs("\n  next   ", err);
		print_safe_line(err, n->hint);
	}
	if (n->log) {
		fputs("\n  log    ", err);
		print_safe_line(err, n->log);
	}
	fputc('\n', err);
}

/* Prints nodes on which the same step failed for the same reason once. */
static void put_failures(struct display *d)
{
	const struct notelist *l = &d->told;
	bool *shown = calloc(l->count + 1, sizeof *shown);
	const char **names = calloc(l->count + 1, sizeof *names);

	if (!shown || !names)
		command_nomem();
	for (size_t i = 0; i < l->count; i++) {
		const struct note *n = &l->at[i];
		size_t count = 0;

		if (shown[i] || n->kind != NOTE_END || n->ok || !n->node)
			continue;
		for (size_t k = i; k < l->count; k++) {
			const struct note *m = &l->at[k];

			if (m->kind != NOTE_END || m->ok || !m->node || !display_same(m->stack, n->stack) ||
				!display_same(m->step, n->step) || !display_same(m->text, n->text))
				continue;
			shown[k] = true;
			names[count++] = m->node;
		}
		put_failure(d, n, names, count);
	}
	free(shown);
	free(names);
}

void display_end(struct display *d, int status)
{
	display_quiet(d);
	if (d->np->format == FORMAT_JSON && !d->mute) {
		struct buf all;

		buf_init(&all, ALL_BYTES);
		if (notelist_json(&d->told, d->c->name, status, &all))
			command_nomem();
		fwrite(buf_text(&all), 1, all.len, d->np->out);
		buf_release(&all);
		return;
	}
	if (!for_people(d))
		return;
	put_failures(d);
	if (d->held + d->broken)
		fprintf(d->results, "%zu %s, %zu %s\n", d->held, d->held == 1 ? "check holds" : "checks hold",
			d->broken, d->broken == 1 ? "does not" : "do not");
}
