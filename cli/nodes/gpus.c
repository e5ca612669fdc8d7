/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/gpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/frame/json.h"

const char *gpus_text(const struct model_gpu *gpus, size_t count, char room[GPUS_TEXT])
{
	size_t len = 0;

	room[0] = '\0';
	for (size_t i = 0; i < count && len < GPUS_TEXT; i++) {
		char size[CELL_TEXT];

		len += (size_t)snprintf(room + len, GPUS_TEXT - len, "%s%" PRId64 "%s%.40s %.60s%s%s", i ? ", " : "",
			gpus[i].count, gpus[i].share ? "x " : "", gpus[i].share ? gpus[i].share : "", gpus[i].model,
			gpus[i].memory > 0 ? " of " : "", gpus[i].memory > 0 ? cell_size(gpus[i].memory, size) : "");
	}
	return count ? room : NULL;
}

void gpus_json(const struct model_gpu *gpus, size_t count, struct buf *out)
{
	struct json j = json_to(out);

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < count; i++) {
		json_begin_object(&j, NULL);
		json_text(&j, "model", gpus[i].model);
		json_int(&j, "count", gpus[i].count);
		if (gpus[i].memory > 0)
			json_int(&j, "memory_bytes", gpus[i].memory);
		if (gpus[i].share)
			json_text(&j, "share", gpus[i].share);
		json_end(&j);
	}
	json_end(&j);
	if (j.error)
		command_nomem();
}
