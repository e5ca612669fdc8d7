/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind image.h: how builds are laid out in the folder of images. */
#ifndef AGENTD_NS_IMAGE_PART_H
#define AGENTD_NS_IMAGE_PART_H

#include <stdbool.h>

#include "agentd/ns/image.h"

/*
 *   NAME              link to NAME@STAMP
 *   NAME@STAMP        a complete build
 *   NAME@STAMP/held/  one file per node that was made from it; the file holds the path of the node's folder
 *   NAME.new          a build in progress, or one that was interrupted
 *   lock              held by whoever builds or removes
 */
enum { IMAGE_PATH = 512 };

int image_path(const char *images, const char *name, const char *more, char room[static IMAGE_PATH], struct fail *f);
/* -EBUSY: another process builds or removes. */
int image_lock(const char *images, int *fd, struct fail *f);
/* How many nodes were made from the build in this folder. */
size_t image_held(const char *build);
/* Removes a folder and all in it, but leaves what is mounted below it. */
int image_erase(const char *path, struct fail *f);
/* Removes builds that no name links to and no node was made from, and interrupted ones. Needs the lock. */
int image_sweep(const char *images, const char *name, struct fail *f);

#endif
