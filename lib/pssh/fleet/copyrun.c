/* SPDX-License-Identifier: Apache-2.0 */
/* What each host of a copy reads and writes: "{host}" in the local path, and no two hosts at one place. */
#include <stdlib.h>
#include <string.h>

#include "pssh/fleet/fleet.h"

/* Replaces "{host}" in a local path. A '/' in the name becomes '_', so it cannot leave the directory. */
static char *copyrun_path(const char *template, const struct pssh_host *h)
{
	struct buf b;
	const char *at;
	char *path;
	int rc = 0;

	buf_init(&b, 65536);
	while (!rc && (at = strstr(template, "{host}"))) {
		rc = buf_add(&b, template, (size_t)(at - template));
		for (const char *c = h->alias; *c && !rc; c++)
			rc = buf_addc(&b, *c == '/' ? '_' : *c);
		template = at + 6;
	}
	path = rc || buf_adds(&b, template) ? NULL : buf_steal(&b);
	buf_release(&b);
	return path;
}

bool copyrun_per_host(const struct pssh_task *t)
{
	return t->kind == TASK_PUT && (t->flags & PSSH_COPY_PER_HOST) && strstr(t->local, "{host}");
}

int copyrun_source(struct pssh_task *t, const char *path, struct copy_source **out, struct fail *f)
{
	struct fail note = { 0 };
	int rc = copy_source_new(path, t->flags, out, f);

	for (size_t i = 0; !rc && copy_source_note(*out, i, &note); i++)
		log_at(&t->fleet->shared.log, LOG_WARN, "%s", note.text);
	return rc;
}

int copyrun_begin(struct run *r, struct fail *f)
{
	char *path;
	int rc;

	if (!copyrun_per_host(r->task))
		return 0;
	path = copyrun_path(r->task->local, r->host);
	rc = path ? copyrun_source(r->task, path, &r->source, f) : fail_set(f, PSSH_ENOMEM, "out of memory");
	free(path);
	return rc;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct pssh_host *const *)a)->alias, (*(struct pssh_host *const *)b)->alias);
}

static int copyrun_clash(const struct pssh_task *t, const struct pssh_host *a, const struct pssh_host *b,
	struct fail *f)
{
	if (!strstr(t->local, "{host}"))
		return fail_set(f, PSSH_EINVAL,
			"'%s' would be one place for the files of several hosts; write {host} where each host's name "
			"goes",
			t->local);
	return fail_set(f, PSSH_EINVAL,
		"'%s' and '%s' have the same name for {host} in '%s'; copy from them one after the other", a->spec,
		b->spec, t->local);
}

int copyrun_apart(const struct pssh_task *t, struct fail *f)
{
	struct pssh_host **hosts;
	struct list *pos, *tmp;
	size_t count = 0;
	int rc = 0;

	if (t->kind != TASK_GET || t->left < 2)
		return 0;
	hosts = calloc(t->left, sizeof *hosts);
	if (!hosts)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	list_each (pos, tmp, &t->runs)
		hosts[count++] = list_entry(pos, struct run, in_task)->host;
	qsort(hosts, count, sizeof *hosts, by_name);
	for (size_t i = 1; i < count && !rc; i++)
		if (by_name(&hosts[i - 1], &hosts[i]) == 0 || !strstr(t->local, "{host}"))
			rc = copyrun_clash(t, hosts[i - 1], hosts[i], f);
	free(hosts);
	return rc;
}

int copyrun_joins(const struct pssh_task *t, const struct pssh_host *h, struct fail *f)
{
	struct list *pos, *tmp;

	if (t->kind != TASK_GET || !t->started)
		return 0;
	list_each (pos, tmp, &t->runs) {
		const struct pssh_host *other = list_entry(pos, struct run, in_task)->host;

		if (by_name(&other, &h) == 0 || !strstr(t->local, "{host}"))
			return copyrun_clash(t, other, h, f);
	}
	return 0;
}

int copyrun_open(struct run *r, struct fail *f)
{
	struct pssh_task *t = r->task;
	struct copy *copy = NULL;
	char *local;
	int rc;

	if (r->first)
		return xfer_join(&r->host->conn->link, r->first->xfer, &r->xfer);
	if (t->kind == TASK_PUT) {
		rc = copy_new_put(r->source ? r->source : t->source, t->remote,
			t->flags | (t->data_fd >= 0 ? COPY_FILE : 0), &copy, f);
	} else {
		local = copyrun_path(t->local, r->host);
		rc = local ? copy_new_get(t->remote, local, t->flags | (strstr(t->local, "{host}") ? COPY_WAY : 0),
				     &copy, f)
			   : PSSH_ENOMEM;
		free(local);
	}
	if (rc)
		return rc;
	if (t->streams)
		copy_set_streams(copy, t->streams);
	rc = xfer_new(&r->host->conn->link, copy, &r->xfer);
	if (rc)
		copy_free(copy);
	return rc;
}
