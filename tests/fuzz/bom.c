/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a bill of materials, beside one machine. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/verbs/bom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct inventory machine = { .cpu = { .model = "Xeon", .cores = 8, .threads = 16, .sockets = 1 },
	.memory = INT64_C(64) << 30,
	.gpus = { { .name = "NVIDIA GeForce RTX 4090", .market = "rtx4090", .memory = INT64_C(24) << 30 } },
	.disks = { { .name = "sda", .model = "Disk", .bytes = 2000000000000 } },
	.nics = { { .name = "eth0", .speed = 10000 } },
	.gpu_count = 1,
	.disk_count = 1,
	.nic_count = 1 };
static struct bom bom;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf_file *file = NULL;
	struct fail f = { 0 };

	if (conf_parse("bom", (const char *)data, size, &file, &f))
		return 0;
	if (bom_compare(file, &machine, &bom, &f)) {
		if (!*f.text)
			abort();
	} else {
		for (size_t i = 0; i < bom.count; i++)
			if (!memchr(bom.rows[i].should, 0, BOM_TEXT) || !*bom.rows[i].part)
				abort();
	}
	conf_free(file);
	return 0;
}
