/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts in a cluster file: expressions, groups and reservations, as whoever reads it knows them. */
#include "cli/provision/model/cluster_part.h"

int cluster_add_hosts(struct cluster_reading *r, const struct conf *at, const char *text, struct pssh_list *into)
{
	struct fail why = { 0 };

	if (r->expand) {
		if (r->expand(r->arg, text, into, &why))
			return conf_fail(r->file, at, r->f, "%s", why.text);
	} else if (pssh_list_add(into, text)) {
		return conf_fail(r->file, at, r->f, "%s", pssh_list_error(into));
	}
	if (pssh_list_count(into) > CLUSTER_NODES)
		return conf_fail(r->file, at, r->f, "%zu nodes; a cluster has at most %d", pssh_list_count(into),
			CLUSTER_NODES);
	return 0;
}

int cluster_hosts(struct cluster_reading *r, const struct conf *at, struct pssh_list *into)
{
	int rc = 0;

	if (at->type != CONF_LIST) {
		rc = conf_expect(r->file, at, CONF_TEXT, r->f);
		return rc ? rc : cluster_add_hosts(r, at, at->text, into);
	}
	for (size_t i = 0; i < at->count && !rc; i++) {
		rc = conf_expect(r->file, &at->items[i], CONF_TEXT, r->f);
		rc = rc ? rc : cluster_add_hosts(r, &at->items[i], at->items[i].text, into);
	}
	return rc;
}
