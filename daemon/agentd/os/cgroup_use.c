/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a node use, by the counters of its groups. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agentd/os/cgroup.h"
#include "agentd/os/cgroup_part.h"
#include "base/buf.h"

enum { USE_TEXT = 64 * 1024 };

/* The number after the word in lines "word number"; word NULL: the file is the number. */
static void cgroup_use_read(const struct cgroup_tree *t, const char *group, const char *file, const char *word,
	int64_t *out)
{
	char path[CGROUP_PATH];
	const char *at = NULL;
	struct buf b;
	int64_t n;

	snprintf(path, sizeof path, "%s/%s/%s", t->at, group, file);
	buf_init(&b, USE_TEXT);
	if (buf_read_file(&b, path) == 0)
		at = buf_text(&b);
	while (at && word && !(strncmp(at, word, strlen(word)) == 0 && at[strlen(word)] == ' ')) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	if (at && sscanf(at + (word ? strlen(word) : 0), " %" SCNd64, &n) == 1 && n >= 0)
		*out = n;
	buf_release(&b);
}

/* What the kernel keeps of files goes when somebody needs the room. */
static void cgroup_use_memory(const struct cgroup_tree *t, const char *group, int64_t *out)
{
	int64_t all = INT64_MIN, files = 0;

	cgroup_use_read(t, group, t->v2 ? "memory.current" : "memory.usage_in_bytes", NULL, &all);
	cgroup_use_read(t, group, "memory.stat", t->v2 ? "inactive_file" : "total_inactive_file", &files);
	if (all >= 0)
		*out = all > files ? all - files : 0;
}

void cgroup_use(const struct node_spec *n, struct cgroup_use *out)
{
	struct cgroup_trees trees;
	char group[CGROUP_PATH];

	*out = (struct cgroup_use){ INT64_MIN, INT64_MIN, INT64_MIN };
	snprintf(group, sizeof group, "%s-n-%s", n->setup->prefix, n->id);
	cgroup_trees(&trees);
	for (size_t i = 0; i < trees.count; i++) {
		const struct cgroup_tree *t = &trees.tree[i];

		if (t->v2) {
			cgroup_use_read(t, group, "cpu.stat", "usage_usec", &out->cpu_us);
		} else if (t->cpu) {
			cgroup_use_read(t, group, "cpuacct.usage", NULL, &out->cpu_us);
			if (out->cpu_us >= 0)
				out->cpu_us /= 1000; /* it counts nanoseconds */
		}
		if (t->memory)
			cgroup_use_memory(t, group, &out->memory);
		if (t->pids)
			cgroup_use_read(t, group, "pids.current", NULL, &out->processes);
	}
}
