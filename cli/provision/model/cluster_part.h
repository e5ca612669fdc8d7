/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that read a cluster file share. */
#ifndef CLI_PROVISION_MODEL_CLUSTER_PART_H
#define CLI_PROVISION_MODEL_CLUSTER_PART_H

#include "cli/provision/model/cluster.h"
#include "conf/conf.h"

struct cluster_reading {
	struct cluster *c;
	const struct conf_file *file;
	const char *folder;
	bool known; /* a stack that cannot be read is no error */
	cluster_expand *expand;
	void *arg;
	struct fail *f;
};

/* Adds the hosts of one text; of one text or of a list of texts. 0 or -EINVAL with line and column. */
int cluster_add_hosts(struct cluster_reading *r, const struct conf *at, const char *text, struct pssh_list *into);
int cluster_hosts(struct cluster_reading *r, const struct conf *at, struct pssh_list *into);

/* Fills in which members have which role of each stack. roles: the file's map, or NULL. */
int cluster_read_roles(struct cluster_reading *r, const struct conf *roles);

/* Fills in every setting of a stack. map: the stack's map in the file, or NULL. */
int cluster_read_settings(struct cluster_reading *r, const struct conf *map, struct use *u);

/* Adds the people of the file's `users` (NULL: none) to the settings of the stack of that name. */
int cluster_read_users(struct cluster_reading *r, const struct conf *users, struct use *u);

/* Reads the file's `autoscale` (NULL: it has none). */
int cluster_read_autoscale(struct cluster_reading *r, const struct conf *at);
void cluster_autoscale_release(struct cluster_autoscale *a);

#endif
