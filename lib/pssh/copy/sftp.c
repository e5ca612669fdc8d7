/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/copy/sftp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/pssh_types.h"

/* Message numbers that sftp.h does not name. */
enum {
	INIT = 1, VERSION = 2, OPEN = 3, READ = 5, WRITE = 6, SETSTAT = 9, FSETSTAT = 10, MKDIR = 14, RENAME = 18,
	STATUS = 101, HANDLE = 102, DATA = 103, NAME = 104, ATTRS = 105, EXTENDED = 200, EXTENDED_REPLY = 201,
};

enum { HEADER = 9, ATTRS_MAX = 32, NO_ROOM = 512 };

static uint32_t sftp_get32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static char *sftp_put32(char *p, uint32_t v)
{
	p[0] = (char)(v >> 24);
	p[1] = (char)(v >> 16);
	p[2] = (char)(v >> 8);
	p[3] = (char)v;
	return p + 4;
}

static char *sftp_put64(char *p, uint64_t v)
{
	return sftp_put32(sftp_put32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static char *sftp_put_text(char *p, const char *text, size_t len)
{
	p = sftp_put32(p, (uint32_t)len);
	memcpy(p, text, len);
	return p + len;
}

static char *put_attrs(char *p, const struct sftp_attrs *a)
{
	uint32_t flags = a ? a->flags & (SFTP_ATTR_SIZE | SFTP_ATTR_MODE | SFTP_ATTR_TIMES) : 0;

	p = sftp_put32(p, flags);
	if (flags & SFTP_ATTR_SIZE)
		p = sftp_put64(p, a->size);
	if (flags & SFTP_ATTR_MODE)
		p = sftp_put32(p, a->mode);
	if (flags & SFTP_ATTR_TIMES)
		p = sftp_put32(sftp_put32(p, a->atime), a->mtime);
	return p;
}

int sftp_init(struct sftp *s)
{
	*s = (struct sftp){ .out = malloc(SFTP_PACKET) };
	if (!s->out)
		return PSSH_ENOMEM;
	buf_init(&s->in, SFTP_MESSAGE + 4);
	pace_init(&s->pace);
	sftp_put32(s->out, 5);
	s->out[4] = INIT;
	sftp_put32(s->out + 5, 3);
	s->out_len = 9;
	return 0;
}

void sftp_release(struct sftp *s)
{
	free(s->out);
	s->out = NULL;
	buf_release(&s->in);
}

/* ---- Requests -------------------------------------------------------------------------- */

static bool room_for(const struct sftp *s, size_t n)
{
	return s->ready && s->used < SFTP_SLOTS && n <= SFTP_PACKET - s->out_len;
}

/* A request's number tells its slot, so that a reply finds it at once. */
static struct sftp_slot *take_slot(struct sftp *s, struct sftp_asker *who, int op, uint8_t type)
{
	struct sftp_slot *slot;

	assert(s->used < SFTP_SLOTS);
	while (s->slots[s->next % SFTP_SLOTS].who)
		s->next++;
	slot = &s->slots[s->next % SFTP_SLOTS];
	pace_asked(&s->pace, slot, s->used);
	*slot = (struct sftp_slot){ .who = who, .id = s->next++, .op = (uint8_t)op, .type = type };
	who->waiting++;
	s->used++;
	return slot;
}

static char *sftp_begin(struct sftp *s, const struct sftp_slot *slot)
{
	char *p = s->out + s->out_len;

	p[4] = (char)slot->type;
	return sftp_put32(p + 5, slot->id);
}

static bool sftp_finish(struct sftp *s, const char *end)
{
	char *start = s->out + s->out_len;

	sftp_put32(start, (uint32_t)(end - start - 4));
	s->out_len = (size_t)(end - s->out);
	assert(s->out_len <= SFTP_PACKET);
	return true;
}

bool sftp_path(struct sftp *s, struct sftp_asker *who, int op, enum sftp_request type, const char *path)
{
	size_t n = strlen(path);

	if (!room_for(s, HEADER + 4 + n))
		return false;
	return sftp_finish(s, sftp_put_text(sftp_begin(s, take_slot(s, who, op, (uint8_t)type)), path, n));
}

bool sftp_handle(struct sftp *s, struct sftp_asker *who, int op, enum sftp_request type, const struct sftp_handle *h)
{
	if (!room_for(s, HEADER + 4 + h->len))
		return false;
	return sftp_finish(s, sftp_put_text(sftp_begin(s, take_slot(s, who, op, (uint8_t)type)), h->bytes, h->len));
}

bool sftp_open(struct sftp *s, struct sftp_asker *who, int op, const char *path, unsigned flags,
	const struct sftp_attrs *a)
{
	size_t n = strlen(path);
	char *p;

	if (!room_for(s, HEADER + 8 + n + ATTRS_MAX))
		return false;
	p = sftp_put_text(sftp_begin(s, take_slot(s, who, op, OPEN)), path, n);
	return sftp_finish(s, put_attrs(sftp_put32(p, flags), a));
}

static bool with_attrs(struct sftp *s, struct sftp_asker *who, int op, uint8_t type, const char *text, size_t n,
	const struct sftp_attrs *a)
{
	if (!room_for(s, HEADER + 4 + n + ATTRS_MAX))
		return false;
	return sftp_finish(s, put_attrs(sftp_put_text(sftp_begin(s, take_slot(s, who, op, type)), text, n), a));
}

bool sftp_mkdir(struct sftp *s, struct sftp_asker *who, int op, const char *path, const struct sftp_attrs *a)
{
	return with_attrs(s, who, op, MKDIR, path, strlen(path), a);
}

bool sftp_setstat(struct sftp *s, struct sftp_asker *who, int op, const char *path, const struct sftp_attrs *a)
{
	return with_attrs(s, who, op, SETSTAT, path, strlen(path), a);
}

bool sftp_fsetstat(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h,
	const struct sftp_attrs *a)
{
	return with_attrs(s, who, op, FSETSTAT, h->bytes, h->len, a);
}

bool sftp_read(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h, uint64_t offset,
	uint32_t len)
{
	struct sftp_slot *slot;
	char *p;

	if (!room_for(s, HEADER + 4 + h->len + 12))
		return false;
	slot = take_slot(s, who, op, READ);
	slot->offset = offset;
	slot->len = len;
	p = sftp_put_text(sftp_begin(s, slot), h->bytes, h->len);
	return sftp_finish(s, sftp_put32(sftp_put64(p, offset), len));
}

char *sftp_write_place(struct sftp *s, const struct sftp_handle *h, uint32_t *len)
{
	size_t head = HEADER + 4 + h->len + 12, room;

	if (!room_for(s, head + 1))
		return NULL;
	room = SFTP_PACKET - s->out_len - head;
	if (*len > room && s->out_len > NO_ROOM)
		return NULL; /* waiting for a whole packet is better than splitting the block */
	if (*len > room)
		*len = (uint32_t)room;
	return s->out + s->out_len + head;
}

void sftp_write(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h, uint64_t offset,
	uint32_t len)
{
	struct sftp_slot *slot = take_slot(s, who, op, WRITE);
	char *p;

	slot->offset = offset;
	slot->len = len;
	p = sftp_put_text(sftp_begin(s, slot), h->bytes, h->len);
	sftp_finish(s, sftp_put32(sftp_put64(p, offset), len) + len);
}

static bool sftp_extended(struct sftp *s, struct sftp_asker *who, int op, const char *name, const char *text, size_t n,
	const char *second)
{
	size_t more = second ? 4 + strlen(second) : 0;
	char *p;

	if (!room_for(s, HEADER + 4 + strlen(name) + 4 + n + more))
		return false;
	p = sftp_put_text(sftp_begin(s, take_slot(s, who, op, EXTENDED)), name, strlen(name));
	p = sftp_put_text(p, text, n);
	return sftp_finish(s, second ? sftp_put_text(p, second, strlen(second)) : p);
}

bool sftp_rename(struct sftp *s, struct sftp_asker *who, int op, const char *from, const char *to)
{
	size_t n = strlen(from), m = strlen(to);
	char *p;

	if (s->features & SFTP_HAS_POSIX_RENAME)
		return sftp_extended(s, who, op, "posix-rename@openssh.com", from, n, to);
	if (!room_for(s, HEADER + 8 + n + m))
		return false;
	p = sftp_put_text(sftp_begin(s, take_slot(s, who, op, RENAME)), from, n);
	return sftp_finish(s, sftp_put_text(p, to, m));
}

bool sftp_fsync(struct sftp *s, struct sftp_asker *who, int op, const struct sftp_handle *h)
{
	return sftp_extended(s, who, op, "fsync@openssh.com", h->bytes, h->len, NULL);
}

bool sftp_statvfs(struct sftp *s, struct sftp_asker *who, int op, const char *path)
{
	return sftp_extended(s, who, op, "statvfs@openssh.com", path, strlen(path), NULL);
}

uint64_t sftp_oldest(const struct sftp *s, const struct sftp_asker *who)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < SFTP_SLOTS; i++)
		if (s->slots[i].who == who && s->slots[i].len && s->slots[i].offset < least)
			least = s->slots[i].offset;
	return least;
}

/* ---- Replies --------------------------------------------------------------------------- */

static const char *sftp_take_text(struct sshwire *w, size_t *len)
{
	return (const char *)sshwire_string(w, len);
}

static void take_attrs(struct sshwire *c, struct sftp_attrs *a)
{
	uint32_t pairs;
	size_t len;

	*a = (struct sftp_attrs){ .flags = sshwire_u32(c) };
	if (a->flags & SFTP_ATTR_SIZE)
		a->size = sshwire_u64(c);
	if (a->flags & SFTP_ATTR_OWNER)
		sshwire_u64(c);
	if (a->flags & SFTP_ATTR_MODE)
		a->mode = sshwire_u32(c);
	if (a->flags & SFTP_ATTR_TIMES) {
		a->atime = sshwire_u32(c);
		a->mtime = sshwire_u32(c);
	}
	if (!(a->flags & 0x80000000u))
		return;
	for (pairs = sshwire_u32(c); pairs && !c->bad; pairs--) {
		sftp_take_text(c, &len);
		sftp_take_text(c, &len);
	}
}

static int sftp_torn(struct fail *f)
{
	return fail_set(f, PSSH_EPROTO, "the server's SFTP messages are damaged");
}

static const struct {
	const char *name;
	unsigned feature;
} features[] = {
	{ "posix-rename@openssh.com", SFTP_HAS_POSIX_RENAME },
	{ "fsync@openssh.com", SFTP_HAS_FSYNC },
	{ "statvfs@openssh.com", SFTP_HAS_STATVFS },
};

static int take_version(struct sftp *s, struct sshwire *c, struct fail *f)
{
	uint32_t version = sshwire_u32(c);

	if (c->bad)
		return sftp_torn(f);
	if (version < 3)
		return fail_set(f, PSSH_EUNSUPPORTED, "the server speaks SFTP version %u only; 3 is needed", version);
	while (c->left && !c->bad) {
		size_t n, m;
		const char *name = sftp_take_text(c, &n);

		sftp_take_text(c, &m);
		for (size_t i = 0; i < sizeof features / sizeof *features; i++)
			if (strlen(features[i].name) == n && memcmp(features[i].name, name, n) == 0)
				s->features |= features[i].feature;
	}
	if (c->bad)
		return sftp_torn(f);
	s->ready = true;
	return 0;
}

/* Whether a message of this type answers the request. A status always may; it also reports the end of data. */
static bool sftp_answers(const struct sftp_slot *slot, unsigned type)
{
	switch (type) {
	case STATUS:
		return true;
	case HANDLE:
		return slot->type == OPEN || slot->type == SFTP_REQ_OPENDIR;
	case DATA:
		return slot->type == READ;
	case NAME:
		return slot->type == SFTP_REQ_READDIR || slot->type == SFTP_REQ_REALPATH;
	case ATTRS:
		return slot->type == SFTP_REQ_STAT || slot->type == SFTP_REQ_LSTAT || slot->type == SFTP_REQ_FSTAT;
	case EXTENDED_REPLY:
		return slot->type == EXTENDED;
	default:
		return false;
	}
}

/* Status OK only answers requests that ask for nothing else. */
static bool status_fits(const struct sftp_slot *slot, uint32_t status)
{
	static const unsigned char wants_more[] = { OPEN, READ, SFTP_REQ_LSTAT, SFTP_REQ_FSTAT, SFTP_REQ_OPENDIR,
		SFTP_REQ_READDIR, SFTP_REQ_REALPATH, SFTP_REQ_STAT };

	return status != SFTP_OK || !memchr(wants_more, slot->type, sizeof wants_more);
}

static struct sftp_slot *find_slot(struct sftp *s, uint32_t id, unsigned type)
{
	struct sftp_slot *slot = &s->slots[id % SFTP_SLOTS];

	return slot->who && slot->id == id && slot != s->data_slot && sftp_answers(slot, type) ? slot : NULL;
}

static void sftp_free_slot(struct sftp *s, struct sftp_slot *slot)
{
	pace_answered(&s->pace, slot, slot->type == READ || slot->type == WRITE);
	assert(slot->who && slot->who->waiting > 0 && s->used > 0);
	slot->who->waiting--;
	slot->who = NULL;
	s->used--;
}

static void start_reply(struct sftp_reply *r, const struct sftp_slot *slot)
{
	r->who = slot->who;
	r->op = slot->op;
	r->offset = slot->offset;
	r->asked = slot->len;
	r->last = true;
	r->message[0] = '\0';
}

static void sftp_take_message(struct sftp_reply *r, struct sshwire *c)
{
	size_t n, i;
	const char *text;

	if (!c->left)
		return; /* old servers omit the message */
	text = sftp_take_text(c, &n);
	if (n >= sizeof r->message)
		n = sizeof r->message - 1;
	for (i = 0; i < n; i++)
		r->message[i] = text[i] >= ' ' && text[i] < 127 ? text[i] : '?';
	r->message[n] = '\0';
}

static void take_space(struct sftp_reply *r, struct sshwire *c)
{
	uint64_t word[11];

	for (size_t i = 0; i < 11; i++)
		word[i] = sshwire_u64(c);
	/* bsize frsize blocks bfree bavail files ffree favail fsid flag namemax */
	if (word[1] && word[4] > UINT64_MAX / word[1])
		r->space = UINT64_MAX;
	else
		r->space = word[1] * word[4];
	r->inodes = word[5] ? word[7] : UINT64_MAX;
	r->readonly = word[9] & 1;
}

static bool sftp_take_body(struct sftp_reply *r, unsigned type, struct sshwire *c)
{
	const char *text;
	size_t n;

	switch (type) {
	case STATUS:
		r->kind = SFTP_STATUS;
		r->status = sshwire_u32(c);
		sftp_take_message(r, c);
		break;
	case HANDLE:
		r->kind = SFTP_HANDLE_IS;
		text = sftp_take_text(c, &n);
		if (n > SFTP_HANDLE)
			return false;
		r->handle.len = (uint32_t)n;
		memcpy(r->handle.bytes, text, n);
		break;
	case NAME:
		r->kind = SFTP_NAMES;
		r->names = sshwire_u32(c);
		r->rest = *c;
		break;
	case ATTRS:
		r->kind = SFTP_ATTRS;
		take_attrs(c, &r->attrs);
		break;
	default:
		r->kind = SFTP_SPACE;
		take_space(r, c);
		break;
	}
	return !c->bad;
}

/* Takes a whole message that is not data. */
static int sftp_take_whole(struct sftp *s, const char *msg, size_t len, struct sftp_reply *r, struct fail *f)
{
	unsigned type = (unsigned char)msg[0];
	struct sftp_slot *slot;
	struct sshwire c;

	sshwire_init(&c, msg + 1, len - 1);
	if (!s->ready)
		return type == VERSION ? take_version(s, &c, f) : sftp_torn(f);
	slot = find_slot(s, sshwire_u32(&c), type);
	if (c.bad || !slot)
		return sftp_torn(f);
	start_reply(r, slot);
	if (!sftp_take_body(r, type, &c) || (type == STATUS && !status_fits(slot, r->status)))
		return sftp_torn(f);
	sftp_free_slot(s, slot);
	return 1;
}

/* Passes on as much of a data message as has come, without buffering it. */
static int sftp_take_piece(struct sftp *s, const char **data, size_t *len, struct sftp_reply *r)
{
	struct sftp_slot *slot = s->data_slot;
	size_t n = *len < s->data_left ? *len : s->data_left;

	start_reply(r, slot);
	r->kind = SFTP_DATA;
	r->data_total = s->data_total;
	r->offset = slot->offset;
	r->data = *data;
	r->len = n;
	slot->offset += n;
	s->data_left -= (uint32_t)n;
	*data += n;
	*len -= n;
	r->last = s->data_left == 0;
	if (r->last) {
		s->data_slot = NULL;
		sftp_free_slot(s, slot);
	}
	return 1;
}

/* The head of a data message has come: 4 bytes length, 1 type, 4 number, 4 length of the data. */
static int start_data(struct sftp *s, struct fail *f)
{
	const char *p = s->in.data;
	uint32_t whole = sftp_get32(p), n = sftp_get32(p + 9);
	struct sftp_slot *slot = s->ready ? find_slot(s, sftp_get32(p + 5), DATA) : NULL;

	if (!slot || n == 0 || n > slot->len || whole != n + 9)
		return sftp_torn(f);
	s->data_slot = slot;
	s->data_left = s->data_total = n;
	buf_clear(&s->in);
	return 0;
}

/* How many bytes s->in must hold before the message can be read further. */
static size_t sftp_wanted(const struct sftp *s)
{
	if (s->in.len < 5)
		return 5;
	if ((unsigned char)s->in.data[4] == DATA)
		return 13;
	return 4 + (size_t)sftp_get32(s->in.data);
}

/* 1: a reply; 0: continue with the rest of the bytes. */
static int take_message_in(struct sftp *s, struct sftp_reply *r, struct fail *f)
{
	int rc;

	if ((unsigned char)s->in.data[4] == DATA)
		return start_data(s, f);
	rc = sftp_take_whole(s, s->in.data + 4, s->in.len - 4, r, f);
	/* Names point into s->in, so keep it until the next call. */
	return rc;
}

int sftp_next(struct sftp *s, const char **data, size_t *len, struct sftp_reply *r, struct fail *f)
{
	if (s->in.len >= 5 && s->in.len == sftp_wanted(s))
		buf_clear(&s->in); /* the message that the last call returned */
	while (*len) {
		size_t want, n;
		int rc;

		if (s->data_slot)
			return sftp_take_piece(s, data, len, r);
		want = sftp_wanted(s);
		n = want - s->in.len < *len ? want - s->in.len : *len;
		if (buf_add(&s->in, *data, n))
			return fail_set(f, PSSH_ENOMEM, "out of memory");
		*data += n;
		*len -= n;
		if (s->in.len >= 5 && (sftp_get32(s->in.data) < 1 || sftp_get32(s->in.data) > SFTP_MESSAGE))
			return sftp_torn(f);
		if (s->in.len < sftp_wanted(s) || s->in.len < 5)
			continue;
		rc = take_message_in(s, r, f);
		if (rc)
			return rc;
		buf_clear(&s->in);
	}
	return 0;
}

bool sftp_name(struct sftp_reply *r, const char **name, size_t *len, struct sftp_attrs *a, bool *bad)
{
	struct sshwire *c = &r->rest;
	size_t n;

	*bad = false;
	if (!r->names)
		return false;
	*name = sftp_take_text(c, len);
	sftp_take_text(c, &n); /* the line that ls -l would show */
	take_attrs(c, a);
	*bad = c->bad;
	r->names--;
	return !c->bad;
}

const char *sftp_reason(const struct sftp_reply *r)
{
	switch (r->status) {
	case SFTP_NO_SUCH_FILE:
		return "no such file or directory";
	case SFTP_PERMISSION_DENIED:
		return "permission denied";
	case SFTP_UNSUPPORTED:
		return "the server does not support it";
	case SFTP_EOF:
		return "end of file";
	default:
		return r->message[0] ? r->message : "the server gives no reason";
	}
}
