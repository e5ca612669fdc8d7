/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/screen/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/wrap.h"

void page_begin(struct page *l, size_t columns, size_t room)
{
	*l = (struct page){ .columns = columns, .room = room };
}

void page_release(struct page *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->pieces[i].text);
	free(l->pieces);
	*l = (struct page){ 0 };
}

static void page_add(struct page *l, enum color color, bool ends, char *text)
{
	if (l->all >= l->room) {
		free(text);
	} else {
		if (l->count == l->capacity) {
			l->capacity = l->capacity ? l->capacity * 2 : 64;
			l->pieces = realloc(l->pieces, l->capacity * sizeof *l->pieces);
			if (!l->pieces)
				command_nomem();
		}
		l->pieces[l->count++] = (struct page_piece){ .color = color, .text = text, .ends = ends };
	}
	if (!ends)
		return;
	l->all++;
	if (l->all + 1 == l->room)
		l->cut = l->count;
}

size_t page_piece(struct page *l, enum color color, size_t cells, bool filled, const char *text)
{
	size_t took = cells, len = wrap_cut(text, &took), line = strcspn(text, "\n");
	char *cut;

	if (line < len) {
		len = line;
		took = 0;
		filled = false;
	}
	if (asprintf(&cut, "%.*s%*s", (int)len, text, filled ? (int)(cells - took) : 0, "") < 0)
		command_nomem();
	page_add(l, color, false, cut);
	return filled ? cells : took;
}

void page_end(struct page *l)
{
	char *none = strdup("");

	if (!none)
		command_nomem();
	page_add(l, COLOR_NONE, true, none);
}

void page_put(struct page *l, enum color color, const char *fmt, ...)
{
	char *text;
	va_list ap;

	if (l->all >= l->room) {
		l->all++;
		return;
	}
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	page_piece(l, color, l->columns, false, text);
	page_end(l);
	free(text);
}

void page_drop_last(struct page *l)
{
	while (l->count > l->cut)
		free(l->pieces[--l->count].text);
	l->all = l->room - 1;
}

void page_keys(struct page *l, const struct page_key *keys, size_t count, int chosen)
{
	size_t wide = 0, at = 0;

	for (size_t i = 0; i < count; i++)
		wide += strlen(keys[i].wide) + (i ? 2 : 0);
	for (size_t i = 0; i < count && at < l->columns; i++) {
		const char *text = wide <= l->columns ? keys[i].wide : keys[i].narrow;

		if (i)
			at += page_piece(l, COLOR_NONE, wide <= l->columns ? 2 : 1, true, "");
		at += page_piece(l, chosen >= 0 && keys[i].view == chosen ? COLOR_BOLD : COLOR_DIM,
			at < l->columns ? l->columns - at : 0, false, text);
	}
	page_end(l);
}
