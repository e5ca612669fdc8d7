/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/look.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pssh/pssh_types.h"

/* One request is outstanding at a time, so nothing follows an answer before the next request. */
enum look_state {
	LOOK_OPEN,
	LOOK_START,
	LOOK_KIND,
	LOOK_ASK,
	LOOK_READ,
	LOOK_NAMES,
	LOOK_CLOSE,
	LOOK_CLOSING,
	LOOK_ENDED
};

struct look {
	struct chan *chan;
	enum look_what what;
	enum look_state state;
	char *path;
	size_t limit;
	struct sftp sftp;
	struct sftp_asker asker;
	struct sftp_reply reply;
	struct sftp_handle handle;
	struct sftp_attrs attrs;
	struct buf name, bytes;
	bool told;
};

/* SFTP paths begin in the home directory; "~" means nothing there. */
static char *look_path(const char *path)
{
	if (path[0] == '~' && path[1] == '/')
		path += 2;
	return strdup(!*path || strcmp(path, "~") == 0 ? "." : path);
}

int look_new(struct link *l, enum look_what what, const char *path, size_t limit, struct look **out)
{
	struct look *k = calloc(1, sizeof *k);

	if (!k)
		return PSSH_ENOMEM;
	k->what = what;
	k->limit = limit;
	buf_init(&k->name, SFTP_PATH);
	buf_init(&k->bytes, limit < SIZE_MAX - SFTP_READ ? limit + SFTP_READ : SIZE_MAX);
	k->path = look_path(path);
	k->chan = chan_new(l);
	if (!k->path || !k->chan || sftp_init(&k->sftp) != 0) {
		look_free(k);
		return PSSH_ENOMEM;
	}
	*out = k;
	return 0;
}

void look_free(struct look *k)
{
	if (!k)
		return;
	chan_close(k->chan);
	sftp_release(&k->sftp);
	buf_release(&k->name);
	buf_release(&k->bytes);
	free(k->path);
	free(k);
}

const char *look_file(const struct look *k, struct sftp_attrs *a)
{
	*a = k->attrs;
	return k->what == LOOK_STAT ? k->path : buf_text(&k->name);
}

const struct buf *look_bytes(const struct look *k)
{
	return &k->bytes;
}

static int look_begin(struct look *k, struct fail *f)
{
	int rc;

	if (k->state == LOOK_OPEN) {
		rc = chan_open_session(k->chan, CHAN_WINDOW_FILES, f);
		if (rc)
			return rc;
		k->state = LOOK_START;
	}
	rc = chan_start(k->chan, "subsystem", "sftp", f);
	if (rc == PSSH_EREFUSED)
		return fail_set(f, rc, "the server offers no file transfer (sftp)");
	if (rc)
		return rc;
	k->state = k->what == LOOK_DATA ? LOOK_KIND : LOOK_ASK;
	return LOOK_BEGUN;
}

/* Puts the next request into the buffer. */
static void look_ask(struct look *k)
{
	struct sftp_attrs none = { 0 };

	if (k->asker.waiting || !k->sftp.ready)
		return;
	if (k->state == LOOK_CLOSE) {
		if (sftp_handle(&k->sftp, &k->asker, 0, SFTP_REQ_CLOSE, &k->handle))
			k->state = LOOK_CLOSING;
	} else if (k->state == LOOK_KIND) {
		sftp_path(&k->sftp, &k->asker, 0, SFTP_REQ_STAT, k->path);
	} else if (k->state == LOOK_ASK && k->what == LOOK_DATA) {
		sftp_open(&k->sftp, &k->asker, 0, k->path, SFTP_OPEN_READ, &none);
	} else if (k->state == LOOK_ASK) {
		sftp_path(&k->sftp, &k->asker, 0, k->what == LOOK_STAT ? SFTP_REQ_STAT : SFTP_REQ_OPENDIR, k->path);
	} else if (k->state == LOOK_READ && k->what == LOOK_DATA) {
		sftp_read(&k->sftp, &k->asker, 0, &k->handle, k->bytes.len, SFTP_READ);
	} else if (k->state == LOOK_READ) {
		sftp_handle(&k->sftp, &k->asker, 0, SFTP_REQ_READDIR, &k->handle);
	}
}

static int look_refused(struct look *k, struct fail *f)
{
	static const char *const doing[] = { "look at", "list", "read" };

	return fail_set(f, k->reply.status == SFTP_NO_SUCH_FILE ? PSSH_ENOENT : PSSH_EREMOTE,
		"cannot %s '%s' on the host: %s", doing[k->what], k->path, sftp_reason(&k->reply));
}

/* A server waits for ever when it opens a pipe, and a device may have no end. */
static int look_kind(struct look *k, struct fail *f)
{
	if ((k->attrs.flags & SFTP_ATTR_MODE) && !S_ISREG(k->attrs.mode))
		return fail_set(f, PSSH_EREMOTE, "'%s' on the host is %s", k->path,
			S_ISDIR(k->attrs.mode) ? "a directory" : "not a plain file");
	k->state = LOOK_ASK;
	return 0;
}

/* 0, or a code. */
static int look_take(struct look *k, struct fail *f)
{
	const struct sftp_reply *r = &k->reply;

	switch (r->kind) {
	case SFTP_HANDLE_IS:
		k->handle = r->handle;
		k->state = LOOK_READ;
		return 0;
	case SFTP_ATTRS:
		k->attrs = r->attrs;
		if (k->state == LOOK_KIND)
			return look_kind(k, f);
		k->state = LOOK_ENDED;
		return 0;
	case SFTP_NAMES:
		k->state = LOOK_NAMES;
		return 0;
	case SFTP_DATA:
		if (k->bytes.len + r->len > k->limit)
			return fail_set(f, PSSH_EREMOTE, "'%s' on the host has more than %zu bytes", k->path, k->limit);
		return buf_add(&k->bytes, r->data, r->len) ? fail_set(f, PSSH_ENOMEM, "out of memory") : 0;
	default:
		break;
	}
	if (k->state == LOOK_CLOSING)
		k->state = LOOK_ENDED;
	else if (k->state == LOOK_READ && r->status == SFTP_EOF)
		k->state = LOOK_CLOSE;
	else
		return look_refused(k, f);
	return 0;
}

/* The next name, without "." and "..". 1: there is one; 0: none is left; or a code. */
static int look_next_name(struct look *k, struct fail *f)
{
	const char *name;
	size_t len;
	bool bad = false;

	while (sftp_name(&k->reply, &name, &len, &k->attrs, &bad)) {
		if (len && len <= 2 && memcmp(name, "..", len) == 0)
			continue;
		if (!len || memchr(name, '/', len)) /* a caller may join it to a path */
			return fail_set(f, PSSH_EPROTO, "the server's list of '%s' has a name with a slash", k->path);
		buf_clear(&k->name);
		return buf_add(&k->name, name, len) ? fail_set(f, PSSH_ENOMEM, "out of memory") : 1;
	}
	k->state = LOOK_READ;
	return bad ? fail_set(f, PSSH_EPROTO, "the server's list of '%s' is damaged", k->path) : 0;
}

/* Sends what waits. 1: some of it; 0; or a code. */
static int look_send(struct look *k)
{
	struct sftp *s = &k->sftp;
	ssize_t n;

	look_ask(k);
	if (s->out_at == s->out_len)
		return 0;
	n = chan_write(k->chan, s->out + s->out_at, s->out_len - s->out_at);
	if (n < 0)
		return n == PSSH_EAGAIN ? 0 : (int)n;
	s->out_at += (size_t)n;
	if (s->out_at == s->out_len)
		s->out_at = s->out_len = 0;
	return 1;
}

static int look_receive(struct look *k, struct exec_room *room, struct fail *f)
{
	ssize_t n = chan_read(k->chan, 1, room->data, room->size);
	const char *data = room->data;
	size_t len;
	int rc;

	n = chan_read(k->chan, 0, room->data, room->size);
	if (n == PSSH_EAGAIN)
		return 0;
	if (n == 0)
		return chan_eof(k->chan) ? fail_set(f, PSSH_ECLOSED, "the server ended the file transfer") : 0;
	if (n < 0)
		return fail_set(f, (int)n, "the connection was lost: %s", link_reason(k->chan->link, (int)n));
	len = (size_t)n;
	while ((rc = sftp_next(&k->sftp, &data, &len, &k->reply, f)) > 0) {
		rc = look_take(k, f);
		if (rc)
			return rc;
		if (k->state == LOOK_NAMES) /* they are in the message until the next call */
			return len ? fail_set(f, PSSH_EPROTO, "the server answers what was not asked") : 1;
	}
	return rc ? rc : 1;
}

static int look_end(struct look *k)
{
	if (k->told || k->what == LOOK_DIR)
		return LOOK_DONE;
	k->told = true;
	return k->what == LOOK_STAT ? LOOK_FILE : LOOK_BYTES;
}

int look_step(struct look *k, struct exec_room *room, struct fail *f)
{
	int sent, got;

	if (k->state < LOOK_KIND)
		return look_begin(k, f);
	do {
		if (k->state == LOOK_NAMES) {
			got = look_next_name(k, f);
			if (got)
				return got == 1 ? LOOK_FILE : got;
		}
		if (k->state == LOOK_ENDED)
			return look_end(k);
		sent = look_send(k);
		if (sent < 0)
			return fail_set(f, sent, "the connection was lost: %s", link_reason(k->chan->link, sent));
		got = look_receive(k, room, f);
		if (got < 0)
			return got;
	} while (sent || got);
	return PSSH_EAGAIN;
}
