/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentd/device/host_gpus.h"
#include "agentd/machine/gauges.h"
#include "agentd/machine/inventory.h"
#include "agentd/machine/xid.h"
#include "agentd/os/cgroup.h"
#include "agentd/os/gpu_turn.h"
#include "agentd/os/statefile.h"
#include "base/clock.h"
#include "base/file.h"
#include "market/metric.h"

enum { SAMPLER_DEADLINE_MS = 20000, SAMPLER_TEXT = 512 * 1024 };

/* ---- In the child ------------------------------------------------------------------------------ */

static bool sampler_has_gpus(const struct sampler *s)
{
	json_t *j = s->check->inventory ? json_loads(s->check->inventory, 0, NULL) : NULL;
	bool has = json_array_size(json_object_get(j, "gpus")) > 0;

	json_decref(j);
	return has;
}

/* Of NVIDIA's, where the kernel's log can be read. The driver names a GPU without its function. */
static void sampler_read_xids(const struct sampler *s, const struct inventory *v, struct gauges *g)
{
	struct xid_last last[GAUGES_GPUS];
	int n = xid_within_hour(xid_log(s->sysfs_root, s->check->kmsg), 0, last, GAUGES_GPUS);

	for (size_t i = 0, k = 0; i < v->gpu_count && k < g->gpu_count && n >= 0; i++) {
		if (v->gpus[i].integrated)
			continue;
		if (v->gpus[i].pci.vendor == GPU_NVIDIA)
			g->gpus[k].xid = 0;
		for (int x = 0; x < n; x++)
			if (strncasecmp(last[x].gpu, g->gpus[k].address, strcspn(g->gpus[k].address, ".")) == 0)
				g->gpus[k].xid = last[x].number;
		k++;
	}
}

static void sampler_read_gpus(const struct sampler *s, struct gauges *g)
{
	const char *data = s->workers->setup->data;
	struct inventory *v = NULL;
	int turn = -1;

	if (!sampler_has_gpus(s) || gpu_turn_look(data, 0, &turn, NULL)) /* one is reset just now: the next time */
		return;
	if (inventory_read(&(struct inventory_setup){ .root = s->sysfs_root }, &v) == 0) {
		for (size_t i = 0; i < v->gpu_count && g->gpu_count < GAUGES_GPUS; i++)
			if (!v->gpus[i].integrated)
				gauges_take_gpu(&v->gpus[i], &g->gpus[g->gpu_count++]);
		sampler_read_xids(s, v, g);
	}
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
	const struct driver *d = s->workers->driver;
	char dir[PATH_MAX];
	const struct node_spec spec = { .setup = s->workers->setup, .id = n->id, .dir = dir };
	struct cgroup_use use;
	pid_t pid;

	*out = (struct gauges_node){ .disk = GAUGE_UNKNOWN,
		.disk_total = GAUGE_UNKNOWN,
		.network_in = GAUGE_UNKNOWN,
		.network_out = GAUGE_UNKNOWN };
	snprintf(dir, sizeof dir, "%s/nodes/%s", s->workers->setup->data, n->id);
	if (d->disk_use)
		d->disk_use(&spec, &out->disk, &out->disk_total);
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

/* ---- For Prometheus: what is not known is left out, as a zero would look healthy ------------------ */

struct sampler_lines {
	struct buf *out;
	const struct gauges *g;
	const json_t *said; /* the same by the names of market/metric.h */
	int rc;
};

/* Counted up for ever, so that a reader takes the rate of it. */
static bool sampler_prom_counts(const struct metric *m)
{
	return strcmp(m->name, "memory_errors") == 0;
}

/* "nanopod_gpu_power_watts", "nanopod_gpu_memory_errors_total": the unit is part of the name. */
static void sampler_prom_name(const struct metric *m, char *name, size_t size)
{
	static const char *const whose[] = { "machine", "gpu", "node", "node_gpu" };
	const char *unit = sampler_prom_counts(m) ? "total" : strcmp(m->unit, "count") == 0 ? "" : m->unit;

	snprintf(name, size, "nanopod_%s_%s%s%s", whose[m->of], m->name, *unit ? "_" : "", unit);
}

static void sampler_prom_head(struct sampler_lines *t, const char *name, const char *type, const char *help)
{
	if (!t->rc)
		t->rc = buf_addf(t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void sampler_prom_value(struct sampler_lines *t, const char *name, const char *labels, const json_t *value)
{
	if (!t->rc && json_is_number(value))
		t->rc = buf_addf(t->out, "%s%s %.15g\n", name, labels, json_number_value(value));
}

static void sampler_prom_metric(struct sampler_lines *t, const struct metric *m)
{
	char name[96], labels[96 + GAUGES_ID], help[160];
	const json_t *of;
	size_t i;

	sampler_prom_name(m, name, sizeof name);
	snprintf(help, sizeof help, "%s of %s: %s.", m->name,
		m->of == METRIC_OF_MACHINE       ? "the machine"
			: m->of == METRIC_OF_GPU ? "a GPU"
						 : "a node",
		m->text);
	sampler_prom_head(t, name, sampler_prom_counts(m) ? "counter" : "gauge", help);
	if (m->of == METRIC_OF_MACHINE)
		sampler_prom_value(t, name, "", json_object_get(json_object_get(t->said, "machine"), m->name));
	if (m->of == METRIC_OF_GPU)
		json_array_foreach(json_object_get(t->said, "gpus"), i, of)
		{
			snprintf(labels, sizeof labels, "{gpu=\"%s\"}", t->g->gpus[i].address);
			sampler_prom_value(t, name, labels, json_object_get(of, m->name));
		}
	if (m->of == METRIC_OF_NODE)
		json_array_foreach(json_object_get(t->said, "nodes"), i, of)
		{
			snprintf(labels, sizeof labels, "{node=\"%s\"}", t->g->nodes[i].id);
			sampler_prom_value(t, name, labels, json_object_get(json_object_get(of, "measures"), m->name));
		}
}

/* A node's GPUs are the machine's: one row says which, instead of each number twice. */
static void sampler_prom_whose(struct sampler_lines *t)
{
	sampler_prom_head(t, "nanopod_node_gpu", "gauge", "1: the node has this GPU.");
	for (size_t i = 0; !t->rc && i < t->g->node_count; i++) {
		const struct gauges_node *n = &t->g->nodes[i];

		for (size_t k = 0; !t->rc && k < n->gpu_count; k++)
			if (n->gpus[k] < t->g->gpu_count)
				t->rc = buf_addf(t->out, "nanopod_node_gpu{node=\"%s\",gpu=\"%s\"} 1\n", n->id,
					t->g->gpus[n->gpus[k]].address);
	}
}

static int sampler_prom(const struct gauges *g, const json_t *said, int64_t at, struct buf *out)
{
	struct sampler_lines t = { .out = out, .g = g, .said = said };

	sampler_prom_head(&t, "nanopod_agent_sample_time_seconds", "gauge", "When this was measured, in Unix time.");
	if (!t.rc)
		t.rc = buf_addf(out, "nanopod_agent_sample_time_seconds %lld\n", (long long)at);
	for (size_t i = 0; i < metric_count(); i++)
		if (metric_at(i)->of != METRIC_OF_NODE_GPU)
			sampler_prom_metric(&t, metric_at(i));
	sampler_prom_whose(&t);
	return t.rc;
}

/* Under another name first: whoever reads the file finds all of it. errno, or 0. */
static int sampler_write(const struct sampler *s, const struct gauges *g, const json_t *said)
{
	char path[PATH_MAX];
	struct buf b;
	int fd, rc;

	snprintf(path, sizeof path, "%.*s.new", PATH_MAX - 8, s->metrics);
	buf_init(&b, SAMPLER_TEXT);
	rc = -sampler_prom(g, said, s->at, &b);
	fd = rc ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (!rc && fd < 0)
		rc = errno;
	if (fd >= 0) {
		rc = fchmod(fd, 0644) ? errno
				      : -file_write(fd, b.data, b.len); /* whoever collects it is another user */
		close(fd);
	}
	if (!rc && rename(path, s->metrics) != 0)
		rc = errno;
	buf_release(&b);
	return rc;
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
	if (j && s->metrics)
		g->untold = sampler_write(s, g, j);
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

/* Once for each reason, and once when it works again. */
static void sampler_log_untold(struct sampler *s, int untold)
{
	if (untold && untold != s->untold)
		log_at(s->workers->log, LOG_WARN, "cannot write '%s': %s; nodes go on, and the next look tries again",
			s->metrics, strerror(untold));
	else if (!untold && s->untold)
		log_at(s->workers->log, LOG_INFO, "wrote '%s' again", s->metrics);
	s->untold = untold;
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
	sampler_log_untold(s, now->untold);
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
	if (s->metrics) /* an old number must not look like one of now */
		unlink(s->metrics);
}
