/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that wait: how many nodes more would start them. All that can be bought are alike: the first that fits does. */
#include "cli/autoscale/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { SCALE_MOST = 1 << 30 };

/* ---- Reading ------------------------------------------------------------------------------- */

/* A number of megabytes as Slurm prints them: "200M", "1.50G"; a bare one is megabytes. -1: none. */
static int64_t scale_memory(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (end == text || n < 0 || n > SCALE_MOST)
		return -1;
	n = *end == 'K' ? n / 1024 : *end == 'G' ? n * 1024 : *end == 'T' ? n * 1024 * 1024 : n;
	return n > SCALE_MOST ? -1 : (int64_t)(n + 0.999);
}

static int64_t scale_number(const char *text)
{
	char *end;
	long long n = strtoll(text, &end, 10);

	return end == text || n < 0 || n > SCALE_MOST ? -1 : n;
}

/* "2" or "500m" CPUs, in thousandths. -1: none. */
static int64_t scale_cpus(const char *text)
{
	int64_t n = scale_number(text);

	return n < 0 || n > SCALE_MOST / 1000 ? -1 : text[strspn(text, "0123456789")] == 'm' ? n : n * 1000;
}

/* GPUs in "gres:gpu:h100:8,gres:gpu:2" or "gpu:8"; 0: none. */
static int64_t scale_gpus(const char *text)
{
	int64_t sum = 0;

	for (const char *at = text; (at = strstr(at, "gpu"));) {
		size_t len = strcspn(at, ",(");
		const char *last = at;

		for (size_t i = 0; i < len; i++)
			last = at[i] == ':' || at[i] == '=' ? at + i + 1 : last;
		sum += last > at && scale_number(last) >= 0 ? scale_number(last) : 1;
		at += len;
	}
	return sum;
}

/* The value of "NAME=" among words that these characters separate; NULL: not there. */
static const char *scale_word(const char *text, const char *name, const char *apart)
{
	size_t len = strlen(name);

	while (*(text += strspn(text, apart))) {
		if (strncmp(text, name, len) == 0 && text[len] == '=')
			return text + len + 1;
		text += strcspn(text, apart);
	}
	return NULL;
}

int scale_shape(const char *text, struct scale_shape *out, struct fail *f)
{
	const char *cpus = scale_word(text, "CPUs", " "), *memory = scale_word(text, "RealMemory", " "),
		   *gres = scale_word(text, "Gres", " ");
	struct scale_shape s = { 0 };
	char room[SCALE_TEXT];

	s.cpus = cpus ? scale_cpus(cpus) : -1;
	s.memory_mb = memory ? scale_number(memory) : -1;
	snprintf(room, sizeof room, "%.*s", gres ? (int)strcspn(gres, " ") : 0, gres ? gres : "");
	s.gpus = scale_gpus(room);
	if (s.cpus <= 0 || s.memory_mb <= 0)
		return fail_set(f, -EINVAL,
			"'%.80s': expected 'CPUs=16 RealMemory=60000', and 'Gres=gpu:h100:8' for GPUs", text);
	*out = s;
	return 0;
}

int scale_job(char *line, struct scale_job *out)
{
	char *part[7];
	const char *cpus, *memory;
	int64_t per_node, per_job;

	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (!(part[i] = strsep(&line, "|")))
			return -EINVAL;
	*out = (struct scale_job){ .nodes = scale_number(part[1]) };
	snprintf(out->id, sizeof out->id, "%s", part[0]);
	cpus = scale_word(part[2], "cpu", ",");
	memory = scale_word(part[2], "mem", ",");
	out->cpus = cpus ? scale_cpus(cpus) : 1000;
	out->memory_mb = memory ? scale_memory(memory) : 0;
	if (!*out->id || out->nodes <= 0 || out->cpus < 0 || out->memory_mb < 0)
		return -EINVAL;
	per_node = scale_gpus(part[3]) * out->nodes;
	per_job = scale_gpus(part[4]);
	out->gpus = per_node > per_job ? per_node : per_job;
	out->whole = strcmp(part[5], "NO") == 0;
	out->never = strcmp(part[6], "PartitionNodeLimit") == 0;
	return 0;
}

void scale_room(const char *text, struct scale_shape *out)
{
	const char *cpus = scale_word(text, "cpu", ","), *memory = scale_word(text, "mem", ","),
		   *gpus = scale_word(text, "gpu", ",");

	*out = (struct scale_shape){ .cpus = cpus ? scale_cpus(cpus) : 0,
		.memory_mb = memory ? scale_memory(memory) : 0,
		.gpus = gpus ? scale_number(gpus) : 0 };
}

/* ---- Packing ------------------------------------------------------------------------------- */

struct scale_bin {
	int64_t cpus, memory_mb, gpus;
	bool used;
};

static int64_t scale_share(int64_t all, int64_t nodes)
{
	return (all + nodes - 1) / nodes;
}

/* What a job takes of each of its nodes. False: no node of the type has as much. */
static bool scale_part(const struct scale_job *j, const struct scale_shape *s, struct scale_bin *part)
{
	part->cpus = scale_share(j->cpus, j->nodes);
	if (j->nodes > 1) /* whole ones */
		part->cpus = (part->cpus + 999) / 1000 * 1000;
	part->memory_mb = scale_share(j->memory_mb, j->nodes);
	part->gpus = scale_share(j->gpus, j->nodes);
	if (part->cpus > s->cpus || part->memory_mb > s->memory_mb || part->gpus > s->gpus)
		return false;
	if (j->whole)
		*part = (struct scale_bin){ s->cpus, s->memory_mb, s->gpus, false };
	return true;
}

static bool scale_fits(const struct scale_bin *b, const struct scale_bin *part)
{
	return b->cpus >= part->cpus && b->memory_mb >= part->memory_mb && b->gpus >= part->gpus;
}

/* Takes `nodes` bins that fit, the first ones. */
static void scale_take(struct scale_bin *bins, size_t count, const struct scale_bin *part, int64_t nodes)
{
	for (size_t i = 0; i < count && nodes; i++) {
		if (!scale_fits(&bins[i], part))
			continue;
		bins[i].cpus -= part->cpus;
		bins[i].memory_mb -= part->memory_mb;
		bins[i].gpus -= part->gpus;
		bins[i].used = true;
		nodes--;
	}
}

static void scale_unfit(struct scale_need *out, const char *work, const struct scale_job *j,
	const struct scale_shape *s, int64_t most)
{
	char *why = out->unfit < SCALE_UNFIT ? out->why[out->unfit++] : NULL;

	if (!why)
		return;
	if (j->never || j->nodes > most)
		snprintf(why, SCALE_TEXT, "%s %s asks for %" PRId64 " nodes, and the cluster has at most %" PRId64,
			work, j->id, j->nodes, most);
	else
		snprintf(why, SCALE_TEXT,
			"%s %s asks for more than a node has: %" PRId64 " CPUs, %" PRId64 " MB, %" PRId64 " GPUs", work,
			j->id, s->cpus / 1000, s->memory_mb, s->gpus);
}

bool scale_fits_shape(const struct scale_job *j, const struct scale_shape *shape)
{
	struct scale_bin part;

	return scale_part(j, shape, &part);
}

void scale_pack(const char *work, const struct scale_job *jobs, size_t count, const struct scale_shape *shape,
	int64_t free, int64_t room, int64_t most, struct scale_need *out)
{
	struct scale_bin bins[SCALE_NODES], part = { 0 };
	size_t have = 0;

	memset(out, 0, sizeof *out);
	free = free < SCALE_NODES ? free : SCALE_NODES;
	room = room < SCALE_NODES - free ? room : SCALE_NODES - free;
	for (; have < (size_t)(free + room); have++)
		bins[have] = (struct scale_bin){ shape->cpus, shape->memory_mb, shape->gpus, false };
	for (size_t i = 0; i < count; i++) {
		const struct scale_job *j = &jobs[i];
		int64_t fits = 0, among = 0;

		if (j->never || j->nodes > most || !scale_part(j, shape, &part)) {
			scale_unfit(out, work, j, shape, most);
			continue;
		}
		for (size_t b = 0; b < have && fits < j->nodes; b++) {
			fits += scale_fits(&bins[b], &part);
			among += b < (size_t)free && scale_fits(&bins[b], &part);
		}
		out->jobs += among < j->nodes;
		if (fits == j->nodes) /* else it starts when others have ended */
			scale_take(bins, have, &part, j->nodes);
	}
	for (size_t b = 0; b < have; b++) {
		out->taken += bins[b].used && b < (size_t)free;
		out->more += bins[b].used && b >= (size_t)free;
	}
}
