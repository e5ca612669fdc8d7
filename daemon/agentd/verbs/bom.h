/* SPDX-License-Identifier: Apache-2.0 */
/* A bill of materials: what a machine should be made of, in YAML, beside what its inventory says that it is made of. */
#ifndef AGENTD_VERBS_BOM_H
#define AGENTD_VERBS_BOM_H

#include "agentd/machine/inventory.h"
#include "conf/conf.h"

enum { BOM_ROWS = 256, BOM_TEXT = 96 };

enum bom_is { BOM_OK, BOM_DIFFERS, BOM_MISSING, BOM_EXTRA, BOM_UNSEEN };

struct bom_row {
	char part[16], should[BOM_TEXT], is[BOM_TEXT];
	enum bom_is result; /* BOM_UNSEEN: no machine can tell, so it counts as no difference */
};

struct bom {
	struct bom_row rows[BOM_ROWS];
	size_t count;
};

/* 0, or -EINVAL with a sentence that names the line and what it may say. */
int bom_compare(const struct conf_file *file, const struct inventory *v, struct bom *out, struct fail *f);

/* `nanopod-agentd verify --bom FILE`: 0; 11: the machine differs; 2: the file is wrong. */
int bom_verb(const char *path, const char *sysfs_root, bool json, FILE *out, FILE *err);

#endif
