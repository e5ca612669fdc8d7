/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/dropgroups.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/dropin/dropin.h"
#include "cli/frame/print.h"
#include "cli/inventory/hostbook.h"
#include "cli/inventory/hostread.h"
#include "cli/remote/select.h"

static char *dropgroups_path(const char *folder, const char *name)
{
	char *home = str_expand_home(folder), *path;

	if (!home || asprintf(&path, "%s/%s", home, name) < 0)
		command_nomem();
	free(home);
	return path;
}

/* ---- genders --------------------------------------------------------------------------- */

/* The file, where there is one; the caller frees it. Named ones need not exist: then the error says so. */
static char *dropgroups_genders(const char *named)
{
	const char *folder = dropin_env("PDSH_GENDERS_DIR");
	char *path;

	named = named ? named : dropin_env("PDSH_GENDERS_FILE");
	if (!named && access("/etc/genders", R_OK) != 0)
		return NULL;
	named = named ? named : "genders";
	path = *named == '/' ? strdup(named) : dropgroups_path(folder ? folder : "/etc", named);
	if (!path)
		command_nomem();
	return path;
}

/* Does the line's "a,b=c" have the attribute "a" or "b=c"? */
static bool dropgroups_has(const char *attributes, const char *wanted)
{
	size_t n = strlen(wanted);

	for (const char *s = attributes; *s; s += strcspn(s, ","), s += *s == ',')
		if (strncmp(s, wanted, n) == 0 && (!s[n] || s[n] == ',' || (s[n] == '=' && !strchr(wanted, '='))))
			return true;
	return false;
}

/* wanted NULL: each host; but: not those with this attribute, or NULL. */
static int dropgroups_genders_read(struct nanopod *np, struct pssh_list *l, const char *path, const char *wanted,
	const char *but)
{
	FILE *in = fopen(path, "re");
	int status = STATUS_OK;
	char *line = NULL;
	size_t room = 0;
	struct pssh_list *out;

	if (!in)
		return print_fail_field(np, STATUS_FAILURE, "-F", NULL, "cannot read '%s': %s", path, strerror(errno));
	select_new(np, &out);
	while (!status && getline(&line, &room, in) > 0) {
		char *rest = line, *hosts;
		const char *attributes;

		line[strcspn(line, "#\r\n")] = '\0';
		rest += strspn(rest, " \t");
		hosts = strsep(&rest, " \t");
		attributes = rest ? rest + strspn(rest, " \t") : "";
		if (*hosts && (!wanted || dropgroups_has(attributes, wanted)))
			status = select_add(np, l, hosts);
		if (*hosts && !status && but && dropgroups_has(attributes, but))
			status = select_add(np, out, hosts);
	}
	for (size_t i = 0; !status && i < pssh_list_count(out); i++)
		status = select_drop(np, l, pssh_list_get(out, i));
	pssh_list_free(out);
	free(line);
	fclose(in);
	return status;
}

/* ---- dsh's groups ---------------------------------------------------------------------- */

/* The file of a group: ~/.dsh/group, then DSHGROUP_PATH or /etc/dsh/group. NULL: none. The caller frees it. */
static char *dropgroups_dsh(const char *name)
{
	const char *folders = dropin_env("DSHGROUP_PATH");
	char *copy, *rest, *folder, *path = dropgroups_path("~/.dsh/group", name);

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	path = NULL;
	rest = copy = strdup(folders ? folders : "/etc/dsh/group");
	if (!copy)
		command_nomem();
	while (!path && (folder = strsep(&rest, ":"))) {
		path = dropgroups_path(folder, name);
		if (access(path, R_OK) != 0) {
			free(path);
			path = NULL;
		}
	}
	free(copy);
	return path;
}

static int dropgroups_one(struct nanopod *np, struct pssh_list *l, const char *genders, const char *name)
{
	char *path = genders ? NULL : dropgroups_dsh(name), *word;
	int status;

	if (genders)
		return dropgroups_genders_read(np, l, genders, name, NULL);
	if (asprintf(&word, "%c%s", path ? '^' : '@', path ? path : name) < 0)
		command_nomem();
	status = select_add(np, l, word);
	free(word);
	free(path);
	return status;
}

int dropgroups_pdsh(struct nanopod *np, struct pssh_list *l, const char *genders, const char *names)
{
	char *path = dropgroups_genders(genders), *copy = strdup(names), *rest = copy, *name;
	int status = STATUS_OK;

	if (!copy)
		command_nomem();
	if (strpbrk(names, "|&~(") || strstr(names, "--"))
		status = print_fail_field(np, STATUS_USAGE, "-g", "'-g ATTRIBUTE -X ATTRIBUTE' says most of them",
			"nanopod does not have the queries of genders: '%.100s'", names);
	while (!status && (name = strsep(&rest, ",")))
		if (*name)
			status = dropgroups_one(np, l, path, name);
	free(copy);
	free(path);
	return status;
}

int dropgroups_pdsh_all(struct nanopod *np, struct pssh_list *l, const char *genders, bool skip)
{
	char *path = dropgroups_genders(genders);
	int status;

	if (path)
		status = dropgroups_genders_read(np, l, path, NULL, skip ? "pdsh_all_skip" : NULL);
	else
		status = select_add(np, l, access("/etc/machines", R_OK) == 0 ? "^/etc/machines" : "@all");
	free(path);
	return status;
}

/* ---- ClusterShell ---------------------------------------------------------------------- */

static int dropgroups_read(struct nanopod *np, const char *path)
{
	struct fail f = { 0 };

	if (hostread_file(np->hostbook, path, &f))
		return print_fail(np, STATUS_USAGE, NULL, "cannot use '%.200s': %s", path, f.text);
	return STATUS_OK;
}

/* FOLDER/groups, else FOLDER/groups.d/ *.cfg; and FOLDER/groups.d/ *.yaml. */
static int dropgroups_folder(struct nanopod *np, const char *folder)
{
	static const char *const patterns[] = { "groups", "groups.d/*.cfg", "groups.d/*.yaml" };
	int status = STATUS_OK;
	bool lines = false;

	for (size_t i = 0; !status && i < sizeof patterns / sizeof *patterns; i++) {
		char *pattern = i == 1 && lines ? NULL : dropgroups_path(folder, patterns[i]);
		glob_t found;

		if (pattern && glob(pattern, 0, NULL, &found) == 0) {
			lines |= i == 0;
			for (size_t k = 0; !status && k < found.gl_pathc; k++)
				status = dropgroups_read(np, found.gl_pathv[k]);
			globfree(&found);
		}
		free(pattern);
	}
	return status;
}

/* The groups.conf of the last folder that has one says where groups are. *found: there is one. */
static int dropgroups_conf(struct nanopod *np, char *const *folders, size_t count, bool *found)
{
	int status = STATUS_OK;

	*found = false;
	for (size_t i = count; !*found && i-- > 0;) {
		char *path = dropgroups_path(folders[i], "groups.conf");
		struct fail f = { 0 };

		*found = access(path, R_OK) == 0;
		if (*found && hostread_found(np->hostbook, path, &f))
			status = print_fail(np, STATUS_USAGE, NULL, "cannot use '%.200s': %s", path, f.text);
		free(path);
	}
	return status;
}

int dropgroups_clush(struct nanopod *np)
{
	const char *own = dropin_env("CLUSTERSHELL_CFGDIR"), *config = dropin_env("XDG_CONFIG_HOME");
	char *folders[] = { strdup(own ? own : "/etc/clustershell"),
		dropgroups_path(config ? config : "~/.config", "clustershell"),
		dropgroups_path("~/.local/etc", "clustershell") };
	size_t count = sizeof folders / sizeof *folders;
	int status;
	bool found;

	if (!folders[0])
		command_nomem();
	np->hostbook = hostbook_new();
	np->hostbook_own = true;
	status = dropgroups_conf(np, folders, count, &found);
	for (size_t i = 0; !status && !found && i < count; i++)
		status = dropgroups_folder(np, folders[i]);
	for (size_t i = 0; i < count; i++)
		free(folders[i]);
	return status;
}
