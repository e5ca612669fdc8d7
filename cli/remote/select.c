/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/select.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/nodes/node.h"
#include "cli/inventory/hostcall.h"
#include "cli/inventory/hostread.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/frame/retype.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"

/* ---- Nodes of the market ----------------------------------------------------------------- */

/* On other markets a node's name may read as a range: then use its id. */
static const char *select_safe_name(const struct node *n)
{
	const char *name = n->name;
	bool good = isalnum((unsigned char)*name);

	for (; good && *name; name++)
		good = isalnum((unsigned char)*name) || strchr("._-", *name);
	return good ? n->name : n->id;
}

/* libpssh asks it to expand '@name'. 0 or a code of libpssh. */
static int add_reservation(struct nanopod *np, const char *name, struct pssh_list *into)
{
	size_t found = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < np->nodes->count; i++) {
		const struct node *n = &np->nodes->list[i];

		if (!node_lives(n) || !node_in(n, name))
			continue;
		rc = pssh_list_add(into, select_safe_name(n));
		found++;
	}
	return rc ? rc : found ? 0 : PSSH_ENOENT;
}

static int select_resolve(void *arg, const char *group, struct pssh_list *into)
{
	struct nanopod *np = arg;
	const char *text = NULL;
	struct fail f = { 0 };

	if (np->hostbook && hostcall_ask(np->hostbook, group, &text, &f)) {
		np->select_failed = print_fail_field(np, STATUS_USAGE, "--inventory", NULL,
			"cannot use group '@%.60s': %s", group, f.text);
		return PSSH_ENOENT;
	}
	text = text || !np->settings ? text : settings_group(np->settings, group);
	if (text)
		return pssh_list_add(into, text);
	if (!np->settings || !settings_text(np->settings, SETTING_ID_URL))
		return PSSH_ENOENT;
	np->select_failed = nodes_know(np);
	return np->select_failed ? PSSH_ENOENT : add_reservation(np, group, into);
}

/* ---- The nearest name -------------------------------------------------------------------- */

bool select_near(const struct nanopod *np, const char *name, char room[SELECT_HINT])
{
	const char *url = np->settings ? settings_text(np->settings, SETTING_ID_URL) : NULL, *at = strrchr(name, '@');
	char near[REMEMBER_NAME];
	size_t far = SIZE_MAX;
	/* What is told beside a node is its reservation. */
	bool found = url && remember_near(REMEMBER_NODES, url, at ? at + 1 : name, true, near, &far);

	if (found)
		snprintf(room, SELECT_HINT, "did you mean '%s'?", near);
	return found;
}

static int no_such_reservation(struct nanopod *np, const char *name, const char *field)
{
	char hint[300 + SELECT_HINT], near[SELECT_HINT] = "";
	bool slip, plain = retype_plain(name);
	const struct node *n = nodes_find(np->nodes, name);
	const char *comma = strchr(name, ',');

	if (n) {
		snprintf(hint, sizeof hint, "'-w %.100s' takes the node, '-r %.100s' all of its reservation", name,
			n->reservation);
		return print_fail_field(np, STATUS_NOTFOUND, field, hint, "no reservation '%.100s': it is a node",
			name);
	}
	if (plain && comma && comma > name && comma[1]) {
		snprintf(hint, sizeof hint, "'-r %.*s -r %.100s' names several", (int)(comma - name), name, comma + 1);
		return print_fail_field(np, STATUS_USAGE, field, hint,
			"'-r' takes one reservation at a time, not '%.100s'", name);
	}
	slip = select_near(np, name, near);
	snprintf(hint, sizeof hint, "%s%s%s%.100s%s'nanopod reservations'%s", near, slip ? " " : "",
		plain ? "'nanopod nodes -r " : "", plain ? name : "", plain ? " --all' lists ended nodes, " : "",
		plain ? " your reservations" : " lists yours");
	return print_fail_field(np, STATUS_NOTFOUND, field, hint,
		"no reservation '%.100s' with a running or pending node", name);
}

static int add_reservations(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	size_t count = option_count(o, "reservation");
	int status = count ? nodes_know(np) : STATUS_OK;

	for (size_t i = 0; !status && i < count; i++) {
		int rc = add_reservation(np, option_at(o, "reservation", i), l);

		if (rc == PSSH_ENOMEM)
			command_nomem();
		if (rc)
			status = no_such_reservation(np, option_at(o, "reservation", i), "--reservation");
	}
	return status;
}

/* --type or --zone alone: chooses from all nodes. */
static int select_add_all(struct nanopod *np, struct pssh_list *l)
{
	int status = nodes_know(np);

	for (size_t i = 0; !status && i < np->nodes->count; i++)
		if (node_lives(&np->nodes->list[i]) && pssh_list_add(l, select_safe_name(&np->nodes->list[i])) != 0)
			command_nomem();
	return status;
}

size_t select_reservation_size(const struct nanopod *np, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; np->nodes && np->nodes->chosen && i < np->nodes->count; i++)
		count += node_lives(&np->nodes->list[i]) && node_in(&np->nodes->list[i], name);
	return count;
}

static bool select_means_reservation(const struct nanopod *np, const char *name)
{
	return !nodes_of_host(np->nodes, name) && select_reservation_size(np, name) && !nodes_host_known(np, name);
}

int select_settle(struct nanopod *np, struct pssh_list *l, bool sure)
{
	const char **names = select_names(l);
	size_t count = pssh_list_count(l), found = 0;
	struct pssh_list *all = NULL;
	int rc = 0;

	if (!np->nodes)
		nodes_guess(np, names, count, sure);
	for (size_t i = 0; i < count; i++)
		found += select_means_reservation(np, names[i]);
	if (found)
		rc = pssh_list_new(&all);
	for (size_t i = 0; found && !rc && i < count; i++)
		rc = select_means_reservation(np, names[i]) ? add_reservation(np, names[i], all)
							    : pssh_list_add(all, names[i]);
	free(names);
	while (found && !rc && pssh_list_count(l))
		rc = pssh_list_drop(l, pssh_list_get(l, pssh_list_count(l) - 1));
	for (size_t i = 0; found && !rc && i < pssh_list_count(all); i++)
		rc = pssh_list_add(l, pssh_list_get(all, i));
	pssh_list_free(all);
	if (rc)
		command_nomem();
	return STATUS_OK;
}

int select_one(struct nanopod *np, const char *typed, const char *command, struct pssh_list **out)
{
	char hint[400];
	const char *name;
	int status;

	select_new(np, out);
	status = select_add(np, *out, typed);
	if (!status && pssh_list_count(*out) != 1)
		status = print_fail(np, STATUS_USAGE, "'nanopod run -w' runs on many",
			"'%s' means %zu hosts, %s takes one", typed, pssh_list_count(*out), command);
	if (status)
		return status;
	name = pssh_list_get(*out, 0);
	nodes_guess_host(np, name);
	snprintf(hint, sizeof hint,
		"'nanopod nodes -r %.100s' lists them, 'nanopod run -r %.100s -- COMMAND' runs on all", name, name);
	status = np->nodes ? select_settle(np, *out, false) : STATUS_OK;
	if (!status && pssh_list_count(*out) != 1)
		status = print_fail(np, STATUS_USAGE, hint, "this is a reservation of %zu nodes, and %s takes one",
			pssh_list_count(*out), command);
	return status;
}

/* ---- What was typed ---------------------------------------------------------------------- */

int select_new(struct nanopod *np, struct pssh_list **out)
{
	struct pssh_list *l;

	if (pssh_list_new(&l) != 0 || pssh_list_set_resolver(l, select_resolve, np) != 0)
		command_nomem();
	*out = l;
	return STATUS_OK;
}

static const char *select_hint_for(const char *text)
{
	return text[0] == '^'        ? NULL
		: text[0] == '@'     ? "'nanopod config' shows the groups, 'nanopod reservations' the reservations"
		: strstr(text, ":/") ? "'nanopod cp' takes HOST:PATH, other commands HOST"
		: strchr(text, '/')  ? "to filter names: nanopod hosts 'n[1-9]' | grep -v '5$' | nanopod run -w - ..."
				     : "'nanopod help hosts' shows how hosts are written";
}

static int select_refused(struct nanopod *np, const struct pssh_list *l, int rc, const char *text)
{
	enum status status = rc == PSSH_ENOENT ? STATUS_NOTFOUND : rc == PSSH_ELOCAL ? STATUS_FAILURE : STATUS_USAGE;

	if (rc == PSSH_ENOMEM)
		command_nomem();
	if (np->select_failed) { /* the error was printed already */
		status = (enum status)np->select_failed;
		np->select_failed = STATUS_OK;
		return status;
	}
	return print_fail(np, status, rc == PSSH_ELOCAL ? NULL : select_hint_for(text), "%s", pssh_list_error(l));
}

/* Adds the nodes that a name with '*' or '?' means. drop: removes them instead. some: there must be one. */
static int select_match(struct nanopod *np, struct pssh_list *l, const char *pattern, bool drop, bool some)
{
	size_t found = 0;
	int rc = nodes_know(np);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < np->nodes->count; i++) {
		const struct node *n = &np->nodes->list[i];

		if (!node_lives(n) || !str_glob(pattern, n->name))
			continue;
		rc = drop ? pssh_list_drop(l, select_safe_name(n)) : pssh_list_add(l, select_safe_name(n));
		found++;
	}
	if (rc)
		return select_refused(np, l, rc, pattern);
	return found || !some ? STATUS_OK
			      : print_fail(np, STATUS_NOTFOUND, "'nanopod nodes' lists your nodes",
					"you have no node '%.100s'", pattern);
}

static void select_drop_all(struct pssh_list *l, const struct pssh_list *names)
{
	struct buf joined;

	buf_init(&joined, 1 << 30);
	for (size_t i = 0; i < pssh_list_count(names); i++)
		if (buf_addf(&joined, "%s\n", pssh_list_get(names, i)) != 0)
			command_nomem();
	if (joined.len && pssh_list_drop(l, joined.data) != 0)
		command_nomem();
	buf_release(&joined);
}

/* Adds or removes the names of a file. */
static int select_file(struct nanopod *np, struct pssh_list *l, const char *path, bool drop)
{
	struct pssh_list *names;
	int rc, status;

	select_new(np, &names);
	rc = pssh_list_add_file(drop ? names : l, path);
	status = rc ? select_refused(np, drop ? names : l, rc, "^") : STATUS_OK;
	if (drop && !status)
		select_drop_all(l, names);
	pssh_list_free(names);
	return status;
}

/* Patterns name nodes of a market. */
static bool is_pattern(const struct nanopod *np, const char *text)
{
	return strpbrk(text, "*?") && np->settings && settings_text(np->settings, SETTING_ID_URL);
}

/* One word without the sign that leaves it out. */
static int select_word(struct nanopod *np, struct pssh_list *l, const char *word, bool drop, bool some)
{
	int rc;

	if (*word == '^')
		return select_file(np, l, word + 1, drop);
	if (is_pattern(np, word))
		return select_match(np, l, word, drop, some);
	rc = drop ? pssh_list_drop(l, word) : pssh_list_add(l, word);
	return rc ? select_refused(np, l, rc, word) : STATUS_OK;
}

/* The next word; a comma or blank in brackets separates nothing. NULL: none is left. The caller frees it. */
static char *select_next_word(const char **text)
{
	const char *from, *s = *text + strspn(*text, ", \t\n");
	int depth = 0;
	char *word;

	for (from = s; *s && (depth > 0 || !strchr(", \t\n", *s)); s++)
		depth += *s == '[' ? 1 : *s == ']' ? -1 : 0;
	*text = s;
	if (s == from)
		return NULL;
	word = strndup(from, (size_t)(s - from));
	if (!word)
		command_nomem();
	return word;
}

/*
 * Files and patterns are the command's, the library expands the rest. Removals come last, as in the library.
 * some: a pattern must mean a node.
 */
static int select_words(struct nanopod *np, struct pssh_list *l, const char *text, bool some)
{
	int status = STATUS_OK;

	for (int removals = 0; removals < 2; removals++) {
		const char *at = text;
		char *word;

		while (!status && (word = select_next_word(&at))) {
			bool drop = *word == '-' || *word == '!';

			if (drop == (removals == 1))
				status = select_word(np, l, word + drop, drop, some && !drop);
			free(word);
		}
	}
	return status;
}

/* True where the library alone would not do. */
static bool select_has_own(const struct nanopod *np, const char *text)
{
	bool own = is_pattern(np, text);
	char *word;

	while (!own && (word = select_next_word(&text))) {
		own = word[*word == '-' || *word == '!'] == '^';
		free(word);
	}
	return own;
}

int select_add(struct nanopod *np, struct pssh_list *l, const char *text)
{
	int rc;

	if (select_has_own(np, text))
		return select_words(np, l, text, true);
	rc = strcmp(text, "-") == 0 ? pssh_list_add_file(l, "-") : pssh_list_add(l, text);
	return rc ? select_refused(np, l, rc, text) : STATUS_OK;
}

int select_drop(struct nanopod *np, struct pssh_list *l, const char *text)
{
	struct pssh_list *names;
	int rc, status;

	if (!select_has_own(np, text)) {
		rc = pssh_list_drop(l, text);
		return rc ? select_refused(np, l, rc, text) : STATUS_OK;
	}
	select_new(np, &names);
	status = select_words(np, names, text, false);
	if (!status)
		select_drop_all(l, names);
	pssh_list_free(names);
	return status;
}

/* True if one of its words is ^-. */
static bool select_reads_stdin(const char *text)
{
	bool found = strcmp(text, "-") == 0;
	char *word;

	while (!found && (word = select_next_word(&text))) {
		found = strcmp(word + (*word == '-' || *word == '!'), "^-") == 0;
		free(word);
	}
	return found;
}

bool select_uses_stdin(const struct options *o)
{
	for (size_t i = 0; i < option_count(o, "hosts"); i++)
		if (select_reads_stdin(option_at(o, "hosts", i)))
			return true;
	for (size_t i = 0; i < option_count(o, "exclude"); i++)
		if (select_reads_stdin(option_at(o, "exclude", i)))
			return true;
	for (size_t i = 0; i < option_count(o, "hosts-file"); i++)
		if (strcmp(option_at(o, "hosts-file", i), "-") == 0)
			return true;
	return false;
}

bool select_given(const struct options *o)
{
	return option_given(o, "hosts") || option_given(o, "hosts-file") || option_given(o, "reservation") ||
		option_given(o, "type") || option_given(o, "zone");
}

int select_inventories(struct nanopod *np, const struct options *o)
{
	struct fail f = { 0 };

	if (np->hostbook_own || !option_given(o, "inventory"))
		return STATUS_OK;
	np->hostbook = hostbook_new();
	np->hostbook_own = true;
	for (size_t i = 0; i < option_count(o, "inventory"); i++)
		if (hostread_file(np->hostbook, option_at(o, "inventory", i), &f))
			return print_fail_field(np, STATUS_USAGE, "--inventory", NULL, "cannot use '%.200s': %s",
				option_at(o, "inventory", i), f.text);
	return STATUS_OK;
}

/* What "train,-train-1" or "train!train-1" leaves out could not go before the nodes of 'train' were there. */
static int select_drop_again(struct nanopod *np, struct pssh_list *l, const char *text)
{
	int status = STATUS_OK;
	char *word;

	while (!status && (word = select_next_word(&text))) {
		char *rest = *word == '-' ? word + 1 : strchr(word, '!') ? strchr(word, '!') + 1 : NULL, *one;

		while (!status && (one = strsep(&rest, "!")))
			status = *one ? select_drop(np, l, one) : STATUS_OK;
		free(word);
	}
	return status;
}

int select_meant(struct nanopod *np, struct pssh_list *l, const char *text, bool sure)
{
	int status = select_add(np, l, text);
	size_t before = pssh_list_count(l);

	status = status ? status : select_settle(np, l, sure);
	return status || pssh_list_count(l) == before ? status : select_drop_again(np, l, text);
}

/* Reservations' names are settled before anything is left out or filtered. */
static int select_settle_options(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	size_t count = option_count(o, "hosts"), before = pssh_list_count(l);
	int status = count || option_given(o, "hosts-file") ? select_settle(np, l, false) : STATUS_OK;

	for (size_t i = 0; !status && pssh_list_count(l) != before && i < count; i++)
		status = select_drop_again(np, l, option_at(o, "hosts", i));
	return status;
}

int select_exclude(struct nanopod *np, const struct options *o, struct pssh_list *l)
{
	size_t count = option_count(o, "exclude"), had = pssh_list_count(l);
	int status = STATUS_OK;

	for (size_t i = 0; !status && i < count; i++)
		status = select_drop(np, l, option_at(o, "exclude", i));
	return status || !had || pssh_list_count(l)
		? status
		: print_fail_field(np, STATUS_USAGE, "--exclude", NULL, "no hosts left after --exclude");
}

int select_options(struct nanopod *np, const struct options *o, struct pssh_list *l, bool *given)
{
	int status = select_check(np, o);

	status = status ? status : select_inventories(np, o);
	*given = select_given(o);
	for (size_t i = 0; !status && i < option_count(o, "hosts"); i++)
		status = select_add(np, l, option_at(o, "hosts", i));
	if (!status)
		status = add_reservations(np, o, l);
	for (size_t i = 0; !status && i < option_count(o, "hosts-file"); i++) {
		int rc = pssh_list_add_file(l, option_at(o, "hosts-file", i));

		status = rc ? select_refused(np, l, rc, option_at(o, "hosts-file", i)) : STATUS_OK;
	}
	if (!status)
		status = select_settle_options(np, o, l);
	if (!status && *given && !option_given(o, "hosts") && !option_given(o, "hosts-file") &&
		!option_given(o, "reservation"))
		status = select_add_all(np, l);
	if (!status && *given && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_USAGE, "--hosts", NULL, "the list of hosts is empty");
	if (!status)
		status = select_exclude(np, o, l);
	return status || !*given ? status : select_nodes(np, o, l);
}

char *select_fold_names(const char *const *names, size_t count, size_t longest)
{
	struct pssh_list *l;
	char *text = NULL, *cut;

	if (pssh_list_new(&l) != 0)
		command_nomem();
	for (size_t i = 0; i < count; i++)
		pssh_list_add(l, names[i]);
	if (pssh_list_fold(l, &text) != 0)
		command_nomem();
	pssh_list_free(l);
	if (longest && strlen(text) > longest) {
		if (asprintf(&cut, "%.*s… (%zu hosts)", (int)longest, text, count) < 0)
			command_nomem();
		free(text);
		text = cut;
	}
	return text;
}
