/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/account_report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPORT_PATH = 4096, REPORT_PAGES_MAX = 1000000 };

/* A page says each balance once: at the beginning that of the first page that has it counts, then that of the last. */
static int report_take_books(struct market_link *m, struct model_report_books *books)
{
	struct model_report_books page;
	int rc = wire_report_books(m->doc, &page, &m->fail);

	for (int i = 0; !rc && i < MODEL_BOOKS; i++) {
		if (books->before[i] == MODEL_NONE)
			books->before[i] = page.before[i];
		if (page.after[i] != MODEL_NONE)
			books->after[i] = page.after[i];
	}
	return rc;
}

static int report_take_page(struct market_link *m, struct model_report_books *books, account_report_fn fn, void *arg)
{
	size_t count = doc_count(m->doc);
	int rc = books ? report_take_books(m, books) : 0;

	for (size_t i = 0; i < count && !rc; i++) {
		struct model_report_row row;

		rc = wire_report_row(m->doc, (long)i, &row, &m->fail);
		rc = rc ? rc : fn(arg, &row, &m->fail);
	}
	return rc;
}

int account_report_read(struct market_link *m, const struct period *p, struct model_report_books *books,
	account_report_fn fn, void *arg)
{
	const char *cursor = NULL;
	struct buf path;
	int rc = 0, pages = 0;

	buf_init(&path, REPORT_PATH);
	for (int i = 0; books && i < MODEL_BOOKS; i++)
		books->before[i] = books->after[i] = MODEL_NONE;
	do {
		char next[200] = "";

		if (cursor)
			snprintf(next, sizeof next, "%s", cursor);
		buf_clear(&path);
		if (buf_addf(&path, "/np/v1/report?from=%" PRId64 "&to=%" PRId64 "%s%s", p->from, p->to,
			    books ? "&balances=true" : "", *next ? "&after=" : "") ||
			client_quote(&path, next))
			command_nomem();
		rc = market_get(m, "%s", buf_text(&path));
		rc = rc ? rc : report_take_page(m, books, fn, arg);
		rc = rc ? rc : doc_next(m->doc, &cursor, &m->fail);
		if (!rc && cursor && (strcmp(cursor, next) == 0 || ++pages == REPORT_PAGES_MAX))
			rc = fail_set(&m->fail, CLIENT_BAD_ANSWER, "the report repeats itself at '%.80s'", cursor);
	} while (!rc && cursor);
	buf_release(&path);
	return rc;
}

const char *statement_number(const char *account_id, int64_t at, char room[STATEMENT_NUMBER])
{
	const char *own = strchr(account_id, '_');
	char month[PERIOD_TEXT];

	snprintf(room, STATEMENT_NUMBER, "%s-%.40s", period_month(at, month), own ? own + 1 : account_id);
	for (char *p = room; *p; p++)
		*p = (char)toupper((unsigned char)*p);
	return room;
}
