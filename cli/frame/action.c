/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/action.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"

/* How many of the words make the action's name; 0: they name another one. */
static int action_fits(const char *name, char **words, int count)
{
	int n = 0;

	while (*name) {
		size_t len = strcspn(name, " ");

		if (n == count || strlen(words[n]) != len || strncmp(words[n], name, len) != 0)
			return 0;
		n++;
		name += len + (name[len] == ' ');
	}
	return n;
}

/* The typed words that could be an action's name. */
static void action_join(char **words, int count, struct buf *out)
{
	for (int i = 0; i < count && i < 2; i++)
		if ((i && buf_addc(out, ' ')) || buf_addf(out, "%.40s", words[i]))
			return;
}

static int action_unknown(struct nanopod *np, const char *command, const struct action *actions, char **words,
	int count)
{
	const char *near = NULL;
	struct buf typed, known;
	size_t far, best = SIZE_MAX;
	int rc;

	buf_init(&typed, 256);
	buf_init(&known, 4096);
	action_join(words, count, &typed);
	for (const struct action *a = actions; a->name; a++) {
		if (buf_addf(&known, "%s%s", a == actions ? "" : a[1].name ? ", " : " and ", a->name))
			break;
		if (value_near(buf_text(&typed), a->name, &far) && far < best) {
			best = far;
			near = a->name;
		}
	}
	if (near)
		rc = print_fail(np, STATUS_USAGE, NULL, "no action '%s %s'; did you mean '%s %s'?", command,
			buf_text(&typed), command, near);
	else
		rc = print_fail(np, STATUS_USAGE, NULL, "no action '%s%s%s'; available: %s", command,
			typed.len ? " " : "", buf_text(&typed), buf_text(&known));
	buf_release(&typed);
	buf_release(&known);
	return rc;
}

const char *action_missing(const char *usage, int n, char room[ACTION_MISSING])
{
	int depth = 0;

	*room = '\0';
	for (const char *s = usage ? usage : ""; *s && !*room; s += strspn(s, " ")) {
		size_t len = strcspn(s, " ");

		for (size_t i = 0; i < len; i++)
			depth += s[i] == '[' ? 1 : 0;
		if (!depth && n-- == 0)
			snprintf(room, ACTION_MISSING, ": %.*s",
				(int)(len > 3 && strncmp(s + len - 3, "...", 3) == 0 ? len - 3 : len), s);
		for (size_t i = 0; i < len; i++)
			depth -= s[i] == ']' ? 1 : 0;
		s += len;
	}
	return room;
}

/* One a line, in the groups of the list: `nanopod admin` alone. */
static int action_list(struct nanopod *np, const char *command, const struct action *actions)
{
	int rc = print_fail(np, STATUS_USAGE, NULL, "no action given; nanopod %s and one of these:", command);

	for (const struct action *a = actions; a->name; a++)
		fprintf(np->err, "  %s%s%s\n", a->name, *a->usage ? " " : "", a->usage);
	return rc;
}

int action_run(struct nanopod *np, const struct options *o, const char *command, const struct action *actions,
	const char *fallback)
{
	int count = option_argc(o), left;
	char **words = option_argv(o), room[ACTION_MISSING] = "";

	for (const struct action *a = actions; a->name; a++) {
		int n = count                                        ? action_fits(a->name, words, count)
			: fallback && strcmp(a->name, fallback) == 0 ? -1
								     : 0;

		if (!n)
			continue;
		left = n < 0 ? 0 : count - n;
		if (left >= a->min && left <= a->max)
			return a->run(np, o, words + (n < 0 ? 0 : n));
		return print_fail(np, STATUS_USAGE, NULL, "cannot run '%s %s': %s%s; usage: nanopod %s %s%s%s", command,
			a->name, left < a->min ? "an argument is missing" : "too many arguments",
			left < a->min ? action_missing(a->usage, left, room) : "", command, a->name,
			*a->usage ? " " : "", a->usage);
	}
	if (!count && !np->errors_json)
		return action_list(np, command, actions);
	return action_unknown(np, command, actions, words, count);
}
