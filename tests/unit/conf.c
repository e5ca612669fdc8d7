/* SPDX-License-Identifier: Apache-2.0 */
/* Settings files: what they may contain, which errors name which place, and how one value changes. */
#include "../lib/tap.h"

#include <errno.h>

#include "conf/conf.h"
#include "conf/confedit.h"

static struct conf_file *parse(const char *text, struct fail *f)
{
	struct conf_file *file = NULL;

	return conf_parse("f.yaml", text, strlen(text), &file, f) ? NULL : file;
}

static void good(void)
{
	struct conf_file *file = parse(
		"# a comment\nfanout: 8\ngroups:\n  web: n[1-4]\n  gpu: [g1, 'g 2']\nempty:\nuser: \"~\"\n", NULL);
	const struct conf *at;

	if (!ok(file, "a settings file"))
		return;
	is_str(conf_get(&file->root, "fanout")->text, "8", "a plain value is text");
	is_int(conf_get(&file->root, "fanout")->line, 2, "and knows its line");
	at = conf_get(conf_get(&file->root, "groups"), "gpu");
	is_int(at->type, CONF_LIST, "a list");
	is_str(at->items[1].text, "g 2", "with quoted text");
	is_int(at->column, 3, "and knows its column");
	is_int(conf_get(&file->root, "empty")->type, CONF_NULL, "nothing is nothing");
	is_int(conf_get(&file->root, "user")->type, CONF_TEXT, "a quoted ~ is text");
	ok(!conf_get(&file->root, "nobody"), "what is not there is not found");
	conf_free(file);
	file = parse("", NULL);
	ok(file && file->root.type == CONF_MAP && file->root.count == 0, "an empty file is an empty map");
	conf_free(file);
	file = parse("# only this\n---\n", NULL);
	ok(file && file->root.count == 0, "and so is an empty document");
	conf_free(file);
}

static void bad(void)
{
	static const struct { const char *text, *why; } cases[] = {
		{ "a: 1\na: 2\n", "line 2, column 1: 'a' appears twice" },
		{ "a: &x 1\nb: *x\n", "line 1, column 4: anchors are not supported" },
		{ "a: *x\n", "aliases are not supported" },
		{ "a: !!int 1\n", "tags are not supported" },
		{ "- a\n- b\n", "expected 'name: value' lines" },
		{ "just text\n", "expected 'name: value' lines" },
		{ "a: 1\n---\nb: 2\n", "more than one document" },
		{ "a: [1, 2\n", "line 2" },
		{ "a:\n\t- 1\n", "line 2" },
		{ "[a, b]: 1\n", "expected a name" },
		{ "? \n: 1\n", "expected a name before the colon" },
		{ "a: \"x\\0y\"\n", "a zero byte" },
		{ "a: \xff\xfe\n", "cannot read 'f.yaml': byte" },
		{ "a: [[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]\n", "more than 16 levels deep" },
		{ "<<: {a: 1}\nb: *x\n", "aliases are not supported" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fail f = { 0 };
		struct conf_file *file = parse(cases[i].text, &f);

		ok(!file, "case %zu is refused", i);
		has_str(f.text, cases[i].why, "case %zu is explained", i);
		conf_free(file);
	}
}

static void ceilings(void)
{
	char *large = malloc(CONF_BYTES_MAX + 2), *many = malloc(CONF_BYTES_MAX);
	struct conf_file *file = NULL;
	struct fail f = { 0 };
	size_t len = 0;

	memset(large, ' ', CONF_BYTES_MAX + 1);
	is_int(conf_parse("big", large, CONF_BYTES_MAX + 1, &file, &f), -EFBIG, "a file that is too large is refused");
	memcpy(many, "a: [", 4);
	for (len = 4; len < 4 + 2 * (CONF_VALUES_MAX + 1); len += 2)
		memcpy(many + len, "1,", 2);
	ok(conf_parse("many", many, len, &file, &f) < 0, "too many values are refused");
	has_str(f.text, "more than 100000 values", "and it says so");
	ok(conf_read("/nonexistent/x", &file, &f) == -ENOENT && !file,
		"a file that is not there is an error of its own");
	free(large);
	free(many);
}

static void known(void)
{
	static const char *const keys[] = { "fanout", "user", NULL };
	struct conf_file *file = parse("fanout: 8\nusr: x\n", NULL);
	struct fail f = { 0 };

	ok(conf_known(file, &file->root, keys, &f) < 0, "an unknown key is refused");
	is_str(f.text, "cannot read 'f.yaml': line 2, column 1: unknown setting 'usr'; did you mean 'user'?",
		"with the nearest");
	ok(conf_expect(file, &file->root.items[0], CONF_LIST, &f) < 0, "a text is no list");
	has_str(f.text, "expected a list, not a text", "and it says what was expected");
	conf_free(file);
}

static const char *edit(const char *before, const char *const *keys, const char *const *values, size_t n, int list)
{
	static struct buf out;
	static char why[600];
	struct fail f = { 0 };
	struct buf text;
	int rc;

	buf_init(&text, CONF_BYTES_MAX);
	buf_release(&out);
	buf_init(&out, CONF_BYTES_MAX);
	buf_adds(&text, before);
	rc = confedit_set("f", &text, keys, values, n, list, &out, &f);
	buf_release(&text);
	if (rc) {
		snprintf(why, sizeof why, "%d %s", rc, f.text);
		buf_release(&out);
		return why;
	}
	snprintf(why, sizeof why, "%s", buf_text(&out));
	buf_release(&out);
	return why;
}

#define KEYS(...) (const char *const[]){ __VA_ARGS__, NULL }
#define VALUES(...) (const char *const[]){ __VA_ARGS__ }, sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

static void edits(void)
{
	is_str(edit("", KEYS("fanout"), VALUES("8"), 0), "fanout: 8\n", "into an empty file");
	is_str(edit("# mine\na: 1 # one\nfanout: 4\nz: 2", KEYS("fanout"), VALUES("8"), 0),
		"# mine\na: 1 # one\nfanout: 8\nz: 2", "replaced, all else as it was");
	is_str(edit("a: 1", KEYS("b"), VALUES("x: y"), 0), "a: 1\nb: 'x: y'\n",
		"added after a last line without its end");
	is_str(edit("groups:\n  web: n1\nz: 1\n", KEYS("groups", "db"), VALUES("d[1-2]"), 0),
		"groups:\n  web: n1\n  db: 'd[1-2]'\nz: 1\n", "into a map that is there");
	is_str(edit("z: 1\n", KEYS("profiles", "p", "user"), VALUES("ops"), 0),
		"z: 1\nprofiles:\n  p:\n    user: ops\n", "with the maps around it");
	is_str(edit("groups:\nz: 1\n", KEYS("groups", "db"), VALUES("d1"), 0), "groups:\n  db: d1\nz: 1\n",
		"into an empty map");
	is_str(edit("a:\n- x\n- y\n\n# about b\nb: 1\n", KEYS("a"), VALUES("p", "it's"), 1),
		"a: [p, 'it''s']\n\n# about b\nb: 1\n", "a list for a list, comments kept");
	is_str(edit("a: 1\nb: 2\nc: 3\n", KEYS("b"), NULL, 0, 0), "a: 1\nc: 3\n", "taken away");
	is_str(edit("a: 1\n", KEYS("b"), NULL, 0, 0), "1 ", "what is not there cannot be");
	has_str(edit("groups: {web: n1}\n", KEYS("groups", "web"), VALUES("n2"), 0), "edited by hand",
		"a flow map is left alone");
	has_str(edit("groups: n1\n", KEYS("groups", "web"), VALUES("n2"), 0), "expected 'name: value' lines",
		"a text is no map");
	has_str(edit("groups: ~\n", KEYS("groups", "web"), VALUES("n2"), 0), "edit it by hand",
		"what would break the file is not done");
	has_str(edit("a: [\n", KEYS("b"), VALUES("1"), 0), "-22 cannot read 'f'", "a broken file is not touched");
	has_str(edit("\r\rgroups:\n  web: g0\nprofiles:\n  y: 1\n", KEYS("groups", "web"), VALUES("n2"), 0),
		"edit it by hand", "lines that end in another way are not confused");
	is_str(edit("a: 1\r\nb: 2\r\n", KEYS("a"), VALUES("3"), 0), "a: 3\nb: 2\r\n",
		"but for carriage return and newline");
	is_str(edit("a: |\n  one\n  two\nb: 1\n", KEYS("a"), VALUES("x"), 0), "a: x\nb: 1\n",
		"a block of text is replaced whole");
	is_str(edit("a: 1\n", KEYS("b"), VALUES("null"), 0), "a: 1\nb: 'null'\n",
		"text that YAML would misread is quoted");
}

int main(void)
{
	plan_none;
	good();
	bad();
	ceilings();
	known();
	edits();
	return done();
}
