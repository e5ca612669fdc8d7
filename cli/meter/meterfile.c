/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage events as JSON Lines in a file. What was written and not yet noted is the end of the file: those ids are looked
 * up before more is appended, and a line that was cut off is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/frame/command.h"
#include "cli/meter/meterway.h"

enum { METER_FILE_TAIL = 1 << 20, METER_FILE_BATCH = 16 << 20 };

struct meter_lines {
	char *path;
	int fd;
	bool ours; /* what this command wrote is at its end, and was noted */
};

static int meter_file_open(struct meter_way *w, const char *where, const char *key, struct fail *f)
{
	struct meter_lines *l = calloc(1, sizeof *l);

	(void)key;
	if (!l || !(l->path = strdup(where)))
		command_nomem();
	w->own = l;
	l->fd = *where ? open(where, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (l->fd >= 0)
		return 0;
	if (!*where)
		return fail_set(f, -EINVAL, "'file:' needs a path, e.g. file:usage.jsonl");
	return fail_errno(f, -EINVAL, errno, "cannot open '%s'", where);
}

static void meter_file_close(struct meter_way *w)
{
	struct meter_lines *l = w->own;

	if (l->fd >= 0)
		close(l->fd);
	free(l->path);
	free(l);
}

/* The whole lines at its end, after it cut off half a one. 0 or -errno. */
static int meter_file_tail(const struct meter_lines *l, struct buf *out)
{
	off_t end = lseek(l->fd, 0, SEEK_END), from = end > METER_FILE_TAIL ? end - METER_FILE_TAIL : 0;
	size_t len = (size_t)(end - from), kept = 0;
	ssize_t n = end < 0 || buf_reserve(out, len + 1) ? -1 : pread(l->fd, out->data, len, from);

	if (n != (ssize_t)len)
		return n < 0 && errno ? -errno : -EIO;
	for (size_t i = 0; i < len; i++)
		if (out->data[i] == '\n')
			kept = i + 1;
	out->len = kept;
	out->data[kept] = '\0';
	return kept < len && ftruncate(l->fd, from + (off_t)kept) ? -errno : 0;
}

static bool meter_file_has(const struct buf *tail, const char *id)
{
	char *word;
	bool has;

	if (asprintf(&word, "\"id\":\"%s\"", id) < 0)
		command_nomem();
	has = strstr(buf_text(tail), word) != NULL;
	free(word);
	return has;
}

static int meter_file_send(struct meter_way *w, const struct meter_batch *b, struct fail *f)
{
	struct meter_lines *l = w->own;
	struct buf tail, more;
	int rc;

	buf_init(&tail, METER_FILE_TAIL + 1);
	buf_init(&more, METER_FILE_BATCH);
	rc = l->ours ? 0 : meter_file_tail(l, &tail);
	for (size_t i = 0; !rc && i < b->count; i++) {
		if (meter_file_has(&tail, b->list[i].id))
			continue;
		rc = doc_show_at(b->doc, (long)i, &more);
		rc = rc ? rc : buf_addc(&more, '\n');
	}
	rc = rc || !more.len ? rc : file_write(l->fd, more.data, more.len);
	if (!rc && fdatasync(l->fd))
		rc = -errno;
	l->ours = !rc;
	if (rc)
		fail_errno(f, rc, -rc, "cannot write '%s'", l->path);
	buf_release(&tail);
	buf_release(&more);
	return rc;
}

const struct meter_calls meter_file = {
	.scheme = "file:",
	.open = meter_file_open,
	.close = meter_file_close,
	.send = meter_file_send,
};
