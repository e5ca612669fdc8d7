/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a node's script, and all that may come in their place. */
#include "cli/provision/rollout/remote_wire.h"

#include "../../lib/tap.h"

/* All of it as one text: "R word|word\n", "L line\n", "B why\n". */
static char *said(const char *data, size_t len, bool lines, size_t piece)
{
	static struct buf out;
	struct remote_wire w;
	enum remote_wire_kind kind;

	if (!out.max)
		buf_init(&out, 64 << 20);
	buf_clear(&out);
	buf_adds(&out, "");
	remote_wire_init(&w, lines);
	while (len) {
		size_t n = piece < len ? piece : len, left = n;
		const char *p = data;

		while ((kind = remote_wire_next(&w, &p, &left)) != REMOTE_WIRE_MORE) {
			buf_adds(&out, kind == REMOTE_WIRE_RECORD ? "R " : kind == REMOTE_WIRE_LINE ? "L " : "B ");
			for (size_t i = 0; i < w.count; i++)
				buf_addf(&out, "%s%s", i ? "|" : "", w.words[i]);
			buf_addf(&out, "%s\n", kind == REMOTE_WIRE_BAD ? w.why : "");
		}
		data += n;
		len -= n;
	}
	kind = remote_wire_end(&w);
	if (kind != REMOTE_WIRE_MORE)
		buf_addf(&out, "%s %s\n", kind == REMOTE_WIRE_LINE ? "l" : "b",
			kind == REMOTE_WIRE_LINE ? w.words[0] : w.why);
	remote_wire_release(&w);
	return (char *)(uintptr_t)buf_text(&out);
}

static void is_said(const char *data, size_t len, bool lines, const char *want, const char *what)
{
	for (size_t piece = 1; piece < len + 2; piece = piece < 9 ? piece + 1 : piece * 3)
		if (strcmp(said(data, len, lines, piece), want) != 0) {
			is_str(said(data, len, lines, piece), want, "%s, in pieces of %zu", what, piece);
			return;
		}
	ok(true, "%s", what);
}

#define SAID(text, want, what) is_said(text, sizeof(text) - 1, false, want, what)

int main(void)
{
	char *big = malloc(WIRE_RECORD_BYTES + 100), *out;

	plan_none;
	SAID("\036NP\tend\t0\n", "R end|0\n", "a record");
	SAID("\036NP\tdid\ta%0Ab%25%09c\t\tx\n", "R did|a\nb%\tc||x\n", "its words are decoded, and may be empty");
	SAID("hello\nworld\r\n", "L hello\nL world\n", "what programs say");
	SAID("hello", "l hello\n", "a last line without its end");
	SAID(" \036NP\tend\t0\n", "L  \036NP\tend\t0\n", "a record begins its line");
	SAID("\036NPx\tend\n\036NP\n", "L \036NPx\tend\nL \036NP\n", "nearly a record is a line");
	SAID("\036NP\tdid\t%zz\n", "B a record with a wrong encoding\n", "a wrong code");
	SAID("\036NP\tdid\t%0\n", "B a record with a wrong encoding\n", "half a code");
	SAID("\036NP\tdid\t%00\n", "B a record with a wrong encoding\n", "NUL by its number");
	SAID("\036NP\tdid\t\033[31m\n", "B a record with a wrong encoding\n", "a control byte as it is");
	SAID("\036NP\tdid\0x\n", "B a record with a NUL byte\n", "a NUL byte");
	SAID("\036NP\t\n", "B a record without a name\n", "no name");
	SAID("\036NP\t1\t2\t3\t4\t5\t6\t7\t8\t9\n", "B a record with too many words\n", "too many words");
	SAID("\036NP\t%25\n\036NP\tend", "R %\nb a record without an end\n", "the connection ended within a record");
	SAID("a\0b\n", "L a?b\n", "a NUL in a line is shown");
	is_said("\036NP\tend\t0\n", 10, true, "L \036NP\tend\t0\n", "on standard error nothing is a record");
	if (!big)
		return 99;
	memset(big, 'x', WIRE_RECORD_BYTES + 100);
	out = said(big, WIRE_RECORD_BYTES, false, 100000);
	ok(out && strlen(out) < WIRE_RECORD_BYTES + WIRE_RECORD_BYTES / 100, "an endless line comes in pieces");
	out = strchr(out, '\n');
	ok(out && (size_t)(out - said(big, WIRE_RECORD_BYTES, false, 100000)) == WIRE_LINE_BYTES + 2,
		"each as long as the ceiling");
	memcpy(big, "\036NP\tgive\tkey\t", 13);
	out = said(big, WIRE_RECORD_BYTES + 100, false, 65536);
	has_str(out, "B a record without an end\n", "an endless record is bad");
	free(big);
	return done();
}
