/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Volumes on this machine: data/volumes/ID has volume.json, what the market said last, and disk.img, which the first
 * node makes that mounts it. Only the market that made one deletes it. One of another market, or whose volume.json is
 * damaged, is put aside as ID.old-N: no node sees it, and who runs the machine may remove it. ID.deleted is what is
 * left of one that is being deleted.
 */
#ifndef AGENTD_OS_KEPT_VOLUMES_H
#define AGENTD_OS_KEPT_VOLUMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

enum { VOLUME_NAME = 64, VOLUME_PATH = 1024, VOLUME_JOIN = 65, VOLUME_URL = 512 };

/* Whose it is. Two markets may give the same ids, so only join tells them apart: each join of a market has its own. */
struct volume_home {
	char join[VOLUME_JOIN], agent[VOLUME_NAME], url[VOLUME_URL];
};

struct kept_volume {
	char id[VOLUME_NAME], tenant[VOLUME_NAME], name[VOLUME_NAME];
	int64_t bytes;
	bool mounted; /* in nodes of the tenant that start */
	bool named;   /* by its market's last word; else its room is nobody's to sell */
	struct volume_home home;
	int unread; /* to volumes_each's fn: why only its id is known now; 0: all is */
};

/* One at a time makes, mounts or deletes it. Closing the descriptor ends it. -ENOENT: no such volume; -EBUSY. */
int volume_lock(const char *data, const char *id, bool wait, struct fail *f);

/* 0; -ENOENT: it has no volume.json; -EINVAL: that is damaged; or another error. */
int volume_find(const char *data, const char *id, struct kept_volume *v);

/*
 * Writes down what the market said, if that is new. What had its id but is not of this home and tenant is put aside
 * first, where aside then says ("": nothing was). -EBUSY: somebody makes or mounts that; call again.
 */
int volumes_keep(const char *data, const struct kept_volume *v, char aside[VOLUME_PATH], struct fail *f);

/* Nodes that start from now on do not see it. named: does its market still name it? 0 also where none is there. */
int volumes_hide(const char *data, const char *id, bool named, struct fail *f);

/*
 * 0: nothing is left of that home's and tenant's; nodes that have it mounted have errors there from now on. -EBUSY:
 * somebody makes or mounts it; call again.
 */
int volumes_delete(const char *data, const struct kept_volume *v, struct fail *f);

/* Before the market's first word: ends deletions that were cut off, and puts aside what is not of this home. */
int volumes_settle(const char *data, const struct volume_home *home, struct fail *f);

/* Of each that was not put aside, readable or not: fn, until that returns other than 0, which comes back. */
int volumes_each(const char *data, int (*fn)(void *arg, const struct kept_volume *v), void *arg, struct fail *f);

/* A volume that no market has anything to say about: it was put aside, or its market no longer names it. */
struct stray_volume {
	char path[VOLUME_PATH];
	int64_t held;            /* bytes of the machine's disk */
	struct volume_home home; /* "": unknown */
	bool aside;
};

/* Of each of those: fn. Returns how many. */
int volumes_stray(const char *data, void (*fn)(void *arg, const struct stray_volume *v), void *arg);

#endif
