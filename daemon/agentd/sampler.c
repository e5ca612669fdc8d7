/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/device/host_gpus.h"
#include "agentd/machine/gauges.h"
#include "agentd/machine/inventory.h"
#include "agentd/os/cgroup.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"

enum { SAMPLER_DEADLINE_MS = 20000, SAMPLER_TEXT = 512 * 1024 };

/* ---- In the child ------------------------------------------------------------------------------ */

static bool sampler_has_gpus(const struct sampler *s)
{
	json_t *j = s->check->inventory ? json_loads(s->check->inventory, 0, NULL) : NULL;
	bool has = json_array_size(json_object_get(j, "gpus")) > 0;

	json_decref(j);
	return has;
}

static void sampler_read_gpus(const struct sampler *s, struct gauges *g)
{
	const char *data = s->workers->setup->data;
	struct inventory *v = NULL;
	int turn = -1;

	if (!sampler_has_gpus(s) || gpu_turn_look(data, 0, &turn, NULL)) /* one is reset just now: the next time */
		return;
	if (inventory_read(&(struct inventory_setup){ .root = s->sysfs_root }, &v) == 0)
		for (size_t i = 0; i < v->gpu_count && g->gpu_count < GAUGES_GPUS; i++)
			if (!v->gpus[i].integrated)
				gauges_take_gpu(&v->gpus[i], &g->gpus[g->gpu_count++]);
	free(v);
	if (turn >= 0)
		close(turn);
}

/* Which of the machine's GPUs the node has; with the driver that gives the machine itself, all. */
static void sampler_find_gpus(const struct sampler *s, const json_t *list, const struct gauges *g,
	struct gauges_node *n)
{
	bool all = s->workers->driver->devices == DEVICES_MACHINE;
	const json_t *row;
	size_t i;

	for (unsigned k = 0; all && k < g->gpu_count && k < GAUGES_NODE_GPUS; k++)
		n->gpus[n->gpu_count++] = k;

	json_array_foreach(list, i, row)
	{
		const char *node = json_string_value(json_object_get(row, "node")),
			   *address = json_string_value(json_object_get(row, "address"));

		for (unsigned k = 0; node && address && strcmp(node, n->id) == 0 && k < g->gpu_count; k++)
			if (strcmp(g->gpus[k].address, address) == 0 && n->gpu_count < GAUGES_NODE_GPUS)
				n->gpus[n->gpu_count++] = k;
	}
}

static bool sampler_own_network(long pid)
{
	char path[64], ours[64] = "", theirs[64] = "";

	snprintf(path, sizeof path, "/proc/%ld/ns/net", pid);
	return readlink("/proc/self/ns/net", ours, sizeof ours - 1) > 0 &&
		readlink(path, theirs, sizeof theirs - 1) > 0 && strcmp(ours, theirs) != 0;
}

static void sampler_read_node(const struct sampler *s, const struct node *n, struct gauges_node *out)
{
	const struct node_spec spec = { .setup = s->workers->setup, .id = n->id };
	struct cgroup_use use;
	pid_t pid;

	*out = (struct gauges_node){ .network_in = GAUGE_UNKNOWN, .network_out = GAUGE_UNKNOWN };
	snprintf(out->id, sizeof out->id, "%s", n->id);
	cgroup_use(&spec, &use);
	out->cpu_us = use.cpu_us;
	out->memory = use.memory;
	out->processes = use.processes;
	if (cgroup_pids(&spec, CGROUP_NODE, &pid, 1) && sampler_own_network(pid))
		gauges_read_network(NULL, pid, &out->network_in, &out->network_out);
}

static void sampler_read_nodes(const struct sampler *s, struct gauges *g)
{
	const struct roster *r = s->workers->roster;
	json_t *list = g->gpu_count ? host_gpus_json(s->workers->setup->data, NULL) : NULL;

	for (size_t i = 0; i < r->count && g->node_count < GAUGES_NODES; i++) {
		if (r->nodes[i]->life != LIFE_RUNNING)
			continue;
		sampler_read_node(s, r->nodes[i], &g->nodes[g->node_count]);
		sampler_find_gpus(s, list, g, &g->nodes[g->node_count++]);
	}
	json_decref(list);
}

/* Of gauges with so many nodes. */
static size_t sampler_size(size_t nodes)
{
	return offsetof(struct gauges, nodes) + nodes * sizeof(struct gauges_node);
}

/* Says the gauges as they are in memory, for the next rates, and after them the sample as JSON. */
static int sampler_work(void *arg, struct buf *out, struct fail *f)
{
	const struct sampler *s = arg;
	struct gauges *g = calloc(1, sizeof *g);
	struct timespec ts;
	json_t *j = NULL;
	char *text = NULL;
	int rc;

	if (!g)
		return fail_set(f, -ENOMEM, "out of memory");
	gauges_read_machine(s->sysfs_root, s->workers->setup->data, &g->machine);
	sampler_read_gpus(s, g);
	sampler_read_nodes(s, g);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	g->at_us = (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
	j = gauges_json(g, s->before);
	if (j && json_object_set_new(j, "at", json_integer(s->at)) == 0)
		text = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(5));
	rc = text ? buf_add(out, g, sampler_size(g->node_count)) : fail_set(f, -ENOMEM, "out of memory");
	rc = rc ? rc : buf_adds(out, text);
	free(text);
	json_decref(j);
	free(g);
	return rc;
}

/* ---- Here ---------------------------------------------------------------------------------------- */

static void sampler_drop(struct sampler *s, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(s->kept[i]);
	s->count -= count;
	memmove(s->kept, s->kept + count, s->count * sizeof *s->kept);
}

static void sampler_keep(struct sampler *s, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return;
	if (s->count == SAMPLER_KEPT) {
		sampler_drop(s, 1);
		s->sent -= s->sent > 0;
	}
	s->kept[s->count++] = copy;
}

/* The child is this program's, so the gauges come back as they are in memory. */
static void sampler_take_said(struct sampler *s, const char *said, size_t len)
{
	size_t nodes, size;
	struct gauges *now;

	if (len < sampler_size(0))
		return;
	memcpy(&nodes, said + offsetof(struct gauges, node_count), sizeof nodes);
	size = nodes <= GAUGES_NODES ? sampler_size(nodes) : SIZE_MAX;
	now = len > size ? malloc(size) : NULL;
	if (!now)
		return;
	memcpy(now, said, size);
	free(s->before);
	s->before = now;
	if (!s->refused)
		sampler_keep(s, said + size, len - size);
}

static void sampler_collect(struct sampler *s)
{
	if (!s->job.rc)
		sampler_take_said(s, s->job.said.data, s->job.said.len);
	job_release(&s->job, s->workers->loop);
}

int64_t sampler_turn(struct sampler *s)
{
	struct fail f;

	if (s->job.pid && job_ended(&s->job, s->workers->loop))
		sampler_collect(s);
	if (!s->job.pid && s->due_ms <= clock_ms()) {
		s->at = wallclock_now(s->workers->clock);
		s->due_ms = clock_ms() + SAMPLER_STEP * 1000;
		if (job_begin(&s->job, s->workers->loop, s->watch_kind, SAMPLER_DEADLINE_MS, sampler_work, s, &f) != 0)
			s->job.pid = 0;
	}
	return s->job.pid ? s->job.due_ms : s->due_ms;
}

char *sampler_take(struct sampler *s)
{
	struct buf b;
	char *body = NULL;
	size_t count = 0;

	if (!s->count || s->refused || s->send_ms > clock_ms())
		return NULL;
	buf_init(&b, SAMPLER_TEXT);
	buf_adds(&b, "{\"samples\":[");
	while (count < s->count && count < SAMPLER_AT_ONCE && b.len + strlen(s->kept[count]) + 4 < SAMPLER_TEXT) {
		buf_addf(&b, "%s%s", count ? "," : "", s->kept[count]);
		count++;
	}
	if (count && buf_adds(&b, "]}") == 0)
		body = strdup(buf_text(&b));
	buf_release(&b);
	if (!count)
		sampler_drop(s, 1); /* one alone is too large: the market would not take it */
	s->sent = body ? count : 0;
	s->send_ms = clock_ms() + s->every_ms;
	return body;
}

void sampler_sent(struct sampler *s, bool taken)
{
	if (taken)
		sampler_drop(s, s->sent);
	s->sent = 0;
	if (taken && s->count >= SAMPLER_AT_ONCE)
		s->send_ms = 0;
}

void sampler_release(struct sampler *s)
{
	if (s->job.pid)
		job_release(&s->job, s->workers->loop);
	sampler_drop(s, s->count);
	free(s->before);
	s->before = NULL;
}
