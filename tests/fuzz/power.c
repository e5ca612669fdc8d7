/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the files of power: refused, or all numbers in them are possible, and no supply gains. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/power/curve.h"
#include "agentd/power/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void supply_holds(const struct supply *s)
{
	int64_t last = 0;

	for (int64_t w = 0; w <= 4000 * 1000; w += 99991) {
		int64_t wall = supply_wall(s, w);

		if (wall < last || wall < w)
			abort();
		last = wall;
	}
	if (supply_wall(s, supply_behind(s, 1440000)) > 1440000)
		abort();
}

/* Whatever was measured, a limit gives between none and all of the best speed. */
static void curve_looks(const struct curve *one, const struct curves *c)
{
	struct power_device d = { .kind = POWER_GPU };
	int64_t at;

	memcpy(d.address, one->address, sizeof d.address);
	memcpy(d.name, one->name, sizeof d.name);
	for (int64_t limit = 0; limit <= POWER_MOST; limit += 33333) {
		int speed = curve_speed(c, &d, limit, &at);

		if (speed < -1 || speed > 1000)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct curves c;
	struct envelope e;
	struct supply s;
	struct fail f = { 0 };
	char text[200];

	if (envelope_parse((const char *)data, size, &e, &f) == 0) {
		if (e.wall < 1000 || e.reserve < 0 || e.cpu < 0 || e.gpu_count > ENVELOPE_GPUS)
			abort();
		supply_holds(&e.supply);
	} else if (!*f.text) {
		abort();
	}
	if (curve_parse((const char *)data, size, &c, &f) == 0)
		for (size_t i = 0; i < c.count; i++)
			curve_looks(&c.list[i], &c);
	if (size < sizeof text) {
		memcpy(text, data, size);
		text[size] = '\0';
		if (supply_parse(text, &s, &f) == 0)
			supply_holds(&s);
	}
	return 0;
}
