/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions of stacks by name, such as drain, undrain, leave and upgrade, and chooses their nodes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"

/* Whether the script has a line "drain()" or "drain () {". */
bool provision_has(const struct stack_step *s, const char *function)
{
	size_t len = strlen(function);

	for (const char *at = s->script ? s->script : ""; *at;) {
		if (strncmp(at, function, len) == 0) {
			const char *after = at + len + strspn(at + len, " \t");

			if (str_starts(after, "()"))
				return true;
		}
		at = strchr(at, '\n');
		if (!at)
			return false;
		at++;
	}
	return false;
}

static const char *hostname_of(const struct provision *p, size_t member)
{
	const char *name = facts_get(&rollout_facts(p->e)[member], "hostname");

	return *name ? name : p->c->members[member];
}

static bool provision_call_reached(const struct provision *p, size_t member)
{
	return rollout_in(p->e, member);
}

/* The node for the call: the first reached one that is not its subject, else one that is. (size_t)-1: none. */
static size_t runner_of(const struct provision *p, const struct use *u, const struct stack_step *s, const bool *which)
{
	size_t found = (size_t)-1;

	for (size_t i = 0; i < p->c->count; i++) {
		if (!(u->roles[i] & s->roles) || !provision_call_reached(p, i))
			continue;
		if (!which[i])
			return i;
		found = found == (size_t)-1 ? i : found;
	}
	return found;
}

/* Calls it on the subject nodes, each about itself. */
static int call_there(struct provision *p, const struct use *u, const struct stack_step *s, const char *function,
	const bool *which)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < p->c->count; i++) {
		const char *const words[] = { which[i] ? hostname_of(p, i) : NULL, NULL };

		if (which[i] && u->roles[i] && provision_call_reached(p, i))
			status = provision_worse(status,
				rollout_call(p->e, u->stack->name, s->name, function, words, &i, 1));
	}
	return status;
}

static int call_one(struct provision *p, const struct use *u, const struct stack_step *s, const char *function,
	const bool *which)
{
	const char **words = calloc(p->c->count + 1, sizeof *words);
	size_t n = 0, runner = runner_of(p, u, s, which);
	int status = STATUS_OK;

	if (!words)
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		if (which[i] && u->roles[i])
			words[n++] = hostname_of(p, i);
	if (n && runner != (size_t)-1)
		status = rollout_call(p->e, u->stack->name, s->name, function, words, &runner, 1);
	else if (n)
		status = print_fail(p->np, STATUS_UNREACHABLE, "run it again when one of them answers",
			"cannot %s for %s: nanopod reached none of the nodes that can do it", function, u->stack->name);
	free(words);
	return status;
}

int provision_at_work(struct provision *p)
{
	bool *all = calloc(p->c->count + 1, sizeof *all);
	int status = STATUS_OK;

	if (!all)
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		all[i] = true;
	for (size_t k = 0; k < p->c->use_count; k++) {
		const struct use *u = &p->c->uses[k];
		const struct stack_step *s = stack_step(u->stack, "drain");

		if (!s || !s->roles || !provision_has(s, "at_work") || runner_of(p, u, s, all) == (size_t)-1)
			continue;
		status = call_one(p, u, s, "at_work", all);
		if (status == STATUS_INT || status == STATUS_TERM)
			break;
		status = STATUS_OK;
	}
	free(all);
	return status;
}

int provision_call_about(struct provision *p, const char *function, const bool *which, bool backwards)
{
	int status = STATUS_OK;

	for (size_t k = 0; k < p->c->use_count; k++) {
		const struct use *u = &p->c->uses[backwards ? p->c->use_count - 1 - k : k];
		const struct stack_step *s = stack_step(u->stack, "drain");

		if (!s || !provision_has(s, function))
			continue;
		status = provision_worse(status,
			s->roles ? call_one(p, u, s, function, which) : call_there(p, u, s, function, which));
		if (status == STATUS_INT || status == STATUS_TERM)
			break;
	}
	return status;
}

static int call_step(struct provision *p, const struct use *u, const struct stack_step *s, const char *function,
	const char *word)
{
	size_t *members = calloc(p->c->count + 1, sizeof *members), n = 0;
	int status = STATUS_OK;

	if (!members)
		command_nomem();
	for (size_t i = 0; i < p->c->count; i++)
		if (u->roles[i] && (!s->roles || u->roles[i] & s->roles))
			members[n++] = i;
	if (n)
		status = rollout_call(p->e, u->stack->name, s->name, function, (const char *const[]){ word, NULL },
			members, n);
	free(members);
	return status;
}

int provision_call_steps(struct provision *p, const char *function, const char *word)
{
	int status = STATUS_OK;

	for (size_t k = 0; k < p->c->use_count; k++) {
		const struct use *u = &p->c->uses[k];

		for (size_t i = 0; i < u->stack->step_count; i++) {
			const struct stack_step *s = &u->stack->steps[i];

			if (provision_has(s, function) && !s->when) /* such a step is on all nodes of its roles */
				status = provision_worse(status, call_step(p, u, s, function, word));
			if (status != STATUS_OK && status != STATUS_PARTLY)
				return status;
		}
	}
	return status;
}
