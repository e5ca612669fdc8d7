/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of GPUs where something goes wrong: whatever step is killed, the machine starts again, the library fails once
 * or a slice is still used, each node has its own slice and leaves nothing.
 */
#include <jansson.h>

#include "agentd/machine/inventory.h"
#include "slicetree.h"

/* ---- Killed ------------------------------------------------------------------------------------------ */

/* The step of another process, which is killed once that was done. */
static void killed_at(const char *at, const char *host, const char *node, bool comes)
{
	int status = 0;
	pid_t child;

	tree_put(root, "state/mig-kill", at);
	child = fork();
	if (child == 0) {
		struct fail f;

		_exit(comes ? take(host, node, &f) : host_gpus_give_back(data, root, node, NULL));
	}
	waitpid(child, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "(killed after '%s')", at);
}

static void test_killed(void)
{
	static const char *const comes[] = { "on", "make", "fill" }, *const goes[] = { "drain", "destroy", "off" };
	struct host_want hosts[] = { want("h0", "1g.3gb"), want("h1", "1g.3gb") };
	struct fail f = { 0 };

	is_int(host_gpus_fix(data, root, hosts, 2, &f), 0, "(two slices: %s)", f.text);
	for (size_t i = 0; i < 3; i++) {
		killed_at(comes[i], "h0", "inst_a", true);
		is_int(take("h0", "inst_a", &f), 0, "the step is done again (%s)", f.text);
		is_str(cut(), "mig-0 gi-0-1 ci-0-1", "and the node has one slice, the only one");
		is_int(give("inst_a"), 0, "it goes");
		is_str(cut(), "", "and leaves nothing");
		killed_at(comes[i], "h0", "inst_a", true);
		is_int(give("inst_a"), 0, "a node that is given up after that");
		is_str(cut(), "", "leaves nothing either");
	}
	for (size_t i = 0; i < 3; i++) {
		is_int(take("h0", "inst_a", &f), 0, "(a node: %s)", f.text);
		killed_at(goes[i], "h0", "inst_a", false);
		is_int(give("inst_a"), 0, "its end is done again");
		is_str(cut(), "", "and leaves nothing");
	}
	is_int(take("h1", "inst_b", &f), 0, "(a neighbour: %s)", f.text);
	killed_at("make", "h0", "inst_a", true);
	is_str(cut(), "mig-0 gi-0-1 gi-0-2 ci-0-1", "(what a killed step left)");
	node_folder(data, "inst_a", false);
	is_int(take("h0", "inst_c", &f), 0, "the next node of the host (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 gi-0-2 ci-0-1 ci-0-2",
		"has a slice beside the neighbour's, and nothing is left over");
	node_folder(data, "inst_c", false);
	is_int(take("h1", "inst_b", &f), 0, "(the neighbour starts again: %s)", f.text);
	is_int(give("inst_b"), 0, "it goes, where another vanished without giving its slice back");
	is_str(cut(), "", "and nothing is left of either");
}

static void test_killed_whole(void)
{
	struct host_want hosts[2] = { { .host = "w", .vendor = "", .model = "", .count = 1 } };
	struct fail f = { 0 };

	sold = "";
	tree_put(root, "state/mig-0", "");
	is_int(host_gpus_fix(data, root, hosts, 1, &f), 0, "(a whole GPU with MIG on: %s)", f.text);
	killed_at("off", "w", "inst_w", true);
	is_int(take("w", "inst_w", &f), 0, "the step is done again (%s)", f.text);
	is_str(cut(), "", "and the node has the whole GPU");
	killed_at("on", "w", "inst_w", false);
	is_int(give("inst_w"), 0, "its end is done again");
	is_str(cut(), "mig-0", "and MIG is on as before");
	killed_at("off", "w", "inst_w", true);
	is_int(give("inst_w"), 0, "a node that is given up after that");
	is_str(cut(), "mig-0", "leaves it on, too");
	remove_file("state/mig-0");
	sold = "1g.3gb";
	hosts[0] = want("h0", sold);
	hosts[1] = want("h1", sold);
	is_int(host_gpus_fix(data, root, hosts, 2, &f), 0, "(two slices: %s)", f.text);
}

/* The machine started again, so the driver knows of no slice; numbers and UUIDs are used again. */
static void test_restart(void)
{
	static const char *const gone[] = { "gi-0-1", "gi-0-2", "ci-0-1", "ci-0-2", "mig-0" };
	struct fail f;
	char name[64];

	is_int(take("h0", "inst_a", &f) + take("h1", "inst_b", &f), 0, "(two nodes: %s)", f.text);
	for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
		snprintf(name, sizeof name, "state/%s", gone[i]);
		remove_file(name);
	}
	is_int(take("h1", "inst_b", &f), 0, "after a restart of the machine a node starts (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 ci-0-1", "with a new slice");
	is_int(take("h0", "inst_a", &f), 0, "and another (%s)", f.text);
	is_str(env("CUDA_VISIBLE_DEVICES"), "MIG-fake-0-2", "which is not that of the first");
	is_int(give("inst_a") + give("inst_b"), 0, "(both go)");
	is_str(cut(), "", "(nothing is left)");
}

/* A question that the library does not answer once says nothing about whose a slice is. */
static void test_blind(void)
{
	static const char *const questions[] = { "count", "device", "uuid" };
	struct fail f;

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		is_int(take("h0", "inst_a", &f), 0, "(a node: %s)", f.text);
		tree_put(root, "state/mig-blind", questions[i]);
		is_int(take("h1", "inst_b", &f), 0, "another, where '%s' fails once (%s)", questions[i], f.text);
		is_str(env("CUDA_VISIBLE_DEVICES"), "MIG-fake-0-2", "does not get the place of the first");
		is_int(take("h0", "inst_a", &f), 0, "(the first: %s)", f.text);
		is_str(env("CUDA_VISIBLE_DEVICES"), "MIG-fake-0-1", "which has its slice");
		is_int(give("inst_a") + give("inst_b"), 0, "(both go)");
		is_str(cut(), "", "(nothing is left)");
	}
}

/* What fails at first, and then does not, keeps nothing back. */
static void test_late(void)
{
	static const char *const faults[][2] = { { "state/mig-busy", "drain" }, { "state/mig-busy", "off" },
		{ "state/mig-blind", "count" } };
	char text[300] = "";
	struct fail f;

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		is_int(take("h0", "inst_a", &f), 0, "(a node: %s)", f.text);
		tree_put(root, faults[i][0], faults[i][1]);
		is_int(give("inst_a"), 0, "where '%s' fails at first", faults[i][1]);
		is_str(cut(), "", "its slice is gone");
		ok(!host_gpus_problem(data, text, sizeof text), "and nothing is kept back (%s)", text);
		host_gpus_release(data, addresses[0], NULL);
	}
}

/* A slice that cannot be destroyed is kept back with its own node's share, not with those of all who end later. */
static void test_stuck(void)
{
	char text[300];
	struct fail f;

	is_int(take("h0", "inst_a", &f) + take("h1", "inst_b", &f), 0, "(two nodes: %s)", f.text);
	tree_put(root, "state/mig-used", "1");
	is_int(give("inst_b"), 0, "a node ends while another's slice is used");
	ok(!host_gpus_problem(data, text, sizeof text), "which says nothing about its own");
	is_int(give("inst_a"), 0, "the other ends");
	ok(host_gpus_problem(data, text, sizeof text), "and is kept back");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "(released)");
	is_int(take("h1", "inst_b", &f), 0, "a node comes beside what is still stuck (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 gi-0-2 ci-0-1 ci-0-2", "and has a slice");
	is_int(give("inst_b"), 0, "it ends");
	ok(!host_gpus_problem(data, text, sizeof text), "and its slice, which is gone, is not kept back");
	is_str(cut(), "mig-0 gi-0-1 ci-0-1", "(only the other's is there)");
	remove_file("state/mig-used");
	is_int(take("h1", "inst_b", &f), 0, "(another: %s)", f.text);
	is_int(give("inst_b"), 0, "(it ends)");
	is_str(cut(), "", "nothing is left once nobody uses it");
}

static void test_known(void)
{
	const struct inventory_setup setup = { .root = root, .nvml = "", .driver = "ns", .shares = true };
	struct inventory *v = NULL;

	tree_put(root, "state/mig", "");
	ok(inventory_read(&setup, &v) == 0 && gpu_slices_keep(data, v, NULL) == 0, "(what the GPUs can be cut into)");
	free(v);
}

int main(void)
{
	struct bus b = { .root = root };

	plan_none;
	slices_begin_tree(&b);
	test_known();
	test_killed();
	test_killed_whole();
	test_restart();
	test_blind();
	test_late();
	test_stuck();
	slices_end_tree(&b);
	return done();
}
