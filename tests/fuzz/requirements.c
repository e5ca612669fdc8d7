/* SPDX-License-Identifier: Apache-2.0 */
/* requirements=field:op:value;… of the order book: becomes a map of known properties to texts, or is refused. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/api/render.h"
#include "marketd/api/v2/v2.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(json_t *map)
{
	const char *key;
	json_t *values, *value;
	size_t i, known;

	json_object_foreach(map, key, values) {
		for (known = 0; sku_properties[known].name && strcmp(sku_properties[known].name, key) != 0;)
			known++;
		if (!sku_properties[known].name || json_array_size(values) == 0)
			__builtin_trap();
		json_array_foreach(values, i, value)
			if (!json_is_string(value) || json_string_length(value) == 0)
				__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sku sku = { .id = 1,
		.properties = (char *)"{\"accelerator\":\"h100\",\"memory\":1024,\"supports_public_ipv4\":true}" };
	char *text = malloc(size + 1);
	struct request q = { .id = "req_0" };
	struct reply r = { 0 };
	json_t *map;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	q.query[0].name = "requirements";
	q.query[0].value = text;
	q.query_count = 1;
	buf_init(&r.body, 1 << 20);
	map = requirements_of_query(&q, &r);
	if (!map && r.status != 422)
		__builtin_trap();
	if (map) {
		check(map);
		requirements_match(map, &sku);
	}
	json_decref(map);
	buf_release(&r.body);
	free(text);
	return 0;
}
