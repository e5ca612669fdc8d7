/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories of a get: here, those that its target needs; on the host, those that wait to be listed, and
 * the check for links that lead back to a parent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pssh/copy/copyjob.h"
#include "pssh/pssh_types.h"

static bool local_dir(struct job *j, const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
		return true;
	if (errno == EEXIST)
		job_fail(j, PSSH_ELOCAL, "'%s' is not a directory", path);
	else
		job_fail_errno(j, errno, "cannot make the directory '%s'", path);
	return false;
}

bool get_ready(struct job *j)
{
	struct copy *c = j->copy;
	char *slash = c->local;
	bool good = true;

	while (good && (c->flags & COPY_WAY) && (slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		good = local_dir(j, c->local);
		*slash = '/';
	}
	return good && (!c->slash || local_dir(j, c->local));
}

/* A directory's real path, also below a link that was followed. malloc'd or NULL. */
static char *node_real(const struct node *n)
{
	const struct node *up = n;
	char *path, *more;

	while (!up->real && up->parent)
		up = up->parent;
	path = up->real ? strdup(up->real) : NULL;
	for (const struct node *at; path && up != n; up = at) {
		for (at = n; at->parent != up; at = at->parent)
			;
		more = path_join(path, at->name, strlen(at->name));
		free(path);
		path = more;
	}
	return path;
}

/* Only a link can lead back to a parent, so without a link on the way it compares nothing. */
static bool copygetdir_leads_back(const struct node *n)
{
	const struct node *link = n;
	char *real, *other;
	bool same;

	while (link->parent && !link->real)
		link = link->parent;
	if (!link->parent)
		return false;
	real = node_real(n);
	same = !real;
	for (const struct node *up = n->parent; up && !same; up = up->parent) {
		other = node_real(up);
		same = !other || strcmp(real, other) == 0;
		free(other);
	}
	free(real);
	return same;
}

void get_queue_dir(struct copy *c, struct node *n)
{
	bool lost = n->depth >= COPY_DEPTH || copygetdir_leads_back(n);

	if (lost) {
		char *path = node_source(n, c->remote);

		copy_say(c, PSSH_EREMOTE, "'%s' on the host leads back to a parent, or too deep",
			path ? path : n->name);
		c->progress.files++;
		free(path);
	}
	/* Keep a lost one too, but neither create nor list it. */
	list_append(lost ? &c->lost_dirs : &c->dirs, &n->link);
}
