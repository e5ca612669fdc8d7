/* SPDX-License-Identifier: Apache-2.0 */
/* `users` of a cluster file: ids that follow from names, keys, and what is refused. */
#include <errno.h>
#include <limits.h>

#include "cli/provision/model/cluster.h"

#include "../../lib/tap.h"

#define TOP "cluster: lab\nnodes: 'n[1-2]'\nstacks: {slurm: {}}\n"
#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEabcdefghijklmnopqrstuvwxyz0123456789ABCDEF"

static char folder[PATH_MAX];

static struct cluster *parse(const char *text, struct fail *f)
{
	struct cluster *c = NULL;

	return cluster_parse("lab.yaml", text, strlen(text), folder, NULL, NULL, &c, f) == 0 ? c : NULL;
}

static const char *setting(struct cluster *c, const char *key)
{
	return pairs_or(&cluster_use(c, "users")->settings, key, "(none)");
}

static void test_people(void)
{
	static const char text[] = TOP "users:\n  ada: {keys: ['" KEY " ada@home', '" KEY
				       "'], sudo: yes, groups: [physics, lab-b], shares: 3}\n"
				       "  bob-c: {uid: 1234, keys: '" KEY "', groups: physics}\n  eve:\n";
	struct fail f = { 0 };
	struct cluster *c = parse(text, &f);
	char uid[32];

	ok(c != NULL, "read: %s", f.text);
	if (!c)
		return;
	ok(cluster_use(c, "users") && strcmp(c->uses[1].stack->name, "users") == 0,
		"their stack is there by itself, and before slurm");
	is_str(setting(c, "people"), "ada bob-c eve", "who");
	is_str(setting(c, "people_ada_keys"), KEY " ada@home\n" KEY "\n", "keys, one a line");
	is_str(setting(c, "people_ada_sudo"), "yes", "sudo");
	is_str(setting(c, "people_bob_c_uid"), "1234", "an id of the file");
	is_str(setting(c, "groups"), "physics lab-b", "groups, each once");
	ok(*setting(c, "groups_lab_b") != '(', "with ids");
	is_str(setting(c, "people_ada_groups"), "physics lab-b", "groups of one");
	snprintf(uid, sizeof uid, "%s", setting(c, "people_ada_uid"));
	ok(strtol(uid, NULL, 10) >= 10000 && strtol(uid, NULL, 10) < 60000, "an id that follows from the name: %s",
		uid);
	cluster_free(c);
	c = parse("cluster: other\nnodes: x\nstacks: {users: {}}\nusers: {zoe: {}, ada: {}}\n", &f);
	is_str(c ? setting(c, "people_ada_uid") : "", uid, "is the same in another cluster, whoever else is there");
	cluster_free(c);
	c = parse(TOP "users: {}\n", &f);
	is_str(c ? setting(c, "people") : "-", "", "nobody left is not nobody known: those who left are removed");
	cluster_free(c);
	c = parse(TOP, &f);
	ok(c && !cluster_use(c, "users"), "without users there is no stack of theirs");
	cluster_free(c);
}

/* An id that follows from a name, and that somebody else has. */
static void test_meeting(void)
{
	struct fail f = { 0 };
	struct cluster *c = parse(TOP "users: {ada: {}}\n", &f);
	char text[256];

	snprintf(text, sizeof text, TOP "users: {ada: {}, bob: {uid: %s}}\n", c ? setting(c, "people_ada_uid") : "");
	cluster_free(c);
	c = parse(text, &f);
	ok(c == NULL && strstr(f.text, "'ada' and 'bob' would have the same id"), "two who meet are told: %s", f.text);
	has_str(f.text, "set another 'uid' for one", "and what to do");
	cluster_free(c);
}

static const struct {
	const char *users, *says;
} wrong[] = {
	{ "[ada]", "not a list" },
	{ "{Ada: {}}", "'Ada' cannot be the name of a user" },
	{ "{root: {}}", "'root' cannot be the name of a user" },
	{ "{-x: {}}", "'-x' cannot be the name of a user" },
	{ "{'a;b': {}}", "'a;b' cannot be the name of a user" },
	{ "{ada: yes}", "not a text" },
	{ "{ada: {key: x}}", "key" },
	{ "{ada: {keys: ada.pub}}", "'ada.pub' is no public key: expected 'ssh-ed25519 AAAA" },
	{ "{ada: {keys: ['ssh-ed25519']}}", "is no public key" },
	{ "{ada: {keys: ['-----BEGIN OPENSSH PRIVATE KEY-----']}}", "is no public key" },
	{ "{ada: {keys: ['command=\"x\" " KEY "']}}", "is no public key" },
	{ "{ada: {uid: 0}}", "uid: '0' is no number from 1000" },
	{ "{ada: {uid: 12x4}}", "uid: '12x4' is no number" },
	{ "{ada: {uid: 99999999999999999999}}", "is no number" },
	{ "{ada: {uid: 2000}, bob: {uid: 2000}}", "'ada' and 'bob' would have the same id 2000" },
	{ "{a-b: {}, a_b: {}}", "'a-b' and 'a_b' differ too little" },
	{ "{ada: {groups: ['x y']}}", "'x y' cannot be the name of a group" },
	{ "{ada: {groups: bob}, bob: {}}", "a group and a user cannot both be 'bob'" },
	{ "{ada: {sudo: maybe}}", "sudo: 'maybe' is neither yes nor no" },
	{ "{ada: {shell: zsh}}", "shell: 'zsh' is no program's path" },
	{ "{ada: {shares: 0}}", "shares: '0' is no number from 1" },
	{ "{ada: {account: 'a b'}}", "account: 'a b' is no word" },
	{ "{ada: {limits: 'MaxJobs=2; rm'}}", "is not like 'MaxJobs=2" },
};

static void test_wrong(void)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct fail f = { 0 };
		struct cluster *c;
		char text[1024];

		snprintf(text, sizeof text, TOP "users: %s\n", wrong[i].users);
		c = parse(text, &f);
		ok(c == NULL && strstr(f.text, wrong[i].says), "refused: %s: %s", wrong[i].users, f.text);
		cluster_free(c);
	}
}

int main(void)
{
	const char *top = getenv("abs_top_srcdir");

	plan_none;
	snprintf(folder, sizeof folder, "%s/stacks", top ? top : ".");
	test_people();
	test_meeting();
	test_wrong();
	return done();
}
