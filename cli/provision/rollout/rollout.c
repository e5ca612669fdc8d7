/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a rollout: connects to the nodes, reads their facts, and checks the gates. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/frame/print.h"
#include "cli/provision/rollout/rollout_part.h"
#include "cli/provision/rollout/sudoask.h"

enum { FACTS_MS = 60000, LIB_BYTES = 4 << 20 };

/* ---- Facts ---------------------------------------------------------------------------------- */

/* The node read its clock between our sending and our receiving. */
static void clock_heard(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct facts *f = &e->facts[t->member];
	int64_t sent = remote_started_us(t->job), now = remote_heard_us(t->job), there;

	if (ev->count != 2 || strcmp(ev->words[0], "clock") != 0 || sscanf(ev->words[1], "%" SCNd64, &there) != 1)
		return;
	f->skew_us = there / 1000 - (sent + (now - sent) / 2);
	f->skew_error_us = (now - sent) / 2;
}

static void facts_came(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	struct facts *f = &e->facts[t->member];
	int64_t skew = f->skew_us, error = f->skew_error_us;
	struct fail why = { 0 };

	if (!ev->ok)
		fail_set(&why, -EIO, "%s", t->cause ? t->cause : ev->text);
	else if (facts_parse(buf_text(t->gather), t->gather->len, f, &why) == 0)
		f->known = true;
	f->skew_us = skew;
	f->skew_error_us = error;
	if (!f->known) {
		free(f->why);
		f->why = strdup(why.text);
		if (!f->why)
			command_nomem();
	}
	rollout_say(e, &(struct note){ .kind = NOTE_NODE, .node = e->c->members[t->member], .ok = f->known,
		.text = f->known ? NULL : f->why });
	buf_release(t->gather);
	free(t->gather);
	t->gather = NULL;
	rollout_task_free(e, t);
}

static void rollout_not_reached(struct rollout *e, size_t m, const char *why)
{
	e->facts[m].why = strdup(why);
	if (!e->facts[m].why)
		command_nomem();
	rollout_say(e, &(struct note){ .kind = NOTE_NODE, .node = e->c->members[m], .text = why });
}

static void take_facts(struct rollout *e)
{
	for (size_t m = 0; m < e->c->count; m++) {
		struct rollout_task *t;
		const char *why;

		if (!remote_up(e->r, m, &why)) {
			rollout_not_reached(e, m, why);
			continue;
		}
		t = rollout_task_new(e, m, NULL, facts_came);
		t->record = clock_heard;
		t->log_left = 0;
		t->gather = malloc(sizeof *t->gather);
		if (!t->gather)
			command_nomem();
		buf_init(t->gather, FACTS_BYTES + 2);
		t->job = remote_first(e->r, m, t);
	}
	rollout_run(e);
}

/* Connects, with the script for facts as the first thing that each node runs. */
static int meet_nodes(struct rollout *e)
{
	struct buf b;
	int status;

	buf_init(&b, ENGINE_SCRIPT);
	rollout_script_facts(e, &b);
	status = remote_open(e->np, e->c->members, e->c->count, b.data, b.len, &e->r);
	buf_release(&b);
	return status;
}

/* ---- Root ----------------------------------------------------------------------------------- */

static void root_tried(struct rollout *e, struct rollout_task *t, const struct remote_event *ev)
{
	if (!ev->ok)
		rollout_lose(e, t->member, ev->text);
	rollout_task_free(e, t);
}

static void try_root(struct rollout *e, size_t m)
{
	struct rollout_task *t = rollout_task_new(e, m, NULL, root_tried);
	struct buf b;

	buf_init(&b, 64);
	if (buf_adds(&b, ":") != 0)
		command_nomem();
	rollout_task_run(e, t, &b, REMOTE_LOOK, FACTS_MS);
	buf_release(&b);
}

/* Asks for sudo's password. STATUS_INT after Ctrl-C. */
static int find_root(struct rollout *e)
{
	const char *password = e->o.sudo_password;
	char *asked = NULL;
	int status = STATUS_OK;

	for (size_t m = 0; m < e->c->count; m++) {
		const char *root = facts_get(&e->facts[m], "root");

		if (!e->facts[m].known || !rollout_in(e, m))
			continue;
		if (strcmp(root, "sudo") == 0)
			remote_set_root(e->r, m, REMOTE_SUDO, NULL);
		if (strcmp(root, "sudo-password") != 0)
			continue;
		if (!password && !asked && (status = sudoask(e->c->members[m], &asked)) == STATUS_OK)
			password = asked;
		if (status)
			break;
		if (!password) {
			rollout_lose(e, m,
				"sudo needs a password there, and there is no terminal to ask for it: "
				"set NANOPOD_SUDO_PASSWORD");
			continue;
		}
		remote_set_root(e->r, m, REMOTE_SUDO_PASSWORD, password);
		try_root(e, m);
	}
	rollout_run(e);
	sudoask_free(asked);
	return status ? status : rollout_stopped(e);
}

/* ---- Gates ---------------------------------------------------------------------------------- */

static void tell_finding(struct rollout *e, const struct finding *f)
{
	rollout_say(e,
		&(struct note){ .kind = NOTE_FINDING,
			.node = f->member == GATE_ALL ? NULL : e->c->members[f->member],
			.what = gate_name(f->gate),
			.text = f->text,
			.hint = f->hint,
			.ok = !f->stops });
}

/* What is undone needs only a node that can be reached and is this cluster's. */
static bool is_heeded(const struct rollout *e, enum gate g)
{
	return !e->o.undoes || g == GATE_REACH || g == GATE_ROOT || g == GATE_CLUSTER;
}

/* Reports the findings. True if one stops all nodes. */
static bool pass_gates(struct rollout *e)
{
	bool all = false;

	gate_look(e->c, e->facts, e->o.skip_gates, &e->findings);
	for (size_t i = 0; i < e->findings.count; i++) {
		const struct finding *f = &e->findings.at[i];

		if (!is_heeded(e, f->gate))
			continue;
		if (f->gate != GATE_REACH)
			tell_finding(e, f);
		if (!f->stops)
			continue;
		if (f->member == GATE_ALL)
			all = true;
		else
			rollout_lose(e, f->member, f->text);
	}
	for (size_t m = 0; m < e->c->count; m++)
		if (!e->facts[m].known)
			rollout_lose(e, m, e->facts[m].why ? e->facts[m].why : "it reported no facts");
	return all;
}

static int look_around(struct rollout *e)
{
	size_t left = 0, known = 0;
	bool all;
	int status;

	rollout_phase(e, ENGINE_FACTS, "facts");
	take_facts(e);
	if (e->stops)
		return rollout_stopped(e);
	all = pass_gates(e);
	if (!all && (status = find_root(e)) != STATUS_OK)
		return status;
	for (size_t m = 0; m < e->c->count; m++) {
		left += rollout_in(e, m);
		known += e->facts[m].known;
	}
	if (all)
		return print_fail(e->np, STATUS_CHECK, "'--skip-gate NAME' ignores a gate",
			"the nodes do not fit together; nothing was changed");
	if (!left && !known)
		return print_fail(e->np, STATUS_UNREACHABLE, NULL, "cannot reach any node");
	if (!left)
		return print_fail(e->np, STATUS_CHECK, "'--skip-gate NAME' ignores a gate that stops nodes",
			"no usable node is left");
	if (rollout_script_table(e, NULL, &e->table) != 0)
		return print_fail(e->np, STATUS_FAILURE, NULL, "the table of all nodes is too large");
	return STATUS_OK;
}

/* ---- Open and free -------------------------------------------------------------------------- */

static char *read_common(struct rollout *e, const char *name, int *status)
{
	char path[PATH_MAX];
	struct buf b;
	int rc;

	(void)stack_find(e->c->uses[0].stack->folders, name, path, sizeof path);
	buf_init(&b, LIB_BYTES);
	rc = buf_read_file(&b, path);
	if (rc)
		*status = print_fail(e->np, STATUS_FAILURE, NULL, "cannot read '%s': %s", path, strerror(-rc));
	return buf_steal(&b);
}

/* Makes the lock owner's name for others to read, and a token that nobody else can guess. */
static void name_owner(struct rollout *e)
{
	char host[64] = "";
	unsigned char bytes[16];

	gethostname(host, sizeof host - 1);
	snprintf(e->owner, sizeof e->owner, "%.32s@%.60s (nanopod %ld)", getenv("USER") ? getenv("USER") : "somebody",
		host, (long)getpid());
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		memset(bytes, 0, sizeof bytes);
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(e->token + 2 * i, 3, "%02x", bytes[i]);
}

int rollout_open(const struct rollout_options *o, struct cluster *c, struct runlog *j, struct rollout **out)
{
	struct rollout *e = calloc(1, sizeof *e);
	struct graph *g = NULL;
	struct fail f = { 0 };
	int status = STATUS_OK;

	if (!e)
		command_nomem();
	*e = (struct rollout){ .np = o->np, .o = *o, .c = c, .j = j };
	list_init(&e->tasks);
	list_init(&e->files);
	table_init(&e->shown);
	buf_init(&e->table, 16 << 20);
	name_owner(e);
	e->nodes = calloc(c->count + 1, sizeof *e->nodes);
	e->facts = calloc(c->count + 1, sizeof *e->facts);
	if (!e->nodes || !e->facts)
		command_nomem();
	if (graph_new(c, &g, &f) != 0)
		status = print_fail(o->np, STATUS_USAGE, NULL, "%s", f.text);
	e->lib = read_common(e, "common/lib.sh", &status);
	e->facts_script = read_common(e, "common/facts.sh", &status);
	if (!status)
		status = meet_nodes(e);
	if (!status)
		status = look_around(e);
	if (!status)
		rollout_old_find(e, g);
	graph_free(g);
	if (status) {
		rollout_free(e);
		return status;
	}
	*out = e;
	return STATUS_OK;
}

void rollout_free(struct rollout *e)
{
	if (!e)
		return;
	if (e->r)
		rollout_unlock(e);
	remote_close(e->r);
	while (!list_empty(&e->tasks)) {
		e->task_count++;
		rollout_task_free(e, list_entry(list_first(&e->tasks), struct rollout_task, link));
	}
	rollout_file_forget(e, NULL);
	graph_free(e->g);
	for (size_t m = 0; m < e->c->count; m++) {
		facts_release(&e->facts[m]);
		free(e->nodes[m].why);
	}
	rollout_old_free(e);
	gate_release(&e->findings);
	buf_release(&e->table);
	table_release(&e->shown);
	free(e->works);
	free(e->nodes);
	free(e->facts);
	free(e->lib);
	free(e->facts_script);
	free(e);
}

const struct facts *rollout_facts(const struct rollout *e)
{
	return e->facts;
}

size_t rollout_keeps_old(struct rollout *e)
{
	size_t count = rollout_old_count(e);

	e->old_count = 0;
	return count;
}

const struct findings *rollout_findings(const struct rollout *e)
{
	return &e->findings;
}
