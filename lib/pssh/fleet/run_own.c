/* SPDX-License-Identifier: Apache-2.0 */
/* One host's own command, variables and deadline in a task. */
#include <stdlib.h>
#include <string.h>

#include "pssh/fleet/fleet.h"

int run_own_make(struct run *r)
{
	if (!r->own)
		r->own = calloc(1, sizeof *r->own);
	return r->own ? 0 : PSSH_ENOMEM;
}

void run_own_free(struct run_own *own)
{
	if (!own)
		return;
	free(own->command);
	free((void *)own->want.env);
	strings_free(&own->env, &own->env_count);
	free(own);
}

/* The task's variables and then the host's, as the server keeps the last value of a name. */
static char *const *both_env(const struct run *r)
{
	size_t common = r->task->env_count, own = r->own->env_count;
	char **both = calloc(common + own + 1, sizeof *both);

	if (both && common)
		memcpy(both, r->task->env, common * sizeof *both);
	if (both && own)
		memcpy(both + common, r->own->env, own * sizeof *both);
	return both;
}

const struct exec_want *run_own_want(struct run *r)
{
	struct run_own *own = r->own;

	if (!own)
		return &r->task->want;
	free((void *)own->want.env);
	own->want = r->task->want;
	own->want.env = both_env(r);
	if (own->command)
		own->want.command = own->command;
	return own->want.env ? &own->want : NULL;
}

unsigned run_own_deadline(const struct run *r)
{
	if (r->own && r->own->deadline_set)
		return r->own->deadline;
	return r->task->deadline_set ? r->task->deadline : r->host->plan.deadline[PSSH_PHASE_TASK];
}
