/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs for guests: whole IOMMU groups or a refusal with a name, lent by vfio-pci and given back to the drivers that had
 * them, whenever the agent was killed meanwhile; and what QEMU is told.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agentd/device/gpu_book.h"
#include "agentd/device/guest_gpus.h"
#include "agentd/device/host_gpus.h"
#include "agentd/device/vfio.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/iommu.h"
#include "agentd/machine/sysfs.h"
#include "agentd/vm/passthrough.h"
#include "fakebus.h"

static char data[600];

/* Two cards with sound, below a bridge each; the second one's group will hold a network card. */
static const char gpu[] = "0000:01:00.0", sound[] = "0000:01:00.1", gpu2[] = "0000:02:00.0", sound2[] = "0000:02:00.1",
		  nic[] = "0000:03:00.0";

static void put(const char *root, const char *address, const char *file, const char *text)
{
	char path[300];

	snprintf(path, sizeof path, "sys/bus/pci/devices/%s/%s", address, file);
	tree_put(root, path, text);
}

static void join(const char *root, const char *address, int group)
{
	char path[300], to[100];

	snprintf(to, sizeof to, "-> ../../../../kernel/iommu_groups/%d", group);
	put(root, address, "iommu_group", to);
	snprintf(path, sizeof path, "sys/kernel/iommu_groups/%d/devices/%s", group, address);
	tree_put(root, path, "");
}

static void leave(const char *root, const char *address, int group)
{
	char path[900];

	snprintf(path, sizeof path, "%s/sys/kernel/iommu_groups/%d/devices/%s", root, group, address);
	unlink(path);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/iommu_group", root, address);
	unlink(path);
}

static void function(const char *root, const char *address, const char *class, const char *driver)
{
	put(root, address, "vendor", "0x10de");
	put(root, address, "device", "0x22ba");
	put(root, address, "class", class);
	put(root, address, "driver_override", "(null)");
	bus_drives(root, address, driver);
}

static const char *driver_of(const char *root, const char *address)
{
	static char room[FUNCTION_NAME];

	function_driver(root, address, room);
	return room;
}

static const char *override_of(const char *root, const char *address)
{
	static struct vfio_function v;

	v = (struct vfio_function){ 0 };
	snprintf(v.address, sizeof v.address, "%s", address);
	vfio_remember(root, &v);
	return v.override;
}

/* ---- Groups --------------------------------------------------------------------------------- */

static void test_no_iommu(const char *root)
{
	struct iommu_slot slot;
	struct fail f = { 0 };

	is_int(iommu_slot(root, gpu, NULL, 0, &slot, &f), -ENOTSUP, "without an IOMMU no guest has a GPU");
	has_str(f.text, "turn on AMD-Vi (IOMMU) in the BIOS", "and what to turn on");
	tree_put(root, "proc/cpuinfo", "vendor_id\t: GenuineIntel");
	is_int(iommu_any(root, &f), -ENOTSUP, "on Intel's processors, too");
	has_str(f.text, "VT-d in the BIOS and boot with intel_iommu=on", "with the word for the kernel");
}

static void test_groups(const char *root)
{
	const char both[2][PCI_ADDRESS] = { "0000:01:00.0", "0000:02:00.0" };
	struct iommu_slot slot;
	struct fail f = { 0 };

	is_int(iommu_slot(root, gpu, both, 1, &slot, &f), 0, "a card and its bridge are alone (%s)", f.text);
	ok(slot.count == 2 && slot.gpu_count == 1 && slot.functions[1].group == 12 &&
			strcmp(slot.functions[1].address, sound) == 0,
		"the guest gets its sound, too");
	ok(slot.functions[0].bar_max == 32LL << 30, "which part of it is the largest");
	join(root, nic, 13);
	is_int(iommu_slot(root, gpu2, both, 2, &slot, &f), -EBUSY, "a network card in the group");
	is_str(f.text,
		"the GPU at 0000:02:00.0 shares IOMMU group 13 with 0000:03:00.0 (network, driver igb), which its "
		"guest would reach, too; move it to another slot, or turn on ACS in the BIOS",
		"is named");
	is_int(iommu_any(root, &f), 0, "the other card can be had");
	leave(root, nic, 13);
	leave(root, gpu2, 13);
	is_int(iommu_slot(root, gpu2, both, 2, &slot, &f), -ENOTSUP, "a card outside of all groups");
	has_str(f.text, "0000:02:00.0 is in no IOMMU group", "is named");
	join(root, gpu2, 12);
	is_int(iommu_slot(root, gpu, both, 1, &slot, &f), -EBUSY, "another node's card in the group");
	has_str(f.text, "0000:02:00.0 (display, driver nvidia)", "is a stranger");
	is_int(iommu_slot(root, gpu, both, 2, &slot, &f), 0, "this node's is not");
	is_int(slot.gpu_count, 2, "and both are counted");
	put(root, "0000:00:01.1", "driver", "-> ../../../../bus/pci/drivers/nvidia-nvswitch");
	is_int(iommu_slot(root, gpu, both, 2, &slot, &f), -EBUSY, "a bridge with a driver that moves data");
	has_str(f.text, "0000:00:01.1 (bridge, driver nvidia-nvswitch)", "is a stranger, too");
	put(root, "0000:00:01.1", "driver", "-> ../../../../bus/pci/drivers/pcieport");
	leave(root, gpu2, 12);
	join(root, gpu2, 13);
}

/* The addresses of the GPUs that hosts have. */
static const char *had(void)
{
	static char text[200];
	json_t *list = host_gpus_json(data, NULL), *one;
	size_t i;

	text[0] = '\0';
	json_array_foreach(list, i, one) if (!gpu_book_is(one, "host", "")) snprintf(text + strlen(text),
		sizeof text - strlen(text), "%s%s", *text ? " " : "", gpu_book_word(one, "address"));
	json_decref(list);
	return text;
}

static void test_hosts(const char *root)
{
	struct host_want hosts[2] = { { "host_a", "nvidia", "", 1, 0, 0, NULL, true },
		{ "host_b", "", "", 1, 0, 0, NULL, true } };
	struct fail f = { 0 };

	join(root, nic, 12);
	is_int(host_gpus_fix(data, root, hosts, 1, &f), 0, "a host whose nodes are guests (%s)", f.text);
	is_str(had(), gpu2, "gets a GPU that a guest can have");
	is_int(host_gpus_fix(data, root, hosts, 2, &f), -ENODEV, "there is no second one");
	is_int(host_gpus_fix(data, root, hosts, 0, &f), 0, "(they go)");
	leave(root, nic, 12);
	leave(root, gpu2, 13);
	join(root, gpu2, 12);
	is_int(host_gpus_fix(data, root, hosts, 1, &f), -ENODEV, "one of two cards in a group is no host's");
	hosts[0].count = 2;
	is_int(host_gpus_fix(data, root, hosts, 1, &f), 0, "both are (%s)", f.text);
	hosts[0].count = 1;
	is_int(host_gpus_fix(data, root, hosts, 0, &f), 0, "(they go)");
	leave(root, gpu2, 12);
	join(root, gpu2, 13);
	is_int(host_gpus_fix(data, root, hosts, 1, &f), 0, "(the first card is the host's)");
}

/* Of three cards the second and third are in one group, as behind one switch. */
static void test_together(const char *root)
{
	static const char third[] = "0000:04:00.0";
	struct host_want host = { "host_c", "nvidia", "", 2, 0, 0, NULL, true };
	struct fail f = { 0 };
	char path[700];

	function(root, third, "0x030000", "nvidia");
	join(root, third, 13);
	is_int(host_gpus_fix(data, root, &host, 0, &f), 0, "(no host)");
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "a host of two cards (%s)", f.text);
	is_str(had(), "0000:02:00.0 0000:04:00.0", "has those of a group, which no guest could have one of");
	is_int(host_gpus_fix(data, root, &host, 0, &f), 0, "(it goes)");
	host.count = 3;
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "one of three (%s)", f.text);
	is_str(had(), "0000:02:00.0 0000:04:00.0 0000:01:00.0", "has all");
	is_int(host_gpus_fix(data, root, &host, 0, &f), 0, "(it goes)");
	host.count = 1;
	is_int(host_gpus_fix(data, root, &host, 1, &f), 0, "one of one (%s)", f.text);
	is_str(had(), "0000:01:00.0", "has that which is alone");
	is_int(host_gpus_fix(data, root, &host, 0, &f), 0, "(it goes)");
	leave(root, third, 13);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/vendor", root, third);
	unlink(path);
}

static void test_no_host(const char *root)
{
	struct host_want want = { "host_a", "nvidia", "", 1, 0, 0, NULL, true };
	struct fail f = { 0 };

	is_int(host_gpus_fix(data, root, &want, 1, &f), -ENODEV, "without an IOMMU the host has none");
	has_str(f.text, "this machine has none for it: the IOMMU is off: turn on", "and its owner reads what to do");
}

static void test_inventory(const char *root, bool devices, long long cards, const char *note)
{
	struct inventory_setup s = { .root = root, .nvml = "", .driver = "vm", .devices = true, .functions = true };
	struct inventory *v = NULL;
	const char *why;
	bool told = !note;
	struct buf b;
	json_t *j, *capacity;

	buf_init(&b, INVENTORY_JSON_MAX);
	is_int(inventory_read(&s, &v) || inventory_json(v, &b), 0, "(an inventory)");
	j = json_loads(buf_text(&b), 0, NULL);
	capacity = json_object_get(j, "capacity");
	is_int(json_is_true(json_object_get(capacity, "devices")), devices,
		devices ? "the market hears that guests can have GPUs" : "the market hears that guests have no GPUs");
	is_int(json_integer_value(json_object_get(json_array_get(json_object_get(capacity, "gpus"), 0), "count")),
		cards, "how many");
	why = json_string_value(json_object_get(capacity, "no_gpus"));
	ok(devices ? !why : why && strstr(note, why), "and why not");
	for (size_t i = 0; note && i < v->note_count; i++)
		told = told || strstr(v->notes[i], note);
	ok(told, "and the owner %s", note ? note : "has nothing to read");
	json_decref(j);
	buf_release(&b);
	free(v);
}

/* ---- Lending -------------------------------------------------------------------------------- */

/* As the agent does; kill: it is killed before anything of the card changes. */
static int take_until(const char *root, const char *node, bool kill, struct node_devices *d, struct fail *f)
{
	const struct host_taker who = { .host = "host_a", .node = node, .guest = true };
	char path[700];
	int rc;

	snprintf(path, sizeof path, "%s/nodes", data);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/nodes/%s", data, node);
	mkdir(path, 0700);
	devices_release(d);
	*f = (struct fail){ 0 };
	rc = host_gpus_take(data, root, &who, d, f);
	return rc || kill ? rc : guest_gpus_take(data, root, node, d, f);
}

static int take(const char *root, const char *node, struct node_devices *d, struct fail *f)
{
	return take_until(root, node, false, d, f);
}

static const json_t *element_of(const json_t *list, const char *address)
{
	const json_t *one, *found = NULL;
	size_t i;

	json_array_foreach(list, i, one) found = gpu_book_is(one, "address", address) ? one : found;
	return found;
}

/* Nothing of a guest is left: neither here nor in the book. */
static bool is_home(const char *root, const char *with)
{
	json_t *list = host_gpus_json(data, NULL);
	const json_t *one = element_of(list, gpu);
	bool home = one && strcmp(driver_of(root, gpu), with) == 0 && !*override_of(root, gpu) &&
		strcmp(driver_of(root, sound), "snd_hda_intel") == 0 && !*override_of(root, sound) &&
		gpu_book_is(one, "node", "") && !json_object_get(one, "functions") && !json_object_get(one, "lent") &&
		gpu_book_is(one, "quarantine", "");

	if (!home)
		diag("%s %s, kept back: '%s'", gpu, driver_of(root, gpu), gpu_book_word(one, "quarantine"));
	json_decref(list);
	return home;
}

static void test_lend(struct bus *b, struct node_devices *d)
{
	struct fail f = { 0 };
	json_t *list;
	char *said;

	is_int(take(b->root, "inst_1", d, &f), 0, "a node takes its host's card (%s)", f.text);
	ok(d->gpu_count == 1 && d->function_count == 2 && d->functions[0].group == 12 &&
			strcmp(d->functions[1].address, sound) == 0,
		"with both functions");
	is_str(driver_of(b->root, gpu), "vfio-pci", "vfio-pci has the card");
	is_str(driver_of(b->root, sound), "vfio-pci", "and its sound");
	is_str(override_of(b->root, gpu), "vfio-pci", "and no other driver may take it");
	is_str(driver_of(b->root, gpu2), "nvidia", "the other card stays");
	is_int(take(b->root, "inst_1", d, &f), 0, "again: the same (%s)", f.text);
	list = host_gpus_report(data, "inst_1");
	said = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);
	is_str(said, "[{\"count\":1,\"memory_bytes\":25769803776,\"model\":\"rtx4090\"}]", "the market is told which");
	free(said);
	json_decref(list);
	is_int(host_gpus_give_back(data, b->root, "inst_1", &f), 0, "the node ends (%s)", f.text);
	ok(bus_has_reset(b, gpu), "the card is reset");
	ok(!bus_has_reset(b, gpu2), "and no other");
	ok(is_home(b->root, "nvidia"), "and its drivers have it again");
}

static void test_before(struct bus *b, struct node_devices *d)
{
	char path[700], text[60] = "";
	struct fail f;

	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/driver", b->root, gpu);
	unlink(path);
	is_int(take(b->root, "inst_2", d, &f), 0, "a card without a driver (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_2", &f), 0, "(its node ends)");
	ok(is_home(b->root, ""), "has none again");
	put(b->root, gpu, "driver_override", "vfio-pci");
	bus_drives(b->root, gpu, "vfio-pci");
	is_int(take(b->root, "inst_2", d, &f), 0, "a card that its owner keeps for guests (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_2", &f), 0, "(its node ends)");
	is_str(driver_of(b->root, gpu), "vfio-pci", "stays so");
	is_str(override_of(b->root, gpu), "vfio-pci", "with its owner's override");
	put(b->root, sound, "driver_override", "vfio-pci");
	bus_drives(b->root, sound, "vfio-pci");
	is_int(take(b->root, "inst_2", d, &f), 0, "one with all its functions (%s)", f.text);
	tree_put(b->root, "dev/vfio/12", "a user of the node may open it");
	is_int(host_gpus_give_back(data, b->root, "inst_2", &f), 0, "(its node ends)");
	snprintf(path, sizeof path, "%s/dev/vfio/12", b->root);
	sysfs_text(path, text, sizeof text);
	is_str(text, "new", "is nobody's: the kernel has made its device file anew");
	put(b->root, sound, "driver_override", "(null)");
	bus_drives(b->root, sound, "snd_hda_intel");
	unlink(path);
	put(b->root, gpu, "driver_override", "(null)");
	bus_drives(b->root, gpu, "nvidia");
	bus_has_reset(b, gpu);
}

/* vfio-pci takes the card and not its sound: no guest ever had it, so it goes back as it is. */
static void test_half(struct bus *b, struct node_devices *d)
{
	struct fail f;

	is_int(take_until(b->root, "inst_3", true, d, &f), 0, "killed before a card changes (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_3", &f), 0, "(the node ends)");
	ok(!bus_has_reset(b, gpu) && is_home(b->root, "nvidia"), "it is nobody's, and nothing happened to it");
	snprintf(b->orders->refused, sizeof b->orders->refused, "%s", sound);
	is_int(take(b->root, "inst_3", d, &f), -EIO, "a bind fails half-way");
	has_str(f.text, "'vfio-pci' does not take 0000:01:00.1", "and says which");
	is_str(driver_of(b->root, gpu), "vfio-pci", "(the card is lent already)");
	b->orders->refused[0] = '\0';
	is_int(host_gpus_give_back(data, b->root, "inst_3", &f), 0, "the node fails");
	ok(is_home(b->root, "nvidia"), "and all has its driver again");
	ok(!bus_has_reset(b, gpu), "without a reset");
	snprintf(b->orders->refused, sizeof b->orders->refused, "%s", sound);
	is_int(take(b->root, "inst_3", d, &f), -EIO, "(a bind fails half-way)");
	b->orders->refused[0] = '\0';
	put(b->root, sound, "vendor", "0xffff");
	is_int(take(b->root, "inst_3", d, &f), 0, "a function that is gone when it is tried again (%s)", f.text);
	put(b->root, sound, "vendor", "0x10de");
	is_int(host_gpus_give_back(data, b->root, "inst_3", &f), 0, "(the node ends)");
	is_str(driver_of(b->root, gpu), "nvidia", "changes nothing about the driver that the card had first");
	is_str(override_of(b->root, gpu), "", "nor about its override");
	put(b->root, sound, "driver_override", "(null)");
	bus_drives(b->root, sound, "snd_hda_intel");
	bus_has_reset(b, gpu);
	join(b->root, nic, 12);
	is_int(take(b->root, "inst_3", d, &f), -EBUSY, "a card that came into the group since");
	has_str(f.text, "(network, driver igb)", "is named");
	leave(b->root, nic, 12);
	is_int(host_gpus_give_back(data, b->root, "inst_3", &f), 0, "(the node fails)");
	bus_has_reset(b, gpu);
	ok(is_home(b->root, "nvidia"), "and nothing has changed");
}

static void test_kept_back(struct bus *b, struct node_devices *d)
{
	char path[700], away[720], text[300] = "";
	struct fail f;

	is_int(take(b->root, "inst_4", d, &f), 0, "(a node: %s)", f.text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/drivers/nvidia/bind", b->root);
	snprintf(away, sizeof away, "%s.away", path);
	rename(path, away);
	is_int(host_gpus_give_back(data, b->root, "inst_4", &f), 0, "a driver that is gone meanwhile");
	ok(host_gpus_problem(data, text, sizeof text), "the card is kept back");
	has_str(text, "cannot give 0000:01:00.0 back to nvidia", "and its owner reads why");
	is_str(driver_of(b->root, sound), "snd_hda_intel", "its sound is back");
	rename(away, path);
	is_int(host_gpus_release(data, gpu, &f), 0, "(its owner has loaded that driver)");
	is_int(take(b->root, "inst_4", d, &f), 0, "the next node takes it (%s)", f.text);
	is_int(host_gpus_give_back(data, b->root, "inst_4", &f), 0, "(and ends)");
	ok(is_home(b->root, "nvidia"), "after which it has the driver again that it had first");
	bus_has_reset(b, gpu);
	is_int(take(b->root, "inst_4", d, &f), 0, "(a node: %s)", f.text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/drivers/vfio-pci", b->root);
	snprintf(away, sizeof away, "%s.away", path);
	ok(rename(path, away) == 0, "(the machine was started again: nobody has loaded vfio-pci)");
	is_int(host_gpus_give_back(data, b->root, "inst_4", &f), 0, "where that cannot be loaded");
	ok(host_gpus_problem(data, text, sizeof text) && strstr(text, "'modprobe vfio-pci' has to load it"),
		"the owner reads so");
	rename(away, path);
	is_int(host_gpus_release(data, gpu, &f), 0, "(it is)");
	is_int(take(b->root, "inst_4", d, &f), 0, "(a node: %s)", f.text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/reset_method", b->root, gpu);
	put(b->root, gpu, "reset_method", "pm");
	is_int(host_gpus_give_back(data, b->root, "inst_4", &f), 0,
		"a card that only sleep resets, below a broken VFIO");
	ok(!bus_has_reset(b, gpu) && host_gpus_problem(data, text, sizeof text), "is kept back");
	has_str(text, "/dev/vfio/vfio", "and its owner reads why");
	is_str(driver_of(b->root, gpu), "nvidia", "with its own driver");
	is_int(host_gpus_release(data, gpu, &f), 0, "(its owner repaired it)");
	unlink(path);
	is_int(take(b->root, "inst_4", d, &f), 0, "(a node: %s)", f.text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/reset", b->root, gpu);
	snprintf(away, sizeof away, "%s.away", path);
	ok(rename(path, away) == 0 && mkdir(path, 0700) == 0, "(the kernel refuses to reset it alone)");
	is_int(host_gpus_give_back(data, b->root, "inst_4", &f), 0, "a card that is not alone on its bus");
	ok(host_gpus_problem(data, text, sizeof text) && strstr(text, "/dev/vfio/vfio"), "is reset with its bus");
	is_int(host_gpus_release(data, gpu, &f), 0, "(its owner repaired it)");
	ok(rmdir(path) == 0 && rename(away, path) == 0, "(the kernel resets it)");
}

/* ---- Killed --------------------------------------------------------------------------------- */

/* Does it in a child that the bus kills after so many messages; false: it came to its end before. */
static bool killed_at(struct bus *b, int after, const char *node, bool back)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		struct node_devices d = { 0 };
		struct fail f;

		b->orders->after = after;
		b->orders->victim = getpid();
		_exit(back ? host_gpus_give_back(data, b->root, node, &f) != 0 : take(b->root, node, &d, &f) != 0);
	}
	waitpid(pid, &status, 0);
	b->orders->victim = 0;
	bus_settle(b);
	return WIFSIGNALED(status);
}

static void test_kills(struct bus *b, struct node_devices *d)
{
	int at = 1, taken = 0, given = 0;
	struct fail f;

	for (; killed_at(b, at, "inst_5", false) && at < 50; at++) {
		taken += host_gpus_give_back(data, b->root, "inst_5", &f) == 0 && is_home(b->root, "nvidia");
		bus_settle(b);
	}
	ok(at > 3 && taken == at - 1, "killed at any of %d points while it takes a card: all goes back (%d)", at - 1,
		taken);
	is_int(host_gpus_give_back(data, b->root, "inst_5", &f), 0, "(the node ends)");
	for (at = 1; take(b->root, "inst_6", d, &f) == 0 && killed_at(b, at, "inst_6", true) && at < 50; at++) {
		given += host_gpus_give_back(data, b->root, "inst_6", &f) == 0 && is_home(b->root, "nvidia") &&
			bus_has_reset(b, gpu);
		bus_settle(b);
	}
	ok(at > 4 && given == at - 1, "killed at any of %d points while it gives one back: the next call does (%d)",
		at - 1, given);
	ok(is_home(b->root, "nvidia"), "and at last nothing is left");
}

/* ---- QEMU ----------------------------------------------------------------------------------- */

static void test_words(void)
{
	static const char *const addresses[] = { "0000:01:00.0", "0000:01:00.1", "0000:41:00.0" };
	struct node_devices d = { 0 };
	struct passthrough p;
	struct fail f = { 0 };
	struct buf b;

	buf_init(&b, 4096);
	is_int(passthrough_words(NULL, &p, &f) || p.count, 0, "a guest without GPUs needs no words");
	for (size_t i = 0; i < 3; i++) {
		struct device_function n = { .group = 12, .space = i == 1 ? 16384 * 2 : (uint64_t)128 << 30 };

		snprintf(n.address, sizeof n.address, "%s", addresses[i]);
		devices_add_function(&d, &n);
	}
	is_int(passthrough_words(&d, &p, &f), 0, "two GPUs (%s)", f.text);
	for (size_t i = 0; i < p.count; i++)
		buf_addf(&b, "%s%s", i ? " " : "", p.text[i]);
	is_str(buf_text(&b),
		"-global q35-pcihost.pci-hole64-size=417G -fw_cfg name=etc/pci-optionrom-exec,file=noroms "
		"-device pcie-root-port,id=port0,bus=pcie.0,chassis=1,addr=8.0,hotplug=off,multifunction=on "
		"-device vfio-pci,host=0000:01:00.0,bus=port0,addr=0.0,multifunction=on "
		"-device vfio-pci,host=0000:01:00.1,bus=port0,addr=0.1 "
		"-device pcie-root-port,id=port1,bus=pcie.0,chassis=2,addr=8.1,hotplug=off "
		"-device vfio-pci,host=0000:41:00.0,bus=port1,addr=0.0",
		"each with a port of its own, and addresses for all of their memory");
	for (unsigned i = 0; i < PASSTHROUGH_SLOTS; i++) {
		struct device_function n = { .group = 13 };

		snprintf(n.address, sizeof n.address, "0000:%02x:00.0", 0x80 + i);
		devices_add_function(&d, &n);
	}
	is_int(passthrough_words(&d, &p, &f), -E2BIG, "eighteen are too many");
	devices_release(&d);
	buf_release(&b);
}

static void build(struct bus *b)
{
	const char *root = b->root;
	char path[200];

	bus_driver(b, "nvidia");
	bus_driver(b, "snd_hda_intel");
	bus_driver(b, "vfio-pci");
	bus_file(b, "sys/bus/pci/drivers_probe");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "sys/bus/pci/devices/%s/reset", i ? gpu2 : gpu);
		bus_file(b, path);
		put(root, i ? gpu2 : gpu, "driver_override", "(null)");
		bus_drives(root, i ? gpu2 : gpu, "nvidia");
	}
	function(root, sound, "0x040300", "snd_hda_intel");
	function(root, sound2, "0x040300", "snd_hda_intel");
	function(root, nic, "0x020000", "igb");
	function(root, "0000:00:01.1", "0x060400", "pcieport");
}

int main(void)
{
	struct node_devices d = { 0 };
	char root[512];
	struct bus b = { .root = root };

	plan_none;
	b.orders = mmap(NULL, sizeof *b.orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b.orders == MAP_FAILED)
		return 99;
	tree_unpack("rtx4090x2", root, sizeof root);
	snprintf(data, sizeof data, "%s/agent", root);
	mkdir(data, 0700);
	build(&b);
	bus_begin(&b, "nvidia");
	test_no_host(root);
	test_no_iommu(root);
	test_inventory(root, false, 2,
		"virtual machines get no GPUs here: the IOMMU is off: turn on VT-d in the BIOS and boot with "
		"intel_iommu=on");
	join(root, "0000:00:01.1", 12);
	join(root, gpu, 12);
	join(root, sound, 12);
	join(root, gpu2, 13);
	join(root, sound2, 13);
	test_groups(root);
	test_inventory(root, true, 2, NULL);
	join(root, nic, 13);
	test_inventory(root, true, 1, "shares IOMMU group 13 with 0000:03:00.0");
	leave(root, nic, 13);
	test_together(root);
	test_hosts(root);
	test_lend(&b, &d);
	test_before(&b, &d);
	test_half(&b, &d);
	test_kept_back(&b, &d);
	test_kills(&b, &d);
	test_words();
	devices_release(&d);
	bus_end(&b);
	tree_remove(root);
	return done();
}
