/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/clushshow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/remote/diff.h"
#include "cli/remote/select.h"

enum { CONTEXT = 3 };

/* ---- As it arrives --------------------------------------------------------------------- */

static void clushshow_lines(struct droprun *r, FILE *stream, const char *name, const char *data, size_t len)
{
	const struct clushshow *c = r->own;
	char *label = NULL;

	if (c->labels &&
		asprintf(&label, "%s%s%s", print_color(r->np, stream, stream == r->np->err ? COLOR_RED : COLOR_BLUE),
			name, print_color(r->np, stream, COLOR_NONE)) < 0)
		command_nomem();
	droprun_lines(r, stream, label, data, len);
	free(label);
}

static void clushshow_data(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len)
{
	const struct clushshow *c = r->own;

	dropdir_add(r->np, err && !c->both ? &c->err : &c->out, o->name, data, len);
	if ((c->gather || c->lines) && (!err || c->both))
		droprun_keep(r, o, false, data, len);
	else
		clushshow_lines(r, err ? r->np->err : r->np->out, o->name, data, len);
}

static void clushshow_end(struct droprun *r, struct outcome *o)
{
	const struct clushshow *c = r->own;

	if (o->state == OUTCOME_ERROR && !droprun_timed_out(o))
		clushshow_lines(r, r->np->err, o->name, o->text, strlen(o->text));
	if (c->gather || c->lines || droprun_timed_out(o) || !droprun_status(o) || (c->quiet && c->largest))
		return;
	fflush(r->np->out);
	fprintf(r->np->err, "clush: %s: exited with exit code %d\n", o->name, droprun_status(o));
}

/* ---- Groups ---------------------------------------------------------------------------- */

struct clush_group {
	struct outcome **hosts;
	size_t count;
};

static int clushshow_order(const void *x, const void *y)
{
	const struct outcome *a = *(struct outcome *const *)x, *b = *(struct outcome *const *)y;
	int d = droprun_status(a) - droprun_status(b);

	d = d ? d : fold_compare(a->out, b->out);
	return d ? d : (a->index > b->index) - (a->index < b->index);
}

static int clushshow_by_host(const void *x, const void *y)
{
	const struct outcome *a = *(struct outcome *const *)x, *b = *(struct outcome *const *)y;
	int d = droprun_status(a) - droprun_status(b);

	return d ? d : (a->index > b->index) - (a->index < b->index);
}

static int clushshow_by_size(const void *x, const void *y)
{
	const struct clush_group *a = x, *b = y;
	int d = droprun_status(a->hosts[0]) - droprun_status(b->hosts[0]);

	if (!d && a->count != b->count)
		d = a->count < b->count ? 1 : -1;
	return d ? d : (a->hosts[0]->index > b->hosts[0]->index) - (a->hosts[0]->index < b->hosts[0]->index);
}

/* The names folded, with their number where there are several. */
static char *clushshow_names(const struct clushshow *c, const struct clush_group *g, bool number)
{
	const char **names = calloc(g->count, sizeof *names);
	char *text, *all;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < g->count; i++)
		names[i] = g->hosts[i]->name;
	text = select_fold_names(names, g->count, 0);
	free(names);
	if (!number || c->quiet || g->count < 2)
		return text;
	if (asprintf(&all, "%s (%zu)", text, g->count) < 0)
		command_nomem();
	free(text);
	return all;
}

static void clushshow_block(struct droprun *r, const struct clush_group *g)
{
	const struct clushshow *c = r->own;
	struct nanopod *np = r->np;
	char *names, *text;
	size_t len;

	if (c->labels) {
		names = clushshow_names(c, g, true);
		fprintf(np->out, "%s---------------\n%s\n---------------%s\n", print_color(np, np->out, COLOR_BLUE),
			names, print_color(np, np->out, COLOR_NONE));
		free(names);
	}
	text = droprun_text(g->hosts[0]->out, &len);
	droprun_lines(r, np->out, NULL, text, len);
	free(text);
}

/* ---- Differences ----------------------------------------------------------------------- */

struct clush_line {
	enum diff_side side;
	char *text;
	size_t old, new; /* lines in front of it */
};

struct clush_lines {
	struct clush_line *list;
	size_t count, room, old, new;
};

static int clushshow_note(void *arg, enum diff_side side, size_t number, const char *line, size_t len)
{
	struct clush_lines *l = arg;
	struct clush_line *more;

	(void)number;
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 64;
		more = realloc(l->list, l->room * sizeof *more);
		if (!more)
			return -ENOMEM;
		l->list = more;
	}
	l->list[l->count++] = (struct clush_line){ side, strndup(line, len - (len && line[len - 1] == '\n')), l->old,
		l->new };
	l->old += side != DIFF_NEW;
	l->new += side != DIFF_OLD;
	return l->list[l->count - 1].text ? 0 : -ENOMEM;
}

static void clushshow_range(FILE *out, char sign, size_t from, size_t count)
{
	if (count == 1)
		fprintf(out, "%c%zu", sign, from + 1);
	else
		fprintf(out, "%c%zu,%zu", sign, from + (count > 0), count);
}

/* One hunk: lines from up to end. */
static void clushshow_hunk(struct nanopod *np, const struct clush_lines *l, size_t from, size_t end)
{
	const struct clush_line *first = &l->list[from], *last = &l->list[end - 1];

	fputs("@@ ", np->out);
	clushshow_range(np->out, '-', first->old, last->old + (last->side != DIFF_NEW) - first->old);
	fputc(' ', np->out);
	clushshow_range(np->out, '+', first->new, last->new + (last->side != DIFF_OLD) - first->new);
	fputs(" @@\n", np->out);
	for (size_t i = from; i < end; i++)
		fprintf(np->out, "%c%s\n", (char)l->list[i].side, l->list[i].text);
}

static void clushshow_hunks(struct nanopod *np, const struct clush_lines *l)
{
	for (size_t i = 0; i < l->count;) {
		size_t from = i, end, same = 0;

		while (from < l->count && l->list[from].side == DIFF_SAME)
			from++;
		if (from == l->count)
			return;
		for (end = from; end < l->count && same <= 2 * CONTEXT; end++)
			same = l->list[end].side == DIFF_SAME ? same + 1 : 0;
		end -= same > CONTEXT ? same - CONTEXT : 0;
		i = i > 0 || from > CONTEXT ? (from > i + CONTEXT ? from - CONTEXT : i) : 0;
		clushshow_hunk(np, l, i, end);
		i = end;
	}
}

static void clushshow_difference(struct droprun *r, const struct clush_group *base, const struct clush_group *g)
{
	struct clush_lines l = { 0 };
	char *a, *b, *names;
	size_t alen, blen;

	if (fold_compare(base->hosts[0]->out, g->hosts[0]->out) == 0)
		return;
	a = droprun_text(base->hosts[0]->out, &alen);
	b = droprun_text(g->hosts[0]->out, &blen);
	names = clushshow_names(r->own, base, true);
	fprintf(r->np->out, "--- %s\n", names);
	free(names);
	names = clushshow_names(r->own, g, true);
	fprintf(r->np->out, "+++ %s\n", names);
	free(names);
	if (diff_lines(a, alen, b, blen, clushshow_note, &l) != 0)
		command_nomem();
	clushshow_hunks(r->np, &l);
	for (size_t i = 0; i < l.count; i++)
		free(l.list[i].text);
	free(l.list);
	free(a);
	free(b);
}

/* ---- Lines of all hosts (-L) ------------------------------------------------------------ */

static void clushshow_sorted(struct droprun *r, struct outcome **hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len;
		char *text = droprun_text(hosts[i]->out, &len);

		clushshow_lines(r, r->np->out, hosts[i]->name, text, len);
		free(text);
	}
}

/* The line at *at, and moves on; NULL: none is left. */
static const char *clushshow_line(const char **at, size_t *len)
{
	const char *line = *at;

	*len = line ? strcspn(line, "\n") : 0;
	if (!line || !*line)
		return NULL;
	*at = line + *len + (line[*len] == '\n');
	return line;
}

/* The next line of all hosts, each text under the hosts that have it. False: none had one. */
static bool clushshow_row(struct droprun *r, struct outcome **hosts, const char **at, size_t count,
	struct outcome **same)
{
	bool any = false, *told = calloc(count + 1, sizeof *told);
	const char **lines = calloc(count + 1, sizeof *lines);
	size_t *lens = calloc(count + 1, sizeof *lens);
	char *names;

	if (!told || !lines || !lens)
		command_nomem();
	for (size_t i = 0; i < count; i++)
		lines[i] = clushshow_line(&at[i], &lens[i]);
	for (size_t i = 0; i < count; i++) {
		struct clush_group g = { same, 0 };

		for (size_t k = i; lines[i] && !told[i] && k < count; k++)
			if (lines[k] && lens[k] == lens[i] && memcmp(lines[k], lines[i], lens[i]) == 0) {
				same[g.count++] = hosts[k];
				told[k] = k != i;
			}
		if (!g.count)
			continue;
		names = clushshow_names(r->own, &g, false);
		clushshow_lines(r, r->np->out, names, lens[i] ? lines[i] : "\n", lens[i] ? lens[i] : 1);
		free(names);
		any = true;
	}
	free(told);
	free(lines);
	free(lens);
	return any;
}

/* -bL: each line under the hosts that have the same text in that line. */
static void clushshow_merged(struct droprun *r, struct outcome **hosts, size_t count)
{
	char **texts = calloc(count + 1, sizeof *texts);
	const char **at = calloc(count + 1, sizeof *at);
	struct outcome **same = calloc(count + 1, sizeof(struct outcome *));
	size_t len;

	if (!texts || !at || !same)
		command_nomem();
	for (size_t i = 0; i < count; i++) {
		texts[i] = droprun_text(hosts[i]->out, &len);
		texts[i][len] = '\0';
		at[i] = texts[i];
	}
	while (clushshow_row(r, hosts, at, count, same))
		;
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
	free(texts);
	free(at);
	free(same);
}

/* ---- The end --------------------------------------------------------------------------- */

static void clushshow_all(struct droprun *r, struct outcome **sorted, struct clush_group *groups)
{
	const struct clushshow *c = r->own;
	size_t hosts = 0, count = 0;

	for (size_t i = 0; i < r->fanout.count; i++)
		if (fold_length(r->fanout.hosts[i].out) || (c->diff && r->fanout.hosts[i].state == OUTCOME_EXIT))
			sorted[hosts++] = &r->fanout.hosts[i];
	qsort(sorted, hosts, sizeof(struct outcome *), c->lines ? clushshow_by_host : clushshow_order);
	for (size_t i = 0; i < hosts; i++) {
		if (!i || droprun_status(sorted[i - 1]) != droprun_status(sorted[i]) ||
			fold_compare(sorted[i - 1]->out, sorted[i]->out) != 0)
			groups[count++].hosts = sorted + i;
		groups[count - 1].count++;
	}
	qsort(groups, count, sizeof *groups, clushshow_by_size);
	if (c->lines && c->gather)
		clushshow_merged(r, sorted, hosts);
	else if (c->lines)
		clushshow_sorted(r, sorted, hosts);
	for (size_t i = 0; !c->lines && i < count; i++)
		if (!c->diff)
			clushshow_block(r, &groups[i]);
		else if (i)
			clushshow_difference(r, &groups[0], &groups[i]);
}

/* One line for all hosts with the same status, and one for those that ran out of time. */
static void clushshow_failures(struct droprun *r, struct outcome **room)
{
	const struct clushshow *c = r->own;
	char *names;

	for (int status = 0; status < 257; status++) {
		struct clush_group g = { room, 0 };

		for (size_t i = 0; i < r->fanout.count; i++) {
			struct outcome *o = &r->fanout.hosts[i];

			if ((droprun_timed_out(o) ? 256 : droprun_status(o)) == status)
				room[g.count++] = o;
		}
		if (!status || !g.count || (c->quiet && c->largest) || (status < 256 && !c->gather && !c->lines))
			continue;
		names = clushshow_names(c, &g, status < 256);
		fflush(r->np->out);
		if (status < 256)
			fprintf(r->np->err, "clush: %s: exited with exit code %d\n", names, status);
		else
			fprintf(r->np->err, "clush: %s: command timeout\n", names);
		free(names);
	}
}

static int clushshow_done(struct droprun *r)
{
	const struct clushshow *c = r->own;
	struct outcome **sorted = calloc(r->fanout.count + 1, sizeof(struct outcome *));
	struct clush_group *groups = calloc(r->fanout.count + 1, sizeof *groups);

	if (!sorted || !groups)
		command_nomem();
	if (c->gather || c->lines)
		clushshow_all(r, sorted, groups);
	clushshow_failures(r, sorted);
	free(sorted);
	free(groups);
	return c->largest ? droprun_largest(r) : STATUS_OK;
}

const struct dropshow clushshow = { PSSH_OUTPUT_LINES, clushshow_data, clushshow_end, clushshow_done };
