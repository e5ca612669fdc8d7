/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the memory of each model is, as its vendor says (GB/s; the slowest and the fastest card of that name): what
 * is measured far below is another card or a sick one, what is measured far above was not measured. Data only.
 */
#include <string.h>

#include "agentd/machine/gpu.h"

static const struct {
	const char *market;
	unsigned slowest, fastest;
} bandwidths[] = {
	{ "a10", 600, 600 },
	{ "a100", 1555, 2039 },
	{ "a10g", 600, 600 },
	{ "a30", 933, 933 },
	{ "a40", 696, 696 },
	{ "arca750", 512, 512 },
	{ "arca770", 512, 560 },
	{ "arcb570", 380, 380 },
	{ "arcb580", 456, 456 },
	{ "b200", 7700, 8000 },
	{ "flex140", 186, 186 },
	{ "flex170", 512, 576 },
	{ "gb200", 7700, 8000 },
	{ "h100", 2039, 3350 },
	{ "h100nvl", 3900, 3938 },
	{ "h20", 4000, 4096 },
	{ "h200", 4800, 4890 },
	{ "h200nvl", 4800, 4890 },
	{ "h800", 2039, 3350 },
	{ "l4", 300, 300 },
	{ "l40", 864, 864 },
	{ "l40s", 864, 864 },
	{ "max1100", 1229, 1229 },
	{ "max1550", 1638, 3277 },
	{ "mi100", 1229, 1229 },
	{ "mi210", 1638, 1638 },
	{ "mi250", 1638, 3277 },
	{ "mi250x", 1638, 3277 },
	{ "mi300a", 5300, 5300 },
	{ "mi300x", 5300, 5325 },
	{ "mi308x", 5300, 5325 },
	{ "mi325x", 6000, 6000 },
	{ "mi350x", 8000, 8000 },
	{ "mi355x", 8000, 8000 },
	{ "rtx3080", 760, 912 },
	{ "rtx3090", 936, 936 },
	{ "rtx3090ti", 1008, 1008 },
	{ "rtx4080", 717, 736 },
	{ "rtx4090", 1008, 1008 },
	{ "rtx4090d", 1008, 1008 },
	{ "rtx5090", 1792, 1792 },
	{ "rtx6000ada", 960, 960 },
	{ "rtxa5000", 768, 768 },
	{ "rtxa6000", 768, 768 },
	{ "rx7900", 800, 960 },
	{ "t4", 300, 320 },
	{ "v100", 900, 900 },
	{ "w7900", 864, 864 },
};

bool gpu_bandwidth(const char *market, int64_t *slowest, int64_t *fastest)
{
	for (size_t i = 0; i < sizeof bandwidths / sizeof *bandwidths; i++)
		if (strcmp(bandwidths[i].market, market) == 0) {
			*slowest = bandwidths[i].slowest * 1000000000LL;
			*fastest = bandwidths[i].fastest * 1000000000LL;
			return true;
		}
	return false;
}
