/* SPDX-License-Identifier: Apache-2.0 */
/* Plan, apply, verify and status of `nanopod provision`, on what provision_open() opened. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cmd/provision/provision.h"
#include "cli/nodes/node.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/retype.h"
#include "cli/provision/rollout/sudoask.h"
#include "cli/frame/rows.h"
#include "cli/remote/select.h"

#define PASSWORD_VARIABLE "NANOPOD_SUDO_PASSWORD"
enum { DETAILED_CHANGES = 10 };

/* ---- Begin and end ----------------------------------------------------------------------------- */

/* Removes it from the environment too, so that child processes do not inherit it. */
static char *password_given(void)
{
	char *set = getenv(PASSWORD_VARIABLE), *password = NULL;

	if (set && *set) {
		password = strdup(set);
		if (!password)
			command_nomem();
		explicit_bzero(set, strlen(set));
	}
	unsetenv(PASSWORD_VARIABLE);
	return password;
}

static int password_asked(struct provision *p)
{
	int status = sudoask(NULL, &p->password);

	if (!status && !p->password)
		return print_fail_field(p->np, STATUS_USAGE, "--ask-sudo", PASSWORD_VARIABLE " provides it",
			"cannot ask for sudo's password: there is no terminal");
	return status ? print_fail(p->np, STATUS_INT, NULL, "you typed no password") : STATUS_OK;
}

static int skip_all(struct provision *p)
{
	p->skip = calloc(GATE_COUNT + 1, sizeof *p->skip);
	if (!p->skip)
		command_nomem();
	for (int g = 0; g < GATE_COUNT; g++)
		p->skip[g] = gate_name((enum gate)g);
	return STATUS_OK;
}

static int provision_go_read_gates(struct provision *p)
{
	size_t count = option_count(p->o, "skip-gate");

	p->skip = calloc(count + 1, sizeof *p->skip);
	if (!p->skip)
		command_nomem();
	for (size_t i = 0; i < count; i++) {
		struct fail f = { 0 };

		p->skip[i] = option_at(p->o, "skip-gate", i);
		if (gate_check_name(p->skip[i], &f))
			return print_fail_field(p->np, STATUS_USAGE, "--skip-gate", NULL, "%s", f.text);
	}
	return STATUS_OK;
}

static int provision_go_begin(struct provision *p, struct nanopod *np, const struct options *o, bool bare)
{
	struct fail f = { 0 };

	*p = (struct provision){ .np = np, .o = o, .bare = bare };
	buf_init(&p->text, PROVISION_TEXT);
	p->password = password_given();
	if (np->format == FORMAT_CSV || np->format == FORMAT_NAME)
		np->format = FORMAT_TABLE;
	if (stack_folders(p->folder, sizeof p->folder, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	return bare ? skip_all(p) : provision_go_read_gates(p);
}

int provision_init(struct provision *p, struct nanopod *np, const struct options *o)
{
	return provision_go_begin(p, np, o, false);
}

int provision_init_bare(struct provision *p, struct nanopod *np, const struct options *o)
{
	return provision_go_begin(p, np, o, true);
}

void provision_release(struct provision *p)
{
	if (p->e)
		rollout_free(p->e);
	display_free(p->d);
	runlog_close(p->j);
	cluster_free(p->c);
	buf_release(&p->text);
	if (p->password) {
		explicit_bzero(p->password, strlen(p->password));
		free(p->password);
	}
	free(p->skip);
	free(p->file);
}

/* changed: whether it may have changed nodes. The same command is right even while no cluster is kept. */
static int fail_interrupted(struct provision *p, int status, bool changed)
{
	struct buf hint;

	buf_init(&hint, 1 << 20);
	(void)buf_addc(&hint, '\'');
	retype(p->np->running, p->o, NULL, &hint);
	(void)buf_adds(&hint, changed ? "' continues where this stopped" : "' starts again");
	status = print_fail(p->np, (enum status)status, buf_text(&hint),
		changed ? "interrupted" : "interrupted before anything was changed");
	buf_release(&hint);
	return status;
}

static void provision_go_recognize(struct provision *p, const struct cluster *c)
{
	struct pssh_list *l;

	if (select_new(p->np, &l))
		return;
	for (size_t i = 0; i < c->count; i++)
		(void)pssh_list_add(l, c->members[i]);
	select_recognize(p->np, l);
	if (!p->np->nodes && c->count)
		nodes_guess_host(p->np, c->members[0]);
	pssh_list_free(l);
}

int provision_reopen(struct provision *p, struct cluster *c)
{
	struct rollout_options eo = {
		.np = p->np,
		.skip_gates = p->skip,
		.max_fail = p->bare ? 0 : (unsigned)option_int(p->o, "max-fail"),
		.sudo_password = p->password,
		.logs = display_wants_logs(p->d),
		.undoes = p->undoes,
		.tell = display_note,
		.arg = p->d,
	};

	if (p->e)
		rollout_free(p->e);
	p->e = NULL;
	display_of(p->d, c);
	provision_go_recognize(p, c);
	return rollout_open(&eo, c, p->j, &p->e);
}

int provision_open(struct provision *p, FILE *results)
{
	struct fail f = { 0 };
	int rc = runlog_open(p->c->name, &p->j, &f), status = STATUS_OK;

	if (rc == -EBUSY)
		return print_fail(p->np, STATUS_CONFLICT, "wait until it ends", "%s", f.text);
	if (rc)
		return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	if (option_given(p->o, "ask-sudo") && !p->password)
		status = password_asked(p);
	if (status)
		return status;
	p->d = display_new(p->np, p->c, results ? results : p->np->err);
	if (p->mute)
		display_mute(p->d);
	status = provision_reopen(p, p->c);
	if (status != STATUS_INT && status != STATUS_TERM)
		return status;
	display_quiet(p->d);
	return fail_interrupted(p, status, false);
}

int provision_agree(struct provision *p, const char *question)
{
	display_quiet(p->d);
	return plan_agree(p->np, p->o, question);
}

int provision_worse(int a, int b)
{
	static const int order[] = { STATUS_OK, STATUS_CHECK, STATUS_PARTLY };

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (a == order[i])
			return b;
		if (b == order[i])
			return a;
	}
	return a;
}

bool provision_fatal(int status)
{
	return status != STATUS_OK && status != STATUS_PARTLY;
}

static size_t failed_nodes(const struct provision *p)
{
	const struct notelist *told = display_told(p->d);
	size_t failed = 0;

	for (size_t i = 0; i < p->c->count; i++)
		failed += notelist_bad(told, NOTE_END, p->c->members[i]) ||
			notelist_bad(told, NOTE_NODE, p->c->members[i]) ||
			notelist_count(told, NOTE_LOST, p->c->members[i]);
	return failed;
}

int provision_end(struct provision *p, const char *verb, int status)
{
	const char *name = p->c->name;
	char again[160];

	if (verb)
		(void)runlog_ran(p->j, verb, status);
	display_end(p->d, status);
	snprintf(again, sizeof again, "'nanopod provision apply %.63s' continues where this stopped", name);
	if (status == STATUS_CHECK)
		print_fail(p->np, STATUS_CHECK, "see the failed checks above", "'%s' does not work: a check failed",
			name);
	else if (status == STATUS_PARTLY)
		print_fail(p->np, STATUS_PARTLY,
			verb && strcmp(verb, "remove") == 0 ? "run the same command again to continue"
				: verb                      ? again
							    : NULL,
			"'%s': %zu of %zu nodes failed", name, failed_nodes(p), p->c->count);
	else if ((status == STATUS_INT || status == STATUS_TERM) && (!verb || strcmp(verb, "remove") == 0))
		fail_interrupted(p, status, verb);
	else if (status == STATUS_INT || status == STATUS_TERM)
		print_fail(p->np, (enum status)status, again, "interrupted");
	return status;
}

/* ---- Apply ------------------------------------------------------------------------------------------ */

int provision_keep(struct provision *p)
{
	struct fail f = { 0 };

	if (runlog_keep(p->j, buf_text(&p->text), p->text.len, p->c->members, p->c->count, &f))
		return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	return STATUS_OK;
}

/* After the first success: how to start using it. */
static void tell_first(struct provision *p)
{
	struct buf line;

	for (size_t k = 0; k < p->c->use_count; k++) {
		buf_init(&line, 4096);
		if (cluster_first(p->c, &p->c->uses[k], &line) == 0)
			print_note(p->np, "next: %s", buf_text(&line));
		buf_release(&line);
	}
}

static int provision_go_do_it(struct provision *p, const char *verb, bool strict)
{
	struct journal_run last;
	bool fresh = !runlog_last(p->c->name, &last) || (last.status && strcmp(last.verb, "apply") == 0);
	int64_t began = clock_ms();
	char took[32];
	int status = rollout_begin(p->e, strict);

	status = status ? status : provision_keep(p);
	status = status ? status : rollout_apply(p->e);
	if (!status && !option_given(p->o, "no-verify"))
		status = rollout_verify(p->e);
	status = provision_end(p, verb, status);
	if (!status)
		print_note(p->np, "'%s' is as its file says, %s%s", p->c->name,
			progress_time(clock_ms() - began, took, sizeof took),
			option_given(p->o, "no-verify") ? "" : "; all checks hold");
	if (!status && fresh)
		tell_first(p);
	return status;
}

static int nothing_to_do(struct provision *p, int status)
{
	int rc = option_given(p->o, "dry-run") ? STATUS_OK : provision_keep(p);

	if (rc)
		return rc;
	status = provision_end(p, NULL, status);
	if (!status)
		print_note(p->np,
			"nothing to do: %zu %s of '%s' %s as the file says; 'nanopod provision verify %s' checks "
			"that it works",
			p->c->count, p->c->count == 1 ? "node" : "nodes", p->c->name, p->c->count == 1 ? "is" : "are",
			p->c->name);
	return status;
}

/* A stack that cannot work on a node must not get into the cluster's file, where it would stay in everybody's way. */
static int check_can_work(struct provision *p)
{
	const struct findings *found = rollout_findings(p->e);
	size_t bad = 0;

	for (size_t i = 0; i < found->count; i++)
		bad += found->at[i].gate == GATE_NFS && found->at[i].stops;
	if (!bad)
		return STATUS_OK;
	return print_fail(p->np, STATUS_CHECK, NULL, "'storage' cannot work on %zu of %zu nodes; nothing was changed",
		bad, p->c->count);
}

static bool any_in(const struct provision *p)
{
	for (size_t i = 0; i < p->c->count; i++)
		if (rollout_in(p->e, i))
			return true;
	return false;
}

int provision_apply(struct provision *p, const char *verb, bool asked)
{
	size_t changes = 0, old = asked ? rollout_keeps_old(p->e) : 0;
	int status = rollout_plan(p->e, &changes), rc;

	display_plan(p->d, option_given(p->o, "diff"), p->np->err);
	if (provision_fatal(status) || !any_in(p))
		return provision_end(p, NULL, status);
	if (old)
		print_note(p->np,
			"%zu steps that the cluster file no longer has stay; 'nanopod provision apply %s' undoes "
			"them",
			old, p->c->name);
	if (!changes && !asked)
		return nothing_to_do(p, status);
	if (option_given(p->o, "dry-run"))
		return provision_end(p, NULL, status);
	rc = asked ? STATUS_OK : provision_agree(p, "Do it?");
	return rc ? rc : provision_worse(status, provision_go_do_it(p, verb, !asked && !option_given(p->o, "yes")));
}

/* Refuses a new cluster if some nodes belong to another: nobody means only the rest. */
static int check_fresh(struct provision *p)
{
	const struct findings *found = rollout_findings(p->e);
	struct buf members;
	size_t taken = 0;
	bool kept;

	buf_init(&members, 8 << 20);
	kept = runlog_members(p->c->name, &members, NULL) == 0 && members.len;
	buf_release(&members);
	for (size_t i = 0; i < found->count; i++)
		taken += found->at[i].gate == GATE_CLUSTER && found->at[i].stops;
	if (kept || !taken)
		return STATUS_OK;
	return print_fail(p->np, STATUS_CHECK, "name the other cluster with '--name', or other nodes with '-w'",
		"'%s' would be a new cluster, but of its nodes %zu of %zu %s in another already", p->c->name, taken,
		p->c->count, taken == 1 ? "is" : "are");
}

int provision_cluster(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take(&p, words);
	status = status ? status : plan_can_ask(np, o);
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : check_fresh(&p);
	status = status ? status : check_can_work(&p);
	status = status ? status : provision_apply(&p, "apply", false);
	provision_release(&p);
	return status;
}

/* ---- Plan -------------------------------------------------------------------------------------------- */

int provision_plan(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	size_t changes = 0;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take(&p, words);
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : check_fresh(&p);
	status = status ? status : check_can_work(&p);
	if (!status) {
		status = rollout_plan(p.e, &changes);
		display_plan(p.d, option_given(o, "diff"), np->out);
		status = provision_end(&p, NULL, status);
		if (!status && !changes)
			print_note(np, "nothing to do: %zu %s of '%s' %s as the file says", p.c->count,
				p.c->count == 1 ? "node" : "nodes", p.c->name, p.c->count == 1 ? "is" : "are");
		if (!status && changes && option_given(o, "detailed-exitcode"))
			status = DETAILED_CHANGES;
	}
	provision_release(&p);
	return status;
}

/* ---- Verify, status ------------------------------------------------------------------------------------- */

/* What works may yet differ from the file: somebody edited it by hand, or the file is newer. How many differences. */
static size_t provision_go_drift(struct provision *p, int status)
{
	size_t changes = 0;

	if (status != STATUS_OK && status != STATUS_CHECK)
		return 0;
	(void)rollout_plan(p->e, &changes);
	return changes;
}

int provision_verify(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p;
	size_t drift;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take(&p, words);
	status = status ? status : provision_open(&p, np->out);
	if (!status) {
		status = rollout_verify(p.e);
		drift = provision_go_drift(&p, status);
		status = provision_end(&p, "verify", status);
		if (drift)
			print_warn(np,
				"%s'%s' differs from its file in %zu place%s; 'nanopod provision plan %s' shows where",
				status ? "" : "all checks hold, but ", p.c->name, drift, drift == 1 ? "" : "s",
				p.kept ? p.kept : p.file);
	}
	provision_release(&p);
	return status;
}

static const struct column status_columns[] = {
	{ "node", COLUMN_ID, "the node" },
	{ "state", COLUMN_STATE,
		"ready, resting (drained on purpose), changed (it differs from the file), failing (a check, a "
		"step or a gate fails), unreachable" },
	{ "roles", 0, "STACK.ROLE, comma-separated" },
	{ "changes", COLUMN_RIGHT | COLUMN_RAW, "how many differences from the file" },
	{ "checks", COLUMN_RIGHT | COLUMN_RAW, "checks that hold" },
	{ "failed", COLUMN_RIGHT | COLUMN_RAW, "checks that fail" },
	{ "why", COLUMN_TEXT, "the first failure or difference, or why it rests" },
	{ 0 },
};

static void put_roles(const struct cluster *c, size_t member, struct buf *out)
{
	buf_clear(out);
	for (size_t i = 0; i < c->use_count; i++)
		for (size_t r = 0; r < c->uses[i].stack->role_count; r++)
			if (c->uses[i].roles[member] & (1U << r))
				(void)buf_addf(out, "%s%s.%s", out->len ? "," : "", c->uses[i].stack->name,
					c->uses[i].stack->roles[r].name);
}

/* The first failure or difference of the node, else why it rests; NULL. */
static const char *first_wrong(const struct notelist *l, const char *node)
{
	const char *rests = NULL;

	for (size_t i = 0; i < l->count; i++) {
		const struct note *n = &l->at[i];
		bool bad = n->kind == NOTE_LOST || n->kind == NOTE_DIFFERS ||
			((n->kind == NOTE_NODE || n->kind == NOTE_CHECK || n->kind == NOTE_END ||
				 n->kind == NOTE_FINDING) &&
				!n->ok);

		if (!n->node || strcmp(n->node, node) != 0)
			continue;
		if (bad)
			return n->text;
		if (n->kind == NOTE_RESTS)
			rests = n->text;
	}
	return rests;
}

static void provision_go_put_status(struct rows *r, const struct provision *p, size_t member)
{
	const struct notelist *l = display_told(p->d);
	const char *node = p->c->members[member];
	size_t changes = notelist_count(l, NOTE_DIFFERS, node), bad = notelist_bad(l, NOTE_CHECK, node);
	bool out = notelist_bad(l, NOTE_NODE, node), lost = notelist_count(l, NOTE_LOST, node);
	const char *state = out                                  ? "unreachable"
		: bad || lost || notelist_bad(l, NOTE_END, node) ? "failing"
		: changes                                        ? "changed"
		: notelist_count(l, NOTE_RESTS, node)            ? "resting"
								 : "ready";
	char texts[3][24];
	struct buf roles;

	buf_init(&roles, 65536);
	put_roles(p->c, member, &roles);
	snprintf(texts[0], sizeof texts[0], "%zu", changes);
	snprintf(texts[1], sizeof texts[1], "%zu", notelist_count(l, NOTE_CHECK, node) - bad);
	snprintf(texts[2], sizeof texts[2], "%zu", bad);
	rows_add(r,
		(const char *[]){ node, state, roles.len ? buf_text(&roles) : NULL, out ? NULL : texts[0],
			out ? NULL : texts[1], out ? NULL : texts[2], first_wrong(l, node) });
	buf_release(&roles);
}

/* Takes the only cluster here. */
static int provision_go_choose(struct nanopod *np, char **only)
{
	char **names = runlog_clusters();
	size_t n = 0;

	while (names[n])
		n++;
	*only = n == 1 ? strdup(names[0]) : NULL;
	for (size_t i = 0; i < n; i++)
		free(names[i]);
	free(names);
	if (n == 1)
		return STATUS_OK;
	return n ? print_fail(np, STATUS_USAGE, "'nanopod provision list' shows them", "which of the %zu clusters?", n)
		 : print_fail(np, STATUS_NOTFOUND, "'nanopod provision -r RESERVATION slurm' makes one",
			   "no clusters here");
}

int provision_status(struct nanopod *np, const struct options *o, char **words)
{
	struct provision p = { 0 };
	enum format format = np->format;
	char *only = NULL;
	struct rows *r;
	size_t changes;
	int status = STATUS_OK;

	if (!rows_check(np, o, status_columns, &status) || (!*words && (status = provision_go_choose(np, &only))))
		return status;
	status = provision_init(&p, np, o);
	p.known = true;
	status = status ? status : provision_take_cluster(&p, only ? only : *words);
	if (!status)
		provision_warn_broken(&p);
	p.mute = true;
	status = status ? status : provision_open(&p, NULL);
	if (!status) {
		status = rollout_plan(p.e, &changes);
		status = provision_fatal(status) ? status : provision_worse(status, rollout_verify(p.e));
		display_quiet(p.d);
		np->format = format;
		if (!provision_fatal(status) || status == STATUS_CHECK) {
			r = rows_new(np, o, status_columns, &status);
			for (size_t i = 0; r && i < p.c->count; i++)
				provision_go_put_status(r, &p, i);
			status = r ? provision_worse(rows_end(r), status) : status;
		}
	}
	np->format = format;
	provision_release(&p);
	free(only);
	return status;
}
