/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the cluster of `nanopod provision`: from a file, from the last applied one, or from stacks with -w and -r. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "cli/frame/retype.h"
#include "cli/provision/model/clusteredit.h"
#include "cli/remote/select.h"
#include "cli/frame/value.h"
#include "conf/conf.h"

/* ---- Hosts ----------------------------------------------------------------------------------- */

int provision_hosts(struct provision *p, struct pssh_list **out)
{
	struct pssh_list *l;
	bool given;
	int status = select_new(p->np, &l);

	status = status ? status : select_options(p->np, p->o, l, &given);
	if (!status && !given)
		status = print_fail_field(p->np, STATUS_USAGE, "--hosts",
			"name them with '-w n[1-4]' or '-r RESERVATION'", "which nodes?");
	if (status) {
		pssh_list_free(l);
		return status;
	}
	*out = l;
	return STATUS_OK;
}

/* ---- Reading it -------------------------------------------------------------------------------- */

/* Counts the cluster's members among these hosts; of: how many it has. */
static size_t provision_file_common(const char *cluster, const char *const *hosts, size_t count, size_t *of)
{
	struct fail f = { 0 };
	size_t same = 0;
	struct buf known;

	*of = 0;
	buf_init(&known, 8 << 20);
	if (runlog_members(cluster, &known, &f) == 0 && known.len)
		for (char *line = known.data, *name; (name = strsep(&line, "\n"));) {
			*of += *name != '\0';
			for (size_t i = 0; *name && i < count; i++)
				same += strcmp(name, hosts[i]) == 0;
		}
	buf_release(&known);
	return same;
}

/* Two clusters of one name would mix up their journals. */
static int check_name_is_free(struct provision *p)
{
	size_t of;

	if (provision_file_common(p->c->name, (const char *const *)(void *)p->c->members, p->c->count, &of) || !of)
		return STATUS_OK;
	return print_fail(p->np, STATUS_CONFLICT,
		"give this one another name ('--name', or 'cluster:' in the file); "
		"'nanopod provision list' shows all",
		"a cluster '%s' of other nodes already exists", p->c->name);
}

int provision_read(struct provision *p)
{
	struct cluster *c;
	struct fail f = { 0 };
	int status = provision_parse(p, &c);

	if (status)
		return status;
	cluster_free(p->c);
	p->c = c;
	if (cluster_check_files(c, &f))
		return print_fail(p->np, STATUS_NOTFOUND, NULL, "%s", f.text);
	if (runlog_check_name(c->name, &f))
		return print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text);
	return check_name_is_free(p);
}

/* ---- Part of one ------------------------------------------------------------------------------- */

void provision_only(struct cluster *c, const bool *which)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		if (!which[i]) {
			free(c->members[i]);
			continue;
		}
		c->members[n] = c->members[i];
		for (size_t k = 0; k < c->use_count; k++)
			c->uses[k].roles[n] = c->uses[k].roles[i];
		n++;
	}
	c->count = n;
}

/* ---- From stacks and hosts ------------------------------------------------------------------------ */

/* The file's text for its nodes, malloc'd: what the user typed if that will mean the same later, else the names. */
static char *provision_file_nodes_text(struct provision *p, const struct pssh_list *hosts)
{
	const struct options *o = p->o;
	bool plain = !option_given(o, "exclude") && !option_given(o, "hosts-file") && !option_given(o, "type") &&
		!option_given(o, "zone");
	const char *typed = option_count(o, "hosts") ? option_at(o, "hosts", 0) : NULL;
	char *text = NULL;
	int rc = 0;

	if (plain && !typed && option_count(o, "reservation") == 1)
		rc = asprintf(&text, "reservation/%s", option_at(o, "reservation", 0));
	else if (plain && !option_count(o, "reservation") && option_count(o, "hosts") == 1 && *typed != '^' &&
		strcmp(typed, "-") != 0)
		rc = (text = strdup(typed)) ? 0 : -1;
	else
		rc = pssh_list_fold(hosts, &text);
	if (rc < 0 || !text)
		command_nomem();
	return text;
}

static const char **typed_list(const struct options *o, const char *name)
{
	size_t n = option_count(o, name);
	const char **list = calloc(n + 1, sizeof *list);

	if (!list)
		command_nomem();
	for (size_t i = 0; i < n; i++)
		list[i] = option_at(o, name, i);
	return list;
}

static int new_text(struct provision *p, char **stacks, bool comments, struct pssh_list *hosts)
{
	const char *name = option_text(p->o, "name"), **roles = typed_list(p->o, "role");
	char *nodes = provision_file_nodes_text(p, hosts), *made;
	struct fail f = { 0 };
	int status;

	made = cluster_plain_name(name                      ? name
			: option_count(p->o, "reservation") ? option_at(p->o, "reservation", 0)
			: *stacks                           ? *stacks
							    : "cluster");
	status = runlog_check_name(name ? name : made, &f)
		? print_fail_field(p->np, STATUS_USAGE, "--name", NULL, "%s", f.text) : STATUS_OK;
	if (!status &&
		cluster_write(made, nodes, (const char *const *)(void *)stacks, (const char *const[]){ NULL }, roles,
			p->folder, comments, &p->text, &f))
		status = print_fail(p->np, f.code == -ENOENT ? STATUS_NOTFOUND : STATUS_USAGE, NULL, "%s", f.text);
	if (!status && asprintf(&p->file, "%s", made) < 0)
		command_nomem();
	free(nodes);
	free(made);
	free(roles);
	return status;
}

int provision_new_text(struct provision *p, char **stacks, bool comments)
{
	struct pssh_list *hosts = NULL;
	int status = provision_hosts(p, &hosts);

	status = status ? status : new_text(p, stacks, comments, hosts);
	pssh_list_free(hosts);
	return status;
}

/* ---- From a file, or what is kept ------------------------------------------------------------------ */

static bool provision_file_ends(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && strcmp(text + n - m, end) == 0;
}

bool provision_is_path(const char *word)
{
	return strchr(word, '/') || provision_file_ends(word, ".yaml") || provision_file_ends(word, ".yml");
}

static int provision_file_unknown(struct provision *p, const char *word)
{
	char *near = runlog_near(word);
	int status;

	if (near)
		status = print_fail(p->np, STATUS_NOTFOUND, NULL, "no cluster '%.80s' here; did you mean '%s'?", word,
			near);
	else
		status = print_fail(p->np, STATUS_NOTFOUND,
			"'nanopod provision list' shows all; the name of a file ends with .yaml or contains a "
			"'/'",
			"no cluster '%.80s' here", word);
	free(near);
	return status;
}

static int take_kept(struct provision *p, const char *word)
{
	char room[PROVISION_PATH - 16];
	struct fail f = { 0 };
	int rc = runlog_check_name(word, &f) ? -ENOENT : runlog_kept(word, &p->text, &f);

	if (rc == -ENOENT)
		return provision_file_unknown(p, word);
	if (rc || runlog_folder(word, room, sizeof room, &f))
		return print_fail(p->np, STATUS_FAILURE, NULL, "%s", f.text);
	if (asprintf(&p->file, "%s/cluster.yaml", room) < 0)
		command_nomem();
	p->kept = word;
	return STATUS_OK;
}

static int provision_file_has_ended(struct provision *p)
{
	char hint[120];

	snprintf(hint, sizeof hint, "'nanopod provision remove %.63s' forgets it", p->c->name);
	return print_fail(p->np, STATUS_CONFLICT, hint, "'%s' has ended with its reservation", p->c->name);
}

static int provision_file_take_file(struct provision *p, const char *path)
{
	int rc = buf_read_file(&p->text, path);

	if (rc)
		return print_fail(p->np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_FAILURE, rc == -ENOENT ?
			"'nanopod provision init' writes one" : NULL, "cannot read '%s': %s", path, strerror(-rc));
	p->file = strdup(path);
	if (!p->file)
		command_nomem();
	return STATUS_OK;
}

/* A path in the file that begins at the file's folder or at home. */
static bool is_relative(const struct conf_file *file, const char *stack, const char *key)
{
	const struct conf *at = conf_get(&file->root, "stacks");

	at = at && at->type == CONF_MAP ? conf_get(at, stack) : NULL;
	at = at && at->type == CONF_MAP ? conf_get(at, key) : NULL;
	return at && at->type == CONF_TEXT && *at->text && *at->text != '/' && !strstr(at->text, "://");
}

/* The text is kept in another folder, so its paths become absolute. */
static int provision_file_whole_paths(struct provision *p)
{
	struct conf_file *file;
	struct fail f = { 0 };
	int rc = conf_parse(p->file, buf_text(&p->text), p->text.len, &file, &f);

	if (rc)
		return print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text);
	for (size_t k = 0; k < p->c->use_count && !rc; k++) {
		const struct use *u = &p->c->uses[k];

		for (size_t i = 0; i < u->stack->setting_count && !rc; i++) {
			const char *keys[] = { "stacks", u->stack->name, u->stack->settings[i].key, NULL };
			char *path;

			if (u->stack->settings[i].type != STACK_FILE || !is_relative(file, keys[1], keys[2]))
				continue;
			path = realpath(pairs_or(&u->settings, keys[2], ""), NULL);
			rc = path ? clusteredit_set(p->file, &p->text, keys, path, &f)
				  : fail_errno(&f, -ENOENT, errno, "cannot read '%s.%s'", keys[1], keys[2]);
			free(path);
		}
	}
	conf_free(file);
	return rc ? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text) : STATUS_OK;
}

static int provision_file_take_word(struct provision *p, const char *word, bool roles, bool sets)
{
	bool path = provision_is_path(word);
	int status = path ? provision_file_take_file(p, word) : take_kept(p, word);

	status = status ? status : provision_set(p, roles, sets);
	status = status ? status : provision_read(p);
	if (status)
		return status;
	if (p->gone && !p->forgets)
		return provision_file_has_ended(p);
	return path ? provision_file_whole_paths(p) : STATUS_OK;
}

int provision_take_cluster(struct provision *p, const char *word)
{
	return provision_file_take_word(p, word, false, true);
}

/* ---- More stacks for a cluster that there is ------------------------------------------------------- */

static bool is_cluster_of(const char *cluster, const char *const *hosts, size_t count)
{
	size_t of;

	return provision_file_common(cluster, hosts, count, &of) == count && of == count;
}

/* Finds the cluster with exactly these nodes; *found is malloc'd or NULL. An exit status if two match. */
static int cluster_of(struct provision *p, const char *const *hosts, size_t count, char **found)
{
	char **names = runlog_clusters();
	int status = STATUS_OK;

	*found = NULL;
	for (char **n = names; *n; n++) {
		bool same = is_cluster_of(*n, hosts, count);

		if (same && *found && !status)
			status = print_fail(p->np, STATUS_CONFLICT, "choose one with '--name'",
				"these nodes are the cluster '%s', and also '%s'", *found, *n);
		if (same && !*found)
			*found = *n;
		else
			free(*n);
	}
	free(names);
	return status;
}

static int provision_file_add_stacks(struct provision *p, char **stacks)
{
	struct fail f = { 0 };

	for (char **s = stacks; *s; s++) {
		size_t had = p->text.len;

		if (clusteredit_stack(p->file, &p->text, *s, &f))
			return print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text);
		if (p->text.len != had)
			print_note(p->np, "adding '%s' to the cluster that these nodes are already: %s", *s, p->file);
	}
	return STATUS_OK;
}

/* If the nodes are a cluster already, the new stacks are added to its file instead of making another cluster. */
static int join_kept(struct provision *p, char **stacks, const char *const *hosts, size_t count, bool *joined)
{
	char *name = NULL;
	size_t of, same;
	int status = option_given(p->o, "name") || option_count(p->o, "reservation")
		? STATUS_OK
		: cluster_of(p, hosts, count, &name);

	if (status) {
		free(name);
		return status;
	}
	if (!name && !(name = strdup(p->file)))
		command_nomem();
	same = provision_file_common(name, hosts, count, &of);
	*joined = same > 0;
	if (!same) {
		free(name);
		return STATUS_OK;
	}
	free(p->file);
	p->file = NULL;
	buf_clear(&p->text);
	status = take_kept(p, name);
	if (!status && (same != of || same != count) && !option_count(p->o, "reservation"))
		status = print_fail(p->np, STATUS_CONFLICT,
			"'nanopod provision add' and 'drop' change its nodes; '--name' makes another cluster",
			"the cluster '%s' has %zu nodes, and %zu of them are among the %zu that you named", name, of,
			same, count);
	free(name);
	return status ? status : provision_file_add_stacks(p, stacks);
}

/* A reservation may have more nodes than its cluster; that is only a note. */
static void note_others(struct provision *p, const struct pssh_list *hosts)
{
	struct pssh_list *others;
	char *names = NULL;

	if (pssh_list_new(&others))
		command_nomem();
	for (size_t i = 0; i < pssh_list_count(hosts); i++)
		if (cluster_member(p->c, pssh_list_get(hosts, i)) == (size_t)-1)
			(void)pssh_list_add(others, pssh_list_get(hosts, i));
	if (pssh_list_count(others) && pssh_list_fold(others, &names) == 0)
		print_note(p->np, "not in the cluster '%s': %s; 'nanopod provision add' adds nodes", p->c->name, names);
	free(names);
	pssh_list_free(others);
}

static int provision_file_take_stacks(struct provision *p, char **stacks)
{
	struct pssh_list *hosts = NULL;
	bool joined = false;
	int status = provision_hosts(p, &hosts);

	status = status ? status : new_text(p, stacks, true, hosts);
	if (!status) {
		const char **names = select_names(hosts);

		status = join_kept(p, stacks, names, pssh_list_count(hosts), &joined);
		free(names);
	}
	status = status ? status : provision_set(p, joined, true);
	status = status ? status : provision_read(p);
	if (!status && joined)
		note_others(p, hosts);
	pssh_list_free(hosts);
	return status;
}

/* Two words and no hosts: the first may be meant as a reservation. */
static int provision_no_hosts(const struct provision *p, char **words)
{
	bool plain = retype_plain(words[0]) && retype_plain(words[1]);
	char hint[200];

	snprintf(hint, sizeof hint, "'nanopod provision -r %.60s %.60s' provisions a reservation, -w other hosts",
		plain ? words[0] : "RESERVATION", plain ? words[1] : "FILE");
	return print_fail(p->np, STATUS_USAGE, hint, "unexpected argument '%.60s'", words[1]);
}

int provision_take(struct provision *p, char **words)
{
	if (!select_given(p->o)) {
		if (!*words)
			return print_fail(p->np, STATUS_USAGE,
				"'nanopod provision FILE.yaml', or 'nanopod provision -w HOSTS STACK'",
				"no cluster given");
		if (words[1])
			return provision_no_hosts(p, words);
		return provision_file_take_word(p, *words, true, true);
	}
	if (!*words)
		return print_fail(p->np, STATUS_USAGE, "'nanopod provision stacks' lists them", "no stack given");
	for (char **w = words; *w; w++)
		if (provision_is_path(*w))
			return print_fail(p->np, STATUS_USAGE,
				"a file names its own nodes; 'nanopod provision add' adds some",
				"-w and -r go with stacks, but '%.80s' is a file", *w);
	return provision_file_take_stacks(p, words);
}
