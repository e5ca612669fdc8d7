/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod host verify --check: reads what another machine measured, and checks who signed it. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmd/host/host.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "market/claims.h"

static const struct column check_columns[] = {
	{ "check", COLUMN_ID, "what was checked" },
	{ "result", COLUMN_STATE, "ok, failed or skipped" },
	{ "median", 0, "the median of the runs, with its unit" },
	{ "least", COLUMN_WIDE, "the least of the runs" },
	{ "most", COLUMN_WIDE, "the most of the runs" },
	{ "runs", COLUMN_WIDE, "how many runs" },
	{ "device", COLUMN_WIDE, "PCI address of what was measured" },
	{ "at", COLUMN_WIDE, "when it was measured" },
	{ "method", COLUMN_WIDE, "how it was measured" },
	{ "text", COLUMN_TEXT, "what was found" },
	{ 0 },
};

static void check_add(struct nanopod *np, struct rows *r, const struct claim *c)
{
	static const char *const words[] = { "ok", "failed", "skipped" };
	char median[64] = "", least[64] = "", most[64] = "", runs[64] = "", at[CELL_TEXT];

	if (c->measured) {
		snprintf(median, sizeof median, "%" PRId64 " %s", c->value, c->unit);
		snprintf(least, sizeof least, "%" PRId64, c->least);
		snprintf(most, sizeof most, "%" PRId64, c->most);
		snprintf(runs, sizeof runs, "%d", c->runs);
	}
	rows_add(r,
		(const char *[]){ c->check, words[c->is], median, least, most, runs, c->device,
			cell_time(np, c->at, at), c->method, c->text });
}

static int check_show(struct nanopod *np, const struct options *o, const struct claims *c)
{
	char at[CELL_TEXT];
	struct rows *r;
	int rc;

	r = rows_new(np, o, check_columns, &rc);
	for (size_t i = 0; r && i < c->count; i++)
		check_add(np, r, &c->list[i]);
	rc = r ? rows_end(r) : rc;
	if (rc)
		return rc;
	print_note(np, "agent %s signed this at %s with the key %s, for the nonce %s%s", c->agent,
		cell_time(np, c->at, at), c->key, c->nonce,
		option_given(o, "key") ? "" : "; --key KEY checks that it is the key that you know");
	return claims_number(c, CLAIM_FAILED) ? print_fail(np, STATUS_CHECK, NULL, "%zu checks of that machine failed",
							claims_number(c, CLAIM_FAILED))
					      : 0;
}

int host_check(struct nanopod *np, const struct options *o)
{
	const char *path = option_text(o, "check");
	struct claims c = { .count = 0 };
	struct fail f = { 0 };
	struct buf text;
	int rc;

	buf_init(&text, CLAIMS_BYTES);
	rc = buf_read_file(&text, path);
	if (rc) {
		fail_errno(&f, rc, -rc, "cannot read it");
		rc = print_fail_field(np, STATUS_NOTFOUND, "--check", NULL, "cannot check '%s': %s", path, f.text);
	} else if (claims_check(text.data, text.len, option_text(o, "key"), option_text(o, "nonce"), &f)) {
		rc = print_fail_field(np, STATUS_CHECK, "--check",
			"'nanopod host verify --nonce HEX -o json >FILE' on a joined machine makes such a file",
			"do not believe '%s': %s", path, f.text);
	} else if (claims_read(text.data, text.len, &c, &f)) {
		rc = print_fail_field(np, STATUS_CHECK, "--check", NULL, "do not believe '%s': %s", path, f.text);
	} else {
		rc = check_show(np, o, &c);
	}
	claims_release(&c);
	buf_release(&text);
	return rc;
}
