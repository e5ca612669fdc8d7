/* SPDX-License-Identifier: Apache-2.0 */
/* A stack as its folder describes it, and what is said where that is wrong. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/provision/model/cluster.h"
#include "cli/provision/model/stack.h"
#include "cli/provision/model/stack_value.h"

#include "../../lib/tap.h"

static char folder[PATH_MAX];

static void test_whole(void)
{
	const struct stack_step *conf;
	const struct stack_role *role;
	struct fail f = { 0 };
	struct stack *s;

	if (!ok(stack_read(folder, "toy", &s, &f) == 0, "a stack with one of everything is read: %s", f.text))
		return;
	is_str(s->about, "one of everything", "what it is about");
	is_str(s->needs_stacks[0], "base", "what it needs");
	is_int(s->role_count, 3, "its roles");
	role = stack_role(s, "head");
	ok(role && role->min == 1 && role->max == 1 && strcmp(role->fallback, "first") == 0,
		"the role 'head': exactly one, the first");
	role = stack_role(s, "spare");
	ok(role && role->min == 0 && role->max == 2 && strcmp(role->fallback, "none") == 0,
		"the role 'spare': nobody unless named");
	is_str(stack_setting(s, "words")->fallback, "a b", "a list is words");
	is_str(stack_setting(s, "enum")->values, "low|high", "values of an enum");
	is_str(stack_setting(s, "version-thing")->fallback, "v1.2.3+x", "a version is a setting");
	is_int(stack_setting(s, "version-thing")->type, STACK_TEXT, "and a text");
	ok(!stack_setting(s, "nothing"), "no such setting");
	is_str(s->packages[2], "elsewhere", "packages");
	has_str(s->gates, "cgroup gpu", "gates, parted by blanks");
	is_str(s->logs, "toyd head file /var/log/toyd.log\ntoyd head unit toyd\nany all file /var/log/any log\n",
		"logs, a line each");
	conf = stack_step(s, "conf");
	is_int(conf->roles, 3, "roles of a step");
	is_int(conf->wave, 2, "its wave");
	is_int(conf->timeout_s, 30, "its timeout");
	is_int(conf->need_count, 3, "what it waits for");
	ok(conf->needs[0].must && !conf->needs[0].stack && !conf->needs[0].role, "'users' on the same node");
	ok(conf->needs[1].stack && strcmp(conf->needs[1].stack, "base") == 0, "'base.hosts'");
	is_str(conf->needs[2].role, "head", "'key@head'");
	ok(conf->needs[2].must, "and since it takes what that gives, it must have succeeded");
	has_str(conf->script, "own() { :; }\n# SPDX-License-Identifier: Apache-2.0\nshared() { :; }\n",
		"includes stand before it, own and shared");
	has_str(conf->script, "check() { own; shared; }\n", "and then its script");
	ok(stack_step(s, "look")->only_verify && stack_step(s, "join")->quorum &&
			stack_step(s, "look")->timeout_s == 600,
		"flags and defaults");
	is_str(stack_step(s, "join")->facts[1], "hostkey", "facts that it asks for");
	is_str(stack_step(s, "bring")->upload, "file", "what is brought");
	stack_free(s);
}

static void test_few(void)
{
	struct fail f = { 0 };
	struct stack *s;
	char **names = stack_names(folder), **empty = stack_names("/nonexistent");

	ok(names[0] && names[1] && names[2] && !names[3], "three stacks in the folder, 'common' is none");
	is_str(names[0], "addon", "sorted");
	ok(!empty[0], "no folder, no stacks");
	for (char **n = names; *n; n++)
		free(*n);
	free(names);
	free(empty);
	is_int(stack_read(folder, "toi", &s, &f), -ENOENT, "no such stack");
	is_str(f.text, "no stack 'toi'; did you mean 'toy'?", "the nearest is said");
	is_int(stack_read(folder, "qqqqqq", &s, &f), -ENOENT, "nothing near");
	is_str(f.text, "no stack 'qqqqqq'; 'nanopod provision stacks' lists them", "and what lists them");
	is_int(stack_read(folder, "../toy", &s, &f), -ENOENT, "a path is no name");
	is_int(stack_read(folder, "common", &s, &f), -ENOENT, "'common' is no stack");
	if (ok(stack_read(folder, "base", &s, &f) == 0, "base is read")) {
		is_int(s->role_count, 1, "a stack without roles has one");
		is_str(s->roles[0].fallback, "all", "all nodes");
		stack_free(s);
	}
}

/* Of which a line is changed. */
#define STEPS "steps: [{name: users}]\n"

static const struct {
	const char *text, *says;
} bad[] = {
	{ "stack: toy\n", "a stack without steps" },
	{ "stack: toy\nsteps: [{name: users, facts: [kernel, Host-key]}]\n",
		"line 2, column 39: 'Host-key' is not the name of a fact" },
	{ "stack: tou\n" STEPS, "expected 'stack: toy' in it" },
	{ "stack: toy\nroels: {}\n" STEPS, "line 2, column 1: unknown setting 'roels'; did you mean 'roles'?" },
	{ "stack: toy\nroles: {all: {}}\n" STEPS, "line 2, column 9: 'all' cannot be the name of a role" },
	{ "stack: toy\nroles: {'a b': {}}\n" STEPS, "cannot be the name of a role" },
	{ "stack: toy\nroles: {a: {default: firts}}\n" STEPS, "'firts' is not one of first|rest|all|none" },
	{ "stack: toy\nroles: {a: {min: -1}}\n" STEPS, "'-1' is not between 0 and 4096" },
	{ "stack: toy\nroles: {a: {min: 3, max: 2}}\n" STEPS, "has a max below its min" },
	{ "stack: toy\nroles: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}, g: {}, h: {}, i: {}}\n" STEPS,
		"more than 8 roles" },
	{ "stack: toy\nsettings: {a: {type: tetx}}\n" STEPS,
		"line 2, column 16: 'tetx' is not one of text|flag|number|words|enum|map|file" },
	{ "stack: toy\nsettings: {a: {type: number, default: x}}\n" STEPS, "'x' is not a whole number" },
	{ "stack: toy\nsettings: {a: {type: flag, default: maybe}}\n" STEPS, "'maybe' is neither yes nor no" },
	{ "stack: toy\nsettings: {a: {type: enum, default: x}}\n" STEPS, "needs 'values' if its type is enum" },
	{ "stack: toy\nsettings: {a: {type: enum, values: [x, y], default: z}}\n" STEPS, "'z' is not one of x|y" },
	{ "stack: toy\nsettings: {a: {type: text, values: [x]}}\n" STEPS, "needs 'values' if its type is enum" },
	{ "stack: toy\nsettings: {a;b: {}}\n" STEPS, "'a;b' cannot be the name of a setting" },
	{ "stack: toy\nsettings: {version-k: {}}\nversions: {k: v1}\n" STEPS,
		"the setting 'version-k' is defined twice" },
	{ "stack: toy\nsettings: {m: {type: map, default: {a: b}}}\n" STEPS, "a map cannot have a default" },
	{ "stack: toy\ngates: [cgruop]\n" STEPS, "line 2, column 9: unknown gate 'cgruop'; did you mean 'cgroup'?" },
	{ "stack: toy\npackages: [-x]\n" STEPS, "'-x' is not the name of a package" },
	{ "stack: toy\nlogs: {x: {role: boss, file: /x}}\n" STEPS, "no role 'boss' in this stack" },
	{ "stack: toy\nsteps: [{name: ursers}]\n",
		"line 2, column 10: cannot read 'ursers.sh' beside it: No such file or directory" },
	{ "stack: toy\nsteps: [{help: x}]\n", "a step without a name" },
	{ "stack: toy\nsteps: [{name: ../users}]\n", "'../users' is not a name" },
	{ "stack: toy\nsteps: [{name: users}, {name: users}]\n", "the step 'users' is defined twice" },
	{ "stack: toy\nsteps: [{name: users, needs: [kye]}, {name: key}]\n",
		"unknown step 'kye'; did you mean 'key'?" },
	{ "stack: toy\nsteps: [{name: users, needs: [users]}]\n", "the step 'users' waits for itself" },
	{ "stack: toy\nsteps: [{name: users, needs: [key@hed]}, {name: key}]\nroles: {head: {}}\n",
		"unknown role 'hed'; did you mean 'head'?" },
	{ "stack: toy\nsteps: [{name: users, needs: ['a b']}]\n", "'a b' is not a step: expected STEP, STEP@ROLE" },
	{ "stack: toy\nsteps: [{name: users, needs: [addon.put]}]\n",
		"needs 'addon.put', but the stack lacks 'needs: [addon]'" },
	{ "stack: toy\nsteps: [{name: users, takes: x}]\n", "takes 'x', which no step gives" },
	{ "stack: toy\nsteps: [{name: users, takes: x, gives: x}]\n", "takes what it gives itself" },
	{ "stack: toy\nsteps: [{name: users, gives: x}, {name: key, gives: x}]\n",
		"'key' gives 'x', which 'users' gives too" },
	{ "stack: toy\nsteps: [{name: users, when: x=1}]\n", "unknown setting 'x'" },
	{ "stack: toy\nsettings: {x: {type: flag}}\nsteps: [{name: users, when: x=on}]\n",
		"'x=on' is never true: scripts see 'yes'" },
	{ "stack: toy\nsettings: {x: {type: flag}}\nsteps: [{name: users, when: x}]\n", "'x' is not a condition" },
	{ "stack: toy\nsettings: {x: {type: text}}\nsteps: [{name: users, upload: x}]\n", "must have the type file" },
	{ "stack: toy\nsteps: [{name: users, include: [../own.inc]}]\n",
		"'../own.inc' cannot be included: expected NAME.inc" },
	{ "stack: toy\nsteps: [{name: users, include: [no.inc]}]\n", "cannot read 'no.inc' beside it" },
	{ "stack: toy\nsteps: [{name: users, timeout: 1h}]\n", "'1h' is not a whole number" },
	{ "stack: toy\nsteps: {name: users}\n", "expected a list, not 'name: value' lines" },
	{ "stack: toy\nabout: \"a\\e[31m\"\n" STEPS, "the text has a control byte (27) in it" },
	{ "stack: toy\nabout: a\nabout: b\n" STEPS, "line 3, column 1: 'about' appears twice" },
	{ "stack: [\n", "line 2" },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fail f = { 0 };
		struct stack *s = NULL;

		is_int(stack_parse(folder, "toy", bad[i].text, strlen(bad[i].text), &s, &f), -EINVAL, "refused: %s",
			bad[i].says);
		has_str(f.text, bad[i].says, "and says so");
		has_str(f.text, "toy/stack.yaml'", "and names the file");
		stack_free(s);
	}
}

static void test_many(void)
{
	struct fail f = { 0 };
	struct stack *s = NULL;
	struct buf b;

	buf_init(&b, 1 << 20);
	buf_adds(&b, "stack: toy\n" STEPS "settings:\n");
	for (int i = 0; i <= STACK_SETTINGS; i++)
		buf_addf(&b, "  s%d: {}\n", i);
	is_int(stack_parse(folder, "toy", b.data, b.len, &s, &f), -EINVAL, "too many settings");
	has_str(f.text, "more than 64 settings", "are refused");
	buf_clear(&b);
	buf_adds(&b, "stack: toy\nsteps: [{name: users, needs: [");
	for (int i = 0; i <= STACK_NEEDS; i++)
		buf_adds(&b, "key,");
	buf_adds(&b, "]}, {name: key}]\n");
	is_int(stack_parse(folder, "toy", b.data, b.len, &s, &f), -EINVAL, "too many to wait for");
	has_str(f.text, "waits for more than 12 others", "are refused");
	buf_release(&b);
}

static void is_value(enum stack_type type, const char *text, const char *want, const char *says)
{
	struct stack_setting setting = { .key = (char[]){ "k" }, .type = type, .values = (char[]){ "low|high" } };
	struct fail f = { 0 };
	char *out = NULL;

	if (want) {
		ok(stack_value(&setting, text, &out, &f) == 0, "'%s' is a %s", text, stack_type_name(type));
		is_str(out, want, "and scripts see '%s'", want);
	} else {
		is_int(stack_value(&setting, text, &out, &f), -EINVAL, "'%s' is no %s", text, stack_type_name(type));
		has_str(f.text, says, "and says so");
	}
	free(out);
}

static void test_values(void)
{
	is_value(STACK_FLAG, "true", "yes", NULL);
	is_value(STACK_FLAG, "off", "no", NULL);
	is_value(STACK_FLAG, "", NULL, "neither yes nor no");
	is_value(STACK_NUMBER, "007", "7", NULL);
	is_value(STACK_NUMBER, "-3", "-3", NULL);
	is_value(STACK_NUMBER, "", "", NULL);
	is_value(STACK_NUMBER, "3 MB", NULL, "'3 MB' is not a whole number");
	is_value(STACK_NUMBER, "99999999999999999999", NULL, "is not between");
	is_value(STACK_WORDS, " a,  b c", "a b c", NULL);
	is_value(STACK_WORDS, "a\nb", NULL, "has a control byte (10)");
	is_value(STACK_ENUM, "high", "high", NULL);
	is_value(STACK_ENUM, "hihg", NULL, "did you mean 'high'?");
	is_value(STACK_TEXT, "a\nb; $(x)", "a\nb; $(x)", NULL);
	is_value(STACK_TEXT, "\033[31m", NULL, "has a control byte (27)");
	is_value(STACK_TEXT, "\302\233x", NULL, "has a control byte (155)");
	is_value(STACK_MAP, "x", NULL, "is not a map");
}

static void test_folder(void)
{
	char room[PATH_MAX];
	struct fail f = { 0 };

	setenv("NANOPOD_STACKS", folder, 1);
	ok(stack_folders(room, sizeof room, &f) == 0 && strcmp(room, folder) == 0, "NANOPOD_STACKS names the folder");
	setenv("NANOPOD_STACKS", "/nonexistent/x", 1);
	is_int(stack_folders(room, sizeof room, &f), -ENOENT, "one that is not there");
	has_str(f.text, "cannot read the stacks in '/nonexistent/x', which NANOPOD_STACKS names", "is said");
	setenv("NANOPOD_STACKS", "/nonexistent/x:/tmp", 1);
	is_int(stack_folders(room, sizeof room, &f), -ENOENT, "nor one of several");
	setenv("NANOPOD_STACKS", "/tmp:/", 1);
	ok(stack_folders(room, sizeof room, &f) == 0 && strcmp(room, "/tmp:/") == 0, "several");
	setenv("NANOPOD_STACKS", folder, 1);
	is_int(stack_folders(room, 4, &f), -ENAMETOOLONG, "a path that does not fit");
	ok(stack_word("a-1") && stack_word("A") && !stack_word("") && !stack_word("-a") && !stack_word("a_b") &&
			!stack_word("a b") && !stack_word("a/b") && !stack_word("a.b") && !stack_word("a$"),
		"what is a word");
	ok(!stack_word("a2345678901234567890123456789012345678901234567890"), "fifty letters are none");
}

static void write_at(const char *folder_at, const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof path, "%s/%s", folder_at, name);
	if (strrchr(path, '/') - path > (long)strlen(folder_at)) {
		*strrchr(path, '/') = '\0';
		mkdir(path, 0700);
		snprintf(path, sizeof path, "%s/%s", folder_at, name);
	}
	out = fopen(path, "w");
	ok(out && fputs(text, out) >= 0 && fclose(out) == 0, "(written: %s)", name);
}

/* Stacks of one's own, before those that come with nanopod. */
static void test_own(void)
{
	char own[] = "/tmp/nanopod-stack.XXXXXX", both[2 * PATH_MAX], path[PATH_MAX];
	struct stack *s = NULL;
	struct fail f = { 0 };
	char **names;
	size_t toys = 0, mine = 0;

	ok(mkdtemp(own) != NULL, "(a folder)");
	snprintf(both, sizeof both, "%s:%s", own, folder);
	write_at(own, "mine/stack.yaml", "stack: mine\nsteps: [{name: one, include: [shared.inc]}]\n");
	write_at(own, "mine/one.sh", "want() { shared; }\n");
	write_at(own, "toy/stack.yaml", "stack: toy\nabout: another\nsteps: [{name: one}]\n");
	write_at(own, "toy/one.sh", ":\n");
	if (ok(stack_read(both, "mine", &s, &f) == 0, "one of one's own: %s", f.text)) {
		has_str(stack_step(s, "one")->script, "shared() { :; }\nwant() { shared; }\n",
			"includes what the shipped ones share");
		ok(strncmp(s->dir, own, strlen(own)) == 0, "its folder");
		stack_free(s);
	}
	if (ok(stack_read(both, "toy", &s, &f) == 0, "one of a shipped one's name: %s", f.text)) {
		is_str(s->about, "another", "takes its place");
		stack_free(s);
	}
	names = stack_names(both);
	for (char **n = names; *n; n++) {
		toys += strcmp(*n, "toy") == 0;
		mine += strcmp(*n, "mine") == 0;
		free(*n);
	}
	free(names);
	ok(toys == 1 && mine == 1, "each name once");
	write_at(own, "mine/stack.yaml", "stack: mine\nsteps: [{name: one, inclode: [shared.inc]}]\n");
	is_int(stack_read(both, "mine", &s, &f), -EINVAL, "a broken one");
	ok(strstr(f.text, own) && strstr(f.text, "/mine/stack.yaml': line 2, column 21"), "with its file and line: %s",
		f.text);
	for (const char *const *left = (const char *const[]){ "mine/stack.yaml", "mine/one.sh", "toy/stack.yaml",
		     "toy/one.sh", "mine", "toy", NULL };
		*left; left++) {
		snprintf(path, sizeof path, "%s/%s", own, *left);
		(void)remove(path);
	}
	is_int(rmdir(own), 0, "(gone)");
}

/* Those that are shipped: each by itself, and with what it needs in one cluster. */
static void test_shipped(const char *top)
{
	char shipped[PATH_MAX], text[1024];
	struct cluster *c = NULL;
	struct fail f = { 0 };
	struct stack *s;
	char **names;

	snprintf(shipped, sizeof shipped, "%s/stacks", top);
	names = stack_names(shipped);
	snprintf(text, sizeof text, "cluster: a\nnodes: 'n[1-4]'\nstacks:\n");
	ok(names[0], "there are stacks to look at");
	for (char **n = names; *n; n++) {
		snprintf(text + strlen(text), sizeof text - strlen(text), "  %s:\n", *n);
		if (ok(stack_read(shipped, *n, &s, &f) == 0, "the stack '%s' is read: %s", *n, f.text)) {
			for (size_t i = 0; i < s->setting_count; i++)
				if (!s->settings[i].help)
					ok(false, "its setting '%s' says what it is", s->settings[i].key);
			ok(s->about, "it says what it is");
			stack_free(s);
		}
		free(*n);
	}
	free(names);
	ok(cluster_parse("all.yaml", text, strlen(text), shipped, NULL, NULL, &c, &f) == 0,
		"all of them in one cluster: %s", f.text);
	cluster_free(c);
}

int main(void)
{
	const char *top = getenv("abs_top_srcdir");

	plan_none;
	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	test_whole();
	test_few();
	test_wrong();
	test_many();
	test_values();
	test_folder();
	test_own();
	test_shipped(top ? top : ".");
	return done();
}
