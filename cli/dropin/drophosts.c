/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/drophosts.h"

#include <errno.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/frame/print.h"
#include "cli/inventory/hostbook.h"
#include "cli/remote/select.h"

/* ---- Lists ----------------------------------------------------------------------------- */

/* Leaves out those of the array that are not NULL. */
static void drophosts_drop_names(struct pssh_list *l, const char *const *names, size_t count)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, (size_t)1 << 30);
	for (size_t i = 0; i < count; i++)
		if (names[i])
			rc |= buf_addf(&b, "%s\n", names[i]);
	if (rc || (b.len && pssh_list_drop(l, b.data) != 0))
		command_nomem();
	buf_release(&b);
}

void drophosts_join(struct pssh_list *l, const struct pssh_list *other)
{
	for (size_t i = 0; i < pssh_list_count(other); i++)
		if (pssh_list_add(l, pssh_list_get(other, i)) != 0)
			command_nomem();
}

void drophosts_drop(struct pssh_list *l, const struct pssh_list *other)
{
	const char **names = select_names(other);

	drophosts_drop_names(l, names, pssh_list_count(other));
	free(names);
}

void drophosts_keep(struct pssh_list *l, const struct pssh_list *other)
{
	const char **names = select_names(l);
	struct table kept;

	table_init(&kept);
	for (size_t i = 0; i < pssh_list_count(other); i++)
		if (table_set(&kept, pssh_list_get(other, i), l) != 0)
			command_nomem();
	for (size_t i = 0; i < pssh_list_count(l); i++)
		if (table_get(&kept, names[i]))
			names[i] = NULL;
	drophosts_drop_names(l, names, pssh_list_count(l));
	table_release(&kept);
	free(names);
}

int drophosts_pick(struct nanopod *np, struct pssh_list *l, const char *text)
{
	size_t count = pssh_list_count(l), left = count;
	const char **names;
	long wanted;

	if (str_to_long(text, 1, 1000000, &wanted))
		return print_fail_field(np, STATUS_USAGE, "--pick", NULL,
			"'--pick' takes a number of hosts, not '%.60s'", text);
	names = select_names(l);
	/* Moves one of those that stay to the end, wanted times; the others in front go. */
	for (long i = 0; i < wanted && left; i++) {
		uint64_t random = 0;
		const char *kept;
		size_t at;

		if (getrandom(&random, sizeof random, 0) != sizeof random)
			random = 0;
		at = random % left--;
		kept = names[at];
		names[at] = names[left];
		names[left] = kept;
	}
	drophosts_drop_names(l, names, left);
	free(names);
	return STATUS_OK;
}

/* ---- pdsh ------------------------------------------------------------------------------ */

/* The next word between commas outside of brackets; NULL: none is left. The caller frees it. */
static char *drophosts_word(const char **text, const char *ends)
{
	const char *s = *text, *from;
	int depth = 0;
	char *word;

	s += *s && strchr(ends, *s);
	from = s;
	for (; *s && (depth > 0 || !strchr(ends, *s)); s++)
		depth += *s == '[' ? 1 : *s == ']' ? -1 : 0;
	if (!**text)
		return NULL;
	*text = s;
	word = strndup(from, (size_t)(s - from));
	if (!word)
		command_nomem();
	return word;
}

/* Takes the "ssh:" off. */
static int drophosts_rcmd(struct nanopod *np, char *word)
{
	static const char *const others[] = { "rsh", "exec", "mrsh", "krb4", "xcpu", "qsh", "mqsh" };
	size_t n = strcspn(word, ":[");

	if (word[n] != ':')
		return STATUS_OK;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strlen(others[i]) == n && memcmp(word, others[i], n) == 0)
			return print_fail_field(np, STATUS_USAGE, "-w", "leave out what is in front of the ':'",
				"nanopod connects by ssh only, not as '%.60s' says", word);
	if (n == 3 && memcmp(word, "ssh", 3) == 0)
		memmove(word, word + 4, strlen(word + 4) + 1);
	return STATUS_OK;
}

static int drophosts_regex(struct nanopod *np, struct pssh_list *l, char *pattern, bool drop)
{
	size_t n = strlen(pattern);
	const char **names;
	char why[200];
	regex_t re;
	int rc;

	if (n && pattern[n - 1] == '/')
		pattern[n - 1] = '\0';
	rc = regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &re, why, sizeof why);
		return print_fail_field(np, STATUS_USAGE, "-w", NULL, "cannot use the pattern '%.100s': %s", pattern,
			why);
	}
	names = select_names(l);
	for (size_t i = 0; i < pssh_list_count(l); i++)
		if ((regexec(&re, names[i], 0, NULL, 0) == 0) != drop)
			names[i] = NULL;
	drophosts_drop_names(l, names, pssh_list_count(l));
	free(names);
	regfree(&re);
	return STATUS_OK;
}

int drophosts_pdsh_add(struct nanopod *np, struct pssh_list *l, const char *text)
{
	int status = STATUS_OK;
	char *word;

	if (strcmp(text, "-") == 0)
		return select_add(np, l, text);
	while (!status && (word = drophosts_word(&text, ","))) {
		if (*word && *word != '-' && *word != '/') {
			status = drophosts_rcmd(np, word);
			status = status ? status : select_add(np, l, word);
		}
		free(word);
	}
	return status;
}

int drophosts_pdsh_filter(struct nanopod *np, struct pssh_list *l, const char *text, bool drop)
{
	int status = STATUS_OK;
	char *word;

	if (strcmp(text, "-") == 0)
		return STATUS_OK;
	while (!status && (word = drophosts_word(&text, ","))) {
		bool out = drop || *word == '-';
		char *at = word + (*word == '-');

		if (*at == '/')
			status = drophosts_regex(np, l, at + 1, out);
		else if (*at && out)
			status = select_drop(np, l, at);
		free(word);
	}
	return status;
}

/* ---- ClusterShell ---------------------------------------------------------------------- */

static void drophosts_xor(struct pssh_list *l, struct pssh_list *other)
{
	struct pssh_list *both;

	if (pssh_list_new(&both) != 0)
		command_nomem();
	drophosts_join(both, l);
	drophosts_keep(both, other);
	drophosts_join(l, other);
	drophosts_drop(l, both);
	pssh_list_free(both);
}

/* ClusterShell: "@*" and "@source:*" are all groups. */
static int drophosts_all(struct nanopod *np, struct pssh_list *l, const char *word)
{
	size_t len = strlen(word);
	bool all = *word == '@' && len > 1 && word[len - 1] == '*' && (len == 2 || word[len - 2] == ':');
	char *name;
	int status;

	if (!all)
		return select_add(np, l, word);
	if (asprintf(&name, "%.*sall", (int)len - 1, word) < 0)
		command_nomem();
	status = select_add(np, l, name);
	free(name);
	return status;
}

int drophosts_nodeset(struct nanopod *np, struct pssh_list *l, const char *text)
{
	struct pssh_list *all, *part;
	int status = STATUS_OK;
	char op = ',', *word;

	select_new(np, &all);
	for (; !status && (word = drophosts_word(&text, ",!&^ ")); free(word)) {
		select_new(np, &part);
		if (*word == '@' && strchr(word, ':') && !(np->hostbook && np->hostbook->source_count))
			status = print_fail(np, STATUS_USAGE, "name the group without its source",
				"nanopod does not have sources of groups: '%.100s'", word);
		else if (*word)
			status = drophosts_all(np, part, word);
		if (op == '!')
			drophosts_drop(all, part);
		else if (op == '&')
			drophosts_keep(all, part);
		else if (op == '^')
			drophosts_xor(all, part);
		else
			drophosts_join(all, part);
		pssh_list_free(part);
		op = *text;
	}
	if (!status)
		drophosts_join(l, all);
	pssh_list_free(all);
	return status;
}

/* ---- pssh ------------------------------------------------------------------------------ */

/* pssh would use a host as often as it is named. */
static int drophosts_pssh_add(struct nanopod *np, struct pssh_list *l, const char *name)
{
	size_t had = pssh_list_count(l);
	int status = select_add(np, l, name);

	if (!status && pssh_list_count(l) == had)
		print_warn(np, "'%.100s' is named twice and used once", name);
	return status;
}

static int drophosts_pssh_line(struct nanopod *np, struct pssh_list *l, char *line, const char *glob)
{
	char *words[3] = { 0 }, *rest = line, *word, *all, *host, *colon;
	size_t count = 0;
	int status;

	line[strcspn(line, "#\r\n")] = '\0';
	while (count < 3 && (word = strsep(&rest, " \t")))
		if (*word)
			words[count++] = word;
	if (count > 2 || (count == 2 && strchr(words[0], '@')))
		return print_fail(np, STATUS_USAGE, "a line is '[user@]host[:port]'", "'%.60s' is no host", words[0]);
	if (!count)
		return STATUS_OK;
	host = strchr(words[0], '@') ? strchr(words[0], '@') + 1 : words[0];
	colon = strrchr(host, ':');
	if (colon)
		*colon = '\0';
	if (glob && fnmatch(glob, host, 0) != 0)
		return STATUS_OK;
	if (colon)
		*colon = ':';
	if (asprintf(&all, "%s%s%s", count == 2 ? words[1] : "", count == 2 ? "@" : "", words[0]) < 0)
		command_nomem();
	status = drophosts_pssh_add(np, l, all);
	free(all);
	return status;
}

int drophosts_pssh_file(struct nanopod *np, struct pssh_list *l, const char *path, const char *glob)
{
	FILE *in = fopen(path, "re");
	int status = STATUS_OK;
	char *line = NULL;
	size_t room = 0;

	if (!in)
		return print_fail_field(np, STATUS_FAILURE, "--hosts", NULL, "cannot read '%s': %s", path,
			strerror(errno));
	while (!status && getline(&line, &room, in) > 0)
		status = drophosts_pssh_line(np, l, line, glob);
	free(line);
	fclose(in);
	return status;
}

int drophosts_pssh_words(struct nanopod *np, struct pssh_list *l, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;
	int status = STATUS_OK;

	if (!copy)
		command_nomem();
	while (!status && (word = strsep(&rest, " \t\n")))
		if (*word)
			status = drophosts_pssh_add(np, l, word);
	free(copy);
	return status;
}
