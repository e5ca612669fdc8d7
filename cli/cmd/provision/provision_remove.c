/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod provision remove: undoes all steps, so that the nodes are as they were. */
#include <stdlib.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

enum { NAMES_WIDTH = 60 };

static void show_removal(struct provision *p)
{
	struct buf stacks;
	struct plan plan;
	char *nodes = select_fold_names((const char *const *)(void *)p->c->members, p->c->count, NAMES_WIDTH);

	buf_init(&stacks, 4096);
	for (size_t i = p->c->use_count; i-- > 0;)
		(void)buf_addf(&stacks, "%s%s", stacks.len ? ", " : "", p->c->uses[i].stack->name);
	plan_init(&plan, "remove the cluster '%s'", p->c->name);
	plan_add(&plan, "nodes", "%s", nodes);
	plan_add(&plan, "stacks", "%s, with all they installed and their data", buf_text(&stacks));
	plan_add(&plan, "kept", "what was there before, in its old state");
	plan_show(p->np, &plan);
	plan_release(&plan);
	buf_release(&stacks);
	free(nodes);
}

/* Its nodes ended with their reservation: what this machine keeps of it is all that is left. */
static int provision_remove_kept(struct provision *p)
{
	struct fail f = { 0 };
	struct plan plan;
	int status, rc;

	plan_init(&plan, "forget the cluster '%s'", p->c->name);
	plan_add(&plan, "nodes", "none: they ended with their reservation");
	plan_add(&plan, "here", "its file, journal and logs are deleted");
	plan_show(p->np, &plan);
	plan_release(&plan);
	status = plan_agree(p->np, p->o, "Forget it?");
	if (status)
		return status;
	rc = runlog_open(p->c->name, &p->j, &f);
	rc = rc ? rc : runlog_forget(p->j, &f);
	if (rc)
		return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	print_note(p->np, "removed '%s'", p->c->name);
	return STATUS_OK;
}

int provision_remove(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	struct fail f = { 0 };
	bool force = option_given(o, "force");
	int status;

	if (words[1])
		return provision_take_off(np, o, words);
	status = provision_init(&p, np, o);
	p.known = p.undoes = p.forgets = true;
	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : plan_can_ask(np, o);
	if (!status && p.gone) {
		status = provision_remove_kept(&p);
		provision_release(&p);
		return status;
	}
	if (!status) {
		provision_warn_broken(&p);
		show_removal(&p);
		if (option_given(o, "dry-run")) {
			provision_release(&p);
			return STATUS_OK;
		}
	}
	status = status ? status : provision_open(&p, np->out);
	if (!status && !option_given(o, "yes") && (status = provision_at_work(&p)) != STATUS_OK)
		provision_end(&p, NULL, status);
	status = status ? status : provision_agree(&p, "Remove it?");
	if (!status) {
		status = provision_end(&p, "remove", rollout_remove(p.e, force));
		if (!status || (force && status == STATUS_PARTLY)) {
			if (runlog_forget(p.j, &f))
				status = print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
			else
				print_note(np, "removed '%s'", p.c->name);
		}
	}
	provision_release(&p);
	return status;
}
