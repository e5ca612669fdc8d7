/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root images of nodes: images/NAME with image.json and the system itself, built from the Debian mirrors that this
 * machine's apt uses. An image appears under its name only when it is complete.
 *
 *   images/NAME/root        the system as a folder that nothing ever writes to (built by root)
 *   images/NAME/root.tar    the same as an archive that keeps owners' numbers (built by an ordinary user)
 *   images/NAME/image.json  {"name","release","architecture","built_at","form":"folder"|"tar","bytes",
 *                           "packages":{name: version}}
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
	/* This build (images/NAME links to it); drivers keep what they make of it in path/driver-… */
	char path[512];
	char root[512];            /* images/NAME/root or images/NAME/root.tar */
	enum image_form form;
	int64_t built_at;          /* Unix seconds; together with the path it identifies a build */
};

/* name NULL: IMAGE_DEFAULT. -ENOENT: no such image; the sentence says how to build it. -EINVAL: not a valid name. */
int image_find(const char *images, const char *name, struct image *out, struct fail *f);

/*
 * A node keeps the build that it was made from: a later build stands beside it, and `remove` refuses. who is
 * "<prefix>-<id>"; dir is the node's folder: a hold whose folder is gone no longer counts.
 */
int image_hold(const struct image *i, const char *who, const char *dir, struct fail *f);
void image_drop(const char *images, const char *who);

/* 1..64 letters, digits, '.', '_', '-', not beginning with '.'. */
bool image_name_good(const char *name);

struct image_order {
	const char *images;        /* the folder of images; made if missing */
	const char *name;          /* NULL: IMAGE_DEFAULT */
	bool again;                /* build anew if it exists */
	FILE *progress;            /* one line per phase; NULL: none */
};

/* Builds; 0 also if it exists and not again. One build at a time per folder of images: else -EBUSY. */
int image_build(const struct image_order *o, struct fail *f);
int image_remove(const char *images, const char *name, struct fail *f);

/* Can this machine build one? 0, or -ENOTSUP with what is missing and the command that installs it. */
int image_can_build(struct fail *f);

/*
 * `nanopod-agentd image build [NAME] [--again] | list | remove NAME`, words without "image". Returns the exit status:
 * 0, 1 failed, 2 usage, 3 not found, 5 busy. json: out gets one JSON value.
 */
int image_verb(const char *images, int count, char *const *words, bool json, FILE *out, FILE *err);

#endif
