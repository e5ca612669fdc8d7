/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the selected nodes a command takes: --type, --zone, --wait and --only-ready. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodewait.h"
#include "cli/remote/selectnodes.h"

enum { WAIT_MS = 5 * 60 * 1000 };

const char **select_names(const struct pssh_list *l)
{
	size_t count = pssh_list_count(l);
	const char **names = calloc(count + 1, sizeof *names);

	if (!names)
		command_nomem();
	for (size_t i = 0; i < count; i++)
		names[i] = pssh_list_get(l, i);
	return names;
}

void select_recognize(struct nanopod *np, const struct pssh_list *l)
{
	const char **names;

	if (np->nodes || !pssh_list_count(l))
		return;
	names = select_names(l);
	nodes_guess(np, names, pssh_list_count(l), false);
	free(names);
}

void select_tell_end(struct nanopod *np, const struct pssh_list *l)
{
	const struct node *first = NULL;

	for (size_t i = 0; np->tty_err && i < pssh_list_count(l); i++) {
		const struct node *n = nodes_of_host(np->nodes, pssh_list_get(l, i));

		if (n && n->end && (!first || n->end < first->end))
			first = n;
	}
	if (first)
		node_tell_end(np, first);
}

static bool selectnodes_wanted(const struct options *o, const struct node *n)
{
	const char *type = option_text(o, "type"), *zone = option_text(o, "zone");

	return (!type || (n->type && strcmp(n->type, type) == 0)) && (!zone || (n->zone && strcmp(n->zone, zone) == 0));
}

static int selectnodes_filter(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	size_t had = pssh_list_count(l);
	int status = nodes_know(np);

	for (size_t i = pssh_list_count(l); !status && i-- > 0;) {
		const struct node *n = nodes_of_host(np->nodes, pssh_list_get(l, i));

		if (n && !selectnodes_wanted(o, n) && pssh_list_drop(l, pssh_list_get(l, i)) != 0)
			command_nomem();
	}
	if (!status && had && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_NOTFOUND, option_given(o, "type") ? "--type" : "--zone",
			"'nanopod nodes -o wide' shows type and zone of each", "no node of that %s%s%s",
			option_given(o, "type") ? "type" : "",
			option_given(o, "type") && option_given(o, "zone") ? " and " : "",
			option_given(o, "zone") ? "zone" : "");
	return status;
}

static int selectnodes_wait_for_nodes(struct nanopod *np, const struct options *o, const struct pssh_list *l)
{
	const char **names = calloc(pssh_list_count(l) + 1, sizeof *names), *text = option_text(o, "wait");
	struct fail why = { 0 };
	int64_t ms = WAIT_MS;
	size_t count = 0;
	int status;

	if (!names)
		command_nomem();
	status = *text && value_duration(text, &ms, &why)
		? print_fail_field(np, STATUS_USAGE, "--wait", NULL, "cannot use '--wait': %s", why.text)
		: nodes_know(np);
	for (size_t i = 0; !status && i < pssh_list_count(l); i++) {
		const struct node *n = nodes_of_host(np->nodes, pssh_list_get(l, i));

		if (n && !node_reachable(n))
			names[count++] = n->id;
	}
	if (count)
		status = nodewait(np, names, count, ms);
	free(names);
	return status || !count ? status : nodes_know_again(np);
}

/* Leaves out nodes that do not run yet. */
static int selectnodes_only_ready(struct nanopod *np, struct pssh_list *l)
{
	size_t left_out = 0;

	select_recognize(np, l);
	for (size_t i = pssh_list_count(l); i-- > 0;) {
		const struct node *n = nodes_of_host(np->nodes, pssh_list_get(l, i));

		if (!n || node_reachable(n))
			continue;
		if (pssh_list_drop(l, pssh_list_get(l, i)) != 0)
			command_nomem();
		left_out++;
	}
	if (left_out && !pssh_list_count(l))
		return print_fail_field(np, STATUS_CONFLICT, "--only-ready", "'--wait' waits for them",
			"none of the %zu nodes runs yet", left_out);
	if (left_out)
		print_note(np, "left out %zu node%s that do%s not run yet", left_out, left_out == 1 ? "" : "s",
			left_out == 1 ? "es" : "");
	return STATUS_OK;
}

int select_check(struct nanopod *np, const struct options *o)
{
	if (!option_given(o, "wait") || !option_given(o, "only-ready"))
		return STATUS_OK;
	return print_fail_field(np, STATUS_USAGE, "--only-ready", "choose one",
		"--only-ready leaves out nodes that do not run yet, and --wait waits for them");
}

int select_nodes(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	int status = select_check(np, o);

	if (status)
		return status;
	if (option_given(o, "type") || option_given(o, "zone"))
		status = selectnodes_filter(np, o, l);
	if (!status && option_given(o, "wait"))
		status = selectnodes_wait_for_nodes(np, o, l);
	if (!status && option_given(o, "only-ready"))
		status = selectnodes_only_ready(np, l);
	return status;
}
