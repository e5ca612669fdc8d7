/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster file that is written is read back as what was said, and as defaults where nothing was. */
#include <errno.h>
#include <limits.h>

#include "base/buf.h"
#include "cli/provision/model/cluster.h"

#include "../../lib/tap.h"

static char folder[PATH_MAX];

static const char *const toy[] = { "toy", NULL }, *const nothing[] = { NULL };

static struct cluster *parse(const struct buf *text)
{
	struct cluster *c = NULL;
	struct fail f = { 0 };

	ok(cluster_parse("c.yaml", buf_text(text), text->len, folder, NULL, NULL, &c, &f) == 0, "it is read: %s",
		f.text);
	return c;
}

static void is_same(const struct cluster *a, const struct cluster *b, const char *what)
{
	bool same = a && b && a->use_count == b->use_count && a->count == b->count && strcmp(a->name, b->name) == 0;

	for (size_t i = 0; same && i < a->use_count; i++) {
		const struct use *u = &a->uses[i], *v = &b->uses[i];

		same = strcmp(u->stack->name, v->stack->name) == 0 && memcmp(u->roles, v->roles, a->count) == 0
			&& u->settings.count == v->settings.count;
		for (size_t k = 0; same && k < u->settings.count; k++)
			same = strcmp(u->settings.at[k].key, v->settings.at[k].key) == 0
				&& strcmp(u->settings.at[k].value, v->settings.at[k].value) == 0;
	}
	ok(same, "%s", what);
}

static void test_defaults(void)
{
	struct cluster *plain = NULL, *commented, *short_one;
	struct fail f = { 0 };
	struct buf b;

	cluster_parse("c.yaml", "cluster: a\nnodes: 'n[1-4]'\nstacks: [toy]\n", 41, folder, NULL, NULL, &plain, &f);
	buf_init(&b, 1 << 20);
	ok(cluster_write("a", "n[1-4]", toy, nothing, nothing, folder, true, &b, &f) == 0, "written with comments: %s",
		f.text);
	has_str(buf_text(&b), "  # toy.head: what the others ask (default: the first node)\n  #toy.head: first\n",
		"roles are explained");
	has_str(buf_text(&b), "    # one of two (low|high)\n    #enum: low\n", "settings are explained");
	has_str(buf_text(&b), "    # the version of thing (text)\n    #version-thing: 'v1.2.3+x'\n",
		"versions are shown");
	commented = parse(&b);
	is_same(plain, commented, "and gives defaults");
	/* What is shown as a comment is what holds: without '#' it is the same. */
	for (char *p = b.data; (p = strchr(p, '#')); p++)
		if (p[1] != ' ')
			memmove(p, p + 1, strlen(p)), b.len--;
	short_one = parse(&b);
	is_same(plain, short_one, "as the comments do when they are none any more");
	cluster_free(short_one);
	buf_clear(&b);
	ok(cluster_write("a", "n[1-4]", toy, NULL, NULL, folder, false, &b, &f) == 0, "written without: %s", f.text);
	is_str(buf_text(&b), "cluster: a\nnodes:\n  hosts: 'n[1-4]'\nroles:\nstacks:\n  toy:\n  base:\n",
		"and there is only what was said");
	short_one = parse(&b);
	is_same(plain, short_one, "which gives defaults");
	cluster_free(plain);
	cluster_free(commented);
	cluster_free(short_one);
	buf_release(&b);
}

static void test_said(void)
{
	static const char *const set[] = { "toy.flag=yes", "toy.text=it's \"a\": # $(x)", "toy.map.gpu.nodes=work",
		"toy.map.cpu.nodes=head", "toy.map.gpu.default=true", "toy.number=1", "toy.number=2", "toy.words=a,b",
		"base.hosts=no", "toy.file=", NULL };
	static const char *const roles[] = { "head=n2", "toy.work=n[3-4]", "head=n1", NULL };
	struct fail f = { 0 };
	struct buf b;
	struct cluster *c;
	const struct pairs *p;

	for (int comments = 0; comments < 2; comments++) {
		buf_init(&b, 1 << 20);
		ok(cluster_write("a", "n[1-4]", toy, set, roles, folder, comments, &b, &f) == 0,
			"what was said is written: %s", f.text);
		c = parse(&b);
		buf_release(&b);
		if (!c)
			continue;
		p = &cluster_use(c, "toy")->settings;
		is_str(pairs_get(p, "flag"), "yes", "a flag");
		is_str(pairs_get(p, "text"), "it's \"a\": # $(x)", "a text with all that YAML has");
		is_str(pairs_get(p, "map"), "gpu cpu", "a map");
		is_str(pairs_get(p, "map_gpu"), "nodes default", "those of one name together");
		is_str(pairs_get(p, "map_cpu_nodes"), "head", "each with its own");
		is_str(pairs_get(p, "number"), "2", "the last of a setting counts");
		is_str(pairs_get(p, "words"), "a b", "words");
		is_str(pairs_get(&cluster_use(c, "base")->settings, "hosts"), "no", "base's settings");
		ok(cluster_has_role(cluster_use(c, "toy"), 0, "head") &&
				!cluster_has_role(cluster_use(c, "toy"), 1, "head"),
			"the last of a role");
		ok(!cluster_has_role(cluster_use(c, "toy"), 1, "work") &&
				cluster_has_role(cluster_use(c, "toy"), 3, "work"),
			"a stack's own role");
		cluster_free(c);
	}
}

/* Any text comes back as it was. */
static void test_texts(void)
{
	static const char *const texts[] = { "", " ", "~", "null", "-", "- a", "a: b", "#", "'", "''", "\"", "\\",
		"a\nb", "\n", "\ta\t", "{a}", "[", "&x", "*x", "!t", "%", "@", "`", "|", ">", "yes", "1e3", "a #b",
		"ä€😀", "a\\nb\n\"'", ".", "..", "...", "---", "? x", "a:", ":a" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		char said[128];
		const char *const set[] = { said, NULL };
		struct fail f = { 0 };
		struct buf b;
		struct cluster *c = NULL;

		snprintf(said, sizeof said, "toy.text=%s", texts[i]);
		buf_init(&b, 1 << 20);
		if (!ok(cluster_write("a", "n1", toy, set, NULL, folder, i % 2, &b, &f) == 0 &&
				    cluster_parse("c.yaml", buf_text(&b), b.len, folder, NULL, NULL, &c, &f) == 0,
			    "text %zu comes back: %s", i, f.text))
			diag("%s", buf_text(&b));
		if (c)
			is_str(pairs_get(&cluster_use(c, "toy")->settings, "text"), texts[i], "as it was");
		cluster_free(c);
		buf_release(&b);
	}
}

static void refused(const char *name, const char *nodes, const char *const *stacks, const char *set, const char *role,
	const char *says)
{
	const char *const sets[] = { set, NULL }, *const roles[] = { role, NULL };
	struct fail f = { 0 };
	struct buf b;

	buf_init(&b, 1 << 20);
	buf_adds(&b, "x");
	is_int(cluster_write(name, nodes, stacks, sets, roles, folder, true, &b, &f), -EINVAL, "refused: %s", says);
	has_str(f.text, says, "and says so");
	is_str(buf_text(&b), "x", "and nothing is written");
	buf_release(&b);
}

static void test_wrong(void)
{
	refused("a b", "n1", toy, NULL, NULL, "'a b' cannot be the name of a cluster");
	refused("a", "", toy, NULL, NULL, "names no nodes");
	refused("a", "n1\n", toy, NULL, NULL, "names no nodes");
	refused("a", "n1", (const char *const[]){ "tyo", NULL }, NULL, NULL, "no stack 'tyo'; did you mean 'toy'?");
	refused("a", "n1", nothing, NULL, NULL, "a stack is required");
	refused("a", "n1", (const char *const[]){ "toy", "toy", NULL }, NULL, NULL, "the stack 'toy' is named twice");
	refused("a", "n1", toy, "toy.flag", NULL, "'toy.flag' sets nothing: expected STACK.SETTING=VALUE");
	refused("a", "n1", toy, "toy=1", NULL, "'toy=1' sets nothing: expected STACK.SETTING=VALUE");
	refused("a", "n1", toy, "toi.flag=1", NULL, "cannot set 'toi': no such stack here; did you mean 'toy'?");
	refused("a", "n1", toy, "toy.falg=1", NULL, "'toy' has no setting 'falg'; did you mean 'flag'?");
	refused("a", "n1", toy, "toy.flag=maybe", NULL, "cannot set 'toy.flag': 'maybe' is neither yes nor no");
	refused("a", "n1", toy, "toy.map=x", NULL, "cannot set 'toy.map': it is a map, expected 'toy.map.NAME=VALUE'");
	refused("a", "n1", toy, "toy.text.x=y", NULL, "cannot set 'toy.text.x': 'text' is not a map");
	refused("a", "n1", toy, "toy.text=\033", NULL, "has a control byte (27)");
	refused("a", "n1", toy, "toy.map.a.b.c.d.e.f.g.h.i=x", NULL, "sets nothing");
	refused("a", "n1", toy, NULL, "head", "'head' names no role");
	refused("a", "n1", toy, NULL, "he ad=n1", "'he ad=n1' names no role");
	refused("a", "n1", toy, NULL, "toy.haed=n1", "none of these stacks has a role 'toy.haed'");
}

static void test_from(void)
{
	struct fail f = { 0 };
	struct buf b;

	buf_init(&b, 1 << 20);
	cluster_write("a", "reservation/r-7f3", toy, NULL, NULL, folder, false, &b, &f);
	has_str(buf_text(&b), "nodes:\n  from: reservation/r-7f3\n", "a reservation");
	buf_clear(&b);
	ok(cluster_write("a", "n1", (const char *const[]){ "addon", NULL },
		   (const char *const[]){ "toy.flag=yes", NULL }, NULL, folder, false, &b, &f) == 0,
		"a setting of what is needed: %s", f.text);
	has_str(buf_text(&b), "stacks:\n  addon:\n  toy:\n    flag: yes\n  base:\n", "which is written too");
	buf_clear(&b);
	cluster_write("a", "@web,n1", toy, NULL, NULL, folder, false, &b, &f);
	has_str(buf_text(&b), "nodes:\n  hosts: '@web,n1'\n", "a group");
	buf_release(&b);
}

int main(void)
{
	const char *top = getenv("abs_top_srcdir");

	plan_none;
	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	test_defaults();
	test_said();
	test_texts();
	test_wrong();
	test_from();
	return done();
}
