/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inventories of maps: Ansible's YAML and the JSON of its scripts, ClusterShell's "group: hosts", and the JSON of
 * `terraform output`. JSON is YAML here: lib/conf reads both.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/inventory/hosttree.h"
#include "conf/conf.h"

static int hosttree_group(struct hostbook *b, const char *name, const struct conf *c, struct fail *f);

static int hosttree_variables(struct hostbook *b, const char *host, const struct conf *vars, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && vars->type == CONF_MAP && i < vars->count; i++)
		if (vars->items[i].type == CONF_TEXT)
			rc = hostbook_set(b, host, vars->items[i].key, vars->items[i].text, f);
	return rc;
}

/* A text, a list of names, or a map of names to variables. */
static int hosttree_hosts(struct hostbook *b, const char *group, const struct conf *c, struct fail *f)
{
	int rc = 0;

	if (c->type == CONF_TEXT)
		return hostbook_add(b, group, c->text, f);
	for (size_t i = 0; !rc && i < c->count; i++) {
		const struct conf *one = &c->items[i];

		if (c->type == CONF_LIST && one->type == CONF_TEXT)
			rc = hostbook_add(b, group, one->text, f);
		else if (c->type == CONF_MAP) {
			rc = hostbook_add(b, group, one->key, f);
			rc = rc                          ? rc
				: one->type == CONF_TEXT ? hostbook_set(b, one->key, "ansible_host", one->text, f)
							 : hosttree_variables(b, one->key, one, f);
		}
	}
	return rc;
}

static int hosttree_children(struct hostbook *b, const char *group, const struct conf *c, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < c->count; i++) {
		const struct conf *one = &c->items[i];
		const char *name = c->type == CONF_MAP ? one->key : one->type == CONF_TEXT ? one->text : NULL;
		char *at;

		if (!name)
			continue;
		if (asprintf(&at, "@%s", name) < 0)
			command_nomem();
		/* "all" has every host already. */
		rc = strcmp(group, "all") == 0 ? 0 : hostbook_add(b, group, at, f);
		free(at);
		if (!rc && c->type == CONF_MAP)
			rc = hosttree_group(b, name, one, f);
	}
	return rc;
}

static int hosttree_group(struct hostbook *b, const char *name, const struct conf *c, struct fail *f)
{
	int rc = hostbook_add(b, name, "", f);

	if (rc || c->type == CONF_NULL)
		return rc;
	if (c->type != CONF_MAP)
		return hosttree_hosts(b, name, c, f);
	if (conf_get(c, "value") && conf_get(c, "sensitive")) /* terraform output -json */
		return hosttree_hosts(b, name, conf_get(c, "value"), f);
	for (size_t i = 0; !rc && i < c->count; i++) {
		const struct conf *one = &c->items[i];

		if (strcmp(one->key, "hosts") == 0)
			rc = hosttree_hosts(b, name, one, f);
		else if (strcmp(one->key, "children") == 0)
			rc = hosttree_children(b, name, one, f);
		else if (strcmp(one->key, "vars") != 0) /* ClusterShell: "roles: {adm: n0}" */
			rc = hosttree_group(b, one->key, one, f);
	}
	return rc;
}

int hosttree_read(struct hostbook *b, const char *path, const char *text, size_t len, struct fail *f)
{
	struct conf_file *file = NULL;
	const struct conf *meta, *vars;
	int rc = conf_parse(path, text, len, &file, f);

	for (size_t i = 0; !rc && i < file->root.count; i++)
		if (strcmp(file->root.items[i].key, "_meta") != 0)
			rc = hosttree_group(b, file->root.items[i].key, &file->root.items[i], f);
	meta = rc ? NULL : conf_get(&file->root, "_meta");
	vars = meta ? conf_get(meta, "hostvars") : NULL;
	for (size_t i = 0; !rc && vars && vars->type == CONF_MAP && i < vars->count; i++)
		rc = hosttree_variables(b, vars->items[i].key, &vars->items[i], f);
	conf_free(file);
	return rc;
}
