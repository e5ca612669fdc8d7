/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a node of the driver vm in /data, as the agent's children do it: for vfio.sh, on a machine of its own. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agentd/device/host_gpus.h"
#include "agentd/node_journal.h"
#include "agentd/os/spawn.h"
#include "agentd/step_child.h"
#include "base/file.h"

#define DATA "/data"

static const struct driver *const all[] = { &driver_vm, NULL };

/* A guest that is emulated by an emulated processor does not come up while the driver waits: agentd/vm/accel.c. */
static int vfiostep_emulated(void)
{
	char boot[64] = "", path[200], line[300];
	struct stat st, kvm = { .st_mode = 0 };
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(boot, 37, f) || !spawn_find("qemu-system-x86_64", path, sizeof path) || stat(path, &st) != 0)
		return 1;
	fclose(f);
	(void)!stat("/dev/kvm", &kvm);
	snprintf(line, sizeof line, "%s %lld.%lld.%o.%u tcg\n", boot, (long long)st.st_mtime, (long long)st.st_size,
		(unsigned)kvm.st_mode, (unsigned)kvm.st_gid);
	mkdir(DATA "/vm", 0700);
	return file_replace(DATA "/vm/accel", line, strlen(line), 0600) != 0;
}

/* Each host gets one GPU. */
static int vfiostep_fix(char **hosts, int count)
{
	struct host_want want[8] = { 0 };
	struct fail f = { 0 };
	int rc;

	for (int i = 0; i < count && i < 8; i++)
		want[i] = (struct host_want){ .host = hosts[i], .vendor = "", .model = "", .count = 1, .guests = true };
	rc = host_gpus_fix(DATA, "", want, (size_t)count, &f);
	printf("%s\n", rc ? f.text : "each host has a GPU");
	return rc != 0;
}

static int vfiostep_show(void)
{
	struct fail f = { 0 };
	json_t *list = host_gpus_json(DATA, &f);
	char *text = json_dumps(list, JSON_COMPACT);

	printf("%s\n", text ? text : f.text);
	free(text);
	json_decref(list);
	return 0;
}

static int vfiostep_node(const struct driver_setup *s, enum step step, const char *id, const char *host)
{
	struct node *n = node_new(id);
	struct fail f = { 0 };
	struct step_child h;
	int rc;

	snprintf(n->host, sizeof n->host, "%s", host);
	snprintf(n->name, sizeof n->name, "n");
	snprintf(n->tenant, sizeof n->tenant, "acct_1");
	n->memory = 256 << 20;
	n->disk = 1 << 30;
	n->cpu_milli = 1000;
	n->contract.gpus = 1;
	n->slot = (unsigned)id[strlen(id) - 1] & 63;
	node_folder(DATA, n->id, &f);
	rc = step_child_init(&h, n, NULL, s);
	h.spec.image = "debian-12";
	h.driver = &driver_vm;
	h.step = step;
	h.grace_ms = 0;
	rc = rc ? rc : step_child_do(&h, NULL, &f);
	printf("%s %s%s%s\n", step_word(step), id, rc ? ": " : "", rc ? f.text : "");
	node_free(n);
	return rc != 0;
}

int main(int argc, char **argv)
{
	const struct driver_setup s = { .data = DATA,
		.images = DATA "/images",
		.prefix = "np",
		.listen = "127.0.0.1",
		.first_port = 40000,
		.sysfs_root = "" };
	const char *word = argc > 1 ? argv[1] : "";

	if (strcmp(word, "emulated") == 0)
		return vfiostep_emulated();
	if (strcmp(word, "drivers") == 0)
		return drivers_verb(all, "vm", &s, false, stdout);
	if (strcmp(word, "fix") == 0)
		return vfiostep_fix(argv + 2, argc - 2);
	if (strcmp(word, "show") == 0)
		return vfiostep_show();
	if (argc == 4 && strcmp(word, "create") == 0)
		return vfiostep_node(&s, STEP_CREATE, argv[2], argv[3]);
	if (argc == 4 && strcmp(word, "start") == 0)
		return vfiostep_node(&s, STEP_START, argv[2], argv[3]);
	if (argc == 4 && strcmp(word, "destroy") == 0)
		return vfiostep_node(&s, STEP_DESTROY, argv[2], argv[3]);
	return 2;
}
