/* SPDX-License-Identifier: Apache-2.0 */
/* What a node or a machine measured last. */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "market/wire_part.h"

#define MEASURE(name) FIELD(model_measures, #name, REAL, MAY, name)

static int read_measures(struct doc *d, struct json_t *o, struct model_measures *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		MEASURE(cpu),
		MEASURE(memory),
		MEASURE(memory_total),
		MEASURE(disk),
		MEASURE(disk_total),
		MEASURE(disk_read),
		MEASURE(disk_written),
		MEASURE(network_in),
		MEASURE(network_out),
		MEASURE(use),
		MEASURE(temperature),
		MEASURE(power),
		MEASURE(power_limit),
		MEASURE(clock),
		MEASURE(throttled),
		MEASURE(memory_errors),
		MEASURE(xid),
		MEASURE(machine_gpu),
		{ 0 },
	};

	*out = (struct model_measures){ NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN,
		NAN, NAN };
	return wire_fields(d, o, fields, "a sample", out, f);
}

static int read_gpu_hosts(struct doc *d, struct json_t *o, struct model_sample *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_gpu_host, "gpu", INT, NEEDED, gpu),
		FIELD(model_gpu_host, "name", TEXT, NEEDED, name),
		{ 0 },
	};
	size_t n = wire_length(o, "gpu_hosts");
	struct model_gpu_host *list = wire_room(d, n, sizeof *list);
	int rc = list ? 0 : fail_set(f, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_fields(d, wire_item(o, "gpu_hosts", i), fields, "a sample", &list[i], f);
	out->gpu_hosts = list;
	out->gpu_host_count = n;
	return rc;
}

int wire_sample(struct doc *d, long at, struct model_sample *out, struct fail *f)
{
	static const struct wire_field fields[] = {
		FIELD(model_sample, "node", TEXT, MAY, node),
		FIELD(model_sample, "agent", TEXT, MAY, agent),
		FIELD(model_sample, "at", INT, MAY, at),
		FIELD(model_sample, "step", INT, MAY, step),
		FIELD(model_sample, "cpu", CURVE, MAY, cpu),
		FIELD(model_sample, "use", CURVES, MAY, use),
		{ 0 },
	};
	struct model_sample made = { 0 };
	struct json_t *o = wire_object(d, at, "a sample", f);
	size_t n = wire_length(o, "gpus");
	struct model_measures *gpus = wire_room(d, n, sizeof *gpus);
	int rc = !o ? -EPROTO : !gpus ? fail_set(f, -ENOMEM, "out of memory") : 0;

	rc = rc ? rc : wire_fields(d, o, fields, "a sample", &made, f);
	rc = rc ? rc : read_measures(d, wire_member(o, "measures"), &made.of, f);
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_measures(d, wire_item(o, "gpus", i), &gpus[i], f);
	rc = rc ? rc : read_gpu_hosts(d, o, &made, f);
	made.gpus = gpus;
	made.gpu_count = n;
	if (!rc)
		*out = made;
	return rc;
}

int wire_samples_now(struct doc *d, int64_t *now, struct fail *f)
{
	static const struct wire_field fields[] = { { "now", WIRE_INT, NEEDED, 0 }, { 0 } };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "samples", f);

	return o ? wire_fields(d, o, fields, "samples", now, f) : -EPROTO;
}
