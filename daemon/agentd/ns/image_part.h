/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of image.h: how builds stand in the folder of images. */
#ifndef AGENTD_NS_IMAGE_PART_H
#define AGENTD_NS_IMAGE_PART_H

#include <stdbool.h>

#include "agentd/ns/image.h"

/*
 *   NAME              a link to NAME@STAMP
 *   NAME@STAMP        a build, complete
 *   NAME@STAMP/held/  a file a node that was made from it; its contents are the node's folder
 *   NAME.new          a build under way, or one that was interrupted
 *   lock              held by whoever builds or removes
 */
enum { IMAGE_PATH = 512 };

int image_path(const char *images, const char *name, const char *more, char room[static IMAGE_PATH], struct fail *f);
/* -EBUSY: somebody else builds or removes. */
int image_lock(const char *images, int *fd, struct fail *f);
/* How many nodes were made from the build in this folder. */
size_t image_held(const char *build);
/* A folder and all in it, with what may be mounted below it left alone. */
int image_erase(const char *path, struct fail *f);
/* Builds that no name leads to and no node was made from, and what interrupted builds left. Under the lock. */
int image_sweep(const char *images, const char *name, struct fail *f);

#endif
