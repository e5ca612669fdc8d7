/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/tokenbudget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE_SECONDS = 60, DAY_SECONDS = 86400, BUDGET_KEY = GATEWAY_TEXT + 2 };

struct budget_used {
	int64_t day, today, total; /* day: since 1970 */
	int64_t promised;          /* to requests under way */
	int64_t minute, in_minute; /* minute: since 1970; tokens in it */
	int64_t asked_minute, asked_in_minute, asked_day, asked_today; /* the same of requests */
};

void budgets_init(struct budgets *b, const struct proxyfile *file)
{
	b->file = file;
	table_init(&b->used);
}

void budgets_release(struct budgets *b)
{
	size_t at = 0;
	const char *key;
	void *value;

	while (table_next(&b->used, &at, &key, &value))
		free(value);
	table_release(&b->used);
}

static struct budget_used *budget_find(const struct budgets *b, char kind, const char *id)
{
	char key[BUDGET_KEY];

	snprintf(key, sizeof key, "%c%s", kind, id);
	return table_get(&b->used, key);
}

static struct budget_used *budget_made(struct budgets *b, char kind, const char *id)
{
	struct budget_used *u = budget_find(b, kind, id);
	char key[BUDGET_KEY];

	if (u)
		return u;
	u = calloc(1, sizeof *u);
	snprintf(key, sizeof key, "%c%s", kind, id);
	if (u && table_set(&b->used, key, u) == 0)
		return u;
	free(u);
	return NULL;
}

/* What is counted in the newest window alone. */
static void budget_window(int64_t *window, int64_t *count, int64_t now, int64_t more)
{
	if (*window != now)
		*count = 0;
	*window = now;
	*count += more;
}

static int budget_count(struct budgets *b, char kind, const char *id, int64_t day, int64_t tokens)
{
	struct budget_used *u = budget_made(b, kind, id);

	if (!u)
		return -ENOMEM;
	if (day > u->day) {
		u->day = day;
		u->today = 0;
	}
	if (day == u->day)
		u->today += tokens;
	u->total += tokens;
	return 0;
}

int budgets_add(struct budgets *b, const char *account, const char *token, int64_t at, int64_t tokens)
{
	int rc = budget_count(b, 'a', account, at / DAY_SECONDS, tokens);
	struct budget_used *u = rc ? NULL : budget_find(b, 'a', account);

	if (u && at / MINUTE_SECONDS >= u->minute)
		budget_window(&u->minute, &u->in_minute, at / MINUTE_SECONDS, tokens);
	return rc || !*token ? rc : budget_count(b, 't', token, at / DAY_SECONDS, tokens);
}

void budgets_promise(struct budgets *b, const char *account, const char *token, int64_t tokens)
{
	struct budget_used *of_account = budget_made(b, 'a', account);
	struct budget_used *of_token = *token ? budget_made(b, 't', token) : NULL;

	if (of_account)
		of_account->promised += tokens;
	if (of_token)
		of_token->promised += tokens;
}

json_t *budgets_sums(const struct budgets *b)
{
	json_t *sums = json_object();
	size_t at = 0;
	const char *key;
	void *value;

	while (sums && table_next(&b->used, &at, &key, &value)) {
		const struct budget_used *u = value;

		if (json_object_set_new(sums, key,
			    json_pack("[I,I,I]", (json_int_t)u->day, (json_int_t)u->today, (json_int_t)u->total)) !=
			0) {
			json_decref(sums);
			sums = NULL;
		}
	}
	return sums;
}

int budgets_begin(struct budgets *b, json_t *sums)
{
	const struct proxyfile *file = b->file;
	void *at;
	int rc = 0;

	budgets_release(b);
	budgets_init(b, file);
	for (at = json_object_iter(sums); at && !rc; at = json_object_iter_next(sums, at)) {
		const char *key = json_object_iter_key(at);
		const json_t *used = json_object_iter_value(at);
		struct budget_used *u;

		rc = budget_count(b, *key, *key ? key + 1 : key, 0, 0);
		u = rc ? NULL : budget_find(b, *key, *key ? key + 1 : key);
		if (!u)
			continue;
		u->day = json_integer_value(json_array_get(used, 0));
		u->today = json_integer_value(json_array_get(used, 1));
		u->total = json_integer_value(json_array_get(used, 2));
	}
	return rc;
}

static bool budget_over(const struct proxyfile_budget *row, const struct budget_used *u, int64_t now, int64_t *retry)
{
	int64_t today = u && u->day == now / DAY_SECONDS ? u->today : 0;

	if (!u)
		return false;
	*retry = DAY_SECONDS - now % DAY_SECONDS;
	if ((row->total && u->total >= row->total) || (row->day && today >= row->day))
		return true;
	*retry = 0;
	return (row->total && u->total + u->promised >= row->total) || (row->day && today + u->promised >= row->day);
}

const struct proxyfile_budget *budgets_over(const struct budgets *b, const char *account, const char *name,
	const char *token, int64_t now, int64_t *retry)
{
	const struct budget_used *of_account = budget_find(b, 'a', account), *of_token = budget_find(b, 't', token);
	bool own = false;

	for (size_t i = 0; i < b->file->budget_count; i++) {
		const struct proxyfile_budget *row = &b->file->budgets[i];
		bool mine = *row->account && (strcmp(row->account, account) == 0 || strcmp(row->account, name) == 0);

		own |= mine;
		if (mine && budget_over(row, of_account, now, retry))
			return row;
		if (*row->token && strcmp(row->token, token) == 0 && budget_over(row, of_token, now, retry))
			return row;
	}
	for (size_t i = 0; i < b->file->budget_count && !own; i++) {
		const struct proxyfile_budget *row = &b->file->budgets[i];

		if (!*row->account && !*row->token && budget_over(row, of_account, now, retry))
			return row;
	}
	return NULL;
}

const char *budgets_gate(struct budgets *b, const char *account, const struct gate_limits *l, int64_t now,
	int64_t *limit, int64_t *retry)
{
	struct budget_used *u = budget_made(b, 'a', account);
	int64_t day = now / DAY_SECONDS, minute = now / MINUTE_SECONDS;
	const struct {
		const char *what;
		int64_t limit, used, promised, seconds;
	} rows[] = {
		{ "tokens a day", l->tokens_day, u && u->day == day ? u->today : 0, u ? u->promised : 0, DAY_SECONDS },
		{ "requests a day", l->requests_day, u && u->asked_day == day ? u->asked_today : 0, 0, DAY_SECONDS },
		{ "tokens a minute", l->tokens_minute, u && u->minute == minute ? u->in_minute : 0, u ? u->promised : 0,
			MINUTE_SECONDS },
		{ "requests a minute", l->requests_minute, u && u->asked_minute == minute ? u->asked_in_minute : 0, 0,
			MINUTE_SECONDS },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (!rows[i].limit || rows[i].used + rows[i].promised < rows[i].limit)
			continue;
		*limit = rows[i].limit;
		*retry = rows[i].used >= rows[i].limit ? rows[i].seconds - now % rows[i].seconds : 1;
		return rows[i].what;
	}
	if (u) {
		budget_window(&u->asked_minute, &u->asked_in_minute, minute, 1);
		budget_window(&u->asked_day, &u->asked_today, day, 1);
	}
	return NULL;
}
