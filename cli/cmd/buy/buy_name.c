/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/buy/buy_name.h"

#include <errno.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/trade/reservation.h"
#include "market/ident.h"

/* A node's name is its host name, of at most 63 characters; "-1023" is the longest end of one. */
enum { BUY_NAME_LONGEST = 58 };

int buy_name_check(const char *name, struct fail *f)
{
	/* Ansible and ClusterShell have these for themselves, and every machine has the first one. */
	static const char *const words[] = { "localhost", "all", "ungrouped" };
	size_t len = strlen(name);
	int rc = 0;

	if (len > BUY_NAME_LONGEST)
		return fail_set(f, -EINVAL,
			"'%.20s...' has %zu characters, and a new reservation's name has at most %d, as its nodes are "
			"called NAME-0, NAME-1, ...",
			name, len, BUY_NAME_LONGEST);
	rc = reservation_check_name(name, f);
	if (rc)
		return rc;
	if (strchr(name, '.') && strspn(name, "0123456789.") == len)
		return fail_set(f, -EINVAL, "commands take '%s' for an address", name);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(name, words[i]) == 0)
			return fail_set(f, -EINVAL, "'%s' means something else to commands and inventories", name);
	for (int kind = 0; kind < IDENT_KINDS; kind++)
		if (ident_looks((enum ident)kind, name))
			return fail_set(f, -EINVAL, "'%s' begins as an id of the market does", name);
	return 0;
}

/* Markets that do not look nodes up by name have nothing to say here. */
int buy_name_free(struct market_link *m, const char *name)
{
	struct model_instance i;

	if (m->explain || market_get(m, "/v2/instances/%s", name) || wire_instance(m->doc, WIRE_WHOLE, &i, &m->fail))
		return 0;
	if (!i.name || strcmp(i.name, name) != 0 ||
		(i.status != MODEL_INSTANCE_AWAITING && i.status != MODEL_INSTANCE_RUNNING))
		return 0;
	return print_fail_field(m->np, STATUS_CONFLICT, "--name",
		"'--into' adds nodes to its reservation; another '--name' makes a new one",
		"cannot buy as '%s': a node%s%s%s has that name", name, i.pool.name ? " of '" : "",
		i.pool.name ? i.pool.name : "", i.pool.name ? "'" : "");
}

void buy_name_choose(const char *typed, const struct purchase *p, char *room, size_t size)
{
	char key[RESUME_FILE_KEY] = "np-000000";

	if (typed)
		snprintf(room, size, "%s", typed);
	else
		snprintf(room, size, "r-%.6s", (p->file ? resume_file_key(p->file, "", key) : key) + 3);
}
