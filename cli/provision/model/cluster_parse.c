/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a cluster file: its name, its nodes, and its stacks in the order of installation. */
#include "cli/provision/model/cluster_part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"

enum { NAME_MAX_BYTES = 253, FROM_BYTES = 4096 };

static char *cluster_parse_copy(const char *text)
{
	char *out = strdup(text);

	if (!out)
		command_nomem();
	return out;
}

static const struct conf *cluster_parse_part(const struct conf *map, const char *key)
{
	const struct conf *at = conf_get(map, key);

	return at && at->type != CONF_NULL ? at : NULL;
}

/* ---- Nodes ----------------------------------------------------------------------------- */

/* A member's name appears in logs, file names and scripts, so it is a plain word. */
static bool name_ok(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@:[]%");

	return len > 0 && len <= NAME_MAX_BYTES && !name[len] && *name != '-' && *name != '.';
}

static int take_members(struct cluster_reading *r, const struct conf *at, const struct pssh_list *list)
{
	size_t count = pssh_list_count(list);

	if (count == 0)
		return conf_fail(r->file, at, r->f,
			"no nodes: expected 'nodes: {from: reservation/ID}' or 'nodes: {hosts: n[1-4]}'");
	r->c->members = calloc(count, sizeof *r->c->members);
	if (!r->c->members)
		command_nomem();
	for (; r->c->count < count; r->c->count++) {
		const char *name = pssh_list_get(list, r->c->count);

		if (!name_ok(name))
			return conf_fail(r->file, at, r->f, "'%.64s' cannot be the name of a node", name);
		r->c->members[r->c->count] = cluster_parse_copy(name);
	}
	return 0;
}

/* Expands "reservation/r-7f3" or "pool/big": names that the market or the settings know. */
static int cluster_parse_read_from(struct cluster_reading *r, const struct conf *at, struct pssh_list *into)
{
	char *text;
	const char *slash;
	int rc = conf_expect(r->file, at, CONF_TEXT, r->f);

	if (rc)
		return rc;
	slash = strchr(at->text, '/');
	if (!slash ||
		!(str_starts(at->text, "reservation/") || str_starts(at->text, "pool/") ||
			str_starts(at->text, "group/")) ||
		!stack_word(slash + 1))
		return conf_fail(r->file, at, r->f,
			"'%.64s': expected reservation/ID, pool/NAME or group/NAME; name hosts under 'hosts'",
			at->text);
	if (asprintf(&text, "@%s", slash + 1) < 0)
		command_nomem();
	rc = cluster_add_hosts(r, at, text, into);
	free(text);
	r->c->from = cluster_parse_copy(at->text);
	r->c->from[slash - at->text] = ' ';
	return rc;
}

static void say_from(struct cluster_reading *r, const struct conf *at)
{
	struct buf b;

	buf_init(&b, FROM_BYTES);
	if (at->type == CONF_TEXT)
		buf_adds(&b, at->text);
	for (size_t i = 0; at->type == CONF_LIST && i < at->count; i++)
		if (buf_addf(&b, "%s%s", i ? "," : "", at->items[i].text))
			break;
	r->c->from = cluster_parse_copy(buf_text(&b));
	buf_release(&b);
}

static int cluster_parse_read_nodes(struct cluster_reading *r, const struct conf *root)
{
	static const char *const keys[] = { "from", "hosts", NULL };
	const struct conf *at = cluster_parse_part(root, "nodes"), *hosts = at, *from = NULL;
	struct pssh_list *list = NULL;
	int rc = 0;

	if (!at)
		return fail_set(r->f, -EINVAL,
			"cannot read '%s': 'nodes' is missing: expected 'nodes: {from: reservation/ID}' or "
			"'nodes: {hosts: n[1-4]}'",
			r->file->name);
	if (at->type == CONF_MAP) {
		rc = conf_known(r->file, at, keys, r->f);
		from = cluster_parse_part(at, "from");
		hosts = cluster_parse_part(at, "hosts");
		if (!rc && (!from == !hosts))
			rc = conf_fail(r->file, at, r->f, "expected either 'from' or 'hosts' below 'nodes'");
	}
	if (!rc && pssh_list_new(&list))
		command_nomem();
	rc = rc ? rc : from ? cluster_parse_read_from(r, from, list) : cluster_hosts(r, hosts, list);
	if (!rc && !from)
		say_from(r, hosts);
	rc = rc ? rc : take_members(r, at, list);
	pssh_list_free(list);
	return rc;
}

/* ---- Stacks ---------------------------------------------------------------------------- */

/* Stands for a stack that cannot be read: all nodes have it, and it does nothing. */
static struct stack *stack_unread(const char *folders, const char *name)
{
	struct stack *s = calloc(1, sizeof *s);

	if (!s || !(s->folders = strdup(folders)) || !(s->needs_stacks = calloc(1, sizeof *s->needs_stacks)) ||
		!(s->after_stacks = calloc(1, sizeof *s->after_stacks)))
		command_nomem();
	s->name = cluster_parse_copy(name);
	s->roles[0] = (struct stack_role){ .name = cluster_parse_copy("nodes"), .fallback = cluster_parse_copy("all") };
	s->role_count = 1;
	return s;
}

static int add_use(struct cluster_reading *r, const struct conf *at, const char *name)
{
	struct use *u = &r->c->uses[r->c->use_count];
	struct fail why = { 0 };
	int rc;

	if (cluster_use(r->c, name))
		return conf_fail(r->file, at, r->f, "'%s' is there twice", name);
	if (r->c->use_count == CLUSTER_USES)
		return conf_fail(r->file, at, r->f, "more than %d stacks", CLUSTER_USES);
	rc = stack_read(r->folder, name, &u->stack, &why);
	if (rc && r->known) {
		u->stack = stack_unread(r->folder, name);
		u->broken = cluster_parse_copy(why.text);
		rc = 0;
	}
	if (rc == -ENOENT)
		return conf_fail(r->file, at, r->f, "%s", why.text);
	if (rc)
		return fail_set(r->f, -EINVAL, "%s", why.text);
	u->roles = calloc(r->c->count, 1);
	if (!u->roles)
		command_nomem();
	r->c->use_count++;
	return 0;
}

static int read_uses(struct cluster_reading *r, const struct conf *root)
{
	const struct conf *at = cluster_parse_part(root, "stacks");
	int rc = 0;

	if (!at || at->count == 0)
		return fail_set(r->f, -EINVAL,
			"cannot read '%s': 'stacks' is missing; "
			"'nanopod provision stacks' lists those available",
			r->file->name);
	if (at->type != CONF_LIST)
		rc = conf_expect(r->file, at, CONF_MAP, r->f);
	for (size_t i = 0; i < at->count && !rc; i++) {
		const struct conf *item = &at->items[i];

		if (at->type == CONF_LIST)
			rc = conf_expect(r->file, item, CONF_TEXT, r->f);
		else if (item->type != CONF_NULL)
			rc = conf_expect(r->file, item, CONF_MAP, r->f);
		rc = rc ? rc : add_use(r, item, at->type == CONF_LIST ? item->text : item->key);
	}
	/* Stacks that these need are added with their defaults. */
	for (size_t i = 0; i < r->c->use_count && !rc; i++)
		for (char **name = r->c->uses[i].stack->needs_stacks; *name && !rc; name++)
			if (!cluster_use(r->c, *name))
				rc = add_use(r, at, *name);
	if (!rc && cluster_parse_part(root, "users") && !cluster_use(r->c, "users"))
		rc = add_use(r, cluster_parse_part(root, "users"), "users");
	if (!rc && !cluster_use(r->c, "base"))
		rc = add_use(r, root, "base");
	return rc;
}

static const struct conf *cluster_parse_said_of(const struct conf *root, const char *stack)
{
	const struct conf *at = cluster_parse_part(root, "stacks");

	return at && at->type == CONF_MAP ? cluster_parse_part(at, stack) : NULL;
}

static bool cluster_parse_waits(const struct cluster *c, const struct use *u, const bool *placed)
{
	char **lists[] = { u->stack->needs_stacks, u->stack->after_stacks };

	if (strcmp(u->stack->name, "base") == 0)
		return false;
	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
		for (char **name = lists[k]; *name; name++)
			for (size_t i = 0; i < c->use_count; i++)
				if (!placed[i] && strcmp(c->uses[i].stack->name, *name) == 0)
					return true;
	return false;
}

static int fail_ring(struct cluster_reading *r, const bool *placed)
{
	char names[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < r->c->use_count; i++)
		if (!placed[i] && len < sizeof names)
			len += (size_t)snprintf(names + len, sizeof names - len, "%s'%s'", len ? ", " : "",
				r->c->uses[i].stack->name);
	return fail_set(r->f, -EINVAL, "cannot read '%s': the stacks %s wait for each other in a circle", r->file->name,
		names);
}

/* Puts base first, then each stack after those it needs, and otherwise keeps the order of the file. */
static int sort_uses(struct cluster_reading *r)
{
	struct use sorted[CLUSTER_USES];
	bool placed[CLUSTER_USES] = { false };

	for (size_t n = 0; n < r->c->use_count; n++) {
		size_t next = r->c->use_count;

		for (size_t i = 0; i < r->c->use_count; i++) {
			bool base = strcmp(r->c->uses[i].stack->name, "base") == 0;

			if (!placed[i] && (n > 0 || base) && !cluster_parse_waits(r->c, &r->c->uses[i], placed)) {
				next = i;
				break;
			}
		}
		if (next == r->c->use_count)
			return fail_ring(r, placed);
		sorted[n] = r->c->uses[next];
		placed[next] = true;
	}
	memcpy(r->c->uses, sorted, r->c->use_count * sizeof *sorted);
	return 0;
}

/* Checks that the steps which others wait for exist in the stacks that the file has. */
static int check_steps(struct cluster_reading *r, const struct use *u)
{
	for (size_t i = 0; i < u->stack->step_count; i++) {
		for (size_t k = 0; k < u->stack->steps[i].need_count; k++) {
			const struct stack_need *need = &u->stack->steps[i].needs[k];
			const struct use *other = need->stack ? cluster_use(r->c, need->stack) : NULL;

			if (other && !other->broken &&
				(!stack_step(other->stack, need->step) ||
					(need->role && strcmp(need->role, "all") != 0 &&
						!stack_role(other->stack, need->role))))
				return fail_set(r->f, -EINVAL,
					"cannot use the stack '%s': its step '%s' waits for '%s.%s%s%s', which is not "
					"in '%s'",
					u->stack->name, u->stack->steps[i].name, need->stack, need->step,
					need->role ? "@" : "", need->role ? need->role : "", need->stack);
		}
	}
	return 0;
}

/* ---- All of it ------------------------------------------------------------------------- */

static int read_name(struct cluster_reading *r, const struct conf *root)
{
	const struct conf *at = cluster_parse_part(root, "cluster");
	int rc = at ? conf_expect(r->file, at, CONF_TEXT, r->f)
		    : fail_set(r->f, -EINVAL, "cannot read '%s': 'cluster' is missing: expected 'cluster: NAME'",
			      r->file->name);

	if (rc)
		return rc;
	if (!stack_word(at->text))
		return conf_fail(r->file, at, r->f,
			"'%.64s' cannot be the name of a cluster: letters, digits and '-', at most 48", at->text);
	r->c->name = cluster_parse_copy(at->text);
	return 0;
}

static int cluster_parse_read_all(struct cluster_reading *r, const struct conf *root)
{
	static const char *const keys[] = { "cluster", "nodes", "roles", "stacks", "users", "autoscale", NULL };
	struct use *people;
	int rc = conf_known(r->file, root, keys, r->f);

	rc = rc ? rc : read_name(r, root);
	rc = rc ? rc : cluster_parse_read_nodes(r, root);
	rc = rc ? rc : cluster_read_autoscale(r, cluster_parse_part(root, "autoscale"));
	rc = rc ? rc : read_uses(r, root);
	for (size_t i = 0; i < r->c->use_count && !rc; i++)
		rc = check_steps(r, &r->c->uses[i]);
	rc = rc ? rc : sort_uses(r);
	for (size_t i = 0; i < r->c->use_count && !rc; i++)
		rc = cluster_read_settings(r, cluster_parse_said_of(root, r->c->uses[i].stack->name), &r->c->uses[i]);
	people = rc ? NULL : cluster_use(r->c, "users");
	rc = people ? cluster_read_users(r, cluster_parse_part(root, "users"), people) : rc;
	return rc ? rc : cluster_read_roles(r, cluster_parse_part(root, "roles"));
}

static int parse_text(const char *file, const char *text, size_t len, struct cluster_reading r, struct cluster **out,
	struct fail *f)
{
	struct conf_file *tree = NULL;
	int rc = conf_parse(file, text, len, &tree, f);

	if (rc)
		return -EINVAL;
	r.file = tree;
	r.c = calloc(1, sizeof *r.c);
	if (!r.c)
		command_nomem();
	rc = cluster_parse_read_all(&r, &tree->root);
	conf_free(tree);
	if (rc) {
		cluster_free(r.c);
		return -EINVAL;
	}
	*out = r.c;
	return 0;
}

int cluster_parse(const char *file, const char *text, size_t len, const char *folder, cluster_expand *expand, void *arg,
	struct cluster **out, struct fail *f)
{
	struct cluster_reading r = { .folder = folder, .expand = expand, .arg = arg, .f = f };

	return parse_text(file, text, len, r, out, f);
}

int cluster_parse_known(const char *file, const char *text, size_t len, const char *folder, cluster_expand *expand,
	void *arg, struct cluster **out, struct fail *f)
{
	struct cluster_reading r = { .folder = folder, .expand = expand, .arg = arg, .f = f, .known = true };

	return parse_text(file, text, len, r, out, f);
}

int cluster_read(const char *file, const char *folder, cluster_expand *expand, void *arg, struct cluster **out,
	struct fail *f)
{
	struct buf text;
	int rc;

	buf_init(&text, CONF_BYTES_MAX);
	rc = buf_read_file(&text, file);
	if (rc == -EFBIG)
		fail_set(f, rc, "cannot read '%s': larger than %d bytes", file, CONF_BYTES_MAX);
	else if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", file);
	else
		rc = cluster_parse(file, buf_text(&text), text.len, folder, expand, arg, out, f);
	buf_release(&text);
	return rc;
}
