/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for one host of a task: they check arguments and pass them on. */
#include "pssh/entry.h"
#include "pssh/pssh.h"

static int find_run(struct pssh_task *t, const struct pssh_host *h, struct run **out)
{
	int rc = entry_here(t->fleet);

	if (rc || task_find_run(t, h, out) == 0)
		return rc;
	return fail_set(&t->fleet->why, PSSH_ENOENT, "'%s' is not in this task, or has ended", h->spec);
}

/* The settings of a host that has not begun. */
static int find_own(struct pssh_task *t, const struct pssh_host *h, struct run **out)
{
	int rc = find_run(t, h, out);

	if (rc)
		return rc;
	if (t->kind != TASK_EXEC)
		return entry_refuse(t->fleet, "only commands have this");
	if ((*out)->state != RUN_WAITING)
		return fail_set(&t->fleet->why, PSSH_EINVAL, "'%s' has already begun; set this before", h->spec);
	return run_own_make(*out) ? entry_no_memory(t->fleet) : 0;
}

int pssh_task_set_host_command(struct pssh_task *t, struct pssh_host *h, const char *command)
{
	struct run *r;
	int rc = find_own(t, h, &r);

	return rc ? rc : entry_set_text(t->fleet, &r->own->command, command);
}

int pssh_task_set_host_env(struct pssh_task *t, struct pssh_host *h, const char *name, const char *value)
{
	struct run *r;
	int rc = find_own(t, h, &r);

	return rc ? rc : entry_add_variable(t->fleet, &r->own->env, &r->own->env_count, name, value);
}

int pssh_task_set_host_deadline(struct pssh_task *t, struct pssh_host *h, unsigned ms)
{
	struct run *r;
	int rc = find_run(t, h, &r);

	if (rc)
		return rc;
	if (run_own_make(r) != 0)
		return entry_no_memory(t->fleet);
	r->own->deadline = ms;
	r->own->deadline_set = true;
	return 0;
}

int pssh_task_cancel_host(struct pssh_task *t, struct pssh_host *h, const char *signal, unsigned grace_ms)
{
	struct run *r;
	int rc = entry_check_signal(t->fleet, signal);

	if (!rc)
		rc = find_run(t, h, &r);
	if (rc)
		return rc;
	r->cancelled = true;
	fleet_cancel_run(r, signal, grace_ms);
	return 0;
}

int pssh_task_stop_host(struct pssh_task *t, struct pssh_host *h)
{
	struct run *r;
	int rc = find_run(t, h, &r);

	if (rc)
		return rc;
	r->cancelled = true;
	fleet_end_run(r, PSSH_EV_ERROR, PSSH_ECANCEL, "stopped");
	return 0;
}
