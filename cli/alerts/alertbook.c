/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/alerts/alertbook.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "base/kept.h"

enum { FILE_BYTES = 64 << 20, SENT_BYTES = 1 << 20, ALARMS_MOST = 10000, WORD_BYTES = 4096, RECEIVERS_MOST = 64 };

static const char heading[] = "nanopod-alerts 1", sent_heading[] = "nanopod-alerts-sent 1";

/* ---- Lines ------------------------------------------------------------------------------- */

/* The word behind a tab, on one line. */
static void alert_book_put(struct buf *b, const char *word)
{
	buf_addc(b, '\t');
	for (size_t i = 0; word[i] && i < WORD_BYTES; i++) {
		if (word[i] == '\n')
			buf_adds(b, "\\n");
		else if (word[i] == '\t')
			buf_adds(b, "\\t");
		else if (word[i] == '\\')
			buf_adds(b, "\\\\");
		else
			buf_addc(b, word[i]);
	}
}

/* In place. */
static void alert_book_plain(char *word)
{
	char *to = word;

	for (; *word; word++) {
		if (*word == '\\' && word[1]) {
			word++;
			*to++ = *word == 'n' ? '\n' : *word == 't' ? '\t' : *word;
		} else {
			*to++ = *word;
		}
	}
	*to = '\0';
}

static int alert_book_number(char **rest, int64_t *out)
{
	const char *word = strsep(rest, "\t");
	char *end;

	if (!word || !*word)
		return -EINVAL;
	errno = 0;
	*out = strtoll(word, &end, 10);
	return errno || *end || *out < 0 ? -EINVAL : 0;
}

/* ---- Alarms ------------------------------------------------------------------------------ */

static void alarm_release(struct alarm *a)
{
	for (size_t i = 0; i < ALARM_WORDS; i++)
		free(a->word[i]);
}

static struct alarm *alert_book_add(struct alert_book *b)
{
	if (b->count == ALARMS_MOST)
		return NULL;
	if (b->count == b->room) {
		b->room = b->room ? 2 * b->room : 64;
		b->alarms = reallocarray(b->alarms, b->room, sizeof *b->alarms);
		if (!b->alarms)
			command_nomem();
	}
	b->alarms[b->count] = (struct alarm){ .began_seq = 0 };
	return &b->alarms[b->count++];
}

static struct alarm *alert_book_find(struct alert_book *b, const struct model_alert *a)
{
	for (size_t i = 0; i < b->count; i++) {
		struct alarm *k = &b->alarms[i];

		if (!k->ended_seq && strcmp(k->word[ALARM_RULE], a->rule) == 0 && strcmp(k->word[ALARM_ID], a->id) == 0)
			return k;
	}
	return NULL;
}

static char *alarm_number(double v)
{
	char text[40] = "";

	if (isfinite(v))
		snprintf(text, sizeof text, "%.10g", v);
	return strdup(text);
}

static char *alarm_text(const char *text)
{
	return strndup(text ? text : "", WORD_BYTES);
}

void alert_book_begin(struct alert_book *b)
{
	b->full = false;
	for (size_t i = 0; i < b->count; i++)
		b->alarms[i].seen = false;
}

void alert_book_holds(struct alert_book *b, const struct model_alert *a, bool wanted, int64_t now)
{
	struct alarm *k = alert_book_find(b, a);

	if (!k && wanted) {
		k = alert_book_add(b);
		b->full |= !k;
		if (!k)
			return;
		k->began_seq = ++b->last;
		k->began = a->since > 0 && a->since < now ? a->since : now;
		k->word[ALARM_RULE] = alarm_text(a->rule);
		k->word[ALARM_SEVERITY] = alarm_text(a->severity);
		k->word[ALARM_KIND] = alarm_text(a->kind);
		k->word[ALARM_ID] = alarm_text(a->id);
		k->word[ALARM_NAME] = alarm_text(a->name);
		k->word[ALARM_ACCOUNT] = alarm_text(a->account);
		k->word[ALARM_UNIT] = alarm_text(a->unit);
		k->word[ALARM_VALUE] = alarm_number(a->value);
		k->word[ALARM_THRESHOLD] = alarm_number(a->threshold);
		k->word[ALARM_TEXT] = alarm_text(a->text);
		k->word[ALARM_NEXT] = alarm_text(a->next);
		for (size_t i = 0; i < ALARM_WORDS; i++)
			if (!k->word[i])
				command_nomem();
		b->changed = true;
	}
	if (k)
		k->seen = true;
}

/* Samples are missing: then nobody knows whether it ended. */
static bool alarm_unjudged(const struct alarm *a, const char *const *unjudged, size_t count)
{
	if (!*a->word[ALARM_UNIT] || strcmp(a->word[ALARM_UNIT], "none") == 0)
		return false;
	for (size_t i = 0; i < count; i++)
		if (strcmp(unjudged[i], a->word[ALARM_ID]) == 0)
			return true;
	return false;
}

void alert_book_end(struct alert_book *b, const char *const *unjudged, size_t count, int64_t now)
{
	for (size_t i = 0; i < b->count; i++) {
		struct alarm *a = &b->alarms[i];

		if (a->seen || a->ended_seq || alarm_unjudged(a, unjudged, count))
			continue;
		a->ended_seq = ++b->last;
		a->ended = now > a->began ? now : a->began;
		b->changed = true;
	}
}

/* ---- Events ------------------------------------------------------------------------------ */

bool alert_book_next(const struct alert_book *b, int64_t after, struct alert_event *out)
{
	struct alert_event e = { .seq = INT64_MAX };

	for (size_t i = 0; i < b->count; i++) {
		const struct alarm *a = &b->alarms[i];

		if (a->began_seq > after && a->began_seq < e.seq)
			e = (struct alert_event){ a, false, a->began_seq };
		if (a->ended_seq > after && a->ended_seq < e.seq)
			e = (struct alert_event){ a, true, a->ended_seq };
	}
	*out = e;
	return e.alarm != NULL;
}

const char *alert_book_id(const struct alert_book *b, int64_t seq, char room[ALERT_EVENT_ID])
{
	snprintf(room, ALERT_EVENT_ID, "%s-%012" PRId64, b->name, seq);
	return room;
}

int alert_event_title(const struct alert_event *e, struct buf *out)
{
	const struct alarm *a = e->alarm;
	const char *name = *a->word[ALARM_NAME] ? a->word[ALARM_NAME] : a->word[ALARM_ID];

	return buf_addf(out, "%s%s %s %s", e->ended ? "resolved: " : "", a->word[ALARM_SEVERITY], a->word[ALARM_RULE],
		name);
}

void alert_book_prune(struct alert_book *b)
{
	int64_t least = INT64_MAX;
	size_t kept = 0;

	for (size_t i = 0; i < b->receiver_count; i++)
		least = b->receivers[i].accepted < least ? b->receivers[i].accepted : least;
	for (size_t i = 0; i < b->count; i++) {
		if (b->alarms[i].ended_seq && b->alarms[i].ended_seq <= least) {
			alarm_release(&b->alarms[i]);
			b->changed = true;
		} else {
			b->alarms[kept++] = b->alarms[i];
		}
	}
	b->count = kept;
}

/* ---- Receivers --------------------------------------------------------------------------- */

void alert_book_receivers(struct alert_book *b, const uint64_t *keys, size_t count)
{
	struct alert_receiver *made = calloc(count + 1, sizeof *made);

	if (!made)
		command_nomem();
	for (size_t i = 0; i < count; i++) {
		made[i].key = keys[i];
		for (size_t k = 0; k < b->receiver_count; k++)
			if (b->receivers[k].key == keys[i])
				made[i] = b->receivers[k];
	}
	free(b->receivers);
	b->receivers = made;
	b->receiver_count = count;
}

/* ---- On disk ------------------------------------------------------------------------------ */

static int alert_book_read_alarm(struct alert_book *b, char *rest)
{
	struct alarm a = { .began_seq = 0 }, *made;
	int rc = alert_book_number(&rest, &a.began_seq);

	rc = rc ? rc : alert_book_number(&rest, &a.ended_seq);
	rc = rc ? rc : alert_book_number(&rest, &a.began);
	rc = rc ? rc : alert_book_number(&rest, &a.ended);
	for (size_t i = 0; i < ALARM_WORDS && !rc; i++) {
		char *word = strsep(&rest, "\t");

		if (!word) {
			rc = -EINVAL;
			break;
		}
		alert_book_plain(word);
		a.word[i] = strdup(word);
		if (!a.word[i])
			command_nomem();
	}
	made = rc || rest ? NULL : alert_book_add(b);
	if (!made) {
		alarm_release(&a);
		return -EINVAL;
	}
	*made = a;
	return 0;
}

/* "nanopod-alerts 1", "book NAME LAST", an alarm a line, "end": a file that is cut off is not taken for a short one. */
static int alert_book_parse(struct alert_book *b, char *text)
{
	char *rest = text, *line = strsep(&rest, "\n"), *word;
	int rc = line && strcmp(line, heading) == 0 ? 0 : -EINVAL;

	line = strsep(&rest, "\n");
	word = line ? strsep(&line, "\t") : NULL;
	if (rc || !word || strlen(word) != sizeof b->name - 1 || alert_book_number(&line, &b->last))
		return -EINVAL;
	memcpy(b->name, word, sizeof b->name);
	while (!rc && (line = strsep(&rest, "\n")) && strcmp(line, "end") != 0)
		rc = alert_book_read_alarm(b, line);
	return rc || !line ? -EINVAL : 0;
}

static char *alert_book_sent_path(const struct alert_book *b)
{
	char *path;

	if (asprintf(&path, "%s.sent", b->path) < 0)
		command_nomem();
	return path;
}

static bool alert_book_read_receiver(struct alert_receiver *r, char *line)
{
	char *word = strsep(&line, "\t"), *end;

	if (!word || !line)
		return false;
	r->key = strtoull(word, &end, 16);
	return !*end && alert_book_number(&line, &r->accepted) == 0 && alert_book_number(&line, &r->attempts) == 0 &&
		!line;
}

/* Of another book, or damaged: then all is told again. */
static void alert_book_parse_sent(struct alert_book *b, char *text)
{
	char *rest = text, *line = strsep(&rest, "\n");

	if (!line || strcmp(line, sent_heading) != 0 || !(line = strsep(&rest, "\n")) || strcmp(line, b->name) != 0)
		return;
	b->receivers = calloc(RECEIVERS_MOST, sizeof *b->receivers);
	if (!b->receivers)
		command_nomem();
	while ((line = strsep(&rest, "\n")) && b->receiver_count < RECEIVERS_MOST) {
		struct alert_receiver *r = &b->receivers[b->receiver_count];

		if (!alert_book_read_receiver(r, line))
			break;
		r->accepted = r->accepted > b->last ? b->last : r->accepted;
		b->receiver_count++;
	}
}

static void alert_book_read_sent(struct alert_book *b)
{
	char *path = alert_book_sent_path(b);
	struct buf text;

	buf_init(&text, SENT_BYTES);
	if (buf_read_file(&text, path) == 0 && text.len)
		alert_book_parse_sent(b, text.data);
	buf_release(&text);
	free(path);
}

int alert_book_open(struct alert_book *b, const char *path, struct fail *f)
{
	unsigned char random[8];
	struct buf text;
	int rc;

	*b = (struct alert_book){ .lock = -1, .path = strdup(path) };
	if (!b->path)
		command_nomem();
	rc = kept_lock(b->path, "another command delivers the alerts of", &b->lock, f);
	if (rc)
		return rc;
	buf_init(&text, FILE_BYTES);
	rc = buf_read_file(&text, path);
	if (!rc && (!text.len || alert_book_parse(b, text.data)))
		rc = fail_set(f, -EINVAL, "'%s' is not a file of alerts, or is damaged", path);
	else if (rc && rc != -ENOENT)
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", path);
	buf_release(&text);
	if (!rc)
		alert_book_read_sent(b);
	if (rc != -ENOENT)
		return rc;
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return fail_errno(f, -EIO, errno, "cannot get random bytes");
	for (size_t i = 0; i < sizeof random; i++)
		snprintf(b->name + 2 * i, 3, "%02x", random[i]);
	b->changed = true;
	return 0;
}

void alert_book_close(struct alert_book *b)
{
	for (size_t i = 0; i < b->count; i++)
		alarm_release(&b->alarms[i]);
	free(b->alarms);
	free(b->receivers);
	if (b->lock >= 0)
		close(b->lock);
	free(b->path);
	*b = (struct alert_book){ .lock = -1 };
}

int alert_book_save(struct alert_book *b, struct fail *f)
{
	struct buf text;
	int rc = 0;

	if (!b->changed)
		return 0;
	buf_init(&text, FILE_BYTES);
	buf_addf(&text, "%s\n%s\t%" PRId64 "\n", heading, b->name, b->last);
	for (size_t i = 0; i < b->count; i++) {
		const struct alarm *a = &b->alarms[i];

		buf_addf(&text, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64, a->began_seq, a->ended_seq, a->began,
			a->ended);
		for (size_t k = 0; k < ALARM_WORDS; k++)
			alert_book_put(&text, a->word[k]);
		buf_addc(&text, '\n');
	}
	rc = buf_adds(&text, "end\n");
	rc = rc ? rc : file_replace(b->path, text.data, text.len, 0600);
	rc = rc ? rc : file_sync_folder(b->path);
	buf_release(&text);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", b->path);
	b->changed = false;
	return 0;
}

int alert_book_save_sent(const struct alert_book *b, struct fail *f)
{
	char *path = alert_book_sent_path(b);
	struct buf text;
	int rc = 0;

	buf_init(&text, SENT_BYTES);
	buf_addf(&text, "%s\n%s\n", sent_heading, b->name);
	for (size_t i = 0; i < b->receiver_count && !rc; i++) {
		const struct alert_receiver *r = &b->receivers[i];

		rc = buf_addf(&text, "%016" PRIx64 "\t%" PRId64 "\t%" PRId64 "\n", r->key, r->accepted, r->attempts);
	}
	rc = rc ? rc : file_replace(path, text.data, text.len, 0600);
	if (rc)
		fail_errno(f, rc, -rc, "cannot write '%s'", path);
	buf_release(&text);
	free(path);
	return rc;
}
