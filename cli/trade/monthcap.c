/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/monthcap.h"

#include <stdio.h>
#include <string.h>

#include "cli/frame/print.h"
#include "market/money.h"

#define MONTH "/month"

int monthcap_read(struct nanopod *np, const char *text, int64_t *micros)
{
	size_t len = strlen(text), unit = strlen(MONTH);
	struct fail f = { 0 };
	char amount[64];

	if (strcmp(text, "none") == 0) {
		*micros = -1;
		return 0;
	}
	if (len > unit && strcmp(text + len - unit, MONTH) == 0)
		len -= unit;
	snprintf(amount, sizeof amount, "%.*s", (int)(len < sizeof amount ? len : sizeof amount - 1), text);
	if (strchr(amount, '/') || money_parse(amount, micros, &f))
		return print_fail(np, STATUS_USAGE, "type it as 20/month or none",
			"'%.40s' is not an amount for a calendar month", text);
	return 0;
}

int monthcap_set(struct nanopod *np, const struct options *o, const char *folder, char **words,
	struct market_link **out)
{
	struct buf path, body;
	int64_t micros = 0;
	char command[32];
	int rc = monthcap_read(np, words[1], &micros);

	buf_init(&path, 4096);
	buf_init(&body, 4096);
	snprintf(command, sizeof command, "%s cap", np->running->name);
	if (buf_adds(&path, folder) || client_quote(&path, words[0]) || buf_adds(&path, "/cap"))
		command_nomem();
	if (!rc && wire_put_cap(&body, micros, option_given(o, "reason") ? option_text(o, "reason") : NULL))
		rc = print_fail(np, STATUS_USAGE, NULL, "--reason is not valid text");
	rc = rc ? rc : market_sign_in(np, o, 0, out);
	rc = rc ? rc : market_need_ours(*out, command);
	if (!rc && market_send(*out, "PUT", buf_text(&path), &body, NULL))
		rc = market_fail(*out, "cannot set the cap of '%s'", words[0]);
	buf_release(&path);
	buf_release(&body);
	return rc;
}
