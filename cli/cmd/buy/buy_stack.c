/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/buy/buy_stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/nodes/node.h"
#include "cli/provision/model/gate.h"
#include "cli/provision/report/runlog.h"
#include "cli/remote/select.h"
#include "market/when.h"

enum { BUY_STACK_TEXT = 1 << 20, BUY_STACK_NAMES = 60, BUY_STACK_PATH = 4096 };

bool buy_stack_wanted(const struct buy *b)
{
	return option_given(b->d.o, "stack");
}

/* ---- What was typed -------------------------------------------------------------------- */

static int buy_stack_check_options(const struct buy *b)
{
	static const struct {
		const char *name, *why;
	} against[] = {
		{ "node-name", "the cluster names its nodes" },
		{ "into", "'nanopod provision add' adds nodes to a cluster" },
		{ "no-instances", "a cluster needs nodes" },
		{ "no-ssh-key", "nanopod installs it by SSH" },
		{ "no-wait", "nanopod installs it when the nodes run" },
	};
	static const char *const with[] = { "set", "role", "skip-gate" };
	bool stack = buy_stack_wanted(b);
	char field[32];

	for (size_t i = 0; stack && i < sizeof against / sizeof *against; i++)
		if (option_given(b->d.o, against[i].name)) {
			snprintf(field, sizeof field, "--%s", against[i].name);
			return print_fail_field(b->d.np, STATUS_USAGE, field, NULL,
				"cannot use '%s' and '--stack' together: %s", field, against[i].why);
		}
	for (size_t i = 0; !stack && i < sizeof with / sizeof *with; i++)
		if (option_given(b->d.o, with[i])) {
			snprintf(field, sizeof field, "--%s", with[i]);
			return print_fail_field(b->d.np, STATUS_USAGE, field, "'--stack slurm' installs one",
				"cannot use '%s' without '--stack'", field);
		}
	for (size_t i = 0; i < option_count(b->d.o, "skip-gate"); i++) {
		struct fail f = { 0 };

		if (gate_check_name(option_at(b->d.o, "skip-gate", i), &f))
			return print_fail_field(b->d.np, STATUS_USAGE, "--skip-gate", NULL, "%s", f.text);
	}
	return 0;
}

static int buy_stack_expand(void *arg, const char *text, struct pssh_list *into, struct fail *f)
{
	(void)arg;
	return pssh_list_add(into, text) ? fail_set(f, -1, "%s", pssh_list_error(into)) : 0;
}

static const char **buy_stack_typed(const struct buy *b, const char *option)
{
	size_t n = option_count(b->d.o, option);
	const char **list = calloc(n + 1, sizeof *list);

	if (!list)
		command_nomem();
	for (size_t i = 0; i < n; i++)
		list[i] = option_at(b->d.o, option, i);
	return list;
}

/* On nodes as they will be called: what does not fit is said before anything is paid. 0 or a negative code. */
static int buy_stack_parse(struct buy *b, const char *name, struct fail *f)
{
	const char **stacks = buy_stack_typed(b, "stack"), **sets = buy_stack_typed(b, "set");
	const char **roles = buy_stack_typed(b, "role");
	char folder[BUY_STACK_PATH], nodes[128], *cluster = cluster_plain_name(name);
	struct buf text;
	int rc = stack_folders(folder, sizeof folder, f);

	buf_init(&text, BUY_STACK_TEXT);
	if (b->d.args.nodes == 1)
		snprintf(nodes, sizeof nodes, "%.58s-0", name);
	else
		snprintf(nodes, sizeof nodes, "%.58s-[0-%" PRId64 "]", name, b->d.args.nodes - 1);
	rc = rc ? rc : cluster_write(cluster, nodes, stacks, sets, roles, folder, false, &text, f);
	rc = rc ? rc
		: cluster_parse("the cluster", buf_text(&text), text.len, folder, buy_stack_expand, NULL, &b->cluster,
			  f);
	rc = rc ? rc : cluster_check_files(b->cluster, f);
	buf_release(&text);
	free(cluster);
	free(stacks);
	free(sets);
	free(roles);
	return rc;
}

/* A kept cluster of that name goes on where it has some of these nodes; two clusters of one name would mix. */
static int buy_stack_check_name(struct buy *b)
{
	size_t same = 0, of = 0;
	char hint[200];
	struct buf known;

	buf_init(&known, 8 << 20);
	if (runlog_members(b->cluster->name, &known, NULL) == 0 && known.len)
		for (char *line = known.data, *name; (name = strsep(&line, "\n"));) {
			of += *name != '\0';
			same += *name && cluster_member(b->cluster, name) != (size_t)-1;
		}
	buf_release(&known);
	b->cluster_kept = same > 0;
	if (same || !of)
		return 0;
	snprintf(hint, sizeof hint,
		"choose another '--name'; 'nanopod provision list' shows all, "
		"'nanopod provision remove %.63s' removes it",
		b->cluster->name);
	return print_fail_field(b->d.np, STATUS_CONFLICT, "--name", hint,
		"a cluster '%s' of other nodes already exists", b->cluster->name);
}

int buy_stack_read(struct buy *b)
{
	const char *name = option_text(b->d.o, "name");
	struct fail f = { 0 };
	int rc = buy_stack_check_options(b);

	if (rc || !buy_stack_wanted(b))
		return rc;
	if (buy_stack_parse(b, name ? name : "r-000000", &f))
		return print_fail_field(b->d.np, STATUS_USAGE, "--stack",
			"'nanopod provision stacks' lists stacks, 'nanopod provision stacks STACK' its settings", "%s",
			f.text);
	return name ? buy_stack_check_name(b) : 0;
}

void buy_stack_release(struct buy *b)
{
	cluster_free(b->cluster);
	b->cluster = NULL;
}

/* ---- The plan -------------------------------------------------------------------------- */

/* "1 controller (train-0), 3 workers (train-[1-3])"; without names where they are not known yet. */
static void buy_stack_roles(const struct buy *b, const struct use *u, struct buf *out)
{
	const struct cluster *c = b->cluster;
	bool named = option_given(b->d.o, "name");
	const char **names = calloc(c->count + 1, sizeof *names);

	if (!names)
		command_nomem();
	buf_clear(out);
	for (size_t r = 0; r < u->stack->role_count; r++) {
		char *fold;
		size_t n = 0;

		for (size_t i = 0; i < c->count; i++)
			if (u->roles[i] & (1U << r))
				names[n++] = c->members[i];
		if (!n)
			continue;
		fold = select_fold_names(names, n, BUY_STACK_NAMES);
		if (named ? buf_addf(out, "%s%s: %s", out->len ? "; " : "", u->stack->roles[r].name, fold)
			  : buf_addf(out, "%s%s: %zu node%s", out->len ? "; " : "", u->stack->roles[r].name, n,
				    n == 1 ? "" : "s"))
			command_nomem();
		free(fold);
	}
	free(names);
}

void buy_stack_plan(const struct buy *b, struct plan *p)
{
	struct buf roles;

	if (!b->cluster)
		return;
	buf_init(&roles, BUY_STACK_TEXT);
	for (size_t i = 0; i < b->cluster->use_count; i++) {
		const struct use *u = &b->cluster->uses[i];

		if (strcmp(u->stack->name, "base") == 0)
			continue;
		plan_add(p, u->stack->name, "%s", u->stack->about ? u->stack->about : "as nanopod has it");
		buy_stack_roles(b, u, &roles);
		if (roles.len)
			plan_add(p, "", "%s", buf_text(&roles));
	}
	for (size_t i = 0; i < option_count(b->d.o, "set"); i++)
		plan_add(p, i ? "" : "settings", "%s", option_at(b->d.o, "set", i));
	if (b->cluster_kept)
		plan_add(p, "cluster", "'%s' exists here already: its file counts, too", b->cluster->name);
	buf_release(&roles);
}

/* ---- Installing it --------------------------------------------------------------------- */

bool buy_stack_has_ended(struct buy *b)
{
	struct purchase *p = &b->order.purchase;
	const char *id = purchase_kept(p, "order");
	struct fail why = b->d.m->fail;
	struct order_status order;
	struct reservation r = { 0 };
	bool over = false;
	int rc;

	if (!buy_stack_wanted(b) || !id || order_status_look(b->d.m, id, &order) || !order.filled_minutes) {
		b->d.m->fail = why;
		return false;
	}
	rc = reservation_look(b->d.m, p->pool, &r);
	over = rc == 1 ||
		(rc == 0 && strcmp(reservation_state(&r, market_clock_now(&b->order.args.clock)), "ended") == 0);
	reservation_release(&r);
	b->d.m->fail = why;
	return over;
}

/* Are all of its nodes there? A smaller cluster than the one that was agreed to is not made in silence. */
static int buy_stack_check_nodes(struct buy *b, const char *pool, const char *name, int64_t wanted)
{
	struct nodes *n = NULL;
	int64_t alive = 0;
	char hint[300];

	if (nodes_load(b->d.m, pool, false, &n))
		return market_fail(b->d.m, "cannot list the nodes of '%s'", name);
	for (size_t i = 0; i < n->count; i++)
		alive += node_lives(&n->list[i]);
	nodes_free(n);
	if (alive >= wanted)
		return 0;
	snprintf(hint, sizeof hint,
		"'nanopod nodes -r %.58s --all' shows them; 'nanopod provision -r %.58s %.40s' "
		"installs it on those that it has",
		name, name, option_at(b->d.o, "stack", 0));
	return print_fail(b->d.np, STATUS_PARTLY, hint,
		"cannot install on '%s': it has %" PRId64 " of %" PRId64 " nodes", name, alive, wanted);
}

struct buy_stack_words {
	char **list;
	size_t count, room;
};

static void buy_stack_word(struct buy_stack_words *w, const char *option, const char *text)
{
	if (w->count + 2 > w->room) {
		w->room = w->room ? 2 * w->room : 32;
		w->list = reallocarray(w->list, w->room, sizeof *w->list);
	}
	if (!w->list || asprintf(&w->list[w->count++], "%s%s", option, text) < 0)
		command_nomem();
	w->list[w->count] = NULL;
}

/* Whoever named a public key has its private key beside it, or in an agent. */
static void buy_stack_identity(struct buy_stack_words *w, const char *public)
{
	size_t n = strlen(public);
	char path[BUY_STACK_PATH];

	if (n <= 4 || n >= sizeof path || strcmp(public + n - 4, ".pub") != 0)
		return;
	snprintf(path, sizeof path, "%.*s", (int)(n - 4), public);
	if (access(path, R_OK) == 0)
		buy_stack_word(w, "--identity=", path);
}

/* As a person would type it, so that what it does and says is the same. */
static int buy_stack_provision(struct buy *b, const char *name)
{
	struct nanopod *np = b->d.np;
	struct buy_stack_words w = { .count = 0 };
	const struct options *o = b->d.o;
	enum format format = np->format;
	bool json = np->errors_json;
	int rc;

	buy_stack_word(&w, "provision", "");
	buy_stack_word(&w, "apply", "");
	buy_stack_word(&w, "--yes", "");
	buy_stack_word(&w, "--reservation=", name);
	if (json)
		buy_stack_word(&w, "--output=", "json");
	for (size_t i = 0; i < option_count(o, "set"); i++)
		buy_stack_word(&w, "--set=", option_at(o, "set", i));
	for (size_t i = 0; i < option_count(o, "role"); i++)
		buy_stack_word(&w, "--role=", option_at(o, "role", i));
	for (size_t i = 0; i < option_count(o, "skip-gate"); i++)
		buy_stack_word(&w, "--skip-gate=", option_at(o, "skip-gate", i));
	for (size_t i = 0; i < option_count(o, "ssh-key"); i++)
		buy_stack_identity(&w, option_at(o, "ssh-key", i));
	for (size_t i = 0; i < option_count(o, "stack"); i++)
		buy_stack_word(&w, "", option_at(o, "stack", i));
	fflush(np->out);
	rc = command_run(np, (int)w.count, w.list);
	np->format = format;
	np->errors_json = json;
	for (size_t i = 0; i < w.count; i++)
		free(w.list[i]);
	free(w.list);
	return rc;
}

static int buy_stack_continues(struct buy *b, const char *name, int status)
{
	print_note(b->d.np, "you have '%s', and its cluster is not finished; the same command continues: '%s'", name,
		buf_text(&b->d.line));
	return status;
}

int buy_stack_install(struct buy *b, const char *pool, const char *name, int64_t start, int64_t wait_ms, int status)
{
	int64_t now = market_clock_now(&b->order.args.clock);
	const struct purchase *p = &b->order.purchase;
	int64_t wanted = p->node_count ? (int64_t)p->node_count : b->order.args.nodes;
	char when[WHEN_TEXT];
	int rc;

	if (status && status != STATUS_PARTLY)
		return buy_stack_continues(b, name, status);
	if (wait_ms >= 0 && (start - now) * 1000 > wait_ms)
		return buy_stack_continues(b, name,
			print_fail(b->d.np, STATUS_WAITING, "run the same command again then; '--wait=12h' waits",
				"the cluster on '%s' is not installed yet: its nodes start %s", name,
				when_relative(start, now, when)));
	rc = buy_stack_check_nodes(b, pool, name, wanted);
	rc = rc ? rc : buy_stack_provision(b, name);
	if (rc)
		return buy_stack_continues(b, name, rc);
	b->installed = true;
	print_note(b->d.np,
		"next: 'nanopod extend %s -d 12h' keeps the cluster for longer, 'nanopod release %s' ends it", name,
		name);
	return status;
}
