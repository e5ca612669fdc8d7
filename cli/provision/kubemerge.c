/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/kubemerge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "conf/conf.h"
#include "conf/confedit.h"

/* ---- One cluster's file ------------------------------------------------------------------------ */

static char *text_at(const struct conf *map, const char *key)
{
	const struct conf *c = map && map->type == CONF_MAP ? conf_get(map, key) : NULL;

	return c && c->type == CONF_TEXT && *c->text ? strdup(c->text) : NULL;
}

/* The map `inner` of a section's first entry: "clusters", "cluster". */
static const struct conf *first_entry(const struct conf *root, const char *section, const char *inner)
{
	const struct conf *list = conf_get(root, section);

	return list && list->type == CONF_LIST && list->count && list->items[0].type == CONF_MAP
		? conf_get(&list->items[0], inner)
		: NULL;
}

void kubeaccess_release(struct kubeaccess *a)
{
	char *const texts[] = { a->server, a->tls_name, a->ca, a->cert, a->key, a->token };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (texts[i])
			explicit_bzero(texts[i], strlen(texts[i]));
		free(texts[i]);
	}
	*a = (struct kubeaccess){ 0 };
}

int kubeaccess_read(const char *text, size_t len, struct kubeaccess *out, struct fail *f)
{
	const struct conf *cluster, *user;
	struct kubeaccess a = { 0 };
	struct conf_file *file;
	int rc = conf_parse("kubeconfig", text, len, &file, f);

	if (rc)
		return rc;
	cluster = first_entry(&file->root, "clusters", "cluster");
	user = first_entry(&file->root, "users", "user");
	a.server = text_at(cluster, "server");
	a.tls_name = text_at(cluster, "tls-server-name");
	a.ca = text_at(cluster, "certificate-authority-data");
	a.cert = text_at(user, "client-certificate-data");
	a.key = text_at(user, "client-key-data");
	a.token = text_at(user, "token");
	conf_free(file);
	if (!a.server || !((a.cert && a.key) || a.token)) {
		kubeaccess_release(&a);
		return fail_set(f, -EINVAL, "the node's kubeconfig has no server, or no key for it");
	}
	*out = a;
	return 0;
}

bool kubeaccess_server(const struct kubeaccess *a, char *host, size_t size, long *port)
{
	const char *at = a->server + 8, *end, *colon;
	bool bracket;

	if (!str_starts(a->server, "https://"))
		return false;
	bracket = *at == '[';
	at += bracket;
	end = bracket ? strchr(at, ']') : at + strcspn(at, ":/");
	if (!end || end == at || (size_t)(end - at) >= size)
		return false;
	colon = end + bracket;
	*port = 443;
	if (*colon == ':') {
		char number[8];

		snprintf(number, sizeof number, "%.*s", (int)strcspn(colon + 1, "/"), colon + 1);
		if (str_to_long(number, 1, 65535, port))
			return false;
	}
	memcpy(host, at, (size_t)(end - at));
	host[end - at] = '\0';
	return true;
}

/* ---- Lines ---------------------------------------------------------------------------------------- */

/* Writes the value in double quotes. It refuses the characters that would need an escape; no valid value has them. */
static int kubemerge_put_text(struct buf *b, unsigned indent, const char *key, const char *value)
{
	if (!value)
		return 0;
	for (const char *c = value; *c; c++)
		if ((unsigned char)*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
			return -EINVAL;
	return buf_addf(b, "%*s%s: \"%s\"\n", (int)indent, "", key, value);
}

static int first_of(int a, int b)
{
	return a ? a : b;
}

/* Writes an entry of a section with its dash in column `indent`. */
static int put_entry(struct buf *b, const char *section, unsigned indent, const char *name, const char *context,
	const struct kubeaccess *a)
{
	bool is_context = strcmp(section, "contexts") == 0;
	unsigned in = indent + 4;
	int rc = buf_addf(b, "%*s- ", (int)indent, "");

	rc = first_of(rc, kubemerge_put_text(b, 0, "name", is_context ? context : name));
	rc = first_of(rc, buf_addf(b, "%*s  %.*s:\n", (int)indent, "", (int)strlen(section) - 1, section));
	if (is_context) {
		rc = first_of(rc, kubemerge_put_text(b, in, "cluster", name));
		return first_of(rc, kubemerge_put_text(b, in, "user", name));
	}
	if (strcmp(section, "clusters") == 0) {
		rc = first_of(rc, kubemerge_put_text(b, in, "server", a->server));
		rc = first_of(rc, kubemerge_put_text(b, in, "tls-server-name", a->tls_name));
		return first_of(rc, kubemerge_put_text(b, in, "certificate-authority-data", a->ca));
	}
	rc = first_of(rc, kubemerge_put_text(b, in, "client-certificate-data", a->cert));
	rc = first_of(rc, kubemerge_put_text(b, in, "client-key-data", a->key));
	return first_of(rc, kubemerge_put_text(b, in, "token", a->token));
}

static const char *kubemerge_name_of(const struct conf *entry)
{
	const struct conf *name = entry->type == CONF_MAP ? conf_get(entry, "name") : NULL;

	return name && name->type == CONF_TEXT ? name->text : "";
}

static const struct conf *kubemerge_find(const struct conf *list, const char *name)
{
	for (size_t i = 0; list && list->type == CONF_LIST && i < list->count; i++)
		if (strcmp(kubemerge_name_of(&list->items[i]), name) == 0)
			return &list->items[i];
	return NULL;
}

/* The column of the dash before the entry on its line; -1 if the entry is written in another way. */
static int dash_of(const struct buf *text, size_t line)
{
	size_t n = strspn(buf_text(text) + line, " ");

	return buf_text(text)[line + n] == '-' && buf_text(text)[line + n + 1] == ' ' ? (int)n : -1;
}

/* Finds the place of an entry in a section that has entries; -1 if replacing lines cannot change the section. */
static int kubemerge_place(const struct buf *text, const struct conf *root, const struct conf *section,
	const char *name, size_t *from, size_t *to)
{
	const struct conf *same = kubemerge_find(section, name), *entry;
	int column;

	if (root->flow || section->type != CONF_LIST || section->flow)
		return -1;
	entry = same ? same : &section->items[section->count - 1];
	confedit_lines(text, entry, from, to);
	column = entry->flow && entry->type != CONF_MAP ? -1 : dash_of(text, *from);
	if (!same)
		*from = *to;
	return column;
}

static int kubemerge_put_section(const char *file, struct buf *text, const char *section, const char *name,
	const char *context, const struct kubeaccess *a)
{
	const char *own = strcmp(section, "contexts") == 0 ? context : name;
	const struct conf *top;
	struct conf_file *conf;
	struct buf lines;
	size_t from, to;
	int rc = conf_parse(file, buf_text(text), text->len, &conf, NULL), column = 0;
	bool empty;

	if (rc)
		return rc;
	top = conf_get(&conf->root, section);
	empty = !top || (top->count == 0 && top->type != CONF_TEXT);
	buf_init(&lines, text->max);
	if (empty)
		rc = buf_addf(&lines, "%s:\n", section);
	else
		column = kubemerge_place(text, &conf->root, top, own, &from, &to);
	if (column < 0)
		rc = -EINVAL;
	rc = rc ? rc : put_entry(&lines, section, (unsigned)column, name, context, a);
	if (!rc)
		rc = empty ? confedit_set_top(conf, text, section, &lines, NULL)
			   : confedit_replace(text, from, to, &lines);
	conf_free(conf);
	if (lines.data)
		explicit_bzero(lines.data, lines.len);
	buf_release(&lines);
	return rc;
}

static int put_current(const char *file, struct buf *text, const char *context)
{
	struct conf_file *conf;
	const struct conf *top;
	struct buf line;
	int rc = conf_parse(file, buf_text(text), text->len, &conf, NULL);

	if (rc)
		return rc;
	top = conf_get(&conf->root, "current-context");
	if (!top || top->type == CONF_NULL || (top->type == CONF_TEXT && !*top->text)) {
		buf_init(&line, text->max);
		rc = kubemerge_put_text(&line, 0, "current-context", context);
		rc = rc ? rc : confedit_set_top(conf, text, "current-context", &line, NULL);
		buf_release(&line);
	}
	conf_free(conf);
	return rc;
}

/* ---- Nothing was lost ------------------------------------------------------------------------------- */

/* Whether all entries but this one stayed, in their order, and this one exists once. */
static bool same_but(const struct conf *before, const struct conf *after, const char *name)
{
	size_t k = 0, own = 0;

	if (!after || after->type != CONF_LIST)
		return false;
	for (size_t i = 0; i < after->count; i++) {
		if (strcmp(kubemerge_name_of(&after->items[i]), name) == 0) {
			own++;
			continue;
		}
		while (before && before->type == CONF_LIST && k < before->count &&
			strcmp(kubemerge_name_of(&before->items[k]), name) == 0)
			k++;
		if (!before || before->type != CONF_LIST || k >= before->count ||
			!confedit_same(&before->items[k++], &after->items[i]))
			return false;
	}
	while (before && before->type == CONF_LIST && k < before->count &&
		strcmp(kubemerge_name_of(&before->items[k]), name) == 0)
		k++;
	return own == 1 && (!before || before->type != CONF_LIST || k == before->count);
}

static bool is_section(const char *key)
{
	return strcmp(key, "clusters") == 0 || strcmp(key, "contexts") == 0 || strcmp(key, "users") == 0;
}

static bool kubemerge_is_kept(const struct conf *before, const struct conf *after, const char *name,
	const char *context)
{
	for (size_t i = 0; i < before->count; i++) {
		const struct conf *was = &before->items[i], *now = conf_get(after, was->key);

		if (is_section(was->key) ||
			(strcmp(was->key, "current-context") == 0 && !(was->type == CONF_TEXT && *was->text)))
			continue;
		if (!now || !confedit_same(was, now))
			return false;
	}
	for (size_t i = 0; i < after->count; i++)
		if (!is_section(after->items[i].key) && strcmp(after->items[i].key, "current-context") != 0 &&
			!conf_get(before, after->items[i].key))
			return false;
	return same_but(conf_get(before, "clusters"), conf_get(after, "clusters"), name) &&
		same_but(conf_get(before, "contexts"), conf_get(after, "contexts"), context) &&
		same_but(conf_get(before, "users"), conf_get(after, "users"), name);
}

static int kubemerge_check(const char *file, const struct conf *before, const struct buf *text, const char *name,
	const char *context)
{
	struct conf_file *after;
	bool fine;

	if (conf_parse(file, buf_text(text), text->len, &after, NULL))
		return -EINVAL;
	fine = kubemerge_is_kept(before, &after->root, name, context);
	conf_free(after);
	return fine ? 0 : -EINVAL;
}

/* Refuses to change a context of that name which belongs to another cluster. */
static int kubemerge_check_owner(const char *file, const struct conf *root, const char *name, const char *context,
	struct fail *f)
{
	const struct conf *entry = kubemerge_find(conf_get(root, "contexts"), context),
			  *inner = entry ? conf_get(entry, "context") : NULL;
	char *cluster;
	bool ours;

	if (!entry)
		return 0;
	cluster = text_at(inner, "cluster");
	ours = cluster && strcmp(cluster, name) == 0;
	free(cluster);
	return ours ? 0 : fail_set(f, -EEXIST, "'%s' already has a context '%s' of another cluster", file, context);
}

static int put_all(const char *file, struct buf *made, const char *name, const char *context,
	const struct kubeaccess *a)
{
	static const char *const sections[] = { "clusters", "contexts", "users" };
	int rc = made->len ? 0 : buf_adds(made, "apiVersion: v1\nkind: Config\n");

	for (size_t i = 0; !rc && i < 3; i++)
		rc = kubemerge_put_section(file, made, sections[i], name, context, a);
	return rc ? rc : put_current(file, made, context);
}

int kubemerge(const char *file, const struct buf *text, const char *name, const char *context,
	const struct kubeaccess *a, struct buf *out, struct fail *f)
{
	struct conf_file *before;
	struct buf made;
	bool fresh = !text->len;
	int rc = conf_parse(file, buf_text(text), text->len, &before, f);

	if (rc)
		return rc;
	rc = kubemerge_check_owner(file, &before->root, name, context, f);
	if (rc) {
		conf_free(before);
		return rc;
	}
	buf_init(&made, CONF_BYTES_MAX);
	rc = buf_add(&made, buf_text(text), text->len);
	rc = rc ? rc : put_all(file, &made, name, context, a);
	rc = rc || fresh ? rc : kubemerge_check(file, &before->root, &made, name, context);
	conf_free(before);
	if (rc) {
		if (made.data)
			explicit_bzero(made.data, made.len);
		buf_release(&made);
		return fail_set(f, -EINVAL, "cannot merge into '%s' safely: it is written in an unusual way", file);
	}
	buf_release(out);
	*out = made;
	return 0;
}
