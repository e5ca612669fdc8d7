/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the nodes of a cluster: nanopod provision add, drop, drain, undrain. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/provision/model/clusteredit.h"
#include "cli/remote/select.h"
#include "cli/frame/value.h"
#include "conf/conf.h"

enum { NAMES_WIDTH = 60 };

/* ---- Lists ---------------------------------------------------------------------------------------- */

static char *fold_list(const struct pssh_list *l)
{
	char *text = NULL;

	if (pssh_list_fold(l, &text) || !text)
		command_nomem();
	return text;
}

static char *fold_marked(const struct cluster *c, const bool *which)
{
	const char **names = calloc(c->count + 1, sizeof *names);
	size_t n = 0;
	char *text;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < c->count; i++)
		if (which[i])
			names[n++] = c->members[i];
	text = select_fold_names(names, n, NAMES_WIDTH);
	free(names);
	return text;
}

static bool *provision_nodes_marks(size_t count)
{
	bool *which = calloc(count + 1, sizeof *which);

	if (!which)
		command_nomem();
	return which;
}

static int set_nodes(struct provision *p, const struct pssh_list *l)
{
	struct fail f = { 0 };
	char *text = fold_list(l);
	int status = clusteredit_nodes(p->file, &p->text, text, &f)
		? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text)
		: STATUS_OK;

	free(text);
	return status;
}

static int set_role(struct provision *p, const char *role, const struct pssh_list *l)
{
	struct fail f = { 0 };
	char *text = fold_list(l);
	int status = clusteredit_set(p->file, &p->text, (const char *const[]){ "roles", role, NULL }, text, &f)
		? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text) : STATUS_OK;

	free(text);
	return status;
}

/* ---- Roles ------------------------------------------------------------------------------------------- */

/* Whether the key, "controller" or "slurm.controller", names this role of this stack. */
static const struct stack_role *role_of(const struct use *u, const char *key)
{
	const char *dot = strchr(key, '.');
	size_t len = dot ? (size_t)(dot - key) : 0;

	if (dot && (strlen(u->stack->name) != len || strncmp(u->stack->name, key, len) != 0))
		return NULL;
	return stack_role(u->stack, dot ? dot + 1 : key);
}

static int provision_nodes_check_role(struct provision *p, const char *key)
{
	const char *near = NULL;
	size_t far, best = SIZE_MAX;

	for (size_t i = 0; i < p->c->use_count; i++) {
		const struct stack *s = p->c->uses[i].stack;

		if (role_of(&p->c->uses[i], key))
			return STATUS_OK;
		for (size_t r = 0; r < s->role_count; r++) {
			if (value_near(key, s->roles[r].name, &far) && far < best) {
				best = far;
				near = s->roles[r].name;
			}
		}
	}
	if (near)
		return print_fail_field(p->np, STATUS_USAGE, "--role", NULL,
			"'%s' has no role '%.60s'; did you mean '%s'?", p->c->name, key, near);
	return print_fail_field(p->np, STATUS_USAGE, "--role", "'nanopod provision stacks STACK' shows the roles",
		"'%s' has no role '%.60s'", p->c->name, key);
}

/* The members that have the role now, in any of the stacks. */
static struct pssh_list *provision_nodes_holders(struct provision *p, const char *key)
{
	struct pssh_list *l;

	if (pssh_list_new(&l))
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		for (size_t k = 0; k < p->c->use_count; k++) {
			const struct stack_role *r = role_of(&p->c->uses[k], key);

			if (r && p->c->uses[k].roles[i] & (1U << (r - p->c->uses[k].stack->roles))) {
				(void)pssh_list_add(l, p->c->members[i]);
				break;
			}
		}
	return l;
}

size_t provision_role_keys(struct provision *p, char *keys[PROVISION_ROLE_KEYS])
{
	struct conf_file *file;
	const struct conf *roles;
	size_t n = 0;

	if (conf_parse(p->file, buf_text(&p->text), p->text.len, &file, NULL))
		return 0;
	roles = conf_get(&file->root, "roles");
	for (size_t i = 0; roles && roles->type == CONF_MAP && i < roles->count && n < PROVISION_ROLE_KEYS; i++)
		if (!(keys[n++] = strdup(roles->items[i].key)))
			command_nomem();
	conf_free(file);
	return n;
}

static void free_keys(char *keys[PROVISION_ROLE_KEYS], size_t n)
{
	while (n)
		free(keys[--n]);
}

/* ---- Add ------------------------------------------------------------------------------------------------ */

/* Without --role, new nodes get the roles that fall to "rest" or "all". */
static bool takes_new_ones(const struct cluster *c, const char *key)
{
	for (size_t i = 0; i < c->use_count; i++) {
		const struct stack_role *r = role_of(&c->uses[i], key);

		if (r && r->fallback && (strcmp(r->fallback, "rest") == 0 || strcmp(r->fallback, "all") == 0))
			return true;
	}
	return false;
}

static int give_role(struct provision *p, const char *key, const struct pssh_list *fresh)
{
	struct pssh_list *l = provision_nodes_holders(p, key);
	int status;

	for (size_t i = 0; i < pssh_list_count(fresh); i++)
		(void)pssh_list_add(l, pssh_list_get(fresh, i));
	status = set_role(p, key, l);
	pssh_list_free(l);
	return status;
}

static int give_roles(struct provision *p, const struct pssh_list *fresh)
{
	size_t typed = option_count(p->o, "role"), n;
	char *keys[PROVISION_ROLE_KEYS];
	int status = STATUS_OK;

	for (size_t i = 0; i < typed && !status; i++) {
		const char *key = option_at(p->o, "role", i);

		status = provision_nodes_check_role(p, key);
		status = status ? status : give_role(p, key, fresh);
	}
	n = provision_role_keys(p, keys);
	for (size_t i = 0; i < n && !typed && !status; i++)
		if (takes_new_ones(p->c, keys[i]))
			status = give_role(p, keys[i], fresh);
	free_keys(keys, n);
	return status;
}

/* Adds the nodes to the file. Nodes that it has already are no error, so that the same command can continue. */
static int add_to_text(struct provision *p, const struct pssh_list *hosts, struct pssh_list *fresh)
{
	struct pssh_list *all;
	int status = STATUS_OK;

	if (pssh_list_new(&all))
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		(void)pssh_list_add(all, p->c->members[i]);
	for (size_t i = 0; i < pssh_list_count(hosts); i++) {
		const char *name = pssh_list_get(hosts, i);

		(void)pssh_list_add(all, name);
		if (cluster_member(p->c, name) == (size_t)-1)
			(void)pssh_list_add(fresh, name);
	}
	if (pssh_list_count(fresh))
		status = set_nodes(p, all);
	if (!status && (pssh_list_count(fresh) || option_count(p->o, "role")))
		status = give_roles(p, option_count(p->o, "role") ? hosts : fresh);
	pssh_list_free(all);
	return status ? status : provision_read(p);
}

/* Refuses new nodes that do not answer: a mistyped name would stay in the cluster. */
static int all_reached(struct provision *p, const struct pssh_list *fresh)
{
	for (size_t i = 0; i < pssh_list_count(fresh); i++) {
		const char *name = pssh_list_get(fresh, i);
		size_t m = cluster_member(p->c, name);

		if (m != (size_t)-1 && !rollout_facts(p->e)[m].known)
			return print_fail(p->np, STATUS_UNREACHABLE,
				"nothing was changed; run it again when the node answers", "cannot add '%s': %s", name,
				rollout_facts(p->e)[m].why ? rollout_facts(p->e)[m].why : "nanopod did not reach it");
	}
	return STATUS_OK;
}

int provision_add(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	struct pssh_list *hosts = NULL, *fresh;
	int status = provision_init(&p, np, o);

	if (pssh_list_new(&fresh))
		command_nomem();
	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : provision_hosts(&p, &hosts);
	status = status ? status : plan_can_ask(np, o);
	status = status ? status : add_to_text(&p, hosts, fresh);
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : all_reached(&p, fresh);
	status = status ? status : provision_apply(&p, "add", false);
	pssh_list_free(hosts);
	pssh_list_free(fresh);
	provision_release(&p);
	return status;
}

/* ---- Which ------------------------------------------------------------------------------------------------ */

/* Marks the members that -w and -r name; other hosts are an error. */
static int provision_nodes_choose(struct provision *p, bool **out)
{
	struct pssh_list *hosts;
	bool *which;
	int status = provision_hosts(p, &hosts);

	if (status)
		return status;
	which = provision_nodes_marks(p->c->count);
	for (size_t i = 0; !status && i < pssh_list_count(hosts); i++) {
		size_t m = cluster_member(p->c, pssh_list_get(hosts, i));

		if (m == (size_t)-1)
			status = print_fail_field(p->np, STATUS_NOTFOUND, "--hosts",
				"'nanopod provision list' shows the nodes", "'%s' is not a node of '%s'",
				pssh_list_get(hosts, i), p->c->name);
		else
			which[m] = true;
	}
	pssh_list_free(hosts);
	if (status)
		free(which);
	else
		*out = which;
	return status;
}

/* ---- Drop --------------------------------------------------------------------------------------------------- */

static int drop_from_role(struct provision *p, const char *key, const bool *which)
{
	struct pssh_list *l = provision_nodes_holders(p, key);
	size_t before = pssh_list_count(l);
	struct fail f = { 0 };
	int status = STATUS_OK;

	for (size_t i = 0; i < p->c->count; i++)
		if (which[i])
			(void)pssh_list_drop(l, p->c->members[i]);
	/* All workers of an autoscaled cluster may go: the next ones get the role by default. */
	if (before && !pssh_list_count(l) && p->c->autoscale.on && takes_new_ones(p->c, key))
		status = clusteredit_drop(p->file, &p->text, "roles", key, &f) < 0
			? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text)
			: STATUS_OK;
	else if (before && !pssh_list_count(l))
		status = print_fail(p->np, STATUS_CONFLICT,
			"give the role to another node in the file and apply that first",
			"no node of '%s' would be left as '%s'", p->c->name, key);
	else if (pssh_list_count(l) != before)
		status = set_role(p, key, l);
	pssh_list_free(l);
	return status;
}

static int drop_from_text(struct provision *p, const bool *which)
{
	struct pssh_list *left;
	char *keys[PROVISION_ROLE_KEYS];
	size_t n = provision_role_keys(p, keys);
	int status = STATUS_OK;

	if (pssh_list_new(&left))
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		if (!which[i])
			(void)pssh_list_add(left, p->c->members[i]);
	if (!pssh_list_count(left)) {
		char again[120];

		snprintf(again, sizeof again, "'nanopod provision remove %.63s' removes the cluster", p->c->name);
		status = print_fail(p->np, STATUS_CONFLICT, again, "no node of '%s' would be left", p->c->name);
	}
	for (size_t i = 0; i < n && !status; i++)
		status = drop_from_role(p, keys[i], which);
	status = status ? status : set_nodes(p, left);
	free_keys(keys, n);
	pssh_list_free(left);
	return status;
}

/* Refuses a drop that moves a role by default to another node, which would lack the first node's data. */
static int check_roles_stay(struct provision *p, const struct cluster *after)
{
	for (size_t k = 0; k < p->c->use_count && k < after->use_count; k++) {
		const struct use *before = &p->c->uses[k], *now = &after->uses[k];

		for (size_t i = 0; i < after->count; i++) {
			size_t was = cluster_member(p->c, after->members[i]);
			unsigned fresh = was == (size_t)-1 ? 0 : now->roles[i] & ~(unsigned)before->roles[was];

			for (size_t r = 0; r < now->stack->role_count; r++)
				if (fresh & (1U << r) && now->stack->roles[r].max)
					return print_fail(p->np, STATUS_CONFLICT,
						"name a node for the role in the file's 'roles' and apply that first",
						"'%s' would become the %s of %s, without the data of the dropped node",
						after->members[i], now->stack->roles[r].name, now->stack->name);
		}
	}
	return STATUS_OK;
}

static size_t with_roles(const struct cluster *c, const char *stack, unsigned roles)
{
	size_t n = 0;

	for (size_t k = 0; k < c->use_count; k++)
		for (size_t i = 0; i < c->count && strcmp(c->uses[k].stack->name, stack) == 0; i++)
			n += (c->uses[k].roles[i] & roles) != 0;
	return n;
}

/* More than half of the voting servers must stay. */
static int check_quorum(struct provision *p, const struct cluster *after)
{
	for (size_t k = 0; k < p->c->use_count; k++) {
		const struct stack *s = p->c->uses[k].stack;

		for (size_t i = 0; i < s->step_count; i++) {
			size_t before, now;

			if (!s->steps[i].quorum || !s->steps[i].roles)
				continue;
			before = with_roles(p->c, s->name, s->steps[i].roles);
			now = with_roles(after, s->name, s->steps[i].roles);
			if (now < before && now < before / 2 + 1)
				return print_fail(p->np, STATUS_CONFLICT, "drop fewer at a time",
					"cannot drop %zu of %zu servers of %s: more than half must stay, or the "
					"cluster stops",
					before - now, before, s->name);
		}
	}
	return STATUS_OK;
}

static void show_drop(struct provision *p, const bool *which, const struct cluster *after)
{
	char *gone = fold_marked(p->c, which),
	     *left = select_fold_names((const char *const *)(void *)after->members, after->count, NAMES_WIDTH);
	struct plan plan;

	plan_init(&plan, "drop %s from '%s'", gone, p->c->name);
	plan_add(&plan, "there", "drains running work and removes what was installed, if the node answers");
	plan_add(&plan, "left", "%s, which then forget the dropped nodes", left);
	plan_show(p->np, &plan);
	plan_release(&plan);
	free(gone);
	free(left);
}

static bool any_reached(const struct provision *p)
{
	const struct cluster *c = p->c;
	const struct facts *facts = rollout_facts(p->e);

	for (size_t i = 0; i < c->count; i++)
		if (facts[i].known)
			return true;
	return false;
}

/* Drains the nodes, lets the others forget them, and undoes their steps. An unreachable node is only forgotten. */
static int take_out(struct provision *p, const bool *which, struct cluster *gone)
{
	struct cluster *whole = p->c;
	int status = provision_call_about(p, "may_leave", which, true), rc;

	/* Do not drain a node that may not leave. */
	if (!status || option_given(p->o, "force"))
		status = provision_worse(status, provision_call_about(p, "drain", which, true));
	if (!status || option_given(p->o, "force"))
		status = provision_worse(status, provision_call_about(p, "leave", which, true));
	if (status && !option_given(p->o, "force"))
		return status;
	p->c = gone;
	p->undoes = true;
	rc = provision_reopen(p, gone);
	p->undoes = false;
	if (!rc && any_reached(p))
		rc = rollout_remove(p->e, true);
	p->c = whole;
	if (rc == STATUS_INT || rc == STATUS_TERM)
		return rc;
	if (rc)
		print_warn(p->np,
			"dropped nodes may still have what was installed: nanopod could not reach them, or not clean "
			"them");
	return STATUS_OK;
}

/*
 * Checks the remaining cluster before any change: for example, a partition that names a dropped node must be fixed
 * first.
 */
static int open_drop(struct provision *p, struct cluster *after)
{
	struct cluster *whole = p->c;
	int status;

	p->c = after;
	status = provision_open(p, NULL);
	p->c = whole;
	if (!status && !option_given(p->o, "force") && (status = rollout_try(p->e)) == STATUS_CHECK) {
		display_quiet(p->d);
		return print_fail(p->np, STATUS_CONFLICT, "fix the errors above and apply that first",
			"'%s' needs these nodes; nothing was changed", p->c->name);
	}
	status = status ? status : provision_agree(p, "Drop it?");
	return status ? status : provision_reopen(p, whole);
}

static int provision_nodes_drop(struct provision *p, const bool *which)
{
	struct cluster *old = NULL, *gone = NULL;
	int status = provision_parse(p, &gone);

	status = status ? status : drop_from_text(p, which);
	status = status ? status : provision_parse(p, &old); /* at this point it is the new one */
	status = status ? status : check_roles_stay(p, old);
	status = status ? status : check_quorum(p, old);
	if (!status)
		show_drop(p, which, old);
	if (!status && !option_given(p->o, "dry-run")) {
		status = open_drop(p, old);
		if (!status) {
			provision_only(gone, which);
			status = take_out(p, which, gone);
			status = status ? provision_end(p, "drop", status) : STATUS_OK;
		}
		if (!status) {
			struct cluster *swap = p->c;

			p->c = old;
			old = swap;
			status = provision_reopen(p, p->c);
			status = status ? status : provision_apply(p, "drop", true);
		}
	}
	if (p->e)
		rollout_free(p->e);
	p->e = NULL;
	cluster_free(old);
	cluster_free(gone);
	return status;
}

int provision_drop(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	bool *which = NULL;
	int status = provision_init(&p, np, o);

	p.known = true;
	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : plan_can_ask(np, o);
	if (!status)
		provision_warn_broken(&p);
	status = status ? status : provision_nodes_choose(&p, &which);
	status = status ? status : provision_nodes_drop(&p, which);
	free(which);
	provision_release(&p);
	return status;
}

/* ---- Drain --------------------------------------------------------------------------------------------- */

static bool provision_nodes_knows(const struct cluster *c, const char *function)
{
	for (size_t i = 0; i < c->use_count; i++) {
		const struct stack_step *s = stack_step(c->uses[i].stack, "drain");

		if (s && provision_has(s, function))
			return true;
	}
	return false;
}

static int provision_nodes_call(struct nanopod *np, const struct options *o, char **words, const char *function)
{
	struct provision p;
	bool *which = NULL;
	char *names;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take_cluster(&p, *words);
	status = status ? status : provision_nodes_choose(&p, &which);
	if (!status && !provision_nodes_knows(p.c, function))
		status = print_fail(np, STATUS_CONFLICT, NULL, "no stack of '%s' can %s a node", p.c->name, function);
	if (!status && option_given(o, "dry-run")) {
		names = fold_marked(p.c, which);
		print_note(np, "would %s %s", function, names);
		free(names);
	} else if (!status) {
		status = provision_open(&p, NULL);
		status = status ? status
				: provision_end(&p, function,
					  provision_call_about(&p, function, which, strcmp(function, "drain") == 0));
		if (!status) {
			names = fold_marked(p.c, which);
			print_note(np, "%sed: %s", function, names);
			free(names);
		}
	}
	free(which);
	provision_release(&p);
	return status;
}

int provision_drain(struct nanopod *np, const struct options *o, char **words)
{
	return provision_nodes_call(np, o, words, "drain");
}

int provision_undrain(struct nanopod *np, const struct options *o, char **words)
{
	return provision_nodes_call(np, o, words, "undrain");
}
