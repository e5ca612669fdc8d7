/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin policy: the market's numbers, which hold for all accounts. */
#include <stddef.h>
#include <string.h>

#include "cli/cmd/admin/admin.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"

enum { BODY_MAX = 64 * 1024 };

static const struct column policy_columns[] = {
	{ "setting", COLUMN_ID, "its name" },
	{ "value", COLUMN_RIGHT | COLUMN_RAW, "value in force" },
	{ "meaning", COLUMN_TEXT, "meaning" },
	{ 0 },
};

static const struct {
	const char *name, *meaning;
	size_t at;
	long min, max;
} policies[] = {
	{ "fee_bps", "fee of the market on what a seller gets, in hundredths of a percent",
		offsetof(struct model_policy, fee_bps), 0, 10000 },
	{ "release_bps", "refund of the unused part on release, in hundredths of a percent",
		offsetof(struct model_policy, release_bps), 0, 10000 },
	{ "settle_minutes", "how often a running lease pays its seller", offsetof(struct model_policy, settle_minutes),
		1, 525600 },
	{ "notice_minutes", "notice before an interruptible lease ends; at least 2",
		offsetof(struct model_policy, notice_minutes), 0, 1440 },
	{ "drain_notice_minutes", "notice before a seller who drains a host ends what is sold",
		offsetof(struct model_policy, drain_notice_minutes), 1, 43200 },
	{ "volume_grace_minutes", "for which an unpaid volume is kept",
		offsetof(struct model_policy, volume_grace_minutes), 1, 525600 },
};

enum { POLICIES = sizeof policies / sizeof *policies };

static int admin_put_policy(struct nanopod *np, char **words, struct buf *body)
{
	struct json j = json_to(body);

	json_begin_object(&j, NULL);
	for (; *words; words++) {
		size_t len = strcspn(*words, "="), i = 0;
		struct fail why = { 0 };
		long n;

		while (i < POLICIES && (strlen(policies[i].name) != len || strncmp(policies[i].name, *words, len) != 0))
			i++;
		if (i == POLICIES || !(*words)[len])
			return print_fail(np, STATUS_USAGE, "write fee_bps=100; 'nanopod admin policy' shows the names",
				"cannot understand '%.60s'", *words);
		if (value_int(*words + len + 1, policies[i].min, policies[i].max, &n, &why))
			return print_fail(np, STATUS_USAGE, NULL, "cannot set '%s': %s", policies[i].name, why.text);
		json_int(&j, policies[i].name, n);
	}
	json_end(&j);
	if (j.error)
		command_nomem();
	return 0;
}

static int show_policy(struct market_link *m, const struct options *o)
{
	struct model_policy p;
	struct rows *r;
	int rc;

	if (wire_policy(m->doc, WIRE_WHOLE, &p, &m->fail))
		return market_fail(m, "cannot show the policy");
	r = rows_new(m->np, o, policy_columns, &rc);
	if (!r)
		return rc;
	for (size_t i = 0; i < POLICIES; i++) {
		int64_t value;
		char text[CELL_TEXT];

		memcpy(&value, (const char *)&p + policies[i].at, sizeof value);
		rows_add(r, (const char *[]){ policies[i].name, cell_int(value, text), policies[i].meaning });
	}
	return rows_end(r);
}

int admin_policy_set(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m = NULL;
	struct buf body;
	int rc;

	buf_init(&body, BODY_MAX);
	rc = admin_put_policy(np, words, &body);
	rc = rc ? rc : admin_begin(np, o, &m);
	if (!rc)
		rc = market_send(m, "PUT", "/np/v1/policy", &body, NULL) ? market_fail(m, "cannot change the policy")
									 : show_policy(m, o);
	buf_release(&body);
	market_sign_out(m);
	return rc;
}

int admin_policy(struct nanopod *np, const struct options *o, char **words)
{
	struct market_link *m;
	int rc;

	(void)words;
	if (!rows_check(np, o, policy_columns, &rc))
		return rc;
	rc = admin_begin(np, o, &m);
	if (!rc)
		rc = market_get(m, "/np/v1/policy") ? market_fail(m, "cannot show the policy") : show_policy(m, o);
	market_sign_out(m);
	return rc;
}
