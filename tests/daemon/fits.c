/* SPDX-License-Identifier: Apache-2.0 */
/* fits DOCUMENT SCHEMA: does the JSON on standard input match that schema of the OpenAPI document? For v2*.t. */
#include "jsonschema.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	json_error_t where;
	json_t *doc = argc == 3 ? json_load_file(argv[1], 0, &where) : NULL,
	       *value = json_loadf(stdin, JSON_DECODE_ANY, &where);
	const json_t *schema = json_object_get(json_object_get(json_object_get(doc, "components"), "schemas"),
		argc == 3 ? argv[2] : "");
	char why[SCHEMA_WHY] = "";
	bool fits = false;

	if (!schema)
		fprintf(stderr, "usage: fits DOCUMENT SCHEMA (one that is there)\n");
	else if (!value)
		fprintf(stderr, "no JSON: %s\n", where.text);
	else if (!(fits = jsonschema_fits(doc, schema, value, why)))
		fprintf(stderr, "%s\n", why);
	json_decref(doc);
	json_decref(value);
	return fits ? 0 : 1;
}
