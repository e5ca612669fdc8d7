/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of GPUs: never more than a GPU holds, made with the node and gone with it; the GPU's mode is put back; what
 * cannot be destroyed is kept back.
 */
#include <dirent.h>
#include <errno.h>
#include <jansson.h>

#include "agentd/device/guest_gpus.h"
#include "agentd/machine/inventory.h"
#include "slicetree.h"

/* The node may open it. */
static bool opens(const char *path)
{
	for (size_t i = 0; i < got.node_count; i++)
		if (strcmp(got.nodes[i].inside, path) == 0)
			return true;
	return false;
}

/* Which GPU each host has a slice of: "h0=0 h1=1". */
static const char *given(void)
{
	static char text[600];
	json_t *list = host_gpus_json(data, NULL), *gpu;
	size_t i;

	text[0] = '\0';
	json_array_foreach(list, i, gpu)
	{
		const char *host = json_string_value(json_object_get(gpu, "host"));
		const char *address = json_string_value(json_object_get(gpu, "address"));

		if (*host)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%d", *text ? " " : "", host,
				strcmp(address, addresses[1]) == 0);
	}
	json_decref(list);
	return text;
}

/* ---- What GPUs can be cut into ------------------------------------------------------------------ */

static bool tells(bool shares, const char *what)
{
	const struct inventory_setup setup = { .root = root, .nvml = "", .driver = "ns", .shares = shares };
	struct inventory *v;
	struct buf text;
	bool has;

	buf_init(&text, 1 << 20);
	has = inventory_read(&setup, &v) == 0 && gpu_slices_keep(data, v, NULL) == 0 && inventory_json(v, &text) == 0 &&
		strstr(buf_text(&text), what);
	free(v);
	buf_release(&text);
	return has;
}

static unsigned known(const char *profile)
{
	json_t *j = gpu_slices_load(data);
	unsigned count = gpu_slices_count(j, addresses[0], profile, NULL);

	json_decref(j);
	return count;
}

static void test_told(void)
{
	static const char *const all = "\"slices\":[{\"profile\":\"1g.3gb\",\"count\":7,\"memory_bytes\":3040870400},"
				       "{\"profile\":\"2g.6gb\",\"count\":3,\"memory_bytes\":6291456000},"
				       "{\"profile\":\"3g.12gb\",\"count\":2,\"memory_bytes\":12582912000},"
				       "{\"profile\":\"4g.12gb\",\"count\":1,\"memory_bytes\":12582912000},"
				       "{\"profile\":\"7g.24gb\",\"count\":1,\"memory_bytes\":25165824000},"
				       "{\"profile\":\"1g.3gb+me\",\"count\":1,\"memory_bytes\":3040870400}]";

	ok(tells(true, "\"slices\":[]"), "GPUs without MIG have no slices, and the market is told so");
	tree_put(root, "state/mig", "");
	tree_put(root, "state/mig-mute", "");
	ok(tells(true, all), "the market is told what a GPU can be cut into, although the library says no names now");
	remove_file("state/mig-mute");
	ok(tells(true, all), "and when it does, they are the same");
	is_int(known("1g.3gb"), 7, "the agent keeps that");
	ok(tells(false, "\"slices\":[]"), "a driver of nodes that cannot give them has none");
	is_int(known("1g.3gb"), 0, "and forgets them");
	ok(tells(true, all), "(again)");
	tree_put(root, "state/down", "");
	ok(!tells(true, "\"slices\""), "a look that failed tells nothing");
	remove_file("state/down");
	is_int(known("1g.3gb"), 7, "and nothing is forgotten for it");
	tree_put(root, "state/mig-deaf", "");
	ok(!tells(true, "\"slices\"") && known("1g.3gb") == 7, "nor for a library that tells only while MIG is on");
	ok(tells(true, "tells its slices only while MIG is on: 'nvidia-smi -i 0000:01:00.0 -mig 1'"), "which is noted");
	remove_file("state/mig-deaf");
}

/* ---- Who gets which ------------------------------------------------------------------------------- */

static void test_fix(void)
{
	static char names[16][32];
	struct host_want hosts[16];
	struct fail f = { 0 };

	for (size_t i = 0; i < 16; i++) {
		snprintf(names[i], sizeof names[i], "h%zu", i);
		hosts[i] = want(names[i], "1g.3gb");
	}
	is_int(host_gpus_fix(data, root, hosts, 8, &f), 0, "eight slices (%s)", f.text);
	is_str(given(), "h0=0 h1=0 h2=0 h3=0 h4=0 h5=0 h6=0 h7=1", "are seven of one GPU and one of another");
	is_int(host_gpus_promised(data), 2, "and count as two GPUs");
	is_int(host_gpus_fix(data, root, hosts, 15, &f), -ENODEV, "fifteen are more than two GPUs hold");
	has_str(f.text, "'h14' was promised a slice mig:1g.3gb of a GPU, and this machine has none", "and say so");
	hosts[1] = want("h1", "2g.6gb");
	hosts[2] = (struct host_want){ .host = "whole", .vendor = "", .model = "", .count = 1 };
	is_int(host_gpus_fix(data, root, hosts, 3, &f), -ENODEV, "slices of two sizes, and a whole GPU");
	is_str(given(), "h0=0 h1=1", "no GPU has two sizes, or is whole beside slices");
	hosts[3] = want("h3", "9g.99gb");
	is_int(host_gpus_fix(data, root, hosts + 3, 1, &f), -ENODEV, "a slice that no GPU has");
	hosts[0] = want("h0", "7g.24gb");
	hosts[1] = want("h1", "7g.24gb");
	is_int(host_gpus_fix(data, root, hosts, 2, &f), 0, "slices of a whole GPU (%s)", f.text);
	is_str(given(), "h0=0 h1=1", "are one for each");
	hosts[0] = want("h0", "1g.3gb");
	hosts[1] = want("h1", "1g.3gb");
	hosts[2] = want("h2", "1g.3gb");
	is_int(host_gpus_fix(data, root, hosts, 3, &f), 0, "(three slices of one GPU: %s)", f.text);
	is_str(given(), "h0=0 h1=0 h2=0", "(so)");
}

/* ---- Made and destroyed --------------------------------------------------------------------------- */

static void test_take(void)
{
	struct fail f;
	json_t *list;
	char *said, uuid[64];

	is_int(take("h0", "inst_a", &f), 0, "a node has a slice (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 ci-0-1", "which was made for it");
	ok(opens("/dev/nvidia0") && opens("/dev/nvidia-caps/nvidia-cap11") && opens("/dev/nvidia-caps/nvidia-cap12"),
		"with the device nodes of its two instances");
	ok(got.node_count == 5 && got.nodes[3].major == 235 && got.nodes[3].minor == 11, "and no others");
	snprintf(uuid, sizeof uuid, "%s", env("CUDA_VISIBLE_DEVICES"));
	is_str(uuid, "MIG-fake-0-1", "and its name");
	is_int(take("h0", "inst_a", &f), 0, "when it starts again (%s)", f.text);
	is_str(env("CUDA_VISIBLE_DEVICES"), uuid, "it is the same slice");
	is_int(take("h1", "inst_b", &f), 0, "another node (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 gi-0-2 ci-0-1 ci-0-2", "has another one");
	ok(opens("/dev/nvidia-caps/nvidia-cap21") && !opens("/dev/nvidia-caps/nvidia-cap11"), "and no other's nodes");
	is_int(take_as("h1", "inst_c", "2g.6gb", &f), -EBUSY, "a node that was sold another size does not get it");
	node_folder(data, "inst_c", false);
	list = host_gpus_report(data, "inst_a");
	said = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(said, "[{\"count\":1,\"memory_bytes\":3040870400,\"model\":\"rtx4090\",\"share\":\"mig:1g.3gb\"}]",
		"the market is told how much it is");
	free(said);
	json_decref(list);
	is_int(give("inst_a"), 0, "a node ends beside another");
	is_str(cut(), "mig-0 gi-0-2 ci-0-2", "its slice is gone, and only that");
	is_int(give("inst_b"), 0, "the last one");
	is_str(cut(), "", "leaves the GPU as it was");
}

/* A slice of another kind, by what the compute instance is. */
static void test_kinds(void)
{
	static const struct {
		const char *slice, *part;
	} kinds[] = { { "3g.12gb", "2" }, { "7g.24gb", "4" }, { "1g.3gb+me", "7" } };
	char path[700], part[16];
	struct fail f = { 0 };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct host_want host = want("k0", kinds[i].slice);
		FILE *file;

		is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "a slice %s (%s)", kinds[i].slice, f.text);
		is_int(take_as("k0", "inst_k", kinds[i].slice, &f), 0, "is made (%s)", f.text);
		snprintf(path, sizeof path, "%s/state/ci-0-1", root);
		file = fopen(path, "re");
		if (!file || fscanf(file, "%15s", part) != 1)
			part[0] = '\0';
		if (file)
			fclose(file);
		is_str(part, kinds[i].part, "with all that it has");
		is_int(give("inst_k"), 0, "(it goes)");
		is_str(cut(), "", "and leaves nothing");
	}
}

/* The driver resets a GPU to switch its mode, which needs that nobody has it open. */
static void test_turn(void)
{
	char path[700];
	struct fail f;

	snprintf(path, sizeof path, "%s/gpus.turn", data);
	tree_put(root, "state/mig-turn", path);
	tree_put(root, "state/mig-busy", "on");
	is_int(take("h0", "inst_a", &f), 0, "where a program just looks at the GPU, the mode is switched after it (%s)",
		f.text);
	tree_put(root, "state/mig-busy", "off");
	is_int(give("inst_a"), 0, "and back");
	is_str(cut(), "", "(nothing is left)");
	snprintf(path, sizeof path, "%s/state/mig-unasked", root);
	ok(access(path, F_OK) != 0, "while nobody else of the agent looks");
	remove_file("state/mig-turn");
}

static void test_modes(void)
{
	struct fail f;

	tree_put(root, "state/mig-0", "");
	is_int(take("h0", "inst_a", &f), 0, "where the mode was on before (%s)", f.text);
	is_int(give("inst_a"), 0, "(it goes)");
	is_str(cut(), "mig-0", "it stays on");
	remove_file("state/mig-0");
	tree_put(root, "state/mig-reset", "");
	is_int(take("h0", "inst_a", &f), -EIO, "where the mode needs a reset of the GPU, there is no slice");
	has_str(f.text, "cannot switch MIG on: it needs a reset of the GPU, or a restart of this machine", "and why");
	remove_file("state/mig-reset");
	is_int(give("inst_a"), 0, "(it goes)");
	remove_file("state/mig");
	is_int(take("h0", "inst_a", &f), -ENOTSUP, "a GPU that has no MIG any more refuses");
	has_str(f.text, "the GPU at 0000:01:00.0: 'libnvidia-ml.so.1': this GPU has no slices (MIG)", "and says so");
	tree_put(root, "state/mig", "");
	is_int(give("inst_a"), 0, "(it goes)");
	tree_put(root, "state/mig-full", "");
	is_int(take("h0", "inst_a", &f), -ENOSPC, "one that makes none");
	has_str(f.text, "cannot make a slice: the GPU has no room for it", "says so");
	remove_file("state/mig-full");
	is_int(give("inst_a"), 0, "(it goes)");
	is_str(cut(), "", "nothing is left of all that");
}

static void test_used(void)
{
	struct fail f;
	char text[300];

	is_int(take("h0", "inst_a", &f) + take("h1", "inst_b", &f), 0, "(two nodes: %s)", f.text);
	tree_put(root, "state/mig-used", "");
	is_int(give("inst_a"), 0, "where a process of nobody still uses a slice");
	is_int(take("h0", "inst_c", &f), -ENODEV, "it is kept back");
	has_str(f.text, "cannot destroy a slice: a process uses it", "and says why");
	ok(host_gpus_problem(data, text, sizeof text), "its owner is told");
	node_folder(data, "inst_c", false);
	remove_file("state/mig-used");
	is_int(take("h2", "inst_d", &f), 0, "the others go on (%s)", f.text);
	is_str(cut(), "mig-0 gi-0-1 gi-0-2 ci-0-1 ci-0-2", "and what nobody has any more is destroyed for the next");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "(released)");
	is_int(give("inst_d"), 0, "(it goes)");
	tree_put(root, "state/mig-used", "");
	is_int(give("inst_b"), 0, "where the last slice stays");
	remove_file("state/mig-used");
	is_int(take("h1", "inst_e", &f), -ENODEV, "nothing of the GPU is sold");
	node_folder(data, "inst_e", false);
	is_int(host_gpus_release(data, addresses[0], &f), 0, "(released)");
}

/* The slices of the node above are still there when the GPU is sold whole. */
static void test_whole(void)
{
	struct host_want host = { .host = "w", .vendor = "", .model = "", .count = 2 };
	struct fail f = { 0 };

	is_str(cut(), "mig-0 gi-0-2 ci-0-2", "(a slice that nobody has)");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "the GPU becomes a whole one (%s)", f.text);
	is_int(take_as("w", "inst_w", "", &f), 0, "and its node (%s)", f.text);
	is_str(cut(), "", "has all of it");
	ok(!*env("CUDA_VISIBLE_DEVICES") && !opens("/dev/nvidia-caps/nvidia-cap11"), "and nothing of slices");
	node_folder(data, "inst_w", false); /* it vanishes: nobody gave it back */
	host = want("h0", "1g.3gb");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "(slices again: %s)", f.text);
	is_int(take("h0", "inst_a", &f), 0, "after a node that vanished with all of it (%s)", f.text);
	{
		char path[700];
		bool was = false;

		snprintf(path, sizeof path, "%s/resets/%s", root, addresses[0]);
		for (int ms = 60000; ms > 0 && !(was = access(path, F_OK) == 0); ms -= 10)
			poll(NULL, 0, 10);
		ok(was, "the GPU was reset first");
	}
	is_int(give("inst_a"), 0, "(it goes)");
	is_str(cut(), "", "(all of it)");
}

/* MIG is on, and the GPU is sold whole. */
static void test_whole_on(void)
{
	struct host_want host = { .host = "w", .vendor = "", .model = "", .count = 1 };
	struct fail f = { 0 };

	tree_put(root, "state/mig-0", "");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "(a whole GPU: %s)", f.text);
	tree_put(root, "state/gi-0-1", "19");
	is_int(take_as("w", "inst_w", "", &f), -EBUSY, "one that its owner has cut");
	has_str(f.text, "the GPU at 0000:01:00.0 is cut into slices, which its owner made", "is no node's");
	is_str(cut(), "mig-0 gi-0-1", "and stays so");
	remove_file("state/gi-0-1");
	is_int(take_as("w", "inst_w", "", &f), 0, "where MIG is on (%s)", f.text);
	is_str(cut(), "", "it is switched off for a node that has all of the GPU");
	is_int(take_as("w", "inst_w", "", &f), 0, "(the node starts again: %s)", f.text);
	is_str(cut(), "", "and is off then, too");
	is_int(give("inst_w"), 0, "the node goes");
	is_str(cut(), "mig-0", "and MIG is on again");
	remove_file("state/mig-0");
	tree_put(root, "state/down", "");
	bus_drives(root, addresses[0], "nouveau");
	is_int(take_as("w", "inst_w", "", &f), 0, "where another driver has it, nobody asks NVIDIA's (%s)", f.text);
	bus_drives(root, addresses[0], "nvidia");
	remove_file("state/down");
	is_int(give("inst_w"), 0, "(the node goes)");
	host = want("h0", "1g.3gb");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "(slices again: %s)", f.text);
}

/* A guest gets a GPU whole, whatever mode its owner, or the guest before, left it in. */
static void test_guest(void)
{
	const struct host_taker who = { .host = "g", .node = "inst_g", .guest = true };
	struct host_want host = { "g", "nvidia", "", 1, 0, 0, NULL, true };
	struct fail f = { 0 };

	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/iommu_group", "-> ../../../../kernel/iommu_groups/12");
	tree_put(root, "sys/kernel/iommu_groups/12/devices/0000:01:00.0", "");
	tree_put(root, "sys/bus/pci/devices/0000:01:00.0/driver_override", "(null)");
	tree_put(root, "state/mig-0", "");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "(a GPU for guests: %s)", f.text);
	node_folder(data, "inst_g", true);
	devices_release(&got);
	is_int(host_gpus_take(data, root, &who, &got, &f), 0, "(a node: %s)", f.text);
	is_int(guest_gpus_take(data, root, "inst_g", &got, &f), 0, "a guest gets it (%s)", f.text);
	is_str(cut(), "", "with MIG off");
	is_int(guest_gpus_take(data, root, "inst_g", &got, &f), 0, "(again: %s)", f.text);
	is_str(cut(), "", "(still)");
	is_int(give("inst_g"), 0, "it goes");
	is_str(cut(), "mig-0", "and MIG is on again");
	node_folder(data, "inst_g", true);
	is_int(host_gpus_take(data, root, &who, &got, &f), 0, "(the next: %s)", f.text);
	is_int(guest_gpus_take(data, root, "inst_g", &got, &f), 0, "the next guest, as after one that left it on (%s)",
		f.text);
	is_str(cut(), "", "gets it with MIG off, too");
	is_int(give("inst_g"), 0, "(it goes)");
}

int main(void)
{
	struct bus b = { .root = root };

	plan_none;
	slices_begin_tree(&b);
	test_told();
	test_fix();
	test_take();
	test_turn();
	test_modes();
	test_used();
	test_whole();
	test_whole_on();
	test_kinds();
	test_guest();
	slices_end_tree(&b);
	return done();
}
