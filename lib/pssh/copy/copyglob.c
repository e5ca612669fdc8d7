/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote path of a get as a pattern: lists directories over SFTP, part after part of the path, and
 * makes each match a source of its own. No shell of the host takes part, and its names are not trusted.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/copy/copyjob.h"
#include "pssh/copy/copytemp.h"
#include "pssh/pssh_types.h"

enum {
	GLOB_FOUND = 65536, /* directories that wait to be listed, and matches */
	GLOB_NAME = 255,    /* what a file system allows; fnmatch is slow with long names and several stars */
	GLOB_JOBS = 16,
	GLOB_AHEAD = 4,
};

enum { GLOB_CLEAN, GLOB_OPEN, GLOB_READ, GLOB_CLOSE };

struct glob_place {
	char *path;
	unsigned level; /* how many parts of the pattern it has matched */
};

struct glob {
	char **parts; /* the parts of the pattern from the first one with a wildcard */
	unsigned count;
	struct glob_place *places, *found;
	size_t place_count, place_at, found_count;
};

bool glob_wanted(const char *path)
{
	return strpbrk(path, "*?[") != NULL;
}

void glob_free(struct glob *g)
{
	for (unsigned i = 0; g && i < g->count; i++)
		free(g->parts[i]);
	for (size_t i = 0; g && i < g->place_count; i++)
		free(g->places[i].path);
	for (size_t i = 0; g && i < g->found_count; i++)
		free(g->found[i].path);
	if (g) {
		free(g->parts);
		free(g->places);
		free(g->found);
	}
	free(g);
}

/* Takes path. False: out of memory, or the list is full. */
static bool glob_add(struct glob_place **list, size_t *count, char *path, unsigned level)
{
	struct glob_place *more = *list;

	if (path && *count < GLOB_FOUND && (*count & (*count - 1)) == 0)
		more = realloc(*list, (*count ? 2 * *count : 1) * sizeof **list);
	if (!path || *count == GLOB_FOUND || !more) {
		free(path);
		return false;
	}
	*list = more;
	more[(*count)++] = (struct glob_place){ path, level };
	return true;
}

/* Takes the backslashes out, as fnmatch would. */
static void glob_unquote(char *text)
{
	char *to = text;

	for (; *text; text++)
		*to++ = *text == '\\' && text[1] ? *++text : *text;
	*to = '\0';
}

int glob_new(const char *path, struct glob **out)
{
	struct glob *g = calloc(1, sizeof *g);
	const char *at = path, *end;
	char *prefix;

	if (!g)
		return PSSH_ENOMEM;
	/* The part with the first wildcard begins behind the last slash before it. */
	for (end = path; end < strpbrk(path, "*?["); end++)
		if (*end == '/')
			at = end + 1;
	prefix = strndup(path, (size_t)(at - path));
	if (prefix)
		glob_unquote(prefix);
	if (!glob_add(&g->places, &g->place_count, prefix, 0))
		goto no_memory;
	for (; *at; at = end + strspn(end, "/")) {
		char **parts = realloc(g->parts, (g->count + 1) * sizeof *parts);

		end = at + strcspn(at, "/");
		if (!parts)
			goto no_memory;
		g->parts = parts;
		g->parts[g->count] = strndup(at, (size_t)(end - at));
		if (!g->parts[g->count++])
			goto no_memory;
	}
	*out = g;
	return 0;
no_memory:
	glob_free(g);
	return PSSH_ENOMEM;
}

/* ---- Listing --------------------------------------------------------------------------- */

static void glob_match(struct job *j, const char *name, const struct sftp_attrs *a)
{
	struct glob *g = j->copy->glob;
	uint32_t kind = a->flags & SFTP_ATTR_MODE ? a->mode & S_IFMT : 0;
	unsigned level = (unsigned)j->at + 1;
	char *path;
	bool fits;

	if (level < g->count && kind && kind != S_IFDIR && kind != S_IFLNK)
		return;
	path = path_join(j->target, name, strlen(name));
	fits = level < g->count ? glob_add(&g->places, &g->place_count, path, level)
				: glob_add(&g->found, &g->found_count, path, level);
	if (!fits)
		job_fail(j, PSSH_EREMOTE, "more than %d names on the host match '%s'", GLOB_FOUND, j->copy->remote);
}

static void glob_name(struct job *j, const char *text, size_t len, const struct sftp_attrs *a)
{
	const char *pattern = j->copy->glob->parts[j->at];
	char name[GLOB_NAME + 1];

	if (len == 0 || len > GLOB_NAME || (len == 1 && text[0] == '.') ||
		(len == 2 && text[0] == '.' && text[1] == '.'))
		return;
	memcpy(name, text, len);
	name[len] = '\0';
	if (fnmatch(pattern, name, FNM_PERIOD) != 0)
		return;
	if (!name_is_safe(text, len))
		copy_say(j->copy, PSSH_EREMOTE, "'%s': the server lists '%.100s', which is not a file name", j->source,
			name);
	else
		glob_match(j, name, a);
}

static void glob_reply(struct job *j, const struct sftp_reply *r)
{
	struct sftp_reply names = *r;
	const char *name;
	struct sftp_attrs a;
	size_t len;
	bool bad = false;

	if (r->op == OP_CLOSE) {
		j->open = false;
	} else if (r->kind == SFTP_HANDLE_IS) {
		j->handle = r->handle;
		j->open = true;
	} else if (r->kind == SFTP_NAMES) {
		if (!names.names)
			j->reading.ended = true;
		while (!j->fail.code && sftp_name(&names, &name, &len, &a, &bad))
			glob_name(j, name, len, &a);
		if (bad)
			job_fail(j, PSSH_EPROTO, "the server's list of '%s' is damaged", j->source);
	} else if (r->status == SFTP_EOF && j->open) {
		j->reading.ended = true;
	} else if (j->at == 0 || j->open) {
		job_fail_reply(j, r, "list", j->source);
	} else if (r->status == SFTP_PERMISSION_DENIED) {
		copy_say(j->copy, 0, "cannot list '%s' on the host: permission denied", j->source);
	}
}

static bool glob_open_send(struct job *j)
{
	return sftp_path(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_OPENDIR, j->source);
}

/* What is no directory, or may not be listed, has no matches. */
static bool glob_open_next(struct job *j)
{
	return j->open && job_go(j, GLOB_READ);
}

static bool glob_read_send(struct job *j)
{
	while (!j->reading.ended && j->asker.waiting < GLOB_AHEAD)
		if (!sftp_handle(&j->copy->sftp, &j->asker, OP_LIST, SFTP_REQ_READDIR, &j->handle))
			break;
	return j->reading.ended;
}

static bool glob_read_next(struct job *j)
{
	return job_go(j, GLOB_CLOSE);
}

static bool glob_close_send(struct job *j)
{
	return !j->open || sftp_handle(&j->copy->sftp, &j->asker, OP_CLOSE, SFTP_REQ_CLOSE, &j->handle);
}

static bool glob_end(struct job *j)
{
	(void)j;
	return false;
}

static const struct step glob_steps[] = {
	[GLOB_CLEAN] = { "clean", glob_close_send, glob_end },
	[GLOB_OPEN] = { "opendir", glob_open_send, glob_open_next },
	[GLOB_READ] = { "readdir", glob_read_send, glob_read_next },
	[GLOB_CLOSE] = { "close", glob_close_send, glob_end },
};

/* ---- The matches become sources -------------------------------------------------------- */

static int by_base(const void *a, const void *b)
{
	const struct glob_place *x = a, *y = b;

	return strcmp(path_base(x->path), path_base(y->path));
}

static bool glob_apart(struct job *j)
{
	struct glob *g = j->copy->glob;

	if (!g->found_count) {
		job_fail(j, PSSH_ENOENT, "no file on the host matches '%s'", j->copy->remote);
		return false;
	}
	qsort(g->found, g->found_count, sizeof *g->found, by_base);
	for (size_t i = 1; i < g->found_count; i++)
		if (by_base(&g->found[i - 1], &g->found[i]) == 0) {
			job_fail(j, PSSH_EREMOTE,
				"'%s' and '%s' on the host would both become '%s'; copy them one after the other",
				g->found[i - 1].path, g->found[i].path, path_base(g->found[i].path));
			return false;
		}
	return true;
}

/* The common parent has a name that no real path equals, so that it is nobody's parent for links. */
static bool glob_take(struct job *j)
{
	struct copy *c = j->copy;
	struct glob *g = c->glob;
	struct node *top = node_new(NULL, "", 0), *n = NULL;

	if (top)
		list_append(&c->lost_dirs, &top->link);
	c->root = strdup(c->local);
	if (!top || !(top->real = strdup("")) || !c->root)
		return job_no_memory(j);
	for (size_t i = 0; i < g->found_count; i++) {
		const char *base = path_base(g->found[i].path);

		n = node_new(top, base, strlen(base));
		if (!n)
			return job_no_memory(j);
		n->from = g->found[i].path;
		g->found[i].path = NULL;
		n->unsure = true;
		list_append(&c->files, &n->link);
		c->queued++;
		c->known++;
	}
	return true;
}

static bool glob_take_send(struct job *j)
{
	(void)j;
	return true;
}

static bool glob_take_next(struct job *j)
{
	struct copy *c = j->copy;

	c->rooted = true;
	/* A hostile name was refused already; say no more than that. */
	if ((c->first.code && !c->glob->found_count) || !glob_apart(j) || !get_ready(j))
		return j->fail.code != 0;
	if (glob_take(j))
		temp_tidy(c->root, c->machine);
	return j->fail.code != 0;
}

static const struct step take_steps[] = {
	[STEP_CLEAN] = { "clean", glob_take_send, glob_end },
	[STEP_FIRST] = { "take", glob_take_send, glob_take_next },
};

bool glob_begin(struct copy *c)
{
	struct glob *g = c->glob;
	struct job *j;

	for (; g->place_at < g->place_count && c->count < GLOB_JOBS; g->place_at++) {
		struct glob_place *p = &g->places[g->place_at];

		j = job_start(c, glob_steps, NULL);
		if (!j)
			return false;
		j->reply = glob_reply;
		j->silent = true;
		j->at = p->level;
		j->target = strdup(p->path);
		j->source = strdup(*p->path ? p->path : ".");
		if (!j->source || !j->target)
			job_no_memory(j);
		else if (strlen(j->source) > SFTP_PATH)
			job_fail(j, PSSH_EREMOTE, "'%s' on the host is longer than %d bytes", p->path, SFTP_PATH);
	}
	if (c->count == 0 && (j = job_start(c, take_steps, NULL)))
		j->silent = true;
	return false;
}
