/* SPDX-License-Identifier: Apache-2.0 */
/* SKUs with their properties, and their availability. */
#include "marketd/api/render.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "marketd/api/promise.h"

/* Words with a spelling of their own; others are shown as stored. */
static const char *const displays[][2] = {
	{ "infiniband", "InfiniBand" }, { "roce", "RoCE" }, { "sxm", "SXM" }, { "pcie", "PCIe" },
	{ "nvl", "NVL" }, { "oam", "OAM" }, { "cpu", "CPU" },
};

/* "h100": "H100": letters, digits, nothing else. */
static json_t *display_word(const char *text)
{
	char upper[64];
	size_t n = 0;

	for (size_t i = 0; i < sizeof displays / sizeof *displays; i++)
		if (strcasecmp(displays[i][0], text) == 0)
			return json_string(displays[i][1]);
	for (; text[n] && n + 1 < sizeof upper; n++)
		upper[n] = text[n] >= 'a' && text[n] <= 'z' ? (char)(text[n] - 'a' + 'A') : text[n];
	upper[n] = '\0';
	return text[n] ? render_text(text) : render_text(upper);
}

/* 2199023255552: "2 TiB"; whole units only, so that nothing is rounded. */
static json_t *display_bytes(int64_t n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t unit = 0;

	while (n && n % 1024 == 0 && unit + 1 < sizeof units / sizeof *units) {
		n /= 1024;
		unit++;
	}
	return json_sprintf("%" PRId64 " %s", n, units[unit]);
}

static json_t *render_sku_display(const struct sku_property *p, const json_t *value)
{
	switch (p->type) {
	case SKU_BYTES: return display_bytes(json_integer_value(value));
	case SKU_NUMBER: return json_sprintf("%" PRId64, (int64_t)json_integer_value(value));
	case SKU_YESNO: return json_string(json_is_true(value) ? "Yes" : "No");
	case SKU_PLACE: return render_text(json_string_value(value));
	default: return display_word(json_string_value(value));
	}
}

const struct sku_property sku_properties[] = {
	{ "accelerator", SKU_WORD, "Accelerator", "The accelerator chip of a node." },
	{ "form_factor", SKU_WORD, "Form factor", "The accelerator's physical form and host interface." },
	{ "region", SKU_PLACE, "Region", "Where the hardware is." },
	{ "availability_zone", SKU_PLACE, "Availability zone", "An independent failure domain within a region." },
	{ "rdma_type", SKU_WORD, "RDMA type", "The RDMA network between nodes." },
	{ "num_accelerators", SKU_NUMBER, "Accelerators", "Accelerators per node." },
	{ "num_vcpus", SKU_NUMBER, "vCPUs", "vCPUs per node, hyperthreads included." },
	{ "memory", SKU_BYTES, "Memory", "System memory per node, in bytes." },
	{ "local_storage", SKU_BYTES, "Local storage", "Local storage of an instance, in bytes." },
	{ "supports_public_ipv4", SKU_YESNO, "Public IPv4", "Whether nodes can have a public IPv4 address." },
	{ 0 },
};

static bool render_sku_fits(const struct sku_property *p, const json_t *value)
{
	switch (p->type) {
	case SKU_NUMBER:
	case SKU_BYTES: return json_is_integer(value) && json_integer_value(value) >= 0;
	case SKU_YESNO: return json_is_boolean(value);
	default: return json_is_string(value) && json_string_length(value);
	}
}

json_t *sku_facts(const struct sku *s)
{
	json_t *kept = s->properties ? json_loads(s->properties, 0, NULL) : NULL, *facts = json_object();

	for (const struct sku_property *p = sku_properties; p->name; p++) {
		json_t *value = json_object_get(kept, p->name);

		if (value && render_sku_fits(p, value))
			json_object_set(facts, p->name, value);
	}
	if (s->gpus)
		json_object_set_new(facts, "num_accelerators", json_integer(s->gpus));
	else
		json_object_del(facts, "num_accelerators");
	json_decref(kept);
	return facts;
}

json_t *sku_value_text(const json_t *value)
{
	if (json_is_integer(value))
		return json_sprintf("%" PRId64, (int64_t)json_integer_value(value));
	if (json_is_boolean(value))
		return json_string(json_is_true(value) ? "true" : "false");
	return json_string(json_string_value(value));
}

json_t *render_sku(const struct sku *s)
{
	json_t *facts = sku_facts(s);
	json_t *made = json_pack("{s:s, s:o, s:o, s:n, s:o}", "object", "instance_sku", "id",
		render_id(IDENT_SKU, s->id), "alias", render_text(s->alias), "audience_hint", "np_requires",
		promise_requires(s));

	for (const struct sku_property *p = sku_properties; made && p->name; p++) {
		json_t *value = json_object_get(facts, p->name);

		json_object_set_new(made, p->name, value ? json_pack("{s:O, s:o}", "value", value,
			"display_value", render_sku_display(p, value)) : json_null());
	}
	json_decref(facts);
	return made;
}

json_t *sku_property_display(const struct sku_property *p, const json_t *value)
{
	return render_sku_display(p, value);
}

json_t *render_availability(const struct engine *e, const struct sku *s)
{
	struct spans on_sale = { 0 };
	json_t *schedule = NULL;

	if (engine_availability(e, s->id, false, engine_minute(e) + 1, MINUTE_MAX, &on_sale) == 0)
		schedule = render_spans(on_sale.list, on_sale.count);
	free(on_sale.list);
	return json_pack("{s:s, s:o, s:o}", "object", "instance_sku_availability",
		"instance_sku", render_sku_summary(e, s->id), "schedule", schedule);
}
