/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes a cluster file names, and which roles they have: those of the file, else the stack's default. */
#include "cli/provision/model/cluster_part.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "cli/frame/command.h"

/* ---- Hosts: expressions, groups and reservations ---------------------------------------------- */

int cluster_add_hosts(struct cluster_reading *r, const struct conf *at, const char *text, struct pssh_list *into)
{
	struct fail why = { 0 };

	if (r->expand) {
		if (r->expand(r->arg, text, into, &why))
			return conf_fail(r->file, at, r->f, "%s", why.text);
	} else if (pssh_list_add(into, text)) {
		return conf_fail(r->file, at, r->f, "%s", pssh_list_error(into));
	}
	if (pssh_list_count(into) > CLUSTER_NODES)
		return conf_fail(r->file, at, r->f, "%zu nodes; a cluster has at most %d", pssh_list_count(into),
			CLUSTER_NODES);
	return 0;
}

int cluster_hosts(struct cluster_reading *r, const struct conf *at, struct pssh_list *into)
{
	int rc = 0;

	if (at->type != CONF_LIST) {
		rc = conf_expect(r->file, at, CONF_TEXT, r->f);
		return rc ? rc : cluster_add_hosts(r, at, at->text, into);
	}
	for (size_t i = 0; i < at->count && !rc; i++) {
		rc = conf_expect(r->file, &at->items[i], CONF_TEXT, r->f);
		rc = rc ? rc : cluster_add_hosts(r, &at->items[i], at->items[i].text, into);
	}
	return rc;
}

/* ---- Roles ------------------------------------------------------------------------------------ */

/* Members by full name, and by the host in it if only one member has that host. Values: index + 1. */
struct names {
	struct table full, host;
};

static char twice; /* marks a host of more than one member */

static void cluster_role_add_name(struct table *t, const char *key, void *value)
{
	if (table_set(t, key, value))
		command_nomem();
}

static void cluster_role_host_of(const char *name, char *room, size_t size)
{
	const char *at = strrchr(name, '@');

	name = at ? at + 1 : name;
	snprintf(room, size, "%.*s", (int)(*name == '[' ? strcspn(name, "]") + 1 : strcspn(name, ":")), name);
}

static void names_init(struct names *n, const struct cluster *c)
{
	char host[256];

	table_init(&n->full);
	table_init(&n->host);
	for (size_t i = 0; i < c->count; i++) {
		cluster_role_host_of(c->members[i], host, sizeof host);
		cluster_role_add_name(&n->full, c->members[i], (void *)(uintptr_t)(i + 1));
		cluster_role_add_name(&n->host, host, table_get(&n->host, host) ? &twice : (void *)(uintptr_t)(i + 1));
	}
}

static void names_release(struct names *n)
{
	table_release(&n->full);
	table_release(&n->host);
}

static int find_member(struct cluster_reading *r, const struct names *n, const struct conf *at, const char *name,
	size_t *out)
{
	void *found = table_get(&n->full, name);
	const char *near;

	found = found ? found : table_get(&n->host, name);
	if (found == &twice)
		return conf_fail(r->file, at, r->f, "'%.64s' is the host of two nodes: name one as 'nodes' does", name);
	if (found) {
		*out = (size_t)(uintptr_t)found - 1;
		return 0;
	}
	near = stack_nearest(name, (const char *const *)r->c->members, r->c->count);
	if (near)
		return conf_fail(r->file, at, r->f, "'%.64s' is not one of the nodes; did you mean '%s'?", name, near);
	return conf_fail(r->file, at, r->f, "'%.64s' is not one of the %zu nodes", name, r->c->count);
}

/* ---- One role -------------------------------------------------------------------------- */

enum way { WAY_FIRST, WAY_REST, WAY_ALL, WAY_NONE, WAY_NAMED };

static enum way way_of(const char *text)
{
	static const char *const words[] = { "first", "rest", "all", "none" };
	size_t i = 0;

	while (i < WAY_NAMED && strcmp(words[i], text) != 0)
		i++;
	return (enum way)i;
}

static const struct conf *cluster_role_said_of(const struct conf *roles, const struct use *u,
	const struct stack_role *role)
{
	const struct conf *at;
	char key[128];

	if (!roles)
		return NULL;
	snprintf(key, sizeof key, "%s.%s", u->stack->name, role->name);
	at = conf_get(roles, key);
	if (!at || at->type == CONF_NULL)
		at = conf_get(roles, role->name);
	return at && at->type != CONF_NULL ? at : NULL;
}

static int name_members(struct cluster_reading *r, const struct names *n, const struct conf *at, struct use *u,
	unsigned char bit)
{
	struct pssh_list *list;
	size_t member = 0;
	int rc;

	if (pssh_list_new(&list))
		command_nomem();
	rc = cluster_hosts(r, at, list);
	for (size_t i = 0; i < pssh_list_count(list) && !rc; i++) {
		rc = find_member(r, n, at, pssh_list_get(list, i), &member);
		if (!rc)
			u->roles[member] |= bit;
	}
	pssh_list_free(list);
	return rc;
}

/* Handles all ways but "rest", which depends on the other roles. */
static int take_role(struct cluster_reading *r, const struct names *n, const struct conf *at, struct use *u,
	size_t which, enum way *way)
{
	unsigned char bit = (unsigned char)(1u << which);

	*way = way_of(u->stack->roles[which].fallback);
	if (at)
		*way = at->type == CONF_TEXT && !table_get(&n->full, at->text) ? way_of(at->text) : WAY_NAMED;
	if (*way == WAY_NAMED)
		return name_members(r, n, at, u, bit);
	for (size_t i = 0; i < r->c->count && *way != WAY_NONE && *way != WAY_REST; i++)
		if (*way == WAY_ALL || i == 0)
			u->roles[i] |= bit;
	return 0;
}

static size_t count_role(const struct cluster *c, const struct use *u, size_t which)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += u->roles[i] >> which & 1;
	return n;
}

/*
 * "rest" is every member without another role; roles that all members have do not count. A single node takes it too,
 * unless more are bought when there is work.
 */
static void take_rest(const struct cluster *c, struct use *u, const enum way *ways)
{
	unsigned char rest = 0, others = 0;

	for (size_t k = 0; k < u->stack->role_count; k++) {
		if (ways[k] == WAY_REST)
			rest |= (unsigned char)(1u << k);
		else if (count_role(c, u, k) < c->count || (c->autoscale.on && ways[k] != WAY_ALL))
			others |= (unsigned char)(1u << k);
	}
	for (size_t i = 0; i < c->count; i++)
		if ((c->count == 1 && !c->autoscale.on) || !(u->roles[i] & others))
			u->roles[i] |= rest;
}

static int cluster_role_check_role(struct cluster_reading *r, const struct conf *at, const struct use *u, size_t which)
{
	const struct stack_role *role = &u->stack->roles[which];
	size_t n = count_role(r->c, u, which);
	const char *stack = u->stack->name;
	char why[320];

	/* Those of an autoscaled cluster may all be given back. */
	if (r->c->autoscale.on && !role->max && strcmp(role->fallback, "rest") == 0)
		return 0;
	if (n >= role->min && (!role->max || n <= role->max))
		return 0;
	if (n < role->min)
		snprintf(why, sizeof why,
			"the role '%s' of '%s' needs at least %u node%s and has %zu: name %s in 'roles'", role->name,
			stack, role->min, role->min == 1 ? "" : "s", n, role->min == 1 ? "it" : "them");
	else
		snprintf(why, sizeof why, "the role '%s' of '%s' can have at most %u node%s and has %zu", role->name,
			stack, role->max, role->max == 1 ? "" : "s", n);
	if (at)
		return conf_fail(r->file, at, r->f, "%s", why);
	return fail_set(r->f, -EINVAL, "cannot read '%s': %s", r->file->name, why);
}

static int take_roles(struct cluster_reading *r, const struct names *n, const struct conf *roles, struct use *u)
{
	enum way ways[STACK_ROLES];
	int rc = 0;

	for (size_t k = 0; k < u->stack->role_count && !rc; k++)
		rc = take_role(r, n, cluster_role_said_of(roles, u, &u->stack->roles[k]), u, k, &ways[k]);
	if (!rc)
		take_rest(r->c, u, ways);
	for (size_t k = 0; k < u->stack->role_count && !rc; k++)
		rc = cluster_role_check_role(r, cluster_role_said_of(roles, u, &u->stack->roles[k]), u, k);
	return rc;
}

/* ---- All of them ----------------------------------------------------------------------- */

/* Checks that the key is a role of one of the stacks, as ROLE or STACK.ROLE. */
static int cluster_role_check_key(struct cluster_reading *r, const struct conf *at)
{
	char room[2 * CLUSTER_USES * STACK_ROLES][100];
	const char *words[2 * CLUSTER_USES * STACK_ROLES], *near;
	size_t count = 0;

	for (size_t i = 0; i < r->c->use_count; i++) {
		const struct stack *s = r->c->uses[i].stack;

		if (r->c->uses[i].broken)
			return 0; /* it may be a role of that one */

		for (size_t k = 0; k < s->role_count; k++) {
			snprintf(room[count], sizeof room[count], "%s", s->roles[k].name);
			snprintf(room[count + 1], sizeof room[count + 1], "%s.%s", s->name, s->roles[k].name);
			if (strcmp(room[count], at->key) == 0 || strcmp(room[count + 1], at->key) == 0)
				return 0;
			words[count] = room[count];
			words[count + 1] = room[count + 1];
			count += 2;
		}
	}
	near = stack_nearest(at->key, words, count);
	if (near)
		return conf_fail(r->file, at, r->f, "no stack of this file has a role '%.64s'; did you mean '%s'?",
			at->key, near);
	return conf_fail(r->file, at, r->f, "no stack of this file has a role '%.64s'", at->key);
}

int cluster_read_roles(struct cluster_reading *r, const struct conf *roles)
{
	struct names names;
	int rc = roles ? conf_expect(r->file, roles, CONF_MAP, r->f) : 0;

	for (size_t i = 0; roles && i < roles->count && !rc; i++)
		rc = cluster_role_check_key(r, &roles->items[i]);
	if (rc)
		return rc;
	names_init(&names, r->c);
	for (size_t i = 0; i < r->c->use_count && !rc; i++)
		rc = take_roles(r, &names, roles, &r->c->uses[i]);
	names_release(&names);
	return rc;
}
