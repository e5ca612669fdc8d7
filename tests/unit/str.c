/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base/str.c. */
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>

#include "../lib/tap.h"
#include "base/buf.h"

static void test_numbers(void)
{
	long n = 77;

	ok(str_to_long("42", 0, 100, &n) == 0 && n == 42, "42");
	ok(str_to_long("-7", -10, 10, &n) == 0 && n == -7, "-7");
	ok(str_to_long("007", 0, 10, &n) == 0 && n == 7, "007");
	n = 77;
	is_int(str_to_long("101", 0, 100, &n), -ERANGE, "above");
	is_int(str_to_long("-1", 0, 100, &n), -ERANGE, "below");
	is_int(str_to_long("99999999999999999999999", 0, 100, &n), -ERANGE, "far above");
	is_int(str_to_long("", 0, 100, &n), -EINVAL, "nothing");
	is_int(str_to_long("-", 0, 100, &n), -EINVAL, "a sign alone");
	is_int(str_to_long(" 1", 0, 100, &n), -EINVAL, "a space before");
	is_int(str_to_long("1 ", 0, 100, &n), -EINVAL, "a space after");
	is_int(str_to_long("+1", 0, 100, &n), -EINVAL, "a plus");
	is_int(str_to_long("0x10", 0, 100, &n), -EINVAL, "hexadecimal");
	is_int(n, 77, "none of which touches the result");
}

static void test_distance(void)
{
	is_int(str_distance("", ""), 0, "the same");
	is_int(str_distance("abc", "abc"), 0, "the same");
	is_int(str_distance("", "abc"), 3, "three missing");
	is_int(str_distance("abc", "abd"), 1, "one other");
	is_int(str_distance("abc", "acb"), 1, "two swapped");
	is_int(str_distance("kitten", "sitting"), 3, "kitten to sitting");
	is_int(str_distance("abc", "bc"), str_distance("bc", "abc"), "the same both ways");
	char lengthy[200];
	memset(lengthy, 'x', sizeof lengthy - 1);
	lengthy[sizeof lengthy - 1] = '\0';
	ok(str_distance(lengthy, "x") > 1000, "a long text is far from all");
}

static void globs(const char *pattern, const char *text, bool want)
{
	ok(str_glob(pattern, text) == want, "'%s' %s '%s'", pattern, want ? "matches" : "does not match", text);
}

static void test_glob(void)
{
	globs("", "", true);
	globs("", "a", false);
	globs("*", "", true);
	globs("*", "anything", true);
	globs("?", "", false);
	globs("?", "a", true);
	globs("a*c", "abbbc", true);
	globs("a*c", "abbbd", false);
	globs("*.example.org", "a.b.example.org", true);
	globs("*.example.org", "example.org", false);
	globs("a*b*c", "axxbyyc", true);
	globs("a*b*c", "acb", false);
	globs("*a", "aaaa", true);
	globs("n?", "n12", false);
	globs("[a]", "a", false);
	globs("A", "a", false);
	globs("*a*a*a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false);
}

static void quotes(const char *text, const char *want)
{
	struct buf b;

	buf_init(&b, 1000);
	is_int(str_quote_sh(&b, text), 0, "quotes '%s'", text);
	is_str(buf_text(&b), want, "as one word");
	buf_release(&b);
}

static void home(const char *path, const char *want)
{
	char *got = str_expand_home(path);

	is_str(got, want, "'%s'", path);
	free(got);
}

static void test_rest(void)
{
	struct buf b;
	char *got;

	quotes("plain-1.2_x/y", "plain-1.2_x/y");
	quotes("", "''");
	quotes("two words", "'two words'");
	quotes("it's", "'it'\\''s'");
	quotes("$HOME `x` \"y\" \\", "'$HOME `x` \"y\" \\'");
	quotes("~", "'~'");
	buf_init(&b, 4);
	is_int(str_quote_sh(&b, "too long"), -EFBIG, "a full buffer is told");
	buf_release(&b);

	setenv("HOME", "/house/test", 1);
	home("~", "/house/test");
	home("~/x", "/house/test/x");
	home("~joe/x", "~joe/x");
	home("/~", "/~");
	home("x", "x");
	unsetenv("HOME");
	got = str_expand_home("~/x");
	ok(got && got[0] == '/' && strcmp(got + strlen(got) - 2, "/x") == 0, "without HOME the password file says");
	free(got);

	ok(str_starts("abc", "ab") && str_starts("abc", "") && !str_starts("ab", "abc"), "str_starts");
	ok(str_among((char *[]){ (char[]){ "a" }, (char[]){ "b" }, NULL }, "b") &&
			!str_among((char *[]){ (char[]){ "ab" }, NULL }, "a") && !str_among(NULL, "a"),
		"str_among");
}

int main(void)
{
	plan_none;
	test_numbers();
	test_distance();
	test_glob();
	test_rest();
	return done();
}
