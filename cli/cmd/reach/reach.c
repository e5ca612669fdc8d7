/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/reach/reach.h"

#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/nodes/nodeended.h"
#include "cli/nodes/nodestart.h"
#include "cli/remote/select.h"

/* "ssh://root@n1:22" -> "n1"; what is left must be one word of every program's file. */
static char *reach_bare(const char *spec)
{
	const char *from = str_starts(spec, "ssh://") ? spec + 6 : spec, *at = strrchr(from, '@'), *colon;
	char *name;

	from = at ? at + 1 : from;
	colon = strchr(from, ':') == strrchr(from, ':') ? strchr(from, ':') : NULL;
	name = strndup(from, colon ? (size_t)(colon - from) : strlen(from));
	if (!name)
		command_nomem();
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && (!strchr("._-:", *p) || p == name)) {
			free(name);
			return NULL;
		}
	return name;
}

/* No file names it, no jump host is asked for it, and it has no address. */
static bool reach_unknown(const struct nanopod *np, const struct reach_host *h)
{
	struct addrinfo *found = NULL, wanted = { .ai_socktype = SOCK_STREAM };
	int rc;

	if (np->hostbook || *pssh_host_jump(h->host) || strcmp(pssh_host_address(h->host), h->name) != 0 ||
		nodes_host_known(np, h->name))
		return false;
	rc = getaddrinfo(h->name, NULL, &wanted, &found);
	if (!rc)
		freeaddrinfo(found);
	return rc == EAI_NONAME; /* without an answer it may have one */
}

/* A host may have a name that only other machines know; a slip, or a node that ended, is none. */
static int reach_doubt(struct nanopod *np, const char *spec)
{
	char hint[SELECT_HINT];

	if (!node_ended_told(np, spec, hint, sizeof hint) && !select_near(np, spec, hint))
		return 0;
	return print_fail(np, STATUS_NOTFOUND, hint, "no reservation, node or host '%.100s'", spec);
}

static int reach_add(struct nanopod *np, struct reach *r, const char *spec)
{
	struct reach_host *h = &r->list[r->count];
	const struct node *n = nodes_of_host(np->nodes, spec);
	char room[NODESTART_TEXT];
	const char *why = n ? node_why(n, room) : NULL;
	int status;

	if (n && (!node_reachable(n) || !n->key_count)) {
		why = node_reachable(n) ? NULL : why;
		print_warn(np, "left out '%s': %s%s%s", n->name, node_reachable(n) ? "no host key" : node_state_told(n),
			why ? ": " : "", why ? why : "");
		r->left_out++;
		return STATUS_OK;
	}
	h->name = reach_bare(spec);
	if (!h->name)
		return print_fail(np, STATUS_USAGE, NULL, "'%.100s' cannot be a name in the files of other programs",
			spec);
	r->count++;
	h->node = n;
	status = connect_host(np, r->connect, spec, &h->host);
	if (!status && !n && reach_unknown(np, h))
		status = reach_doubt(np, spec);
	h->user = !status && *pssh_host_user(h->host) ? pssh_host_user(h->host) : NULL;
	return status || !n ? status : connect_key_file(np, n, &h->key_file);
}

int reach_open(struct nanopod *np, const struct options *o, struct reach *r)
{
	struct pssh_list *hosts;
	bool given = false;
	int status;

	*r = (struct reach){ 0 };
	select_new(np, &hosts);
	status = select_inventories(np, o);
	for (int i = 0; !status && i < option_argc(o); i++)
		status = select_meant(np, hosts, option_argv(o)[i], true);
	status = status ? status : select_options(np, o, hosts, &given);
	if (!status && !given && !option_argc(o))
		status = print_fail(np, STATUS_USAGE, "'nanopod ls' lists reservations, 'nanopod nodes' nodes",
			"name a reservation, a node or hosts");
	status = status || given ? status : select_nodes(np, o, hosts);
	status = status ? status : connect_open(np, &r->connect);
	r->list = calloc(pssh_list_count(hosts) + 1, sizeof *r->list);
	if (!r->list)
		command_nomem();
	for (size_t i = 0; !status && i < pssh_list_count(hosts); i++)
		status = reach_add(np, r, pssh_list_get(hosts, i));
	pssh_list_free(hosts);
	if (!status && !r->count)
		status = print_fail(np, STATUS_CONFLICT, "'--wait' waits for nodes", "none of the nodes runs");
	if (status)
		reach_close(np, r);
	return status;
}

void reach_close(struct nanopod *np, struct reach *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->list[i].name);
		free(r->list[i].key_file);
	}
	free(r->list);
	if (r->connect)
		connect_close(np, r->connect);
	*r = (struct reach){ 0 };
}

int reach_status(const struct reach *r)
{
	return r->left_out ? STATUS_PARTLY : STATUS_OK;
}

const char *reach_group(const struct reach_host *h)
{
	return h->node && node_name_is_plain(h->node->reservation) ? h->node->reservation : NULL;
}
