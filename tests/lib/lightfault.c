/* SPDX-License-Identifier: Apache-2.0 */
#include "lightfault.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/str.h"

static const struct { const char *text, *what; } faults[] = {
#define X(name, text, what) { text, what },
	FAULTS(X)
#undef X
};

static bool rule_takes(struct fault_rule *r, uint32_t address)
{
	bool hit = r->ranges == 0;

	for (int i = 0; i < r->ranges; i++)
		hit |= (address & r->range[i].mask) == r->range[i].net;
	if (!hit || r->times == 0)
		return false;
	if (r->times > 0)
		r->times--;
	return true;
}

enum fault fault_of(struct fault_rules *r, uint32_t address)
{
	for (int i = 0; i < r->count; i++)
		if (rule_takes(&r->rule[i], address))
			return r->rule[i].fault;
	return FAULT_NONE;
}

bool fault_is_raw(enum fault f)
{
	return f >= FAULT_HANG_BANNER && f <= FAULT_GARBAGE_KEX;
}

void fault_list(FILE *to)
{
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		fprintf(to, "  %-15s %s\n", faults[i].text, faults[i].what);
}

static const char *read_ranges(struct fault_rule *r, char *list)
{
	for (char *word = strsep(&list, ","); word; word = strsep(&list, ",")) {
		char *slash = strchr(word, '/');
		struct in_addr a;
		long bits = 32;

		if (slash)
			*slash++ = '\0';
		if (r->ranges == FAULT_RANGES)
			return "too many addresses";
		if (inet_pton(AF_INET, word, &a) != 1 || (slash && str_to_long(slash, 1, 32, &bits) != 0))
			return "expected ADDRESS or ADDRESS/BITS after the @";
		r->range[r->ranges].mask = 0xffffffffu << (32 - bits);
		r->range[r->ranges].net = ntohl(a.s_addr) & r->range[r->ranges].mask;
		r->ranges++;
	}
	return NULL;
}

const char *fault_add(struct fault_rules *r, char *text)
{
	struct fault_rule *rule = &r->rule[r->count];
	char *at = strchr(text, '@'), *times;
	const char *why;
	size_t i;

	if (r->count == FAULT_RULES)
		return "too many";
	if (at)
		*at++ = '\0';
	times = strchr(text, ':');
	if (times)
		*times++ = '\0';
	for (i = 0; i < sizeof faults / sizeof *faults && strcmp(faults[i].text, text) != 0; i++)
		;
	if (i == sizeof faults / sizeof *faults)
		return "no such fault; --help lists them";
	*rule = (struct fault_rule){ .fault = (enum fault)i, .times = -1 };
	if (times && str_to_long(times, 1, 1000000, &rule->times) != 0)
		return "expected a count after the ':'";
	why = at ? read_ranges(rule, at) : NULL;
	if (!why)
		r->count++;
	return why;
}
