/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/decisionpiece.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

enum {
	PIECE_LEVELS = 3, /* the decision, its input, the input's account */
	PIECE_SHORTEST = sizeof "{\"decision_id\":\"x\"}" - 1,
	GUNZIP_WINDOW = 15 + 16
};

static int piece_gunzip(const char *piece, size_t len, struct buf *out, struct fail *f)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)piece, .avail_in = (uInt)len };
	char block[16384];
	int rc = 0, state = Z_OK;

	if (inflateInit2(&z, GUNZIP_WINDOW) != Z_OK)
		return fail_set(f, -ENOMEM, "out of memory");
	while (rc == 0 && state == Z_OK) {
		z.next_out = (Bytef *)block;
		z.avail_out = sizeof block;
		state = inflate(&z, Z_NO_FLUSH);
		rc = buf_add(out, block, sizeof block - z.avail_out);
	}
	inflateEnd(&z);
	if (rc == -EFBIG)
		return fail_set(f, rc, "the decisions are more than %d MiB", DECISIONPIECE_BYTES >> 20);
	if (rc)
		return fail_set(f, rc, "out of memory");
	return state == Z_STREAM_END && !z.avail_in ? 0 : fail_set(f, -EINVAL, "the body is not gzip");
}

/* Looked through once before any decision of it counts. Of one that was cut, the last is not whole. */
static int piece_check(struct decisionpiece *p, struct fail *f)
{
	struct jsonparts whole;
	const char *part;
	size_t len;
	bool array = jsonparts_begin(&p->parts, '[', buf_text(&p->text), p->text.len);

	whole = p->parts;
	while (array && jsonparts_next(&whole, &part, &len))
		;
	if (array && p->cut)
		return whole.any ? 0 : fail_set(f, -EFBIG, "a decision is more than %d MiB", DECISIONPIECE_BYTES >> 20);
	return array && jsonparts_ended(&whole) ? 0 : fail_set(f, -EINVAL, "the body is not a JSON array");
}

int decisionpiece_open(struct decisionpiece *p, const char *piece, size_t len, struct fail *f)
{
	bool packed = len > 1 && piece[0] == '\037' && piece[1] == '\213';
	int rc;

	*p = (struct decisionpiece){ 0 };
	buf_init(&p->text, DECISIONPIECE_BYTES);
	rc = packed ? piece_gunzip(piece, len, &p->text, f) : buf_add(&p->text, piece, len);
	p->cut = rc == -EFBIG;
	rc = p->cut ? 0 : rc;
	rc = rc ? rc : piece_check(p, f);
	if (rc)
		decisionpiece_release(p);
	return rc;
}

void decisionpiece_release(struct decisionpiece *p)
{
	buf_release(&p->text);
}

/* Short and of plain bytes, as it goes into lines that people read. */
static bool piece_id_valid(const json_t *id)
{
	const char *text = json_string_value(id);
	size_t len = json_string_length(id);

	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return len > 0 && len <= DECISION_ID;
}

json_t *decisionpiece_next(struct decisionpiece *p, json_t **input)
{
	const char *part;
	json_t *o;
	size_t len;

	while (jsonparts_next(&p->parts, &part, &len)) {
		o = len < PIECE_SHORTEST ? NULL : jsonparts_read(part, len, PIECE_LEVELS);
		if (piece_id_valid(json_object_get(o, "decision_id"))) {
			*input = jsonparts_member(part, len, "input");
			return o;
		}
		json_decref(o);
		p->nameless++;
	}
	return NULL;
}
