/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for tasks: they check arguments and pass them on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pssh/entry.h"
#include "pssh/pssh.h"

enum {
	CEILING = 1 << 20,
	COPY_FLAGS = PSSH_COPY_RECURSIVE | PSSH_COPY_PRESERVE | PSSH_COPY_RESUME | PSSH_COPY_CHECKSUM |
		PSSH_COPY_SPARSE | PSSH_COPY_PER_HOST | PSSH_COPY_GLOB | PSSH_COPY_UPDATE,
};

int entry_task_new(struct pssh *p, enum task_kind kind, struct pssh_task **out)
{
	int rc = entry_here(p);
	struct pssh_task *t = rc ? NULL : calloc(1, sizeof *t);

	if (rc)
		return rc;
	if (!t)
		return entry_no_memory(p);
	t->fleet = p;
	t->kind = kind;
	t->fd = t->data_fd = -1;
	t->want.output = (struct output_rule){ .mode = PSSH_OUTPUT_LINES, .ceiling = CEILING };
	input_init(&t->input);
	list_init(&t->runs);
	list_append(&p->tasks, &t->in_tasks);
	*out = t;
	return 0;
}

int pssh_exec(struct pssh *p, const char *command, struct pssh_task **out)
{
	struct pssh_task *t;
	int rc = entry_task_new(p, TASK_EXEC, &t);

	if (rc)
		return rc;
	rc = entry_set_text(p, &t->command, command);
	if (rc) {
		task_free(t);
		return rc;
	}
	t->want.command = t->command;
	*out = t;
	return 0;
}

/* A task that has two texts: a copy's paths or a tunnel's ends. */
static int task_new_pair(struct pssh *p, enum task_kind kind, const char *local, const char *remote, unsigned flags,
	struct pssh_task **out)
{
	struct pssh_task *t;
	int rc;

	if (!local || !*local || !remote)
		return entry_refuse(p, "both ends are required");
	rc = entry_task_new(p, kind, &t);
	if (rc)
		return rc;
	t->flags = flags;
	rc = entry_set_text(p, &t->local, local);
	if (!rc)
		rc = entry_set_text(p, &t->remote, remote);
	if (!rc && kind == TASK_PUT && !copyrun_per_host(t))
		rc = copyrun_source(t, local, &t->source, &p->why);
	if (rc) {
		task_free(t);
		return rc;
	}
	*out = t;
	return 0;
}

/* A flag of a later version must not silently give a lesser copy. */
static int task_new_copy(struct pssh *p, enum task_kind kind, const char *local, const char *remote, unsigned flags,
	struct pssh_task **out)
{
	if (flags & ~(unsigned)COPY_FLAGS)
		return fail_set(&p->why, PSSH_EINVAL, "this version of libpssh (%s) does not know the copy flag 0x%x",
			PACKAGE_VERSION, flags & ~(unsigned)COPY_FLAGS);
	return task_new_pair(p, kind, local, remote, flags, out);
}

int pssh_put(struct pssh *p, const char *local, const char *remote, unsigned flags, struct pssh_task **out)
{
	return task_new_copy(p, TASK_PUT, local, remote, flags, out);
}

int pssh_get(struct pssh *p, const char *remote, const char *local, unsigned flags, struct pssh_task **out)
{
	return task_new_copy(p, TASK_GET, local, remote, flags, out);
}

int pssh_tunnel(struct pssh *p, const char *where, const char *target, struct pssh_task **out)
{
	return task_new_pair(p, TASK_TUNNEL, where, target, 0, out);
}

int pssh_channel(struct pssh *p, enum pssh_channel_kind kind, const char *target, int *fd, struct pssh_task **out)
{
	struct pssh_task *t;
	int pair[2], rc = channel_check(kind, target, &p->why);

	if (!rc)
		rc = entry_task_new(p, TASK_CHANNEL, &t);
	if (rc)
		return rc;
	t->channel = kind;
	rc = entry_set_text(p, &t->remote, target);
	if (!rc && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
		rc = fail_errno(&p->why, PSSH_ELOCAL, errno, "cannot make a pair of sockets");
	if (rc) {
		task_free(t);
		return rc;
	}
	t->fd = pair[0];
	*fd = pair[1];
	*out = t;
	return 0;
}

int pssh_tunnel_socks(struct pssh *p, const char *where, struct pssh_task **out)
{
	int rc = task_new_pair(p, TASK_TUNNEL, where, "", 0, out);

	if (!rc)
		(*out)->way = TUNNEL_SOCKS;
	return rc;
}

int pssh_tunnel_back(struct pssh *p, const char *where, const char *target, struct pssh_task **out)
{
	int rc = task_new_pair(p, TASK_TUNNEL, where, target, 0, out);

	if (!rc)
		(*out)->way = TUNNEL_BACK;
	return rc;
}

unsigned pssh_tunnel_port(const struct pssh_task *t)
{
	return t->port;
}

int pssh_task_add(struct pssh_task *t, struct pssh_host *h)
{
	struct run *r;
	int rc = entry_here(t->fleet);

	if (rc)
		return rc;
	if (h->fleet != t->fleet)
		return entry_refuse(t->fleet, "the host belongs to another fleet");
	if (task_find_run(t, h, &r) == 0)
		return fail_set(&t->fleet->why, PSSH_EINVAL, "'%s' is in this task already", h->spec);
	if (t->cancelled)
		return entry_refuse(t->fleet, "the task was cancelled; make another one for this host");
	if (t->input.base)
		return entry_refuse(t->fleet,
			"the task's first input is gone; a host added now would miss it");
	if ((t->kind == TASK_TUNNEL && !list_empty(&t->runs)) ||
		(t->kind == TASK_CHANNEL && (t->fd < 0 || !list_empty(&t->runs))))
		return entry_refuse(t->fleet, "a tunnel or a channel goes through one host only");
	rc = copyrun_joins(t, h, &t->fleet->why);
	if (rc)
		return rc;
	r = run_new(t, h);
	if (!r)
		return entry_no_memory(t->fleet);
	rc = copyrun_begin(r, &t->fleet->why);
	if (rc) {
		run_free(r);
		return rc;
	}
	if (t->started) {
		if (!h->conn && !h->waiting && !h->timer.at)
			h->attempt = 0;
		fleet_need(h);
	}
	return 0;
}

int pssh_task_start(struct pssh_task *t)
{
	struct list *pos, *tmp;
	int rc = entry_here(t->fleet);

	if (rc)
		return rc;
	if (t->started)
		return entry_refuse(t->fleet, "the task has already started");
	rc = copyrun_apart(t, &t->fleet->why);
	if (rc)
		return rc;
	t->started = true;
	list_each (pos, tmp, &t->runs) {
		struct pssh_host *h = list_entry(pos, struct run, in_task)->host;

		h->attempt = h->conn ? h->attempt : 0;
		fleet_need(h);
	}
	fleet_check_done(t);
	return 0;
}

void pssh_task_free(struct pssh_task *t)
{
	struct pssh *p;
	struct list *pos, *tmp;

	if (!t)
		return;
	p = t->fleet;
	fleet_forked(p);
	events_forget(&p->events, t);
	list_each (pos, tmp, &t->runs)
		host_poke(list_entry(pos, struct run, in_task)->host);
	task_free(t);
}

/* For the options of a command, which no other kind of task has. */
static int set_on_command(struct pssh_task *t)
{
	if (t->kind != TASK_EXEC)
		return entry_refuse(t->fleet,
			"only a command has output modes, variables, a terminal, an agent and input; "
			"this task is a copy or a tunnel");
	return t->started ? entry_refuse(t->fleet, "set this before the task starts") : 0;
}

int pssh_task_set_output(struct pssh_task *t, enum pssh_output mode, size_t ceiling, enum pssh_overflow policy)
{
	int rc = set_on_command(t);

	if (rc)
		return rc;
	if ((unsigned)mode > PSSH_OUTPUT_GATHER || (unsigned)policy > PSSH_OVERFLOW_SPILL)
		return entry_refuse(t->fleet, "unknown output mode or policy");
	t->want.output = (struct output_rule){ .mode = mode, .ceiling = ceiling ? ceiling : CEILING, .policy = policy };
	return 0;
}

int pssh_task_set_env(struct pssh_task *t, const char *name, const char *value)
{
	int rc = set_on_command(t);

	if (rc)
		return rc;
	rc = entry_add_variable(t->fleet, &t->env, &t->env_count, name, value);
	t->want.env = t->env;
	return rc;
}

int pssh_task_set_pty(struct pssh_task *t, const char *term, unsigned columns, unsigned rows)
{
	int rc = set_on_command(t);

	if (!rc)
		rc = entry_set_text(t->fleet, &t->term, term ? term : "dumb");
	if (rc)
		return rc;
	t->want.term = t->term;
	t->want.columns = columns ? columns : 80;
	t->want.rows = rows ? rows : 24;
	return 0;
}

int pssh_task_resize(struct pssh_task *t, struct pssh_host *h, unsigned columns, unsigned rows)
{
	struct run *r;
	int rc = entry_here(t->fleet);

	if (rc)
		return rc;
	if (task_find_run(t, h, &r) != 0 || !r->exec)
		return fail_set(&t->fleet->why, PSSH_ENOENT, "nothing runs on '%s' in this task", h->spec);
	exec_resize(r->exec, columns, rows);
	host_poke(h);
	return 0;
}

int pssh_task_set_streams(struct pssh_task *t, unsigned n)
{
	if (t->kind != TASK_PUT && t->kind != TASK_GET)
		return entry_refuse(t->fleet, "only copies have streams");
	if (n < 1 || n > PSSH_STREAMS)
		return entry_refuse(t->fleet, "a copy has 1 to 8 streams");
	t->streams = n;
	return 0;
}

int pssh_task_set_deadline(struct pssh_task *t, unsigned ms)
{
	t->deadline = ms;
	t->deadline_set = true;
	return 0;
}

int pssh_task_set_agent_forward(struct pssh_task *t, int how)
{
	int rc = set_on_command(t);

	if (rc)
		return rc;
	if (how < PSSH_FORWARD_NO || how > PSSH_FORWARD_CONFIGURED)
		return entry_refuse(t->fleet, "unknown way to forward the agent");
	/* libssh2 1.10 can ask for it but does not pass on the channels that the server then opens; 1.11 does. */
	if (how == PSSH_FORWARD_YES && !chan_can_forward())
		return fail_set(&t->fleet->why, PSSH_EUNSUPPORTED, "libpssh does not forward agents");
	t->forward = (enum pssh_agent_forward)how;
	return 0;
}

void pssh_task_set_data(struct pssh_task *t, void *data)
{
	t->data = data;
}

void *pssh_task_data(const struct pssh_task *t)
{
	return t->data;
}

size_t pssh_task_left(const struct pssh_task *t)
{
	return t->left;
}

/* ---- Input ---- */

int pssh_task_open_input(struct pssh_task *t)
{
	int rc = set_on_command(t);

	if (rc)
		return rc;
	t->input.open = true;
	return 0;
}

static void poke_all(struct pssh_task *t)
{
	struct list *pos, *tmp;

	list_each (pos, tmp, &t->runs) {
		struct run *r = list_entry(pos, struct run, in_task);

		if (r->state != RUN_WAITING)
			host_poke(r->host);
	}
}

/* The input to write to: the common one, or the host's own, which begins where the common one is now. */
static int find_input(struct pssh_task *t, struct pssh_host *h, struct input **out)
{
	struct run *r;
	int rc = entry_here(t->fleet);

	if (rc)
		return rc;
	if (!t->input.open)
		return entry_refuse(t->fleet, "the input was not opened");
	*out = &t->input;
	if (!h)
		return 0;
	if (task_find_run(t, h, &r) != 0)
		return fail_set(&t->fleet->why, PSSH_ENOENT, "nothing runs on '%s' in this task", h->spec);
	if (!r->own_input) {
		if (input_end(&t->input))
			return entry_refuse(t->fleet, "all hosts share the input already; one host cannot get its own");
		r->own_input = malloc(sizeof *r->own_input);
		if (!r->own_input)
			return entry_no_memory(t->fleet);
		input_init(r->own_input);
		r->own_input->open = true;
		if (r->exec)
			r->exec->input = r->own_input;
	}
	if (r->exec)
		input_forget(r->own_input, r->exec->taken);
	*out = r->own_input;
	return 0;
}

int pssh_task_write(struct pssh_task *t, struct pssh_host *h, const void *data, size_t len)
{
	struct input *in;
	int rc = find_input(t, h, &in);

	if (rc)
		return rc;
	if (in->ended)
		return entry_refuse(t->fleet, "the input has already ended");
	if (!h)
		task_trim_input(t);
	if (in->data.len && in->data.len + len > INPUT_CEILING) {
		in->full = true;
		return fail_set(&t->fleet->why, PSSH_EAGAIN, "the hosts have not taken the earlier input yet");
	}
	if (len > in->data.max) /* an empty input takes one piece of any size */
		in->data.max = len;
	if (buf_add(&in->data, data, len) != 0)
		return entry_no_memory(t->fleet);
	if (h)
		host_poke(h);
	else
		poke_all(t);
	return 0;
}

int pssh_task_end_input(struct pssh_task *t, struct pssh_host *h)
{
	struct input *in;
	int rc = find_input(t, h, &in);

	if (rc)
		return rc;
	in->ended = true;
	if (h)
		host_poke(h);
	else
		poke_all(t);
	return 0;
}

/* ---- Ends ---- */

int entry_check_signal(struct pssh *p, const char *s)
{
	static const char *const names[] = {
		"ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2",
	};

	for (size_t i = 0; s && i < sizeof names / sizeof *names; i++)
		if (strcmp(s, names[i]) == 0)
			return 0;
	return fail_set(&p->why, PSSH_EINVAL, "'%s' is not a signal that SSH knows", s ? s : "");
}

int pssh_task_cancel(struct pssh_task *t, const char *signal, unsigned grace_ms)
{
	struct list *pos, *tmp;
	int rc = entry_here(t->fleet);

	rc = rc ? rc : entry_check_signal(t->fleet, signal);
	if (rc)
		return rc;
	t->cancelled = true;
	list_each (pos, tmp, &t->runs)
		fleet_cancel_run(list_entry(pos, struct run, in_task), signal, grace_ms);
	return 0;
}

int pssh_task_stop(struct pssh_task *t)
{
	struct list *pos, *tmp;
	int rc = entry_here(t->fleet);

	if (rc)
		return rc;
	t->cancelled = true;
	list_each (pos, tmp, &t->runs)
		fleet_end_run(list_entry(pos, struct run, in_task), PSSH_EV_ERROR, PSSH_ECANCEL, "stopped");
	return 0;
}
