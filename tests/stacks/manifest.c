/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest KINDS.json FILE…: every document of these YAML files must be of a kind that KINDS.json has a schema of, and
 * fit it; the values of a HelmChart are YAML too. Says what does not fit, and exits with 1. With --values NAME first it
 * prints the values of the chart NAME as JSON instead.
 */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tests/daemon/jsonschema.h"

static char why[SCHEMA_WHY];

static json_t *node_json(yaml_document_t *doc, int index);

/* As YAML 1.2's core schema reads a word without quotes. */
static json_t *scalar_json(const yaml_node_t *n)
{
	const char *text = (const char *)n->data.scalar.value;
	char *end;

	if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return json_string(text);
	if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
		return json_boolean(text[0] == 't');
	if (!*text || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
		return json_null();
	if (strspn(text, "0123456789+-.eE") != strlen(text))
		return json_string(text);
	errno = 0;
	if (strspn(text, "0123456789+-") == strlen(text)) {
		long long whole = strtoll(text, &end, 10);

		return *end || errno ? json_string(text) : json_integer(whole);
	}
	double real = strtod(text, &end);
	return *end || errno ? json_string(text) : json_real(real);
}

static json_t *map_json(yaml_document_t *doc, const yaml_node_t *n)
{
	json_t *map = json_object();

	for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++) {
		yaml_node_t *key = yaml_document_get_node(doc, p->key);
		const char *name = key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : NULL;
		json_t *value = node_json(doc, p->value);

		if (!name || !value || json_object_get(map, name)) {
			if (!why[0])
				snprintf(why, sizeof why, "line %zu: '%s' is there twice, or is no word",
					key->start_mark.line + 1, name ? name : "?");
			json_decref(value);
			json_decref(map);
			return NULL;
		}
		json_object_set_new(map, name, value);
	}
	return map;
}

static json_t *node_json(yaml_document_t *doc, int index)
{
	yaml_node_t *n = yaml_document_get_node(doc, index);
	json_t *list;

	if (n->type == YAML_SCALAR_NODE)
		return scalar_json(n);
	if (n->type == YAML_MAPPING_NODE)
		return map_json(doc, n);
	list = json_array();
	for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top; i++) {
		json_t *item = node_json(doc, *i);

		if (!item) {
			json_decref(list);
			return NULL;
		}
		json_array_append_new(list, item);
	}
	return list;
}

/* All documents of a text, as a list; NULL with why. */
static json_t *documents(const char *text, size_t len)
{
	json_t *list = json_array(), *value;
	yaml_parser_t parser;
	yaml_document_t doc;
	bool more = true;

	yaml_parser_initialize(&parser);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
	while (more && list) {
		if (!yaml_parser_load(&parser, &doc)) {
			snprintf(why, sizeof why, "line %zu: %s", parser.problem_mark.line + 1,
				parser.problem ? parser.problem : "no YAML");
			json_decref(list);
			list = NULL;
			break;
		}
		more = yaml_document_get_root_node(&doc) != NULL;
		value = more ? node_json(&doc, 1) : NULL;
		yaml_document_delete(&doc);
		if (value) {
			json_array_append_new(list, value);
		} else if (more) {
			json_decref(list);
			list = NULL;
		}
	}
	yaml_parser_delete(&parser);
	return list;
}

static json_t *values_of(const json_t *object)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, "spec"), "valuesContent"));
	json_t *list, *first;

	if (!text)
		return json_object();
	list = documents(text, strlen(text));
	first = json_array_size(list) == 1 ? json_incref(json_array_get(list, 0)) : NULL;
	json_decref(list);
	if (first && json_is_object(first))
		return first;
	if (!why[0])
		snprintf(why, sizeof why, "valuesContent is no map");
	json_decref(first);
	return NULL;
}

static bool fits(const json_t *kinds, const json_t *object)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const json_t *schema = json_object_get(json_object_get(json_object_get(kinds, "components"), "schemas"),
		kind ? kind : "");
	json_t *values;

	if (!schema) {
		snprintf(why, sizeof why, "there is no schema of the kind '%s'", kind ? kind : "(none)");
		return false;
	}
	if (!jsonschema_fits(kinds, schema, object, why))
		return false;
	values = values_of(object);
	json_decref(values);
	return values != NULL;
}

static bool look(const json_t *kinds, const char *file, const char *chart)
{
	static char text[1 << 20];
	FILE *in = fopen(file, "re");
	size_t len = in ? fread(text, 1, sizeof text - 1, in) : 0, i;
	json_t *list, *object;
	bool good = true;

	if (in)
		fclose(in);
	why[0] = '\0';
	list = documents(text, len);
	if (!list || json_array_size(list) == 0) {
		printf("%s: %s\n", file, list ? "there is no object in it" : why);
		good = false;
	}
	json_array_foreach(list, i, object) {
		const char *name = json_string_value(json_object_get(json_object_get(object, "metadata"), "name"));

		why[0] = '\0';
		if (chart && name && strcmp(name, chart) == 0) {
			json_t *values = values_of(object);

			json_dumpf(values, stdout, JSON_INDENT(1) | JSON_SORT_KEYS);
			putchar('\n');
			json_decref(values);
		} else if (!chart && !fits(kinds, object)) {
			printf("%s: object %zu ('%s'): %s\n", file, i + 1, name ? name : "?", why);
			good = false;
		}
	}
	json_decref(list);
	return good;
}

int main(int argc, char **argv)
{
	const char *chart = argc > 3 && strcmp(argv[1], "--values") == 0 ? argv[2] : NULL;
	json_error_t error;
	json_t *kinds;
	bool good = true;
	int at = chart ? 3 : 1;

	if (argc < at + 2) {
		fprintf(stderr, "usage: manifest [--values NAME] KINDS.json FILE…\n");
		return 2;
	}
	kinds = json_load_file(argv[at], 0, &error);
	if (!kinds) {
		fprintf(stderr, "%s: line %d: %s\n", argv[at], error.line, error.text);
		return 2;
	}
	for (at++; at < argc; at++)
		good = look(kinds, argv[at], chart) && good;
	json_decref(kinds);
	return good ? 0 : 1;
}
