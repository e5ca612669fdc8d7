/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/notelist.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cli/frame/print.h"
#include "cli/provision/report/note.h"

enum { KEY_BYTES = 4 << 20 };

static const char *notelist_copy(const char *text)
{
	char *made;

	if (!text)
		return NULL;
	made = strdup(text);
	if (!made)
		command_nomem();
	return made;
}

static void notelist_forget(const char *text)
{
	free((char *)(uintptr_t)text);
}

void notelist_add(struct notelist *l, const struct note *n)
{
	struct note *to;

	if (l->count == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 32;
		l->at = reallocarray(l->at, l->cap, sizeof *l->at);
		if (!l->at)
			command_nomem();
	}
	to = &l->at[l->count++];
	*to = *n;
	to->node = notelist_copy(n->node);
	to->stack = notelist_copy(n->stack);
	to->step = notelist_copy(n->step);
	to->what = notelist_copy(n->what);
	to->text = notelist_copy(n->text);
	to->hint = notelist_copy(n->hint);
	to->diff = notelist_copy(n->diff);
	to->log = notelist_copy(n->log);
}

void notelist_release(struct notelist *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct note *n = &l->at[i];
		const char *const texts[] = { n->node, n->stack, n->step, n->what, n->text, n->hint, n->diff, n->log };

		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
			notelist_forget(texts[k]);
	}
	free(l->at);
	*l = (struct notelist){ 0 };
}

static bool is_of(const struct note *n, enum note_kind kind, const char *node)
{
	return n->kind == kind && (!node || (n->node && strcmp(n->node, node) == 0));
}

size_t notelist_count(const struct notelist *l, enum note_kind kind, const char *node)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += is_of(&l->at[i], kind, node);
	return count;
}

size_t notelist_bad(const struct notelist *l, enum note_kind kind, const char *node)
{
	size_t count = 0;

	for (size_t i = 0; i < l->count; i++)
		count += is_of(&l->at[i], kind, node) && !l->at[i].ok;
	return count;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

int notelist_json(const struct notelist *l, const char *cluster, int status, struct buf *out)
{
	static const struct {
		const char *name;
		enum note_kind kind;
	} lists[] = {
		{ "nodes", NOTE_NODE },
		{ "findings", NOTE_FINDING },
		{ "changes", NOTE_DIFFERS },
		{ "done", NOTE_DID },
		{ "steps", NOTE_END },
		{ "checks", NOTE_CHECK },
		{ "said", NOTE_SAID },
		{ "rests", NOTE_RESTS },
		{ "lost", NOTE_LOST },
		{ "left", NOTE_LEFT },
	};
	struct json j = json_to(out);

	json_begin_object(&j, NULL);
	json_text(&j, "cluster", cluster);
	json_text(&j, "result", print_status_code(status));
	json_int(&j, "status", status);
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		json_begin_array(&j, lists[k].name);
		for (size_t i = 0; i < l->count; i++) {
			if (l->at[i].kind != lists[k].kind)
				continue;
			json_begin_object(&j, NULL);
			note_members(&j, &l->at[i]);
			json_end(&j);
		}
		json_end(&j);
	}
	json_end(&j);
	return j.error ? j.error : buf_addc(out, '\n');
}

/* ---- The same once ----------------------------------------------------------------------------- */

static void notelist_add_text(struct buf *key, const char *text)
{
	if (text && buf_adds(key, text) == -ENOMEM)
		command_nomem();
	if (buf_addc(key, '\x1f') == -ENOMEM)
		command_nomem();
}

static void notelist_key_of(const struct note *const *notes, size_t count, bool diffs, struct buf *key)
{
	buf_clear(key);
	for (size_t i = 0; i < count; i++) {
		notelist_add_text(key, notes[i]->stack);
		notelist_add_text(key, notes[i]->step);
		notelist_add_text(key, notes[i]->text);
		notelist_add_text(key, notes[i]->hint);
		notelist_add_text(key, diffs ? notes[i]->diff : "");
		notelist_add_text(key, notes[i]->ok ? "1" : "");
	}
}

/* The notes of one node, in order. */
static const struct note **notes_of(const struct notelist *l, enum note_kind kind, const char *node, size_t *count)
{
	size_t n = notelist_count(l, kind, node), k = 0;
	const struct note **notes = calloc(n + 1, sizeof *notes);

	if (!notes)
		command_nomem();
	for (size_t i = 0; i < l->count; i++)
		if (is_of(&l->at[i], kind, node))
			notes[k++] = &l->at[i];
	*count = n;
	return notes;
}

static void notelist_join(struct notegroup *g, const char *name)
{
	g->names = reallocarray(g->names, g->count + 1, sizeof *g->names);
	if (!g->names)
		command_nomem();
	g->names[g->count++] = name;
}

void notelist_groups(const struct notelist *l, enum note_kind kind, bool diffs, char *const *members,
	size_t member_count, struct notegroup **out, size_t *count)
{
	struct notegroup *groups = calloc(member_count + 1, sizeof *groups);
	struct table known;
	struct buf key;
	size_t n = 0;

	if (!groups)
		command_nomem();
	table_init(&known);
	buf_init(&key, KEY_BYTES);
	for (size_t i = 0; i < member_count; i++) {
		size_t note_count;
		const struct note **notes = notes_of(l, kind, members[i], &note_count);
		struct notegroup *same;

		if (!note_count) {
			free(notes);
			continue;
		}
		notelist_key_of(notes, note_count, diffs, &key);
		same = table_get(&known, buf_text(&key));
		if (same) {
			free(notes);
		} else {
			same = &groups[n++];
			*same = (struct notegroup){ .notes = notes, .note_count = note_count };
			if (table_set(&known, buf_text(&key), same))
				command_nomem();
		}
		notelist_join(same, members[i]);
	}
	table_release(&known);
	buf_release(&key);
	*out = groups;
	*count = n;
}

void notelist_groups_free(struct notegroup *groups, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(groups[i].names);
		free(groups[i].notes);
	}
	free(groups);
}
