/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/console.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"

enum { COUNT_MAX = 64 << 20, PIECE = 64 * 1024, FREE_STEP = 256 * 1024, PAGE = 4096 };

void console_note(const char *path, const char *text)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;
	struct buf line;
	char last = '\n';

	if (fd < 0)
		return;
	buf_init(&line, 32 * 1024);
	if (fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last != '\n')
		buf_addc(&line, '\n');
	while (*text) {
		size_t len = strcspn(text, "\n");

		if (len && buf_addf(&line, "[nanopod] %.*s\r\n", (int)len, text) != 0)
			break;
		text += len + (text[len] == '\n');
	}
	if (line.len && write(fd, buf_text(&line), line.len) < 0)
		line.len = 0; /* the disk is full, and nobody here could be told */
	buf_release(&line);
	close(fd);
}

/* ---- Where to read ------------------------------------------------------------------------ */

/* Counts newlines in [from, to), in at most COUNT_MAX bytes. */
static int64_t console_count_lines(int fd, int64_t from, int64_t to)
{
	char *piece = malloc(PIECE);
	int64_t lines = 0;

	if (to - from > COUNT_MAX)
		to = from + COUNT_MAX;
	while (piece && from < to) {
		ssize_t n = pread(fd, piece, to - from > PIECE ? PIECE : (size_t)(to - from), from);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			lines += piece[i] == '\n';
		from += n;
	}
	free(piece);
	return lines;
}

/* Finds the first line that starts at or after from. */
static int64_t console_line_start(int fd, int64_t from, int64_t to)
{
	char piece[CONSOLE_LINE];
	ssize_t n = pread(fd, piece, to - from > (int64_t)sizeof piece ? sizeof piece : (size_t)(to - from), from);
	const char *end = n > 0 ? memchr(piece, '\n', (size_t)n) : NULL;

	return end ? from + (end - piece) + 1 : from;
}

bool console_look(const char *path, struct console_at *at, bool *moved)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	bool more;

	*moved = false;
	if (fd < 0)
		return false;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	if (st.st_size < at->offset || (at->inode && (int64_t)st.st_ino != at->inode))
		at->offset = 0;
	at->inode = (int64_t)st.st_ino;
	if (st.st_size - at->offset > CONSOLE_BACKLOG) {
		int64_t to = console_line_start(fd, st.st_size - CONSOLE_KEPT, st.st_size);

		at->left_lines += console_count_lines(fd, at->offset, to);
		at->left_bytes += to - at->offset;
		at->offset = to;
		*moved = true;
	}
	more = st.st_size > at->offset || at->left_bytes;
	close(fd);
	return more;
}

/* ---- Lines -------------------------------------------------------------------------------- */

static int console_add_line(json_t *lines, const char *data, size_t len, int64_t now_us)
{
	struct buf text;
	int rc;

	buf_init(&text, CONSOLE_LINE * 2);
	rc = buf_add_base64(&text, data, len);
	if (!rc &&
		json_array_append_new(lines,
			json_pack("{s:I, s:s}", "at", (json_int_t)now_us, "data", buf_text(&text))) != 0)
		rc = -ENOMEM;
	buf_release(&text);
	return rc;
}

/* The end of one line in data, or 0: at a newline, after CONSOLE_LINE bytes, or where an ended node's output ends. */
static size_t console_line_end(const char *data, size_t len, bool ended)
{
	size_t most = len < CONSOLE_LINE ? len : CONSOLE_LINE;
	const char *newline = memchr(data, '\n', most);

	if (newline)
		return (size_t)(newline - data) + 1;
	return most == CONSOLE_LINE || ended ? most : 0;
}

static int console_cut_lines(const char *data, size_t len, bool ended, int64_t now_us, json_t *lines,
	struct console_at *after)
{
	size_t at = 0, end;
	int rc = 0;

	while (!rc && at < len && json_array_size(lines) < CONSOLE_LINES &&
		(end = console_line_end(data + at, len - at, ended)) > 0) {
		size_t text = end;

		while (text && (data[at + text - 1] == '\n' || data[at + text - 1] == '\r'))
			text--;
		rc = console_add_line(lines, data + at, text, now_us);
		at += end;
		after->next++;
	}
	assert(at <= len);
	after->offset += (int64_t)at;
	return rc;
}

static int console_say_left_out(const struct console_at *at, int64_t now_us, json_t *lines, struct console_at *after)
{
	char text[160];

	if (!at->left_bytes)
		return 0;
	snprintf(text, sizeof text,
		"[nanopod] %s%lld lines (%lld bytes) left out: this node writes faster than its console is "
		"read",
		at->left_bytes > COUNT_MAX ? "more than " : "", (long long)at->left_lines, (long long)at->left_bytes);
	after->left_lines = after->left_bytes = 0;
	after->next++;
	return console_add_line(lines, text, strlen(text), now_us);
}

int console_lines(const char *path, const struct console_at *at, bool ended, int64_t now_us, json_t **out,
	struct console_at *after)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;
	char *data = malloc(CONSOLE_BYTES);
	json_t *lines = json_array();
	ssize_t n = 0;

	*after = *at;
	*out = NULL;
	if (fd >= 0 && data)
		n = pread(fd, data, CONSOLE_BYTES, at->offset);
	if (!data || !lines)
		rc = -ENOMEM;
	else if (fd < 0 || n < 0)
		rc = -errno;
	rc = rc ? rc : console_say_left_out(at, now_us, lines, after);
	rc = rc ? rc : console_cut_lines(data, (size_t)n, ended && n < CONSOLE_BYTES, now_us, lines, after);
	if (!rc && json_array_size(lines))
		*out = json_pack("{s:I, s:O}", "first", (json_int_t)at->next, "lines", lines);
	json_decref(lines);
	free(data);
	if (fd >= 0)
		close(fd);
	return rc;
}

bool console_expected(struct console_at *at, int64_t next)
{
	if (next < 1 || next > INT64_C(1) << 40)
		return false;
	at->next = next;
	return true;
}

/* ---- Disk --------------------------------------------------------------------------------- */

bool console_free(const char *path, struct console_at *at, int64_t *freed)
{
	int64_t to = at->offset / PAGE * PAGE;
	bool cut = false;
	struct stat st;
	int fd;

	if (to - *freed < FREE_STEP)
		return false;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	*freed = to;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, to) != 0 && fstat(fd, &st) == 0 &&
		st.st_size == at->offset && ftruncate(fd, 0) == 0) {
		at->offset = *freed = 0;
		cut = true;
	}
	close(fd);
	return cut;
}
