/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a node's facts: they fill one line of the table, and the gates say whole sentences about them. */
#include "cli/provision/model/facts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/provision/model/gate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct facts *facts)
{
	static char base[] = "base", toy[] = "slurm", role[] = "nodes",
		    gates[] = "route mtu names cgroup gpu secure-boot kernel-headers rdma other "
			      "swap version",
		    package[] = "slurmd", disk[] = "disk-mb", n1[] = "n1", n2[] = "n2";
	char *packages[] = { package, NULL }, *members[] = { n1, n2 };
	unsigned char roles[] = { 1, 1 };
	struct stack first = { .name = base, .roles = { { .name = role } }, .role_count = 1 };
	struct stack second = { .name = toy,
		.roles = { { .name = role } },
		.role_count = 1,
		.gates = gates,
		.packages = packages,
		.settings = { { .key = disk } },
		.setting_count = 1 };
	struct cluster c = { .members = members, .count = 2, .use_count = 2,
		.uses = { { .stack = &first, .roles = roles }, { .stack = &second, .roles = roles } } };
	struct facts both[] = { *facts, *facts };
	const char *const keys[] = { "", NULL };
	struct findings found;
	struct buf out;
	size_t lines = 0;

	both[1].skew_us = INT64_MAX;
	buf_init(&out, 4 << 20);
	if (facts_table(&c, both, keys, &out))
		abort();
	for (size_t i = 0; i < out.len; i++)
		lines += out.data[i] == '\n';
	if (lines != 2)
		abort();
	buf_release(&out);
	gate_look(&c, both, NULL, &found);
	for (size_t i = 0; i < found.count; i++)
		if (!*found.at[i].text || strpbrk(found.at[i].text, "\n\033") ||
			(found.at[i].hint && strpbrk(found.at[i].hint, "\n\033")))
			abort();
	gate_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct facts facts = { 0 };
	struct fail f = { 0 };

	if (facts_parse((const char *)data, size, &facts, &f) < 0 ? !*f.text : !facts.known)
		abort();
	if (facts.known)
		check(&facts);
	facts_release(&facts);
	return 0;
}
