/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin grant, facts: whose money pays for whom, and what the policy knows of accounts. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/admin/admin.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/cmd/money/grant_rows.h"
#include "market/money.h"

enum { BODY_MAX = 64 * 1024 };

int admin_grant_list(struct nanopod *np, const struct options *o, char **words)
{
	const struct rows_list grants = { "admin", NULL, "the grants", grant_columns, grant_row, "no grants" };

	(void)words;
	return admin_list(np, o, "/np/v1/grants", grants);
}

int admin_grant_add(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	char room[MONEY_TEXT];
	struct fail why = { 0 };
	int64_t until = 0, max;
	struct buf body;
	struct json j;
	int rc = admin_time(np, o, "until", &until);

	if (!rc && !option_given(o, "sponsor"))
		rc = print_fail_field(np, STATUS_USAGE, "--sponsor",
			"'nanopod admin account add NAME' makes a pool of "
			"money",
			"--sponsor is required: the account that pays");
	if (!rc && money_parse(words[2], &max, &why))
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot grant '%s': %s", words[2], why.text);
	if (rc)
		return rc;
	buf_init(&body, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_text(&j, "account", words[0]);
	json_text(&j, "name", words[1]);
	json_text(&j, "sponsor", option_text(o, "sponsor"));
	json_text(&j, "max_dollars", money_wire(max, room));
	if (until)
		json_int(&j, "end_at", until);
	json_end(&j);
	if (j.error)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot make that grant: a name is no valid text");
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_make(m, "/np/v1/grants", &body, buf_text(&body))
			? market_fail(m, "cannot make the grant '%s'", words[1])
			: rows_one(m, o, grant_columns, grant_row, "the grant");
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

int admin_grant_end(struct nanopod *np, const struct options *o, char **words)
{
	return admin_delete(np, o, "/np/v1/grants/", "grant", words);
}

/* ---- Facts ------------------------------------------------------------------------------ */

static const struct column fact_columns[] = {
	{ "fact", COLUMN_ID, "its name; rules read it as account.NAME" },
	{ "value", COLUMN_TEXT, "its value" },
	{ "ends", 0, "until when it counts" },
	{ 0 },
};

static int facts_show(struct market_link *m, const struct options *o)
{
	struct model_fact *list;
	size_t count;
	struct rows *r;
	int rc;

	if (wire_facts(m->doc, &list, &count, &m->fail))
		return market_fail(m, "cannot show the facts");
	r = rows_new(m->np, o, fact_columns, &rc);
	if (!r)
		return rc;
	for (size_t i = 0; i < count; i++) {
		char end[CELL_TEXT];

		rows_add(r, (const char *[]){ list[i].name, list[i].value, cell_time(m->np, list[i].end, end) });
	}
	return rows_end(r);
}

/* "a,b" as a list of texts. */
static void facts_groups(struct json *j, char *text)
{
	char *rest = text, *word;

	json_begin_array(j, "value");
	while ((word = strsep(&rest, ",")))
		if (*word)
			json_text(j, NULL, word);
	json_end(j);
}

/* NAME=VALUE sets one, NAME= removes it; two are lists. 0 or an exit status. */
static int facts_put(struct nanopod *np, struct json *j, char **words, int64_t until)
{
	for (; *words; words++) {
		char *value = strchr(*words, '='), *name;

		if (!value || value == *words)
			return print_fail(np, STATUS_USAGE,
				"write reputation_score=72, or reputation_score= to remove it",
				"cannot understand '%.60s'", *words);
		name = strndup(*words, (size_t)(value++ - *words));
		if (!name)
			command_nomem();
		if (!*value) {
			json_text(j, name, NULL);
		} else {
			json_begin_object(j, name);
			if (strcmp(name, "groups") == 0 || strcmp(name, "git_emails") == 0)
				facts_groups(j, value);
			else
				json_text(j, "value", value);
			if (until)
				json_int(j, "end_at", until);
			json_end(j);
		}
		free(name);
	}
	return 0;
}

int admin_facts(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body, path;
	int64_t until = 0;
	struct json j;
	int rc = admin_time(np, o, "until", &until);

	buf_init(&body, BODY_MAX);
	buf_init(&path, BODY_MAX);
	j = json_to(&body);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "facts");
	rc = rc ? rc : facts_put(np, &j, words + 1, until);
	json_end(&j);
	json_end(&j);
	if (!rc && j.error)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot set that: it is too long, or not valid text");
	if (buf_adds(&path, "/np/v1/accounts/") || client_quote(&path, words[0]) || buf_adds(&path, "/facts"))
		command_nomem();
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = (words[1] ? market_send(m, "PATCH", buf_text(&path), &body, NULL)
			       : market_get(m, "%s", buf_text(&path)))
			? market_fail(m, "cannot %s the facts of '%s'", words[1] ? "set" : "show", words[0])
			: facts_show(m, o);
	buf_release(&body);
	buf_release(&path);
	market_sign_out(m);
	return rc;
}
