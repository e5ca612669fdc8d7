/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod admin reputation: scores accounts by their commits and writes the score down as a fact. An account's commits
 * are those of the addresses in its fact git_emails, which the operator has seen proven.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cmd/admin/admin.h"
#include "cli/cmd/admin/commits.h"
#include "cli/cmd/admin/reputation.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"

enum { BODY_MAX = 64 * 1024, LIFE = 90 * 86400 };

#define GIT_EMAILS "git_emails"

static const struct column reputation_columns[] = {
	{ "account", COLUMN_ID, "whose commits" },
	{ "score", COLUMN_RIGHT, "0 to 100, by the formula of nanopod-reputation(7)" },
	{ "weeks", COLUMN_RIGHT, "weeks with a commit" },
	{ "counted", COLUMN_RIGHT, "commits that count: of a day at most 3" },
	{ "commits", COLUMN_RIGHT, "commits in all" },
	{ "last", 0, "when the newest was" },
	{ 0 },
};

/* The addresses of one account; none is an error, as the operator has forgotten something. */
static int reputation_mails(struct market_link *m, struct commits *c, struct committer *to)
{
	struct model_fact *list;
	struct buf path;
	size_t count, found = 0;
	char *text, *rest, *mail;
	int rc = 0;

	buf_init(&path, BODY_MAX);
	if (buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, to->account) || buf_adds(&path, "/facts"))
		command_nomem();
	if (market_get(m, "%s", buf_text(&path)) || wire_facts(m->doc, &list, &count, &m->fail))
		rc = market_fail(m, "cannot read the facts of '%s'", to->account);
	buf_release(&path);
	for (size_t i = 0; !rc && i < count; i++) {
		if (strcmp(list[i].name, GIT_EMAILS) != 0)
			continue;
		rest = text = strdup(list[i].value);
		if (!text)
			command_nomem();
		while (!rc && (mail = strsep(&rest, ","))) {
			found++;
			if (!commits_belong(c, mail, to))
				rc = print_fail(m->np, STATUS_CONFLICT, NULL,
					"the address '%s' of '%s' belongs to another account, too", mail, to->account);
		}
		free(text);
	}
	if (!rc && !found)
		rc = print_fail(m->np, STATUS_NOTFOUND, "'nanopod admin facts ACCOUNT git_emails=a@b,c@d' sets them",
			"'%s' has no proven addresses: its fact git_emails is missing", to->account);
	return rc;
}

static int reputation_keep(struct market_link *m, const struct committer *who, const struct reputation *x,
	int64_t until)
{
	const struct {
		const char *name;
		int64_t value, of;
	} facts[] = { { "reputation_score", x->hundredths, 100 }, { "reputation_formula", REPUTATION_FORMULA, 1 },
		{ "reputation_weeks", (int64_t)x->weeks, 1 }, { "reputation_commits", (int64_t)x->counted, 1 } };
	struct buf body, path;
	struct json j;
	char text[32];
	int rc;

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "facts");
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		if (facts[i].of == 100)
			snprintf(text, sizeof text, "%lld.%02lld", (long long)facts[i].value / 100,
				(long long)facts[i].value % 100);
		else
			snprintf(text, sizeof text, "%lld", (long long)facts[i].value);
		json_begin_object(&j, facts[i].name);
		json_text(&j, "value", text);
		json_int(&j, "end_at", until);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	if (j.error || buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, who->account) ||
		buf_adds(&path, "/facts"))
		command_nomem();
	rc = market_send(m, "PATCH", buf_text(&path), &body, NULL)
		? market_fail(m, "cannot write down the score of '%s'", who->account)
		: 0;
	buf_release(&body);
	buf_release(&path);
	return rc;
}

static int reputation_scores(struct market_link *m, const struct options *o, struct committer *list, size_t count,
	int64_t until)
{
	int64_t now = (int64_t)time(NULL);
	char rooms[5][CELL_TEXT], score[32];
	struct rows *r;
	int rc = 0;

	r = rows_new(m->np, o, reputation_columns, &rc);
	for (size_t i = 0; r && !rc && i < count; i++) {
		struct reputation x;

		reputation_of(list[i].times, list[i].count, now, &x);
		if (!option_given(o, "dry-run"))
			rc = reputation_keep(m, &list[i], &x, until ? until : now + LIFE);
		snprintf(score, sizeof score, "%lld.%02lld", (long long)x.hundredths / 100,
			(long long)x.hundredths % 100);
		rows_add(r,
			(const char *[]){ list[i].account, score, cell_int((int64_t)x.weeks, rooms[0]),
				cell_int((int64_t)x.counted, rooms[1]), cell_int((int64_t)x.seen, rooms[2]),
				x.last ? cell_time(m->np, x.last, rooms[3]) : NULL });
	}
	if (r && rc)
		rows_drop(r);
	return rc || !r ? rc : rows_end(r);
}

int admin_reputation(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct commits c = { 0 };
	struct committer *list;
	struct fail f = { 0 };
	int64_t until = 0;
	size_t count = 0;
	int rc = admin_time(np, o, "until", &until);

	if (!rc && !option_given(o, "commits"))
		rc = print_fail_field(np, STATUS_USAGE, "--commits", "e.g. --commits /srv/git/project",
			"--commits is required: a clone, or a file that 'perceval git --json-line' wrote");
	rc = rc ? rc : admin_begin(np, o, &m);
	while (words[count])
		count++;
	list = calloc(count, sizeof *list);
	if (!list)
		command_nomem();
	for (size_t i = 0; !rc && i < count; i++) {
		list[i].account = words[i];
		rc = reputation_mails(m, &c, &list[i]);
	}
	for (size_t i = 0; !rc && option_at(o, "commits", i); i++)
		if (commits_read(&c, option_at(o, "commits", i), &f))
			rc = print_fail(np, STATUS_FAILURE, NULL, "cannot read the commits of '%s': %s",
				option_at(o, "commits", i), f.text);
	rc = rc ? rc : reputation_scores(m, o, list, count, until);
	if (!rc)
		print_note(np, "read %zu commits, %zu of them by nobody of these accounts%s", c.read, c.strange,
			option_given(o, "dry-run") ? "; nothing was written down" : "");
	for (size_t i = 0; i < count; i++)
		free(list[i].times);
	free(list);
	commits_release(&c);
	market_sign_out(m);
	return rc;
}
