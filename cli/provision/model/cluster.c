/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/model/cluster_part.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

enum { BUNDLE_BYTES = 1 << 16 };

void cluster_free(struct cluster *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->use_count; i++) {
		stack_free(c->uses[i].stack);
		pairs_release(&c->uses[i].settings);
		free(c->uses[i].roles);
		free(c->uses[i].broken);
	}
	for (size_t i = 0; i < c->count; i++)
		free(c->members[i]);
	free(c->members);
	free(c->name);
	free(c->from);
	cluster_autoscale_release(&c->autoscale);
	free(c);
}

struct use *cluster_use(struct cluster *c, const char *stack)
{
	for (size_t i = 0; i < c->use_count; i++)
		if (strcmp(c->uses[i].stack->name, stack) == 0)
			return &c->uses[i];
	return NULL;
}

size_t cluster_member(const struct cluster *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->members[i], name) == 0)
			return i;
	return (size_t)-1;
}

bool cluster_has_role(const struct use *u, size_t member, const char *role)
{
	const struct stack_role *known = stack_role(u->stack, role);

	return known && (u->roles[member] >> (known - u->stack->roles) & 1);
}

static int cluster_add_name(const struct cluster *c, const struct use *u, const char *word, struct buf *out)
{
	if (strcmp(word, "cluster") == 0)
		return buf_adds(out, c->name);
	for (size_t m = 0; m < c->count; m++)
		if (cluster_has_role(u, m, word))
			return buf_adds(out, c->members[m]);
	return -ENOENT;
}

int cluster_first(const struct cluster *c, const struct use *u, struct buf *out)
{
	const char *at = u->stack->first;
	char word[64];
	int rc = at ? 0 : -ENOENT;

	while (!rc && *at) {
		const char *open = strchr(at, '{');
		size_t len = open ? (size_t)(open - at) : strlen(at), n = open ? strcspn(open, "}") : 0;

		rc = buf_add(out, at, len);
		at += len;
		if (!open)
			continue;
		snprintf(word, sizeof word, "%.*s", (int)n - 1, open + 1);
		rc = rc ? rc : cluster_add_name(c, u, word, out);
		at += n + (open[n] == '}');
	}
	return rc;
}

static bool cluster_has(const char *folder, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, F_OK) == 0;
}

/*
 * Nodes would notice a wrong folder only after other things had changed there. A bundle has 'debs' only if its stacks
 * need packages; a folder that somebody made by hand is recognized by its 'debs'.
 */
static int check_airgap(const struct use *u, const struct stack_setting *setting, const char *path, struct fail *f)
{
	if (strcmp(u->stack->name, "base") != 0 || strcmp(setting->key, "airgap") != 0 || cluster_has(path, "bundle") ||
		cluster_has(path, "debs"))
		return 0;
	return fail_set(f, -ENOENT,
		"'%s' is not a folder that 'nanopod provision bundle' made: it has neither 'bundle' nor 'debs'", path);
}

void cluster_airgap(const struct cluster *c, const char *key, char *room, size_t size)
{
	char file[PATH_MAX];
	const char *path = "";
	struct buf b;

	*room = '\0';
	for (size_t i = 0; i < c->use_count; i++)
		if (strcmp(c->uses[i].stack->name, "base") == 0)
			path = pairs_or(&c->uses[i].settings, "airgap", "");
	if (!*path || snprintf(file, sizeof file, "%s/bundle", path) >= (int)sizeof file)
		return;
	buf_init(&b, BUNDLE_BYTES);
	if ((strcmp(key, "release") != 0 || cluster_has(path, "debs")) && buf_read_file(&b, file) == 0 && b.len) {
		for (char *rest = b.data, *line; (line = strsep(&rest, "\n"));)
			if (str_starts(line, key) && str_starts(line + strlen(key), ": "))
				snprintf(room, size, "%s", line + strlen(key) + 2);
	}
	buf_release(&b);
}

int cluster_check_files(const struct cluster *c, struct fail *f)
{
	for (size_t i = 0; i < c->use_count; i++) {
		const struct use *u = &c->uses[i];

		for (size_t k = 0; k < u->stack->setting_count; k++) {
			const struct stack_setting *setting = &u->stack->settings[k];
			const char *path = setting->type == STACK_FILE ? pairs_or(&u->settings, setting->key, "") : "";

			if (!*path || strstr(path, "://"))
				continue;
			if (access(path, R_OK))
				return fail_errno(f, -ENOENT, errno, "cannot read '%s', which is '%s.%s'", path,
					u->stack->name, setting->key);
			if (check_airgap(u, setting, path, f))
				return -ENOENT;
		}
	}
	return 0;
}
