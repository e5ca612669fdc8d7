/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a cluster file for a person: given settings as values, all others as comments that explain them. */
#include "cli/provision/model/cluster.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/model/stack_value.h"

enum { DEPTH_MAX = 8 };

/* The given settings as a tree: stacks, their settings, and the members of maps. */
struct item {
	char *name, *value;   /* value NULL: a map */
	struct item *below;
	size_t count;
};

struct writing {
	struct item set;
	const char *const *roles;
	struct stack *stacks[CLUSTER_USES];
	size_t count;
	bool comments;
	struct buf *out;
	struct fail *f;
};

static void cluster_write_add(struct writing *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void cluster_write_add(struct writing *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (buf_vaddf(w->out, fmt, ap))
		command_nomem();
	va_end(ap);
}

/* ---- YAML ------------------------------------------------------------------------------ */

/* Quotes the text so that YAML reads back the same text, in lines and in {}. */
static void cluster_write_add_text(struct writing *w, const char *text)
{
	size_t plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-");

	if (*text && !text[plain] && *text != '-' && *text != '.' && strcmp(text, "null") != 0) {
		cluster_write_add(w, "%s", text);
	} else if (strpbrk(text, "\n\t")) {
		cluster_write_add(w, "\"");
		for (; *text; text++) {
			if (*text == '\n' || *text == '\t')
				cluster_write_add(w, "\\%c", *text == '\n' ? 'n' : 't');
			else
				cluster_write_add(w, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
		}
		cluster_write_add(w, "\"");
	} else {
		cluster_write_add(w, "'");
		for (; *text; text++)
			cluster_write_add(w, *text == '\'' ? "''" : "%c", *text);
		cluster_write_add(w, "'");
	}
}

static void add_comment(struct writing *w, const char *indent, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add_comment(struct writing *w, const char *indent, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (w->comments)
		cluster_write_add(w, "%s# %s\n", indent, text);
}

/* ---- Roles ----------------------------------------------------------------------------- */

static const char *cluster_write_said(const char *const *list, const char *key)
{
	const char *value = NULL;

	for (; list && *list; list++)
		if (str_starts(*list, key) && (*list)[strlen(key)] == '=')
			value = *list + strlen(key) + 1;
	return value;
}

static const char *plain_way(const char *way)
{
	return strcmp(way, "first") == 0   ? "the first node"
		: strcmp(way, "rest") == 0 ? "nodes without another role"
		: strcmp(way, "all") == 0  ? "all nodes"
					   : "none";
}

static void add_role(struct writing *w, const struct stack *s, const struct stack_role *role)
{
	char key[128];
	const char *value;

	snprintf(key, sizeof key, "%s.%s", s->name, role->name);
	value = cluster_write_said(w->roles, key);
	if (!value && !w->comments)
		return;
	add_comment(w, "  ", "%s: %s (default: %s)", key, role->help ? role->help : "", plain_way(role->fallback));
	cluster_write_add(w, "  %s%s: ", value ? "" : "#", key);
	cluster_write_add_text(w, value ? value : role->fallback);
	cluster_write_add(w, "\n");
}

static int cluster_write_add_roles(struct writing *w)
{
	cluster_write_add(w, "roles:\n");
	for (const char *const *at = w->roles; at && *at; at++) {
		size_t len = strcspn(*at, "=");
		char key[128];

		if (!(*at)[len] || len == 0 || len >= sizeof key || stack_text_check(*at, false, NULL))
			return fail_set(w->f, -EINVAL, "'%.64s' names no role: expected ROLE=NODES or STACK.ROLE=NODES",
				*at);
		snprintf(key, sizeof key, "%.*s", (int)len, *at);
		for (const char *p = key; *p; p++)
			if (!stack_word((char[]){ *p, '\0' }) && *p != '.' && *p != '-')
				return fail_set(w->f, -EINVAL,
					"'%.64s' names no role: expected ROLE=NODES or STACK.ROLE=NODES", *at);
		/* The last value counts; roles of one stack follow its comment. */
		if (cluster_write_said(w->roles, key) == *at + len + 1 && !strchr(key, '.')) {
			cluster_write_add(w, "  %s: ", key);
			cluster_write_add_text(w, *at + len + 1);
			cluster_write_add(w, "\n");
		}
	}
	for (size_t i = 0; i < w->count; i++)
		for (size_t k = 0; k < w->stacks[i]->role_count; k++)
			add_role(w, w->stacks[i], &w->stacks[i]->roles[k]);
	return 0;
}

/* STACK.ROLE must exist; a bare ROLE may be of any stack, which cluster_parse() checks. */
static int check_roles(struct writing *w)
{
	for (const char *const *at = w->roles; at && *at; at++) {
		const char *dot = strchr(*at, '.');
		size_t len = strcspn(*at, "=");
		bool found = !dot || dot > *at + len;

		for (size_t i = 0; i < w->count && !found; i++)
			for (size_t k = 0; k < w->stacks[i]->role_count && !found; k++) {
				const char *stack = w->stacks[i]->name, *role = w->stacks[i]->roles[k].name;

				found = strlen(stack) + 1 + strlen(role) == len && str_starts(*at, stack) &&
					(*at)[strlen(stack)] == '.' && strncmp(dot + 1, role, strlen(role)) == 0;
			}
		if (!found)
			return fail_set(w->f, -EINVAL, "none of these stacks has a role '%.*s'",
				(int)(len < 64 ? len : 64), *at);
	}
	return 0;
}

/* ---- Settings -------------------------------------------------------------------------- */

static struct item *find_item(const struct item *map, const char *name, size_t len)
{
	for (size_t i = 0; map && i < map->count; i++)
		if (strlen(map->below[i].name) == len && memcmp(map->below[i].name, name, len) == 0)
			return &map->below[i];
	return NULL;
}

static void release_item(struct item *item)
{
	for (size_t i = 0; i < item->count; i++)
		release_item(&item->below[i]);
	free(item->below);
	free(item->name);
	free(item->value);
	*item = (struct item){ 0 };
}

static struct item *cluster_write_add_item(struct item *map, const char *name, size_t len)
{
	struct item *item = find_item(map, name, len);

	if (item)
		return item;
	map->below = realloc(map->below, (map->count + 1) * sizeof *item);
	if (!map->below)
		command_nomem();
	item = &map->below[map->count++];
	*item = (struct item){ .name = strndup(name, len) };
	if (!item->name)
		command_nomem();
	return item;
}

/* "slurm.partitions.gpu.nodes=workers" */
static int take_set(struct writing *w, const char *text)
{
	struct item *item = &w->set;
	const char *at = text;
	struct fail why = { 0 };

	if (stack_text_check(text, true, &why))
		return fail_set(w->f, -EINVAL, "'%.64s' %s", text, why.text);
	for (size_t depth = 0;; depth++) {
		size_t len = strcspn(at, ".=");

		if (len == 0 || !at[len] || depth == DEPTH_MAX)
			return fail_set(w->f, -EINVAL, "'%.64s' sets nothing: expected STACK.SETTING=VALUE", text);
		item = cluster_write_add_item(item, at, len);
		if (item->value && at[len] == '.')
			return fail_set(w->f, -EINVAL, "cannot set '%.64s': '%s' already has a value", text,
				item->name);
		at += len + 1;
		if (at[-1] == '=')
			break;
	}
	if (item->count)
		return fail_set(w->f, -EINVAL, "cannot set '%.64s': '%s' already has values below it", text,
			item->name);
	free(item->value);
	item->value = strdup(at);
	if (!item->value)
		command_nomem();
	return 0;
}

static int check_set(struct writing *w, const struct stack *s, const struct item *item)
{
	const struct stack_setting *setting = stack_setting(s, item->name);
	const char *words[STACK_SETTINGS], *near;
	struct fail why = { 0 };
	char *value = NULL;

	if (!setting) {
		for (size_t i = 0; i < s->setting_count; i++)
			words[i] = s->settings[i].key;
		near = stack_nearest(item->name, words, s->setting_count);
		return fail_set(w->f, -EINVAL, "'%s' has no setting '%.64s'%s%s%s", s->name, item->name,
			near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	}
	if (setting->type == STACK_MAP && item->value)
		return fail_set(w->f, -EINVAL, "cannot set '%s.%s': it is a map, expected '%s.%s.NAME=VALUE'", s->name,
			item->name, s->name, item->name);
	if (setting->type != STACK_MAP && !item->value)
		return fail_set(w->f, -EINVAL, "cannot set '%s.%s.%s': '%s' is not a map", s->name, item->name,
			item->below[0].name, item->name);
	if (item->value && stack_value(setting, item->value, &value, &why))
		return fail_set(w->f, -EINVAL, "cannot set '%s.%s': %s", s->name, item->name, why.text);
	free(value);
	return 0;
}

static int check_sets(struct writing *w)
{
	int rc = 0;

	for (size_t i = 0; i < w->set.count && !rc; i++) {
		const struct item *item = &w->set.below[i];
		const struct stack *s = NULL;
		const char *words[CLUSTER_USES], *near;

		for (size_t k = 0; k < w->count; k++) {
			words[k] = w->stacks[k]->name;
			s = strcmp(words[k], item->name) == 0 ? w->stacks[k] : s;
		}
		near = s ? NULL : stack_nearest(item->name, words, w->count);
		if (!s)
			return fail_set(w->f, -EINVAL, "cannot set '%.64s': no such stack here%s%s%s", item->name,
				near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
		if (item->value)
			return fail_set(w->f, -EINVAL, "'%s=%.64s' sets nothing: expected STACK.SETTING=VALUE",
				item->name, item->value);
		for (size_t k = 0; k < item->count && !rc; k++)
			rc = check_set(w, s, &item->below[k]);
	}
	return rc;
}

static void add_below(struct writing *w, const struct item *map, int indent)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct item *item = &map->below[i];

		cluster_write_add(w, "%*s", indent, "");
		cluster_write_add_text(w, item->name);
		cluster_write_add(w, ":%s", item->value ? " " : "\n");
		if (item->value) {
			cluster_write_add_text(w, item->value);
			cluster_write_add(w, "\n");
		} else {
			add_below(w, item, indent + 2);
		}
	}
}

static void cluster_write_add_setting(struct writing *w, const struct stack_setting *setting, const struct item *map)
{
	const struct item *item = map ? find_item(map, setting->key, strlen(setting->key)) : NULL;
	struct item one = { .below = (struct item *)(uintptr_t)item, .count = 1 };

	if (setting->type == STACK_ENUM)
		add_comment(w, "    ", "%s (%s)", setting->help ? setting->help : setting->key, setting->values);
	else
		add_comment(w, "    ", "%s (%s)", setting->help ? setting->help : setting->key,
			stack_type_name(setting->type));
	if (item) {
		add_below(w, &one, 4);
	} else if (w->comments) {
		cluster_write_add(w, "    #%s: ", setting->key);
		if (setting->type == STACK_MAP)
			cluster_write_add(w, "{}");
		else
			cluster_write_add_text(w, setting->fallback);
		cluster_write_add(w, "\n");
	}
}

static void cluster_write_add_stack(struct writing *w, const struct stack *s)
{
	add_comment(w, "  ", "%s", s->about ? s->about : s->name);
	cluster_write_add(w, "  %s:\n", s->name);
	for (size_t i = 0; i < s->setting_count; i++)
		cluster_write_add_setting(w, &s->settings[i], find_item(&w->set, s->name, strlen(s->name)));
}

/* ---- All of it ------------------------------------------------------------------------- */

static bool cluster_write_taken(const struct writing *w, const char *name)
{
	for (size_t i = 0; i < w->count; i++)
		if (strcmp(w->stacks[i]->name, name) == 0)
			return true;
	return false;
}

static int take_stack(struct writing *w, const char *name, const char *folder)
{
	int rc;

	if (w->count == CLUSTER_USES)
		return fail_set(w->f, -EINVAL, "more than %d stacks", CLUSTER_USES);
	rc = stack_read(folder, name, &w->stacks[w->count], w->f);
	w->count += !rc;
	return rc == -ENOENT ? -EINVAL : rc;
}

/* Collects the named stacks, those they need, and base, so that settings of each can be given. */
static int cluster_write_take_stacks(struct writing *w, const char *const *stacks, const char *folder)
{
	int rc = 0;

	for (; *stacks && !rc; stacks++) {
		if (cluster_write_taken(w, *stacks))
			return fail_set(w->f, -EINVAL, "the stack '%.64s' is named twice", *stacks);
		rc = take_stack(w, *stacks, folder);
	}
	if (!rc && w->count == 0)
		return fail_set(w->f, -EINVAL, "a stack is required; 'nanopod provision stacks' lists them");
	for (size_t i = 0; i < w->count && !rc; i++)
		for (char **name = w->stacks[i]->needs_stacks; *name && !rc; name++)
			if (!cluster_write_taken(w, *name) && strcmp(*name, "base") != 0)
				rc = take_stack(w, *name, folder);
	if (!rc && !cluster_write_taken(w, "base"))
		rc = take_stack(w, "base", folder);
	return rc;
}

static void add_nodes(struct writing *w, const char *nodes)
{
	bool from = str_starts(nodes, "reservation/") || str_starts(nodes, "pool/") || str_starts(nodes, "group/");

	cluster_write_add(w, "nodes:\n  %s: ", from ? "from" : "hosts");
	cluster_write_add_text(w, nodes);
	cluster_write_add(w, "\n");
}

char *cluster_plain_name(const char *text)
{
	char *name = strndup(text + strspn(text, "-_./@"), 63);

	if (!name)
		command_nomem();
	for (char *c = name; *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", *c))
			*c = '-';
	return name;
}

int cluster_write(const char *name, const char *nodes, const char *const *stacks, const char *const *set,
	const char *const *roles, const char *folder, bool comments, struct buf *out, struct fail *f)
{
	struct writing w = { .roles = roles, .comments = comments, .out = out, .f = f };
	size_t start = out->len;
	int rc = 0;

	if (!stack_word(name))
		return fail_set(f, -EINVAL,
			"'%.64s' cannot be the name of a cluster: letters, digits and '-', at most 48", name);
	if (stack_text_check(nodes, false, NULL) || !*nodes)
		return fail_set(f, -EINVAL, "'%.64s' names no nodes", nodes);
	rc = cluster_write_take_stacks(&w, stacks, folder);
	for (; !rc && set && *set; set++)
		rc = take_set(&w, *set);
	rc = rc ? rc : check_sets(&w);
	rc = rc ? rc : check_roles(&w);
	if (!rc) {
		add_comment(&w, "",
			"`nanopod provision FILE` makes this cluster; `nanopod provision plan FILE` shows what it "
			"would change.");
		add_comment(&w, "", "Lines that begin with '#' show the defaults.");
		cluster_write_add(&w, "cluster: %s\n", name);
		add_nodes(&w, nodes);
		rc = cluster_write_add_roles(&w);
		cluster_write_add(&w, "stacks:\n");
		for (size_t i = 0; i < w.count; i++)
			cluster_write_add_stack(&w, w.stacks[i]);
	}
	if (rc)
		buf_cut(out, start);
	for (size_t i = 0; i < w.count; i++)
		stack_free(w.stacks[i]);
	release_item(&w.set);
	return rc;
}
