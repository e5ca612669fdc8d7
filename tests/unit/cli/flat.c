/* SPDX-License-Identifier: Apache-2.0 */
/* What a host may send to a terminal, and what is left of it. */
#include "cli/frame/flat.h"

#include <errno.h>

#include "../../lib/tap.h"

static int parse(const char *text)
{
	struct flat f;
	int rc = flat_parse(&f, text, strlen(text));

	if (!rc)
		flat_release(&f);
	return rc;
}

static void is_value(const char *text, const char *key, const char *want, const char *what)
{
	struct flat f;

	if (!ok(flat_parse(&f, text, strlen(text)) == 0, "%s: is read", what))
		return;
	is_str(flat_text(&f, key), want, "%s", what);
	flat_release(&f);
}

int main(void)
{
	static const char *const bad[] = {
		"",
		"x",
		"[]",
		"{",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{\"a\":1}x",
		"{\"a\":\"",
		"{\"a\":\"\\q\"}",
		"{\"a\":\"\\u12\"}",
		"{\"a\":\"\\ud800\\u0041\"}",
		"{\"a\":[1}",
		"{\"a\":{\"b\"}}",
		"{\"host\":\"\\u0000\"}",
	};

	plan_none;
	is_value("{\"host\":\"n1\",\"status\":0}", "host", "n1", "a text");
	is_value("{ \"host\" : \"n1\" , \"status\" : -12 }\n", "status", "-12", "a number");
	is_value("{\"data\":\"x\\q\",\"host\":\"n2\"}", "host", "n2", "what hosts said is passed over");
	is_value("{\"a\":{\"host\":\"no\",\"l\":[1,{}]},\"host\":\"n3\"}", "host", "n3",
		"nested values are passed over");
	is_value("{\"host\":\"a\\\"b\\\\c\\/\\n\\u00e4\\ud83d\\ude00\"}", "host", "a\"b\\c/\nä😀", "escapes");
	is_value("{\"host\":\"a\",\"host\":\"b\"}", "host", "b", "the last of a key counts");
	is_value("{\"host\":null,\"ok\":true}", "host", NULL, "null is nothing");
	is_value("{}", "host", NULL, "an empty object");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		is_int(parse(bad[i]), -EINVAL, "refused: %s", bad[i]);
	return done();
}
