/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what cdi.c reads: for container programs on a machine that no vendor's tool describes. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "agentd/device/cdi.h"

#define CDI_HOOK "/usr/bin/nvidia-cdi-hook"

static json_t *cdi_write_node(const struct device_node *n)
{
	json_t *j = json_pack("{s:s, s:s}", "path", n->inside, "hostPath", n->outside);
	char type[2] = { n->type, '\0' };

	if (n->numbered) {
		json_object_set_new(j, "type", json_string(type));
		json_object_set_new(j, "major", json_integer((json_int_t)n->major));
		json_object_set_new(j, "minor", json_integer((json_int_t)n->minor));
	}
	return j;
}

static json_t *cdi_write_hook(const char *word)
{
	return json_pack("{s:s, s:s, s:[s, s]}", "hookName", "createContainer", "path", CDI_HOOK, "args",
		"nvidia-cdi-hook", word);
}

static json_t *cdi_write_hooks(const struct node_devices *d)
{
	json_t *hooks = json_array(), *hook;
	char text[2 * DEVICES_PATH + 2];

	if (d->link_count) {
		hook = cdi_write_hook("create-symlinks");
		for (size_t i = 0; i < d->link_count; i++) {
			snprintf(text, sizeof text, "%s::%s", d->links[i].target, d->links[i].path);
			json_array_append_new(json_object_get(hook, "args"), json_string("--link"));
			json_array_append_new(json_object_get(hook, "args"), json_string(text));
		}
		json_array_append_new(hooks, hook);
	}
	if (d->folder_count) {
		hook = cdi_write_hook("update-ldcache");
		for (size_t i = 0; i < d->folder_count; i++) {
			json_array_append_new(json_object_get(hook, "args"), json_string("--folder"));
			json_array_append_new(json_object_get(hook, "args"), json_string(d->folders[i].text));
		}
		json_array_append_new(hooks, hook);
	}
	return hooks;
}

static void cdi_write_list(json_t *edits, const char *name, json_t *list)
{
	if (json_array_size(list))
		json_object_set(edits, name, list);
	json_decref(list);
}

static json_t *cdi_write_edits(const struct node_devices *d)
{
	json_t *edits = json_object(), *list = json_array();

	for (size_t i = 0; i < d->node_count; i++)
		json_array_append_new(list, cdi_write_node(&d->nodes[i]));
	cdi_write_list(edits, "deviceNodes", list);
	list = json_array();
	for (size_t i = 0; i < d->mount_count; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:[s, s, s, s]}", "hostPath", d->mounts[i].outside, "containerPath",
				d->mounts[i].inside, "options", "ro", "nosuid", "nodev", "rbind"));
	cdi_write_list(edits, "mounts", list);
	list = json_array();
	for (size_t i = 0; i < d->env_count; i++)
		json_array_append_new(list, json_string(d->env[i].text));
	cdi_write_list(edits, "env", list);
	cdi_write_list(edits, "hooks", cdi_write_hooks(d));
	return edits;
}

int cdi_write(const struct cdi *c, struct buf *out)
{
	json_t *devices = json_array(), *j;
	char *text;
	int rc;

	for (size_t i = 0; i < c->count; i++)
		json_array_append_new(devices,
			json_pack("{s:s, s:o}", "name", c->devices[i].name, "containerEdits",
				cdi_write_edits(&c->devices[i].edits)));
	j = json_pack("{s:s, s:s, s:o, s:o}", "cdiVersion", "0.5.0", "kind", c->kind, "devices", devices,
		"containerEdits", cdi_write_edits(&c->edits));
	text = json_dumps(j, JSON_INDENT(2));
	rc = text ? buf_adds(out, text) : -ENOMEM;
	rc = rc ? rc : buf_addc(out, '\n');
	free(text);
	json_decref(j);
	return rc;
}
