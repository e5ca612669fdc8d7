/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/report/clusterlogs.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/report/runlog.h"

enum { KEPT_MAX = 4 << 20, PATH_ROOM = 4096, ROW_WORD = 64, WORDS_MAX = 2000 };

/* A line of stack->logs, "WORD ROLE KIND WHAT"; what: not copied. */
struct row {
	char word[ROW_WORD], role[ROW_WORD], kind[16];
	const char *what;
	size_t len;
};

static void *clusterlogs_need(void *memory)
{
	if (!memory)
		command_nomem();
	return memory;
}

static char *clusterlogs_copy_of(const char *text)
{
	return text ? clusterlogs_need(strdup(text)) : NULL;
}

/* ---- What was kept ------------------------------------------------------------------------- */

bool clusterlogs_known(const char *cluster)
{
	char **names = runlog_clusters();
	bool known = false;

	for (char **n = names; n && *n; n++) {
		known |= strcmp(*n, cluster) == 0;
		free(*n);
	}
	free(names);
	return known;
}

static int clusterlogs_add_lines(const char *text, const char *pattern, struct pssh_list *into)
{
	int rc = 0;

	while (!rc && *text) {
		size_t len = strcspn(text, "\n");
		char *name = clusterlogs_need(strndup(text, len));

		if (*name && (!pattern || str_glob(pattern, name)))
			rc = pssh_list_add(into, name);
		free(name);
		text += len + (text[len] == '\n');
	}
	return rc;
}

/* A group means the members that the cluster got when it was made, even if the group has changed since. */
static int clusterlogs_expand(void *arg, const char *text, struct pssh_list *into, struct fail *f)
{
	const char *members = arg;
	int rc;

	if (*text == '@')
		rc = clusterlogs_add_lines(members, NULL, into);
	else if (strpbrk(text, "*?"))
		rc = clusterlogs_add_lines(members, text, into);
	else
		rc = pssh_list_add(into, text);
	return rc ? fail_set(f, -EINVAL, "'%s' names no hosts: %s", text, pssh_list_error(into)) : 0;
}

int clusterlogs_open(const char *cluster, const struct log_want *w, struct clusterlogs **out, struct fail *f)
{
	struct clusterlogs *c = clusterlogs_need(calloc(1, sizeof *c));
	struct buf text, members;
	char folder[PATH_ROOM];
	int rc;

	buf_init(&text, KEPT_MAX);
	buf_init(&members, KEPT_MAX);
	rc = stack_folders(folder, sizeof folder, f);
	rc = rc ? rc : runlog_kept(cluster, &text, f);
	rc = rc ? rc : runlog_members(cluster, &members, f);
	rc = rc ? rc
		: cluster_parse(cluster, buf_text(&text), text.len, folder, clusterlogs_expand,
			  (void *)buf_text(&members), &c->cluster, f);
	buf_release(&text);
	buf_release(&members);
	if (rc) {
		free(c);
		return rc;
	}
	c->want = w;
	c->left_out = clusterlogs_need(calloc(c->cluster->count + 1, sizeof *c->left_out));
	*out = c;
	return 0;
}

void clusterlogs_free(struct clusterlogs *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++) {
		free(c->at[i].what);
		free(c->at[i].name);
		free(c->at[i].unit);
	}
	free(c->at);
	free(c->left_out);
	cluster_free(c->cluster);
	free(c);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool clusterlogs_take_word(const char **p, const char *end, char *room, size_t size)
{
	const char *s = *p, *e = s;

	while (e < end && !isspace((unsigned char)*e))
		e++;
	if (e == s || (size_t)(e - s) >= size)
		return false;
	memcpy(room, s, (size_t)(e - s));
	room[e - s] = '\0';
	while (e < end && isspace((unsigned char)*e))
		e++;
	*p = e;
	return true;
}

/* Reads the next row and moves *at behind it. */
static bool next_row(const char **at, struct row *r)
{
	while (*at && **at) {
		const char *p = *at, *end = p + strcspn(p, "\n");

		*at = *end ? end + 1 : end;
		if (clusterlogs_take_word(&p, end, r->word, sizeof r->word) &&
			clusterlogs_take_word(&p, end, r->role, sizeof r->role) &&
			clusterlogs_take_word(&p, end, r->kind, sizeof r->kind) && p < end) {
			r->what = p;
			r->len = (size_t)(end - p);
			return true;
		}
	}
	return false;
}

static bool has_row(const struct stack *s, const char *word)
{
	const char *at = s->logs;
	struct row r;

	while (next_row(&at, &r))
		if (strcmp(r.word, word) == 0)
			return true;
	return false;
}

static bool is_role(const struct use *u, size_t member, const char *role)
{
	return strcmp(role, "all") == 0 ? u->roles[member] != 0 : cluster_has_role(u, member, role);
}

void clusterlogs_put(struct clusterlogs *c, size_t member, enum log_kind kind, const char *what, const char *unit,
	const char *name)
{
	if (c->left_out[member])
		return;
	c->at = clusterlogs_need(realloc(c->at, (c->count + 1) * sizeof *c->at));
	c->at[c->count++] = (struct clusterlog){ member, kind, clusterlogs_copy_of(what), clusterlogs_copy_of(name),
		clusterlogs_copy_of(unit), false };
}

static bool find_server(const struct clusterlogs *c, size_t *out)
{
	const struct use *u = cluster_use(c->cluster, "k3s");

	for (size_t i = 0; u && i < c->cluster->count; i++)
		if (cluster_has_role(u, i, "servers") && !c->left_out[i]) {
			*out = i;
			return true;
		}
	return false;
}

/* The command that prints the log files of a folder: *.log, *.out and *.err. */
static char *folder_command(const struct clusterlogs *c, const char *folder)
{
	long lines = logsource_lines(c->want);
	struct buf b;
	int rc;

	buf_init(&b, PATH_ROOM * 2);
	rc = buf_adds(&b, "cd ");
	rc = rc ? rc : str_quote_sh(&b, folder);
	rc = rc ? rc
		: buf_addf(&b,
			  " && set -- && for f in *.log *.out *.err; do [ ! -f \"$f\" ] || set -- \"$@\" \"$f\"; done "
			  "&& "
			  "{ [ $# = 0 ] || tail -q -n %s%ld %s -- \"$@\"; }",
			  lines < 0 ? "+" : "", lines < 0 ? 1 : lines, c->want->follow ? "-F" : "");
	if (rc)
		command_nomem();
	return clusterlogs_need(buf_steal(&b));
}

/* The sources of one log: the rows that share a word and a role. */
struct parts {
	char *file, *unit, *command, *dir, *pod;
};

static void read_parts(const struct stack *s, const struct row *like, struct parts *out)
{
	const struct {
		const char *kind;
		char **place;
	} kinds[] = { { "file", &out->file }, { "unit", &out->unit }, { "command", &out->command },
		{ "dir", &out->dir }, { "pod", &out->pod } };
	const char *at = s->logs;
	struct row r;

	while (next_row(&at, &r))
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			if (strcmp(r.kind, kinds[i].kind) == 0 && !*kinds[i].place && strcmp(r.word, like->word) == 0 &&
				strcmp(r.role, like->role) == 0)
				*kinds[i].place = clusterlogs_need(strndup(r.what, r.len));
}

/*
 * Rows of one word and role are one log: its file, else a unit's journal, else a command's output, else a folder's
 * files; or a pod.
 */
static void clusterlogs_add_row(struct clusterlogs *c, const struct use *u, const struct row *first)
{
	struct parts p = { 0 };
	size_t server;

	read_parts(u->stack, first, &p);
	if (p.dir && !p.command)
		p.command = folder_command(c, p.dir);
	for (size_t i = 0; i < c->cluster->count; i++) {
		if (!is_role(u, i, first->role))
			continue;
		if (p.file)
			clusterlogs_put(c, i, LOG_FILE, p.file, p.unit, first->word);
		else if (p.unit)
			clusterlogs_put(c, i, LOG_JOURNAL, p.unit, NULL, first->word);
		else if (p.command)
			clusterlogs_put(c, i, LOG_COMMAND, p.command, NULL, first->word);
	}
	if (p.pod && find_server(c, &server))
		clusterlogs_put(c, server, LOG_POD, p.pod, NULL, first->word);
	free(p.file);
	free(p.unit);
	free(p.command);
	free(p.dir);
	free(p.pod);
}

static bool clusterlogs_seen_before(const struct stack *s, const struct row *row)
{
	const char *at = s->logs;
	struct row r;

	while (next_row(&at, &r) && r.what != row->what)
		if (strcmp(r.word, row->word) == 0 && strcmp(r.role, row->role) == 0)
			return true;
	return false;
}

/* The stack's name means all its logs, unless one of them has that name. */
static bool is_all_of(const struct stack *s, const char *word)
{
	return s->logs && *s->logs && strcmp(s->name, word) == 0 && !has_row(s, word);
}

/* word NULL: every word, except those of base. */
static void add_rows(struct clusterlogs *c, const char *word)
{
	for (size_t i = 0; i < c->cluster->use_count; i++) {
		const struct use *u = &c->cluster->uses[i];
		const char *at = word || strcmp(u->stack->name, "base") != 0 ? u->stack->logs : NULL;
		bool all = !word || is_all_of(u->stack, word);
		struct row r;

		while (next_row(&at, &r))
			if ((all || strcmp(word, r.word) == 0) && !clusterlogs_seen_before(u->stack, &r))
				clusterlogs_add_row(c, u, &r);
	}
}

/* Nobody named each of them: one that is not there is no error. */
static void add_optional(struct clusterlogs *c, const char *word)
{
	size_t before = c->count;

	add_rows(c, word);
	for (size_t i = before; i < c->count; i++)
		c->at[i].optional = true;
}

void clusterlogs_all(struct clusterlogs *c)
{
	add_optional(c, NULL);
}

/* ---- Words ------------------------------------------------------------------------------------ */

static bool has_word(const struct clusterlogs *c, const char *word)
{
	for (size_t i = 0; i < c->cluster->use_count; i++)
		if (has_row(c->cluster->uses[i].stack, word))
			return true;
	return false;
}

bool clusterlogs_word(const struct clusterlogs *c, const char *word)
{
	if (str_starts(word, "pod/") || str_starts(word, "job/"))
		return true;
	for (size_t i = 0; i < c->cluster->use_count; i++)
		if (is_all_of(c->cluster->uses[i].stack, word))
			return true;
	return has_word(c, word);
}

size_t clusterlogs_members(const struct clusterlogs *c, const char *stack, const char *role, size_t *room, size_t size)
{
	const struct use *u = cluster_use(c->cluster, stack);
	size_t n = 0;

	for (size_t i = 0; u && i < c->cluster->count && n < size; i++)
		if (is_role(u, i, role))
			room[n++] = i;
	return n;
}

static void list_words(const struct clusterlogs *c, struct buf *out)
{
	for (size_t i = 0; i < c->cluster->use_count; i++) {
		const struct stack *s = c->cluster->uses[i].stack;
		const char *at = s->logs;
		struct row r;

		while (next_row(&at, &r))
			if (!clusterlogs_seen_before(s, &r) && buf_addf(out, "%s, ", r.word) != 0)
				return;
	}
}

static int no_word(const struct clusterlogs *c, const char *word, struct fail *f)
{
	struct buf words;

	buf_init(&words, WORDS_MAX);
	list_words(c, &words);
	fail_set(f, -EINVAL,
		"'%s' is not a log of cluster '%s': use %spod/[NAMESPACE/]NAME, job/ID, journal, a unit "
		"('ssh.service' or 'unit:ssh') or a path",
		word, c->cluster->name, buf_text(&words));
	buf_release(&words);
	return -EINVAL;
}

/* Splits "[NAMESPACE/]NAME[:CONTAINER]" into names that Kubernetes allows. */
static bool is_pod(const char *what)
{
	int slashes = 0, colons = 0;
	char before = '/';

	for (const char *p = what; *p; before = *p++) {
		bool mark = *p == '/' || *p == ':';

		slashes += *p == '/';
		colons += *p == ':';
		if ((mark && (before == '/' || before == ':')) || (*p == '/' && colons) ||
		    (!mark && !islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '-' && *p != '.') ||
		    (*p == '-' && (before == '/' || before == ':')))
			return false;
	}
	return before != '/' && before != ':' && slashes <= 1 && colons <= 1;
}

static int add_pod(struct clusterlogs *c, const char *word, struct fail *f)
{
	size_t server;

	if (!is_pod(word + 4))
		return fail_set(f, -EINVAL,
			"'%s' is not a pod: use 'pod/NAME', 'pod/NAMESPACE/NAME' or 'pod/NAME:CONTAINER'", word);
	if (!cluster_use(c->cluster, "k3s"))
		return fail_set(f, -ENOENT, "cluster '%s' has no Kubernetes, so no '%s'", c->cluster->name, word);
	if (!find_server(c, &server))
		return fail_set(f, -ENOENT, "cluster '%s' has no Kubernetes server to ask for '%s'", c->cluster->name,
			word);
	clusterlogs_put(c, server, LOG_POD, word + 4, NULL, word);
	return 0;
}

int clusterlogs_add(struct clusterlogs *c, const char *word, struct fail *f)
{
	size_t before = c->count;
	enum log_kind kind;
	const char *what;

	if (str_starts(word, "pod/"))
		return add_pod(c, word, f);
	if (clusterlogs_word(c, word)) {
		if (has_word(c, word))
			add_rows(c, word);
		else
			add_optional(c, word);
		return c->count > before
			? 0
			: fail_set(f, -ENOENT, "no node of cluster '%s' has '%s'", c->cluster->name, word);
	}
	if (logsource_what(word, &kind, &what, f) != 0)
		return no_word(c, word, f);
	for (size_t i = 0; i < c->cluster->count; i++)
		clusterlogs_put(c, i, kind, what, NULL, kind == LOG_FILE ? NULL : word);
	return 0;
}

/* ---- What failed --------------------------------------------------------------------------------- */

/* What the kernel logs about broken accelerators, memory and disks; iso times, so that lines can be sorted. */
static const char kernel_command[] = "dmesg --time-format iso 2>/dev/null | grep -E 'NVRM: Xid|amdgpu.*(reset|RAS|ring "
				     ".* timeout)|habanalabs.*(error|reset)|i915.*GPU HANG|"
				     "Out of memory|oom-kill|Machine Check|mce: .*[Ee]rror|EXT4-fs error|XFS "
				     ".*(error|shutdown)|I/O error|blocked for more than'; :";

void clusterlogs_failed(struct clusterlogs *c)
{
	for (size_t i = 0; i < c->cluster->count; i++) {
		clusterlogs_put(c, i, LOG_FAILED, "", NULL, "failed units");
		if (cluster_use(c->cluster, "slurm") && is_role(cluster_use(c->cluster, "slurm"), i, "all"))
			clusterlogs_put(c, i, LOG_JOURNAL, "munge", NULL, "munge");
		clusterlogs_put(c, i, LOG_COMMAND, kernel_command, NULL, "kernel");
	}
}
