/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod autoscale` sees: the cluster's file, nodes and money at the market, jobs and nodes of Slurm. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cmd/autoscale/autoscale.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "cli/nodes/node.h"
#include "market/money.h"

enum { LOOK_OUTPUT = 8 << 20, LOOK_PATIENCE_MS = 15 * 60 * 1000, LOOK_MB = 1 << 20 };

static const struct autoscale_manager managers[] = {
	{ "slurm", "Slurm", "controller", "job", true, false },
	{ "k3s", "Kubernetes", "servers", "pod", false, true },
};

static const struct use *look_use(const struct autoscale *a)
{
	return cluster_use(a->p.c, a->manager->stack);
}

bool autoscale_owns(const struct autoscale *a, const char *node)
{
	size_t len = strlen(a->cluster);
	long n;

	return strncmp(node, a->cluster, len) == 0 && str_starts(node + len, "-auto-") &&
		str_to_long(node + len + 6, 0, 1000000000, &n) == 0;
}

void autoscale_forget(struct autoscale *a)
{
	if (a->taken)
		provision_release(&a->p);
	a->taken = false;
}

/* ---- The cluster's file ------------------------------------------------------------------------ */

static int look_money(struct autoscale *a, const struct cluster_autoscale *s)
{
	struct fail f = { 0 };

	if (!a->sku->gpus && !a->sku->bare)
		return print_fail(a->np, STATUS_USAGE, NULL,
			"cannot use the type '%s': the market does not say how many GPUs it has", s->type);
	if (price_parse(s->price, a->sku->gpus, &a->limit, &f) || money_parse(s->budget, &a->w.limits.budget, &f))
		return print_fail(a->np, STATUS_USAGE, NULL, "cannot use 'autoscale' of '%s': %s", a->cluster, f.text);
	return STATUS_OK;
}

/* What Slurm is told of a node: what the file says, else what the type promises, less what a system needs itself. */
static int look_shape(struct autoscale *a, const struct cluster_autoscale *s)
{
	const struct sku *k = a->sku;
	struct fail f = { 0 };

	if (s->node)
		snprintf(a->node, sizeof a->node, "%s", s->node);
	else if (k->vcpus <= 0 || k->memory <= 0)
		return print_fail(a->np, STATUS_USAGE,
			"say it in the file: 'autoscale: {node: CPUs=16 RealMemory=60000, …}'",
			"the type '%s' does not promise how many CPUs and how much memory a node has", s->type);
	else
		snprintf(a->node, sizeof a->node, "CPUs=%" PRId64 " RealMemory=%" PRId64, k->vcpus,
			k->memory / LOOK_MB * 9 / 10);
	if (!s->node && k->gpus && k->accelerator) {
		size_t len = strlen(a->node);

		snprintf(a->node + len, sizeof a->node - len, " Gres=gpu:%.40s:%u", k->accelerator, k->gpus);
		for (char *c = a->node + len + 6; *c; c++)
			*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
	}
	if (scale_shape(a->node, &a->shape, &f))
		return print_fail(a->np, STATUS_USAGE, NULL, "cannot use 'autoscale.node' of '%s': %s", a->cluster,
			f.text);
	return STATUS_OK;
}

static void look_limits(struct autoscale *a, const struct cluster_autoscale *s)
{
	bool once = option_given(a->o, "once") || option_given(a->o, "dry-run");
	int64_t every = once ? scale_gap(a->gaps, option_ms(a->o, "every") / 1000) : 0;

	a->w.limits.min = s->min;
	a->w.limits.max = s->max;
	a->w.limits.idle_ms = s->idle_ms;
	a->w.limits.patience_ms = LOOK_PATIENCE_MS;
	a->w.limits.lead = scale_lead(s->ahead_ms / 1000, every);
	a->w.limits.join_lead = scale_join_lead(s->ahead_ms / 1000, every);
}

static int look_file(struct autoscale *a)
{
	const struct cluster_autoscale *s;
	const struct use *u;
	int status = provision_init_bare(&a->p, a->np, a->o);

	a->taken = true;
	a->p.forgets = true;
	status = status ? status : provision_take_cluster(&a->p, a->cluster);
	if (status)
		return status;
	s = &a->p.c->autoscale;
	a->manager = managers;
	for (size_t i = 0; i < sizeof managers / sizeof *managers && !look_use(a); i++)
		a->manager = &managers[i];
	u = look_use(a);
	if (!s->on || !u)
		return print_fail(a->np, STATUS_USAGE,
			"'autoscale: {type: h100, max: 8, max-price: 2.10, budget: 200}' and 'stacks: {slurm: {}}'",
			"the file of '%s' lacks %s", a->cluster,
			u ? "'autoscale'" : "the stack 'slurm' or the stack 'k3s'");
	a->w.manager = a->manager->name;
	a->w.work = a->manager->work;
	a->controller = NULL;
	for (size_t i = 0; i < a->p.c->count && !a->controller; i++)
		if (cluster_has_role(u, i, a->manager->role))
			a->controller = a->p.c->members[i];
	status = skus_find(a->np, &a->skus, s->type, &a->sku);
	status = status ? status : look_money(a, s);
	status = status ? status : look_shape(a, s);
	look_limits(a, s);
	return status;
}

/* Slurm has to know what can be bought, or it would refuse the jobs that need it. */
static int look_spare(struct autoscale *a)
{
	const struct use *u = look_use(a);
	char spare[SCALE_TEXT + 32], why[SCALE_TEXT];
	struct autoscale_words w = { .count = 0 };
	int status;

	if (!a->manager->spares)
		return STATUS_OK;
	snprintf(spare, sizeof spare, "%" PRId64 " %s", a->w.limits.max, a->node);
	if (strcmp(pairs_or(&u->settings, "spare", ""), spare) == 0)
		return STATUS_OK;
	if (option_given(a->o, "dry-run")) {
		autoscale_say(a, false, "would tell Slurm of %s", spare);
		return STATUS_OK;
	}
	autoscale_words_provision(a, &w, "apply", NULL);
	autoscale_word(&w, "--set=slurm.spare=%s", spare);
	status = autoscale_call(a, &w, NULL, why);
	if (status)
		autoscale_say(a, true, "cannot tell Slurm which nodes can be bought: %s", why);
	else
		autoscale_say(a, false, "Slurm knows of up to %" PRId64 " nodes that can be bought: %s",
			a->w.limits.max, a->node);
	return status;
}

/* ---- The market -------------------------------------------------------------------------------- */

/* The reservation that the nodes become a part of: nodes reach those of their own alone. Asked for once. */
static int look_reservation(struct autoscale *a, const struct nodes *nodes)
{
	const char *name = a->p.c->autoscale.reservation;
	const struct node *controller = nodes_find(nodes, a->controller);

	if (!name && controller)
		name = controller->reservation;
	if (!name)
		return print_fail(a->np, STATUS_USAGE, "name one in the file: 'autoscale: {reservation: NAME, …}'",
			"the controller '%s' is no node of a reservation, and no other was named", a->controller);
	if (a->reservation.id)
		reservation_release(&a->reservation);
	return reservation_find(a->m, name, &a->reservation);
}

static void look_take_node(struct autoscale *a, const struct node *n)
{
	struct scale_node *s = &a->w.nodes[a->w.count];

	if (!node_in(n, a->reservation.id) || !autoscale_owns(a, n->name) || !node_lives(n) ||
		a->w.count == SCALE_NODES)
		return;
	*s = (struct scale_node){ .place = node_reachable(n) ? SCALE_UP : SCALE_STARTING, .end = n->end };
	snprintf(s->name, sizeof s->name, "%.127s", n->name);
	snprintf(s->id, sizeof s->id, "%.63s", n->id);
	s->end = n->end ? n->end : INT64_MAX / 2;
	a->w.count++;
}

static void look_take_members(struct autoscale *a, const struct nodes *nodes)
{
	for (size_t m = 0; m < a->p.c->count; m++) {
		const char *member = a->p.c->members[m];
		const struct node *n = nodes_find(nodes, member);

		if (autoscale_owns(a, member) && !scale_member(&a->w, member, n && node_lives(n)))
			autoscale_say(a, true,
				"%.60s stays as it is: its reservation is '%.40s', not '%.40s'; 'nanopod release' ends "
				"it",
				member, n->reservation, a->reservation.name);
	}
}

static int look_market(struct autoscale *a)
{
	struct nodes *nodes = NULL;
	int rc = a->clock.asked_ms ? market_clock_again(a->m, &a->clock) : market_clock_read(a->m, &a->clock), status;

	rc = rc > 0 ? 0 : rc;
	a->w.now = market_clock_now(&a->clock);
	a->w.count = 0;
	rc = rc ? rc : nodes_load(a->m, NULL, false, &nodes);
	if (rc) {
		autoscale_say(a, true, "the market cannot be asked: %.150s", a->m->fail.text);
		return client_status(rc);
	}
	status = look_reservation(a, nodes);
	for (size_t i = 0; !status && i < nodes->count; i++)
		look_take_node(a, &nodes->list[i]);
	if (!status)
		look_take_members(a, nodes);
	nodes_free(nodes);
	return status;
}

/* ---- Jobs -------------------------------------------------------------------------------------- */

static bool look_word(const char *text, const char *words)
{
	const char *start;
	size_t len, i = 0;

	for (; value_word(words, i, &start, &len); i++)
		if (strncmp(text, start, len) == 0)
			return true;
	return false;
}

/* "NAME|STATE|REASON", as sinfo says it; of Kubernetes what is free there, instead of a reason. */
static void look_take_state(struct autoscale *a, char *line)
{
	const char *name = strsep(&line, "|"), *state = strsep(&line, "|");
	struct scale_shape room;
	bool known = state && look_word(state, "idle|mixed|alloc|comp|plan|drain|drng|resv|maint");
	bool serves = known && !strchr(state, '*'); /* it answers */
	bool drained = serves && look_word(state, "drain|drng");
	bool busy = known && !look_word(state, "idle|drained|plan|maint|resv");

	scale_room(line && a->manager->at_once ? line : "", &room);
	for (size_t i = 0; i < a->w.count; i++) {
		struct scale_node *n = &a->w.nodes[i];

		if (strcasecmp(n->name, name) != 0) /* Kubernetes' are lower case */
			continue;
		n->room = room;
		if (n->place == SCALE_UP && n->member && serves)
			n->place = SCALE_SERVES;
		n->drained = drained;
		n->busy = busy;
		return;
	}
	if (serves && !drained && a->w.room_count < SCALE_NODES)
		a->rooms[a->w.room_count++] = room;
	a->others += serves && !drained;
	a->others_free += serves && !drained && !busy && !a->manager->at_once;
}

/* As a job, with the node that it runs on instead of a reason. What is too much keeps its node. */
static void look_take_move(struct autoscale *a, char *line)
{
	const char *on = strrchr(line, '|');
	size_t i = 0;

	while (on && i < a->w.count && strcasecmp(a->w.nodes[i].name, on + 1) != 0)
		i++;
	if (!on || i == a->w.count)
		return;
	if (a->w.move_count < SCALE_MOVES && scale_job(line, &a->moves[a->w.move_count].job) == 0)
		a->moves[a->w.move_count++].node = i;
	else
		a->w.nodes[i].busy = true;
}

static void look_take_line(struct autoscale *a, char *line)
{
	if (str_starts(line, "job ") && a->job_count < SCALE_JOBS)
		a->job_count += scale_job(line + 4, &a->jobs[a->job_count]) == 0;
	else if (str_starts(line, "node "))
		look_take_state(a, line + 5);
	else if (str_starts(line, "move "))
		look_take_move(a, line + 5);
	else if (str_starts(line, "warn "))
		autoscale_say(a, true, "%.190s", line + 5);
}

/* Asks one of them. */
static int look_ask_jobs(struct autoscale *a, char *why)
{
	const struct pairs *set = &look_use(a)->settings;
	struct autoscale_words w = { .count = 0 };
	struct buf out;
	bool whole = false;
	int status;

	a->job_count = 0;
	a->others = a->others_free = 0;
	a->w.move_count = a->w.room_count = 0;
	a->w.moves = a->moves;
	a->w.rooms = a->rooms;
	if (!a->controller || !autoscale_words_manager(a, &w))
		return print_fail(a->np, STATUS_FAILURE, NULL, "'%s' has no node that is asked for %ss", a->cluster,
			a->manager->work);
	autoscale_word(&w, "demand");
	autoscale_word(&w, "%s", pairs_or(set, "labels_agents", ""));
	autoscale_word(&w, "%s", pairs_or(set, "taints_agents", ""));
	buf_init(&out, LOOK_OUTPUT);
	status = autoscale_call(a, &w, &out, why);
	for (char *rest = out.len ? out.data : NULL, *line; (line = strsep(&rest, "\n"));) {
		whole |= strcmp(line, "end") == 0;
		look_take_line(a, line);
	}
	buf_release(&out);
	return status || whole ? status : STATUS_UNREACHABLE;
}

/* Of several servers any one that answers. */
static int look_jobs(struct autoscale *a)
{
	const struct cluster *c = a->p.c;
	const char *first = a->controller;
	char why[SCALE_TEXT] = "";
	int status = look_ask_jobs(a, why);

	for (size_t i = 0; status && first && i < c->count; i++)
		if (c->members[i] != first && cluster_has_role(look_use(a), i, a->manager->role)) {
			a->controller = c->members[i];
			status = look_ask_jobs(a, why);
		}
	if (status && first)
		autoscale_say(a, true, "%s cannot be asked: %s", a->manager->name, *why ? why : "it does not answer");
	return status;
}

/* ---- Who uses them ----------------------------------------------------------------------------- */

static void look_take_quiet(struct autoscale *a, const size_t *which, size_t count, const char *line)
{
	char label[sizeof a->w.nodes->name + 2];

	for (size_t i = 0; i < count; i++) {
		struct scale_node *n = &a->w.nodes[which[i]];

		snprintf(label, sizeof label, "%s: ", n->name);
		if (!str_starts(line, label))
			continue;
		line += strlen(label);
		n->blind = false;
		snprintf(n->used, sizeof n->used, "%s", strcmp(line, "quiet") == 0 ? "" : line);
		return;
	}
}

void autoscale_ask_quiet(struct autoscale *a, const size_t *which, size_t count)
{
	char script[AUTOSCALE_PATH], why[SCALE_TEXT];
	struct autoscale_words w = { .count = 0 };
	struct buf out, hosts;

	if (!count || !stack_find(a->p.folder, "common/quiet.inc", script, sizeof script))
		return;
	buf_init(&hosts, LOOK_OUTPUT);
	buf_init(&out, LOOK_OUTPUT);
	for (size_t i = 0; i < count; i++) {
		struct scale_node *n = &a->w.nodes[which[i]];

		n->blind = true;
		snprintf(n->used, sizeof n->used, "it does not say who uses it");
		if (buf_addf(&hosts, "%s%s", i ? "," : "", n->name))
			command_nomem();
	}
	autoscale_word(&w, "run");
	autoscale_word(&w, "--hosts=%s", buf_text(&hosts));
	autoscale_word(&w, "--timeout=1m");
	autoscale_word(&w, "--script=%s", script);
	autoscale_words_ways(a, &w, true);
	(void)autoscale_call(a, &w, &out, why);
	for (char *rest = out.len ? out.data : NULL, *line; (line = strsep(&rest, "\n"));)
		look_take_quiet(a, which, count, line);
	buf_release(&out);
	buf_release(&hosts);
}

static void look_quiet(struct autoscale *a)
{
	size_t which[SCALE_NODES], count = 0;

	for (size_t i = 0; i < a->w.count; i++)
		if ((a->w.nodes[i].place == SCALE_SERVES && !a->w.nodes[i].busy) || a->w.nodes[i].place == SCALE_UP)
			which[count++] = i;
	autoscale_ask_quiet(a, which, count);
}

/* For how long each has been where it is. */
static void look_since(struct autoscale *a)
{
	int64_t now = clock_ms(), wall = (int64_t)time(NULL);

	for (size_t i = 0; i < a->w.count; i++) {
		struct scale_node *n = &a->w.nodes[i];
		struct scale_seen *s;

		if (n->place == SCALE_OVER)
			continue;
		s = autoscale_seen(a, n->id);
		scale_since(s, n, now);
		scale_count_lost(&a->lost, s, &a->w, n, wall);
	}
	a->w.lost = a->lost.count;
	a->w.waits = wall < a->lost.until;
}

/* Where its manager does not answer: what was seen of each when it last did. */
static void look_back(struct autoscale *a)
{
	for (size_t i = 0; i < a->w.count; i++) {
		struct scale_node *n = &a->w.nodes[i];
		const struct scale_seen *s = autoscale_seen(a, n->id);

		n->was_used = s->used;
		n->prolonged = s->prolonged;
		n->silent_ms = scale_for(s->heard_ms, clock_ms());
	}
}

/* ---- All of it --------------------------------------------------------------------------------- */

static void look_refuse(struct autoscale *a)
{
	int64_t now = (int64_t)time(NULL);
	size_t kept = 0;

	if (!a->manager->at_once)
		return;
	scale_refusals_forget(&a->refused, now);
	scale_refusals_forget(&a->moved, now);
	for (size_t i = 0; i < a->job_count; i++) {
		const struct scale_job *j = &a->jobs[i];

		if (scale_refuses(&a->refused, &a->w, &a->shape, j, now))
			autoscale_say(a, true,
				"no node is bought for %s %s now: it waits, or one like it, though a node was free for "
				"it",
				a->w.work, j->id);
		else
			a->jobs[kept++] = *j;
	}
	a->job_count = kept;
}

static void look_pack(struct autoscale *a)
{
	struct scale_need *need = &a->w.need;
	int64_t room = a->w.limits.max - scale_alive(&a->w);

	scale_pack(a->manager->work, a->jobs, a->job_count, &a->shape, scale_free(&a->w) + a->others_free,
		room > 0 ? room : 0, a->w.limits.max + a->others, need);
	/* Workers that are not bought come first. */
	need->taken = need->taken > a->others_free ? need->taken - a->others_free : 0;
}

int autoscale_look(struct autoscale *a)
{
	int status = look_file(a);

	status = status ? status : look_market(a);
	if (status)
		return status;
	a->silent = autoscale_joins(a) ? STATUS_OK : look_spare(a);
	a->silent = a->silent ? a->silent : look_jobs(a);
	a->w.silent = a->silent != STATUS_OK;
	if (a->w.silent) {
		look_back(a);
		return autoscale_money(a);
	}
	scale_moves(&a->w, &a->moved, (int64_t)time(NULL));
	look_quiet(a);
	look_since(a);
	look_refuse(a);
	look_pack(a);
	return autoscale_money(a);
}
