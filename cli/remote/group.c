/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/remote/diff.h"
#include "cli/remote/fanout.h"
#include "cli/remote/fold.h"
#include "cli/remote/painted.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

static const size_t text_max = (size_t)4 << 30;

static int same_answer(const struct outcome *a, const struct outcome *b)
{
	int d = fold_compare(a->out, b->out);

	if (!d)
		d = fold_compare(a->err, b->err);
	if (!d)
		d = (a->state > b->state) - (a->state < b->state);
	if (!d)
		d = (a->status > b->status) - (a->status < b->status);
	if (!d && a->state == OUTCOME_SIGNAL)
		d = strcmp(a->text, b->text);
	return d;
}

static int by_answer(const void *x, const void *y)
{
	const struct outcome *a = *(struct outcome *const *)x, *b = *(struct outcome *const *)y;
	int d = same_answer(a, b);

	return d ? d : (a->index > b->index) - (a->index < b->index);
}

static int by_size(const void *x, const void *y)
{
	const struct group *a = x, *b = y;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->hosts[0]->index > b->hosts[0]->index) - (a->hosts[0]->index < b->hosts[0]->index);
}

/* Is there an escape sequence at *i that only colours? Then moves *i past it. */
static bool is_color(const char *s, size_t len, size_t *i)
{
	size_t k = *i + 2;

	if (len - *i < 3 || s[*i] != '\033' || s[*i + 1] != '[')
		return false;
	while (k < len && ((s[k] >= '0' && s[k] <= '9') || s[k] == ';' || s[k] == ':'))
		k++;
	if (k >= len || s[k] != 'm')
		return false;
	*i = k + 1;
	return true;
}

/* An escape sequence at *i that only clears the line, as progress bars send it? Then moves *i past it. */
static bool group_is_erase(const char *s, size_t len, size_t *i)
{
	size_t k = *i + 2;

	if (len - *i < 3 || s[*i] != '\033' || s[*i + 1] != '[')
		return false;
	k += s[k] >= '0' && s[k] <= '2';
	if (k >= len || s[k] != 'K')
		return false;
	*i = k + 1;
	return true;
}

/* The end of the carriage returns at i. */
static size_t group_returns(const char *s, size_t len, size_t i)
{
	while (i < len && s[i] == '\r')
		i++;
	return i;
}

int group_last_state(struct buf *out, const char *s, size_t len)
{
	size_t line = out->len;
	int rc = 0;

	for (size_t i = 0; !rc && i < len;) {
		size_t next = i, end = group_returns(s, len, i);

		if (end > i && end < len && s[end] != '\n')
			buf_cut(out, line);
		else
			next = end > i ? end : i + 1;
		rc = buf_add(out, s + i, next - i);
		i = next > i ? next : end;
		if (i && s[i - 1] == '\n')
			line = out->len;
	}
	return rc;
}

int group_harmless(struct buf *out, const char *s, size_t len)
{
	size_t line = out->len;
	int rc = 0;

	for (size_t i = 0; !rc && i < len;) {
		size_t from = i;
		unsigned char c = (unsigned char)s[i];

		if (is_color(s, len, &i)) {
			rc = buf_add(out, s + from, i - from);
			continue;
		}
		if (group_is_erase(s, len, &i))
			continue;
		if (c == '\r') {
			i = group_returns(s, len, i);
			if (i < len && s[i] != '\n')
				buf_cut(out, line);
			continue;
		}
		i++;
		/* C1 controls as UTF-8 (c2 80 … c2 9f) are controls too. */
		if (c == 0xc2 && i < len && (unsigned char)s[i] < 0xa0) {
			i++;
			c = 0x7f;
		}
		rc = buf_addc(out, (c < ' ' && c != '\n' && c != '\t') || c == 0x7f ? '?' : (char)c);
		if (c == '\n')
			line = out->len;
	}
	return rc;
}

int group_shown(struct buf *out, const char *s, size_t len)
{
	struct painted p = { 0 };
	size_t from = out->len;
	int rc = group_harmless(out, s, len);
	bool ended = out->len > from && out->data[out->len - 1] == '\n';

	if (rc || out->len == from)
		return rc;
	painted_read(&p, out->data + from, out->len - from);
	if (!p.on)
		return 0;
	buf_cut(out, out->len - ended);
	return buf_adds(out, ended ? PAINTED_OFF "\n" : PAINTED_OFF);
}

static void group_emit(struct fanout *f, FILE *stream, const char *text, size_t len)
{
	bool tty = stream == f->np->err ? f->np->tty_err : f->np->tty_out;
	struct buf b;

	if (!tty && !memchr(text, '\r', len)) {
		fwrite(text, 1, len, stream);
	} else {
		buf_init(&b, text_max);
		if ((tty ? group_shown(&b, text, len) : group_last_state(&b, text, len)) != 0)
			command_nomem();
		fwrite(buf_text(&b), 1, b.len, stream);
		buf_release(&b);
	}
	if (len && text[len - 1] != '\n')
		fputc('\n', stream);
}

static void group_heading(struct fanout *f, FILE *stream, const struct group *g, const char *what)
{
	const char **names = calloc(g->count, sizeof *names);
	const struct outcome *o = g->hosts[0];
	char *folded;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < g->count; i++)
		names[i] = g->hosts[i]->name;
	folded = select_fold_names(names, g->count, 0);
	fprintf(stream, "%s---- %s%s (%zu host%s)", print_color(f->np, stream, COLOR_BOLD), folded,
		print_color(f->np, stream, COLOR_NONE), g->count, g->count == 1 ? "" : "s");
	if (o->state == OUTCOME_EXIT && o->status)
		fprintf(stream, ", exit status %d", o->status);
	else if (o->state == OUTCOME_SIGNAL)
		fprintf(stream, ", ended by SIG%s", o->text);
	else if (o->state == OUTCOME_ERROR)
		fprintf(stream, ", incomplete: %s", pssh_strerror(o->status));
	if (*what)
		fprintf(stream, ", %s", what);
	fputc('\n', stream);
	free(folded);
	free(names);
}

char *group_text_of(struct fold_place place, size_t *len)
{
	struct buf b;

	buf_init(&b, text_max);
	if (fold_text(place, &b) != 0)
		command_nomem();
	*len = b.len;
	return buf_steal(&b);
}

/* ---- Differences ----------------------------------------------------------------------- */

struct hunk {
	struct fanout *f;
	FILE *stream;
	struct buf text;
	size_t old_at, new_at, olds, news;  /* lines, from 1 */
	size_t old_line, new_line;          /* position of the walk */
};

static void hunk_end(struct hunk *h)
{
	struct nanopod *np = h->f->np;

	if (h->olds || h->news) {
		/* As diff -U0 writes it: where a side has no lines, the line before. */
		fprintf(h->stream, "%s@@ -%zu,%zu +%zu,%zu @@%s\n", print_color(np, h->stream, COLOR_CYAN),
			h->old_at - !h->olds, h->olds, h->new_at - !h->news, h->news,
			print_color(np, h->stream, COLOR_NONE));
		fwrite(buf_text(&h->text), 1, h->text.len, h->stream);
	}
	buf_clear(&h->text);
	h->olds = h->news = 0;
}

static int hunk_line(void *arg, enum diff_side side, size_t number, const char *line, size_t len)
{
	struct hunk *h = arg;
	bool tty = h->stream == h->f->np->err ? h->f->np->tty_err : h->f->np->tty_out;
	const char *color = print_color(h->f->np, h->stream, side == DIFF_OLD ? COLOR_RED : COLOR_GREEN);
	size_t n = len && line[len - 1] == '\n' ? len - 1 : len;
	int rc = 0;

	(void)number;
	if (side == DIFF_SAME) {
		hunk_end(h);
		h->old_line++;
		h->new_line++;
		return 0;
	}
	if (!h->olds && !h->news) {
		h->old_at = h->old_line + 1;
		h->new_at = h->new_line + 1;
	}
	if (side == DIFF_OLD)
		h->olds++, h->old_line++;
	else
		h->news++, h->new_line++;
	rc |= buf_adds(&h->text, color);
	rc |= buf_addc(&h->text, (char)side);
	rc |= tty ? group_shown(&h->text, line, n) : group_last_state(&h->text, line, n);
	rc |= buf_adds(&h->text, print_color(h->f->np, h->stream, COLOR_NONE));
	rc |= buf_adds(&h->text, n == len ? "\n\\ No newline at end of output\n" : "\n");
	return rc;
}

static void show_difference(struct fanout *f, FILE *stream, struct fold_place base, struct fold_place place)
{
	struct hunk h = { .f = f, .stream = stream };
	size_t alen, blen;
	char *a = group_text_of(base, &alen), *b = group_text_of(place, &blen);

	buf_init(&h.text, text_max);
	if (diff_lines(a, alen, b, blen, hunk_line, &h) != 0)
		command_nomem();
	hunk_end(&h);
	buf_release(&h.text);
	free(a);
	free(b);
}

/* ---- Groups ---------------------------------------------------------------------------- */

static void remote_group_show(struct fanout *f, const struct group *g, const struct group *base)
{
	const struct outcome *o = g->hosts[0], *largest = base ? base->hosts[0] : NULL;
	bool same_out = largest && fold_compare(o->out, largest->out) == 0;
	char *text;
	size_t len;

	group_heading(f, f->np->out, g, same_out && fold_length(o->out) ? "the same output as the largest group" :
		!fold_length(o->out) && !fold_length(o->err) ? "no output" : "");
	if (largest && !same_out) {
		show_difference(f, f->np->out, largest->out, o->out);
	} else if (!same_out) {
		text = group_text_of(o->out, &len);
		group_emit(f, f->np->out, text, len);
		free(text);
	}
	if (!fold_length(o->err))
		return;
	fflush(f->np->out);
	group_heading(f, f->np->err, g, "stderr");
	text = group_text_of(o->err, &len);
	group_emit(f, f->np->err, text, len);
	free(text);
}

void groups_make(struct fanout *f, bool all, struct groups *g)
{
	size_t hosts = 0;

	*g = (struct groups){ 0 };
	g->sorted = calloc(f->count + 1, sizeof(struct outcome *));
	g->items = calloc(f->count + 1, sizeof *g->items);
	if (!g->sorted || !g->items)
		command_nomem();
	for (size_t i = 0; i < f->count; i++) {
		struct outcome *o = &f->hosts[i];

		/* A host that was not reached has no output: the summary lists it. */
		if (all || o->state == OUTCOME_EXIT || o->state == OUTCOME_SIGNAL || fold_length(o->out) ||
			fold_length(o->err))
			g->sorted[hosts++] = o;
	}
	qsort(g->sorted, hosts, sizeof(struct outcome *), by_answer);
	for (size_t i = 0; i < hosts; i++) {
		if (!i || same_answer(g->sorted[i - 1], g->sorted[i]) != 0)
			g->items[g->count++].hosts = g->sorted + i;
		g->items[g->count - 1].count++;
	}
	qsort(g->items, g->count, sizeof *g->items, by_size);
}

void groups_release(struct groups *g)
{
	free(g->sorted);
	free(g->items);
}

void group_show(struct fanout *f, bool diff)
{
	struct groups g;

	groups_make(f, false, &g);
	fanout_quiet(f);
	for (size_t i = 0; i < g.count; i++)
		remote_group_show(f, &g.items[i], diff && i ? &g.items[0] : NULL);
	groups_release(&g);
}
