/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/meter/meterbook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/frame/command.h"
#include "base/kept.h"

enum { METER_BOOK_BYTES = 4096 };

static int meter_book_parse(struct meter_book *b, const char *text, struct fail *f)
{
	char cursor[METER_CURSOR], end[4];
	uint64_t key;
	int64_t events;

	if (sscanf(text, "nanopod-meter 1\nreceiver %" SCNx64 "\ncursor %63s\nevents %" SCNd64 "\n%3s", &key, cursor,
		    &events, end) != 4 ||
		strcmp(end, "end") != 0)
		return fail_set(f, -EINVAL, "'%s' does not say how far a receiver is, or is damaged", b->path);
	if (key != b->key)
		return fail_set(f, -EINVAL, "'%s' is of another receiver", b->path);
	memcpy(b->cursor, cursor, sizeof cursor);
	b->events = events;
	return 0;
}

int meter_book_open(struct meter_book *b, const char *path, uint64_t key, struct fail *f)
{
	struct buf text;
	int rc;

	*b = (struct meter_book){ .lock = -1, .path = strdup(path), .key = key };
	if (!b->path)
		command_nomem();
	rc = kept_lock(b->path, "another command sends usage by", &b->lock, f);
	if (rc)
		return rc;
	buf_init(&text, METER_BOOK_BYTES);
	rc = buf_read_file(&text, path);
	if (!rc)
		rc = meter_book_parse(b, buf_text(&text), f);
	else if (rc == -ENOENT)
		rc = 0;
	else
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", path);
	buf_release(&text);
	return rc;
}

void meter_book_close(struct meter_book *b)
{
	if (b->lock >= 0)
		close(b->lock);
	free(b->path);
	*b = (struct meter_book){ .lock = -1 };
}

int meter_book_move(struct meter_book *b, const char *cursor, int64_t events, struct fail *f)
{
	struct buf text;
	int rc;

	buf_init(&text, METER_BOOK_BYTES);
	rc = buf_addf(&text, "nanopod-meter 1\nreceiver %016" PRIx64 "\ncursor %s\nevents %" PRId64 "\nend\n", b->key,
		cursor, b->events + events);
	rc = rc ? rc : file_replace(b->path, text.data, text.len, 0600);
	rc = rc ? rc : file_sync_folder(b->path);
	buf_release(&text);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", b->path);
	snprintf(b->cursor, sizeof b->cursor, "%s", cursor);
	b->events += events;
	return 0;
}

bool meter_book_has(const struct meter_book *b, const char *place)
{
	uint64_t seq, n, seen_seq, seen_n;

	if (sscanf(b->cursor, "%" SCNu64 "-%" SCNu64, &seen_seq, &seen_n) != 2 ||
		sscanf(place, "%" SCNu64 "-%" SCNu64, &seq, &n) != 2)
		return false;
	return seq < seen_seq || (seq == seen_seq && n <= seen_n);
}
