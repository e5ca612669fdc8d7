/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs of hosts: fixed once, never given twice, reset between nodes, kept back where that fails; after kills, too. */
#include "agentd/device/host_gpus.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agentd/device/gpu_reset.h"
#include "fakebus.h"

#define SOUND "sys/bus/pci/devices/0000:07:00.1"

static char data[600];

static const char *const addresses[] = { "0000:03:00.0", "0000:07:00.0" };

static void nodes_of(const char *root, size_t i)
{
	char path[200], text[32];

	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/drm/renderD%zu/dev", addresses[i], 128 + i);
	snprintf(text, sizeof text, "226:%zu", 128 + i);
	tree_put(root, path, text);
}

static int take(const char *root, const char *host, const char *node, struct node_devices *d, struct fail *f)
{
	char path[700];

	snprintf(path, sizeof path, "%s/nodes", data);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/nodes/%s", data, node);
	mkdir(path, 0700);
	devices_release(d);
	*f = (struct fail){ 0 };
	return host_gpus_take(data, root, &(struct host_taker){ .host = host, .node = node, .nodes = true }, d, f);
}

static void forget(const char *node)
{
	char path[700];

	snprintf(path, sizeof path, "%s/nodes/%s", data, node);
	rmdir(path);
}

static void test_fix(const char *root, struct node_devices *d)
{
	struct host_want hosts[3] = { { "host_a", "intel", "", 1, 0, 0, NULL, false },
		{ "host_b", "", "", 1, 0, 0, NULL, false }, { "host_c", "", "", 1, 0, 0, NULL, false } };
	struct fail f = { 0 };

	hosts[0].vendor = "amd";
	is_int(host_gpus_fix(data, root, hosts, 1, &f), -ENODEV, "no GPU of this vendor");
	hosts[0].vendor = "intel";
	hosts[0].model = "h100";
	is_int(host_gpus_fix(data, root, hosts, 1, &f), -ENODEV, "none of this model");
	has_str(f.text, "'host_a' was promised 1 GPU of type h100, and this machine has none for it", "and says so");
	hosts[0].model = "";
	is_int(host_gpus_fix(data, root, hosts, 3, &f), -ENODEV, "three hosts, two GPUs");
	has_str(f.text, "host_c", "the third has none");
	is_int(take(root, "host_a", "inst_1", d, &f), 0, "the first has one (%s)", f.text);
	ok(d->gpu_count == 1 && strcmp(d->gpus[0].address, addresses[0]) == 0, "its own");
	is_str(d->nodes[0].inside, "/dev/dri/renderD128", "with its device node");
	is_int(take(root, "host_a", "inst_1", d, &f), 0, "again: the same");
	is_int(take(root, "host_a", "inst_2", d, &f), -EBUSY, "not for two nodes");
	has_str(f.text, "'inst_1' has it", "and says who has it");
	is_int(host_gpus_fix(data, root, hosts + 1, 2, &f), -ENODEV, "the market drops the first host");
	is_int(take(root, "host_c", "inst_3", d, &f), 0, "whose GPU its node still has,");
	is_int(d->gpu_count, 0, "so the third host gets none");
	is_int(host_gpus_fix(data, root, hosts, 2, &f), 0, "the first is back");
	is_int(take(root, "host_b", "inst_2", d, &f), 0, "the second has one");
	is_str(d->gpus[0].address, addresses[1], "the other one");
}

static void test_between(struct bus *b, struct node_devices *d)
{
	struct fail f = { 0 };

	is_int(host_gpus_give_back(data, b->root, "inst_1", &f), 0, "after the node (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "its GPU is reset");
	ok(!bus_has_reset(b, addresses[1]), "and no other");
	is_int(take(b->root, "host_a", "inst_4", d, &f), 0, "then the next node has it (%s)", f.text);
	is_str(d->nodes[0].inside, "/dev/dri/renderD128", "whose driver is back");
	forget("inst_4");
	is_int(take(b->root, "host_a", "inst_5", d, &f), 0, "a node that vanished does not keep it (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "and it was reset first");
}

static bool lacks(const struct host_want *w, char *room, size_t size)
{
	json_t *list = host_gpus_json(data, NULL);
	bool is = host_gpus_lack(list, "", w, room, size);

	json_decref(list);
	return is;
}

static void test_kept_back(struct bus *b, struct node_devices *d)
{
	const struct host_want hosts[2] = { { "host_a", "", "", 1, 0, 0, NULL, false },
		{ "host_b", "", "", 1, 0, 0, NULL, false } };
	char path[700], text[300];
	struct fail f = { 0 };

	is_int(host_gpus_fix(data, b->root, hosts, 2, &f), 0, "two hosts lack nothing (%s)", f.text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/reset", b->root, addresses[0]);
	unlink(path);
	ok(!host_gpus_problem(data, text, sizeof text), "no GPU is kept back so far");
	is_int(host_gpus_give_back(data, b->root, "inst_5", &f), 0, "a GPU that cannot be reset");
	is_int(take(b->root, "host_a", "inst_6", d, &f), -ENODEV, "is kept back");
	has_str(f.text, "no way to reset 0000:03:00.0 alone", "and says why");
	ok(host_gpus_problem(data, text, sizeof text), "it is told to the market");
	has_str(text, "gpus release 0000:03:00.0", "with what to type");
	ok(lacks(&hosts[0], text, sizeof text), "its host, whose nodes would all fail, is not sold");
	has_str(text, "has none for it: the GPU at 0000:03:00.0 is kept back: ", "for that reason");
	ok(!lacks(&hosts[1], text, sizeof text), "the other host is");
	is_int(host_gpus_fix(data, b->root, hosts, 2, &f), -ENODEV, "the market's next word changes nothing:");
	has_str(f.text, "'host_a' was promised 1 GPU", "it has no other GPU for it");
	is_int(host_gpus_release(data, addresses[1], &f), -ENOENT, "a good one is not released");
	is_int(host_gpus_release(data, addresses[0], &f), 0, "its owner releases it");
	ok(!lacks(&hosts[0], text, sizeof text), "and its host is sold again");
	is_int(take(b->root, "host_a", "inst_6", d, &f), 0, "and it is had again (%s)", f.text);
}

/* Why a host has no GPU, beside one with shares that nodes have: what is named could have been its own. */
static void test_reasons(void)
{
	struct host_want w = { .host = "other", .vendor = "", .model = "", .count = 1, .parts = 2 };
	json_t *list = json_pack("[{s:s, s:s, s:s, s:s, s:i, s:I}]", "address", "0000:01:00.0", "model", "rtx4090",
		"host", "h0", "node", "inst_s", "parts", 4, "memory", (json_int_t)24 << 30);
	char text[300];

	ok(host_gpus_lack(list, "", &w, text, sizeof text), "half a GPU beside quarters");
	has_str(text, "none for it: nodes have shares of the GPU at 0000:01:00.0 until they end",
		"waits for those nodes");
	w.parts = 0;
	w.vendor = "amd";
	ok(host_gpus_lack(list, "", &w, text, sizeof text), "another vendor's GPU");
	ok(!strstr(text, "0000:0"), "is not what they keep from it (%s)", text);
	w.vendor = "nvidia";
	w.memory = 80LL << 30;
	ok(host_gpus_lack(list, "", &w, text, sizeof text), "nor is one with more memory");
	ok(!strstr(text, "0000:0"), "than it has (%s)", text);
	w.memory = 0;
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "address", "0000:03:00.0", "host", "", "node", "", "model",
			"rtx4090", "quarantine", "it does not answer"));
	w.vendor = "";
	ok(host_gpus_lack(list, "", &w, text, sizeof text), "where one is kept back");
	has_str(text, "the GPU at 0000:03:00.0 is kept back: it does not answer", "that is named: it can be released");
	w.model = "h100";
	ok(host_gpus_lack(list, "", &w, text, sizeof text), "but for a GPU of another model");
	ok(!strstr(text, "0000:0"), "no reason is known (%s)", text);
	json_decref(list);
}

/* A node of a host that the market dropped vanished without giving its GPU back: another host gets it, reset. */
static void test_dead(struct bus *b, struct node_devices *d)
{
	struct host_want hosts[2] = { { "host_b", "", "", 1, 0, 0, NULL, false },
		{ "host_d", "", "ArcA770", 1, 0, 0, NULL, false } };
	struct fail f = { 0 };
	json_t *list;
	char *said;

	is_int(host_gpus_fix(data, b->root, hosts, 2, &f), -ENODEV, "while its node is there, nobody else has the GPU");
	forget("inst_5");
	is_int(host_gpus_fix(data, b->root, hosts, 2, &f), 0, "once it vanished, another host has it (%s)", f.text);
	is_int(take(b->root, "host_d", "inst_7", d, &f), 0, "and a node of it (%s)", f.text);
	ok(bus_has_reset(b, addresses[0]), "after a reset");
	list = host_gpus_report(data, "inst_7");
	said = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(said, "[{\"count\":1,\"memory_bytes\":17179869184,\"model\":\"arca770\"}]",
		"the market is told which it has");
	free(said);
	json_decref(list);
	is_int(host_gpus_give_back(data, b->root, "inst_7", &f), 0, "(it goes)");
	bus_has_reset(b, addresses[0]);
	hosts[1].host = "host_a";
	hosts[1].model = "";
	is_int(host_gpus_fix(data, b->root, hosts, 2, &f), 0, "(the first host has it again)");
	is_int(take(b->root, "host_a", "inst_5", d, &f), 0, "(and its node)");
}

static bool has_line(const char *root, const char *path, const char *wanted)
{
	char name[800], text[100];
	bool has = false;
	FILE *f;

	snprintf(name, sizeof name, "%s/%s", root, path);
	f = fopen(name, "re");
	while (f && !has && fgets(text, sizeof text, f)) {
		text[strcspn(text, "\n")] = '\0';
		has = strcmp(text, wanted) == 0;
	}
	if (f)
		fclose(f);
	return has;
}

/* Cut off between the unbind and the bind: the GPU has no driver. */
static void test_cut_off(struct bus *b)
{
	char path[700], driver[700];
	struct fail f = { 0 };

	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset", addresses[1]);
	snprintf(driver, sizeof driver, "%s/sys/bus/pci/devices/%s/driver", b->root, addresses[1]);
	unlink(driver);
	tree_put(b->root, "dev/kmsg", "");
	is_int(gpu_reset(data, b->root, addresses[1], &f), 0, "a reset that was cut off is repeated (%s)", f.text);
	ok(bus_has_reset(b, addresses[1]), "it is reset");
	ok(has_line(b->root, "dev/kmsg", "nanopod-agentd: was reset: GPU 0000:07:00.0"), "which the kernel's log has");
	for (int i = 0; i < 6000 && access(driver, F_OK) != 0; i++)
		poll(NULL, 0, 10);
	ok(readlink(driver, path, sizeof path) > 0, "and its driver is asked for");
}

/* The kernel's list of ways to reset it; was its sound taken away meanwhile? */
static int reset_by(struct bus *b, const char *ways, bool *removed, struct fail *f)
{
	char path[700];
	int rc;

	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset_method", addresses[1]);
	tree_put(b->root, path, ways);
	rc = gpu_reset(data, b->root, addresses[1], f);
	bus_settle(b);
	ok(has_line(b->root, path, ways), "(its ways are as before)");
	snprintf(path, sizeof path, "%s/were-removed", b->root);
	*removed = unlink(path) == 0;
	return rc;
}

/* The kernel has "bus" among a card's ways and refuses it, since the card's sound is on that bus, too. */
static void test_sound(struct bus *b)
{
	char path[700], away[720];
	struct fail f = { 0 };
	bool removed;

	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/reset", b->root, addresses[1]);
	snprintf(away, sizeof away, "%s.alone", path);
	ok(rename(path, away) == 0 && mkdir(path, 0700) == 0, "(the kernel refuses to reset it)");
	is_int(reset_by(b, "bus", &removed, &f), 0, "a card with sound is reset with its bus (%s)", f.text);
	ok(bus_has_reset(b, addresses[1]) && removed, "while the sound is away");
	ok(has_line(b->root, SOUND "/class", ""), "and that is back");
	is_int(reset_by(b, "pm bus", &removed, &f), 0, "one that a change of its power resets first (%s)", f.text);
	ok(bus_has_reset(b, addresses[1]) && removed, "is reset by its bus");
	is_int(reset_by(b, "flr bus", &removed, &f), 0, "one that the kernel resets alone (%s)", f.text);
	ok(bus_has_reset(b, addresses[1]) && !removed, "keeps its sound");
	is_int(reset_by(b, "pm", &removed, &f), -ENOTSUP, "one that only a change of its power resets");
	ok(!bus_has_reset(b, addresses[1]) && !removed, "is not, since its memory may stay");
	has_str(f.text, "no way to reset 0000:07:00.0 that empties its memory", "and its owner reads so");
	tree_put(b->root, "sys/bus/pci/devices/0000:07:01.0/", "");
	is_int(reset_by(b, "pm bus", &removed, &f), -EBUSY, "beside another card it is not reset");
	has_str(f.text, "on one bus with 0000:07:01.0", "which is named");
	ok(!bus_has_reset(b, addresses[1]) && !removed, "and keeps all");
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:07:01.0", b->root);
	rmdir(path);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/reset_method", b->root, addresses[1]);
	unlink(path);
}

static void test_gone(const char *root, struct node_devices *d)
{
	char path[700], away[700];
	struct fail f = { 0 };

	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, addresses[0]);
	snprintf(away, sizeof away, "%s/away", root);
	ok(rename(path, away) == 0, "(a GPU falls off the bus)");
	is_int(take(root, "host_a", "inst_6", d, &f), -ENODEV, "its host is unable");
	has_str(f.text, "of this host is gone", "and says why");
	is_int(take(root, "host_b", "inst_2", d, &f), 0, "the other host goes on (%s)", f.text);
	ok(rename(away, path) == 0, "(it is back)");
}

static void test_user(const char *root)
{
	char path[700], to[700];
	struct fail f = { 0 };

	if (geteuid() != 0) {
		skip("a process that has it open: only root can make device nodes");
		return;
	}
	tree_put(root, "proc/4711/comm", "persistenced");
	tree_put(root, "proc/4711/fd/", "");
	snprintf(path, sizeof path, "%s/gpu", root);
	snprintf(to, sizeof to, "%s/proc/4711/fd/3", root);
	ok(mknod(path, S_IFCHR | 0600, makedev(226, 129)) == 0 && symlink(path, to) == 0, "(a process has it open)");
	is_int(gpu_reset(data, root, addresses[1], &f), -EBUSY, "a GPU in use is not reset");
	has_str(f.text, "4711 (persistenced) still uses", "and says who uses it");
	unlink(to);
}

int main(void)
{
	struct node_devices d = { 0 };
	char root[512], path[200];
	struct bus b = { .root = root };
	json_t *list;

	plan_none;
	tree_unpack("arc-a770x2", root, sizeof root);
	snprintf(data, sizeof data, "%s/agent", root);
	mkdir(data, 0700);
	bus_driver(&b, "i915");
	bus_driver(&b, "xe");
	bus_file(&b, "sys/bus/pci/drivers_probe");
	for (size_t i = 0; i < 2; i++) {
		nodes_of(root, i);
		snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset", addresses[i]);
		bus_file(&b, path);
		bus_drives(root, addresses[i], "xe");
	}
	bus_file(&b, SOUND "/remove");
	tree_put(root, SOUND "/class", "");
	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/rescan", addresses[1]);
	bus_file(&b, path);
	bus_begin(&b, "xe");
	test_fix(root, &d);
	test_reasons();
	test_between(&b, &d);
	test_dead(&b, &d);
	test_kept_back(&b, &d);
	test_cut_off(&b);
	test_sound(&b);
	test_gone(root, &d);
	test_user(root);
	list = host_gpus_json(data, NULL);
	is_int(json_array_size(list), 2, "both are in the list");
	json_decref(list);
	devices_release(&d);
	bus_end(&b);
	tree_remove(root);
	return done();
}
