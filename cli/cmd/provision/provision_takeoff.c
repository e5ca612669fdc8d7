/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod provision remove CLUSTER STACK...: undoes some stacks alone, and takes them out of the cluster's file. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/provision/model/clusteredit.h"
#include "cli/remote/select.h"

enum { NAMES_WIDTH = 60 };

/* ---- May they go? ------------------------------------------------------------------------------- */

static int takeoff_unknown(struct provision *p, const char *name)
{
	const char *near, *words[CLUSTER_USES];
	struct buf names;

	buf_init(&names, 4096);
	for (size_t i = 0; i < p->c->use_count; i++) {
		words[i] = p->c->uses[i].stack->name;
		(void)buf_addf(&names, "%s%s", i ? ", " : "", words[i]);
	}
	near = stack_nearest(name, words, p->c->use_count);
	if (near)
		print_fail(p->np, STATUS_NOTFOUND, NULL, "'%s' has no stack '%.48s'; did you mean '%s'?", p->c->name,
			name, near);
	else
		print_fail(p->np, STATUS_NOTFOUND, NULL, "'%s' has no stack '%.48s'; it has %s", p->c->name, name,
			buf_text(&names));
	buf_release(&names);
	return STATUS_NOTFOUND;
}

/* The stack that stays and needs this one; NULL. */
static const struct use *needed_by(const struct cluster *c, char **stacks, const char *name)
{
	for (size_t i = 0; i < c->use_count; i++)
		if (!str_among(stacks, c->uses[i].stack->name) && str_among(c->uses[i].stack->needs_stacks, name))
			return &c->uses[i];
	return NULL;
}

static int takeoff_check(struct provision *p, char **stacks)
{
	char hint[200];

	for (char **s = stacks; *s; s++) {
		const struct use *by;

		if (!cluster_use(p->c, *s))
			return takeoff_unknown(p, *s);
		snprintf(hint, sizeof hint, "'nanopod provision remove %.48s' removes the whole cluster", p->c->name);
		if (strcmp(*s, "base") == 0)
			return print_fail(p->np, STATUS_CONFLICT, hint, "every cluster needs 'base'");
		by = needed_by(p->c, stacks, *s);
		if (!by)
			continue;
		snprintf(hint, sizeof hint, "'nanopod provision remove %.48s %.48s %.48s' removes both", p->c->name,
			by->stack->name, *s);
		return print_fail(p->np, STATUS_CONFLICT, hint, "'%s' needs '%s'", by->stack->name, *s);
	}
	return STATUS_OK;
}

/* ---- The file without them ------------------------------------------------------------------------ */

/* Whether a stack that stays has the role that this key of the file names. */
static bool has_key(const struct cluster *c, char **stacks, const char *key)
{
	const char *dot = strchr(key, '.'), *role = dot ? dot + 1 : key;
	size_t len = dot ? (size_t)(dot - key) : 0;

	for (size_t i = 0; i < c->use_count; i++) {
		const struct stack *s = c->uses[i].stack;

		if (str_among(stacks, s->name) || (dot && (strlen(s->name) != len || strncmp(s->name, key, len) != 0)))
			continue;
		if (c->uses[i].broken || stack_role(s, role))
			return true;
	}
	return false;
}

static int drop_roles(struct provision *p, char **stacks)
{
	char *keys[PROVISION_ROLE_KEYS];
	size_t n = provision_role_keys(p, keys);
	struct fail f = { 0 };
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		if (rc >= 0 && !has_key(p->c, stacks, keys[i]))
			rc = clusteredit_drop(p->file, &p->text, "roles", keys[i], &f);
		free(keys[i]);
	}
	return rc < 0 ? print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text) : STATUS_OK;
}

/* A stack that came because one of these needs it stays: the file names it from now on. */
static int keep_others(struct provision *p, char **stacks)
{
	struct fail f = { 0 };

	for (size_t i = 0; i < p->c->use_count; i++) {
		const char *name = p->c->uses[i].stack->name;

		if (!str_among(stacks, name) && clusteredit_stack(p->file, &p->text, name, &f))
			return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	}
	return STATUS_OK;
}

static int drop_stacks(struct provision *p, char **stacks)
{
	struct fail f = { 0 };
	int status = drop_roles(p, stacks);

	for (char **s = stacks; *s && !status; s++)
		if (clusteredit_drop(p->file, &p->text, "stacks", *s, &f) < 0)
			status = print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	status = status ? status : keep_others(p, stacks);
	return status ? status : provision_read(p);
}

/* ---- Doing it ------------------------------------------------------------------------------------- */

static void show_plan(struct provision *p, char **stacks)
{
	struct plan plan;
	struct buf names, stay;
	char *nodes = select_fold_names((const char *const *)(void *)p->c->members, p->c->count, NAMES_WIDTH);

	buf_init(&names, 4096);
	buf_init(&stay, 4096);
	for (char **s = stacks; *s; s++)
		(void)buf_addf(&names, "%s%s", names.len ? ", " : "", *s);
	for (size_t i = 0; i < p->c->use_count; i++)
		(void)buf_addf(&stay, "%s%s", i ? ", " : "", p->c->uses[i].stack->name);
	plan_init(&plan, "remove %s from '%s'", buf_text(&names), p->c->name);
	plan_add(&plan, "nodes", "%s", nodes);
	plan_add(&plan, "ends", "what runs in %s now", buf_text(&names));
	plan_add(&plan, "kept", "its data, which nanopod lists; what was there before, in its old state");
	plan_add(&plan, "stays", "%s", buf_text(&stay));
	plan_show(p->np, &plan);
	plan_release(&plan);
	buf_release(&names);
	buf_release(&stay);
	free(nodes);
}

static size_t takeoff_away(const struct provision *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->c->count; i++)
		n += !rollout_facts(p->e)[i].known;
	return n;
}

/* A node that is away keeps its ledger: the next apply undoes them there. Another failure keeps them in the file. */
static int takeoff_do(struct provision *p, char **stacks)
{
	size_t away = takeoff_away(p), failed = 0;
	int status = rollout_take_off(p->e), rc;

	for (size_t i = 0; i < p->c->count; i++)
		failed += !rollout_in(p->e, i);
	if ((!status || status == STATUS_PARTLY) && (failed == away || option_given(p->o, "force")) &&
		(rc = provision_keep(p)) != STATUS_OK)
		return rc;
	status = provision_end(p, "remove", status);
	if (away && failed == away)
		print_note(p->np, "%zu of %zu nodes did not answer; 'nanopod provision apply %s' undoes it there", away,
			p->c->count, p->c->name);
	for (char **s = stacks; *s && !status; s++)
		print_note(p->np, "removed '%s' from '%s'", *s, p->c->name);
	return status;
}

static int takeoff_run(struct provision *p, char **stacks)
{
	size_t changes;
	int status = rollout_plan_off(p->e, stacks, &changes);

	display_plan(p->d, false, p->np->err);
	if (provision_fatal(status) || option_given(p->o, "dry-run"))
		return provision_end(p, NULL, status);
	status = provision_agree(p, "Remove it?");
	return status ? status : takeoff_do(p, stacks);
}

int provision_take_off(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	int status = provision_init(&p, np, o);

	p.known = p.undoes = true;
	if (!status && provision_is_path(*words))
		status = print_fail(np, STATUS_USAGE, "take the stack out of the file and apply that",
			"name the cluster to remove a stack from it, not a file: '%.80s'", *words);
	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : plan_can_ask(np, o);
	if (!status)
		provision_warn_broken(&p);
	status = status ? status : takeoff_check(&p, words + 1);
	status = status ? status : drop_stacks(&p, words + 1);
	if (!status)
		show_plan(&p, words + 1);
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : takeoff_run(&p, words + 1);
	provision_release(&p);
	return status;
}
