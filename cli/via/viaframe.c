/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/viaframe.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/str.h"

enum { HEAD = 9 };

static void viaframe_put32(unsigned char *at, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		at[i] = (unsigned char)(v >> (24 - 8 * i));
}

static uint64_t viaframe_get(const char *at, int bytes)
{
	uint64_t v = 0;

	for (int i = 0; i < bytes; i++)
		v = v << 8 | (unsigned char)at[i];
	return v;
}

static int viaframe_head(struct buf *out, enum via_type type, uint32_t id, size_t len)
{
	unsigned char head[HEAD];

	if (len > VIA_FRAME_MAX)
		return -EFBIG;
	viaframe_put32(head, (uint32_t)len);
	head[4] = (unsigned char)type;
	viaframe_put32(head + 5, id);
	return buf_reserve(out, HEAD + len) ? -ENOMEM : buf_add(out, head, HEAD);
}

int viaframe_add(struct buf *out, enum via_type type, uint32_t id, const void *data, size_t len)
{
	int rc = viaframe_head(out, type, id, len);

	return rc ? rc : buf_add(out, data, len);
}

int viaframe_add_words(struct buf *out, enum via_type type, uint32_t id, const char *const *words, size_t count)
{
	size_t len = 0;
	int rc;

	for (size_t i = 0; i < count; i++)
		len += strlen(words[i]) + 1;
	rc = viaframe_head(out, type, id, len);
	for (size_t i = 0; !rc && i < count; i++)
		rc = buf_add(out, words[i], strlen(words[i]) + 1);
	return rc;
}

int viaframe_add_data(struct buf *out, enum via_type type, uint32_t id, uint64_t dropped, const void *data, size_t len)
{
	unsigned char count[8];
	int rc = viaframe_head(out, type, id, len + sizeof count);

	viaframe_put32(count, (uint32_t)(dropped >> 32));
	viaframe_put32(count + 4, (uint32_t)dropped);
	rc = rc ? rc : buf_add(out, count, sizeof count);
	return rc ? rc : buf_add(out, data, len);
}

static bool viaframe_knows(unsigned char letter)
{
	switch (letter) {
#define VIA_X(name, letter) case name:
		VIA_TYPES(VIA_X)
#undef VIA_X
		return true;
	default:
		return false;
	}
}

int viaframe_next(const char *data, size_t len, size_t *used, struct via_frame *out)
{
	uint64_t body;

	if (len > 4 && !viaframe_knows((unsigned char)data[4]))
		return -EPROTO;
	if (len >= 4 && viaframe_get(data, 4) > VIA_FRAME_MAX)
		return -EPROTO;
	if (len < HEAD)
		return 0;
	body = viaframe_get(data, 4);
	if (len - HEAD < body)
		return 0;
	*out = (struct via_frame){
		.type = (enum via_type)data[4],
		.id = (uint32_t)viaframe_get(data + 5, 4),
		.data = data + HEAD,
		.len = (size_t)body,
	};
	*used = HEAD + (size_t)body;
	return 1;
}

int viaframe_words(const struct via_frame *f, const char **words, size_t least, size_t most)
{
	size_t count = 0;

	if (f->len && f->data[f->len - 1] != '\0')
		return -EPROTO;
	for (size_t at = 0; at < f->len; at += strlen(f->data + at) + 1) {
		if (count == most)
			return -EPROTO;
		words[count++] = f->data + at;
	}
	return count < least ? -EPROTO : (int)count;
}

static bool viaframe_number(const char *text, long least, long most, int *out)
{
	long v;

	if (str_to_long(text, least, most, &v) != 0)
		return false;
	*out = (int)v;
	return true;
}

/* A gateway is not to be trusted with what a person is shown and asked about: no blanks, no escapes. */
static bool viaframe_visible(const char *text)
{
	while (*text > ' ' && *text < 0x7f)
		text++;
	return !*text;
}

int viaframe_result(const struct via_frame *f, struct via_result *out)
{
	const char *w[5];
	struct via_result r = { .data = "", .text = "", .address = "", .fingerprint = "" };
	bool good;

	switch (f->type) {
	case VIA_BEGUN:
		good = viaframe_words(f, w, 1, 1) == 1;
		r.text = good ? w[0] : "";
		break;
	case VIA_STDOUT:
	case VIA_STDERR:
		good = f->len >= 8;
		r.dropped = good ? viaframe_get(f->data, 8) : 0;
		r.data = good ? f->data + 8 : "";
		r.len = good ? f->len - 8 : 0;
		break;
	case VIA_EXIT:
		good = viaframe_words(f, w, 2, 2) == 2 && viaframe_number(w[0], INT32_MIN, INT32_MAX, &r.status) &&
			viaframe_number(w[1], 0, 1, &r.cancelled);
		break;
	case VIA_SIGNAL:
		good = viaframe_words(f, w, 2, 2) == 2 && *w[0] && strlen(w[0]) < 64 &&
			viaframe_number(w[1], 0, 1, &r.cancelled);
		r.text = good ? w[0] : "";
		break;
	case VIA_ERROR:
		good = viaframe_words(f, w, 5, 5) == 5 && viaframe_number(w[0], -1000, -1, &r.status) &&
			viaframe_number(w[1], 0, 1, &r.cancelled) && viaframe_visible(w[2]) && viaframe_visible(w[3]);
		if (!good)
			break;
		r.address = w[2];
		r.fingerprint = w[3];
		r.text = w[4];
		break;
	default:
		good = false;
	}
	if (!good)
		return -EPROTO;
	*out = r;
	return 0;
}
