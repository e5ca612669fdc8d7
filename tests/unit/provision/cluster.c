/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster file: who has which role, every setting, and what is said where it is wrong. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/provision/model/cluster.h"

#include "../../lib/tap.h"

static char folder[PATH_MAX];

/* As the program does it: "@r-7f3" is a reservation of four, everything else is as it is written. */
static int expand(void *arg, const char *text, struct pssh_list *into, struct fail *f)
{
	(void)arg;
	if (strcmp(text, "@r-7f3") == 0)
		text = "m[1-4]";
	if (pssh_list_add(into, text))
		return fail_set(f, -EINVAL, "%s", pssh_list_error(into));
	return 0;
}

static struct cluster *parse(const char *text)
{
	struct cluster *c = NULL;
	struct fail f = { 0 };

	ok(cluster_parse("some/train.yaml", text, strlen(text), folder, expand, NULL, &c, &f) == 0, "read: %s", f.text);
	return c;
}

/* "n1,n3" */
static void has_role(struct cluster *c, const char *stack, const char *role, const char *want)
{
	struct use *u = cluster_use(c, stack);
	char got[256] = "";

	for (size_t i = 0; u && i < c->count; i++)
		if (cluster_has_role(u, i, role))
			snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", *got ? "," : "", c->members[i]);
	is_str(got, want, "%s.%s is %s", stack, role, *want ? want : "nobody");
}

static void test_whole(void)
{
	struct cluster *c = parse(
		"cluster: train\nnodes: {hosts: 'n[1-4]'}\nroles: {head: n2, work: 'n[3-4]'}\nstacks:\n"
		"  addon: {}\n  toy:\n    flag: on\n    number: 0012\n    words: [x, y]\n    enum: high\n    file: "
		"bundle\n"
		"    text: \"a; $(x) 'q'\"\n    map: {gpu: {nodes: work, default: true}, gpu-b: {nodes: [n1, n2]}}\n");
	const struct pairs *p;
	struct buf first;

	if (!c)
		return;
	is_str(c->name, "train", "its name");
	is_str(c->from, "n[1-4]", "where its nodes come from");
	is_int(c->count, 4, "its nodes");
	is_int(c->use_count, 3, "its stacks, and base");
	is_str(c->uses[0].stack->name, "base", "base comes first");
	is_str(c->uses[1].stack->name, "toy", "then what is needed");
	is_str(c->uses[2].stack->name, "addon", "then what needs it");
	has_role(c, "toy", "head", "n2");
	has_role(c, "toy", "work", "n3,n4");
	has_role(c, "toy", "spare", "");
	has_role(c, "base", "nodes", "n1,n2,n3,n4");
	is_int(cluster_use(c, "toy")->roles[0], 0, "n1 is no part of 'toy'");
	ok(!cluster_has_role(cluster_use(c, "toy"), 1, "nothing"), "no such role");
	buf_init(&first, 4096);
	is_int(cluster_first(c, cluster_use(c, "toy"), &first), 0, "what people type first");
	is_str(buf_text(&first), "nanopod ssh n2 toy --of=train", "with its names");
	is_int(cluster_first(c, cluster_use(c, "base"), &first), -ENOENT, "nothing, of one that does not say it");
	buf_release(&first);
	p = &cluster_use(c, "toy")->settings;
	is_str(pairs_get(p, "flag"), "yes", "a flag");
	is_str(pairs_get(p, "number"), "12", "a number");
	is_str(pairs_get(p, "words"), "x y", "words");
	is_str(pairs_get(p, "enum"), "high", "an enum");
	is_str(pairs_get(p, "file"), "some/bundle", "a file is beside the cluster file");
	is_str(pairs_get(p, "text"), "a; $(x) 'q'", "a text is as it is");
	is_str(pairs_get(p, "disk-mb"), "2048", "a default");
	is_str(pairs_get(p, "version-thing"), "v1.2.3+x", "a version");
	is_str(pairs_get(p, "map"), "gpu gpu-b", "the names of a map");
	is_str(pairs_get(p, "map_gpu"), "nodes default", "those below");
	is_str(pairs_get(p, "map_gpu_nodes"), "work", "a value of a map");
	is_str(pairs_get(p, "map_gpu_default"), "true", "as it was written");
	is_str(pairs_get(p, "map_gpu_b_nodes"), "n1 n2", "a list of a map, its name as a variable's");
	cluster_free(c);
}

static void test_roles(void)
{
	struct cluster *c = parse("cluster: a\nnodes: {from: reservation/r-7f3}\nstacks: [toy]\n");

	if (c) {
		is_str(c->from, "reservation r-7f3", "a reservation's nodes");
		has_role(c, "toy", "head", "m1");
		has_role(c, "toy", "work", "m2,m3,m4");
	}
	cluster_free(c);
	c = parse("cluster: a\nnodes: n1\nstacks: [addon]\n");
	if (c) {
		is_int(c->use_count, 3, "what a stack needs is there by itself");
		is_str(c->uses[1].stack->name, "toy", "before it");
	}
	cluster_free(c);
	c = parse("cluster: a\nnodes: one\nroles:\nstacks: {toy: }\n");
	if (c) {
		has_role(c, "toy", "head", "one");
		has_role(c, "toy", "work", "one");
	}
	cluster_free(c);
	c = parse("cluster: a\nnodes: [n1, 'n[2-3]']\nroles: {work: all, toy.head: n3, spare: none}\nstacks: {toy: "
		  "{}}\n");
	if (c) {
		is_str(c->from, "n1,n[2-3]", "a list of hosts");
		has_role(c, "toy", "head", "n3");
		has_role(c, "toy", "work", "n1,n2,n3");
	}
	cluster_free(c);
	c = parse("cluster: a\nnodes: 'root@n[1-4]:2222'\nroles: {head: n2, spare: ['root@n3:2222', n1]}\nstacks: "
		  "{toy: {}}\n");
	if (c) {
		has_role(c, "toy", "head", "root@n2:2222");
		has_role(c, "toy", "spare", "root@n1:2222,root@n3:2222");
		has_role(c, "toy", "work", "root@n4:2222");
	}
	cluster_free(c);
}

#define TOP "cluster: a\nnodes: 'n[1-3]'\n"

static const struct {
	const char *text, *says;
} bad[] = {
	{ "", "'cluster' is missing" },
	{ "cluster: a\n", "'nodes' is missing: expected 'nodes: {from: reservation/ID}'" },
	{ TOP, "'stacks' is missing" },
	{ TOP "stacks: {}\n", "'stacks' is missing" },
	{ TOP "stack: {toy: }\n", "line 3, column 1: unknown setting 'stack'; did you mean 'stacks'?" },
	{ TOP "stacks: {tyo: }\n", "line 3, column 10: no stack 'tyo'; did you mean 'toy'?" },
	{ TOP "stacks: [toy, toy]\n", "'toy' is there twice" },
	{ TOP "stacks: {toy: }\nstacks: {toy: }\n", "line 4, column 1: 'stacks' appears twice" },
	{ TOP "stacks: {toy: {txet: x}}\n", "line 3, column 16: 'toy' has no setting 'txet'; did you mean 'text'?" },
	{ TOP "stacks: {toy: {version-thin: x}}\n", "did you mean 'version-thing'?" },
	{ TOP "stacks: {toy: {zzzzzz: x}}\n",
		"'toy' has no setting 'zzzzzz'; 'nanopod provision stacks toy' lists them" },
	{ TOP "stacks:\n  toy:\n    number: many\n", "line 5, column 5: 'many' is not a whole number" },
	{ TOP "stacks: {toy: {flag: maybe}}\n", "'maybe' is neither yes nor no" },
	{ TOP "stacks: {toy: {enum: lwo}}\n", "'lwo' is not one of low|high; did you mean 'low'?" },
	{ TOP "stacks: {toy: {map: x}}\n", "expected 'name: value' lines, not a text" },
	{ TOP "stacks: {toy: {text: {a: b}}}\n", "expected a text, not 'name: value' lines" },
	{ TOP "stacks: {toy: {text: [a]}}\n", "expected a text, not a list" },
	{ TOP "stacks: {toy: {words: [a b]}}\n", "'a b' is not a single word" },
	{ TOP "stacks: {toy: {text: \"\\e[0m\"}}\n", "has a control byte (27)" },
	{ TOP "stacks: {toy: {map: {'a;b': x}}}\n", "'a;b' cannot be a name here" },
	{ TOP "stacks: {toy: {map: {'$(x)': x}}}\n", "cannot be a name here" },
	{ TOP "stacks: {toy: {map: {'*': x}}}\n", "cannot be a name here" },
	{ TOP "stacks: {toy: {map: {a-b: x, a_b: y}}}\n",
		"'a_b' cannot be told from another name: both are 'S_map_a_b' to scripts" },
	{ TOP "stacks: {toy: {map: {a: {b_c: 1}, a_b: {c: 1}}}}\n", "both are 'S_map_a_b_c' to scripts" },
	{ TOP "stacks: {toy: {map: {a: [{b: c}]}}}\n", "expected a text, not 'name: value' lines" },
	{ TOP "stacks: {toy: {map: {a: {b: {c: {d: {e: {f: {g: {h: {i: {j: {k: {l: {m: {n: {o: p}}}}}}}}}}}}}}}}}\n",
		"levels deep" },
	{ TOP "stacks: {toy: {map: &x {a: b}}}\n", "anchors are not supported" },
	{ TOP "roles: {hed: n1}\nstacks: {toy: }\n",
		"line 3, column 9: no stack of this file has a role 'hed'; did you mean 'head'?" },
	{ TOP "roles: {toy.hed: n1}\nstacks: {toy: }\n", "did you mean 'toy.head'?" },
	{ TOP "roles: {head: n4}\nstacks: {toy: }\n",
		"line 3, column 9: 'n4' is not one of the nodes; did you mean 'n1'?" },
	{ TOP "roles: {head: 'n[1-2]'}\nstacks: {toy: }\n",
		"the role 'head' of 'toy' can have at most 1 node and has 2" },
	{ TOP "roles: {head: none}\nstacks: {toy: }\n",
		"the role 'head' of 'toy' needs at least 1 node and has 0: name it in 'roles'" },
	{ TOP "roles: {work: 'x[1-5000]'}\nstacks: {toy: }\n",
		"line 3, column 9: 5000 nodes; a cluster has at most 4096" },
	{ TOP "roles: {head: {a: b}}\nstacks: {toy: }\n", "expected a text, not 'name: value' lines" },
	{ TOP "roles: {head: 'n[1'}\nstacks: {toy: }\n", "line 3, column 9" },
	{ "cluster: a/b\nnodes: n1\nstacks: {toy: }\n", "'a/b' cannot be the name of a cluster" },
	{ "cluster: -rf\nnodes: n1\nstacks: {toy: }\n", "'-rf' cannot be the name of a cluster" },
	{ "cluster: [a]\nnodes: n1\nstacks: {toy: }\n", "line 1, column 1: expected a text, not a list" },
	{ "cluster: a\nnodes: []\nstacks: {toy: }\n", "no nodes: expected" },
	{ "cluster: a\nnodes: {from: reservation/x, hosts: n1}\nstacks: {toy: }\n",
		"expected either 'from' or 'hosts'" },
	{ "cluster: a\nnodes: {form: reservation/x}\nstacks: {toy: }\n",
		"unknown setting 'form'; did you mean 'from'?" },
	{ "cluster: a\nnodes: {from: 'n[1-4]'}\nstacks: {toy: }\n",
		"expected reservation/ID, pool/NAME or group/NAME; name hosts under 'hosts'" },
	{ "cluster: a\nnodes: 'x[1-5000]'\nstacks: {toy: }\n", "5000 nodes; a cluster has at most 4096" },
	{ "cluster: a\nnodes: 'n1;reboot'\nstacks: {toy: }\n", "'n1;reboot'" },
	{ "cluster: a\nnodes: '$(reboot)'\nstacks: {toy: }\n", "reboot" },
	{ "cluster: a\nnodes: '../x'\nstacks: {toy: }\n", "../x" },
	{ "cluster: a\nnodes: 'root@n[1-2],bob@n2'\nroles: {head: n2}\nstacks: {toy: }\n",
		"'n2' is the host of two nodes" },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct fail f = { 0 };
		struct cluster *c = NULL;

		is_int(cluster_parse("c.yaml", bad[i].text, strlen(bad[i].text), folder, expand, NULL, &c, &f), -EINVAL,
			"refused: %s", bad[i].says);
		has_str(f.text, bad[i].says, "and says so");
		has_str(f.text, "'c.yaml'", "and names the file");
		cluster_free(c);
	}
}

/* A stack of one step that needs another. */
static void make_stack(const char *top, const char *name, const char *rest)
{
	char path[PATH_MAX];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", top, name);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/%s/stack.yaml", top, name);
	file = fopen(path, "w");
	if (!file)
		abort();
	fprintf(file, "stack: %s\nsteps: [{name: x}]\n%s", name, rest);
	fclose(file);
	snprintf(path, sizeof path, "%s/%s/x.sh", top, name);
	file = fopen(path, "w");
	if (!file)
		abort();
	fclose(file);
}

static void test_ring(void)
{
	static const char *const names[] = { "base", "one", "two", "three", "lone" };
	char top[] = "/tmp/provision-XXXXXX", path[PATH_MAX];
	struct cluster *c = NULL;
	struct fail f = { 0 };

	if (!mkdtemp(top))
		abort();
	make_stack(top, "base", "");
	make_stack(top, "one", "needs: [two]\n");
	make_stack(top, "two", "needs: [three]\n");
	make_stack(top, "three", "after: [one]\n");
	make_stack(top, "lone", "needs: [nobody]\n");
	is_int(cluster_parse("c.yaml", TOP "stacks: [one]\n", strlen(TOP "stacks: [one]\n"), top, NULL, NULL, &c, &f),
		-EINVAL, "a ring of stacks");
	is_str(f.text, "cannot read 'c.yaml': the stacks 'one', 'two', 'three' wait for each other in a circle",
		"is refused, and named");
	ok(cluster_parse("c.yaml", TOP "stacks: [three]\n", strlen(TOP "stacks: [three]\n"), top, NULL, NULL, &c, &f) ==
				0 &&
			c->use_count == 2,
		"what would only come first need not be there");
	cluster_free(c);
	is_int(cluster_parse("c.yaml", TOP "stacks: [lone]\n", strlen(TOP "stacks: [lone]\n"), top, NULL, NULL, &c, &f),
		-EINVAL, "a need of nothing");
	has_str(f.text, "no stack 'nobody'", "is refused");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s/stack.yaml", top, names[i]);
		unlink(path);
		snprintf(path, sizeof path, "%s/%s/x.sh", top, names[i]);
		unlink(path);
		snprintf(path, sizeof path, "%s/%s", top, names[i]);
		rmdir(path);
	}
	rmdir(top);
}

static void test_large(void)
{
	struct cluster *c = NULL;
	struct fail f = { 0 };
	struct buf b;

	c = parse("cluster: a\nnodes: 'x[1-4096]'\nroles: {head: x4096}\nstacks: {toy: }\n");
	if (c) {
		has_role(c, "toy", "head", "x4096");
		ok(cluster_has_role(cluster_use(c, "toy"), 0, "work") &&
				!cluster_has_role(cluster_use(c, "toy"), 4095, "work"),
			"4096 nodes");
	}
	cluster_free(c);
	buf_init(&b, 2 << 20);
	buf_adds(&b, TOP "stacks:\n  toy:\n    map:\n");
	for (int i = 0; i < 3000; i++)
		buf_addf(&b, "      k%d: v\n", i);
	is_int(cluster_parse("c.yaml", b.data, b.len, folder, expand, NULL, &c, &f), -EINVAL, "a map of 3000");
	has_str(f.text, "more than 2000 values of one stack", "is refused");
	buf_clear(&b);
	buf_adds(&b, TOP "stacks:\n  toy:\n    text: '");
	for (int i = 0; i < 7000; i++)
		buf_adds(&b, "0123456789");
	buf_adds(&b, "'\n");
	is_int(cluster_parse("c.yaml", b.data, b.len, folder, expand, NULL, &c, &f), -EINVAL, "a text of 70000");
	has_str(f.text, "'text' is longer than 65536 bytes", "is refused");
	while (b.len < (1 << 20))
		buf_adds(&b, "# 0123456789\n");
	is_int(cluster_parse("c.yaml", b.data, b.len, folder, expand, NULL, &c, &f), -EINVAL,
		"a file of more than a megabyte");
	has_str(f.text, "larger than", "is refused");
	buf_release(&b);
}

static void test_files(void)
{
	struct cluster *c = NULL;
	struct fail f = { 0 };
	char path[PATH_MAX + 32], text[PATH_MAX + 128];

	is_int(cluster_read("/nonexistent/c.yaml", folder, expand, NULL, &c, &f), -ENOENT, "a file that is not there");
	is_str(f.text, "cannot read '/nonexistent/c.yaml': No such file or directory", "is said");
	c = parse(TOP "stacks: {toy: {file: /nonexistent/bundle}}\n");
	if (c) {
		is_int(cluster_check_files(c, &f), -ENOENT, "what a setting names is looked for when it is asked");
		is_str(f.text, "cannot read '/nonexistent/bundle', which is 'toy.file': No such file or directory",
			"and said");
	}
	cluster_free(c);
	snprintf(text, sizeof text, TOP "stacks: {toy: {file: toy/stack.yaml}, base: {airgap: 'https://mirror/x'}}\n");
	snprintf(path, sizeof path, "%s/c.yaml", folder);
	c = NULL;
	ok(cluster_parse(path, text, strlen(text), folder, NULL, NULL, &c, &f) == 0,
		"names expand by themselves where nobody else does it");
	if (c) {
		is_int(cluster_check_files(c, &f), 0, "a file that is there, and an address: %s", f.text);
		is_str(pairs_get(&cluster_use(c, "base")->settings, "airgap"), "https://mirror/x", "which is no path");
	}
	cluster_free(c);
	setenv("HOME", "/home/ann", 1);
	c = parse(TOP "stacks: {toy: {file: ~/x}}\n");
	if (c)
		is_str(pairs_get(&cluster_use(c, "toy")->settings, "file"), "/home/ann/x", "a home");
	cluster_free(c);
}

#define SCALED \
	"cluster: lab\nnodes: 'n1'\nstacks: {slurm: {}}\nautoscale: {type: h100, max: 8, max-price: 2.10, budget: 200"

static const struct {
	const char *rest, *says;
} scaled_wrong[] = {
	{ ", min: 9}\n", "'autoscale.min' is larger than 'max'" },
	{ ", ahead: 90s}\n", "'autoscale.ahead' has to be whole minutes" },
	{ ", idel: 5m}\n", "did you mean 'idle'" },
	{ ", idle: soon}\n", "'soon'" },
};

static void test_autoscale(void)
{
	const char *top = getenv("abs_top_srcdir");
	char kept[PATH_MAX];
	struct cluster *c;

	memcpy(kept, folder, sizeof kept);
	snprintf(folder, sizeof folder, "%s/stacks", top ? top : ".");
	c = parse(SCALED ", idle: 5m}\n");
	ok(c && c->autoscale.on && c->autoscale.max == 8 && c->autoscale.min == 0, "autoscale is read");
	ok(c && c->autoscale.idle_ms == 300000 && c->autoscale.ahead_ms == 3600000, "with times, and what is usual");
	is_str(c ? c->autoscale.price : "", "2.10", "and the price as it is typed");
	ok(c && cluster_has_role(cluster_use(c, "slurm"), 0, "controller") &&
			!cluster_has_role(cluster_use(c, "slurm"), 0, "workers"),
		"a single node is the controller alone: workers are bought");
	cluster_free(c);
	c = parse("cluster: lab\nnodes: 'n1'\nstacks: {slurm: {}}\n");
	ok(c && !c->autoscale.on && cluster_has_role(cluster_use(c, "slurm"), 0, "workers"), "without it it is both");
	cluster_free(c);
	for (size_t i = 0; i < sizeof scaled_wrong / sizeof *scaled_wrong; i++) {
		struct fail f = { 0 };
		char text[400];

		snprintf(text, sizeof text, SCALED "%s", scaled_wrong[i].rest);
		c = NULL;
		ok(cluster_parse("lab.yaml", text, strlen(text), folder, expand, NULL, &c, &f) != 0, "refused");
		has_str(f.text, scaled_wrong[i].says, "and why");
		cluster_free(c);
	}
	memcpy(folder, kept, sizeof folder);
}

int main(void)
{
	const char *top = getenv("abs_top_srcdir");

	plan_none;
	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	test_whole();
	test_roles();
	test_wrong();
	test_ring();
	test_large();
	test_files();
	test_autoscale();
	return done();
}
