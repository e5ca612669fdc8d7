/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inventory/hostconf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "conf/conf.h"

enum { CONF_TEXT_MAX = 1 << 20, CONF_LINES_MAX = 10000 };

struct hostconf_line {
	const char *section; /* of the text that was cut up */
	char *key, *value;
};

struct hostconf_lines {
	char *text; /* cut up */
	struct hostconf_line *list;
	size_t count;
};

static char *hostconf_copy(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		command_nomem();
	return copy;
}

/* ---- Lines ------------------------------------------------------------------------------ */

static char *hostconf_trim(char *text)
{
	size_t len;

	text += strspn(text, " \t\r");
	for (len = strlen(text); len && strchr(" \t\r", text[len - 1]);)
		text[--len] = '\0';
	return text;
}

static void hostconf_lines_release(struct hostconf_lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].value);
	free(l->list);
	free(l->text);
	*l = (struct hostconf_lines){ .count = 0 };
}

/* An indented line continues the value above it. */
static void hostconf_continue(struct hostconf_lines *l, const char *more)
{
	struct hostconf_line *last = &l->list[l->count - 1];
	char *joined;

	if (asprintf(&joined, "%s\n%s", last->value, more) < 0)
		command_nomem();
	free(last->value);
	last->value = joined;
}

static bool hostconf_key(struct hostconf_lines *l, const char *section, char *line)
{
	char *end = strpbrk(line, ":=");

	if (!end || !section || l->count == CONF_LINES_MAX)
		return false;
	l->list = reallocarray(l->list, l->count + 1, sizeof *l->list);
	if (!l->list)
		command_nomem();
	*end = '\0';
	for (char *p = line; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	l->list[l->count++] = (struct hostconf_line){ section, hostconf_trim(line),
		hostconf_copy(hostconf_trim(end + 1)) };
	return true;
}

/* As Python's ConfigParser reads it. */
static int hostconf_cut(const char *text, struct hostconf_lines *l, struct fail *f)
{
	char *rest = hostconf_copy(text), *line, *start, *end;
	const char *section = NULL;
	unsigned number = 0;

	*l = (struct hostconf_lines){ .text = rest };
	while ((line = strsep(&rest, "\n"))) {
		bool indented = *line == ' ' || *line == '\t';

		number++;
		start = hostconf_trim(line);
		if (!*start || *start == '#' || *start == ';')
			continue;
		if (indented && l->count && l->list[l->count - 1].section == section) {
			hostconf_continue(l, start);
			continue;
		}
		end = *start == '[' ? strchr(start, ']') : NULL;
		if (end) {
			*end = '\0';
			section = start + 1;
		} else if (!hostconf_key(l, section, start)) {
			return fail_set(f, -EINVAL, "line %u: '%.60s' is no 'KEY: VALUE' of a section", number, start);
		}
	}
	return 0;
}

static const char *hostconf_value(const struct hostconf_lines *l, const char *section, const char *key)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i].section, section) == 0 && strcmp(l->list[i].key, key) == 0)
			return l->list[i].value;
	return NULL;
}

static bool hostconf_is_source(const struct hostconf_line *l)
{
	return strcmp(l->section, "Main") != 0 && !strchr(l->section, ':') &&
		(strcmp(l->key, "map") == 0 || strcmp(l->key, "mapall") == 0);
}

bool hostconf_is(const char *path, const char *text)
{
	static const char *const keys[] = { "default", "confdir", "groupsdir", "autodir" };
	const char *dot = strrchr(path, '.');
	struct hostconf_lines l;
	bool found;

	/* Ansible's INI may have such lines too, and must not become commands. */
	if (!dot || strcmp(dot, ".conf") != 0)
		return false;
	found = hostconf_cut(text, &l, NULL) == 0;
	if (found) {
		found = false;
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			found |= hostconf_value(&l, "Main", keys[i]) != NULL;
		for (size_t i = 0; i < l.count; i++)
			found |= hostconf_is_source(&l.list[i]);
	}
	hostconf_lines_release(&l);
	return found;
}

/* ---- Sources ---------------------------------------------------------------------------- */

static char *hostconf_maybe(const char *text)
{
	return text ? hostconf_copy(text) : NULL;
}

static int hostconf_twice(const struct hostbook *b, const char *name, struct fail *f)
{
	for (size_t i = 0; i < b->source_count; i++)
		if (strcmp(b->sources[i].name, name) == 0)
			return fail_set(f, -EINVAL, "source '%.60s' is there twice", name);
	return 0;
}

/* "[slurmpart,sp]": one source by two names. */
static int hostconf_sections(struct hostbook *b, const struct hostconf_lines *l, const char *folder, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < l->count; i++) {
		const char *section = l->list[i].section;
		char *names, *rest, *name;

		/* Once a section, at its first line. */
		if (strcmp(section, "Main") == 0 || (i && l->list[i - 1].section == section))
			continue;
		if (!hostconf_value(l, section, "map") && !hostconf_value(l, section, "mapall"))
			return fail_set(f, -EINVAL, "section '%.60s' has neither 'map' nor 'mapall'", section);
		rest = names = hostconf_copy(section);
		while (!rc && (name = strsep(&rest, ","))) {
			struct hostbook_source *s;

			rc = hostconf_twice(b, name, f);
			if (rc)
				break;
			s = hostbook_add_source(b, name);
			s->folder = hostconf_copy(folder);
			s->map = hostconf_maybe(hostconf_value(l, section, "map"));
			s->all = hostconf_maybe(hostconf_value(l, section, "all"));
			s->list = hostconf_maybe(hostconf_value(l, section, "list"));
			s->mapall = hostconf_maybe(hostconf_value(l, section, "mapall"));
		}
		free(names);
	}
	return rc;
}

/* What it names is run. */
static int hostconf_trust(const struct stat *st, struct fail *f)
{
	if (!S_ISREG(st->st_mode))
		return fail_set(f, -EINVAL, "it is no regular file");
	if (st->st_mode & 022)
		return fail_set(f, -EPERM,
			"others may write it, and it names commands to run; 'chmod go-w' fixes that");
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return fail_set(f, -EPERM, "it names commands to run, and is neither yours nor root's");
	return 0;
}

static int hostconf_part(struct hostbook *b, const char *path, const char *folder, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct hostconf_lines l = { .count = 0 };
	struct stat st;
	struct buf text;

	if (fd < 0)
		return 0; /* as ClusterShell does with what it may not read */
	buf_init(&text, CONF_TEXT_MAX);
	rc = fstat(fd, &st) < 0 ? fail_errno(f, -errno, errno, "cannot read it") : hostconf_trust(&st, f);
	if (!rc && (rc = buf_read_fd(&text, fd)))
		fail_set(f, rc, "%s", strerror(-rc));
	close(fd);
	rc = rc ? rc : hostconf_cut(buf_text(&text), &l, f);
	rc = rc ? rc : hostconf_sections(b, &l, folder, f);
	hostconf_lines_release(&l);
	buf_release(&text);
	return rc;
}

/* Groups of one source: "io: n[1-3]" or a list. */
static int hostconf_groups(struct hostbook *b, const struct conf *source, struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < source->count; i++) {
		const struct conf *one = &source->items[i];
		char *name;

		if (asprintf(&name, "%s:%s", source->key, one->key) < 0)
			command_nomem();
		rc = hostbook_put(b, name, one->type == CONF_TEXT ? one->text : "", f);
		for (size_t k = 0; !rc && one->type == CONF_LIST && k < one->count; k++)
			if (one->items[k].type == CONF_TEXT)
				rc = hostbook_put(b, name, one->items[k].text, f);
		free(name);
	}
	return rc;
}

static int hostconf_tree(struct hostbook *b, const char *path, const char *folder, struct fail *f)
{
	struct conf_file *file = NULL;
	int rc = access(path, R_OK) == 0 ? conf_read(path, &file, f) : 0;

	(void)folder;
	for (size_t i = 0; file && !rc && i < file->root.count; i++) {
		const struct conf *source = &file->root.items[i];

		if (source->type != CONF_MAP)
			rc = fail_set(f, -EINVAL, "source '%.60s' is no map of groups", source->key);
		rc = rc ? rc : hostconf_twice(b, source->key, f);
		if (!rc)
			hostbook_add_source(b, source->key);
		rc = rc ? rc : hostconf_groups(b, source, f);
	}
	if (file)
		conf_free(file);
	return rc;
}

typedef int (*hostconf_file)(struct hostbook *b, const char *path, const char *folder, struct fail *f);

/* Each file of that ending in the folders of a line, in order of its name. */
static int hostconf_folders(struct hostbook *b, const char *line, const char *cfgdir, const char *ending,
	hostconf_file take, struct fail *f)
{
	const char *const names[] = { "CFGDIR", cfgdir, NULL };
	char *filled = hostconf_fill(line ? line : "", names), *rest = filled, *folder, *pattern;
	struct fail why = { 0 };
	int rc = 0;

	while (!rc && (folder = strsep(&rest, " \t\n"))) {
		glob_t found;

		if (!*folder)
			continue;
		if (asprintf(&pattern, "%s/*%s", folder, ending) < 0)
			command_nomem();
		if (glob(pattern, 0, NULL, &found) == 0) {
			for (size_t i = 0; !rc && i < found.gl_pathc; i++) {
				rc = take(b, found.gl_pathv[i], folder, &why);
				if (rc)
					fail_set(f, rc, "'%.200s': %s", found.gl_pathv[i], why.text);
			}
			globfree(&found);
		}
		free(pattern);
	}
	free(filled);
	return rc;
}

static int hostconf_choose(struct hostbook *b, const char *name, struct fail *f)
{
	for (size_t i = 0; i < b->source_count; i++)
		if (!name || !*name || strcmp(b->sources[i].name, name) == 0) {
			b->standard = hostconf_copy(b->sources[i].name);
			return 0;
		}
	return name && *name ? fail_set(f, -EINVAL, "its default source '%.60s' is nowhere", name) : 0;
}

int hostconf_read(struct hostbook *b, const char *path, const char *text, const struct stat *st, struct fail *f)
{
	const char *slash = strrchr(path, '/'), *more;
	char *folder = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
	struct hostconf_lines l = { .count = 0 };
	int rc = hostconf_trust(st, f);

	if (!folder)
		command_nomem();
	if (!rc && b->source_count)
		rc = fail_set(f, -EINVAL, "only one groups.conf can be used at a time");
	rc = rc ? rc : hostconf_cut(text, &l, f);
	if (!rc) {
		more = hostconf_value(&l, "Main", "groupsdir");
		more = more ? more : hostconf_value(&l, "Main", "confdir");
		rc = hostconf_folders(b, more, folder, ".conf", hostconf_part, f);
		rc = rc ? rc
			: hostconf_folders(b, hostconf_value(&l, "Main", "autodir"), folder, ".yaml", hostconf_tree, f);
		rc = rc ? rc : hostconf_sections(b, &l, folder, f);
		rc = rc ? rc : hostconf_choose(b, hostconf_value(&l, "Main", "default"), f);
	}
	hostconf_lines_release(&l);
	free(folder);
	return rc;
}

/* ---- Filling in ------------------------------------------------------------------------- */

static size_t hostconf_word(const char *text)
{
	size_t n = 0;

	if (isalpha((unsigned char)*text) || *text == '_')
		while (isalnum((unsigned char)text[n]) || text[n] == '_')
			n++;
	return n;
}

char *hostconf_fill(const char *text, const char *const *names)
{
	char *copy;
	struct buf b;

	buf_init(&b, CONF_TEXT_MAX);
	while (*text) {
		bool braced = text[0] == '$' && text[1] == '{';
		const char *word = text + 1 + braced, *value = NULL;
		size_t n = *text == '$' ? hostconf_word(word) : 0;

		for (size_t i = 0; n && (!braced || word[n] == '}') && names[i]; i += 2)
			if (strlen(names[i]) == n && strncmp(names[i], word, n) == 0)
				value = names[i + 1];
		if (value) {
			if (buf_adds(&b, value))
				command_nomem();
			text = word + n + braced;
			continue;
		}
		if (buf_addc(&b, *text))
			command_nomem();
		text += text[0] == '$' && text[1] == '$' ? 2 : 1;
	}
	copy = hostconf_copy(buf_text(&b));
	buf_release(&b);
	return copy;
}
