/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod admin payout: what accounts ask to be paid out, and what became of it. */
#include "cli/cmd/admin/admin.h"
#include "cli/cmd/money/payout.h"
#include "cli/frame/print.h"

int admin_payout_list(struct nanopod *np, const struct options *o, char **words)
{
	const struct rows_list payouts = { "admin", NULL, "the payouts", payout_columns_admin, payout_row,
		"nobody has asked for a payout" };

	(void)words;
	return admin_list(np, o, "/np/v1/payouts", payouts);
}

static int admin_payout_say(struct nanopod *np, const struct options *o, const char *id, const struct payout_word *w)
{
	struct market_link *m = NULL;
	int rc = admin_begin(np, o, &m);

	rc = rc ? rc : payout_say(m, o, payout_columns_admin, id, w);
	market_sign_out(m);
	return rc;
}

int admin_payout_paid(struct nanopod *np, const struct options *o, char **words)
{
	return admin_payout_say(np, o, words[0],
		&(struct payout_word){ "paid", "reference", words[1], option_given(o, "already-sent") });
}

int admin_payout_failed(struct nanopod *np, const struct options *o, char **words)
{
	if (!option_given(o, "reason") || !*option_text(o, "reason"))
		return print_fail_field(np, STATUS_USAGE, "--reason",
			"e.g. --reason 'the bank does not know the account'",
			"a payout that failed needs a reason, which the account sees");
	return admin_payout_say(np, o, words[0],
		&(struct payout_word){ "failed", "reason", option_text(o, "reason"), option_given(o, "already-sent") });
}

int admin_payout_cancel(struct nanopod *np, const struct options *o, char **words)
{
	return admin_payout_say(np, o, words[0], &(struct payout_word){ .verb = "cancel" });
}
