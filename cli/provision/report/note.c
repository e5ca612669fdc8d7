/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/note.h"

#include <stdio.h>
#include <time.h>

const char *note_word(enum note_kind kind)
{
	static const char *const words[] = {
#define NOTE_WORD(name, word) [name] = word,
		NOTES(NOTE_WORD)
#undef NOTE_WORD
	};

	return (size_t)kind < sizeof words / sizeof *words ? words[kind] : "?";
}

const char *note_time(char room[40])
{
	struct timespec now;
	struct tm t;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &t);
	snprintf(room, 40, "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", (t.tm_year + 1900) % 10000, (t.tm_mon + 1) % 100,
		t.tm_mday % 100, t.tm_hour % 100, t.tm_min % 100, t.tm_sec % 100, now.tv_nsec / 1000 % 1000000);
	return room;
}

static void note_member(struct json *j, const char *key, const char *text)
{
	if (text)
		json_text(j, key, text);
}

/* Whether the kind says that something is well or not, so that its JSON has "ok". */
static bool note_judges(enum note_kind kind)
{
	return kind == NOTE_NODE || kind == NOTE_FINDING || kind == NOTE_CHECK || kind == NOTE_END;
}

void note_members(struct json *j, const struct note *n)
{
	note_member(j, "node", n->node);
	note_member(j, "stack", n->stack);
	note_member(j, "step", n->step);
	note_member(j, "what", n->what);
	if (note_judges(n->kind))
		json_bool(j, "ok", n->ok);
	note_member(j, "text", n->text);
	note_member(j, "hint", n->hint);
	note_member(j, "diff", n->diff);
	note_member(j, "log", n->log);
	if (n->kind == NOTE_END) {
		json_text(j, "result", n->ok ? "ok" : "failed");
		json_int(j, "ms", n->ms);
	}
}

int note_line(const struct note *n, uint64_t seq, struct buf *out)
{
	struct json j = json_to(out);
	char room[40];

	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)seq);
	json_text(&j, "time", note_time(room));
	json_text(&j, "event", note_word(n->kind));
	note_members(&j, n);
	json_end(&j);
	return j.error ? j.error : buf_addc(out, '\n');
}
