/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/via/via.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/terminal.h"
#include "cli/nodes/node.h"
#include "cli/via/viaframe.h"
#include "cli/via/viagate.h"

/* A gateway that vanishes would else hold all its hosts until TCP gives up. */
enum { KEEPALIVE_MS = 15000, WINDOW = 128, AGENT_UNREAD = 16 << 20 };

static void via_need(int rc)
{
	if (rc)
		command_nomem();
}

/* ---- Hosts ------------------------------------------------------------------------------ */

static void via_lose(struct via *v, uint32_t i)
{
	v->targets[i].place = VIA_LOST;
	v->lost[v->lost_count++] = i;
}

static struct viagate *via_least(struct via *v)
{
	struct viagate *best = NULL;

	for (size_t i = 0; i < v->gate_count; i++) {
		struct viagate *g = &v->gates[i];

		if (g->state > VIAGATE_READY)
			continue;
		if (!best || g->queue_count - g->queue_at + g->left < best->queue_count - best->queue_at + best->left)
			best = g;
	}
	return best;
}

/* The gateway is gone: its hosts that it never got go to the others. */
static void via_bereave(struct via *v, struct viagate *g)
{
	size_t moved = g->queue_count - g->queue_at, unknown = 0;
	struct viagate *to = NULL;

	for (uint32_t i = 0; g->left && i < v->fanout->count; i++) {
		struct via_target *t = &v->targets[i];

		if (t->gate != g->index || (t->place != VIA_SENT && t->place != VIA_RUNS))
			continue;
		via_lose(v, i);
		v->out--;
		unknown++;
	}
	for (; g->queue_at < g->queue_count; g->queue_at++) {
		uint32_t i = g->queue[g->queue_at];

		to = v->cancelled ? NULL : via_least(v);
		if (to)
			viagate_queue(to, i);
		else
			via_lose(v, i);
	}
	g->ahead = g->left = 0;
	v->stirred = true;
	if (v->cancelled || (!v->left && !unknown))
		return;
	fanout_quiet(v->fanout);
	if (unknown)
		print_warn(v->np, "gateway '%s' died: %s; what became of %zu hosts is unknown", pssh_host_name(g->host),
			g->why, unknown);
	else if (to)
		print_warn(v->np, "cannot use gateway '%s': %s; the others take its %zu hosts", pssh_host_name(g->host),
			g->why, moved);
	else
		print_warn(v->np, "cannot use gateway '%s': %s", pssh_host_name(g->host), g->why);
}

static void via_add_host(struct via *v, struct viagate *g, uint32_t i)
{
	const struct outcome *o = &v->fanout->hosts[i];
	const struct node *n = nodes_of_host(v->np->nodes, o->name);
	const char *words[VIA_WORDS];
	size_t count = 5;
	char *lines = NULL, port[16];

	if (pssh_host_known(o->host, &lines) != 0)
		lines = NULL;
	snprintf(port, sizeof port, "%u", pssh_host_port(o->host));
	words[0] = o->name;
	words[1] = pssh_host_address(o->host);
	words[2] = port;
	words[3] = pssh_host_user(o->host);
	words[4] = lines ? lines : "";
	if (o->accepted)
		words[count++] = o->fingerprint;
	for (size_t k = 0; n && k < n->key_count && count < VIA_WORDS; k++)
		words[count++] = n->keys[k];
	via_need(viaframe_add_words(&g->out, VIA_HOST, i, words, count));
	free(lines);
}

/* The next host for this gateway as a frame. */
static void via_hand_out(struct via *v, struct viagate *g)
{
	uint32_t i;

	i = g->queue[g->queue_at++];
	v->targets[i] = (struct via_target){ .gate = g->index, .place = VIA_SENT };
	v->out++;
	g->ahead++;
	g->left++;
	via_add_host(v, g, i);
}

/* ---- Events ----------------------------------------------------------------------------- */

static void via_event(struct via *v, uint32_t i, enum pssh_event_type type)
{
	v->made = (struct pssh_event){
		.type = type,
		.task = v->fanout->task,
		.host = v->fanout->hosts[i].host,
		.data = "",
		.text = "",
	};
}

static void via_over(struct via *v, uint32_t i)
{
	struct via_target *t = &v->targets[i];
	struct viagate *g = &v->gates[t->gate];

	g->ahead -= t->place == VIA_SENT;
	g->left--;
	t->place = VIA_OVER;
	v->out--;
	v->left--;
	v->stirred = true;
}

/* A key that the gateway accepted in our place is known from now on. */
static void via_remember(struct via *v, struct outcome *o, const char *key)
{
	const struct settings *s = v->np->settings;
	bool accepts = strcmp(settings_text(s, SETTING_ID_HOST_KEY), "accept-new") == 0;

	if (*key && (accepts || o->accepted) && pssh_host_remember(o->host, key) != 0)
		print_warn(v->np, "%s", pssh_error(v->fanout->connect->fleet));
}

static void via_copy(char **where, const char *text)
{
	char *copy = *text ? strdup(text) : NULL;

	if (*text && !copy)
		command_nomem();
	free(*where);
	*where = copy;
}

/* The gateway does not know which of our files has the other key. */
static void via_say_changed(struct via *v, const struct viagate *g, const struct outcome *o)
{
	if (v->made.status != PSSH_EHOSTKEY)
		return;
	buf_clear(&v->text);
	via_need(buf_addf(&v->text,
		"gateway '%s' sees the host key %s of '%s', but another one is known here: this is another machine, or "
		"somebody is in between",
		pssh_host_name(g->host), outcome_fingerprint(o), o->name));
	v->made.text = buf_text(&v->text);
}

/* The event of a frame. False: the gateway says what cannot be true. */
static bool via_take(struct via *v, struct viagate *g, const struct via_frame *f)
{
	static const struct {
		enum via_type is;
		enum pssh_event_type becomes;
	} rows[] = {
		{ VIA_BEGUN, PSSH_EV_STARTED },
		{ VIA_STDOUT, PSSH_EV_STDOUT },
		{ VIA_STDERR, PSSH_EV_STDERR },
		{ VIA_EXIT, PSSH_EV_EXIT },
		{ VIA_SIGNAL, PSSH_EV_SIGNAL },
		{ VIA_ERROR, PSSH_EV_ERROR },
	};
	struct via_target *t;
	struct via_result r;
	struct outcome *o;
	size_t row = 0;

	if (f->id >= v->fanout->count || viaframe_result(f, &r) != 0)
		return false;
	t = &v->targets[f->id];
	o = &v->fanout->hosts[f->id];
	if (t->gate != g->index || (t->place != VIA_SENT && t->place != VIA_RUNS) ||
		(t->place == VIA_SENT) != (f->type == VIA_BEGUN || (f->type == VIA_ERROR && t->place == VIA_SENT)))
		return false;
	while (rows[row].is != f->type)
		row++;
	via_event(v, f->id, rows[row].becomes);
	v->made.status = r.status;
	v->made.cancelled = r.cancelled;
	v->made.dropped = r.dropped;
	v->made.data = r.data;
	v->made.len = r.len;
	v->made.text = r.text;
	if (f->type == VIA_BEGUN) {
		t->place = VIA_RUNS;
		g->ahead--;
		v->stirred = true;
		via_remember(v, o, r.text);
	} else if (f->type == VIA_ERROR) {
		via_copy(&o->address, r.address);
		via_copy(&o->fingerprint, r.fingerprint);
		via_say_changed(v, g, o);
	}
	if (f->type == VIA_EXIT || f->type == VIA_SIGNAL || f->type == VIA_ERROR)
		via_over(v, f->id);
	return true;
}

/* The end of a host that no gateway told. */
static void via_tell_lost(struct via *v, uint32_t i)
{
	struct via_target *t = &v->targets[i];

	via_event(v, i, PSSH_EV_ERROR);
	t->place = VIA_OVER;
	v->left--;
	buf_clear(&v->text);
	if (v->cancelled) {
		v->made.status = PSSH_ECANCEL;
		v->made.cancelled = 1;
		via_need(buf_adds(&v->text, t->gate == v->gate_count ? "cancelled before it began" : "cancelled"));
	} else if (t->gate == v->gate_count) {
		v->made.status = PSSH_EPROXY;
		via_need(buf_adds(&v->text, "no gateway can be used"));
	} else {
		v->made.status = PSSH_ECLOSED;
		via_need(buf_addf(&v->text, "unknown: gateway '%s' died", pssh_host_name(v->gates[t->gate].host)));
	}
	v->made.text = buf_text(&v->text);
}

/* The gateway whose next host comes first in the list; NULL: none takes one now. */
static struct viagate *via_next_gate(struct via *v)
{
	struct viagate *best = NULL;

	if (v->cancelled || (v->limit && v->out >= v->limit))
		return NULL;
	for (size_t i = 0; i < v->gate_count; i++) {
		struct viagate *g = &v->gates[i];

		if (viagate_takes(g) && (!best || g->queue[g->queue_at] < best->queue[best->queue_at]))
			best = g;
	}
	return best;
}

static void via_push(struct via *v)
{
	struct viagate *next;
	bool stirred = v->stirred;

	for (size_t i = 0; i < v->gate_count; i++)
		stirred |= v->gates[i].stirred;
	if (!stirred)
		return;
	v->stirred = false;
	while ((next = via_next_gate(v)) != NULL)
		via_hand_out(v, next);
	for (size_t i = 0; i < v->gate_count; i++) {
		v->gates[i].stirred = false;
		viagate_push(&v->gates[i]);
	}
}

static void via_mourn(struct via *v)
{
	for (size_t i = 0; i < v->gate_count; i++) {
		if (v->gates[i].state != VIAGATE_GONE || v->gates[i].mourned)
			continue;
		v->gates[i].mourned = true;
		via_bereave(v, &v->gates[i]);
	}
}

static bool via_ended(struct via *v)
{
	bool gone = true;

	if (v->left)
		return false;
	for (size_t i = 0; i < v->gate_count; i++) {
		viagate_finish(&v->gates[i]);
		gone &= v->gates[i].state == VIAGATE_GONE;
	}
	return gone;
}

/* What agents answered goes to the gateways. */
static void via_agents(struct via *v)
{
	for (size_t i = 0; v->agent && i < v->gate_count; i++) {
		struct viagate *g = &v->gates[i];
		size_t before = g->out.len;

		if (g->state != VIAGATE_READY)
			continue;
		via_need(viaagent_step(&g->agent, &g->out));
		g->stirred |= g->out.len > before;
		if (g->out.len > v->job.len + AGENT_UNREAD)
			viagate_break(g, "it asks the agent and does not read the answers");
	}
}

/* True where the frame is about the agent and well. Once its hosts have ended nothing is asked any more. */
static bool via_asks_agent(struct via *v, struct viagate *g, const struct via_frame *f)
{
	if (!v->agent || (f->type != VIA_AGENT_OPEN && f->type != VIA_AGENT_DATA && f->type != VIA_AGENT_CLOSE))
		return false;
	if (g->state != VIAGATE_READY)
		return true;
	if (viaagent_ask(&g->agent, f, &g->out) != 0)
		return false;
	for (int i = 0; f->type == VIA_AGENT_OPEN && i < VIAAGENT_CONNS; i++) {
		struct epoll_event ev = { .events = EPOLLIN };

		if (g->agent.fds[i] >= 0)
			epoll_ctl(v->watch, EPOLL_CTL_ADD, g->agent.fds[i], &ev); /* or it is there already */
	}
	g->stirred = true;
	return true;
}

static int via_pull(void *arg, const struct pssh_event **out)
{
	struct via *v = arg;
	const struct pssh_event *ev;
	struct via_frame f;
	int rc;

	for (;;) {
		*out = &v->made;
		via_agents(v);
		while (v->reading && viagate_frame(v->reading, &f) == 1) {
			if (via_asks_agent(v, v->reading, &f)) {
				/* An event for nobody: a gateway that asks without pause must not hide Ctrl-C. */
				v->made = (struct pssh_event){ .type = PSSH_EV_WRITABLE, .data = "", .text = "" };
				return 1;
			}
			if (via_take(v, v->reading, &f))
				return 1;
			viagate_break(v->reading, "what it says of its hosts cannot be true");
		}
		v->reading = NULL;
		via_mourn(v);
		if (v->lost_at < v->lost_count) {
			via_tell_lost(v, v->lost[v->lost_at++]);
			return 1;
		}
		v->lost_at = v->lost_count = 0;
		if (via_ended(v) && !v->done) {
			v->done = true;
			v->made = (struct pssh_event){ .type = PSSH_EV_DONE, .data = "", .text = "" };
			return 1;
		}
		via_push(v);
		rc = pssh_next(v->fanout->connect->fleet, &ev);
		if (rc != 1)
			return rc;
		if (ev->type == PSSH_EV_PROMPT) {
			v->made = *ev;
			v->made.task = v->fanout->task;
			return 1;
		}
		if (ev->task && pssh_task_data(ev->task) && viagate_event(pssh_task_data(ev->task), ev))
			v->reading = pssh_task_data(ev->task);
	}
}

/* ---- Start and end ---------------------------------------------------------------------- */

static int via_start(void *arg)
{
	struct via *v = arg;
	struct buf command;
	size_t next = 0;
	int rc = 0;

	buf_init(&command, 1 << 16);
	via_need(viabinary_command(&v->binary, &command));
	v->left = v->out = v->lost_at = v->lost_count = 0;
	v->done = false;
	for (size_t i = 0; v->agent && i < v->gate_count; i++) {
		viaagent_release(&v->gates[i].agent);
		viaagent_init(&v->gates[i].agent);
		snprintf(v->gates[i].agent.path, sizeof v->gates[i].agent.path, "%s", v->agent);
	}
	for (size_t i = 0; !rc && i < v->gate_count; i++)
		rc = viagate_start(&v->gates[i], command.data);
	for (uint32_t i = 0; !rc && i < v->fanout->count; i++) {
		v->targets[i] = (struct via_target){ .gate = (uint32_t)v->gate_count, .place = VIA_OVER };
		if (outcome_ended(&v->fanout->hosts[i]))
			continue;
		v->targets[i].place = VIA_WAITING;
		viagate_queue(&v->gates[next++ % v->gate_count], i);
		v->left++;
	}
	buf_release(&command);
	if (rc == PSSH_ENOMEM)
		command_nomem();
	return rc ? print_fail(v->np, STATUS_FAILURE, NULL, "%s", pssh_error(v->fanout->connect->fleet)) : STATUS_OK;
}

/* signal NULL: at once. */
static void via_cancel(void *arg, const char *signal, unsigned grace_ms)
{
	struct via *v = arg;
	const char *words[2] = { signal };
	char grace[16];

	snprintf(grace, sizeof grace, "%u", grace_ms);
	words[1] = grace;
	v->cancelled = v->stirred = true;
	for (size_t i = 0; i < v->gate_count; i++) {
		struct viagate *g = &v->gates[i];

		for (; g->queue_at < g->queue_count; g->queue_at++)
			via_lose(v, g->queue[g->queue_at]);
		if (!signal || g->state == VIAGATE_STARTING)
			viagate_break(g, "cancelled");
		else if (g->state == VIAGATE_READY)
			via_need(viaframe_add_words(&g->out, VIA_CANCEL, 0, words, 2));
	}
}

static const struct fanout_source via_source = { .start = via_start, .pull = via_pull, .cancel = via_cancel };

/* ---- The job ---------------------------------------------------------------------------- */

static void via_setting(struct via *v, const char *key, const char *value)
{
	const char *words[] = { key, value };

	via_need(viaframe_add_words(&v->job, VIA_SETTING, 0, words, 2));
}

static void via_make_job(struct via *v, const struct via_job *job)
{
	static const enum setting same[] = { SETTING_ID_TIMEOUT, SETTING_ID_CONNECT_TIMEOUT, SETTING_ID_RETRY };
	const struct settings *s = v->np->settings;
	const char *term = getenv("TERM");
	unsigned columns = 80, rows = 24;
	char text[128];

	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		if (settings_given(s, same[i]))
			via_setting(v, settings_row(same[i])->key, settings_text(s, same[i]));
	via_setting(v, "host-key",
		strcmp(settings_text(s, SETTING_ID_HOST_KEY), "accept-new") == 0 ? "accept-new" : "strict");
	via_setting(v, "output", job->chunks ? "chunks" : "lines");
	if (job->tty) {
		terminal_size(STDOUT_FILENO, &columns, &rows);
		snprintf(text, sizeof text, "%.60s %u %u", term && *term ? term : "dumb", columns, rows);
		via_setting(v, "pty", text);
	}
	via_need(viaframe_add_words(&v->job, VIA_COMMAND, 0, &job->command, 1));
	for (size_t at = 0; job->has_script && at < job->script_len;) {
		size_t left = job->script_len - at, n = left < VIA_FRAME_MAX ? left : VIA_FRAME_MAX;

		via_need(viaframe_add(&v->job, VIA_INPUT, 0, job->script + at, n));
		at += n;
	}
}

static int via_forward(struct via *v)
{
	const char *path = settings_text(v->np->settings, SETTING_ID_AGENT);

	if (settings_none(v->np->settings, SETTING_ID_AGENT))
		path = NULL;
	else if (!path || !*path)
		path = getenv("SSH_AUTH_SOCK");
	if (!path || !*path)
		return print_fail_field(v->np, STATUS_USAGE, "--forward-agent", "start one: eval $(ssh-agent); ssh-add",
			"no ssh-agent is known here");
	v->agent = strdup(path);
	v->watch = epoll_create1(EPOLL_CLOEXEC);
	if (!v->agent || v->watch < 0)
		command_nomem();
	v->fanout->watch_fd = v->watch;
	via_setting(v, "forward-agent", "yes");
	return STATUS_OK;
}

int via_init(struct via *v, struct fanout *f, const char *const *gateways, const struct via_job *job)
{
	bool chosen = settings_given(f->np->settings, SETTING_ID_FANOUT);
	struct fail fail = { 0 };
	size_t count = 0;
	int status = STATUS_OK;

	*v = (struct via){ .np = f->np, .fanout = f, .watch = -1 };
	buf_init(&v->job, (size_t)128 << 20);
	buf_init(&v->text, 4096);
	while (gateways[count])
		count++;
	v->gates = calloc(count, sizeof *v->gates);
	v->targets = calloc(f->count + 1, sizeof *v->targets);
	v->lost = calloc(f->count + 1, sizeof *v->lost);
	if (!v->gates || !v->targets || !v->lost)
		command_nomem();
	if (viabinary_load(&v->binary, &fail) != 0)
		status = print_fail_field(f->np, STATUS_FAILURE, "--via", NULL, "%s", fail.text);
	for (; !status && v->gate_count < count; v->gate_count++) {
		struct viagate *g = &v->gates[v->gate_count];

		g->index = (uint32_t)v->gate_count;
		g->fleet = f->connect->fleet;
		g->binary = &v->binary;
		g->job = &v->job;
		viaagent_init(&g->agent);
		status = connect_host(f->np, f->connect, gateways[v->gate_count], &g->host);
	}
	if (status)
		return status;
	v->limit = chosen ? (size_t)settings_int(f->np->settings, SETTING_ID_FANOUT) : 0;
	f->connect->loosened = true; /* what follows holds for this command alone */
	pssh_set_window(f->connect->fleet, WINDOW, 0);
	pssh_set_keepalive(f->connect->fleet, KEEPALIVE_MS);
	if (job->forward)
		status = via_forward(v);
	if (status)
		return status;
	via_make_job(v, job);
	f->source = &via_source;
	f->source_arg = v;
	return STATUS_OK;
}

void via_release(struct via *v)
{
	for (size_t i = 0; i < v->gate_count; i++)
		viagate_release(&v->gates[i]);
	if (v->agent)
		close(v->watch);
	free(v->agent);
	free(v->gates);
	free(v->targets);
	free(v->lost);
	viabinary_release(&v->binary);
	buf_release(&v->job);
	buf_release(&v->text);
}
