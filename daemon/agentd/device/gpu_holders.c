/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/gpu_holders.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agentd/device/gpu_book.h"
#include "agentd/machine/sysfs.h"
#include "base/clock.h"
#include "base/str.h"

enum { LEAVE_MS = 3000, LOOK_MS = 30000, PAUSE_MS = 100, GROUPS_MAX = 64 * 1024 };

/* ---- Whose a process is --------------------------------------------------------------------- */

/*
 * "4:memory:/np-n-inst_abc/node/…": the first such part is the agent's, since what a node makes is below it. A node
 * that names a group of its own after its neighbour is not taken for that.
 */
static bool holder_in_line(const char *line, char node[static GPU_HOLDER_NODE])
{
	const char *at = strstr(line, "-n-inst_"), *end;

	if (!at)
		return false;
	at += strlen("-n-");
	end = at + strcspn(at, "/\n");
	if (end - at >= GPU_HOLDER_NODE)
		return false;
	memcpy(node, at, (size_t)(end - at));
	node[end - at] = '\0';
	return true;
}

void gpu_holder_node(const char *root, pid_t pid, char node[static GPU_HOLDER_NODE])
{
	char path[SYSFS_PATH], *rest, *line;
	bool found = false;
	struct buf b;

	node[0] = '\0';
	buf_init(&b, GROUPS_MAX);
	if (buf_read_file(&b, sysfs_path(path, root, "/proc/%d/cgroup", (int)pid)) == 0)
		for (rest = b.data; rest && !found && (line = strsep(&rest, "\n"));)
			found = holder_in_line(line, node);
	buf_release(&b);
}

static void holder_name(const char *root, pid_t pid, char name[static GPU_HOLDER_NAME])
{
	char path[SYSFS_PATH];

	if (!sysfs_text(sysfs_path(path, root, "/proc/%d/comm", (int)pid), name, GPU_HOLDER_NAME))
		snprintf(name, GPU_HOLDER_NAME, "?");
}

int gpu_holders_read(const char *data, const char *root, struct nvml_processes **out, struct fail *f)
{
	struct nvml_processes *n = calloc(1, sizeof *n);
	int turn = n ? gpu_book_turn(data, LOCK_SH, f) : fail_set(f, -ENOMEM, "out of memory");
	int rc = turn < 0 ? turn : nvml_processes_read(root, n, f);

	if (turn >= 0)
		close(turn);
	if (rc) {
		free(n);
		return rc;
	}
	*out = n;
	return 0;
}

/* ---- After a node --------------------------------------------------------------------------- */

static bool holders_share(const json_t *book, const char *address, const char *node)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(book, i,
		gpu) if (gpu_book_is(gpu, "address", address) && gpu_book_is(gpu, "node", node)) return true;
	return false;
}

/* The first process that holds memory without a share; 0: none. */
static pid_t holders_stray(const struct nvml_processes *n, const char *root, const char *address, const json_t *book,
	const char *ended)
{
	for (size_t i = 0; i < n->count; i++) {
		char node[GPU_HOLDER_NODE];

		if (strcmp(n->list[i].address, address) != 0)
			continue;
		gpu_holder_node(root, n->list[i].pid, node);
		if (!*node || strcmp(node, ended) == 0 || !holders_share(book, address, node))
			return n->list[i].pid;
	}
	return 0;
}

/* Another node ends, too, and resets the GPU: that waits for all who use it, and a look would only disturb it. */
static bool holders_reset(const struct gpu_book *b, const char *address, const char *ended)
{
	const json_t *gpu;
	size_t i;

	json_array_foreach(b->gpus, i, gpu) if (gpu_book_is(gpu, "address", address) && gpu_book_in_use(b, gpu) &&
		json_is_true(json_object_get(gpu, "ending")) && !gpu_book_is(gpu, "node", ended)) return true;
	return false;
}

int gpu_holders_gone(const char *data, const char *root, const char *address, const char *ended, struct fail *f)
{
	int64_t begin = clock_ms();
	char name[GPU_HOLDER_NAME];

	for (;;) {
		struct gpu_book b = { .data = data, .lock = -1 };
		struct nvml_processes *n = NULL;
		struct fail why = { 0 };
		pid_t stray = 0;
		int rc = gpu_book_load(&b, &why);
		bool over = !rc && holders_reset(&b, address, ended);

		rc = rc || over ? rc : gpu_holders_read(data, root, &n, &why);
		if (n)
			rc = nvml_processes_of(n, address, NULL, &why);
		if (n && !rc)
			stray = holders_stray(n, root, address, b.gpus, ended);
		gpu_book_close(&b);
		free(n);
		if (!rc && !stray)
			return 0;
		/* The driver may be busy with another GPU: one look that fails says nothing about this one. */
		if (rc && clock_ms() - begin >= LOOK_MS)
			return fail_set(f, rc, "%s", why.text);
		if (!rc && clock_ms() - begin >= LEAVE_MS) {
			holder_name(root, stray, name);
			return fail_set(f, -EBUSY, "the process %d (%s) still holds memory of the GPU at %s",
				(int)stray, name, address);
		}
		poll(NULL, 0, PAUSE_MS);
	}
}

/* ---- While they run ------------------------------------------------------------------------- */

/* What the node holds of the GPU, and its process that holds most. */
static int64_t watch_sum(const struct nvml_processes *n, const char *root, const struct gpu_excess *x,
	const struct nvml_process **most)
{
	int64_t sum = 0;

	*most = NULL;
	for (size_t i = 0; i < n->count; i++) {
		const struct nvml_process *p = &n->list[i];
		char node[GPU_HOLDER_NODE];

		if (strcmp(p->address, x->address) != 0)
			continue;
		gpu_holder_node(root, p->pid, node);
		if (strcmp(node, x->node) != 0)
			continue;
		sum = p->bytes > INT64_MAX - sum ? INT64_MAX : sum + p->bytes;
		if (!*most || p->bytes > (*most)->bytes)
			*most = p;
	}
	return sum;
}

/* Held by a descriptor, so that no other process is killed that got its number meanwhile. */
static void watch_kill(const char *root, struct gpu_excess *x, const struct nvml_process *p)
{
	char node[GPU_HOLDER_NODE];
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0);

	if (fd < 0)
		return;
	gpu_holder_node(root, p->pid, node);
	holder_name(root, p->pid, x->name);
	if (strcmp(node, x->node) == 0 && syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) == 0) {
		x->ended = p->pid;
		x->freed = p->bytes;
		x->since_ms = clock_ms(); /* its memory is free a little later */
	}
	close(fd);
}

static const struct gpu_excess *watch_before(const struct gpu_excess *before, size_t count, const json_t *gpu)
{
	for (size_t i = 0; i < count; i++)
		if (gpu_book_is(gpu, "node", before[i].node) && gpu_book_is(gpu, "address", before[i].address))
			return &before[i];
	return NULL;
}

/* Looks at one share, of which `old` was seen before; NULL: nothing was. False: it is no excess. */
static bool watch_one(const struct nvml_processes *n, const char *root, const json_t *gpu, const struct gpu_excess *old,
	int64_t grace_ms, struct gpu_excess *x)
{
	const struct nvml_process *most;

	snprintf(x->node, sizeof x->node, "%s", gpu_book_word(gpu, "node"));
	snprintf(x->address, sizeof x->address, "%s", gpu_book_word(gpu, "address"));
	x->may /= gpu_book_parts(gpu);
	x->holds = watch_sum(n, root, x, &most);
	x->since_ms = old ? old->since_ms : clock_ms();
	if (x->holds <= x->may)
		return false;
	if (clock_ms() - x->since_ms >= grace_ms && most)
		watch_kill(root, x, most);
	return true;
}

/* A share that cannot be seen stays as it was: who held too much has no more time for that. */
static bool watch_keep(const struct gpu_excess *old, struct gpu_excess *x)
{
	if (!old)
		return false;
	*x = *old;
	x->ended = 0;
	return true;
}

/* All of them stay. */
static void watch_keep_all(const struct gpu_excess *before, size_t count, struct buf *out)
{
	struct gpu_excess x;

	for (size_t i = 0; i < count && watch_keep(&before[i], &x); i++)
		buf_add(out, &x, sizeof x);
}

int gpu_holders_watch(const char *data, const char *root, const struct gpu_excess *before, size_t count,
	int64_t grace_ms, struct buf *out, struct fail *f)
{
	struct gpu_book b = { .data = data, .lock = -1 };
	struct nvml_processes *n = NULL;
	struct fail first = { 0 };
	json_t *gpu;
	size_t i;
	int rc = gpu_book_load(&b, f);

	if (rc)
		watch_keep_all(before, count, out);
	else
		gpu_holders_read(data, root, &n, &first);
	json_array_foreach(b.gpus, i, gpu)
	{
		const struct gpu_excess *old = watch_before(before, count, gpu);
		struct gpu_excess x = { .since_ms = 0 };
		bool seen;

		if (rc || !gpu_book_parts(gpu) || gpu_book_is_slice(gpu) || gpu_book_is(gpu, "node", ""))
			continue;
		seen = n &&
			nvml_processes_of(n, gpu_book_word(gpu, "address"), &x.may, first.code ? NULL : &first) == 0;
		if (seen ? watch_one(n, root, gpu, old, grace_ms, &x) : watch_keep(old, &x))
			rc = buf_add(out, &x, sizeof x);
	}
	gpu_book_close(&b);
	free(n);
	return rc || !first.code ? rc : fail_set(f, first.code, "%s", first.text);
}
