/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: commas, escapes, bytes that are no text, levels. */
#include "../../lib/tap.h"

#include <stdlib.h>

#include "cli/frame/json.h"
#include "cli/frame/reshape.h"
#include "base/utf8.h"

static const char *text_of(const void *data, size_t len)
{
	static struct buf b;
	struct json j;

	buf_release(&b);
	buf_init(&b, 1 << 20);
	j = json_to(&b);
	json_bytes(&j, NULL, data, len);
	return buf_text(&b);
}

#define TEXT(s) text_of(s, sizeof s - 1)

/* The document in the form of a template; NULL: YAML. */
static const char *shape_of(const char *document, const char *template)
{
	static char *text;
	struct nanopod np = { 0 };
	struct reshape *r;
	size_t len;
	FILE *out;

	free(text);
	out = np.out = open_memstream(&text, &len);
	r = reshape_begin(&np, template, false);
	fputs(document, np.out);
	reshape_end(r, 0);
	fclose(out);
	return text;
}

int main(void)
{
	struct buf b;
	struct json j;

	plan_none;
	is_str(TEXT("a\"b\\c\n\t\r/"), "\"a\\\"b\\\\c\\n\\t\\r/\"", "what must be escaped is");
	is_str(TEXT("\0\033\177"), "\"\\u0000\\u001b\\u007f\"", "controls, and zero");
	is_str(TEXT("\xc2\x9b \xc2\xa0 \xe2\x80\xa8"), "\"\\u009b \xc2\xa0 \\u2028\"",
		"C1 controls, and ends of lines");
	is_str(shape_of("{\"a\":\"\\ud83d\\ude00\\n\"}", NULL), "a: \"\xf0\x9f\x98\x80\\n\"\n",
		"a pair of escapes in YAML");
	is_str(shape_of("{\"a\":\"\\ud83d\\ude00\\ud83d\"}", "{a}"), "\xf0\x9f\x98\x80\xef\xbf\xbd\n",
		"in a template, and a half one");
	is_str(TEXT("caf\xc3\xa9 \xf0\x9f\x98\x80"), "\"caf\xc3\xa9 \xf0\x9f\x98\x80\"", "UTF-8 stays");
	is_str(TEXT("\xff"), "\"\xef\xbf\xbd\"", "a byte that is none is replaced");
	is_str(TEXT("\xc3"), "\"\xef\xbf\xbd\"", "one that is cut off");
	is_str(TEXT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"", "one that is too long");
	is_str(TEXT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", "a surrogate");
	is_str(TEXT("\xf4\x90\x80\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"",
		"past the last character");
	is_str(TEXT("\xe2\x82(x"), "\"\xef\xbf\xbd\xef\xbf\xbd(x\"", "what follows a broken one is kept");

	buf_init(&b, 1 << 20);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_text(&j, "a", NULL);
	json_begin_array(&j, "b");
	json_int(&j, NULL, INT64_MIN);
	json_bool(&j, NULL, true);
	json_begin_object(&j, NULL);
	json_end(&j);
	json_end(&j);
	json_raw(&j, "c\"", "1.5");
	json_end(&j);
	is_str(buf_text(&b), "{\"a\":null,\"b\":[-9223372036854775808,true,{}],\"c\\\"\":1.5}", "objects and arrays");
	is_int(j.error, 0, "no error");

	buf_clear(&b);
	j = json_to(&b);
	for (int i = 0; i < 100; i++)
		json_begin_array(&j, NULL);
	ok(j.error < 0, "too deep is an error, not a crash");
	buf_release(&b);

	buf_init(&b, 8);
	j = json_to(&b);
	json_text(&j, NULL, "longer than eight");
	ok(j.error < 0, "a full buffer is an error");
	buf_release(&b);
	text_of("", 0);

	is_int((intmax_t)utf8_width("a\xc3\xa9\xe4\xb8\xad", 6), 4, "width: narrow, accented, wide");
	is_int((intmax_t)utf8_width("e\xcc\x81", 3), 1, "a combining accent takes no room");
	is_int((intmax_t)utf8_printable("\xc2\x9b", 2), 0, "C1 controls do not reach a terminal");
	return done();
}
