/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/devices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more at the end of the list; NULL with *rc set. */
static void *devices_room(void *list, size_t *count, size_t size, size_t max, int *rc)
{
	char **at = list, *grown;

	*rc = *count < max ? -ENOMEM : -E2BIG;
	if (*count >= max)
		return NULL;
	grown = reallocarray(*at, *count + 1, size);
	if (!grown)
		return NULL;
	*at = grown;
	*rc = 0;
	return memset(grown + size * (*count)++, 0, size);
}

int devices_add_node(struct node_devices *d, const struct device_node *n)
{
	struct device_node *to;
	int rc;

	for (size_t i = 0; i < d->node_count; i++)
		if (strcmp(d->nodes[i].inside, n->inside) == 0)
			return 0;
	to = devices_room(&d->nodes, &d->node_count, sizeof *to, DEVICES_MAX, &rc);
	if (to)
		*to = *n;
	return rc;
}

int devices_add_mount(struct node_devices *d, const char *outside, const char *inside)
{
	struct device_mount *to;
	int rc;

	for (size_t i = 0; i < d->mount_count; i++)
		if (strcmp(d->mounts[i].inside, inside) == 0)
			return 0;
	to = devices_room(&d->mounts, &d->mount_count, sizeof *to, DEVICES_MAX, &rc);
	if (to) {
		snprintf(to->outside, sizeof to->outside, "%s", outside);
		snprintf(to->inside, sizeof to->inside, "%s", inside);
	}
	return rc;
}

int devices_add_link(struct node_devices *d, const char *target, const char *path)
{
	struct device_link *to;
	int rc;

	for (size_t i = 0; i < d->link_count; i++)
		if (strcmp(d->links[i].path, path) == 0)
			return 0;
	to = devices_room(&d->links, &d->link_count, sizeof *to, DEVICES_MAX, &rc);
	if (to) {
		snprintf(to->target, sizeof to->target, "%s", target);
		snprintf(to->path, sizeof to->path, "%s", path);
	}
	return rc;
}

static int devices_add_text(struct device_text **list, size_t *count, const char *text)
{
	struct device_text *to;
	int rc;

	for (size_t i = 0; i < *count; i++)
		if (strcmp((*list)[i].text, text) == 0)
			return 0;
	to = devices_room(list, count, sizeof *to, DEVICES_MAX, &rc);
	if (to)
		snprintf(to->text, sizeof to->text, "%s", text);
	return rc;
}

int devices_add_env(struct node_devices *d, const char *text)
{
	return devices_add_text(&d->env, &d->env_count, text);
}

int devices_add_folder(struct node_devices *d, const char *path)
{
	return devices_add_text(&d->folders, &d->folder_count, path);
}

int devices_add_gpu(struct node_devices *d, const struct device_gpu *g)
{
	struct device_gpu *to;
	int rc;

	for (size_t i = 0; i < d->gpu_count; i++)
		if (strcmp(d->gpus[i].address, g->address) == 0)
			return 0;
	to = devices_room(&d->gpus, &d->gpu_count, sizeof *to, DEVICES_GPUS, &rc);
	if (to)
		*to = *g;
	return rc;
}

int devices_add_function(struct node_devices *d, const struct device_function *n)
{
	struct device_function *to;
	int rc;

	for (size_t i = 0; i < d->function_count; i++)
		if (strcmp(d->functions[i].address, n->address) == 0)
			return 0;
	to = devices_room(&d->functions, &d->function_count, sizeof *to, DEVICES_MAX, &rc);
	if (to)
		*to = *n;
	return rc;
}

int devices_merge(struct node_devices *d, const struct node_devices *more)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < more->node_count; i++)
		rc = devices_add_node(d, &more->nodes[i]);
	for (size_t i = 0; !rc && i < more->mount_count; i++)
		rc = devices_add_mount(d, more->mounts[i].outside, more->mounts[i].inside);
	for (size_t i = 0; !rc && i < more->link_count; i++)
		rc = devices_add_link(d, more->links[i].target, more->links[i].path);
	for (size_t i = 0; !rc && i < more->env_count; i++)
		rc = devices_add_env(d, more->env[i].text);
	for (size_t i = 0; !rc && i < more->folder_count; i++)
		rc = devices_add_folder(d, more->folders[i].text);
	for (size_t i = 0; !rc && i < more->gpu_count; i++)
		rc = devices_add_gpu(d, &more->gpus[i]);
	for (size_t i = 0; !rc && i < more->function_count; i++)
		rc = devices_add_function(d, &more->functions[i]);
	return rc;
}

void devices_release(struct node_devices *d)
{
	free(d->nodes);
	free(d->mounts);
	free(d->links);
	free(d->env);
	free(d->folders);
	free(d->gpus);
	free(d->functions);
	*d = (struct node_devices){ 0 };
}

bool devices_path_good(const char *path)
{
	if (*path != '/' || !path[1] || strlen(path) >= DEVICES_PATH)
		return false;
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	while (*path) {
		size_t len = strcspn(++path, "/");

		if (len == 0 || (len == 1 && *path == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}
