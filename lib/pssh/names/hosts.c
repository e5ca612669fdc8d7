/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of host names as people write them: ranges, groups, exclusions. A call prepares its change
 * aside and applies it at the end, so a text that cannot be understood leaves the list as it was.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/table.h"
#include "pssh/names/hostrange.h"
#include "pssh/pssh.h"

enum {
	NAMES_MAX = 1000000,
	WORK_MAX = 10000000, /* names in one call, duplicates included */
	GROUPS_MAX = 100000, /* how many groups one call may resolve */
	GROUP_DEPTH = 32,
	FILE_MAX_BYTES = 128 << 20,
	INCLUDE_DEPTH = 16,
	INCLUDES_MAX = 1000,
};

#define SPACE " \t\r\n\f\v"

static const char standard_input[] = "standard input"; /* as a path, told apart by its address */

typedef int (*resolver)(void *arg, const char *group, struct pssh_list *into);

struct pssh_list {
	char **names;
	size_t count, cap;
	struct table index;               /* name -> not NULL */
	resolver resolve;
	void *resolve_arg;
	const struct pssh_list *parent;   /* the list for whose group this list is filled */
	const char *group;
	unsigned *groups_asked;
	struct fail f;
};

/* One call that adds or drops. */
struct job {
	struct pssh_list *list;
	struct pssh_list plus, minus;
	const char *path, *text;          /* path NULL: not a file */
	unsigned line, depth, includes;   /* depth: how many files include this one */
	size_t work;
	struct pssh_list *target;         /* where names go now */
	const char *at;                   /* and where they are in the text */
};

/* ---- The list itself ------------------------------------------------------------------- */

static void list_release(struct pssh_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	table_release(&l->index);
	l->names = NULL;
	l->count = l->cap = 0;
}

static int list_room(struct pssh_list *l)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	char **names;

	if (l->count < l->cap)
		return 0;
	names = realloc(l->names, cap * sizeof *names);
	if (!names)
		return PSSH_ENOMEM;
	l->names = names;
	l->cap = cap;
	return 0;
}

static bool list_has(const struct pssh_list *l, const char *name)
{
	return table_get(&l->index, name) != NULL;
}

/* Adds a name. 0 also if the list has it already; PSSH_EINVAL if the list is full. */
static int list_put(struct pssh_list *l, const char *name)
{
	char *copy;

	if (list_has(l, name))
		return 0;
	if (l->count == NAMES_MAX)
		return PSSH_EINVAL;
	if (list_room(l) != 0 || !(copy = strdup(name)))
		return PSSH_ENOMEM;
	if (table_set(&l->index, copy, l) != 0) {
		free(copy);
		return PSSH_ENOMEM;
	}
	l->names[l->count++] = copy;
	return 0;
}

/* Removes the names from number `count` on. */
static void list_cut(struct pssh_list *l, size_t count)
{
	while (l->count > count) {
		table_remove(&l->index, l->names[--l->count]);
		free(l->names[l->count]);
	}
}

static void list_subtract(struct pssh_list *l, const struct pssh_list *what)
{
	size_t kept = 0;

	if (!what->count || !l->count)
		return;
	for (size_t i = 0; i < l->count; i++) {
		if (list_has(what, l->names[i])) {
			table_remove(&l->index, l->names[i]);
			free(l->names[i]);
		} else {
			l->names[kept++] = l->names[i];
		}
	}
	l->count = kept;
}

static void list_swap(struct pssh_list *a, struct pssh_list *b)
{
	struct pssh_list was = *a;

	a->names = b->names, a->count = b->count, a->cap = b->cap, a->index = b->index;
	b->names = was.names, b->count = was.count, b->cap = was.cap, b->index = was.index;
}

/* ---- Errors ---------------------------------------------------------------------------- */

static int job_fail(struct job *j, int code, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int job_fail(struct job *j, int code, const char *at, const char *fmt, ...)
{
	size_t position = (size_t)(at - j->text) + 1;
	char what[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	if (j->path)
		return fail_set(&j->list->f, code, "cannot use '%.150s', line %u, position %zu: %s", j->path, j->line,
			position, what);
	return fail_set(&j->list->f, code, "cannot use '%.80s%s', position %zu: %s", j->text,
		strlen(j->text) > 80 ? "…" : "", position, what);
}

static int put_failed(struct job *j, int code, const char *at)
{
	if (code == PSSH_ENOMEM)
		return fail_set(&j->list->f, code, "out of memory");
	return job_fail(j, code, at, "more than 1,000,000 names");
}

/* ---- Groups ---------------------------------------------------------------------------- */

static int resolve_failed(struct job *j, const struct pssh_list *into, const char *at, int code)
{
	if (code > 0)
		code = PSSH_EINVAL;
	if (into->f.text[0] && j->list->group) /* the innermost sentence helps most */
		return fail_set(&j->list->f, code, "%s", into->f.text);
	if (into->f.text[0])
		return job_fail(j, code, at, "group '@%.60s': %.220s", into->group, into->f.text);
	if (code == PSSH_ENOENT)
		return job_fail(j, code, at, "there is no group '@%.60s'", into->group);
	return job_fail(j, code, at, "group '@%.60s' cannot be resolved: %s", into->group, pssh_strerror(code));
}

static int job_resolve(struct job *j, const char *group, struct pssh_list *target, const char *at)
{
	struct pssh_list *l = j->list, into = {
		.resolve = l->resolve, .resolve_arg = l->resolve_arg, .parent = l, .group = group,
	};
	unsigned depth = 0, asked = 0;
	int rc;

	if (!*group)
		return job_fail(j, PSSH_ESYNTAX, at, "a group's name expected after '@'");
	if (!l->resolve)
		return job_fail(j, PSSH_ENOENT, at, "there is no group '@%.60s': no groups are configured", group);
	for (const struct pssh_list *p = l; p; p = p->parent) {
		if (p->group && strcmp(p->group, group) == 0)
			return job_fail(j, PSSH_EINVAL, at, "group '@%.60s' contains itself", group);
		if (++depth > GROUP_DEPTH)
			return job_fail(j, PSSH_EINVAL, at, "groups are more than %d deep", GROUP_DEPTH);
	}
	into.groups_asked = l->groups_asked ? l->groups_asked : &asked;
	if (++*into.groups_asked > GROUPS_MAX)
		return job_fail(j, PSSH_EINVAL, at, "too many groups within groups");
	rc = l->resolve(l->resolve_arg, group, &into);
	if (rc)
		rc = resolve_failed(j, &into, at, rc);
	for (size_t i = 0; !rc && i < into.count; i++) {
		rc = ++j->work > WORK_MAX ? PSSH_EINVAL : list_put(target, into.names[i]);
		if (rc)
			rc = put_failed(j, rc, at);
	}
	list_release(&into);
	return rc;
}

static int job_emit(void *arg, const char *name)
{
	struct job *j = arg;
	int rc;

	if (++j->work > WORK_MAX)
		return job_fail(j, PSSH_EINVAL, j->at, "more than 10,000,000 names, duplicates included");
	if (name[0] == '@')
		return job_resolve(j, name + 1, j->target, j->at);
	rc = list_put(j->target, name);
	return rc ? put_failed(j, rc, j->at) : 0;
}

/* ---- Texts ----------------------------------------------------------------------------- */

static int take_term(struct job *j, const char *s, const char *end, struct pssh_list *target)
{
	struct hostrange range;
	const char *at;
	struct fail why;
	int rc;

	if (s == end)
		return job_fail(j, PSSH_ESYNTAX, s, "a name expected");
	if (*s == '-')
		return job_fail(j, PSSH_ESYNTAX, s, "a name cannot begin with '-'");
	rc = hostrange_parse(s, end, &range, &at, &why);
	if (rc)
		return job_fail(j, rc, at, "%s", why.text);
	j->target = target;
	j->at = s;
	if (hostrange_size(&range, NAMES_MAX) > NAMES_MAX)
		rc = job_fail(j, PSSH_EINVAL, s, "more than 1,000,000 names");
	else
		rc = hostrange_expand(&range, job_emit, j);
	hostrange_release(&range);
	return rc;
}

/* The next character of `what` outside brackets, or end. */
static const char *find_outside(const char *s, const char *end, const char *what)
{
	bool inside = false;

	for (; s < end; s++) {
		if (*s == '[')
			inside = true;
		else if (*s == ']')
			inside = false;
		else if (!inside && strchr(what, *s))
			return s;
	}
	return end;
}

/* "a!b!c": a without b and c. */
static int take_item(struct job *j, const char *s, const char *end, struct pssh_list *target)
{
	const char *stop = find_outside(s, end, "!");
	struct pssh_list all = { 0 }, without = { 0 };
	int rc;

	if (stop == end)
		return take_term(j, s, end, target);
	rc = take_term(j, s, stop, &all);
	while (!rc && stop < end) {
		s = stop + 1;
		stop = find_outside(s, end, "!");
		rc = take_term(j, s, stop, &without);
	}
	if (!rc)
		list_subtract(&all, &without);
	for (size_t i = 0; !rc && i < all.count; i++)
		if ((rc = list_put(target, all.names[i])) != 0)
			rc = put_failed(j, rc, s);
	list_release(&all);
	list_release(&without);
	return rc;
}

static int hosts_take_text(struct job *j, const char *s, const char *end)
{
	int rc = 0;

	for (;;) {
		const char *stop;

		while (s < end && strchr(SPACE ",", *s))
			s++;
		if (rc || s >= end)
			return rc;
		stop = find_outside(s, end, SPACE ",");
		if (*s == '-' || *s == '!')
			rc = take_item(j, s + 1, stop, &j->minus);
		else
			rc = take_item(j, s, stop, &j->plus);
		s = stop;
	}
}

/* ---- Applying a change ----------------------------------------------------------------- */

static int job_commit(struct job *j)
{
	struct pssh_list *l = j->list;
	size_t count = l->count;
	int rc = 0;

	list_subtract(&j->plus, &j->minus);
	if (!count)
		list_swap(l, &j->plus);
	for (size_t i = 0; count && !rc && i < j->plus.count; i++)
		rc = list_put(l, j->plus.names[i]);
	if (rc) {
		list_cut(l, count);
		return fail_set(&l->f, rc,
			rc == PSSH_ENOMEM ? "out of memory" : "more than 1,000,000 names in one list");
	}
	list_subtract(l, &j->minus);
	return 0;
}

static void job_release(struct job *j)
{
	list_release(&j->plus);
	list_release(&j->minus);
}

int pssh_list_new(struct pssh_list **out)
{
	struct pssh_list *l = calloc(1, sizeof *l);

	if (!l)
		return PSSH_ENOMEM;
	*out = l;
	return 0;
}

void pssh_list_free(struct pssh_list *l)
{
	if (!l)
		return;
	list_release(l);
	free(l);
}

const char *pssh_list_error(const struct pssh_list *l)
{
	return l->f.text;
}

int pssh_list_set_resolver(struct pssh_list *l, resolver fn, void *arg)
{
	l->resolve = fn;
	l->resolve_arg = arg;
	return 0;
}

int pssh_list_add(struct pssh_list *l, const char *text)
{
	struct job j = { .list = l, .text = text };
	int rc = hosts_take_text(&j, text, text + strlen(text));

	if (!rc)
		rc = job_commit(&j);
	job_release(&j);
	return rc;
}

int pssh_list_drop(struct pssh_list *l, const char *text)
{
	struct job j = { .list = l, .text = text };
	int rc = hosts_take_text(&j, text, text + strlen(text));

	if (!rc) {
		list_subtract(&j.plus, &j.minus);
		list_subtract(l, &j.plus);
	}
	job_release(&j);
	return rc;
}

static int take_file(struct job *j, const char *path);

/* "#include FILE", relative to the file that it stands in. */
static int take_include(struct job *j, char *at, char *end)
{
	const char *slash = strrchr(j->path, '/');
	char *path;
	int rc;

	at += strspn(at, SPACE);
	while (end > at && strchr(SPACE, end[-1]))
		*--end = '\0';
	if (!*at || at[strcspn(at, SPACE)])
		return job_fail(j, PSSH_ESYNTAX, at, "'#include' takes the name of one file");
	if (j->path == standard_input)
		return job_fail(j, PSSH_EINVAL, at, "standard input cannot include files");
	if (j->depth == INCLUDE_DEPTH)
		return job_fail(j, PSSH_EINVAL, at, "files more than %d deep; do they include each other?",
			INCLUDE_DEPTH);
	if (++j->includes > INCLUDES_MAX)
		return job_fail(j, PSSH_EINVAL, at, "more than %d files included", INCLUDES_MAX);
	if (asprintf(&path, "%.*s%s", *at == '/' || !slash ? 0 : (int)(slash + 1 - j->path), j->path, at) < 0)
		return fail_set(&j->list->f, PSSH_ENOMEM, "out of memory");
	rc = take_file(j, path);
	free(path);
	return rc;
}

static int take_line(struct job *j, char *line, char *end)
{
	char *comment = strchr(line, '#');

	if (comment && comment == line + strspn(line, SPACE) && strncmp(comment, "#include", 8) == 0 &&
		(!comment[8] || strchr(SPACE, comment[8])))
		return take_include(j, comment + 8, end);
	if (comment)
		*comment = '\0';
	return hosts_take_text(j, line, comment ? comment : end);
}

static int take_lines(struct job *j, struct buf *text)
{
	char *line = text->data, *end = line ? line + text->len : NULL;
	int rc = 0;

	while (!rc && line && line < end) {
		char *stop = memchr(line, '\n', (size_t)(end - line));

		if (!stop)
			stop = end;
		*stop = '\0';
		j->line++;
		j->text = line;
		if (memchr(line, '\0', (size_t)(stop - line)))
			return job_fail(j, PSSH_ESYNTAX, line + strlen(line), "a NUL byte; is this a text file?");
		rc = take_line(j, line, stop);
		line = stop + 1;
	}
	return rc;
}

static int read_failed(struct job *j, const char *path, int rc)
{
	struct fail *f = &j->list->f;
	int code = rc == -ENOENT ? PSSH_ENOENT : PSSH_ELOCAL;

	if (rc == -ENOMEM)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	if (j->path)
		return fail_errno(f, code, -rc, "cannot read '%.200s', which '%.200s' includes in line %u", path,
			j->path, j->line);
	return fail_errno(f, code, -rc, "cannot read '%.300s'", path);
}

/* Of a file that another includes, the job then continues in that one. */
static int take_file(struct job *j, const char *path)
{
	struct job outer = *j;
	struct buf text;
	int rc;

	buf_init(&text, FILE_MAX_BYTES);
	rc = path == standard_input ? buf_read_fd(&text, STDIN_FILENO) : buf_read_file(&text, path);
	if (rc) {
		rc = read_failed(j, path, rc);
	} else {
		j->path = path;
		j->line = 0;
		j->depth++;
		rc = take_lines(j, &text);
		j->depth--;
		j->path = outer.path;
		j->text = outer.text;
		j->line = outer.line;
	}
	buf_release(&text);
	return rc;
}

int pssh_list_add_file(struct pssh_list *l, const char *path)
{
	struct job j = { .list = l };
	int rc = take_file(&j, strcmp(path, "-") == 0 ? standard_input : path);

	if (!rc)
		rc = job_commit(&j);
	job_release(&j);
	return rc;
}

size_t pssh_list_count(const struct pssh_list *l)
{
	return l->count;
}

const char *pssh_list_get(const struct pssh_list *l, size_t i)
{
	return i < l->count ? l->names[i] : NULL;
}
