/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/copy/copytree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "pssh/copy/digest.h"

enum { PATHS_MAX = 1 << 20 };

struct node *node_new(struct node *parent, const char *name, size_t len)
{
	struct node *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	list_init(&n->link);
	n->fd = -1;
	n->parent = parent;
	n->depth = parent ? parent->depth + 1 : 0;
	n->name = strndup(name, len);
	if (n->name)
		return n;
	free(n);
	return NULL;
}

void node_free(struct node *n)
{
	if (!n)
		return;
	list_remove(&n->link);
	digest_free(n->digest);
	free(n->name);
	free(n->real);
	free(n->from);
	free(n);
}

/* The path from a node above, or from the root of the tree. */
static char *node_below(const struct node *n, const struct node *top, const char *root)
{
	const struct node *up[COPY_DEPTH + 1];
	size_t count = 0;
	struct buf b;
	int rc;

	for (; n != top && n->parent && count <= COPY_DEPTH; n = n->parent)
		up[count++] = n;
	buf_init(&b, PATHS_MAX);
	rc = buf_adds(&b, root);
	while (count && !rc) {
		if (b.len && b.data[b.len - 1] != '/')
			rc = buf_addc(&b, '/');
		if (!rc)
			rc = buf_adds(&b, up[--count]->name);
	}
	if (!rc)
		return buf_steal(&b);
	buf_release(&b);
	return NULL;
}

char *node_path(const struct node *n, const char *root)
{
	return node_below(n, NULL, root);
}

char *node_source(const struct node *n, const char *root)
{
	const struct node *top = n;

	while (top->parent && !top->from)
		top = top->parent;
	return node_below(n, top, top->from ? top->from : root);
}

char *path_trim(const char *path, bool *slash)
{
	size_t n = strlen(path);

	*slash = n && path[n - 1] == '/';
	while (n > 1 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

char *path_join(const char *dir, const char *name, size_t len)
{
	size_t n = strlen(dir);
	char *p = malloc(n + len + 2);

	if (!p)
		return NULL;
	memcpy(p, dir, n);
	if (n && p[n - 1] != '/')
		p[n++] = '/';
	memcpy(p + n, name, len);
	p[n + len] = '\0';
	return p;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_dir(const char *path)
{
	const char *base = path_base(path);

	if (base == path)
		return strdup(".");
	while (base > path + 1 && base[-1] == '/')
		base--;
	return strndup(path, (size_t)(base - path));
}

bool name_is_safe(const char *name, size_t len)
{
	if (len == 0 || len > 4096 || memchr(name, '/', len) || memchr(name, '\0', len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}
