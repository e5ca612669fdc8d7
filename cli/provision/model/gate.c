/* SPDX-License-Identifier: Apache-2.0 */
/* Which gates look at which node, and their findings as a list. */
#include "cli/provision/model/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/provision/model/gate_part.h"

/* Gates that look at every member: the first of the list, down to its operating system. */
static const uint32_t always = ((uint32_t)1 << (GATE_SYSTEM + 1)) - 1;

static uint32_t bit_of(const char *word, size_t len)
{
	for (size_t g = 0; g < GATE_COUNT; g++)
		if (strlen(gate_name((enum gate)g)) == len && memcmp(gate_name((enum gate)g), word, len) == 0)
			return (uint32_t)1 << g;
	return 0;
}

int gate_check_name(const char *word, struct fail *f)
{
	struct buf names;
	int rc = bit_of(word, strlen(word)) ? 0 : -EINVAL;

	buf_init(&names, 4096);
	for (int g = 0; rc && g < GATE_COUNT; g++)
		(void)buf_addf(&names, "%s%s", g ? ", " : "", gate_name((enum gate)g));
	if (rc)
		fail_set(f, rc, "no gate '%.40s'; available: %s", word, buf_text(&names));
	buf_release(&names);
	return rc;
}

/* Gates that a stack needs: those it lists, and those that follow from its settings and packages. */
static uint32_t wants_of(const struct use *u)
{
	uint32_t wants = 0;

	for (const char *word = u->stack->gates ? u->stack->gates : ""; *word;) {
		size_t len = strcspn(word, " ");

		wants |= bit_of(word, len);
		word += len + strspn(word + len, " ");
	}
	if (stack_setting(u->stack, "disk-mb"))
		wants |= (uint32_t)1 << GATE_DISK;
	if (stack_setting(u->stack, "memory-mb"))
		wants |= (uint32_t)1 << GATE_MEMORY;
	if (u->stack->packages && u->stack->packages[0])
		wants |= (uint32_t)1 << GATE_DPKG;
	return wants;
}

static int by_place(const void *a, const void *b)
{
	const struct finding *x = *(const struct finding *const *)a, *y = *(const struct finding *const *)b;

	if (x->gate != y->gate)
		return x->gate < y->gate ? -1 : 1;
	if (x->member != y->member)
		return x->member < y->member ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Sorts by gate and node; findings of one gate about one node keep their order. */
static void gate_sort(struct findings *f)
{
	struct finding **order = calloc(f->count + 1, sizeof *order), *sorted = calloc(f->count + 1, sizeof *sorted);

	if (!order || !sorted)
		command_nomem();
	for (size_t i = 0; i < f->count; i++)
		order[i] = &f->at[i];
	qsort(order, f->count, sizeof *order, by_place);
	for (size_t i = 0; i < f->count; i++)
		sorted[i] = *order[i];
	if (f->count)
		memcpy(f->at, sorted, f->count * sizeof *sorted);
	free(order);
	free(sorted);
}

void gate_look(const struct cluster *c, const struct facts *all, const char *const *skipped, struct findings *out)
{
	struct gate_look l = { .c = c,
		.all = all,
		.skipped = skipped,
		.out = out,
		.wants = calloc(c->count ? c->count : 1, sizeof *l.wants) };

	if (!l.wants)
		command_nomem();
	*out = (struct findings){ 0 };
	for (size_t i = 0; i < c->use_count; i++) {
		uint32_t wants = wants_of(&c->uses[i]) | always;

		for (size_t m = 0; m < c->count; m++)
			if (c->uses[i].roles[m])
				l.wants[m] |= wants;
	}
	cluster_airgap(c, "arch", l.arch, sizeof l.arch);
	cluster_airgap(c, "release", l.release, sizeof l.release);
	gate_alone(&l);
	gate_same(&l);
	free(l.wants);
	gate_sort(out);
}
