/* SPDX-License-Identifier: Apache-2.0 */
/* Notes as people and programs see them: a plan over like nodes, failures with their last lines, live rows that fit. */
#include "../../lib/tap.h"

#include <unistd.h>

#include "cli/provision/model/clusteredit.h"
#include "cli/provision/report/display.h"
#include "cli/provision/report/liverows.h"

static char names[4][4] = { "n1", "n2", "n3", "n4" };
static char *members[] = { names[0], names[1], names[2], names[3] };
static char cluster_name[] = "train";
static struct cluster c = { .name = cluster_name, .members = members, .count = 4 };
static struct nanopod np = { .format = FORMAT_TABLE };
static char *said;
static size_t said_len;

static struct display *begin(enum format format)
{
	np.format = format;
	np.err = np.out = open_memstream(&said, &said_len);
	return display_new(&np, &c, np.err);
}

static const char *end(struct display *d)
{
	display_free(d);
	fclose(np.err);
	return said;
}

static void note(struct display *d, enum note_kind kind, const char *node, const char *step, const char *text,
	const char *diff)
{
	display_note(d,
		&(struct note){ .kind = kind,
			.node = node,
			.stack = "slurm",
			.step = step,
			.text = text,
			.diff = diff });
}

static void plan_of(struct display *d)
{
	note(d, NOTE_DIFFERS, "n1", "conf", "write slurm.conf", "-a\n+b\n");
	for (int i = 1; i < 3; i++) {
		note(d, NOTE_DIFFERS, members[i], "packages", "install slurmd", NULL);
		note(d, NOTE_DIFFERS, members[i], "packages", "and more", NULL);
		note(d, NOTE_DIFFERS, members[i], "conf", "write slurm.conf", i == 1 ? "+x\n" : "+y\n");
	}
}

static void test_plan(void)
{
	struct display *d = begin(FORMAT_TABLE);

	plan_of(d);
	display_plan(d, false, np.err);
	is_str(end(d),
		"n1\n  slurm/conf  write slurm.conf\nn[2-3]\n  slurm/packages  install slurmd\n                  and "
		"more\n  slurm/conf      write slurm.conf\n"
		"7 changes to make on 3 of 4 nodes of 'train'\n",
		"nodes with the same changes are shown once");
	free(said);
	d = begin(FORMAT_TABLE);
	plan_of(d);
	display_plan(d, true, np.err);
	ok(strstr(end(d), "n2\n") && strstr(said, "n3\n") && strstr(said, "      +x\n"),
		"with diffs those that differ are told apart");
	free(said);
}

static void test_hostile(void)
{
	struct display *d = begin(FORMAT_TABLE);

	note(d, NOTE_SAID, "n1", "conf", "a\033[2Jb\nc", NULL);
	end(d);
	ok(!strchr(said, '\033') && strchr(said, '\n') == said + said_len - 1,
		"what a node says drives no terminal: %s", said);
	free(said);
}

static void test_failure(void)
{
	char log[] = "/tmp/nanopod-display.XXXXXX";
	struct display *d = begin(FORMAT_TABLE);
	int fd = mkstemp(log);

	for (int i = 1; i <= 20; i++)
		dprintf(fd, "line %d\n", i);
	close(fd);
	for (int i = 0; i < 2; i++)
		display_note(d,
			&(struct note){ .kind = NOTE_END,
				.node = members[i],
				.stack = "slurm",
				.step = "packages",
				.text = "no package 'x'",
				.hint = "apt-get update",
				.log = log });
	note(d, NOTE_END, "n3", "packages", "another", NULL);
	display_end(d, STATUS_PARTLY);
	end(d);
	ok(strstr(said, "slurm/packages failed on n[1-2]\n") != NULL, "the same failure is told once");
	ok(strstr(said, "| line 20\n") && strstr(said, "| line 13\n") && !strstr(said, "| line 12\n"),
		"with the last lines of its log");
	ok(strstr(said, "cause  no package 'x'\n  next   apt-get update\n") != NULL, "the cause, and what to type");
	ok(strstr(said, "slurm/packages failed on n3\n") != NULL, "and another one by itself") || (diag("%s", said), 0);
	unlink(log);
	free(said);
}

static void test_json(void)
{
	struct display *d = begin(FORMAT_JSON);

	plan_of(d);
	display_plan(d, false, np.err);
	display_end(d, STATUS_OK);
	ok(strstr(end(d), "{\"cluster\":\"train\",\"result\":\"ok\",\"status\":0,") == said &&
			strstr(said, "\"diff\":\"-a\\n+b\\n\"") && strchr(said, '\n') == said + said_len - 1,
		"one object");
	free(said);
	d = begin(FORMAT_JSONL);
	plan_of(d);
	display_note(d, &(struct note){ .kind = NOTE_TICK });
	display_end(d, STATUS_OK);
	end(d);
	ok(strstr(said, "{\"seq\":1,\"time\":\"") == said && strstr(said, "{\"seq\":7,") && !strstr(said, "tick"),
		"a line a note");
	free(said);
}

static void test_rows(void)
{
	struct nanopod quiet = { .err = stderr };
	struct liverows *l = liverows_new(&quiet);
	char line[512];

	liverows_begin(l, "n1", "slurm", "packages");
	liverows_begin(l, "n22", "slurm", "conf");
	liverows_say(l, "n1", "installed slurmd, which has a long description");
	liverows_phase(l, "applying");
	liverows_text(l, 0, 0, 40, line, sizeof line);
	ok(strlen(line) == 39 && strstr(line, "n1 ") && strstr(line, "slurm/packages"), "a row fits the terminal: %s",
		line);
	liverows_text(l, 2, 0, 200, line, sizeof line);
	ok(strstr(line, "applying: 2 running") != NULL, "the last one counts: %s", line);
	liverows_end(l, "n1");
	liverows_text(l, 0, 0, 80, line, sizeof line);
	ok(strstr(line, "n22") != NULL, "who is done leaves");
	liverows_free(l);
}

static const char *edit(const char *from, const char *dotted, const char *value)
{
	static struct buf text;
	struct fail why = { 0 };

	if (!text.max)
		buf_init(&text, 65536);
	buf_clear(&text);
	if (buf_adds(&text, from))
		return "";
	if (clusteredit_set_dotted("f", &text, "stacks", dotted, value, &why))
		return why.text[0] ? "refused" : "";
	return buf_text(&text);
}

/* Those of ada become "k 1" and "k2". */
static const char *edit_keys(const char *from)
{
	static const char *const keys[] = { "users", "ada", "keys", NULL }, *const words[] = { "k 1", "k2" };
	static struct buf text;
	struct fail why = { 0 };

	buf_release(&text);
	buf_init(&text, 65536);
	if (buf_adds(&text, from) || clusteredit_set_list("f", &text, keys, words, 2, &why))
		return "refused";
	return buf_text(&text);
}

static const char *more(const char *from, const char *stack)
{
	static struct buf text;
	struct fail why = { 0 };

	buf_release(&text);
	buf_init(&text, 65536);
	if (buf_adds(&text, from))
		return "";
	if (clusteredit_stack("f", &text, stack, &why))
		return why.text[0] ? "refused" : "";
	return buf_text(&text);
}

static void test_more(void)
{
	is_str(more("stacks:\n  slurm:   # why\n    accounting: no\n    # an end\nroles: {x: n1}\n", "ray"),
		"stacks:\n  slurm:   # why\n    accounting: no\n  ray: {}\n    # an end\nroles: {x: n1}\n",
		"one more stack: what stands there stays");
	is_str(more("stacks:\n    slurm: {}", "ray"), "stacks:\n    slurm: {}\n    ray: {}\n",
		"in a last line without an end");
	is_str(more("stacks: {slurm: {a: b}}\nroles: {}\n", "ray"),
		"stacks:\n  slurm:\n    a: b\n  ray: {}\nroles: {}\n", "where they stand in {}");
	is_str(more("cluster: a\n", "ray"), "cluster: a\nstacks:\n  ray: {}\n", "where there is none");
	is_str(more("stacks: {}\n", "ray"), "stacks:\n  ray: {}\n", "nor one in {}");
	is_str(more("stacks: {ray: {a: b}}\n", "ray"), "stacks: {ray: {a: b}}\n", "one that is there");
	is_str(more("{stacks: {a: {}}}\n", "ray"), "refused", "a file that is all {}");
}

static void test_edit(void)
{
	static const char file[] = "cluster: a # mine\nnodes: {from: reservation/r}\nstacks:\n  # why\n  slurm: "
				   "{accounting: yes, partitions: {gpu: {nodes: w}}}\n"
				   "roles: {x: n1}\n";
	struct buf text;

	is_str(edit("stacks:\n  slurm:\n    # why\n    accounting: no\n", "slurm.accounting", "yes"),
		"stacks:\n  slurm:\n    # why\n    accounting: yes\n", "a setting in its own line");
	is_str(edit(file, "slurm.partitions.gpu.nodes", "v[1-2]"),
		"cluster: a # mine\nnodes: {from: reservation/r}\nstacks:\n  slurm:\n"
		"    accounting: yes\n    partitions:\n      gpu:\n        nodes: 'v[1-2]'\nroles: {x: n1}\n",
		"one in {}: its key is written anew");
	is_str(edit("stacks: {}\n", "base.airgap", "/a b"), "stacks:\n  base:\n    airgap: '/a b'\n",
		"one that is not there");
	is_str(edit("a: b\n", "base.airgap", "x"), "a: b\nstacks:\n  base:\n    airgap: x\n", "nor its stacks");
	is_str(edit(file, "slurm", "x"), "refused", "no setting");
	is_str(edit_keys("users:\n  ada: # she\n    keys: [a]\n    sudo: yes\n"),
		"users:\n  ada: # she\n    keys: ['k 1', k2]\n    sudo: yes\n", "a list in its own lines");
	is_str(edit_keys("users: {ada: {keys: [a, b, c], sudo: yes}}\n"),
		"users:\n  ada:\n    keys: ['k 1', k2]\n    sudo: yes\n", "one in {}");
	is_str(edit_keys("a: b\n"), "a: b\nusers:\n  ada:\n    keys: ['k 1', k2]\n", "one that is not there");
	is_str(edit("{stacks: {a: {b: c}}}\n", "a.b", "d"), "refused", "a file that is all {}");
	buf_init(&text, 65536);
	ok(buf_adds(&text, file) == 0 && clusteredit_nodes("f", &text, "n[1-3]", NULL) == 0 &&
		strstr(buf_text(&text), "# mine\nnodes: {hosts: 'n[1-3]'}\nstacks:"), "the nodes");
	buf_release(&text);
}

int main(void)
{
	test_plan();
	test_hostile();
	test_failure();
	test_json();
	test_rows();
	test_edit();
	test_more();
	return done();
}
