/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as an agent's inventory and as a type's properties: nodes are counted, and no sum passes its end. */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>

#include "marketd/api/tally.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *given = json_loadb((const char *)data, size, 0, NULL), *resources, *merged;
	const json_t *properties = json_object_get(given, "properties");
	struct promise p = promise_read(json_object_get(json_object_get(properties, "requires"), "share") ? 1 : 8,
		properties);
	char text[PROMISE_TEXT], *known;
	struct capacity has;
	struct tally r;

	promise_text(&p, text);
	resources = promise_resources(&p);
	if (tally_capacity(given, &has)) {
		tally_init(&r, &has);
		for (int i = 0; i < 20; i++)
			tally_take(&r, &p, "a");
		if (r.memory < 0 || r.disk < 0 || r.cores < 0 || tally_count(&has, &p) > NODES_MAX)
			abort();
	}
	merged = tally_merge("{\"capacity\":{\"vcpus\":1,\"gpus\":[{\"model\":\"h100\",\"memory_bytes\":1},{}]}}",
		given);
	if (json_is_object(given) && !tally_capacity(merged, &has))
		abort(); /* what was known once stays known */
	json_decref(merged);
	known = json_dumps(given, 0);
	json_decref(tally_merge(known, given)); /* as many GPUs as it likes, twice */
	free(known);
	json_decref(resources);
	json_decref(given);
	return 0;
}
