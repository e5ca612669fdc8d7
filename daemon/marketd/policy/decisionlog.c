/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/decisionlog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/table.h"
#include "base/turned.h"
#include "base/utf8.h"
#include "marketd/policy/decisionpiece.h"
#include "marketd/policy/inputkey.h"

enum {
	LOG_DECISIONS = 5000, /* in a turn of the market's; an agent's piece of 64 KiB has fewer */
	LOG_WORD = 256,
	LOG_FILE = 64 << 20,
	LOG_KNOWN = 65536, /* ids of the newest decisions: what comes again was under way, not old */
	LOG_TAIL = 32 << 20,
};

struct decisionlog {
	char *path;
	int fd;
	off_t end; /* of its last whole line */
	struct table known;
	char *ids[LOG_KNOWN]; /* a ring */
	size_t next;
};

/* ---- A line ----------------------------------------------------------------------------- */

/* Cut where it is long; null where it is no text. */
static json_t *log_word(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	size_t len = 0, step = 1;

	while (text && text[len] && step && len < LOG_WORD) {
		step = utf8_printable(text + len, strlen(text + len));
		len += step;
	}
	return text ? json_stringn(text, len) : json_null();
}

static json_t *log_revision(const json_t *one)
{
	json_t *bundles = json_object_get(one, "bundles"), *b;
	const char *name;

	json_object_foreach(bundles, name, b)
	{
		if (json_object_get(b, "revision"))
			return log_word(b, "revision");
	}
	return json_null();
}

/* An undefined decision has no result. input: as the agent had it, NULL where nobody can say. */
static int log_line(const json_t *one, const json_t *input, struct buf *out)
{
	const json_t *result = json_object_get(one, "result"), *allow = json_object_get(result, "allow"),
		     *account = json_object_get(json_object_get(one, "input"), "account");
	uint8_t key[INPUTKEY];
	char hex[INPUTKEY_HEX];
	json_t *line;
	char *text;
	int rc;

	if (input && !inputkey(input, key))
		return -ENOMEM;
	if (input)
		inputkey_hex(key, hex);
	line = json_pack("{s:s, s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:o}", "decision_id",
		json_string_value(json_object_get(one, "decision_id")), "time", log_word(one, "timestamp"), "path",
		log_word(one, "path"), "input_sha256", input ? hex : NULL, "account", log_word(account, "id"), "allow",
		json_is_boolean(allow) ? json_boolean(json_is_true(allow)) : json_null(), "rule",
		log_word(result, "rule"), "reason", log_word(result, "reason"), "revision", log_revision(one),
		"requested_by", log_word(one, "requested_by"));
	text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	rc = text ? buf_addf(out, "%s\n", text) : -ENOMEM;
	free(text);
	json_decref(line);
	return rc;
}

/* ---- What is known already -------------------------------------------------------------- */

static int log_know(struct decisionlog *d, const char *id)
{
	char **slot = &d->ids[d->next], *copy = strdup(id);

	if (!copy || table_set(&d->known, copy, copy) != 0) {
		free(copy);
		return -ENOMEM;
	}
	if (*slot) {
		table_remove(&d->known, *slot);
		free(*slot);
	}
	*slot = copy;
	d->next = (d->next + 1) % LOG_KNOWN;
	return 0;
}

static int log_know_line(struct decisionlog *d, const char *line, size_t len)
{
	json_t *o = json_loadb(line, len, 0, NULL);
	const char *id = json_string_value(json_object_get(o, "decision_id"));
	int rc = id && !table_get(&d->known, id) ? log_know(d, id) : 0; /* a line that a person broke hides no other */

	json_decref(o);
	return rc;
}

/* The ids of a file's last lines; *end: behind its last whole one. 0 or -errno. */
static int log_know_file(struct decisionlog *d, int fd, off_t *end)
{
	struct stat st;
	FILE *in;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int rc = fstat(fd, &st) == 0 ? 0 : -errno;
	off_t at = st.st_size > LOG_TAIL ? st.st_size - LOG_TAIL : 0;

	*end = at;
	if (rc || !S_ISREG(st.st_mode))
		return rc;
	fd = dup(fd);
	in = fd < 0 ? NULL : fdopen(fd, "r");
	if (!in || fseeko(in, at, SEEK_SET) != 0)
		rc = -errno;
	while (rc == 0 && (n = getline(&line, &room, in)) > 0 && line[n - 1] == '\n') {
		*end += n;
		rc = log_know_line(d, line, (size_t)n);
	}
	free(line);
	if (in)
		fclose(in);
	else if (fd >= 0)
		close(fd);
	return rc;
}

/* Of the file before, too: this one may have just begun. */
static int log_know_before(struct decisionlog *d)
{
	uint64_t *numbers = NULL;
	size_t count = 0;
	int rc = turned_list(d->path, &numbers, &count), fd;
	char *path = rc == 0 && count ? turned_path(d->path, numbers[count - 1]) : NULL;
	off_t end;

	free(numbers);
	if (rc || !count)
		return rc;
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	rc = fd >= 0 ? log_know_file(d, fd, &end) : path ? -errno : -ENOMEM;
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* ---- The file --------------------------------------------------------------------------- */

static int log_begin(struct decisionlog *d)
{
	d->fd = open(d->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return d->fd < 0 ? -errno : file_sync_folder(d->path);
}

static int log_turn(struct decisionlog *d)
{
	uint64_t *numbers = NULL;
	size_t count = 0;
	int rc = turned_list(d->path, &numbers, &count);
	char *path = rc == 0 ? turned_path(d->path, count ? numbers[count - 1] + 1 : 1) : NULL;

	free(numbers);
	rc = rc ? rc : path ? 0 : -ENOMEM;
	if (rc == 0 && rename(d->path, path) != 0)
		rc = -errno;
	free(path);
	if (rc)
		return rc;
	close(d->fd);
	d->end = 0;
	return log_begin(d);
}

/* All of it is on the disk, or none. */
static int log_keep(struct decisionlog *d, const struct buf *lines)
{
	int rc = d->end > LOG_FILE ? log_turn(d) : d->fd < 0 ? log_begin(d) : 0;

	rc = rc ? rc : file_write(d->fd, lines->data, lines->len);
	if (rc == 0 && fsync(d->fd) != 0)
		rc = -errno;
	if (rc == 0)
		d->end += (off_t)lines->len;
	else if (d->fd >= 0 && ftruncate(d->fd, d->end) != 0)
		return rc; /* its beginning stays: decisions that are kept once more */
	return rc;
}

/* ---- Taking ----------------------------------------------------------------------------- */

/* One piece may have a decision twice, too. */
static int log_take_one(struct decisionlog *d, struct table *here, const json_t *one, const json_t *input,
	struct buf *out)
{
	const char *id = json_string_value(json_object_get(one, "decision_id"));
	int rc;

	if (table_get(&d->known, id) || table_get(here, id))
		return 0;
	rc = here->count < LOG_DECISIONS ? log_line(one, input, out) : -EAGAIN;
	return rc == -EFBIG ? -EAGAIN : rc ? rc : table_set(here, id, d);
}

static int log_take_all(struct decisionlog *d, struct decisionpiece *p, struct table *here, struct buf *out)
{
	json_t *one, *input;
	int rc = 0;

	while (rc == 0 && (one = decisionpiece_next(p, &input))) {
		rc = log_take_one(d, here, one, input, out);
		json_decref(one);
		json_decref(input);
	}
	return rc;
}

int decisionlog_take(struct decisionlog *d, const char *piece, size_t len, struct decisionlog_taken *out,
	struct fail *f)
{
	struct decisionpiece p;
	struct table here;
	const char *id;
	size_t at = 0;
	int rc = decisionpiece_open(&p, piece, len, f), kept = 0;
	void *value;

	if (rc)
		return rc;
	table_init(&here);
	rc = log_take_all(d, &p, &here, &out->lines);
	if ((rc == 0 || rc == -EAGAIN) && out->lines.len)
		kept = log_keep(d, &out->lines);
	rc = kept ? kept : rc;
	while ((rc == 0 || rc == -EAGAIN) && table_next(&here, &at, &id, &value))
		log_know(d, id);
	out->nameless = p.nameless;
	out->cut = p.cut;
	table_release(&here);
	decisionpiece_release(&p);
	if (rc == -EAGAIN)
		return fail_set(f, rc, "these are more decisions than the market takes at once; send them again");
	if (rc)
		buf_clear(&out->lines);
	return rc ? fail_errno(f, rc, -rc, "cannot keep decisions in '%s'", d->path) : 0;
}

int decisionlog_open(struct decisionlog **out, const char *path, struct fail *f)
{
	struct decisionlog *d = calloc(1, sizeof *d);
	int rc;

	if (!d)
		return fail_set(f, -ENOMEM, "out of memory");
	d->fd = -1;
	table_init(&d->known);
	d->path = strdup(path);
	rc = d->path ? log_know_before(d) : -ENOMEM;
	rc = rc ? rc : log_begin(d);
	rc = rc ? rc : log_know_file(d, d->fd, &d->end);
	if (rc == 0 && ftruncate(d->fd, d->end) != 0 && errno != EINVAL) /* a crash cut the last line; no device */
		rc = -errno;
	if (rc) {
		decisionlog_free(d);
		return fail_errno(f, rc, -rc, "cannot open '%s'", path);
	}
	*out = d;
	return 0;
}

void decisionlog_free(struct decisionlog *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < LOG_KNOWN; i++)
		free(d->ids[i]);
	table_release(&d->known);
	if (d->fd >= 0)
		close(d->fd);
	free(d->path);
	free(d);
}
