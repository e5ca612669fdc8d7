/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/dropssh.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/dropin/dropin.h"
#include "cli/frame/print.h"

enum { DROPSSH_MAX = 1 << 20 };

/* What a letter of ssh becomes. */
static const struct dropssh_row {
	char letter;
	const char *line; /* of ssh_config; with "%s" for the argument */
	int setting;      /* or a setting */
} rows[] = {
	{ 'o', "%s", -1 },
	{ 'l', NULL, SETTING_ID_USER },
	{ 'p', NULL, SETTING_ID_PORT },
	{ 'i', NULL, SETTING_ID_IDENTITY },
	{ 'F', NULL, SETTING_ID_SSH_CONFIG },
	{ 'J', NULL, SETTING_ID_JUMP },
	{ 'c', "Ciphers %s", -1 },
	{ 'm', "MACs %s", -1 },
	{ 'b', "BindAddress %s", -1 },
	{ 'B', "BindInterface %s", -1 },
	{ '4', "AddressFamily inet", -1 },
	{ '6', "AddressFamily inet6", -1 },
	{ 'C', "Compression yes", -1 },
};

static const struct dropssh_row *dropssh_row(char letter)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

int dropssh_line(struct dropssh *s, const char *line)
{
	char *all;

	if (strchr(line, '\n'))
		return print_fail_field(s->np, STATUS_USAGE, s->where, NULL, "'%s' takes one line", s->where);
	if (asprintf(&all, "%s%s\n", s->np->ssh_lines ? s->np->ssh_lines : "", line) < 0)
		command_nomem();
	free(s->np->ssh_lines);
	s->np->ssh_lines = all;
	return STATUS_OK;
}

static int dropssh_take(struct dropssh *s, const struct dropssh_row *row, const char *text)
{
	char *line;
	int status;

	if (!row->line)
		return strcmp(text, "%u") == 0 ? STATUS_OK
					       : dropin_set(s->np, (enum setting)row->setting, text, s->where);
	if (strcmp(row->line, "%s") == 0)
		return dropssh_line(s, text);
	if (!text)
		return dropssh_line(s, row->line);
	if (asprintf(&line, "%.*s%s", (int)strcspn(row->line, "%"), row->line, text) < 0)
		command_nomem();
	status = dropssh_line(s, line);
	free(line);
	return status;
}

/* One word; next: what follows it, or NULL. *took: next was its argument. */
static int dropssh_option(struct dropssh *s, const char *word, const char *next, bool *took)
{
	*took = false;
	if (word[0] != '-' || !word[1])
		return strcmp(word, "%h") == 0 ? STATUS_OK
					       : print_fail_field(s->np, STATUS_USAGE, s->where, NULL,
							 "'%.60s' of '%s' is no option of ssh", word, s->where);
	for (const char *p = word + 1; *p; p++) {
		const struct dropssh_row *row = dropssh_row(*p);
		bool argument = row && (!row->line || strchr(row->line, '%'));

		s->tty |= *p == 't';
		if (row && !argument) {
			int status = dropssh_take(s, row, NULL);

			if (status)
				return status;
		} else if (argument) {
			*took = !p[1];
			if (p[1] || next)
				return dropssh_take(s, row, p[1] ? p + 1 : next);
			return print_fail_field(s->np, STATUS_USAGE, s->where, NULL,
				"'-%c' of '%s' requires an argument", *p, s->where);
		} else if (!strchr("2axknqtTv", *p)) { /* these mean nothing here, or are so already */
			return print_fail_field(s->np, STATUS_USAGE, s->where,
				*p == 'O' ? "options of ssh_config follow '-o'"
					  : "'nanopod help connection' lists what nanopod has",
				"nanopod does not have ssh's '-%c' in '%s'", *p, s->where);
		}
	}
	return STATUS_OK;
}

/* The next word of the text, as a shell reads it; NULL: none is left. The caller frees it. */
static char *dropssh_next(const char **text)
{
	const char *p = *text + strspn(*text, " \t\n");
	char quote = '\0';
	struct buf b;
	int rc = 0;

	buf_init(&b, DROPSSH_MAX);
	if (!*p)
		return NULL;
	for (; *p && (quote || !strchr(" \t\n", *p)); p++) {
		if (*p == '\\' && quote != '\'' && p[1])
			rc |= buf_addc(&b, *++p);
		else if (quote ? *p == quote : *p == '"' || *p == '\'')
			quote = quote ? '\0' : *p;
		else
			rc |= buf_addc(&b, *p);
	}
	*text = p;
	if (rc || buf_add(&b, "", 1))
		command_nomem();
	return buf_steal(&b);
}

int dropssh_text(struct dropssh *s, const char *text)
{
	char *word = dropssh_next(&text), *next;
	int status = STATUS_OK;

	while (!status && word) {
		bool took;

		next = dropssh_next(&text);
		status = dropssh_option(s, word, next, &took);
		free(word);
		word = next;
		if (took && word) {
			free(word);
			word = dropssh_next(&text);
		}
	}
	free(word);
	return status;
}

int dropssh_word(struct dropssh *s, const char *word)
{
	bool took;

	return dropssh_option(s, word, NULL, &took);
}
