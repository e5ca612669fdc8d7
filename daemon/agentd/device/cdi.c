/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/device/cdi.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "conf/conf.h"

enum { DEVICE_NUMBER_MAX = 1 << 20 };

/* A member of a map that may be missing; of another type: an error. */
static int cdi_member(const struct conf_file *file, const struct conf *map, const char *key, enum conf_type type,
	const struct conf **out, struct fail *f)
{
	const struct conf *c = conf_get(map, key);

	*out = NULL;
	if (!c || c->type == CONF_NULL)
		return 0;
	*out = c;
	return conf_expect(file, c, type, f);
}

/* A text of printable characters that fits; "" where it is missing. */
static int cdi_text(const struct conf_file *file, const struct conf *map, const char *key, char *room, size_t size,
	struct fail *f)
{
	const struct conf *c;
	int rc = cdi_member(file, map, key, CONF_TEXT, &c, f);

	*room = '\0';
	if (rc || !c)
		return rc;
	for (const char *p = c->text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return conf_fail(file, c, f, "'%s' has a control character", key);
	if (strlen(c->text) >= size)
		return conf_fail(file, c, f, "'%s' is longer than %zu characters", key, size - 1);
	snprintf(room, size, "%s", c->text);
	return 0;
}

static int cdi_path(const struct conf_file *file, const struct conf *map, const char *key, char room[DEVICES_PATH],
	struct fail *f)
{
	int rc = cdi_text(file, map, key, room, DEVICES_PATH, f);

	if (!rc && *room && !devices_path_good(room))
		return conf_fail(file, conf_get(map, key), f, "'%s' is not an absolute path without '..'", room);
	return rc;
}

static int cdi_number(const struct conf_file *file, const struct conf *map, const char *key, long *out, struct fail *f)
{
	char text[32];
	int rc = cdi_text(file, map, key, text, sizeof text, f);

	*out = -1;
	if (!rc && *text && str_to_long(text, 0, DEVICE_NUMBER_MAX, out) != 0)
		return conf_fail(file, conf_get(map, key), f, "'%s' is not a device number", text);
	return rc;
}

/* ---- Edits ---------------------------------------------------------------------------------- */

static int cdi_full(const struct conf_file *file, const struct conf *at, int rc, struct fail *f)
{
	if (rc == -E2BIG)
		return conf_fail(file, at, f, "more than %d entries", DEVICES_MAX);
	return rc ? fail_set(f, rc, "out of memory") : 0;
}

static int cdi_access(const struct conf_file *file, const struct conf *map, unsigned *out, struct fail *f)
{
	static const char letters[] = "mrw";
	char text[8];
	int rc = cdi_text(file, map, "permissions", text, sizeof text, f);

	*out = *text ? 0 : DEVICE_ALL;
	for (const char *p = text; !rc && *p; p++) {
		const char *at = strchr(letters, *p);

		if (!at)
			return conf_fail(file, conf_get(map, "permissions"), f, "'%s' has letters other than r, w, m",
				text);
		*out |= 1u << (at - letters);
	}
	return rc;
}

static int cdi_device_node(const struct conf_file *file, const struct conf *c, struct node_devices *to, struct fail *f)
{
	struct device_node n = { .type = 0 };
	char type[4];
	long major, minor;
	int rc = conf_expect(file, c, CONF_MAP, f);

	rc = rc ? rc : cdi_path(file, c, "path", n.inside, f);
	rc = rc ? rc : cdi_path(file, c, "hostPath", n.outside, f);
	rc = rc ? rc : cdi_text(file, c, "type", type, sizeof type, f);
	rc = rc ? rc : cdi_number(file, c, "major", &major, f);
	rc = rc ? rc : cdi_number(file, c, "minor", &minor, f);
	rc = rc ? rc : cdi_access(file, c, &n.access, f);
	if (rc)
		return rc;
	if (!str_starts(n.inside, "/dev/"))
		return conf_fail(file, c, f, "the device node '%s' is not below /dev", n.inside);
	if (!*n.outside)
		snprintf(n.outside, sizeof n.outside, "%s", n.inside);
	if (strcmp(type, "p") == 0)
		return conf_fail(file, c, f, "'%s' is a pipe, not a device", n.inside);
	n.type = strcmp(type, "b") == 0 ? 'b' : 'c';
	n.numbered = *type && major > 0 && minor >= 0;
	if (n.numbered) {
		n.major = (unsigned)major;
		n.minor = (unsigned)minor;
	}
	return cdi_full(file, c, devices_add_node(to, &n), f);
}

static int cdi_mount(const struct conf_file *file, const struct conf *c, struct node_devices *to, struct fail *f)
{
	static const char *const never[] = { "/dev", "/proc", "/sys" };
	char outside[DEVICES_PATH], inside[DEVICES_PATH];
	int rc = conf_expect(file, c, CONF_MAP, f);

	rc = rc ? rc : cdi_path(file, c, "hostPath", outside, f);
	rc = rc ? rc : cdi_path(file, c, "containerPath", inside, f);
	if (rc)
		return rc;
	if (!*outside || !*inside)
		return conf_fail(file, c, f, "a mount needs 'hostPath' and 'containerPath'");
	for (size_t i = 0; i < sizeof never / sizeof *never; i++) {
		size_t len = strlen(never[i]);

		if ((str_starts(inside, never[i]) && strchr("/", inside[len])) ||
			(str_starts(outside, never[i]) && strchr("/", outside[len])))
			return 0; /* device nodes are named one by one; these folders would show others' */
	}
	return cdi_full(file, c, devices_add_mount(to, outside, inside), f);
}

static int cdi_env(const struct conf_file *file, const struct conf *c, struct node_devices *to, struct fail *f)
{
	size_t len = 0;
	int rc = conf_expect(file, c, CONF_TEXT, f);

	if (rc)
		return rc;
	while (isalnum((unsigned char)c->text[len]) || c->text[len] == '_')
		len++;
	if (!len || c->text[len] != '=' || isdigit((unsigned char)*c->text) || strlen(c->text) >= DEVICES_TEXT)
		return conf_fail(file, c, f, "'%.40s' is not NAME=value", c->text);
	for (const char *p = c->text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || *p == '"' || *p == '\\')
			return conf_fail(file, c, f, "the value of '%.*s' has a character that is not allowed",
				(int)len, c->text);
	return cdi_full(file, c, devices_add_env(to, c->text), f);
}

/* "target::path" */
static int cdi_link(const struct conf_file *file, const struct conf *c, const char *text, struct node_devices *to,
	struct fail *f)
{
	const char *at = strstr(text, "::");
	char target[DEVICES_PATH];

	if (!at || at == text || (size_t)(at - text) >= sizeof target || !devices_path_good(at + 2))
		return conf_fail(file, c, f, "'%.80s' is not 'target::path'", text);
	snprintf(target, sizeof target, "%.*s", (int)(at - text), text);
	for (const char *p = target; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return conf_fail(file, c, f, "the target of a link has a control character");
	return cdi_full(file, c, devices_add_link(to, target, at + 2), f);
}

/* The arguments of a hook's option: "--link X" and "--link=X". */
static const char *cdi_option(const struct conf *args, size_t *i, const char *option)
{
	const struct conf *c = &args->items[*i];
	size_t len = strlen(option);

	if (c->type != CONF_TEXT || !str_starts(c->text, option))
		return NULL;
	if (c->text[len] == '=')
		return c->text + len + 1;
	if (c->text[len] || *i + 1 >= args->count || args->items[*i + 1].type != CONF_TEXT)
		return NULL;
	return args->items[++*i].text;
}

/* The hooks of NVIDIA's tools are known by an argument, whatever program is named. */
static int cdi_hook(const struct conf_file *file, const struct conf *c, struct node_devices *to, struct fail *f)
{
	const struct conf *args;
	bool links = false, folders = false;
	int rc = conf_expect(file, c, CONF_MAP, f);

	rc = rc ? rc : cdi_member(file, c, "args", CONF_LIST, &args, f);
	for (size_t i = 0; !rc && args && i < args->count && i < 3; i++) {
		const char *word = args->items[i].type == CONF_TEXT ? args->items[i].text : "";

		links |= strcmp(word, "create-symlinks") == 0;
		folders |= strcmp(word, "update-ldcache") == 0;
	}
	for (size_t i = 0; !rc && (links || folders) && i < args->count; i++) {
		const struct conf *at = &args->items[i];
		const char *word = cdi_option(args, &i, links ? "--link" : "--folder");

		if (word && links)
			rc = cdi_link(file, at, word, to, f);
		else if (word && !devices_path_good(word))
			rc = conf_fail(file, at, f, "'%.80s' is not an absolute path without '..'", word);
		else if (word)
			rc = cdi_full(file, at, devices_add_folder(to, word), f);
	}
	return rc;
}

static int cdi_edits(const struct conf_file *file, const struct conf *map, struct node_devices *to, struct fail *f)
{
	static const struct {
		const char *key;
		int (*one)(const struct conf_file *file, const struct conf *c, struct node_devices *to, struct fail *f);
	} parts[] = {
		{ "deviceNodes", cdi_device_node },
		{ "mounts", cdi_mount },
		{ "env", cdi_env },
		{ "hooks", cdi_hook },
	};
	const struct conf *edits, *list;
	int rc = cdi_member(file, map, "containerEdits", CONF_MAP, &edits, f);

	for (size_t p = 0; !rc && edits && p < sizeof parts / sizeof *parts; p++) {
		rc = cdi_member(file, edits, parts[p].key, CONF_LIST, &list, f);
		for (size_t i = 0; !rc && list && i < list->count; i++)
			rc = parts[p].one(file, &list->items[i], to, f);
	}
	return rc;
}

/* ---- The file ------------------------------------------------------------------------------- */

static int cdi_check_version(const struct conf_file *file, struct fail *f)
{
	static const char *const known[] = { "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "1.0", "1.1" };
	char text[16];
	int rc = cdi_text(file, &file->root, "cdiVersion", text, sizeof text, f);

	for (size_t i = 0; !rc && i < sizeof known / sizeof *known; i++) {
		size_t len = strlen(known[i]);

		if (strncmp(text, known[i], len) == 0 && (!text[len] || text[len] == '.'))
			return 0;
	}
	return rc
		? rc
		: fail_set(f, -EINVAL, "cannot read '%s': its 'cdiVersion' is '%s', not 0.3 to 1.1", file->name, text);
}

static int cdi_read_devices(const struct conf_file *file, struct cdi *c, struct fail *f)
{
	const struct conf *list;
	int rc = cdi_member(file, &file->root, "devices", CONF_LIST, &list, f);

	if (rc || !list)
		return rc;
	if (list->count > CDI_DEVICES)
		return conf_fail(file, list, f, "more than %d devices", CDI_DEVICES);
	c->devices = calloc(list->count + 1, sizeof *c->devices);
	if (!c->devices)
		return fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; !rc && i < list->count; i++) {
		struct cdi_device *d = &c->devices[c->count++];

		rc = conf_expect(file, &list->items[i], CONF_MAP, f);
		rc = rc ? rc : cdi_text(file, &list->items[i], "name", d->name, sizeof d->name, f);
		if (!rc && !*d->name)
			rc = conf_fail(file, &list->items[i], f, "a device needs a 'name'");
		rc = rc ? rc : cdi_edits(file, &list->items[i], &d->edits, f);
	}
	return rc;
}

static int cdi_take(struct conf_file *file, struct cdi **out, struct fail *f)
{
	struct cdi *c = calloc(1, sizeof *c);
	int rc = c ? cdi_check_version(file, f) : fail_set(f, -ENOMEM, "out of memory");

	rc = rc ? rc : cdi_text(file, &file->root, "kind", c->kind, sizeof c->kind, f);
	if (!rc && !strchr(c->kind, '/'))
		rc = fail_set(f, -EINVAL, "cannot read '%s': its 'kind' is '%s', not 'VENDOR/CLASS'", file->name,
			c->kind);
	rc = rc ? rc : cdi_edits(file, &file->root, &c->edits, f);
	rc = rc ? rc : cdi_read_devices(file, c, f);
	conf_free(file);
	if (rc) {
		cdi_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

int cdi_parse(const char *name, const char *text, size_t len, struct cdi **out, struct fail *f)
{
	struct conf_file *file;
	int rc = conf_parse(name, text, len, &file, f);

	return rc ? rc : cdi_take(file, out, f);
}

int cdi_read(const char *path, struct cdi **out, struct fail *f)
{
	struct conf_file *file;
	int rc = conf_read(path, &file, f);

	return rc ? rc : cdi_take(file, out, f);
}

void cdi_free(struct cdi *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		devices_release(&c->devices[i].edits);
	free(c->devices);
	devices_release(&c->edits);
	free(c);
}
