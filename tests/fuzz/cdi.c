/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a CDI file: out come absolute paths without "..", device nodes below /dev, and no mount there. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/device/cdi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at_edits(const struct node_devices *d)
{
	if (d->node_count > DEVICES_MAX || d->mount_count > DEVICES_MAX || d->link_count > DEVICES_MAX)
		abort();
	for (size_t i = 0; i < d->node_count; i++)
		if (!devices_path_good(d->nodes[i].inside) || !devices_path_good(d->nodes[i].outside) ||
			strncmp(d->nodes[i].inside, "/dev/", 5) != 0 || !strchr("cb", d->nodes[i].type))
			abort();
	for (size_t i = 0; i < d->mount_count; i++)
		if (!devices_path_good(d->mounts[i].inside) || !devices_path_good(d->mounts[i].outside) ||
			strncmp(d->mounts[i].inside, "/dev/", 5) == 0)
			abort();
	for (size_t i = 0; i < d->link_count; i++)
		if (!devices_path_good(d->links[i].path) || !*d->links[i].target || strchr(d->links[i].target, '\n'))
			abort();
	for (size_t i = 0; i < d->env_count; i++)
		if (!strchr(d->env[i].text, '=') || strpbrk(d->env[i].text, "\n\"\\"))
			abort();
	for (size_t i = 0; i < d->folder_count; i++)
		if (!devices_path_good(d->folders[i].text))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fail f = { 0 };
	struct buf again;
	struct cdi *c;

	if (cdi_parse("corpus", (const char *)data, size, &c, &f) != 0)
		return 0;
	look_at_edits(&c->edits);
	for (size_t i = 0; i < c->count; i++)
		look_at_edits(&c->devices[i].edits);
	buf_init(&again, 1 << 24);
	cdi_write(c, &again);
	buf_release(&again);
	cdi_free(c);
	return 0;
}
