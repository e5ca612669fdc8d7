/* SPDX-License-Identifier: Apache-2.0 */
#include "market/reason.h"

#include <stddef.h>
#include <string.h>

static const struct reason_row rows[] = {
#define REASON_ROW(name, code, http, type, status, text) { code, type, text, http, status },
	REASONS(REASON_ROW)
#undef REASON_ROW
};

enum { ROWS = sizeof rows / sizeof *rows };

const struct reason_row *reason_row(int reason)
{
	if (reason <= REASON_BASE || reason >= REASON_END)
		reason = REASON_INTERNAL;
	return &rows[reason - REASON_BASE - 1];
}

int reason_find(const char *code)
{
	for (int i = 0; code && i < ROWS; i++)
		if (strcmp(rows[i].code, code) == 0)
			return REASON_BASE + 1 + i;
	return REASON_NONE;
}
