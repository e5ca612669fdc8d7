/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the text of a cluster file, and changes it as --set, --role and --airgap say. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"
#include "cli/nodes/node.h"
#include "cli/provision/model/clusteredit.h"
#include "cli/remote/select.h"
#include "conf/conf.h"

int provision_expand(struct provision *p, const char *text, struct pssh_list *into)
{
	struct pssh_list *l;
	int status = select_new(p->np, &l);

	status = status ? status : select_add(p->np, l, text);
	for (size_t i = 0; !status && i < pssh_list_count(l); i++)
		if (pssh_list_add(into, pssh_list_get(l, i)) != 0)
			status = print_fail(p->np, STATUS_USAGE, NULL, "%s", pssh_list_error(into));
	pssh_list_free(l);
	return status;
}

/* Whether the market, which answers, has no node of the reservation any more. */
static bool provision_set_has_ended(struct provision *p, const char *reservation)
{
	struct nanopod *np = p->np;

	return p->known && p->kept && settings_text(np->settings, SETTING_ID_URL) &&
		!settings_group(np->settings, reservation) && nodes_know(np) == STATUS_OK && !np->nodes_kept &&
		select_reservation_size(np, reservation) == 0;
}

static int provision_set_expand_kept(struct provision *p, struct pssh_list *into, struct fail *f)
{
	struct buf members;
	int rc;

	buf_init(&members, 8 << 20);
	rc = runlog_members(p->kept, &members, f);
	if (!rc && members.len)
		for (char *line = members.data, *name; (name = strsep(&line, "\n"));)
			if (*name && pssh_list_add(into, name) != 0)
				rc = fail_set(f, -EINVAL, "%s", pssh_list_error(into));
	buf_release(&members);
	p->gone = true;
	return rc;
}

/* The cluster_expand of cluster_parse(). p->said tells that an error was already printed. */
static int provision_set_expand(void *arg, const char *text, struct pssh_list *into, struct fail *f)
{
	struct provision *p = arg;
	int status;

	if (*text == '@' && provision_set_has_ended(p, text + 1))
		return provision_set_expand_kept(p, into, f);
	status = provision_expand(p, text, into);

	if (!status)
		return 0;
	p->said = status;
	return fail_set(f, -EINVAL, "cannot find the nodes '%.100s'", text);
}

static bool is_kept(const char *cluster)
{
	struct buf members;
	bool kept;

	buf_init(&members, 8 << 20);
	kept = runlog_members(cluster, &members, NULL) == 0 && members.len;
	buf_release(&members);
	return kept;
}

/* If only a stack cannot be read, the cluster can do without it. */
static int fail_parse(struct provision *p, int rc, const struct fail *f)
{
	struct cluster *c = NULL;
	char hint[240] = "";

	if (cluster_parse_known(p->file, buf_text(&p->text), p->text.len, p->folder, provision_set_expand, p, &c,
		    NULL) == 0)
		for (size_t i = 0; i < c->use_count && !*hint; i++)
			if (c->uses[i].broken && is_kept(c->name))
				snprintf(hint, sizeof hint,
					"mend it; or 'nanopod provision remove %.48s %.48s' takes that stack off the "
					"cluster",
					c->name, c->uses[i].stack->name);
	cluster_free(c);
	p->said = 0;
	return print_fail(p->np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_USAGE, *hint ? hint : NULL, "%s", f->text);
}

void provision_warn_broken(struct provision *p)
{
	for (size_t i = 0; i < p->c->use_count; i++)
		if (p->c->uses[i].broken)
			print_warn(p->np,
				"the stack '%s' cannot be read, so only what its nodes kept of it is known: %s",
				p->c->uses[i].stack->name, p->c->uses[i].broken);
}

int provision_parse(struct provision *p, struct cluster **out)
{
	struct fail f = { 0 };
	int rc;

	p->said = 0;
	rc = (p->known ? cluster_parse_known : cluster_parse)(p->file, buf_text(&p->text), p->text.len, p->folder,
		provision_set_expand, p, out, &f);
	if (!rc)
		return STATUS_OK;
	return p->said ? p->said : fail_parse(p, rc, &f);
}

/* ---- What options change ------------------------------------------------------------------------- */

/* Splits "slurm.controller=n1"; *key is malloc'd, *value points into the text. */
static int provision_set_part(struct provision *p, const char *option, const char *text, char **key,
	const char **value)
{
	const char *equals = strchr(text, '=');

	if (!equals || equals == text)
		return print_fail_field(p->np, STATUS_USAGE, option,
			strcmp(option, "--set") == 0 ? "'--set slurm.accounting=no'" : "'--role controller=n1'",
			"'%.80s' has no value", text);
	*key = strndup(text, (size_t)(equals - text));
	if (!*key)
		command_nomem();
	*value = equals + 1;
	return STATUS_OK;
}

/* The setting of "slurm.accounting" or "slurm.partitions.gpu.nodes"; NULL: cluster_parse() will report the error. */
static const struct stack_setting *find_setting(struct provision *p, const char *key, struct stack **stack)
{
	char *name = strdup(key), *rest;
	const struct stack_setting *s = NULL;

	*stack = NULL;
	if (!name)
		command_nomem();
	rest = strchr(name, '.');
	if (rest) {
		*rest++ = '\0';
		rest[strcspn(rest, ".")] = '\0';
		if (stack_read(p->folder, name, stack, NULL) == 0)
			s = stack_setting(*stack, rest);
	}
	free(name);
	return s;
}

/* Makes a local path absolute, because the file is saved in another folder. malloc'd; NULL after an error. */
static char *whole_value(struct provision *p, const char *key, const char *value, int *status)
{
	struct stack *stack;
	const struct stack_setting *s = find_setting(p, key, &stack);
	char *path = NULL;
	bool is_file = s && s->type == STACK_FILE;

	stack_free(stack);
	if (is_file && *value && !strstr(value, "://")) {
		path = realpath(value, NULL);
		if (!path)
			*status = print_fail_field(p->np, STATUS_NOTFOUND, key, NULL, "cannot read '%s': %s", value,
				strerror(errno));
		return path;
	}
	path = strdup(value);
	if (!path)
		command_nomem();
	return path;
}

/* A stack that the file does not name is still part of the cluster if another one needs it. */
static int check_needed(struct provision *p, const char *name, const char *near)
{
	struct cluster *c;
	bool there;
	int status = provision_parse(p, &c);

	if (status)
		return status;
	there = cluster_use(c, name) != NULL;
	cluster_free(c);
	if (there)
		return STATUS_OK;
	return *near ? print_fail_field(p->np, STATUS_USAGE, "--set", NULL,
			       "'%s' has no stack '%s'; did you mean '%s'?", p->file, name, near)
		     : print_fail_field(p->np, STATUS_USAGE, "--set", NULL, "'%s' has no stack '%s'", p->file, name);
}

/* A typo must not add a stack to the file. */
static int check_stack(struct provision *p, const char *key)
{
	size_t len = strcspn(key, "."), far, best = SIZE_MAX;
	struct conf_file *file;
	const struct conf *stacks;
	char name[80], near[80] = "";
	bool known = false;

	snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : sizeof name - 1), key);
	if (strcmp(name, "base") == 0 || conf_parse(p->file, buf_text(&p->text), p->text.len, &file, NULL))
		return STATUS_OK; /* errors of the file are reported when it is read */
	stacks = conf_get(&file->root, "stacks");
	for (size_t i = 0; stacks && stacks->type == CONF_MAP && i < stacks->count; i++) {
		known |= strcmp(stacks->items[i].key, name) == 0;
		if (value_near(name, stacks->items[i].key, &far) && far < best) {
			best = far;
			snprintf(near, sizeof near, "%s", stacks->items[i].key);
		}
	}
	conf_free(file);
	return known ? STATUS_OK : check_needed(p, name, near);
}

/* Refuses "k3s.labels={a: b}": the value would be a text, but a map needs names below it. */
static int provision_set_check_map(struct provision *p, const char *key)
{
	struct stack *stack;
	const struct stack_setting *s = find_setting(p, key, &stack);
	bool is_map = s && s->type == STACK_MAP && strchr(key, '.') == strrchr(key, '.');

	stack_free(stack);
	return !is_map
		? STATUS_OK
		: print_fail_field(p->np, STATUS_USAGE, "--set", "'nanopod provision stacks STACK' shows its names",
			  "'%s' is a map and has no value of its own: '--set %s.NAME=VALUE'", key, key);
}

static int lay_set(struct provision *p, const char *text)
{
	struct fail f = { 0 };
	const char *value;
	char *key, *whole = NULL;
	int status = provision_set_part(p, "--set", text, &key, &value);

	if (status)
		return status;
	/* "users.ada.shares": of a person; "users.home": of the stack. */
	if (strncmp(key, "users.", 6) == 0 && strchr(key + 6, '.')) {
		if (clusteredit_set_dotted(p->file, &p->text, "users", key + 6, value, &f))
			status = print_fail_field(p->np, STATUS_USAGE, "--set", NULL, "%s", f.text);
		free(key);
		return status;
	}
	status = check_stack(p, key);
	if (!status && *value)
		status = provision_set_check_map(p, key);
	if (!status)
		whole = whole_value(p, key, value, &status);
	if (whole && clusteredit_set_dotted(p->file, &p->text, "stacks", key, whole, &f))
		status = print_fail_field(p->np, STATUS_USAGE, "--set", NULL, "%s", f.text);
	free(whole);
	free(key);
	return status;
}

static int lay_role(struct provision *p, const char *text)
{
	struct fail f = { 0 };
	const char *value;
	char *key;
	int status = provision_set_part(p, "--role", text, &key, &value);

	if (status)
		return status;
	if (clusteredit_set(p->file, &p->text, (const char *const[]){ "roles", key, NULL }, value, &f))
		status = print_fail_field(p->np, STATUS_USAGE, "--role", NULL, "%s", f.text);
	free(key);
	return status;
}

int provision_set(struct provision *p, bool roles, bool sets)
{
	const char *airgap = p->bare ? NULL : option_text(p->o, "airgap");
	int status = STATUS_OK;

	if (p->bare)
		return STATUS_OK;
	for (size_t i = 0; sets && !status && i < option_count(p->o, "set"); i++)
		status = lay_set(p, option_at(p->o, "set", i));
	for (size_t i = 0; roles && !status && i < option_count(p->o, "role"); i++)
		status = lay_role(p, option_at(p->o, "role", i));
	if (!status && airgap) {
		char *text;

		if (asprintf(&text, "base.airgap=%s", airgap) < 0)
			command_nomem();
		status = lay_set(p, text);
		free(text);
	}
	return status;
}
