/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keepwire.h"

#include <errno.h>
#include <string.h>

#include "pssh/keys/sshwire.h"
#include "pssh/pssh_types.h"

enum { KEEPWIRE_HEAD = 4, KEEPWIRE_LEAST = 5 }; /* the length; type and channel */

static const struct keepwire_row {
	const char *fields;
	int who;
} keepwire_rows[32] = {
#define KEEPWIRE_X(name, number, fields, who) [number] = { fields, who },
	KEEPWIRE_FRAMES(KEEPWIRE_X)
#undef KEEPWIRE_X
};

int keepwire_add(struct buf *b, const struct keepwire_frame *f)
{
	const struct keepwire_row *row = &keepwire_rows[f->type];
	size_t from = b->len, n = 0, t = 0, len;
	int rc = sshwire_add_u32(b, 0);

	rc = rc ? rc : buf_addc(b, (char)f->type);
	rc = rc ? rc : sshwire_add_u32(b, f->chan);
	for (const char *c = row->fields; *c && !rc; c++) {
		if (*c == 'n')
			rc = sshwire_add_u32(b, f->n[n++]);
		else
			rc = sshwire_add_string(b, f->t[t].at ? f->t[t].at : "", f->t[t].len), t++;
	}
	len = b->len - from - KEEPWIRE_HEAD;
	if (!rc && len > KEEPWIRE_FRAME)
		rc = -EFBIG;
	if (rc) {
		buf_cut(b, from);
		return rc;
	}
	for (int i = 0; i < 4; i++)
		b->data[from + (size_t)i] = (char)(len >> (24 - 8 * i));
	return 0;
}

static bool keepwire_field(struct sshwire *w, char kind, uint32_t *number, struct keepwire_text *text)
{
	size_t len;

	if (kind == 'n') {
		*number = sshwire_u32(w);
		return !w->bad;
	}
	text->at = (const char *)sshwire_string(w, &len);
	text->len = len;
	return !w->bad && (kind == 'b' || !memchr(text->at, '\0', len));
}

int keepwire_take(const void *data, size_t len, int from, struct keepwire_frame *f, size_t *used)
{
	struct sshwire w;
	const struct keepwire_row *row;
	uint32_t whole;
	size_t n = 0, t = 0;
	uint8_t type;

	if (len < KEEPWIRE_HEAD)
		return 0;
	sshwire_init(&w, data, len);
	whole = sshwire_u32(&w);
	if (whole < KEEPWIRE_LEAST || whole > KEEPWIRE_FRAME)
		return PSSH_EPROTO;
	if (len - KEEPWIRE_HEAD < whole)
		return 0;
	w.left = whole;
	type = sshwire_u8(&w);
	row = &keepwire_rows[type % 32];
	if (type >= 32 || !row->fields || !(row->who & from))
		return PSSH_EPROTO;
	*f = (struct keepwire_frame){ .type = (enum keepwire_type)type, .chan = sshwire_u32(&w) };
	for (const char *c = row->fields; *c; c++) {
		if (!keepwire_field(&w, *c, &f->n[n < 5 ? n : 4], &f->t[t < 2 ? t : 1]))
			return PSSH_EPROTO;
		n += *c == 'n';
		t += *c != 'n';
	}
	if (w.left)
		return PSSH_EPROTO;
	if (f->type == KEEP_DATA && (f->n[0] > 1 || f->t[0].len > KEEPWIRE_DATA || !f->t[0].len))
		return PSSH_EPROTO;
	*used = KEEPWIRE_HEAD + whole;
	return 1;
}

const char *keepwire_copy(struct keepwire_text t, char *room, size_t size)
{
	size_t len = t.len < size - 1 ? t.len : size - 1;

	memcpy(room, t.at ? t.at : "", len);
	room[len] = '\0';
	return room;
}
