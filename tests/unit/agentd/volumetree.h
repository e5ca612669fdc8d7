/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes of a machine in a folder of /tmp, for tests. */
#ifndef TESTS_VOLUMETREE_H
#define TESTS_VOLUMETREE_H

#include "agentd/os/kept_volumes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "agentd/os/wipe.h"

static char data[] = "/tmp/nanopod-volumes.XXXXXX";
static const char *busy; /* the file that a node has mounted */
static const struct volume_home here = { "aa11", "agt_1", "https://here.example" };

static bool cuts; /* nodes can be cut off from it */

bool __wrap_mount_file_busy(const char *file);
int __wrap_mount_file_cut(const char *file, const char *at);

int __wrap_mount_file_cut(const char *file, const char *at)
{
	if (cuts)
		busy = NULL;
	(void)file;
	(void)at;
	return cuts ? 0 : -EBUSY;
}

bool __wrap_mount_file_busy(const char *file)
{
	return busy && strstr(file, busy);
}

static const char *in_data(const char *last)
{
	static char path[4][VOLUME_PATH];
	static unsigned turn;
	char *room = path[turn++ % 4];

	snprintf(room, VOLUME_PATH, "%s/volumes/%s", data, last);
	return room;
}

static bool is_there(const char *last)
{
	return access(in_data(last), F_OK) == 0;
}

static struct kept_volume volume(const struct volume_home *home, const char *tenant, const char *id)
{
	struct kept_volume v = { .bytes = 1 << 30, .mounted = true, .named = true, .home = *home };

	snprintf(v.id, sizeof v.id, "%s", id);
	snprintf(v.tenant, sizeof v.tenant, "%s", tenant);
	snprintf(v.name, sizeof v.name, "data");
	return v;
}

/* A machine that has no volumes yet. */
static void tree_begin(void)
{
	if (strstr(data, "XXXXXX") && !mkdtemp(data)) {
		skip_all("no folder in /tmp");
	}
	wipe_folder(data, NULL, NULL);
	busy = NULL;
	cuts = false;
}

static void tree_end(void)
{
	wipe_folder(data, NULL, NULL);
	rmdir(data);
}

#endif
