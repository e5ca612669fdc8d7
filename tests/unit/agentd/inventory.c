/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory of five machines from their trees, of broken trees, and what each machine is sold as. */
#include <errno.h>

#include "agentd/machine/capacity.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/sysfs.h"
#include "inventorytree.h"

#define FAKE "./tests/lib/.libs/fakenvml.so"

static char root[1024];

static struct inventory *read_tree(const char *name, const char *nvml)
{
	struct inventory *v = NULL;

	tree_unpack(name, root, sizeof root);
	is_int(inventory_read(&(struct inventory_setup){ .root = root, .nvml = nvml }, &v), 0, "%s is read", name);
	return v;
}

static void sold_as(const struct inventory *v, int64_t nodes, const char *want)
{
	struct inventory_kind k;
	struct fail why = { 0 };
	char text[128];

	if (inventory_kind(v, nodes, &k, &why))
		snprintf(text, sizeof text, "%.120s", why.text);
	else
		inventory_kind_text(&k, text, sizeof text);
	is_str(text, want, "as %d node(s) it is %s", (int)nodes, want);
}

static bool noted(const struct inventory *v, const char *part)
{
	for (size_t i = 0; i < v->note_count; i++)
		if (strstr(v->notes[i], part))
			return true;
	return false;
}

static void test_h100(void)
{
	struct inventory *v = read_tree("h100-sxm8", NULL);
	const struct gpu *g = &v->gpus[0];
	struct buf b;

	is_str(v->cpu.model, "Intel(R) Xeon(R) Platinum 8480C", "its processor");
	is_int(v->cpu.threads, 224, "threads");
	is_int(v->cpu.cores, 112, "cores");
	is_int(v->cpu.sockets, 2, "sockets");
	is_int(v->memory, 2113432100LL * 1024, "memory");
	is_str(v->kernel, "5.15.0-1042-nvidia", "kernel");
	is_int(v->cgroup, 2, "cgroup v2");
	is_int(v->iommu_groups, 40, "IOMMU groups");
	is_int(v->numa_nodes, 2, "NUMA nodes");
	is_int(v->gpu_count, 8, "eight GPUs: neither the switches nor the console's graphics are some");
	is_str(g->pci.address, "0000:1b:00.0", "in the order of the bus");
	is_str(g->name, "NVIDIA H100 80GB HBM3", "named by the driver");
	is_str(g->market, "h100", "as the market calls it");
	is_str(g->form_factor, "sxm", "its form");
	is_int(g->memory, 80LL << 30, "memory as the table knows it: the driver's files do not tell");
	is_str(g->memory_from, "table", "and it says so");
	ok(g->pci.gen == 5 && g->pci.gen_max == 5 && g->pci.width == 16 && g->pci.width_max == 16, "its link");
	is_int(g->pci.bar_max, 128LL << 30, "the largest BAR");
	ok(g->pci.numa == 0 && g->pci.iommu_group == 7 && g->pci.sriov_total == 16 && g->pci.sriov_now == 0,
		"NUMA, IOMMU group, SR-IOV");
	is_str(g->uuid, "GPU-00000000-0000-4000-8000-000000000001", "its UUID");
	is_str(g->driver_version, "535.129.03", "its driver's version");
	ok(v->disk_count == 2 && v->disks[0].bytes == 7501476528LL * 512 && v->disks[0].rotational == 0,
		"two disks; loops are none");
	is_str(v->disks[1].model, "SAMSUNG MZQL23T8HCLS-00A07", "a disk's model, without the blanks behind it");
	is_int(v->nic_count, 2, "two network cards; lo and bridges are none");
	is_str(v->nics[1].rdma, "infiniband", "one has InfiniBand");
	is_int(v->nics[1].speed, 400 * 1000, "whose speed is told there");
	sold_as(v, 1, "8x h100 sxm");
	sold_as(v, 2, "4x h100 sxm");
	sold_as(v, 3, "8 GPUs do not divide into 3 nodes");
	buf_init(&b, INVENTORY_JSON_MAX);
	is_int(inventory_json(v, &b), 0, "JSON");
	has_str(buf_text(&b),
		"\"sold_as\":\"8x h100 sxm\",\"accelerator\":\"h100\",\"form_factor\":\"sxm\",\"num_accelerators\":8",
		"with its kind");
	lacks_str(buf_text(&b), "GPU-0000", "without serial numbers");
	has_str(buf_text(&b), "\"network\":true", "that its driver limits the network is said, too");
	has_str(buf_text(&b), "\"node_memory_bytes\":0", "and that it takes nothing beside nodes");
	buf_clear(&b);
	is_int(inventory_text(v, &b), 0, "text");
	has_str(buf_text(&b),
		"gpu      0000:1b:00.0  h100: NVIDIA H100 80GB HBM3, sxm, 80 GiB, PCIe 5.0 x16 of 5.0 x16",
		"a GPU's line");
	has_str(buf_text(&b), "sold as  8x h100 sxm\n", "and its kind");
	buf_release(&b);
	free(v);
	tree_remove(root);
}

static void test_amd(void)
{
	struct inventory *v = read_tree("mi300x8", NULL);
	const struct gpu *g = &v->gpus[7];

	is_int(v->gpu_count, 8, "eight");
	is_str(g->name, "AMD Instinct MI300X OAM", "named by the driver");
	is_str(g->market, "mi300x", "as the market calls it");
	is_int(g->memory, 206141652992LL, "memory by the driver, not by the table");
	is_int(g->memory_used, 297127936, "of which is used");
	is_str(g->partition, "SPX/NPS1", "how it is partitioned");
	is_int(g->power_limit, 750 * 1000, "power limit");
	is_int(g->power, 137 * 1000, "power");
	is_int(g->temperature, 41 * 1000, "temperature");
	is_int(g->uncorrected, 0, "no errors that could not be corrected");
	is_str(v->nics[0].rdma, "roce", "RoCE");
	sold_as(v, 1, "8x mi300x oam");
	free(v);
	tree_remove(root);
}

static void test_intel(void)
{
	struct inventory *v = read_tree("arc-a770x2", NULL);

	is_int(v->gpu_count, 3, "two cards and the processor's own");
	ok(v->gpus[0].integrated && !v->gpus[1].integrated && !v->gpus[2].integrated, "which is told apart");
	is_str(v->gpus[0].market, "intel-8086:4680", "and goes by its ids: the table has it not");
	is_int(v->gpus[1].memory, 16LL << 30, "memory of a card is its BAR");
	is_str(v->gpus[1].memory_from, "bar", "and it says so");
	is_int(v->gpus[1].power_limit, 190 * 1000, "power limit");
	is_int(v->cpu.cores, 10, "cores of two kinds");
	is_int(v->disk_count, 1, "an empty drive is no disk");
	sold_as(v, 1, "2x arca770 pcie");
	free(v);
	tree_remove(root);
}

static void test_home(void)
{
	struct inventory *v = read_tree("rtx4090x2", FAKE);
	const struct gpu *a = &v->gpus[0], *b = &v->gpus[1];

	is_int(v->gpu_count, 3, "two cards and the processor's own");
	ok(v->gpus[2].integrated, "AMD's too is told apart");
	ok(!a->asleep && b->asleep, "one sleeps");
	is_str(a->name_from, "driver", "the one awake is named by its driver");
	is_str(b->name_from, "table", "the one asleep by the table: nothing of its driver is read");
	ok(noted(v, "'0000:02:00.0' is asleep and was not woken"), "which is noted");
	is_int(a->temperature, GPU_UNKNOWN, "NVIDIA's library is not asked while one sleeps");
	ok(a->pci.width_slot == 16 && b->pci.width_slot == 8 && b->pci.width == 8, "the slot's lanes");
	is_int(b->pci.bar_max, 256 << 20, "no large BAR there");
	is_int(v->iommu_groups, 0, "no IOMMU");
	ok(v->disk_count == 2 && v->disks[1].rotational == 1, "a disk that turns");
	sold_as(v, 1, "2x rtx4090 pcie");
	sold_as(v, 2, "1x rtx4090 pcie");
	free(v);
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power/runtime_status", "active");
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power_state", "D0");
	setenv("FAKE_NVML", "good", 1);
	inventory_read(&(struct inventory_setup){ .root = root, .nvml = FAKE }, &v);
	is_int(v->gpus[0].memory, 24564LL << 20, "awake, its memory is what NVIDIA's library says");
	is_str(v->gpus[0].memory_from, "nvml", "and it says so");
	ok(v->gpus[1].temperature == 35 * 1000 && v->gpus[1].power_limit == 450 * 1000, "temperature and limit too");
	free(v);
	setenv("FAKE_NVML", "hang", 1);
	inventory_read(&(struct inventory_setup){ .root = root, .nvml = FAKE, .deadline_ms = 300 }, &v);
	ok(v->gpu_count == 3 && noted(v, "no answer within"),
		"where it hangs, all the rest is there, and that is noted");
	free(v);
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/device", "0x2204");
	inventory_read(&(struct inventory_setup){ .root = root, .nvml = "" }, &v);
	sold_as(v, 1, "its GPUs differ: 'rtx4090' at 0000:01:00.0 and 'rtx3090' at 0000:02:00.0");
	free(v);
	tree_remove(root);
}

static int shares(const char *mode, const char *model)
{
	const struct inventory_setup setup = { .root = root, .nvml = "", .shares = true };
	struct inventory *v;
	int is;

	setenv("FAKE_NVML", mode, 1);
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/device", model);
	if (inventory_read(&setup, &v))
		return 99;
	is = v->shares;
	free(v);
	return is;
}

/* Can it sell shares? Where one GPU does not tell who holds its memory, that depends on which. */
static void test_shares(void)
{
	static const char good[] = "0x2684", old[] = "0xffff";
	char from[2048], here[1024];

	tree_unpack("rtx4090x2", root, sizeof root);
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power/runtime_status", "active");
	tree_put(root, "sys/bus/pci/devices/0000:02:00.0/power_state", "D0");
	snprintf(from, sizeof from, "-> %s/" FAKE, getcwd(here, sizeof here));
	tree_put(root, "lib/libnvidia-ml.so.1", from);
	snprintf(from, sizeof from, "%s/state", root);
	setenv("FAKE_NVML_STATE", from, 1);
	tree_put(root, "state/processes", "");
	is_int(shares("good", good), 1, "two GPUs that tell");
	is_int(shares("sizeless", good), 0, "one of two that are sold does not tell its memory");
	is_int(shares("sizeless", old), 1, "an old card that does not is nobody's harm");
	tree_put(root, "state/processes", "1 12 -1");
	is_int(shares("good", good), 0, "one of two that are sold does not tell of processes");
	is_int(shares("good", old), 1, "an old card that does not is nobody's harm, either");
	is_int(shares("blind", old), 0, "none tells");
	tree_put(root, "state/down", "");
	is_int(shares("good", good), -1, "a driver that does not answer may do so later");
	unsetenv("FAKE_NVML_STATE");
	tree_remove(root);
}

static void test_cpu(void)
{
	struct inventory *v = read_tree("cpu-only", NULL);

	is_int(v->gpu_count, 0, "a machine without any");
	is_int(v->cgroup, 1, "cgroup v1");
	is_int(v->nics[0].speed, GPU_UNKNOWN, "a speed of -1 is not known");
	sold_as(v, 1, "0x none");
	sold_as(v, 4, "0x none");
	free(v);
	tree_remove(root);
}

/* Unreadable or senseless values are absent and noted; none becomes a number. */
static void test_broken(void)
{
	struct inventory *v = read_tree("h100-sxm8", NULL);
	struct buf b;

	free(v);
	tree_put(root, "proc/meminfo", "MemTotal:       -5 kB");
	tree_put(root, "sys/devices/system/cpu/online", "0-99999999999");
	tree_put(root, "sys/block/nvme0n1/size", "-1");
	tree_put(root, "sys/block/nvme1n1/size", "99999999999999999999");
	tree_put(root, "sys/bus/pci/devices/0000:1b:00.0/vendor", "0xffff");
	tree_put(root, "sys/bus/pci/devices/0000:43:00.0/current_link_width", "255");
	tree_put(root, "sys/bus/pci/devices/0000:43:00.0/current_link_speed", "Unknown");
	tree_put(root, "sys/bus/pci/devices/0000:43:00.0/numa_node", "-1");
	tree_put(root, "sys/bus/pci/devices/0000:43:00.0/device", "0x9999");
	tree_put(root, "proc/driver/nvidia/gpus/0000:43:00.0/information", "Model: \t evil\x1b[31m\nGPU UUID: \t x");
	tree_put(root, "proc/sys/kernel/osrelease", "");
	inventory_read(&(struct inventory_setup){ .root = root }, &v);
	is_int(v->memory, GPU_UNKNOWN, "memory below zero is not known");
	is_int(v->cpu.threads, GPU_UNKNOWN, "nor is an absurd number of processors");
	is_int(v->disk_count, 0, "nor are disks of such sizes");
	ok(noted(v, "cannot read the memory") && noted(v, "number of processors") && noted(v, "'nvme1n1'") &&
			noted(v, "kernel's version"),
		"all noted");
	is_int(v->gpu_count, 7, "a GPU that fell off the bus is none");
	ok(v->gpus[0].pci.width == 0 && v->gpus[0].pci.gen == 0 && v->gpus[0].pci.numa == -1,
		"a link and a node that make no sense are not known");
	is_str(v->gpus[0].market, "nvidia-10de:9999", "one that the table has not goes by its ids");
	is_int(v->gpus[0].memory, GPU_UNKNOWN, "and its memory is not known");
	is_str(v->gpus[0].name, "evil?[31m", "control bytes do no harm");
	sold_as(v, 1, "its GPUs differ: 'nvidia-10de:9999' at 0000:43:00.0 and 'h100' at 0000:52:00.0");
	buf_init(&b, INVENTORY_JSON_MAX);
	is_int(inventory_json(v, &b), 0, "JSON");
	lacks_str(buf_text(&b), "\"memory\":-", "has nothing below zero");
	has_str(buf_text(&b), "\"not_sold_because\"", "and says why it is not sold");
	buf_release(&b);
	free(v);
	tree_remove(root);
	is_int(inventory_read(&(struct inventory_setup){ .root = root }, &v), 0, "an empty root is read too");
	ok(v->gpu_count == 0 && noted(v, "the number of GPUs is unknown"), "and says that it saw nothing");
	free(v);
}

static void test_match(void)
{
	static const struct inventory_sku skus[] = {
		{ "a", "any8", NULL, NULL, 8 },
		{ "b", "h100-4", "h100", "sxm", 4 },
		{ "c", "richmond", "H100", NULL, 8 },
		{ "d", "paris", "h100", "sxm", 8 },
		{ "e", "oslo", "h100", "pcie", 8 },
		{ "f", "cpu", NULL, NULL, 0 },
	};
	struct inventory_kind k = { "h100", "sxm", 8 };

	is_int(inventory_match(&k, skus, 6), 3, "the one that says most, all of it true");
	is_int(inventory_match(&k, skus, 3), 2, "without it the one that says less");
	is_int(inventory_match(&k, skus, 2), -1, "one that says nothing of the accelerator fits none");
	k.form_factor[0] = '\0';
	is_int(inventory_match(&k, skus, 6), 2, "where the form is not known, the first that says the accelerator");
	k = (struct inventory_kind){ .accelerator = "none" };
	is_int(inventory_match(&k, skus, 6), 5, "a machine without GPU is a node without");
	k.gpus = 2;
	is_int(inventory_match(&k, skus, 6), -1, "nothing fits");
}

static void test_sysfs(void)
{
	char path[SYSFS_PATH], text[32];
	int64_t n = 7;

	tree_unpack("cpu-only", root, sizeof root);
	tree_put(root, "list", "0-3,8,10-11");
	ok(sysfs_count(sysfs_path(path, root, "/list"), 100, &n) && n == 7, "a list of ranges");
	tree_put(root, "list", "3-0");
	ok(!sysfs_count(path, 100, &n), "one that goes backwards is none");
	tree_put(root, "list", "1,");
	ok(!sysfs_count(path, 100, &n), "nor one that breaks off");
	tree_put(root, "list", "12abc");
	ok(!sysfs_int(path, 0, 100, &n), "12abc is no number");
	tree_put(root, "list", "0x1f");
	ok(sysfs_int(path, 0, 100, &n) && n == 31, "0x1f is");
	ok(!sysfs_int(path, 0, 30, &n), "within its bounds");
	ok(!sysfs_text(sysfs_path(path, root, "/nothing"), text, sizeof text) && !*text, "a file that is not there");
	is_str(sysfs_path(path, root, "/%0600d", 1), "", "a path that is too long is none");
	tree_remove(root);
}

static void test_shrank(void)
{
	static const char had[] = "{\"capacity\":{\"vcpus\":8,\"disk_bytes\":6400,\"gpus\":[{\"count\":2}]}}";

	ok(!capacity_shrank(NULL, had) && !capacity_shrank(had, had), "nothing is less than before");
	ok(!capacity_shrank(had, "{\"capacity\":{\"vcpus\":8,\"disk_bytes\":6300,\"gpus\":[{\"count\":2}]}}"),
		"a little less disk is no news");
	ok(capacity_shrank(had, "{\"capacity\":{\"vcpus\":8,\"disk_bytes\":6200,\"gpus\":[{\"count\":2}]}}"),
		"much less is");
	ok(capacity_shrank(had, "{\"capacity\":{\"gpus\":[{\"count\":1}]}}"), "so is a GPU less");
	ok(!capacity_shrank(had, "{\"capacity\":{\"gpus\":[{\"count\":2}]}}") && !capacity_shrank(had, "{}") &&
			!capacity_shrank(had, "x"),
		"what is unknown is not less");
}

int main(void)
{
	plan_none;
	test_shrank();
	test_h100();
	test_amd();
	test_intel();
	test_home();
	test_shares();
	test_cpu();
	test_broken();
	test_match();
	test_sysfs();
	return done();
}
