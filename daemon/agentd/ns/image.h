/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root images of nodes: images/NAME with image.json and the system itself, built from this machine's
 * own Debian mirrors. An image is complete under its name or not there.
 *
 *   images/NAME/root       the system as a folder that nothing ever writes to (built by root)
 *   images/NAME/root.tar   the same as an archive with its owners' numbers (built by an ordinary user)
 *   images/NAME/image.json {"name","release","architecture","built_at","form":"folder"|"tar","bytes","packages":{name: version}}
 */
#ifndef AGENTD_NS_IMAGE_H
#define AGENTD_NS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/fail.h"

#define IMAGE_DEFAULT "debian-12"

enum image_form { IMAGE_FOLDER, IMAGE_TAR };

struct image {
	char path
		[512]; /* of this very build (images/NAME is a link to it); what a driver makes of it may be in path/driver-… */
	char root[512];            /* images/NAME/root or images/NAME/root.tar */
	enum image_form form;
	int64_t built_at;          /* Unix seconds; with the path it tells one build from the next */
};

/* name NULL: IMAGE_DEFAULT. -ENOENT: not there, the sentence says how to build it. -EINVAL: no such name can be. */
int image_find(const char *images, const char *name, struct image *out, struct fail *f);

/*
 * A node keeps the build of the image that it was made from: a later build stands beside it, `remove` refuses.
 * who is "<prefix>-<id>"; dir is the node's folder: a hold whose folder is gone counts no more.
 */
int image_hold(const struct image *i, const char *who, const char *dir, struct fail *f);
void image_drop(const char *images, const char *who);

/* 1..64 letters, digits, '.', '_', '-', not beginning with '.'. */
bool image_name_good(const char *name);

struct image_order {
	const char *images;        /* the folder of images; made where it is not there */
	const char *name;          /* NULL: IMAGE_DEFAULT */
	bool again;                /* build anew where it is there */
	FILE *progress;            /* one line a phase; NULL: none */
};

/* Builds; there already and not again: 0. One at a time for a folder of images: -EBUSY names the other. */
int image_build(const struct image_order *o, struct fail *f);
int image_remove(const char *images, const char *name, struct fail *f);

/* What can build one here? 0, or -ENOTSUP and what is missing with the command that mends it. */
int image_can_build(struct fail *f);

/*
 * `nanopod-agentd image build [NAME] [--again] | list | remove NAME`, words without "image": an exit status
 * of design (0, 1 failed, 2 usage, 3 not found, 5 busy). json: what is told on out is one JSON value.
 */
int image_verb(const char *images, int count, char *const *words, bool json, FILE *out, FILE *err);

#endif
