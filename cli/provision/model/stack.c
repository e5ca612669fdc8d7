/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/stack.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/model/stack_part.h"
#include "cli/frame/value.h"

#ifndef STACKS_DIR
#define STACKS_DIR "/usr/share/nanopod/stacks"
#endif

enum { WORD_MAX = 48 };

/* ---- Where stacks are ------------------------------------------------------------------ */

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder of the program; in a build tree without the .libs at its end. */
static bool own_folder(char own[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", own, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	own[n] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	*slash = '\0';
	n = slash - own;
	if (n > 6 && strcmp(own + n - 6, "/.libs") == 0)
		own[n - 6] = '\0';
	return true;
}

static bool stack_beside(const char *own, const char *way, char room[PATH_MAX])
{
	return (size_t)snprintf(room, PATH_MAX, "%s/%s", own, way) < PATH_MAX && access(room, F_OK) == 0;
}

/* The source tree comes first, so that a developer's build does not use installed stacks. */
static bool find_folder(char found[PATH_MAX])
{
	static const char *const ways[] = { "stacks", "../stacks", "../src/stacks" };
	char own[PATH_MAX];
	bool known = own_folder(own);

	if (known && stack_beside(own, "config.status", found))
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
			if (stack_beside(own, ways[i], found))
				return true;
	snprintf(found, PATH_MAX, "%s", STACKS_DIR);
	if (is_folder(found))
		return true;
	/* An installed tree that somebody moved as a whole. */
	return known && stack_beside(own, "../share/nanopod/stacks", found);
}

static int fail_long(const char *path, struct fail *f)
{
	return fail_set(f, -ENAMETOOLONG, "cannot read the stacks in '%.200s': the path is too long", path);
}

int stack_own_folder(char *room, size_t size, struct fail *f)
{
	const char *xdg = getenv("XDG_CONFIG_HOME");
	char *config = xdg && *xdg == '/' ? strdup(xdg) : str_expand_home("~/.config");
	int n = config ? snprintf(room, size, "%s/nanopod/stacks", config) : -1;

	free(config);
	return n < 0 || (size_t)n >= size ? fail_long("~/.config/nanopod/stacks", f) : 0;
}

static int add_folder(char *room, size_t size, const char *path, struct fail *f)
{
	size_t len = strlen(room);
	int n = snprintf(room + len, size - len, "%s%s", len ? ":" : "", path);

	return n < 0 || (size_t)n >= size - len ? fail_long(path, f) : 0;
}

static int add_shipped(char *room, size_t size, struct fail *f)
{
	char found[PATH_MAX];

	if (!find_folder(found))
		return fail_set(f, -ENOENT,
			"cannot find the stacks: neither '%s' nor a folder 'stacks' beside nanopod exists; "
			"set NANOPOD_STACKS to one",
			STACKS_DIR);
	return add_folder(room, size, found, f);
}

static int add_named(char *room, size_t size, const char *names, struct fail *f)
{
	int rc = 0;

	while (!rc) {
		size_t len = strcspn(names, ":");
		char *one = strndup(names, len);

		if (!one)
			command_nomem();
		if (!*one)
			rc = add_shipped(room, size, f);
		else if (!is_folder(one))
			rc = fail_set(f, -ENOENT,
				"cannot read the stacks in '%s', which NANOPOD_STACKS names: no such folder", one);
		else
			rc = add_folder(room, size, one, f);
		free(one);
		if (!names[len])
			break;
		names += len + 1;
	}
	return rc;
}

int stack_folders(char *room, size_t size, struct fail *f)
{
	const char *said = getenv("NANOPOD_STACKS");
	char own[PATH_MAX];
	int rc = 0;

	*room = '\0';
	if (said && *said)
		return add_named(room, size, said, f);
	if (stack_own_folder(own, sizeof own, NULL) == 0 && is_folder(own) && !strchr(own, ':'))
		rc = add_folder(room, size, own, f);
	return rc ? rc : add_shipped(room, size, f);
}

bool stack_find(const char *folders, const char *name, char *path, size_t size)
{
	for (;; folders++) {
		size_t len = strcspn(folders, ":");
		int n = snprintf(path, size, "%.*s/%s", (int)len, folders, name);

		if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
			return true;
		folders += len;
		if (!*folders)
			return false;
	}
}

static int stack_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct stack_list {
	char **names;
	size_t count;
};

static void list_folder(const char *folder, struct stack_list *l)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && (entry = readdir(dir))) {
		if (!stack_word(entry->d_name) || strcmp(entry->d_name, "common") == 0)
			continue;
		snprintf(path, sizeof path, "%s/%s/stack.yaml", folder, entry->d_name);
		if (access(path, F_OK) || str_among(l->names, entry->d_name))
			continue;
		l->names = reallocarray(l->names, l->count + 2, sizeof *l->names);
		if (!l->names || !(l->names[l->count] = strdup(entry->d_name)))
			command_nomem();
		l->names[++l->count] = NULL;
	}
	if (dir)
		closedir(dir);
}

char **stack_names(const char *folders)
{
	struct stack_list l = { .names = calloc(1, sizeof *l.names) };
	char *copy = strdup(folders), *rest = copy, *folder;

	if (!l.names || !copy)
		command_nomem();
	while ((folder = strsep(&rest, ":")))
		list_folder(folder, &l);
	free(copy);
	qsort(l.names, l.count, sizeof *l.names, stack_by_name);
	return l.names;
}

/* ---- Words ----------------------------------------------------------------------------- */

bool stack_word(const char *text)
{
	size_t len = 0;

	for (const char *p = text; *p; p++, len++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
			    (*p == '-' && p > text)))
			return false;
	return len > 0 && len <= WORD_MAX;
}

const char *stack_nearest(const char *typed, const char *const *words, size_t count)
{
	const char *near = NULL;
	size_t best = SIZE_MAX, far;

	for (size_t i = 0; i < count; i++) {
		if (value_near(typed, words[i], &far) && far < best) {
			best = far;
			near = words[i];
		}
	}
	return near;
}

const struct stack_role *stack_role(const struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->role_count; i++)
		if (strcmp(s->roles[i].name, name) == 0)
			return &s->roles[i];
	return NULL;
}

const struct stack_step *stack_step(const struct stack *s, const char *name)
{
	for (size_t i = 0; i < s->step_count; i++)
		if (s->steps[i].name && strcmp(s->steps[i].name, name) == 0)
			return &s->steps[i];
	return NULL;
}

const struct stack_setting *stack_setting(const struct stack *s, const char *key)
{
	for (size_t i = 0; i < s->setting_count; i++)
		if (strcmp(s->settings[i].key, key) == 0)
			return &s->settings[i];
	return NULL;
}

/* ---- The end --------------------------------------------------------------------------- */

void stack_free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static void free_step(struct stack_step *step)
{
	for (size_t i = 0; i < step->need_count; i++) {
		free(step->needs[i].stack);
		free(step->needs[i].step);
		free(step->needs[i].role);
	}
	free(step->name);
	free(step->help);
	stack_free_words(step->facts);
	free(step->when);
	free(step->gives);
	free(step->takes);
	free(step->upload);
	free(step->script);
}

void stack_free(struct stack *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->role_count; i++) {
		free(s->roles[i].name);
		free(s->roles[i].help);
		free(s->roles[i].fallback);
	}
	for (size_t i = 0; i < s->setting_count; i++) {
		free(s->settings[i].key);
		free(s->settings[i].fallback);
		free(s->settings[i].values);
		free(s->settings[i].help);
	}
	for (size_t i = 0; i < s->step_count; i++)
		free_step(&s->steps[i]);
	stack_free_words(s->needs_stacks);
	stack_free_words(s->after_stacks);
	stack_free_words(s->packages);
	free(s->name);
	free(s->about);
	free(s->first);
	free(s->dir);
	free(s->folders);
	free(s->gates);
	free(s->logs);
	free(s);
}
