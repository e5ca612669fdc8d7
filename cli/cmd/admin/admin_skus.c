/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin sku: the types that the market knows; for operators. */
#include <stdio.h>
#include <string.h>

#include "cli/frame/cell.h"
#include "cli/cmd/admin/admin.h"
#include "cli/frame/print.h"
#include "cli/trade/rows_list.h"
#include "cli/frame/value.h"

enum { BODY_MAX = 256 * 1024, PROPERTY_KEY = 64 };

static const struct column sku_columns[] = {
	{ "type", COLUMN_ID, "its alias" },
	{ "id", 0, "its id" },
	{ "gpus", COLUMN_RIGHT | COLUMN_RAW, "accelerators of a node" },
	{ "gpu", 0, "their model" },
	{ "region", 0, "where they are" },
	{ "zone", COLUMN_WIDE, "which part of the region" },
	{ "network", COLUMN_WIDE, "RDMA between nodes" },
	{ "vcpus", COLUMN_RIGHT | COLUMN_RAW, "virtual CPUs of a node" },
	{ "overcommit", COLUMN_RIGHT | COLUMN_RAW | COLUMN_WIDE, "how many virtual CPUs share a core" },
	{ "memory", COLUMN_RIGHT, "of a node; bytes where a program reads it" },
	{ "storage", COLUMN_RIGHT, "local storage of a node" },
	{ "share", COLUMN_RIGHT | COLUMN_WIDE, "part of the GPU that a node gets; empty: all of it" },
	{ "gpu_memory", COLUMN_RIGHT | COLUMN_WIDE, "memory that each GPU has at least" },
	{ 0 },
};

static int show_sku(const struct nanopod *np, struct rows *r, const struct model_sku *s)
{
	char gpus[CELL_TEXT], vcpus[CELL_TEXT], shared[CELL_TEXT], memory[CELL_TEXT], disk[CELL_TEXT], gpu[CELL_TEXT];

	rows_add(r,
		(const char *[]){ s->alias ? s->alias : s->id, s->id, cell_int(s->gpus, gpus), s->accelerator,
			s->region, s->zone, s->rdma, cell_int(s->vcpus, vcpus), cell_int(s->overcommit, shared),
			cell_bytes(np, s->memory, memory), cell_bytes(np, s->storage, disk), s->share,
			cell_bytes(np, s->gpu_memory, gpu) });
	return 0;
}

static int add_sku_row(void *arg, struct doc *d, long at, struct fail *f)
{
	const struct listing *l = arg;
	struct model_sku s;
	int rc = wire_sku(d, at, &s, f);

	return rc ? rc : show_sku(l->np, l->rows, &s);
}

int admin_sku_list(struct nanopod *np, const struct options *o, char **words)
{
	static const struct rows_list types = { "admin", "/v2/instance_skus?limit=200", "the types", sku_columns,
		add_sku_row, "no types; 'nanopod admin sku add NAME --gpus N' adds one" };

	(void)words;
	return rows_list(np, o, &types);
}

/* The type that the market has just answered with. */
static int show_made(struct market_link *m, const struct options *o)
{
	struct model_sku s;
	struct rows *r;
	int rc;

	if (wire_sku(m->doc, WIRE_WHOLE, &s, &m->fail))
		return market_fail(m, "cannot show the type");
	r = rows_new(m->np, o, sku_columns, &rc);
	if (!r)
		return rc;
	show_sku(m->np, r, &s);
	return rows_end(r);
}

/* What the market keeps as members of `requires`; of a list each value is given by an option of its own. */
enum property_kind { PROPERTY_TEXT, PROPERTY_NUMBER, PROPERTY_FLAG, PROPERTY_LIST, PROPERTY_FLOORS };

static const struct property {
	const char *key;
	enum property_kind kind;
	bool required; /* a member of `requires` */
} properties[] = {
	{ "num_vcpus", PROPERTY_NUMBER, false },
	{ "memory", PROPERTY_NUMBER, false },
	{ "local_storage", PROPERTY_NUMBER, false },
	{ "supports_public_ipv4", PROPERTY_FLAG, false },
	{ "gpu_vendor", PROPERTY_TEXT, true },
	{ "gpu_memory", PROPERTY_NUMBER, true },
	{ "share", PROPERTY_TEXT, true },
	{ "shared_storage", PROPERTY_NUMBER, true },
	{ "inodes", PROPERTY_NUMBER, true },
	{ "network_mbps", PROPERTY_NUMBER, true },
	{ "overcommit", PROPERTY_NUMBER, true },
	{ "features", PROPERTY_LIST, true },
	{ "verified", PROPERTY_FLAG, true },
	{ "verify_hours", PROPERTY_NUMBER, true },
	{ "recheck_percent", PROPERTY_NUMBER, true },
};

/* floor.disk_write=500: one member of `floors` for each. */
static const struct property property_floors = { "floor.", PROPERTY_FLOORS, true };

/* KEY=VALUE: the row of the key (of any other: a plain text), and where the value is. NULL: refused. */
static const struct property *property_of(struct nanopod *np, const char *typed, const char **value)
{
	static const struct property other = { "", PROPERTY_TEXT, false };
	size_t len = strcspn(typed, "=");

	if (!typed[len] || !len || len >= PROPERTY_KEY) {
		print_fail_field(np, STATUS_USAGE, "--property", "write e.g. region=eu-north1",
			"cannot understand the property '%.60s'", typed);
		return NULL;
	}
	*value = typed + len + 1;
	if (strncmp(typed, property_floors.key, strlen(property_floors.key)) == 0)
		return &property_floors;
	for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
		if (strlen(properties[i].key) == len && memcmp(properties[i].key, typed, len) == 0)
			return &properties[i];
	return &other;
}

/* As the market expects it: sizes and counts as numbers, yes and no as booleans, all else as text; empty removes it. */
static int put_property(struct nanopod *np, struct json *j, const struct property *p, const char *typed,
	const char *value)
{
	struct fail why = { 0 };
	uint64_t size = 0;
	char key[PROPERTY_KEY];
	bool yes;

	snprintf(key, sizeof key, "%.*s", (int)strcspn(typed, "="), typed);
	if (!*value)
		json_nothing(j, key);
	else if (p->kind == PROPERTY_NUMBER && (value_size(value, &size, &why) || size > INT64_MAX))
		return print_fail_field(np, STATUS_USAGE, "--property", NULL, "cannot set '%s': %s", key, why.text);
	else if (p->kind == PROPERTY_NUMBER)
		json_int(j, key, (int64_t)size);
	else if (p->kind == PROPERTY_FLAG && value_bool(value, &yes, &why))
		return print_fail_field(np, STATUS_USAGE, "--property", NULL, "cannot set '%s': %s", key, why.text);
	else if (p->kind == PROPERTY_FLAG)
		json_bool(j, key, yes);
	else
		json_text(j, key, value);
	return 0;
}

/* All values of a list, from the n-th option on. */
static void put_property_list(struct json *j, const struct options *o, const struct property *p, size_t n)
{
	size_t len = strlen(p->key);
	const char *typed;

	json_begin_array(j, p->key);
	for (; (typed = option_at(o, "property", n)); n++)
		if (strncmp(typed, p->key, len) == 0 && typed[len] == '=' && typed[len + 1])
			json_text(j, NULL, typed + len + 1);
	json_end(j);
}

/* All of them together: the market replaces those that were there. */
static int put_property_floors(struct nanopod *np, struct json *j, const struct options *o)
{
	static const struct property number = { "", PROPERTY_NUMBER, true };
	size_t len = strlen(property_floors.key);
	const char *typed;
	int rc = 0;

	json_begin_object(j, "floors");
	for (size_t n = 0; !rc && (typed = option_at(o, "property", n)); n++)
		if (strncmp(typed, property_floors.key, len) == 0 && typed[strcspn(typed, "=")])
			rc = put_property(np, j, &number, typed + len, typed + strcspn(typed, "=") + 1);
	json_end(j);
	return rc;
}

/* The properties of the SKU itself, or those in `requires`. */
static int put_properties(struct nanopod *np, const struct options *o, struct json *j, bool required)
{
	const char *typed, *value;
	bool begun = false, listed = false, floors = false;
	int rc = 0;

	for (size_t i = 0; !rc && (typed = option_at(o, "property", i)); i++) {
		const struct property *p = property_of(np, typed, &value);

		if (!p)
			return STATUS_USAGE;
		if (p->required != required)
			continue;
		if (required && !begun)
			json_begin_object(j, "requires");
		begun = true;
		if (p->kind == PROPERTY_FLOORS)
			rc = floors ? 0 : put_property_floors(np, j, o);
		else if (p->kind != PROPERTY_LIST)
			rc = put_property(np, j, p, typed, value);
		else if (!listed)
			put_property_list(j, o, p, i);
		listed = listed || p->kind == PROPERTY_LIST;
		floors = floors || p->kind == PROPERTY_FLOORS;
	}
	if (required && begun)
		json_end(j);
	return rc;
}

/* {"alias":…,"gpus":…,"properties":{…}}; alias NULL: unchanged. */
static int put_sku(struct nanopod *np, const struct options *o, const char *alias, bool gpus, struct buf *body)
{
	struct json j = json_to(body);
	int rc;

	json_begin_object(&j, NULL);
	if (alias)
		json_text(&j, "alias", alias);
	if (gpus)
		json_int(&j, "gpus", option_int(o, "gpus"));
	json_begin_object(&j, "properties");
	rc = put_properties(np, o, &j, false);
	rc = rc ? rc : put_properties(np, o, &j, true);
	json_end(&j);
	json_end(&j);
	if (j.error)
		command_nomem();
	return rc;
}

int admin_sku_add(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body;
	int rc;

	if (!option_given(o, "gpus"))
		return print_fail_field(np, STATUS_USAGE, "--gpus", "--gpus 0 means none",
			"cannot create the type '%s': --gpus is required", words[0]);
	buf_init(&body, BODY_MAX);
	rc = put_sku(np, o, words[0], true, &body);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, "/np/v1/skus", &body, buf_text(&body))
			? market_fail(m, "cannot create the type '%s'", words[0])
			: show_made(m, o);
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

int admin_sku_set(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body, path;
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	admin_path(&path, o, "/np/v1/skus/", words[0], "");
	rc = put_sku(np, o, option_text(o, "alias"), false, &body);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_send(m, "PATCH", buf_text(&path), &body, NULL)
			? market_fail(m, "cannot change the type '%s'", words[0])
			: show_made(m, o);
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}
