/* SPDX-License-Identifier: Apache-2.0 */
/* From the market's word to a driver: a host's GPU reaches its node and goes back, and needs a driver that can. */
#include <jansson.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agentd/device/host_gpus.h"
#include "agentd/market/work.h"
#include "agentd/roster.h"
#include "agentd/step_child.h"
#include "inventorytree.h"

enum { SEEN = DEVICES_PATH };

static char *seen; /* shared with the children that do the steps */

static int step_make(const struct node_spec *n, struct fail *f)
{
	(void)f;
	snprintf(seen, SEEN, "%s", n->devices ? n->devices->nodes[0].inside : "none");
	return 0;
}

static const struct driver step_driver = {
	.name = "step", .devices = DEVICES_NODES, .create = step_make, .start = step_make, .destroy = step_make
};

static int guest_make(const struct node_spec *n, struct fail *f)
{
	(void)f;
	snprintf(seen, SEEN, "%s", n->devices ? n->devices->functions[0].address : "none");
	return 0;
}

static int guest_probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	(void)s;
	(void)f;
	*holds = HOLDS_KERNEL;
	return 0;
}

static const struct driver guest_driver = {
	.name = "guest", .about = "a guest", .devices = DEVICES_FUNCTIONS, .probe = guest_probe, .create = guest_make
};

/* As workers.c does: a step holds the node's lock until its process ends. */
static int step_run(struct step_child *h, enum step step)
{
	int status = 0;
	pid_t pid = fork();

	h->step = step;
	if (pid == 0) {
		struct fail f = { 0 };
		int rc = step_child_do(h, NULL, &f);

		if (rc)
			snprintf(seen, SEEN, "%.250s", f.text);
		_exit(rc != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static const char text[] =
	"{\"object\":\"work\",\"version\":\"1\",\"now\":1800000000,\"agent\":{\"id\":\"agt_1\",\"name\":\"m\"},"
	"\"hosts\":[{\"id\":\"host_1\",\"type\":\"h\",\"name\":\"a\",\"resources\":{\"gpu\":{\"vendor\":\"intel\","
	"\"count\":1}}}],"
	"\"nodes\":[{\"id\":\"inst_1\",\"host\":\"host_1\",\"tenant\":\"acct_1\",\"status\":\"pending\",\"name\":\"n\"}"
	"]}";

static void test_refused(const struct work *w, const char *data, const struct driver_setup *setup, bool devices)
{
	struct log log = { .level = LOG_ERROR };
	struct room room = { .data = data, .sysfs_root = setup->sysfs_root, .log = &log };
	struct roster r = { .data = data, .log = &log, .setup = setup, .room = &room };
	struct roster_share share = { .driver = "step", .devices = devices };

	struct fail f = { 0 };

	is_int(room_load(&room, &f), 0, "what is promised is known (%s)", f.text);
	room_take(&room, w, roster_has, &r);
	roster_take(&r, w, &share, 1800000000);
	is_int(r.count, 1, "the market wants a node");
	if (r.count) {
		is_int(r.nodes[0]->life, devices ? LIFE_PENDING : LIFE_FAILED,
			devices ? "a driver can" : "this cannot");
		is_str(r.nodes[0]->message, devices ? "" : "this host's driver gives nodes no GPUs", "and says why");
		roster_forget(&r, r.nodes[0]);
	}
	roster_release(&r);
	room_release(&room);
}

static void test_report(const char *data)
{
	json_t *list = host_gpus_report(data, "inst_1"), *none = host_gpus_report(data, "inst_2");
	char *said = json_dumps(list, JSON_COMPACT | JSON_SORT_KEYS);

	is_str(said, "[{\"count\":1,\"model\":\"arca770\"}]",
		"the market is told which, without the memory that nobody knows");
	is_int(json_array_size(none), 0, "and of a node without, none");
	free(said);
	json_decref(list);
	json_decref(none);
}

static void test_step(const struct driver_setup *setup, const char *root)
{
	struct node *n = node_new("inst_1");
	struct step_child h;
	struct fail f = { 0 };
	char path[700], reset[16] = "";
	FILE *file;

	snprintf(n->host, sizeof n->host, "host_1");
	node_folder(setup->data, n->id, &f);
	is_int(step_child_init(&h, n, NULL, setup), 0, "(a step)");
	h.driver = &step_driver;
	h.gpus = 2;
	ok(step_run(&h, STEP_CREATE) != 0, "a host with one GPU makes no node that was promised two");
	is_str(seen, "its type promises 2 GPUs, and this host has 1", "(nor asks its driver)");
	h.gpus = 1;
	is_int(step_run(&h, STEP_CREATE), 0, "it is made");
	is_str(seen, "/dev/dri/renderD128", "with its host's GPU");
	test_report(setup->data);
	is_int(step_run(&h, STEP_DESTROY), 0, "it ends");
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:03:00.0/reset", root);
	file = fopen(path, "re");
	ok(file && fgets(reset, sizeof reset, file) && reset[0] == '1', "the GPU is reset");
	if (file)
		fclose(file);
	node_forget(setup->data, n->id);
	node_free(n);
}

/* What `drivers` prints of the driver that makes guests; free() it. */
static char *said_of_guests(const struct driver_setup *setup)
{
	static const struct driver *const all[] = { &guest_driver, NULL };
	size_t size = 0;
	char *said = NULL;
	FILE *out = open_memstream(&said, &size);

	if (out) {
		drivers_verb(all, "guest", setup, false, out);
		fclose(out);
	}
	return said;
}

static void test_guest(const struct driver_setup *setup, const char *root)
{
	static const char at[] = "sys/bus/pci/devices/0000:03:00.0";
	struct node *n = node_new("inst_2");
	struct step_child h;
	struct fail f = { 0 };
	char path[200], *said = said_of_guests(setup);

	has_str(said, "gives nodes no GPUs: the GPU at 0000:03:00.0 is in no IOMMU group",
		"without an IOMMU the list of drivers says so");
	free(said);
	snprintf(n->host, sizeof n->host, "host_2");
	node_folder(setup->data, n->id, &f);
	is_int(step_child_init(&h, n, NULL, setup), 0, "(a step)");
	h.driver = &guest_driver;
	h.gpus = 1;
	ok(step_run(&h, STEP_CREATE) != 0, "no guest with GPUs is made");
	has_str(seen, "this host has 0: the GPU at 0000:03:00.0 is in no IOMMU group", "and its owner reads why");
	h.host = "host_1";
	ok(step_run(&h, STEP_CREATE) != 0, "nor where the host has one from before");
	has_str(seen, "the GPU at 0000:03:00.0 is in no IOMMU group", "for the same reason");
	snprintf(path, sizeof path, "%s/iommu_group", at);
	tree_put(root, path, "-> ../../../../kernel/iommu_groups/7");
	snprintf(path, sizeof path, "%s/driver", at);
	tree_put(root, path, "-> ../../../../bus/pci/drivers/vfio-pci");
	snprintf(path, sizeof path, "%s/driver_override", at);
	tree_put(root, path, "(null)");
	tree_put(root, "sys/bus/pci/drivers/vfio-pci/", "");
	tree_put(root, "sys/kernel/iommu_groups/7/devices/0000:03:00.0", "");
	is_int(step_run(&h, STEP_CREATE), 0, "with an IOMMU it is made");
	is_str(seen, "0000:03:00.0", "with its host's GPU as a function of the bus");
	said = said_of_guests(setup);
	ok(said && !strstr(said, "GPUs"), "and the list of drivers says nothing");
	free(said);
	node_forget(setup->data, n->id);
	node_free(n);
}

int main(void)
{
	struct driver_setup setup = { .prefix = "step", .listen = "127.0.0.1", .first_port = 40000 };
	struct host_want want = { "host_1", "intel", "", 1, 0, 0, NULL, false };
	char root[512], data[600], path[1200];
	struct work *w = NULL;
	struct fail f = { 0 };

	plan_none;
	seen = mmap(NULL, SEEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return 99;
	tree_unpack("arc-a770x2", root, sizeof root);
	tree_put(root, "sys/bus/pci/devices/0000:03:00.0/drm/renderD128/dev", "226:128");
	tree_put(root, "sys/bus/pci/devices/0000:03:00.0/reset", "");
	tree_put(root, "sys/bus/pci/drivers_probe", "");
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices/0000:03:00.0/driver", root);
	unlink(path); /* a tree has no kernel that could unbind it */
	snprintf(data, sizeof data, "%s/agent", root);
	snprintf(path, sizeof path, "%s/nodes", data);
	ok(mkdir(data, 0700) == 0 && mkdir(path, 0700) == 0, "(a folder)");
	setup.data = data;
	setup.sysfs_root = root;
	is_int(work_parse(text, strlen(text), &w, &f), 0, "the market's word is read (%s)", f.text);
	if (w) {
		is_int(w->hosts[0].contract.gpus, 1, "its host has a GPU");
		test_refused(w, data, &setup, false);
		test_refused(w, data, &setup, true);
	}
	is_int(host_gpus_fix(data, root, &want, 1, &f), 0, "the host gets it (%s)", f.text);
	test_step(&setup, root);
	test_guest(&setup, root);
	work_free(w);
	tree_remove(root);
	return done();
}
