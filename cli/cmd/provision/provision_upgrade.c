/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod provision upgrade: to the versions of --set and --airgap. Steps report newer versions (`upgrades`); the file
 * is applied; each step with `upgrade` updates its nodes, in the order of the stack; then steps that depend on versions
 * are applied.
 */
#include <string.h>

#include "base/clock.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"

static bool provision_upgrade_can(const struct cluster *c)
{
	for (size_t i = 0; i < c->use_count; i++)
		for (size_t k = 0; k < c->uses[i].stack->step_count; k++)
			if (provision_has(&c->uses[i].stack->steps[k], "upgrade"))
				return true;
	return false;
}

/* Applying the file may change the package sources, so newer versions show only afterwards. */
static bool sources_change(const struct provision *p)
{
	const struct notelist *told = display_told(p->d);

	for (size_t i = 0; i < told->count; i++)
		if (told->at[i].kind == NOTE_DIFFERS && told->at[i].stack && told->at[i].step &&
			strcmp(told->at[i].stack, "base") == 0 && strcmp(told->at[i].step, "repo") == 0)
			return true;
	return false;
}

static int provision_upgrade_apply(struct provision *p)
{
	int status = rollout_begin(p->e, false);

	return status ? status : rollout_apply(p->e);
}

static int provision_upgrade_do_it(struct provision *p, size_t changes)
{
	int64_t began = clock_ms();
	char took[32];
	int status = rollout_hold(p->e), called, verified = STATUS_OK;

	if (!status && changes)
		status = rollout_begin(p->e, false);
	status = status ? status : provision_keep(p);
	if (!status && changes)
		status = rollout_apply(p->e);
	called = provision_fatal(status) ? status : provision_call_steps(p, "upgrade", NULL);
	if (!provision_fatal(called))
		called = provision_worse(called, provision_upgrade_apply(p));
	/* The nodes that must be first failed, and the error was reported. */
	status = called == STATUS_UNREACHABLE && status == STATUS_PARTLY ? status : provision_worse(status, called);
	if (!provision_fatal(called) && !option_given(p->o, "no-verify"))
		verified = rollout_verify(p->e);
	status = provision_end(p, "upgrade", provision_worse(status, verified));
	if (!status)
		print_note(p->np, "'%s' is up to date, %s%s", p->c->name,
			progress_time(clock_ms() - began, took, sizeof took),
			option_given(p->o, "no-verify") ? "" : "; all checks hold");
	return status;
}

static int provision_upgrade_upgrade(struct provision *p)
{
	size_t changes = 0, more = 0;
	int status = rollout_plan(p->e, &changes), rc;

	if (!provision_fatal(status)) {
		more = notelist_count(display_told(p->d), NOTE_DIFFERS, NULL);
		status = provision_worse(status,
			provision_call_steps(p, "upgrades", sources_change(p) ? "sources" : NULL));
		more = notelist_count(display_told(p->d), NOTE_DIFFERS, NULL) - more;
	}
	display_plan(p->d, option_given(p->o, "diff"), p->np->err);
	if (provision_fatal(status))
		return provision_end(p, NULL, status);
	if (!changes && !more) {
		status = provision_end(p, NULL, status);
		if (!status)
			print_note(p->np,
				"nothing to do: '%s' is as its file says, and the package sources of its nodes have "
				"nothing newer",
				p->c->name);
		return status;
	}
	if (option_given(p->o, "dry-run"))
		return provision_end(p, NULL, status);
	rc = provision_agree(p, "Upgrade it?");
	return rc ? rc : provision_worse(status, provision_upgrade_do_it(p, changes));
}

int provision_upgrade(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : plan_can_ask(np, o);
	status = status ? status : provision_open(&p, NULL);
	if (!status)
		status = provision_upgrade_can(p.c) ? provision_upgrade_upgrade(&p)
						    : provision_apply(&p, "upgrade", false);
	provision_release(&p);
	return status;
}
