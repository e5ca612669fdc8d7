/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/table.h"
#include "cli/nodes/hostnames.h"
#include "cli/provision/report/runlog.h"
#include "cli/provision/model/stack.h"
#include "cli/frame/remember.h"
#include "cli/frame/settings.h"
#include "cli/frame/value.h"

struct asker {
	struct nanopod *np;
	const char *typed; /* the word to complete, without "--name=" */
	char prefix[128];  /* the "--name=", or the hosts before the last comma */
	void (*found)(void *arg, const char *word, const char *help);
	void *arg;
	struct table seen;
	bool colon;              /* cp: names of hosts end in ':' */
};

static void candidates_offer(struct asker *a, const char *word, const char *help)
{
	char *whole;

	if (!str_starts(word, a->typed) || table_get(&a->seen, word))
		return;
	if (table_set(&a->seen, word, a) || asprintf(&whole, "%s%s%s", a->prefix, word, a->colon ? ":" : "") < 0)
		command_nomem();
	a->found(a->arg, whole, help);
	free(whole);
}

static void offer_host(void *arg, const char *name)
{
	candidates_offer(arg, name, NULL);
}

static void offer_values(struct asker *a, const char *values)
{
	const char *word;
	char text[64];
	size_t len;

	for (size_t i = 0; values && value_word(values, i, &word, &len); i++) {
		snprintf(text, sizeof text, "%.*s", (int)len, word);
		candidates_offer(a, text, NULL);
	}
}

static void offer_groups(struct asker *a, const char *sign)
{
	const char *name;
	char text[256];

	for (size_t i = 0; (name = settings_group_name(a->np->settings, i)); i++) {
		snprintf(text, sizeof text, "%s%s", sign, name);
		candidates_offer(a, text, settings_group(a->np->settings, name));
	}
}

/* Completes "web1,we" after the comma and "root@we" after the '@'; the comma of "n[1,2" is in a range. */
static void skip_to_last_name(struct asker *a)
{
	const char *last = a->typed;
	size_t len = strlen(a->prefix);

	for (const char *p = a->typed; *p; p++) {
		if (*p == '[' && !strchr(p, ']'))
			return;
		if (*p == ',' || (*p == '@' && p > last))
			last = p + 1;
	}
	if (len + (size_t)(last - a->typed) >= sizeof a->prefix)
		return;
	snprintf(a->prefix + len, sizeof a->prefix - len, "%.*s", (int)(last - a->typed), a->typed);
	a->typed = last;
}

static void offer_named(void *arg, const char *name, const char *help)
{
	candidates_offer(arg, name, help);
}

static void offer_remembered(struct asker *a, const char *kind)
{
	const char *url = settings_text(a->np->settings, SETTING_ID_URL);

	if (url)
		remember_each(kind, url, offer_named, a);
}

static void offer_at_name(void *arg, const char *name, const char *help)
{
	char text[256];

	snprintf(text, sizeof text, "@%s", name);
	candidates_offer(arg, text, help);
}

static void offer_reservation_groups(struct asker *a)
{
	const char *url = settings_text(a->np->settings, SETTING_ID_URL);

	if (url)
		remember_each(REMEMBER_RESERVATIONS, url, offer_at_name, a);
}

static void offer_hosts(struct asker *a)
{
	const struct settings *s = a->np->settings;

	skip_to_last_name(a);
	offer_groups(a, "@");
	offer_remembered(a, REMEMBER_NODES);
	/* A reservation stands for its nodes, with and without '@'. */
	offer_remembered(a, REMEMBER_RESERVATIONS);
	if (*a->typed == '@')
		offer_reservation_groups(a);
	if (settings_text(s, SETTING_ID_SSH_CONFIG) && !settings_none(s, SETTING_ID_SSH_CONFIG))
		hostnames_config(settings_text(s, SETTING_ID_SSH_CONFIG), offer_host, a);
	if (settings_text(s, SETTING_ID_KNOWN_HOSTS) && !settings_none(s, SETTING_ID_KNOWN_HOSTS))
		hostnames_known(settings_text(s, SETTING_ID_KNOWN_HOSTS), offer_host, a);
}

static void offer_settings(struct asker *a)
{
	for (int i = 0; i < SETTING_IDS; i++)
		candidates_offer(a, settings_row((enum setting)i)->key, settings_row((enum setting)i)->help);
	candidates_offer(a, "profile", "the profile in force");
	offer_groups(a, "groups.");
}

static void offer_commands(struct asker *a)
{
	for (const struct command *const *cmd = a->np->commands; *cmd; cmd++)
		if (!((*cmd)->flags & COMMAND_HIDDEN))
			candidates_offer(a, (*cmd)->name, (*cmd)->summary);
}

static void offer_profiles(struct asker *a)
{
	const char *name;

	for (size_t i = 0; (name = settings_profile_name(a->np->settings, i)); i++)
		candidates_offer(a, name, NULL);
}

static void offer_all(struct asker *a, char **words)
{
	for (char **w = words; w && *w; w++) {
		candidates_offer(a, *w, NULL);
		free(*w);
	}
	free(words);
}

static void offer_clusters(struct asker *a)
{
	offer_all(a, runlog_clusters());
}

static void offer_stacks(struct asker *a)
{
	char folder[4096];

	if (stack_folders(folder, sizeof folder, NULL) == 0)
		offer_all(a, stack_names(folder));
}

static enum candidates_rest offer_provision(struct asker *a, enum complete kind, const char *values)
{
	offer_values(a, values);
	if (kind != COMPLETE_STACK)
		offer_clusters(a);
	if (kind != COMPLETE_CLUSTER)
		offer_stacks(a);
	return kind == COMPLETE_PROVISION ? CANDIDATES_FILES : CANDIDATES_NOTHING;
}

static const char *const remembered_as[] = {
	[COMPLETE_TYPE] = REMEMBER_TYPES,
	[COMPLETE_ACCOUNT] = REMEMBER_ACCOUNTS,
	[COMPLETE_ORDER] = REMEMBER_ORDERS,
	[COMPLETE_RESERVATION] = REMEMBER_RESERVATIONS,
	[COMPLETE_NODE] = REMEMBER_NODES,
};

static enum candidates_rest offer_kind(struct asker *a, enum complete kind, const char *values)
{
	switch (kind) {
	case COMPLETE_NONE:
		break;
	case COMPLETE_VALUES:
		offer_values(a, values);
		break;
	case COMPLETE_FILE:
		return CANDIDATES_FILES;
	case COMPLETE_DIR:
		return CANDIDATES_DIRS;
	case COMPLETE_HOSTS:
		offer_hosts(a);
		break;
	case COMPLETE_HOST_PATH:
		if (strchr(a->typed, ':'))
			break;
		if (!strchr(a->typed, '/')) {
			a->colon = true;
			offer_hosts(a);
		}
		return CANDIDATES_FILES;
	case COMPLETE_GROUP:
		offer_groups(a, "");
		break;
	case COMPLETE_COMMAND:
		offer_commands(a);
		offer_values(a, values);
		break;
	case COMPLETE_SETTING:
		offer_settings(a);
		break;
	case COMPLETE_PROGRAM:
		return CANDIDATES_PROGRAMS;
	case COMPLETE_PROFILE:
		offer_profiles(a);
		break;
	case COMPLETE_TYPE:
	case COMPLETE_ACCOUNT:
	case COMPLETE_ORDER:
	case COMPLETE_RESERVATION:
	case COMPLETE_NODE:
		offer_remembered(a, remembered_as[kind]);
		break;
	case COMPLETE_STACK:
	case COMPLETE_CLUSTER:
	case COMPLETE_CLUSTER_STACK:
	case COMPLETE_PROVISION:
		return offer_provision(a, kind, values);
	case COMPLETE_HOLDING:
		offer_remembered(a, REMEMBER_RESERVATIONS);
		offer_remembered(a, REMEMBER_NODES);
		break;
	}
	return CANDIDATES_NOTHING;
}

static void offer_options(struct asker *a, const struct option *const *tables)
{
	char text[80];

	for (const struct option *const *table = tables; *table; table++) {
		for (const struct option *row = *table; row->name; row++) {
			snprintf(text, sizeof text, "--%s", row->name);
			candidates_offer(a, text, row->help);
		}
	}
}

/* Where the walk over the words before the last one stopped. */
struct place {
	const struct option *pending; /* the last word is its argument */
	int positionals;              /* how many came before */
	const char *words[2];         /* the first of them */
	bool ended;                   /* options end: after "--", or the first positional of some commands */
	int next;                     /* the first word that the walk did not reach */
};

/* The option in a cluster of letters that takes the next word, or NULL. */
static const struct option *pending_letter(const struct option *const *tables, const char *letters)
{
	for (; *letters; letters++) {
		const struct option *row = option_find_letter(tables, *letters);

		if (!row)
			return NULL;
		if (option_takes_argument(row))
			return letters[1] || row->kind == OPTION_OPTIONAL ? NULL : row;
	}
	return NULL;
}

static const struct option *pending_of(const struct option *const *tables, const char *word)
{
	const struct option *row;

	if (word[1] != '-')
		return pending_letter(tables, word + 1);
	row = strchr(word, '=') ? NULL : option_find(tables, word + 2, strlen(word + 2));
	return row && option_takes_argument(row) && row->kind != OPTION_OPTIONAL ? row : NULL;
}

/* stop: the walk stops at the first positional, and does not count it. */
static struct place candidates_walk(const struct option *const *tables, char **words, int count, bool stop)
{
	struct place at = { 0 };

	for (; at.next < count; at.next++) {
		const char *word = words[at.next];

		if (at.pending) {
			at.pending = NULL;
		} else if (!at.ended && strcmp(word, "--") == 0) {
			at.ended = true;
		} else if (!at.ended && word[0] == '-' && word[1]) {
			at.pending = pending_of(tables, word);
		} else if (stop) {
			at.ended = true;
			return at;
		} else {
			if (at.positionals < 2)
				at.words[at.positionals] = word;
			at.positionals++;
		}
	}
	return at;
}

static enum candidates_rest offer_argument(struct asker *a, const struct option *row, const struct command *cmd)
{
	const char *values = command_values(cmd, row);

	return offer_kind(a, row->complete == COMPLETE_NONE && values ? COMPLETE_VALUES : row->complete, values);
}

/* Are they the positionals that came before, or, with more, the first of them? */
static bool completion_fits(const struct completion *c, const struct place *at)
{
	const char *text = c->after;
	int n = 0;

	for (; *text; n++) {
		size_t len = strcspn(text, " ");

		if (n == 2 || n == at->positionals || strlen(at->words[n]) != len ||
			strncmp(at->words[n], text, len) != 0)
			return false;
		text += len + (text[len] == ' ');
	}
	return c->more || n == at->positionals;
}

static enum candidates_rest offer_positional(struct asker *a, const struct command *cmd, const struct place *at)
{
	const struct completion *fits = NULL;

	for (const struct completion *c = cmd->completions; c && c->after; c++)
		if (completion_fits(c, at))
			fits = c;
	if (!fits)
		return offer_kind(a, at->positionals ? cmd->complete_rest : cmd->complete_first, cmd->first_values);
	if (fits->complete != COMPLETE_VALUES)
		offer_values(a, fits->values);
	return offer_kind(a, fits->complete, fits->values);
}

static enum candidates_rest offer_word(struct asker *a, const struct command *cmd, const struct place *at)
{
	const struct option *tables[COMMAND_TABLES];
	const char *equals = strchr(a->typed, '=');
	const struct option *row;

	command_tables(cmd, tables);
	if (at->pending)
		return offer_argument(a, at->pending, cmd);
	if (!at->ended && str_starts(a->typed, "--") && equals) {
		row = option_find(tables, a->typed + 2, (size_t)(equals - a->typed - 2));
		if (!row || !option_takes_argument(row) || (size_t)(equals - a->typed) + 2 > sizeof a->prefix)
			return CANDIDATES_NOTHING;
		snprintf(a->prefix, sizeof a->prefix, "%.*s", (int)(equals - a->typed) + 1, a->typed);
		a->typed = equals + 1;
		return offer_argument(a, row, cmd);
	}
	if (!at->ended && a->typed[0] == '-') {
		offer_options(a, tables);
		return CANDIDATES_NOTHING;
	}
	if (!cmd)
		return offer_kind(a, COMPLETE_COMMAND, NULL);
	if (cmd->max_args >= 0 && at->positionals >= cmd->max_args)
		return CANDIDATES_NOTHING;
	return offer_positional(a, cmd, at);
}

/* Where options end at the first positional, every later word is one, except one "--". */
static void count_rest(struct place *at, char **words, int count)
{
	bool parted = false;

	for (; at->next < count; at->next++) {
		if (!parted && strcmp(words[at->next], "--") == 0)
			parted = true;
		else
			at->positionals++;
	}
}

enum candidates_rest candidates_find(struct nanopod *np, char **words, int count,
	void (*found)(void *arg, const char *word, const char *help), void *arg)
{
	struct asker a = { .np = np, .typed = count ? words[count - 1] : "", .found = found, .arg = arg };
	const struct option *tables[COMMAND_TABLES];
	const struct command *cmd = NULL;
	enum candidates_rest rest = CANDIDATES_NOTHING;
	struct place at;
	int last = count ? count - 1 : 0, first;

	table_init(&a.seen);
	command_tables(NULL, tables);
	at = candidates_walk(tables, words, last, true);
	if (at.next < last) {
		cmd = command_find(np, words[at.next]);
		first = at.next + 1;
		if (cmd) {
			command_tables(cmd, tables);
			at = candidates_walk(tables, words + first, last - first, cmd->flags & COMMAND_STOP);
			count_rest(&at, words + first, last - first);
		}
	}
	if (cmd || at.next == last)
		rest = offer_word(&a, cmd, &at);
	else
		rest = CANDIDATES_FILES; /* nanopod-foo on PATH: its arguments are not known */
	table_release(&a.seen);
	return rest;
}
