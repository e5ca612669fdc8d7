/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a stack.yaml: read or refused with a sentence; what is read fits together. */
#include "cli/provision/model/stack.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct stack *s)
{
	if (s->role_count == 0 || s->role_count > STACK_ROLES || s->step_count == 0 || s->step_count > STACK_STEPS)
		abort();
	for (size_t i = 0; i < s->setting_count; i++)
		if (!stack_word(s->settings[i].key) || !s->settings[i].fallback)
			abort();
	for (size_t i = 0; i < s->step_count; i++) {
		const struct stack_step *step = &s->steps[i];

		if (!stack_word(step->name) || !step->script || step->roles >> s->role_count ||
			step->need_count > STACK_NEEDS)
			abort();
		for (size_t k = 0; k < step->need_count; k++)
			if (!step->needs[k].stack && !stack_step(s, step->needs[k].step))
				abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *top = getenv("abs_top_srcdir");
	char folder[PATH_MAX];
	struct stack *s = NULL;
	struct fail f = { 0 };

	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	if (stack_parse(folder, "toy", (const char *)data, size, &s, &f) < 0 ? !*f.text : !s)
		abort();
	if (s)
		check(s);
	stack_free(s);
	return 0;
}
