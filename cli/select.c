/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/select.h"

#include <stdlib.h>
#include <string.h>

#include "cli/print.h"
#include "cli/settings.h"


static int resolve(void *arg, const char *group, struct pssh_list *into)
{
	struct nanopod *np = arg;
	const char *text = np->settings ? settings_group(np->settings, group) : NULL;

	return text ? pssh_list_add(into, text) : PSSH_ENOENT;
}

int select_new(struct nanopod *np, struct pssh_list **out)
{
	struct pssh_list *l;

	if (pssh_list_new(&l) != 0 || pssh_list_set_resolver(l, resolve, np) != 0)
		command_nomem();
	*out = l;
	return STATUS_OK;
}

static const char *hint_for(const char *text)
{
	return text[0] == '^' ? NULL : text[0] == '@' ? "'nanopod config' shows the groups" : "'nanopod help hosts' shows how hosts are written";
}

static int refused(struct nanopod *np, const struct pssh_list *l, int rc, const char *text)
{
	enum status status = rc == PSSH_ENOENT ? STATUS_NOTFOUND : rc == PSSH_ELOCAL ? STATUS_FAILURE : STATUS_USAGE;

	if (rc == PSSH_ENOMEM)
		command_nomem();
	return print_fail(np, status, rc == PSSH_ELOCAL ? NULL : hint_for(text), "%s", pssh_list_error(l));
}

int select_add(struct nanopod *np, struct pssh_list *l, const char *text)
{
	int rc;

	if (strcmp(text, "-") == 0)
		rc = pssh_list_add_file(l, "-");
	else if (text[0] == '^')
		rc = pssh_list_add_file(l, text + 1);
	else
		rc = pssh_list_add(l, text);
	return rc ? refused(np, l, rc, text) : STATUS_OK;
}

int select_drop(struct nanopod *np, struct pssh_list *l, const char *text)
{
	int rc = pssh_list_drop(l, text);

	return rc ? refused(np, l, rc, text) : STATUS_OK;
}

bool select_uses_stdin(const struct options *o)
{
	for (size_t i = 0; i < option_count(o, "hosts"); i++)
		if (strcmp(option_at(o, "hosts", i), "-") == 0 || strcmp(option_at(o, "hosts", i), "^-") == 0)
			return true;
	for (size_t i = 0; i < option_count(o, "hosts-file"); i++)
		if (strcmp(option_at(o, "hosts-file", i), "-") == 0)
			return true;
	return false;
}

int select_options(struct nanopod *np, const struct options *o, struct pssh_list *l, bool *given)
{
	int status = STATUS_OK;

	*given = option_given(o, "hosts") || option_given(o, "hosts-file");
	for (size_t i = 0; !status && i < option_count(o, "hosts"); i++)
		status = select_add(np, l, option_at(o, "hosts", i));
	for (size_t i = 0; !status && i < option_count(o, "hosts-file"); i++) {
		int rc = pssh_list_add_file(l, option_at(o, "hosts-file", i));

		status = rc ? refused(np, l, rc, option_at(o, "hosts-file", i)) : STATUS_OK;
	}
	for (size_t i = 0; !status && i < option_count(o, "exclude"); i++)
		status = select_drop(np, l, option_at(o, "exclude", i));
	if (!status && *given && pssh_list_count(l) == 0)
		status = print_fail_field(np, STATUS_USAGE, "--hosts", NULL,
			option_given(o, "exclude") ? "no host is left after --exclude" : "the list of hosts is empty");
	return status;
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
