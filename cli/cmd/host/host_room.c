/* SPDX-License-Identifier: Apache-2.0 */
/* What of a machine the nodes of a type take: the market decides, but the owner sees it before he is asked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/host/host.h"
#include "cli/frame/cell.h"

enum { ROOM_GPUS = 1024 }; /* no machine has more */

/* Lowers *count to how often `needs` is in `has`. */
static void room_least(int64_t has, int64_t needs, int64_t *count)
{
	int64_t n = needs > 0 && has >= 0 ? has / needs : -1;

	if (n >= 0 && (*count < 0 || n < *count))
		*count = n;
}

/* How many shares such as "1/4" that many GPUs are. */
static int64_t host_room_shares(int64_t gpus, const char *share)
{
	long parts = strncmp(share, "1/", 2) == 0 ? strtol(share + 2, NULL, 10) : 0;

	return gpus < 0 || gpus > ROOM_GPUS || parts < 1 || parts > ROOM_GPUS ? -1 : gpus * parts;
}

int64_t host_room_count(const struct model_sizes *has, const struct sku *sku)
{
	int64_t count = -1, share = sku->overcommit > 1 && sku->overcommit <= 16 ? sku->overcommit : 1;

	if (sku->share)
		room_least(host_room_shares(has->gpus, sku->share), 1, &count);
	else
		room_least(has->gpus, sku->gpus, &count);
	room_least(has->vcpus > 0 ? has->vcpus * share : has->vcpus, sku->vcpus, &count);
	room_least(has->memory, sku->memory, &count);
	room_least(has->disk, sku->storage, &count);
	return count;
}

const char *host_room_text(const struct model_sizes *has, char room[HOST_ROOM])
{
	char memory[CELL_TEXT], disk[CELL_TEXT], gpus[48] = "";

	if (has->vcpus < 0 || has->memory < 0 || has->disk < 0)
		return NULL;
	if (has->gpus > 0)
		snprintf(gpus, sizeof gpus, "%" PRId64 " GPU%s, ", has->gpus, has->gpus == 1 ? "" : "s");
	snprintf(room, HOST_ROOM, "%s%" PRId64 " vCPU%s, %s memory, %s disk", gpus, has->vcpus,
		has->vcpus == 1 ? "" : "s", cell_size(has->memory, memory), cell_size(has->disk, disk));
	return room;
}
